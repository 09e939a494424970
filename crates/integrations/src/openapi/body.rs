//! The request body of an operation: an object's members become parameters, anything else one
//! parameter.

use super::{document::Document, schema, text::parameter_description};
use crate::{
    integration::{BodyEncoding, Parameter, Place},
    names::parameter_key,
};
use serde_json::{Map, Value, json};

/// A body as parameters.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) parameters: Vec<Parameter>,
    pub(super) body_encoding: BodyEncoding,
}

/// Reads an operation's body; the error gives the reason why it cannot be sent.
pub(super) fn read(document: &Document<'_>, operation: &Value) -> Result<Body, String> {
    let Some(request_body) = operation.get("requestBody") else { return Ok(Body::default()) };
    let referred = request_body.get("$ref").and_then(Value::as_str).map(|reference| document.at(reference));
    let request_body = match referred {
        None => request_body,
        Some(found) => match found.and_then(|found| document.resolved(found)) {
            Some(found) => found,
            None => return Err("the reference to its request body cannot be resolved".to_owned()),
        },
    };
    let required = request_body["required"] == true;
    let Some(types) = request_body["content"].as_object().filter(|types| !types.is_empty()) else {
        return Ok(Body::default());
    };
    let Some((body_encoding, media)) = chosen(types) else {
        if !required {
            return Ok(Body::default());
        }
        let kinds: Vec<&str> = types.keys().map(String::as_str).collect();
        return Err(format!("its request body has an unsupported type: {}", kinds.join(" or ")));
    };
    let schema = schema::for_models(document, &media["schema"]);
    let about = request_body["description"].as_str().unwrap_or_default();
    let mut parameters = parameters(schema, required, about);
    if body_encoding == BodyEncoding::Parts {
        if parameters.iter().any(|parameter| parameter.place == Place::Body) {
            return Err("its multipart body declares no parts".to_owned());
        }
        parameters.iter_mut().for_each(|parameter| part(parameter, &media["encoding"]));
    }
    Ok(Body { parameters, body_encoding })
}

/// Adapts a parameter of a multipart body: a file becomes the path to it.
fn part(parameter: &mut Parameter, encoding: &Value) {
    let own = &encoding[&parameter.name]["contentType"];
    let content_type = own.as_str().filter(|kind| !kind.contains([',', '*'])).map(str::trim);
    let (many, bytes) = match parameter.schema["type"].as_str() {
        Some("array") => (true, &parameter.schema["items"]),
        _ => (false, &parameter.schema),
    };
    let kind = content_type.or_else(|| bytes["contentMediaType"].as_str());
    if !is_bytes(bytes, kind) {
        return;
    }
    let about = parameter.schema["description"].as_str().map(|about| format!("{about} ")).unwrap_or_default();
    let mut path = json!({ "type": "string" });
    if let Some(kind) = kind {
        path["contentMediaType"] = json!(kind);
    }
    parameter.place = Place::File;
    parameter.schema = if many { json!({ "type": "array", "items": path }) } else { path };
    let what = if many { "Paths of the files that are sent" } else { "Path of the file that is sent" };
    parameter.schema["description"] = json!(format!("{about}({what})"));
}

/// Returns whether a part is binary. OpenAPI 3.0 uses `format: binary`; 3.1 a content type,
/// possibly with no other keyword.
fn is_bytes(schema: &Value, kind: Option<&str>) -> bool {
    let is_text = schema["type"] == "string" || schema.get("type").is_none();
    let format = schema["format"].as_str();
    let plain =
        schema.get("type").is_none() && schema.get("properties").is_none() && schema.get("enum").is_none();
    let binary = |kind: &str| !kind.starts_with("text/plain") && !kind.contains("json");
    is_text
        && (matches!(format, Some("binary" | "file"))
            || kind.is_some_and(binary)
            || (plain && kind.is_some()))
}

/// Chooses the media type: JSON if possible, else a form, else multipart.
fn chosen(types: &Map<String, Value>) -> Option<(BodyEncoding, &Value)> {
    let plain = |name: &str| name.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = |name: &str| name == "application/json" || name.ends_with("+json") || name == "*/*";
    let json = types.iter().find(|(name, _)| is_json(&plain(name)));
    let other = |kind: &str| types.iter().find(|(name, _)| plain(name) == kind).map(|(_, media)| media);
    let form = || other("application/x-www-form-urlencoded").map(|media| (BodyEncoding::Form, media));
    let parts = || other("multipart/form-data").map(|media| (BodyEncoding::Parts, media));
    json.map(|(_, media)| (BodyEncoding::Json, media)).or_else(form).or_else(parts)
}

fn parameters(schema: Value, required: bool, about: &str) -> Vec<Parameter> {
    if let Some((properties, needed)) = members(&schema) {
        let parameter = |(name, schema): (String, Value)| Parameter {
            key: parameter_key(&name),
            required: required && needed.contains(&name),
            name,
            place: Place::Member,
            schema,
        };
        return properties.into_iter().map(parameter).collect();
    }
    let mut schema = if schema.is_object() { schema } else { json!({}) };
    if schema.get("description").is_none() && !about.is_empty() {
        schema["description"] = json!(parameter_description(about));
    }
    let key = "body".to_owned();
    vec![Parameter { name: key.clone(), key, place: Place::Body, required, schema }]
}

/// Returns the members of an object and the required ones. For a choice between objects, returns
/// the members of all, and requires what every one of them requires.
fn members(schema: &Value) -> Option<(Map<String, Value>, Vec<String>)> {
    let needed = |schema: &Value| -> Vec<String> {
        let names = schema["required"].as_array().into_iter().flatten();
        names.filter_map(|name| Some(name.as_str()?.to_owned())).collect()
    };
    let own = schema["properties"].as_object().filter(|properties| !properties.is_empty());
    let mut found = own.map(|properties| (properties.clone(), needed(schema)));
    for choice in ["oneOf", "anyOf"] {
        let ways = schema[choice].as_array().into_iter().flatten().filter_map(members);
        let mut all: Option<(Map<String, Value>, Vec<String>)> = None;
        for (properties, required) in ways {
            match &mut all {
                None => all = Some((properties, required)),
                Some((known, always)) => {
                    properties.into_iter().for_each(|(name, schema)| {
                        known.entry(name).or_insert(schema);
                    });
                    always.retain(|name| required.contains(name));
                }
            }
        }
        // If some alternatives are no objects, no member is required.
        let whole =
            schema[choice].as_array().is_some_and(|ways| ways.iter().all(|way| members(way).is_some()));
        if let Some((properties, mut required)) = all {
            if !whole {
                required.clear();
            }
            let (known, always) = found.get_or_insert_default();
            properties.into_iter().for_each(|(name, schema)| {
                known.entry(name).or_insert(schema);
            });
            always.extend(required);
        }
    }
    found
}
