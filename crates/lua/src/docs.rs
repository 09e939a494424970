//! Documentation pages of what scripts can call, for models: through tools, and through `docs` in a
//! script.

use crate::{
    Function, Native,
    limits::{SEARCH_RESULTS, SEARCH_RESULTS_MAX},
    listing::{Entry, Listing},
    names::{is_name, literal, path_step},
    sample::sample,
};
use agent::ToolSpec;
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write as _};

/// Pages that always exist.
const GUIDES: [(&str, &str); 4] = [
    ("overview", include_str!("guides/overview.md")),
    ("context", include_str!("guides/context.md")),
    ("errors", include_str!("guides/errors.md")),
    ("examples", include_str!("guides/examples.md")),
];

/// The page of the session's tools.
const TOOLS: &str = "tools";

/// The documentation of what one session's scripts can call.
pub struct Docs {
    native: Native,
    /// The functions by namespace: `mcp.SERVER`, `integrations.PROVIDER`.
    namespaces: BTreeMap<String, Vec<Entry>>,
}

impl Docs {
    /// Creates the pages of these tools and functions.
    pub fn new(native: Native, functions: Vec<Function>) -> Self {
        Self::from_listing(native, Listing::new(functions))
    }

    pub(crate) fn from_listing(native: Native, listing: Listing) -> Self {
        let mut namespaces: BTreeMap<String, Vec<Entry>> = BTreeMap::new();
        for entry in listing.all() {
            namespaces.entry(entry.page()).or_default().push(entry.clone());
        }
        Self { native, namespaces }
    }

    /// Lists all namespaces, or the functions of one.
    pub fn list(&self, namespace: Option<&str>) -> String {
        let Some(name) = namespace.map(page_name).filter(|name| !name.is_empty()) else {
            return self.index();
        };
        if name == TOOLS {
            return self.tools();
        }
        match self.page(name) {
            Some((name, functions)) => {
                let mut text = format!("# app.{name}\n\n");
                let unready: std::collections::BTreeSet<_> =
                    functions.iter().filter_map(|entry| entry.function.unready.as_deref()).collect();
                unready.into_iter().for_each(|why| text.push_str(&format!("**Not ready:** {why}\n\n")));
                functions
                    .iter()
                    .for_each(|entry| append_line(&mut text, &entry.path(), &entry.function.spec));
                text
            }
            None => self.not_found(name),
        }
    }

    /// Returns the page of a namespace, also by the original name of its server or provider.
    fn page(&self, name: &str) -> Option<(&String, &Vec<Entry>)> {
        let own = |entry: &Entry| format!("{}.{}", entry.function.kind, entry.function.namespace);
        let spelled = || self.namespaces.iter().find(|(_, all)| all.iter().any(|entry| own(entry) == name));
        self.namespaces.get_key_value(name).or_else(spelled)
    }

    /// Lists the pages that contain all words of a query. Pages with more of the words in their
    /// name come first.
    pub fn search(&self, query: &str, limit: Option<usize>) -> String {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let limit = limit.unwrap_or(SEARCH_RESULTS).clamp(1, SEARCH_RESULTS_MAX);
        let pages = self
            .native
            .session_tools()
            .map(|tool| (format!("{TOOLS}{}", path_step(&tool.name)), String::new(), tool))
            .chain(self.namespaces.values().flatten().map(|entry| {
                let own = format!("{} {}", entry.function.name, entry.function.spec.name);
                (entry.path(), own, &entry.function.spec)
            }));
        let mut found: Vec<_> = pages
            .filter_map(|(name, own, spec)| {
                let (lower, about) =
                    (format!("{name} {own}").to_lowercase(), spec.description.to_lowercase());
                let all = words.iter().all(|word| lower.contains(word) || about.contains(word));
                let in_name = words.iter().filter(|word| lower.contains(word.as_str())).count();
                (all && !words.is_empty()).then_some((in_name, name, spec))
            })
            .collect();
        if found.is_empty() {
            return format!("No results for '{query}'. Use lua_list_docs to see what there is.");
        }
        found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        let mut text = String::new();
        for (_, name, spec) in found.iter().take(limit) {
            append_line(&mut text, name, spec);
        }
        if found.len() > limit {
            let _ = writeln!(text, "… {} more", found.len() - limit);
        }
        text
    }

