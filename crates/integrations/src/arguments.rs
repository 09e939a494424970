//! Merging and conversion of a function's arguments: JSON, `NAME=VALUE` pairs and flags, fitted to
//! the function's schema.
//!
//! Later layers override earlier ones: JSON, then `--arg`, then flags. Text is converted to
//! numbers, booleans, lists and objects where the schema requires that. JSON values remain
//! unchanged where they fit.

use crate::{
    integration::{ALL_PAGES, Function},
    names::is_same_name,
};
use serde_json::{Map, Value, json};

/// Unmerged arguments, by layer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RawArguments {
    /// Members of a JSON object.
    pub json: Map<String, Value>,
    /// `NAME=VALUE` pairs.
    pub pairs: Vec<(String, String)>,
    /// `--NAME=VALUE`, or `--NAME` without a value.
    pub flags: Vec<(String, Option<String>)>,
}

/// The reason why arguments do not fit a function.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ArgumentError {
    /// The function has no such parameter.
    #[error("Unknown parameter(s): {}{}", .names.join(", "), suggestion(.nearest))]
    Unknown {
        /// The unknown names.
        names: Vec<String>,
        /// The parameter most similar to the first of them.
        nearest: Option<String>,
    },
    /// A value has the wrong type.
    #[error("Parameter '{name}' takes {wanted}, not {given}")]
    WrongType {
        /// The parameter's name.
        name: String,
        /// The accepted types.
        wanted: String,
        /// The given value, shortened.
        given: String,
    },
    /// A flag without a value, for a parameter that is no boolean.
    #[error("--{0} takes a value: --{0}=VALUE")]
    NoValue(String),
}

/// An argument of any layer.
enum RawValue {
    Json(Value),
    Text(String),
    Flag(bool),
}

/// Merges the layers and converts each value to its parameter's type. The result uses the
/// parameters' keys.
///
/// # Errors
///
/// Returns every unknown name, or the first value that cannot be converted.
pub fn merge(function: &Function, raw: RawArguments) -> Result<Map<String, Value>, ArgumentError> {
    let mut found: Map<String, Value> = Map::new();
    let mut unknown = Vec::new();
    let json = raw.json.into_iter().map(|(name, value)| (name, RawValue::Json(value)));
    let pairs = raw.pairs.into_iter().map(|(name, value)| (name, RawValue::Text(value)));
    let flags =
        raw.flags.into_iter().map(|(name, value)| (name, value.map_or(RawValue::Flag(true), RawValue::Text)));
    for layer in [json.collect::<Vec<_>>(), pairs.collect(), flags.collect()] {
        // Within one layer, a repeated list parameter collects its values.
        let mut in_layer: Map<String, Value> = Map::new();
        for (name, raw) in layer {
            let (key, schema, raw) = match parameter(function, &name) {
                Some((key, schema)) => (key, schema, raw),
                None => match negated(function, &name, &raw) {
                    Some((key, schema)) => (key, schema, RawValue::Flag(false)),
                    None => {
                        unknown.push(name);
                        continue;
                    }
                },
            };
            let value = match raw {
                RawValue::Json(value) => fit_to_schema(&key, &schema, value)?,
                RawValue::Text(text) => parse_text(&key, &schema, &text)?,
                RawValue::Flag(flag) if accepts_type(&schema, "boolean") => Value::Bool(flag),
                RawValue::Flag(_) => return Err(ArgumentError::NoValue(name)),
            };
            match (in_layer.get_mut(&key), value) {
                (Some(Value::Array(known)), Value::Array(more)) if accepts_type(&schema, "array") => {
                    known.extend(more)
                }
                (_, value) => {
                    in_layer.insert(key, value);
                }
            }
        }
        found.extend(in_layer);
    }
    match unknown.first() {
        None => Ok(found),
        Some(first) => {
            let nearest = nearest(function, first);
            Err(ArgumentError::Unknown { names: unknown, nearest })
        }
    }
}

