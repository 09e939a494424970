//! OpenAPI 3.0 and 3.1 documents, as far as calls need them: operations, parameters and
//! authentication.
//!
//! Descriptions of responses are not read. An error in one operation excludes that operation only.

mod body;
mod document;
mod operation;
mod schema;
mod security;
mod text;
mod trim;

pub use document::DocumentError;
pub use trim::trimmed;

use crate::{
    auth::Scheme,
    integration::Function,
    limits::FUNCTIONS,
    manifest::Manifest,
    names::{function_name, name_of_path},
};
use document::Document;
use serde_json::Value;
use std::{collections::BTreeMap, sync::Arc};

/// The content of a document.
#[derive(Debug)]
pub(crate) struct ParsedDocument {
    pub(crate) title: String,
    pub(crate) description: String,
    /// The first server's URL, with the defaults of its variables.
    pub(crate) base_url: Option<String>,
    pub(crate) schemes: BTreeMap<String, Scheme>,
    pub(crate) functions: BTreeMap<String, Arc<Function>>,
    pub(crate) left_out: Vec<String>,
}

/// The methods of operations.
const METHODS: [&str; 7] = ["get", "put", "post", "delete", "patch", "head", "options"];

/// Parses a document in JSON or YAML.
pub fn parse(bytes: &[u8]) -> Result<Value, DocumentError> {
    let begins = bytes.iter().find(|byte| !byte.is_ascii_whitespace());
    if matches!(begins, Some(b'{')) {
        return serde_json::from_slice(bytes).map_err(|error| DocumentError::NoJson(error.to_string()));
    }
    let text = str::from_utf8(bytes).map_err(|error| DocumentError::NoYaml(error.to_string()))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    agent::parse_yaml(text).map_err(|why| DocumentError::NoYaml(agent::one_line(&why)))
}

/// Reads a document, with the corrections of the manifest.
pub(crate) fn read(value: &Value, manifest: &Manifest) -> Result<ParsedDocument, DocumentError> {
    let document = Document::new(value)?;
    let info = &value["info"];
    let schemes = security::schemes(&document);
    let mut functions = BTreeMap::new();
    let mut left_out = Vec::new();
    let paths = value["paths"].as_object().into_iter().flatten();
    for (path, item) in paths.filter(|(path, _)| path.starts_with('/')) {
        let Some(item) = document.resolved(item) else { continue };
        for method in METHODS {
            let Some(operation) = item.get(method).filter(|operation| operation.is_object()) else {
                continue;
            };
            let method = method.to_ascii_uppercase();
            if functions.len() >= FUNCTIONS {
                left_out.push(format!("{method} {path}: more than {FUNCTIONS} functions"));
                continue;
            }
            let name = match operation["operationId"].as_str() {
                Some(id) if !id.trim().is_empty() => function_name(id),
                _ => name_of_path(&method, path),
            };
            let corrections = manifest.functions.get(&name);
            if corrections.is_some_and(|corrections| corrections.hidden) {
                continue;
            }
            match operation::function(&document, item, operation, &method, path) {
                Ok(function) => {
                    let name = free_name(
                        &functions,
                        corrections.and_then(|corrections| corrections.name.clone()).unwrap_or(name),
                    );
                    let mut function =
                        Function { provider: manifest.name.clone(), name: name.clone(), ..function };
                    if let Some(corrections) = corrections {
                        corrections.apply(&mut function);
                    }
                    if function.endpoint.pages.is_none() && function.endpoint.method == "GET" {
                        function.endpoint.pages = manifest.pages();
                    }
                    functions.insert(name, Arc::new(function));
                }
                Err(why) => left_out.push(format!("{method} {path}: {why}")),
            }
        }
    }
    if functions.is_empty() {
        return Err(DocumentError::Empty);
    }
    Ok(ParsedDocument {
        title: info["title"].as_str().unwrap_or(&manifest.name).trim().to_owned(),
        description: agent::sanitise(info["description"].as_str().unwrap_or_default().trim()),
        base_url: document.base_url(),
        schemes,
        functions,
        left_out,
    })
}

fn free_name(taken: &BTreeMap<String, Arc<Function>>, name: String) -> String {
    if !taken.contains_key(&name) {
        return name;
    }
    let mut numbered = (2..).map(|number| format!("{name}_{number}"));
    numbered.find(|name| !taken.contains_key(name)).expect("there are more numbers than functions")
}

#[cfg(test)]
mod tests;
