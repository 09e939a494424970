//! Checks a value against a JSON Schema. Supports the keywords that our own schemas use, and is
//! stricter than the standard: a member that is not in the schema is an error.

use serde_json::Value;
use std::collections::BTreeSet;

/// The members that a schema lists; `None` if it allows any.
type Known = Option<BTreeSet<String>>;

/// Checks a value against a schema of a document.
pub(super) fn check(document: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    whole(document, schema, value, "")
}

fn whole(document: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    let known = partly(document, schema, value, at)?;
    match (value, known) {
        (Value::Object(members), Some(known)) => match members.keys().find(|name| !known.contains(*name)) {
            Some(name) => Err(format!("{at}/{name} is not in the schema")),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

fn partly(document: &Value, schema: &Value, value: &Value, at: &str) -> Result<Known, String> {
    let Value::Object(rules) = schema else { return Ok(None) };
    let mut known: Known = None;
    let mut learn = |more: Known| {
        if let Some(more) = more {
            known.get_or_insert_default().extend(more);
        }
    };
    for (rule, says) in rules {
        match (rule.as_str(), says) {
            ("$ref", Value::String(name)) => {
                let name = name.strip_prefix("#/$defs/").expect("a reference into the document");
                let more = partly(document, &document["$defs"][name], value, at)?;
                learn(Some(more.unwrap_or_default()));
            }
            ("allOf", Value::Array(all)) => {
                for one in all {
                    learn(partly(document, one, value, at)?);
                }
            }
            ("oneOf" | "anyOf", Value::Array(all)) => {
                let tried: Vec<_> = all.iter().map(|one| partly(document, one, value, at)).collect();
                match tried.iter().find_map(|tried| tried.as_ref().ok()) {
                    Some(more) => learn(more.clone()),
                    None => return Err(format!("{at} is none of: {tried:?}")),
                }
            }
            ("type", says) => {
                let fits = |kind: &Value| is(value, kind.as_str().unwrap());
                let fits = says.as_array().map_or_else(|| fits(says), |all| all.iter().any(fits));
                if !fits {
                    return Err(format!("{at} is no {says}: {value}"));
                }
            }
            ("const", says) if value != says => return Err(format!("{at} is not {says}: {value}")),
            ("enum", Value::Array(all)) if !all.contains(value) => {
                return Err(format!("{at} is none of {all:?}: {value}"));
            }
            ("required", Value::Array(names)) => {
                let missing = names.iter().find(|name| value.get(name.as_str().unwrap()).is_none());
                if let (Some(name), true) = (missing, value.is_object()) {
                    return Err(format!("{at} lacks {name}"));
                }
            }
            ("properties", Value::Object(properties)) => {
                for (name, schema) in properties {
                    if let Some(member) = value.get(name) {
                        whole(document, schema, member, &format!("{at}/{name}"))?;
                    }
                }
                learn(Some(properties.keys().cloned().collect()));
            }
            ("additionalProperties", schema) if *schema != Value::Bool(false) => {
                let own = rules.get("properties").and_then(Value::as_object);
                for (name, member) in value.as_object().into_iter().flatten() {
                    if own.is_none_or(|own| !own.contains_key(name)) {
                        whole(document, schema, member, &format!("{at}/{name}"))?;
                    }
                }
                learn(value.as_object().map(|members| members.keys().cloned().collect()));
            }
            ("items", schema) => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    whole(document, schema, item, &format!("{at}/{index}"))?;
                }
            }
            _ => {}
        }
    }
    Ok(known)
}

fn is(value: &Value, kind: &str) -> bool {
    match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("a kind that is not known here: {other}"),
    }
}

#[test]
fn schema_mismatches_are_found() {
    use serde_json::json;
    let document = json!({ "$defs": { "a": { "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] } } });
    let schema = json!({ "$ref": "#/$defs/a", "properties": { "t": { "const": "x" } }, "required": ["t"] });
    for (value, fits) in [
        (json!({ "n": 1, "t": "x" }), true),
        (json!({ "n": 1, "t": "y" }), false),
        (json!({ "n": "1", "t": "x" }), false),
        (json!({ "n": 1 }), false),
        (json!({ "t": "x" }), false),
        (json!({ "n": 1, "t": "x", "more": 1 }), false),
        (json!(7), false),
    ] {
        assert_eq!(check(&document, &schema, &value).is_ok(), fits, "{value}");
    }
}
