//! Conversion of an operation into a function.

use super::{
    body,
    document::Document,
    schema, security,
    text::{parameter_description, truncate},
};
use crate::{
    integration::{Endpoint, Function, Operation, Parameter, Place, Style},
    limits::DESCRIPTION_CHARS,
    names::{names_in, parameter_key},
};
use serde_json::{Value, json};

/// Headers that callers cannot set.
const OWN_HEADERS: [&str; 9] = [
    "accept",
    "content-type",
    "authorization",
    "cookie",
    "host",
    "content-length",
    "transfer-encoding",
    "connection",
    "upgrade",
];

/// Converts an operation into a function without name and provider, which the caller must set. The
/// error gives the reason why it cannot be called.
pub(super) fn function(
    document: &Document<'_>,
    item: &Value,
    operation: &Value,
    method: &str,
    path: &str,
) -> Result<Function, String> {
    let mut parameters = declared(document, item, operation)?;
    for name in names_in(path) {
        if !parameters.iter().any(|parameter| parameter.place == Place::Path && parameter.name == name) {
            parameters.push(Parameter {
                key: parameter_key(&name),
                name,
                place: Place::Path,
                required: true,
                schema: json!({ "type": "string" }),
            });
        }
    }
    let body = body::read(document, operation)?;
    for parameter in body.parameters {
        add(&mut parameters, parameter);
    }
    let text = |field: &str| agent::sanitise(operation[field].as_str().unwrap_or_default().trim());
    let (summary, description) = (text("summary"), text("description"));
    let title = if summary.is_empty() { description.lines().next().unwrap_or_default() } else { &summary };
    let title: String = agent::one_line(title).chars().take(120).collect();
    let mut about = match (summary.is_empty(), description.is_empty()) {
        (false, false) if description != summary => format!("{summary}\n\n{description}"),
        (false, _) => summary.clone(),
        (true, _) => description.clone(),
    };
    if operation["deprecated"] == true {
        about = format!("Deprecated. {about}");
    }
    Ok(Function {
        provider: String::new(),
        name: String::new(),
        operation_id: operation["operationId"].as_str().map(|id| id.trim().to_owned()),
        title,
        description: truncate(&about, DESCRIPTION_CHARS),
        operation: Operation::from_method(method),
        parameters,
        endpoint: Endpoint {
            method: method.to_owned(),
            path: path.to_owned(),
            body_encoding: body.body_encoding,
            security: security::required_schemes(document, operation),
            pages: None,
            headers: Vec::new(),
        },
    })
}

/// Returns the parameters of the operation and of its path; the operation's take precedence.
fn declared(document: &Document<'_>, item: &Value, operation: &Value) -> Result<Vec<Parameter>, String> {
    let mut parameters: Vec<Parameter> = Vec::new();
    for list in [&operation["parameters"], &item["parameters"]] {
        for declared in list.as_array().into_iter().flatten() {
            // Copied, because `item` and `operation` do not have the document's lifetime.
            let Some(declared) = resolved_parameter(document, declared) else { continue };
            let Some(name) = declared["name"].as_str() else { continue };
            let place = declared["in"].as_str().unwrap_or_default();
            let known = |p: &Parameter| p.name == name && place_name(p.place) == place;
            if parameters.iter().any(known) {
                continue;
            }
            let required = declared["required"] == true;
            let place = match place {
                "path" => Place::Path,
                "query" => Place::Query(style(&declared)),
                "header" if OWN_HEADERS.contains(&name.to_ascii_lowercase().as_str()) => continue,
                "header" => Place::Header,
                "cookie" if required => return Err(format!("it needs the cookie {name}")),
                _ => continue,
            };
            let mut schema = schema::for_models(document, own_schema(&declared));
            describe(&mut schema, &declared);
            let (key, name) = (parameter_key(name), name.to_owned());
            let required = required || place == Place::Path;
            add(&mut parameters, Parameter { key, name, place, required, schema });
        }
    }
    Ok(parameters)
}

fn resolved_parameter(document: &Document<'_>, value: &Value) -> Option<Value> {
    match value.get("$ref").and_then(Value::as_str) {
        None => Some(value.clone()),
        Some(reference) => document.resolved(document.at(reference)?).cloned(),
    }
}

/// Returns a parameter's schema, which stands in it directly or below its media type.
fn own_schema(declared: &Value) -> &Value {
    match declared.get("schema") {
        Some(schema) => schema,
        None => {
            let content = declared["content"].as_object();
            content.and_then(|types| types.values().next()).map_or(&Value::Null, |media| &media["schema"])
        }
    }
}

fn style(declared: &Value) -> Style {
    if declared.get("content").is_some() {
        return Style::Json;
    }
    let name = declared["name"].as_str().unwrap_or_default();
    let explode = declared["explode"].as_bool();
    match declared["style"].as_str().unwrap_or("form") {
        "deepObject" => Style::Deep,
        "spaceDelimited" if explode != Some(true) => Style::Joined(' '),
        "pipeDelimited" if explode != Some(true) => Style::Joined('|'),
        _ if explode == Some(false) => Style::Joined(','),
        // The name contains the brackets already.
        _ if name.ends_with("[]") => Style::Repeated,
        _ => Style::Repeated,
    }
}

fn place_name(place: Place) -> &'static str {
    match place {
        Place::Path => "path",
        Place::Query(_) => "query",
        Place::Header => "header",
        Place::Member | Place::Body | Place::File => "body",
    }
}

/// Adds a parameter's own description to its schema.
fn describe(schema: &mut Value, declared: &Value) {
    let Value::Object(schema) = schema else { return };
    if let Some(about) = declared["description"].as_str() {
        let about = parameter_description(about.trim());
        if !about.is_empty() {
            schema.insert("description".to_owned(), Value::String(about));
        }
    }
}

/// Adds a parameter, with another key if its own is taken.
fn add(parameters: &mut Vec<Parameter>, mut parameter: Parameter) {
    if parameters.iter().any(|known| known.key == parameter.key) {
        parameter.key = format!("{}_{}", place_name(parameter.place), parameter.key);
        let key = parameter.key.clone();
        let mut number = 2;
        while parameters.iter().any(|known| known.key == parameter.key) {
            parameter.key = format!("{key}_{number}");
            number += 1;
        }
    }
    parameters.push(parameter);
}