/// Finds a parameter by its name in any spelling; returns its key and schema.
fn parameter(function: &Function, name: &str) -> Option<(String, Value)> {
    let all = &function.parameters;
    let exact = all.iter().find(|p| p.key == name || p.name == name);
    let found = exact.or_else(|| {
        let mut similar = all.iter().filter(|p| is_same_name(&p.key, name));
        // An ambiguous name must be spelled exactly.
        similar.next().filter(|_| similar.next().is_none())
    });
    let pages = || function.endpoint.pages.is_some() && is_same_name(name, ALL_PAGES);
    match found {
        Some(parameter) => Some((parameter.key.clone(), parameter.schema.clone())),
        None => pages().then(|| (ALL_PAGES.to_owned(), json!({ "type": "boolean" }))),
    }
}

/// Resolves `--no-NAME` for a boolean parameter.
fn negated(function: &Function, name: &str, raw: &RawValue) -> Option<(String, Value)> {
    let positive = name.strip_prefix("no-").filter(|_| matches!(raw, RawValue::Flag(true)))?;
    parameter(function, positive).filter(|(_, schema)| accepts_type(schema, "boolean"))
}

fn nearest(function: &Function, name: &str) -> Option<String> {
    agent::closest(name, &function.parameters, |parameter| &parameter.key)
        .map(|parameter| parameter.key.clone())
}

fn suggestion(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!(". Did you mean '{name}'?")).unwrap_or_default()
}

/// Returns the types that a schema accepts; empty if it names none.
fn types(schema: &Value) -> Vec<&str> {
    match &schema["type"] {
        Value::String(kind) => vec![kind],
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => {
            let ways = ["oneOf", "anyOf"].into_iter().flat_map(|choice| schema[choice].as_array());
            ways.flatten().flat_map(types).collect()
        }
    }
}

fn accepts_type(schema: &Value, kind: &str) -> bool {
    types(schema).contains(&kind)
}

/// Converts text to a type of the schema. Narrower types are tried first, text last.
fn parse_text(name: &str, schema: &Value, text: &str) -> Result<Value, ArgumentError> {
    let types = types(schema);
    if types.is_empty() {
        // The schema names no type: use JSON if the text parses as such.
        return Ok(serde_json::from_str(text).unwrap_or_else(|_| json!(text)));
    }
    let trimmed = text.trim();
    for kind in ["null", "boolean", "integer", "number", "array", "object"] {
        if !types.contains(&kind) {
            continue;
        }
        let value = match kind {
            "null" => (trimmed == "null").then_some(Value::Null),
            "boolean" => parse_flag(trimmed),
            "integer" => parse_integer(trimmed),
            "number" => trimmed.parse::<f64>().ok().and_then(|_| serde_json::from_str(trimmed).ok()),
            "array" => return parse_list(name, schema, trimmed),
            _ => serde_json::from_str(trimmed).ok().filter(Value::is_object),
        };
        if let Some(value) = value {
            return Ok(value);
        }
    }
    if types.contains(&"string") {
        return Ok(json!(text));
    }
    Err(wrong_type(name, schema, &json!(text)))
}

/// Parses a JSON array, or items separated by commas.
fn parse_list(name: &str, schema: &Value, text: &str) -> Result<Value, ArgumentError> {
    if let Ok(Value::Array(items)) = serde_json::from_str(text) {
        return Ok(Value::Array(items));
    }
    if text.is_empty() {
        return Ok(json!([]));
    }
    let items = text.split(',').map(|item| parse_text(name, &schema["items"], item.trim()));
    Ok(Value::Array(items.collect::<Result<_, _>>()?))
}

