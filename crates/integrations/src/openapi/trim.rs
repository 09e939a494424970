//! Removal of unused parts of a document, which is stored and parsed at every start.

use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// Keywords of operations for responses, examples and other documentation.
const DROPPED: [&str; 6] = ["responses", "callbacks", "externalDocs", "servers", "example", "examples"];

/// The kinds of components that operations refer to.
const KINDS: [&str; 5] = ["schemas", "parameters", "requestBodies", "pathItems", "headers"];

/// Returns a document reduced to what calls need: without responses, examples and unreferenced
/// components.
pub fn trimmed(document: &Value) -> Value {
    let mut small = Map::new();
    for name in ["openapi", "info", "servers", "security"] {
        small.extend(document.get(name).map(|value| (name.to_owned(), value.clone())));
    }
    let mut paths = Map::new();
    for (path, item) in document["paths"].as_object().into_iter().flatten() {
        let Value::Object(item) = item else { continue };
        let item = item.iter().map(|(name, value)| (name.clone(), without(value, &DROPPED))).collect();
        paths.insert(path.clone(), Value::Object(item));
    }
    let mut needed = BTreeSet::new();
    paths.values().for_each(|item| references(item, &mut needed));
    let mut components = Map::new();
    let mut waiting: Vec<String> = needed.iter().cloned().collect();
    while let Some(reference) = waiting.pop() {
        let pointer = reference.trim_start_matches('#');
        let mut parts = pointer.trim_start_matches("/components/").splitn(2, '/');
        let (Some(kind), Some(name)) = (parts.next(), parts.next()) else { continue };
        let Some(name) = name.split('/').next().filter(|_| KINDS.contains(&kind)) else { continue };
        let Some(found) = document.pointer(&format!("/components/{kind}/{name}")) else { continue };
        let found = without(found, &["example", "examples", "externalDocs", "xml"]);
        let mut further = BTreeSet::new();
        references(&found, &mut further);
        let name = name.replace("~1", "/").replace("~0", "~");
        let kept = components.entry(kind).or_insert_with(|| json!({}));
        kept[&name] = found;
        waiting.extend(further.into_iter().filter(|reference| needed.insert(reference.clone())));
    }
    if let Some(schemes) = document.pointer("/components/securitySchemes") {
        components.insert("securitySchemes".to_owned(), schemes.clone());
    }
    small.insert("paths".to_owned(), Value::Object(paths));
    small.insert("components".to_owned(), Value::Object(components));
    Value::Object(small)
}

/// Removes keywords with these names, and extensions. Names of a schema's properties are no
/// keywords.
fn without(value: &Value, names: &[&str]) -> Value {
    match value {
        Value::Object(members) => {
            let kept =
                members.iter().filter(|(name, _)| !names.contains(&name.as_str()) && !name.starts_with("x-"));
            let inner = |(name, value): (&String, &Value)| {
                let value = match (name.as_str(), value) {
                    ("properties", Value::Object(properties)) => {
                        let each =
                            properties.iter().map(|(name, schema)| (name.clone(), without(schema, names)));
                        Value::Object(each.collect())
                    }
                    _ => without(value, names),
                };
                (name.clone(), value)
            };
            Value::Object(kept.map(inner).collect())
        }
        Value::Array(items) => items.iter().map(|item| without(item, names)).collect(),
        plain => plain.clone(),
    }
}

fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                found.insert(reference.to_owned());
            }
            members.values().for_each(|member| references(member, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}
