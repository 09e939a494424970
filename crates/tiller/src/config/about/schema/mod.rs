//! The JSON Schema of a settings file, generated from the definitions of the settings.

use super::{DefaultValue, Item, KEYS, Key, Takes, description, variable_of};
use crate::options::BUILT_IN;
use serde_json::{Value, json};

/// Returns the schema, with sorted members.
///
/// Draft 7, which the TOML plug-ins of editors support. `x-environment` is the environment variable
/// that sets a setting, and `x-project` what a project's file may do with it.
pub(crate) fn schema() -> Value {
    let mut root = group();
    for key in KEYS {
        let mut at = &mut root;
        for part in key.name.split('.') {
            if at.is_null() {
                *at = group();
            }
            at = match part {
                "NAME" => &mut at["additionalProperties"],
                part => &mut at["properties"][part],
            };
            if *at == json!(false) {
                *at = Value::Null;
            }
        }
        *at = leaf(key);
        if matches!(description(key).default, DefaultValue::Required) {
            require(&mut root, key.name);
        }
    }
    let own_names = json!({ "pattern": "^[^/]+$", "not": { "enum": BUILT_IN } });
    root["properties"]["providers"]["properties"]["custom"]["propertyNames"] = own_names;
    root["$schema"] = json!("http://json-schema.org/draft-07/schema#");
    root["title"] = json!("Settings of Tiller");
    sorted(root)
}

/// Returns the schema of a group without settings.
fn group() -> Value {
    json!({ "type": "object", "properties": {}, "additionalProperties": false })
}

/// Makes a setting required in its group.
fn require(root: &mut Value, name: &str) {
    let (groups, last) = name.rsplit_once('.').expect("every setting is in a group");
    let group = groups.split('.').fold(root, |at, part| match part {
        "NAME" => &mut at["additionalProperties"],
        part => &mut at["properties"][part],
    });
    match &mut group["required"] {
        Value::Array(names) => names.push(json!(last)),
        none => *none = json!([last]),
    }
}

fn leaf(key: &Key) -> Value {
    let about = description(key);
    let mut leaf = match about.takes {
        Takes::Text | Takes::Theme => text("\\S"),
        Takes::Model => text("^[^/]+/[\\s\\S]"),
        Takes::Url => text(URL),
        Takes::Address => text("\\S"),
        Takes::Variable => text("^[A-Z_][A-Z0-9_]*$"),
        Takes::Flag => json!({ "type": "boolean" }),
        Takes::CountOrZero => json!({ "type": "integer", "minimum": 0 }),
        Takes::Count | Takes::Seconds { most: None } => json!({ "type": "integer", "minimum": 1 }),
        Takes::Percent => json!({ "type": "integer", "minimum": 10, "maximum": 100 }),
        Takes::Seconds { most: Some(most) } => {
            json!({ "type": "integer", "minimum": 1, "maximum": most.as_secs() })
        }
        Takes::Word(words) => json!({ "enum": words }),
        Takes::List(item) => json!({ "type": "array", "items": of_item(item) }),
    };
    if matches!((about.default, about.takes), (DefaultValue::Required, Takes::List(_))) {
        leaf["minItems"] = json!(1);
    }
    let mut description = plain_text(about.text);
    match about.default {
        DefaultValue::Text(text) => leaf["default"] = json!(text),
        DefaultValue::Number(number) => leaf["default"] = json!(number),
        DefaultValue::Flag(flag) => leaf["default"] = json!(flag),
        DefaultValue::EmptyList => leaf["default"] = json!([]),
        DefaultValue::Described(words) => description += &format!(" Default: {words}."),
        DefaultValue::Required => {}
    }
    if let Some(variable) = variable_of(key) {
        description += &format!(" Environment variable: {variable}.");
        leaf["x-environment"] = json!(variable);
    }
    leaf["description"] = json!(description);
    leaf["x-project"] = json!(key.in_project.id());
    leaf
}

const URL: &str = "^https?://[\\s\\S]";

fn text(pattern: &str) -> Value {
    json!({ "type": "string", "pattern": pattern })
}

fn of_item(item: Item) -> Value {
    match item {
        Item::Path => text("^(/|~/|~$)"),
        Item::Url => text(URL),
        Item::Host => text("^(\\[[0-9A-Fa-f:.]+\\]|[^\\s/@?#:\\\\]+)$"),
        Item::Word(words) => json!({ "enum": words }),
        Item::Tool
        | Item::ToolPattern
        | Item::PathPattern
        | Item::Rule
        | Item::HomePath
        | Item::Variable
        | Item::Argument
        | Item::Key => text("\\S"),
    }
}

/// Replaces the links of a Markdown text by their labels.
pub(crate) fn plain_text(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](") {
        let (head, label) = before.rsplit_once('[').unwrap_or(("", before));
        plain.push_str(head);
        plain.push_str(label);
        rest = after.split_once(')').map_or("", |(_, rest)| rest);
    }
    plain + rest
}

/// Sorts members by name: the features of other crates can change the order.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut members: Vec<_> = map.into_iter().map(|(key, value)| (key, sorted(value))).collect();
            members.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(members.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(sorted).collect()),
        plain => plain,
    }
}

#[cfg(test)]
mod tests;