/// Fits a JSON value to the schema: a matching value is kept, one with a mere difference in
/// notation is converted.
fn fit_to_schema(name: &str, schema: &Value, value: Value) -> Result<Value, ArgumentError> {
    let types = types(schema);
    let fits = |kind: &&str| match *kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => true,
    };
    if types.is_empty() || types.iter().any(fits) {
        return Ok(match value.as_f64() {
            // Lua may pass a whole number as a float.
            Some(number)
                if !types.contains(&"number") && accepts_type(schema, "integer") && value.is_f64() =>
            {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "it has no fraction, and a cast saturates"
                )]
                let whole = number as i64;
                json!(whole)
            }
            _ => value,
        });
    }
    match &value {
        Value::String(text) => parse_text(name, schema, text),
        Value::Number(_) | Value::Bool(_) if types.contains(&"string") => Ok(json!(value.to_string())),
        // A null counts as an absent argument.
        Value::Null => Ok(Value::Null),
        // An empty Lua table can be a list or an object.
        Value::Object(members) if members.is_empty() && types.contains(&"array") => Ok(json!([])),
        Value::Array(items) if items.is_empty() && types.contains(&"object") => Ok(json!({})),
        // A single value for a list parameter becomes a list.
        one if types.contains(&"array") && !one.is_object() => {
            Ok(json!([fit_to_schema(name, &schema["items"], one.clone())?]))
        }
        _ => Err(wrong_type(name, schema, &value)),
    }
}

fn parse_flag(text: &str) -> Option<Value> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(Value::Bool(true)),
        "false" | "0" | "no" | "off" => Some(Value::Bool(false)),
        _ => None,
    }
}

fn parse_integer(text: &str) -> Option<Value> {
    let signed = text.parse::<i64>().ok().map(|number| json!(number));
    signed.or_else(|| text.parse::<u64>().ok().map(|number| json!(number)))
}

