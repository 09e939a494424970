//! A tool as its server lists it. A server may list hundreds, of which a model sees few, so schemas
//! stay unparsed text until they are needed.

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use std::sync::{Arc, OnceLock};

/// The key that marks an unparsed schema in the library's own tool type.
const RAW_SCHEMA: &str = "\u{0}text";

/// A tool as its server lists it.
pub struct ListedTool {
    pub(crate) name: String,
    pub(crate) title: Option<String>,
    pub(crate) description: String,
    pub(crate) annotations: Option<ToolAnnotations>,
    pub(crate) schema: Schema,
}

impl ListedTool {
    /// Returns the name that the server uses.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the server's description, unmodified.
    pub fn description(&self) -> &str {
        &self.description
    }

    /// Returns whether the server declares the tool read-only.
    pub fn is_read_only(&self) -> bool {
        self.annotations.as_ref().and_then(|hints| hints.read_only_hint) == Some(true)
    }

    /// Returns the schema of the arguments, as the server sent it.
    pub fn schema(&self) -> Value {
        serde_json::from_str(&self.schema.text).unwrap_or_default()
    }
}

impl From<Tool> for ListedTool {
    fn from(tool: Tool) -> Self {
        let text = match tool.input_schema.get(RAW_SCHEMA) {
            Some(Value::String(text)) if tool.input_schema.len() == 1 => text.clone(),
            _ => Value::Object((*tool.input_schema).clone()).to_string(),
        };
        Self {
            name: tool.name.into_owned(),
            title: tool.title,
            description: tool.description.unwrap_or_default().into_owned(),
            annotations: tool.annotations,
            schema: Schema { text, parsed: OnceLock::new() },
        }
    }
}

/// Parses one tool of a list, keeping its schema as text.
pub(crate) fn parse_tool(text: &str) -> Result<Tool, serde_json::Error> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct RawTool<'a> {
        name: String,
        title: Option<String>,
        description: Option<String>,
        #[serde(borrow)]
        input_schema: &'a RawValue,
        annotations: Option<ToolAnnotations>,
    }
    let RawTool { name, title, description, input_schema, annotations } = serde_json::from_str(text)?;
    let schema = input_schema.get();
    if !schema.starts_with('{') {
        return Err(serde::de::Error::custom("its schema is not an object"));
    }
    let mut tool = Tool::default();
    tool.name = name.into();
    tool.title = title;
    tool.description = description.map(Into::into);
    tool.annotations = annotations;
    tool.input_schema = Arc::new(JsonObject::from_iter([(RAW_SCHEMA.to_owned(), Value::from(schema))]));
    Ok(tool)
}

/// The schema of a tool's arguments.
pub(crate) struct Schema {
    text: String,
    /// The parsed form that models see, filled on first use.
    parsed: OnceLock<Value>,
}

impl Schema {
    /// Returns a schema of this program's own.
    pub(crate) fn new(value: Value) -> Self {
        Self { text: value.to_string(), parsed: value.into() }
    }

    /// Returns the schema's text as the server wrote it.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns what is wrong with the schema, checking its top level only.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        #[derive(Deserialize)]
        struct SchemaType<'a> {
            #[serde(borrow, rename = "type")]
            kind: Option<&'a RawValue>,
        }
        match serde_json::from_str::<SchemaType<'_>>(&self.text) {
            Ok(SchemaType { kind }) if kind.is_none_or(|kind| kind.get() == "\"object\"") => None,
            _ => Some("its schema does not describe an object"),
        }
    }

    /// Returns the schema as models see it: an object with properties. A schema nested too deeply
    /// to be parsed becomes an object without constraints.
    pub(crate) fn parameters(&self) -> &Value {
        self.parsed.get_or_init(|| {
            let mut schema: JsonObject = serde_json::from_str(&self.text).unwrap_or_default();
            schema.remove("$schema");
            schema.insert("type".to_owned(), json!("object"));
            if !schema.get("properties").is_some_and(Value::is_object) {
                schema.insert("properties".to_owned(), json!({}));
            }
            Value::Object(schema)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(schema: &str) -> Option<ListedTool> {
        let text =
            format!(r#"{{"name": "t", "description": "d\u00e9", "inputSchema": {schema}, "other": [1]}}"#);
        parse_tool(&text).ok().map(ListedTool::from)
    }

    #[test]
    fn a_schema_is_normalised_to_an_object_with_properties() {
        for (schema, expected) in [
            ("{}", json!({ "type": "object", "properties": {} })),
            (r#"{"$schema": "x", "type": "object"}"#, json!({ "type": "object", "properties": {} })),
            (
                r#"{"properties": {"a": {"type": "string"}}, "required": ["a"]}"#,
                json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] }),
            ),
            (r#"{"properties": 7}"#, json!({ "type": "object", "properties": {} })),
        ] {
            let tool = listed(schema).unwrap();
            assert_eq!((tool.schema.problem(), tool.schema.parameters()), (None, &expected), "{schema}");
            assert_eq!(tool.schema().to_string(), serde_json::from_str::<Value>(schema).unwrap().to_string());
            assert_eq!((tool.name(), tool.description()), ("t", "dé"));
        }
        let deep = format!("{}{}", r#"{"properties":"#.repeat(400), "{}".to_owned() + &"}".repeat(400));
        let deep = listed(&deep).unwrap();
        assert_eq!(deep.schema.parameters(), &json!({ "type": "object", "properties": {} }));
        for wrong in [r#"{"type": "string"}"#, r#"{"type": ["object"]}"#] {
            assert!(listed(wrong).unwrap().schema.problem().is_some(), "{wrong}");
        }
        for nothing in ["7", "\"{}\"", "null", "[]"] {
            assert!(listed(nothing).is_none(), "{nothing}");
        }
    }

    #[test]
    fn a_schema_parsed_by_the_library_stays_the_same() {
        let schema = json!({ "type": "object", "properties": { "a": {} } });
        let tool = serde_json::from_value::<Tool>(json!({ "name": "t", "inputSchema": schema })).unwrap();
        assert_eq!(ListedTool::from(tool).schema.parameters(), &schema);
    }
}
