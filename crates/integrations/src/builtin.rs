//! Built-in integrations: small curated lists, each with the month in which it was last compared
//! with the service's own documentation.

use crate::{
    auth::{Field, Scheme},
    integration::{
        Address, Auth, Endpoint, Function, Integration, Operation, Origin, Pages, Parameter, Place, Style,
    },
    manifest::StoredPages,
    names::names_in,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};

/// The lists, by integration name.
const LISTS: [(&str, &str); 5] = [
    ("clickup", include_str!("builtin/clickup.json")),
    ("coingecko", include_str!("builtin/coingecko.json")),
    ("github", include_str!("builtin/github.json")),
    ("plane", include_str!("builtin/plane.json")),
    ("plausible", include_str!("builtin/plausible.json")),
];

/// Returns all built-in integrations.
pub fn built_in() -> Vec<Integration> {
    let read = |(name, text): &(&str, &str)| {
        let list: List = serde_json::from_str(text).expect("a test reads every list");
        list.integration(name)
    };
    LISTS.iter().map(read).collect()
}

/// The format of a list file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    title: String,
    about: String,
    checked: String,
    base_url: String,
    /// The service's authentication.
    key: Key,
    /// Further fields of an account, which fill parameters of the same name.
    #[serde(default)]
    settings: BTreeMap<String, String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    pages: Option<StoredPages>,
    /// The encoding of lists in queries: `repeated` (the default), `joined` or `bracketed`.
    #[serde(default)]
    lists: Option<String>,
    /// Schemas of parameters that several functions share.
    #[serde(default)]
    parameters: BTreeMap<String, String>,
    functions: BTreeMap<String, Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Key {
    header: String,
    #[serde(default)]
    before: String,
    about: String,
    /// Whether some functions work without a key.
    #[serde(default)]
    optional: bool,
}

/// The format of a function. Parameters are written `TYPE About`; a name that ends in `!` is
/// required.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// `METHOD /path`.
    call: String,
    about: String,
    #[serde(default)]
    query: Map<String, Value>,
    #[serde(default)]
    body: Map<String, Value>,
    /// Whether the list's common pagination applies.
    #[serde(default)]
    paged: bool,
    /// The function's own kind of pagination.
    #[serde(default)]
    pages: Option<StoredPages>,
    /// Whether the function only reads, although its method suggests otherwise.
    #[serde(default)]
    reads: bool,
}

impl List {
    fn integration(self, name: &str) -> Integration {
        let scheme = Scheme::KeyInHeader {
            field: "api_key".to_owned(),
            header: self.key.header.clone(),
            before: self.key.before.clone(),
        };
        let settings = self.settings.iter().map(|(name, about)| {
            let (name, required) = required(name);
            Field { name, description: about.clone(), secret: false, required }
        });
        let functions = self.functions.iter().map(|(row_name, row)| {
            let function = self.function(name, row_name, row);
            (row_name.clone(), Arc::new(function))
        });
        Integration {
            name: name.to_owned(),
            title: self.title.clone(),
            description: format!("{} {}", self.about, self.key.about),
            origin: Origin::BuiltIn { checked: self.checked.clone() },
            address: Address { base_url: Some(self.base_url.clone()), local: false },
            auth: Auth { schemes: [("key".to_owned(), scheme)].into(), settings: settings.collect() },
            functions: functions.collect(),
            left_out: Vec::new(),
        }
    }