fn wrong_type(name: &str, schema: &Value, given: &Value) -> ArgumentError {
    let words = |kind: &&str| match *kind {
        "boolean" => "true or false",
        "integer" => "a whole number",
        "number" => "a number",
        "string" => "text",
        "array" => "a list",
        "object" => "an object",
        _ => "null",
    };
    let wanted: Vec<_> = types(schema).iter().map(words).collect();
    let given: String = given.to_string().chars().take(60).collect();
    ArgumentError::WrongType { name: name.to_owned(), wanted: wanted.join(" or "), given }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::integration::{Endpoint, Operation, Parameter, Place, Style};

    fn function() -> Function {
        let parameter = |(key, schema): (&str, Value)| Parameter {
            key: key.to_owned(),
            name: key.to_owned(),
            place: Place::Query(Style::Repeated),
            required: false,
            schema,
        };
        let parameters = [
            ("workspace_slug", json!({ "type": "string" })),
            ("perPage", json!({ "type": "integer" })),
            ("price", json!({ "type": ["number", "null"] })),
            ("closed", json!({ "type": "boolean" })),
            ("labels", json!({ "type": "array", "items": { "type": "string" } })),
            ("ids", json!({ "type": "array", "items": { "type": "integer" } })),
            ("filter", json!({ "type": "object" })),
            ("milestone", json!({ "oneOf": [{ "type": "string" }, { "type": "integer" }] })),
            ("any", json!({})),
        ];
        Function {
            provider: "p".to_owned(),
            name: "f".to_owned(),
            title: String::new(),
            description: String::new(),
            operation: Operation::Read,
            parameters: parameters.map(parameter).to_vec(),
            operation_id: None,
            endpoint: Endpoint {
                method: "GET".to_owned(),
                path: "/".to_owned(),
                body_encoding: Default::default(),
                security: Vec::new(),
                pages: None,
                headers: Vec::new(),
            },
        }
    }

    /// Parses command-line words: `{…}` is JSON, `--x` a flag, anything else a pair.
    fn raw_arguments(line: &[&str]) -> RawArguments {
        let mut raw_arguments = RawArguments::default();
        for word in line {
            let pair = word.split_once('=').map(|(name, value)| (name.to_owned(), value.to_owned()));
            match (word.strip_prefix("--"), word.starts_with('{')) {
                (_, true) => raw_arguments.json = serde_json::from_str(word).unwrap(),
                (Some(flag), _) => raw_arguments.flags.push(match flag.split_once('=') {
                    Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                    None => (flag.to_owned(), None),
                }),
                (None, _) => raw_arguments.pairs.push(pair.unwrap()),
            }
        }
        raw_arguments
    }

    #[test]
    fn layers_are_merged_and_values_converted_to_the_schema() {
        for (line, expected) in [
            (&[][..], json!({})),
            // Later layers win, and all spellings of a name are unified.
            (
                &[r#"{"workspaceSlug":"json","perPage":5}"#, "workspace_slug=pair", "--workspace-slug=flag"],
                json!({ "workspace_slug": "flag", "perPage": 5 }),
            ),
            (&["--per-page=20", "per_page=10"], json!({ "perPage": 20 })),
            // Text.
            (&["workspace_slug=007"], json!({ "workspace_slug": "007" })),
            (&["workspace_slug=true"], json!({ "workspace_slug": "true" })),
            (&["price=1.50"], json!({ "price": 1.5 })),
            (&["price=null"], json!({ "price": null })),
            (&["closed=yes"], json!({ "closed": true })),
            (&["--closed"], json!({ "closed": true })),
            (&["--no-closed"], json!({ "closed": false })),
            (&["labels=a, b"], json!({ "labels": ["a", "b"] })),
            (&["labels=[\"a,b\"]"], json!({ "labels": ["a,b"] })),
            (&["labels="], json!({ "labels": [] })),
            (&["--labels=a", "--labels=b"], json!({ "labels": ["a", "b"] })),
            (&["ids=1,2"], json!({ "ids": [1, 2] })),
            (&[r#"filter={"a":1}"#], json!({ "filter": { "a": 1 } })),
            (&["milestone=5"], json!({ "milestone": 5 })),
            (&["milestone=none"], json!({ "milestone": "none" })),
            (&["any=[1]"], json!({ "any": [1] })),
            (&["any=x"], json!({ "any": "x" })),
            // JSON.
            (
                &[r#"{"perPage":"7","workspace_slug":9,"closed":"false"}"#],
                json!({ "perPage": 7, "workspace_slug": "9", "closed": false }),
            ),
            (&[r#"{"perPage":3.0,"price":3.0}"#], json!({ "perPage": 3, "price": 3.0 })),
            (
                &[r#"{"labels":"a","ids":4,"filter":[]}"#],
                json!({ "labels": ["a"], "ids": [4], "filter": {} }),
            ),
            (&[r#"{"labels":{},"workspace_slug":null}"#], json!({ "labels": [], "workspace_slug": null })),
        ] {
            assert_eq!(merge(&function(), raw_arguments(line)).map(Value::Object), Ok(expected), "{line:?}");
        }
    }

    #[test]
    fn an_argument_that_does_not_fit_is_named() {
        for (line, says) in [
            (&["perPage=many"][..], "Parameter 'perPage' takes a whole number, not \"many\""),
            (&["price=cheap"], "Parameter 'price' takes a number or null, not \"cheap\""),
            (&["ids=1,x"], "Parameter 'ids' takes a whole number, not \"x\""),
            (&["filter=x"], "Parameter 'filter' takes an object, not \"x\""),
            (&[r#"{"perPage":[1]}"#], "Parameter 'perPage' takes a whole number, not [1]"),
            (&["--workspace_slug"], "--workspace_slug takes a value: --workspace_slug=VALUE"),
            (&["label=x", "zzz=1"], "Unknown parameter(s): label, zzz. Did you mean 'labels'?"),
            (&["--all-pages"], "Unknown parameter(s): all-pages"),
        ] {
            assert_eq!(merge(&function(), raw_arguments(line)).unwrap_err().to_string(), says, "{line:?}");
        }
    }
}
