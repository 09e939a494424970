//! Schemas for models: with references resolved, without documentation keywords, and of limited
//! size.

use super::{document::Document, operation::cut};
use crate::limits::{PARAMETER_CHARS, SCHEMA_BYTES, SCHEMA_DEPTH, SCHEMA_PARTS};
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
pub(super) fn told(document: &Document<'_>, schema: &Value) -> Value {
    let mut told = json!({});
    for depth in (1..=SCHEMA_DEPTH).rev() {
        let mut teller = Teller { document, trail: Vec::new(), parts: SCHEMA_PARTS };
        told = teller.tell(schema, depth);
        if told.to_string().len() <= SCHEMA_BYTES {
            return told;
        }
    }
    let kind = told.get("type").cloned();
    kind.map_or_else(|| json!({}), |kind| json!({ "type": kind }))
}

struct Teller<'a> {
    document: &'a Document<'a>,
    /// The references followed to the current node, to detect recursion.
    trail: Vec<String>,
    parts: usize,
}

impl Teller<'_> {
    fn tell(&mut self, schema: &Value, depth: usize) -> Value {
        let Some(left) = self.parts.checked_sub(1) else { return json!({}) };
        self.parts = left;
        if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
            if self.trail.iter().any(|followed| followed == reference) {
                return json!({ "description": "The same again" });
            }
            let Some(found) = self.document.at(reference) else { return json!({}) };
            self.trail.push(reference.to_owned());
            let mut told = self.tell(found, depth);
            self.trail.pop();
            // OpenAPI 3.1 permits a description beside a reference.
            self.about(schema, &mut told);
            return told;
        }
        let Value::Object(schema) = schema else { return json!({}) };
        let mut told = Map::new();
        for name in KEPT {
            told.extend(schema.get(name).map(|value| (name.to_owned(), value.clone())));
        }
        self.limits(schema, &mut told);
        if schema.get("nullable") == Some(&Value::Bool(true)) {
            nullable(&mut told);
        }
        if depth > 0 {
            self.inner(schema, &mut told, depth - 1);
        }
        let mut told = Value::Object(told);
        self.about(&Value::Object(schema.clone()), &mut told);
        told
    }

    fn about(&self, schema: &Value, told: &mut Value) {
        let about = schema.get("description").or_else(|| schema.get("title")).and_then(Value::as_str);
        if let (Some(about), Value::Object(told)) = (about, told) {
            let about = cut(&agent::sanitise(about.trim()), PARAMETER_CHARS);
            if !about.is_empty() {
                told.insert("description".to_owned(), Value::String(about));
            }
        }
    }

    /// Converts exclusive bounds: flags in OpenAPI 3.0, numbers in 3.1.
    fn limits(&self, schema: &Map<String, Value>, told: &mut Map<String, Value>) {
        for (name, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
            match schema.get(name) {
                Some(Value::Bool(true)) => {
                    let value = told.remove(bound);
                    told.extend(value.map(|value| (name.to_owned(), value)));
                }
                Some(Value::Number(number)) => {
                    told.insert(name.to_owned(), Value::Number(number.clone()));
                }
                _ => {}
            }
        }
    }

    fn inner(&mut self, schema: &Map<String, Value>, told: &mut Map<String, Value>, depth: usize) {
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            let mut own = Map::new();
            for (name, property) in properties {
                if self.is_read_only(property) {
                    continue;
                }
                own.insert(name.clone(), self.tell(property, depth));
            }
            let required: Vec<Value> = match schema.get("required").and_then(Value::as_array) {
                Some(names) => names
                    .iter()
                    .filter(|n| n.as_str().is_some_and(|n| own.contains_key(n)))
                    .cloned()
                    .collect(),
                None => Vec::new(),
            };
            told.entry("type").or_insert_with(|| json!("object"));
            told.insert("properties".to_owned(), Value::Object(own));
            if !required.is_empty() {
                told.insert("required".to_owned(), Value::Array(required));
            }
        } else if let Some(required) = schema.get("required").filter(|required| required.is_array()) {
            told.insert("required".to_owned(), required.clone());
        }
        if let Some(items) = schema.get("items") {
            told.entry("type").or_insert_with(|| json!("array"));
            let items = self.tell(items, depth);
            told.insert("items".to_owned(), items);
        }
        match schema.get("additionalProperties") {
            Some(Value::Bool(flag)) => {
                told.insert("additionalProperties".to_owned(), Value::Bool(*flag));
            }
            Some(further @ Value::Object(_)) => {
                let further = self.tell(further, depth);
                told.insert("additionalProperties".to_owned(), further);
            }
            _ => {}
        }
        for choice in ["oneOf", "anyOf"] {
            if let Some(ways) = schema.get(choice).and_then(Value::as_array) {
                let ways: Vec<Value> = ways.iter().map(|way| self.tell(way, depth)).collect();
                told.insert(choice.to_owned(), Value::Array(ways));
            }
        }
        for part in schema.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            // The parts of `allOf` are on the same level as the schema itself.
            if let Value::Object(part) = self.tell(part, depth + 1) {
                merge(told, part);
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
fn nullable(told: &mut Map<String, Value>) {
    if let Some(Value::String(kind)) = told.get("type") {
        let kinds = json!([kind, "null"]);
        told.insert("type".to_owned(), kinds);
    }
    if let Some(Value::Array(values)) = told.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
}