    /// Returns a page: a guide, `tools`, a namespace or a function. The name may start with `app.`.
    pub fn read(&self, page: &str) -> String {
        let name = page_name(page);
        if let Some((_, text)) = GUIDES.iter().find(|(guide, _)| *guide == name) {
            return (*text).to_owned();
        }
        if name == TOOLS || self.page(name).is_some() {
            return self.list(Some(name));
        }
        if let Some(tool) =
            name.strip_prefix("tools.").and_then(|name| self.native.session_tools().find(|t| t.name == name))
        {
            return function_page(&format!("{TOOLS}{}", path_step(&tool.name)), None, tool);
        }
        match self.namespaces.values().flatten().find(|entry| entry.matches_path(name)) {
            Some(entry) => function_page(&entry.path(), Some(entry), &entry.function.spec),
            None => self.not_found(name),
        }
    }

    fn index(&self) -> String {
        let mut text = format!("# Lua docs\n\n**Guides:** {}\n", guides());
        match &self.native {
            Native::NoTurn => {}
            Native::Tools(_) => {
                let _ = writeln!(
                    text,
                    "**Tools of this session:** `{TOOLS}` ({} tools)",
                    self.native.session_tools().count()
                );
            }
        }
        if self.namespaces.is_empty() {
            text.push_str("\nNo active Lua integration namespaces are available in this session.\n");
        } else {
            text.push_str("\n**Namespaces:**\n");
            for (name, functions) in &self.namespaces {
                let not_ready = functions.iter().all(|entry| entry.function.unready.is_some());
                let not_ready = if not_ready { ", not ready: its page says what is missing" } else { "" };
                let _ = writeln!(text, "- `{name}` ({} functions{not_ready})", functions.len());
            }
        }
        text
    }

    fn tools(&self) -> String {
        let mut text = "# app.tools\n\nCalled with a table; the result is the tool's text.\n\n".to_owned();
        self.native
            .session_tools()
            .for_each(|tool| append_line(&mut text, &format!("{TOOLS}{}", path_step(&tool.name)), tool));
        text
    }

    fn not_found(&self, page: &str) -> String {
        let mut names: Vec<&str> = self.namespaces.keys().map(String::as_str).collect();
        names.insert(0, TOOLS);
        format!(
            "Page '{page}' not found. Available pages:\n\n**Namespaces:** {}\n**Guides:** {}",
            names.join(", "),
            guides()
        )
    }
}

fn page_name(page: &str) -> &str {
    let page = page.trim();
    page.strip_prefix("app.").unwrap_or(page)
}

fn guides() -> String {
    GUIDES.map(|(name, _)| name).join(", ")
}

/// Appends one line about a function: a call that can be run unchanged, the first line of its
/// description, and its optional parameters.
fn append_line(text: &mut String, name: &str, spec: &ToolSpec) {
    let first = spec.description.lines().next().unwrap_or_default();
    let mut optional = String::new();
    for name in properties(spec).filter(|name| !is_required(spec, name)) {
        optional.push_str(if optional.is_empty() { " Optional: " } else { ", " });
        optional.push_str(name);
    }
    let _ = writeln!(text, "- `{}`: {first}{optional}", call(name, spec));
}

/// Returns a call with a sample value for each required parameter.
fn call(name: &str, spec: &ToolSpec) -> String {
    let required = spec.parameters["required"].as_array().into_iter().flatten();
    let needed = required.filter_map(Value::as_str).map(|name| {
        let key = if is_name(name) { name.to_owned() } else { path_step(name) };
        format!("{key} = {}", literal(&sample(&spec.parameters["properties"][name])))
    });
    format!("app.{name}{{{}}}", needed.collect::<Vec<_>>().join(", "))
}

fn properties(spec: &ToolSpec) -> impl Iterator<Item = &String> {
    spec.parameters["properties"].as_object().into_iter().flatten().map(|property| property.0)
}

