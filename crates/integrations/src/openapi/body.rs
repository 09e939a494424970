//! What an operation takes as its body: members beside the other parameters where it is an object, one parameter where it is not.

use super::{document::Document, operation::cut, schema};
use crate::{
    integration::{Parameter, Place},
    limits::PARAMETER_CHARS,
    names::parameter_key,
};
use serde_json::{Map, Value, json};

/// A body, as parameters.
#[derive(Debug, Default)]
pub(super) struct Body {
    pub(super) parameters: Vec<Parameter>,
    pub(super) form: bool,
}

/// Reads the body of an operation; an error says why it cannot be sent.
pub(super) fn read(document: &Document<'_>, operation: &Value) -> Result<Body, String> {
    let Some(given) = operation.get("requestBody") else { return Ok(Body::default()) };
    let referred = given.get("$ref").and_then(Value::as_str).map(|reference| document.at(reference));
    let given = match referred {
        None => given,
        Some(found) => match found.and_then(|found| document.resolved(found)) {
            Some(found) => found,
            None => return Err("its body is described nowhere".to_owned()),
        },
    };
    let required = given["required"] == true;
    let Some(types) = given["content"].as_object().filter(|types| !types.is_empty()) else {
        return Ok(Body::default());
    };
    let Some((form, media)) = chosen(types) else {
        if !required {
            return Ok(Body::default());
        }
        let kinds: Vec<&str> = types.keys().map(String::as_str).collect();
        return Err(format!("it wants a body of the type {}", kinds.join(" or ")));
    };
    let schema = schema::told(document, &media["schema"]);
    let about = given["description"].as_str().unwrap_or_default();
    Ok(Body { parameters: parameters(schema, required, about), form })
}

/// JSON if it may be that, a form otherwise.
fn chosen(types: &Map<String, Value>) -> Option<(bool, &Value)> {
    let plain = |name: &str| name.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_json = |name: &str| name == "application/json" || name.ends_with("+json") || name == "*/*";
    let json = types.iter().find(|(name, _)| is_json(&plain(name)));
    let form = || types.iter().find(|(name, _)| plain(name) == "application/x-www-form-urlencoded");
    json.map(|(_, media)| (false, media)).or_else(|| form().map(|(_, media)| (true, media)))
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
        schema["description"] = json!(cut(&agent::sanitise(about), PARAMETER_CHARS));
    }
    let key = "body".to_owned();
    vec![Parameter { name: key.clone(), key, place: Place::Body, required, schema }]
}

/// The members of an object, and those it cannot do without. Of a choice between objects, all members of all, and those that each of them needs.
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
        // Where only some of the ways are objects, none of their members is needed.
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
