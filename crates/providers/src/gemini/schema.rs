//! Converts JSON Schema to the subset that Gemini's own schema type supports (Google, "Schema"),
//! for servers that do not accept JSON Schema.

use serde_json::{Map, Value, json};

/// The depth to which references are resolved; it bounds schemas that refer to themselves.
const MAX_DEPTH: usize = 16;

/// The keywords that are copied unchanged.
const KEPT: &[&str] = &[
    "title",
    "description",
    "enum",
    "maxItems",
    "minItems",
    "required",
    "minProperties",
    "maxProperties",
    "minLength",
    "maxLength",
    "pattern",
    "minimum",
    "maximum",
    "nullable",
];

/// The supported formats; others are rejected by the API.
const FORMATS: &[&str] = &["date-time", "enum", "int32", "int64", "float", "double"];

/// Converts a schema: unsupported keywords are dropped, references are inlined, and `null` among
/// the types becomes `nullable`. The result accepts everything that the schema accepts, and
/// possibly more.
pub(super) fn subset(schema: &Value) -> Value {
    convert(schema, schema, 0)
}

fn convert(schema: &Value, root: &Value, depth: usize) -> Value {
    let Some(map) = schema.as_object().filter(|_| depth < MAX_DEPTH) else {
        return json!({"type": "object"});
    };
    if let Some(target) = map.get("$ref").and_then(Value::as_str) {
        let pointed = target.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return pointed.map_or_else(|| json!({"type": "object"}), |found| convert(found, root, depth + 1));
    }
    let next = |value: &Value| convert(value, root, depth + 1);
    let mut out = Map::new();
    for (key, value) in map {
        match key.as_str() {
            kept if KEPT.contains(&kept) => drop(out.insert(key.clone(), value.clone())),
            "type" => types(value, &mut out),
            "const" => drop(out.insert("enum".into(), json!([value]))),
            "format" if value.as_str().is_some_and(|format| FORMATS.contains(&format)) => {
                out.insert(key.clone(), value.clone());
            }
            "properties" => {
                let properties = value.as_object().into_iter().flatten();
                let converted: Map<_, _> =
                    properties.map(|(name, value)| (name.clone(), next(value))).collect();
                if !converted.is_empty() {
                    out.insert(key.clone(), converted.into());
                }
            }
            "items" => drop(out.insert(key.clone(), next(value))),
            "anyOf" | "oneOf" => any_of(value, &mut out, next),
            // Few schemas have more than one part; their requirements are merged.
            "allOf" => {
                for part in value.as_array().into_iter().flatten() {
                    out.extend(next(part).as_object().cloned().unwrap_or_default());
                }
            }
            _ => {}
        }
    }
    // Enumerations must consist of strings.
    if let Some(values) = out.get_mut("enum").and_then(Value::as_array_mut) {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        *values = values.iter().map(|value| text(value).into()).collect();
        out.insert("type".into(), "string".into());
    }
    if !out.contains_key("type") && !out.contains_key("anyOf") {
        let kind = if out.contains_key("items") { "array" } else { "object" };
        out.insert("type".into(), kind.into());
    }
    if out.get("type") == Some(&"array".into()) && !out.contains_key("items") {
        out.insert("items".into(), json!({"type": "string"}));
    }
    if let Some(known) = out.get("properties").and_then(Value::as_object).cloned()
        && let Some(required) = out.get_mut("required").and_then(Value::as_array_mut)
    {
        required.retain(|name| name.as_str().is_some_and(|name| known.contains_key(name)));
    }
    out.into()
}

/// Converts `type`: sets one type, or `anyOf` for several, and `nullable` if `null` is among them.
fn types(value: &Value, out: &mut Map<String, Value>) {
    let Some(several) = value.as_array() else {
        out.insert("type".into(), value.clone());
        return;
    };
    let real: Vec<&Value> = several.iter().filter(|kind| *kind != "null").collect();
    if real.len() < several.len() {
        out.insert("nullable".into(), true.into());
    }
    match real.as_slice() {
        [] => {}
        [one] => drop(out.insert("type".into(), (*one).clone())),
        many => {
            let alternatives: Vec<_> = many.iter().map(|kind| json!({"type": kind})).collect();
            out.insert("anyOf".into(), alternatives.into());
        }
    }
}

fn any_of(value: &Value, out: &mut Map<String, Value>, next: impl Fn(&Value) -> Value) {
    let alternatives = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let is_null = |schema: &&Value| schema.get("type") == Some(&"null".into());
    if alternatives.iter().any(|schema| is_null(&schema)) {
        out.insert("nullable".into(), true.into());
    }
    let real: Vec<_> = alternatives.iter().filter(|schema| !is_null(schema)).map(next).collect();
    match real.as_slice() {
        [] => {}
        [one] => out.extend(one.as_object().cloned().unwrap_or_default()),
        _ => drop(out.insert("anyOf".into(), real.into())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unsupported_schemas_are_converted_to_the_nearest_supported_ones() {
        let schema = json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "additionalProperties": false,
            "$defs": {"kind": {"enum": ["a", 1]}, "again": {"type": "object", "properties": {"more": {"$ref": "#/$defs/again"}}}},
            "properties": {
                "kind": {"$ref": "#/$defs/kind"},
                "note": {"type": ["string", "null"], "format": "uri", "default": null},
                "when": {"type": "string", "format": "date-time"},
                "mixed": {"type": ["string", "integer"]},
                "list": {"type": "array"},
                "maybe": {"anyOf": [{"type": "integer", "exclusiveMinimum": 0}, {"type": "null"}]},
                "fixed": {"const": "x"},
            },
            "required": ["kind", "gone"],
        });
        assert_eq!(
            subset(&schema),
            json!({
                "type": "object",
                "properties": {
                    "kind": {"type": "string", "enum": ["a", "1"]},
                    "note": {"type": "string", "nullable": true},
                    "when": {"type": "string", "format": "date-time"},
                    "mixed": {"anyOf": [{"type": "string"}, {"type": "integer"}]},
                    "list": {"type": "array", "items": {"type": "string"}},
                    "maybe": {"type": "integer", "nullable": true},
                    "fixed": {"type": "string", "enum": ["x"]},
                },
                "required": ["kind"],
            })
        );
        let endless =
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}});
        assert_eq!(subset(&endless)["type"], "array", "it ends");
    }
}
