//! Schemas for models: with references resolved, without documentation keywords, and of limited
//! size.

use super::{document::Document, text::parameter_description};
use crate::limits::{SCHEMA_BYTES, SCHEMA_DEPTH, SCHEMA_PARTS};
use serde_json::{Map, Value, json};

/// Keywords that constrain a value and are copied verbatim.
const KEPT: [&str; 15] = [
    "contentMediaType",
    "type",
    "enum",
    "const",
    "default",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "multipleOf",
];

/// Returns a self-contained schema. Levels are dropped until it fits `SCHEMA_BYTES`.
pub(super) fn for_models(document: &Document<'_>, schema: &Value) -> Value {
    let mut out = json!({});
    for depth in (1..=SCHEMA_DEPTH).rev() {
        let mut writer = SchemaWriter { document, trail: Vec::new(), parts: SCHEMA_PARTS };
        out = writer.convert(schema, depth);
        if out.to_string().len() <= SCHEMA_BYTES {
            return out;
        }
    }
    let kind = out.get("type").cloned();
    kind.map_or_else(|| json!({}), |kind| json!({ "type": kind }))
}

struct SchemaWriter<'a> {
    document: &'a Document<'a>,
    /// The references followed to the current node, to detect recursion.
    trail: Vec<String>,
    parts: usize,
}

impl SchemaWriter<'_> {
    fn convert(&mut self, schema: &Value, depth: usize) -> Value {
        let Some(left) = self.parts.checked_sub(1) else { return json!({}) };
        self.parts = left;
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            if self.trail.iter().any(|followed| followed == reference) {
                return json!({ "description": "The same again" });
            }
            let Some(found) = self.document.at(reference) else { return json!({}) };
            self.trail.push(reference.to_owned());
            let mut out = self.convert(found, depth);
            self.trail.pop();
            // OpenAPI 3.1 permits a description beside a reference.
            self.add_description(schema, &mut out);
            return out;
        }
        let Value::Object(schema) = schema else { return json!({}) };
        let mut out = Map::new();
        for name in KEPT {
            out.extend(schema.get(name).map(|value| (name.to_owned(), value.clone())));
        }
        self.convert_bounds(schema, &mut out);
        if schema.get("nullable") == Some(&Value::Bool(true)) {
            nullable(&mut out);
        }
        if depth > 0 {
            self.convert_members(schema, &mut out, depth - 1);
        }
        let mut out = Value::Object(out);
        self.add_description(&Value::Object(schema.clone()), &mut out);
        out
    }

    fn add_description(&self, schema: &Value, out: &mut Value) {
        let about = schema.get("description").or_else(|| schema.get("title")).and_then(Value::as_str);
        if let (Some(about), Value::Object(out)) = (about, out) {
            let about = parameter_description(about.trim());
            if !about.is_empty() {
                out.insert("description".to_owned(), Value::String(about));
            }
        }
    }

    /// Converts exclusive bounds: flags in OpenAPI 3.0, numbers in 3.1.
    fn convert_bounds(&self, schema: &Map<String, Value>, out: &mut Map<String, Value>) {
        for (name, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
            match schema.get(name) {
                Some(Value::Bool(true)) => {
                    let value = out.remove(bound);
                    out.extend(value.map(|value| (name.to_owned(), value)));
                }
                Some(Value::Number(number)) => {
                    out.insert(name.to_owned(), Value::Number(number.clone()));
                }
                _ => {}
            }
        }
    }

    fn convert_members(&mut self, schema: &Map<String, Value>, out: &mut Map<String, Value>, depth: usize) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            let mut own = Map::new();
            for (name, property) in properties {
                if self.is_read_only(property) {
                    continue;
                }
                own.insert(name.clone(), self.convert(property, depth));
            }
            let required: Vec<Value> = match schema.get("required").and_then(Value::as_array) {
                Some(names) => names
                    .iter()
                    .filter(|n| n.as_str().is_some_and(|n| own.contains_key(n)))
                    .cloned()
                    .collect(),
                None => Vec::new(),
            };
            out.entry("type").or_insert_with(|| json!("object"));
            out.insert("properties".to_owned(), Value::Object(own));
            if !required.is_empty() {
                out.insert("required".to_owned(), Value::Array(required));
            }
        } else if let Some(required) = schema.get("required").filter(|required| required.is_array()) {
            out.insert("required".to_owned(), required.clone());
        }
        if let Some(items) = schema.get("items") {
            out.entry("type").or_insert_with(|| json!("array"));
            let items = self.convert(items, depth);
            out.insert("items".to_owned(), items);
        }
        match schema.get("additionalProperties") {
            Some(Value::Bool(flag)) => {
                out.insert("additionalProperties".to_owned(), Value::Bool(*flag));
            }
            Some(further @ Value::Object(_)) => {
                let further = self.convert(further, depth);
                out.insert("additionalProperties".to_owned(), further);
            }
            _ => {}
        }
        for choice in ["oneOf", "anyOf"] {
            if let Some(ways) = schema.get(choice).and_then(Value::as_array) {
                let ways: Vec<Value> = ways.iter().map(|way| self.convert(way, depth)).collect();
                out.insert(choice.to_owned(), Value::Array(ways));
            }
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            // The parts of `allOf` are on the same level as the schema itself.
            if let Value::Object(part) = self.convert(part, depth + 1) {
                merge(out, part);
            }
        }
    }

    fn is_read_only(&self, property: &Value) -> bool {
        let found =
            property.get("$ref").and_then(Value::as_str).and_then(|reference| self.document.at(reference));
        [Some(property), found].into_iter().flatten().any(|schema| schema["readOnly"] == true)
    }
}

/// Merges a part of `allOf`: properties and required names are united; otherwise the first value of
/// a keyword is kept.
fn merge(whole: &mut Map<String, Value>, part: Map<String, Value>) {
    for (name, value) in part {
        match (name.as_str(), whole.get_mut(&name), value) {
            ("properties", Some(Value::Object(known)), Value::Object(more)) => {
                more.into_iter().for_each(|(name, schema)| {
                    known.entry(name).or_insert(schema);
                });
            }
            ("required", Some(Value::Array(known)), Value::Array(more)) => {
                for name in more {
                    if !known.contains(&name) {
                        known.push(name);
                    }
                }
            }
            (_, None, value) => {
                whole.insert(name, value);
            }
            _ => {}
        }
    }
}

/// Converts `nullable` of OpenAPI 3.0 to the `null` type of 3.1.
fn nullable(out: &mut Map<String, Value>) {
    if let Some(Value::String(kind)) = out.get("type") {
        let kinds = json!([kind, "null"]);
        out.insert("type".to_owned(), kinds);
    }
    if let Some(Value::Array(values)) = out.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
}
