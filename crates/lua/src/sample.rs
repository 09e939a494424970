//! Generates sample arguments, for examples that can be run unchanged.

use serde_json::{Map, Value, json};

/// The maximum nesting depth of sample objects; deeper members are omitted.
const DEPTH: usize = 4;

/// The default text.
const SAMPLE_TEXT: &str = "text";

/// Returns a value that satisfies a schema; objects contain their required members only. Values
/// given in the schema (`default`, `examples`, `const`, `enum`) are preferred.
pub fn sample(schema: &Value) -> Value {
    sample_at(schema, 0)
}

fn sample_at(schema: &Value, depth: usize) -> Value {
    let examples = schema["examples"].as_array().and_then(|all| all.first());
    let listed = schema["enum"].as_array().and_then(|all| all.first());
    let known = [schema.get("default"), examples, schema.get("example"), schema.get("const"), listed];
    if let Some(known) = known.into_iter().flatten().find(|value| is_valid(value, schema)) {
        return known.clone();
    }
    if schema.get("type").is_none() {
        let ways = ["oneOf", "anyOf", "allOf"].into_iter().find_map(|choice| schema[choice].as_array());
        if let Some(way) = ways.and_then(|ways| ways.first()).filter(|_| depth < DEPTH) {
            return sample_at(way, depth + 1);
        }
    }
    match kind(schema) {
        Some("integer" | "number") => number(schema),
        Some("boolean") => json!(true),
        Some("null") => Value::Null,
        Some("array") => {
            let one = || sample_at(&schema["items"], depth + 1);
            let wanted = schema["minItems"].as_u64().unwrap_or(1).clamp(1, 8);
            (0..wanted).map(|_| one()).collect()
        }
        Some("object") => {
            let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
            let needed = required.filter(|_| depth < DEPTH);
            let member = |name: &str| (name.to_owned(), sample_at(&schema["properties"][name], depth + 1));
            Value::Object(needed.map(member).collect::<Map<_, _>>())
        }
        _ => text(schema),
    }
}

/// Returns the type of a schema; if there are several, the first one other than null.
fn kind(schema: &Value) -> Option<&str> {
    match &schema["type"] {
        Value::String(kind) => Some(kind),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null"),
        _ => schema["properties"].is_object().then_some("object"),
    }
}

/// Returns whether a value has the type of a schema.
fn is_valid(value: &Value, schema: &Value) -> bool {
    match kind(schema) {
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("boolean") => value.is_boolean(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        Some("string") => value.is_string(),
        _ => !value.is_null(),
    }
}

fn number(schema: &Value) -> Value {
    if let Some(least) = schema.get("minimum").filter(|least| least.as_f64().is_some_and(|n| n > 1.0)) {
        return least.clone();
    }
    if let Some(above) = schema["exclusiveMinimum"].as_i64().filter(|above| *above >= 1) {
        return json!(above + 1);
    }
    match schema.get("maximum").filter(|most| most.as_f64().is_some_and(|n| n < 1.0)) {
        Some(most) => most.clone(),
        None => json!(1),
    }
}

fn text(schema: &Value) -> Value {
    let known = match schema["format"].as_str() {
        Some("date") => "2026-01-31",
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("time") => "12:00:00Z",
        Some("uri" | "url" | "iri") => "https://example.com/",
        Some("email") => "someone@example.com",
        Some("uuid") => "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        Some("ipv4") => "192.0.2.1",
        Some("hostname") => "example.com",
        _ => SAMPLE_TEXT,
    };
    let least = schema["minLength"].as_u64().and_then(|least| usize::try_from(least).ok()).unwrap_or(0);
    let most = schema["maxLength"].as_u64().and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
    let mut text = known.to_owned();
    while text.chars().count() < least.min(64) {
        text.push('x');
    }
    json!(text.chars().take(most).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_has_every_required_member_and_is_valid() {
        let schema = json!({
            "type": "object",
            "properties": {
                "name": { "type": "string" }, "count": { "type": "integer", "minimum": 5 }, "on": { "type": "boolean" },
                "day": { "type": "string", "format": "date" }, "kind": { "enum": ["a", "b"] },
                "labels": { "type": ["null", "array"], "items": { "type": "number" } },
                "to": { "type": "object", "properties": { "x": {}, "y": {} }, "required": ["x"] },
                "either": { "anyOf": [{ "type": "integer" }, { "type": "string" }] },
                "wrong": { "type": "string", "default": 7 }, "short": { "type": "string", "maxLength": 2 },
                "left": { "type": "string" },
            },
            "required": ["name", "count", "on", "day", "kind", "labels", "to", "either", "wrong", "short"],
        });
        let expected = json!({
            "name": "text", "count": 5, "on": true, "day": "2026-01-31", "kind": "a", "labels": [1], "to": { "x": "text" },
            "either": 1, "wrong": "text", "short": "te",
        });
        assert_eq!(sample(&schema), expected);
        assert_eq!(sample(&json!({})), json!("text"));
    }
}