    fn function(&self, provider: &str, name: &str, row: &Row) -> Function {
        let (method, path) = row.call.split_once(' ').expect("a test reads every list");
        let style = match self.lists.as_deref() {
            Some("joined") => Style::Joined(','),
            Some("bracketed") => Style::Bracketed,
            _ => Style::Repeated,
        };
        let mut parameters = Vec::new();
        for name in names_in(path) {
            let shared = self.parameters.get(&name).map_or("string", String::as_str);
            let schema = schema(shared);
            parameters.push(Parameter {
                key: name.clone(),
                name,
                place: Place::Path,
                required: true,
                schema,
            });
        }
        let query = row.query.iter().map(|parameter| (parameter, Place::Query(style)));
        for ((name, description), place) in
            query.chain(row.body.iter().map(|parameter| (parameter, Place::Member)))
        {
            let (name, required) = required(name);
            let description = description
                .as_str()
                .filter(|description| !description.is_empty())
                .or_else(|| self.parameters.get(&name).map(String::as_str));
            let schema = schema(description.unwrap_or("string"));
            parameters.push(Parameter { key: name.clone(), name, place, required, schema });
        }
        let mut security = vec![vec!["key".to_owned()]];
        if self.key.optional {
            security.push(Vec::new());
        }
        let operation = if row.reads { Operation::Read } else { Operation::from_method(method) };
        let pages = row.pages.clone().or_else(|| self.pages.clone().filter(|_| row.paged));
        Function {
            provider: provider.to_owned(),
            name: name.to_owned(),
            title: row.about.trim_end_matches('.').to_owned(),
            description: row.about.clone(),
            operation,
            parameters,
            operation_id: None,
            endpoint: Endpoint {
                method: method.to_owned(),
                path: path.to_owned(),
                body_encoding: Default::default(),
                security,
                pages: pages.map(Pages::from),
                headers: self.headers.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            },
        }
    }
}

fn required(name: &str) -> (String, bool) {
    match name.strip_suffix('!') {
        Some(name) => (name.to_owned(), true),
        None => (name.to_owned(), false),
    }
}

/// Parses a parameter's schema: `integer About`, `strings About` (a list), `a|b|c About` (one of
/// these values), `any About`.
fn schema(text: &str) -> Value {
    let (kind, about) = text.split_once(' ').unwrap_or((text, ""));
    let mut schema = match kind {
        "string" | "integer" | "number" | "boolean" | "object" => json!({ "type": kind }),
        "strings" | "integers" | "objects" => {
            json!({ "type": "array", "items": { "type": kind.trim_end_matches('s') } })
        }
        "list" => json!({ "type": "array", "items": {} }),
        "any" => json!({}),
        words => json!({ "type": "string", "enum": words.split('|').collect::<Vec<_>>() }),
    };
    if !about.is_empty() {
        schema["description"] = json!(about);
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_list_is_valid() {
        let all = built_in();
        assert_eq!(all.len(), LISTS.len());
        for integration in &all {
            let name = &integration.name;
            let count = integration.functions.len();
            assert!((10..=30).contains(&count), "{name} has {count} functions");
            let url = crate::guard::checked_base(integration.address.base_url.as_deref().unwrap()).unwrap();
            assert_eq!(url.scheme(), "https");
            assert!(matches!(&integration.origin, Origin::BuiltIn { checked } if checked == "2026-11"));
            for function in integration.functions.values() {
                let full = function.full_name();
                let bare = function.description.len() < 10 || !function.description.ends_with('.');
                assert!(!bare, "{full}: {}", function.description);
                assert!(
                    function.endpoint.path.starts_with('/') && !function.endpoint.path.contains('?'),
                    "{full}"
                );
                assert!(crate::names::function_name(&function.name) == function.name, "{full}");
                let reads = function.endpoint.method == "GET" || full == "plausible.query";
                assert_eq!(reads, function.operation == Operation::Read, "{full}");
                let mut keys: Vec<_> = function.parameters.iter().map(|p| &p.key).collect();
                keys.sort();
                keys.dedup();
                assert_eq!(keys.len(), function.parameters.len(), "{full}: two parameters of one name");
                for parameter in &function.parameters {
                    let one_of = parameter.schema["enum"].as_array().map_or(2, Vec::len);
                    assert!(
                        one_of > 1,
                        "{full}: {} has an unknown type: {}",
                        parameter.key,
                        parameter.schema
                    );
                }
            }
        }
    }

    #[test]
    fn plane_lists_issues() {
        let plane = built_in().into_iter().find(|integration| integration.name == "plane").unwrap();
        let fields: Vec<_> =
            plane.fields().into_iter().map(|field| (field.name, field.secret, field.required)).collect();
        assert_eq!(fields, [("api_key".to_owned(), true, true), ("workspace_slug".to_owned(), false, true)]);
        let list = plane.function("plane.list_issues").unwrap();
        let schema = list.input_schema(&["workspace_slug".to_owned()]);
        assert_eq!(schema["required"], json!(["project_id"]));
        assert_eq!(schema["properties"]["all_pages"]["type"], "boolean");
    }
}