fn is_required(spec: &ToolSpec, name: &str) -> bool {
    spec.parameters["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name))
}

fn function_page(name: &str, entry: Option<&Entry>, spec: &ToolSpec) -> String {
    let mut text = format!("# app.{name}\n\n");
    if let Some(quoted) = entry.and_then(Entry::quoted) {
        let _ = writeln!(text, "Its own name works too: `app.{quoted}`.\n");
    }
    if let Some(why) = entry.and_then(|entry| entry.function.unready.as_deref()) {
        let _ = writeln!(text, "**Not ready:** {why}\n");
    }
    let _ = writeln!(text, "{}", spec.description.trim());
    let properties = spec.parameters["properties"].as_object();
    for (at, (name, schema)) in properties.into_iter().flatten().enumerate() {
        if at == 0 {
            text.push_str("\nParameters:\n");
        }
        let kind = match &schema["type"] {
            Value::String(kind) => kind.clone(),
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("|"),
            _ => "any".to_owned(),
        };
        let required = if is_required(spec, name) { ", required" } else { "" };
        let about = schema["description"].as_str().unwrap_or_default();
        let _ = writeln!(text, "- `{name}` ({kind}{required}): {about}");
        if let Some(choices) = schema["enum"].as_array() {
            let _ = writeln!(text, "  One of: {}", Value::Array(choices.clone()));
        }
    }
    let _ = write!(text, "\n```lua\nlocal result = {}\n```\n", call(name, spec));
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Account, FunctionKind};
    use serde_json::json;

    fn spec(name: &str, about: &str) -> ToolSpec {
        let parameters = json!({
            "type": "object",
            "properties": { "a": { "type": "string", "description": "The a" }, "id": { "type": "integer" } },
            "required": ["id"],
        });
        ToolSpec { name: name.to_owned(), description: about.to_owned(), parameters }
    }

    fn docs() -> Docs {
        let function = |name: &str, account| Function {
            kind: FunctionKind::Integration,
            namespace: "plane".to_owned(),
            account,
            name: name.to_owned(),
            spec: spec(name, "Lists issues.\nAll of them."),
            tool: None,
            unready: None,
        };
        let functions = vec![
            function("list_issues", Account::Default),
            function("list_issues", Account::Named("work".to_owned())),
        ];
        let native =
            vec![spec("file_read", "Reads a file"), spec("mcp__s__t", "x"), spec("execute_lua", "x")];
        Docs::new(Native::Tools(native), functions)
    }

    #[test]
    fn pages_are_found_by_name() {
        let docs = docs();
        let index = docs.list(None);
        assert!(index.contains("overview, context, errors, examples") && index.contains("`tools` (1 tools)"));
        assert!(index.contains("- `integrations.plane` (2 functions)"), "{index}");
        assert_eq!(docs.read("app.integrations.plane"), docs.list(Some("integrations.plane")));
        let page = docs.read("app.integrations.plane.work.list_issues");
        assert!(page.starts_with("# app.integrations.plane.work.list_issues\n\nLists issues.\nAll of them."));
        assert!(
            page.contains("- `id` (integer, required): \n") && page.contains("list_issues{id = 1}"),
            "{page}"
        );
        assert!(docs.read("tools").contains("- `app.tools.file_read{id = 1}`: Reads a file Optional: a\n"));
        assert!(docs.read("tools.file_read").starts_with("# app.tools.file_read"));
        assert!(docs.read("overview").starts_with("# Lua scripts"));
        assert_eq!(
            docs.read("nothing"),
            "Page 'nothing' not found. Available pages:\n\n**Namespaces:** tools, integrations.plane\n**Guides:** overview, \
             context, errors, examples"
        );
    }

    #[test]
    fn search_requires_every_word() {
        let docs = docs();
        assert_eq!(docs.search("ISSUES work", None).lines().count(), 1);
        assert_eq!(docs.search("issues", Some(1)).lines().count(), 2, "one and how many more");
        assert!(docs.search("file", None).contains("app.tools.file_read"));
        assert!(docs.search("zebra", None).starts_with("No results for 'zebra'."));
        assert!(docs.search(" ", None).starts_with("No results"));
    }

    #[test]
    fn no_active_namespaces_is_reported() {
        let docs = Docs::new(Native::NoTurn, Vec::new());
        assert!(
            docs.list(None).contains("No active Lua integration namespaces are available in this session.")
        );
    }
}
