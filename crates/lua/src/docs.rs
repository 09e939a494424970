//! What scripts can call, as pages: for models, through tools and through `docs` in a script.

use crate::{
    Function, Native,
    limits::{SEARCH_RESULTS, SEARCH_RESULTS_MAX},
};
use agent::ToolSpec;
use serde_json::Value;
use std::{collections::BTreeMap, fmt::Write as _};

/// Pages that are always there.
const GUIDES: [(&str, &str); 4] = [
    ("overview", include_str!("guides/overview.md")),
    ("context", include_str!("guides/context.md")),
    ("errors", include_str!("guides/errors.md")),
    ("examples", include_str!("guides/examples.md")),
];

/// The page of the session's tools.
const TOOLS: &str = "tools";

/// What one session's scripts can call.
pub struct Docs {
    native: Native,
    /// By namespace: `mcp.SERVER`, `integrations.PROVIDER`.
    namespaces: BTreeMap<String, Vec<Function>>,
}

impl Docs {
    /// Pages about these.
    pub fn new(native: Native, functions: Vec<Function>) -> Self {
        let mut namespaces: BTreeMap<String, Vec<Function>> = BTreeMap::new();
        for function in functions {
            let namespace = format!("{}.{}", function.kind, function.namespace);
            namespaces.entry(namespace).or_default().push(function);
        }
        Self { native, namespaces }
    }

    /// Every namespace, or the functions of one.
    pub fn list(&self, namespace: Option<&str>) -> String {
        let Some(name) = namespace.map(page_name).filter(|name| !name.is_empty()) else {
            return self.index();
        };
        if name == TOOLS {
            return self.tools();
        }
        match self.namespaces.get(name) {
            Some(functions) => {
                let mut text = format!("# app.{name}\n\n");
                functions.iter().for_each(|function| line(&mut text, &function.path(), &function.spec));
                text
            }
            None => self.not_found(name),
        }
    }

    /// The pages in which all words of a query occur, those with most of them in the name first.
    pub fn search(&self, query: &str, limit: Option<usize>) -> String {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let limit = limit.unwrap_or(SEARCH_RESULTS).clamp(1, SEARCH_RESULTS_MAX);
        let pages = self
            .native
            .own()
            .map(|tool| (format!("{TOOLS}.{}", tool.name), tool))
            .chain(self.namespaces.values().flatten().map(|f| (f.path(), &f.spec)));
        let mut found: Vec<_> = pages
            .filter_map(|(name, spec)| {
                let (lower, about) = (name.to_lowercase(), spec.description.to_lowercase());
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
            line(&mut text, name, spec);
        }
        if found.len() > limit {
            let _ = writeln!(text, "… {} more", found.len() - limit);
        }
        text
    }

    /// A page: a guide, `tools`, a namespace or a function. `app.` before its name is fine.
    pub fn read(&self, page: &str) -> String {
        let name = page_name(page);
        if let Some((_, text)) = GUIDES.iter().find(|(guide, _)| *guide == name) {
            return (*text).to_owned();
        }
        if name == TOOLS || self.namespaces.contains_key(name) {
            return self.list(Some(name));
        }
        if let Some(tool) =
            name.strip_prefix("tools.").and_then(|name| self.native.own().find(|t| t.name == name))
        {
            return described(&format!("tools.{}", tool.name), tool);
        }
        let mut functions = self.namespaces.values().flatten();
        match functions.find(|function| function.path() == name) {
            Some(function) => described(name, &function.spec),
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
                    self.native.own().count()
                );
            }
        }
        if self.namespaces.is_empty() {
            text.push_str("\nNo active Lua integration namespaces are available in this session.\n");
        } else {
            text.push_str("\n**Namespaces:**\n");
            for (name, functions) in &self.namespaces {
                let _ = writeln!(text, "- `{name}` ({} functions)", functions.len());
            }
        }
        text
    }

    fn tools(&self) -> String {
        let mut text = "# app.tools\n\nCalled with a table; the result is the tool's text.\n\n".to_owned();
        self.native.own().for_each(|tool| line(&mut text, &format!("{TOOLS}.{}", tool.name), tool));
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

/// One line about a function: how it is called, and the first line about it.
fn line(text: &mut String, name: &str, spec: &ToolSpec) {
    let first = spec.description.lines().next().unwrap_or_default();
    let _ = writeln!(text, "- `app.{name}{{{}}}`: {first}", signature(spec));
}

/// Required parameters, then the others with a question mark.
fn signature(spec: &ToolSpec) -> String {
    let required = |name: &str| is_required(spec, name);
    let mut names: Vec<&String> =
        spec.parameters["properties"].as_object().into_iter().flatten().map(|p| p.0).collect();
    names.sort_by_key(|name| !required(name));
    let shown = |name: &String| if required(name) { name.clone() } else { format!("{name}?") };
    names.into_iter().map(shown).collect::<Vec<_>>().join(", ")
}

fn is_required(spec: &ToolSpec, name: &str) -> bool {
    spec.parameters["required"].as_array().is_some_and(|all| all.iter().any(|one| one == name))
}

fn described(name: &str, spec: &ToolSpec) -> String {
    let mut text = format!("# app.{name}\n\n{}\n", spec.description.trim());
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
    let _ = write!(text, "\n```lua\nlocal result = app.{name}{{{}}}\n```\n", signature(spec));
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
            page.contains("- `id` (integer, required): \n") && page.contains("list_issues{id, a?}"),
            "{page}"
        );
        assert!(docs.read("tools").contains("- `app.tools.file_read{id, a?}`: Reads a file\n"));
        assert!(docs.read("tools.file_read").starts_with("# app.tools.file_read"));
        assert!(docs.read("overview").starts_with("# Lua scripts"));
        assert_eq!(
            docs.read("nothing"),
            "Page 'nothing' not found. Available pages:\n\n**Namespaces:** tools, integrations.plane\n**Guides:** overview, \
             context, errors, examples"
        );
    }

    #[test]
    fn search_wants_every_word() {
        let docs = docs();
        assert_eq!(docs.search("ISSUES work", None).lines().count(), 1);
        assert_eq!(docs.search("issues", Some(1)).lines().count(), 2, "one and how many more");
        assert!(docs.search("file", None).contains("app.tools.file_read"));
        assert!(docs.search("zebra", None).starts_with("No results for 'zebra'."));
        assert!(docs.search(" ", None).starts_with("No results"));
    }

    #[test]
    fn nothing_active_is_said() {
        let docs = Docs::new(Native::NoTurn, Vec::new());
        assert!(
            docs.list(None).contains("No active Lua integration namespaces are available in this session.")
        );
    }
}
