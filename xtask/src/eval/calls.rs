//! Validation of a model's calls against the request's tools.

use super::exchange::{Answer, Call, Tool, offered, prescribes_text};
use serde_json::Value;

/// Counts of calls in one response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Calls {
    /// Everything that was intended as a call.
    pub(super) written: u64,
    /// Calls that do not conform to the request.
    pub(super) invalid: u64,
}

/// Counts the calls in a response.
pub(super) fn judge(request: &Value, answer: &Answer) -> Calls {
    let tools = offered(request);
    let native = answer.calls.iter();
    let invalid = native.clone().filter(|call| objection(call, &tools).is_some()).count();
    // If the response contains native calls, its text is only text.
    let as_text = if answer.calls.is_empty() { in_text(&answer.text, &tools) } else { 0 };
    let misplaced = if prescribes_text(request) { 0 } else { as_text };
    Calls { written: (native.count() + as_text) as u64, invalid: (invalid + misplaced) as u64 }
}

/// Returns what is wrong with a call.
fn objection(call: &Call, tools: &[Tool]) -> Option<String> {
    let Some(tool) = tools.iter().find(|tool| tool.name == call.name) else {
        return Some(format!("{} was not offered", call.name));
    };
    if call.free {
        return None;
    }
    // A tool without arguments may be called without any.
    let text = if call.arguments.trim().is_empty() { "{}" } else { &call.arguments };
    match serde_json::from_str::<Value>(text) {
        Err(error) => Some(format!("the arguments are not JSON: {error}")),
        Ok(arguments) if !arguments.is_object() => Some("the arguments are not an object".to_owned()),
        Ok(arguments) => mismatch(&arguments, &tool.schema),
    }
}

/// Returns where a value violates a schema. Supports the part of JSON Schema that tools use: types,
/// properties, items, enums and alternatives; other keywords are ignored.
fn mismatch(value: &Value, schema: &Value) -> Option<String> {
    for field in ["anyOf", "oneOf"] {
        if let Some(ways) = schema[field].as_array() {
            let fits = ways.iter().any(|way| mismatch(value, way).is_none());
            return (!fits).then(|| format!("{value} is none of the alternatives"));
        }
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(name) => vec![name],
        Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|name| is_a(value, name)) {
        return Some(format!("{value} is not a {}", types.join(" or ")));
    }
    if let Some(values) = schema["enum"].as_array()
        && !values.contains(value)
    {
        return Some(format!("{value} is not one of the values"));
    }
    if let (Some(items), true) = (value.as_array(), schema["items"].is_object()) {
        return items.iter().find_map(|item| mismatch(item, &schema["items"]));
    }
    let fields = value.as_object()?;
    let required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    if let Some(name) = required.into_iter().find(|name| !fields.contains_key(*name)) {
        return Some(format!("{name} is missing"));
    }
    fields.iter().find_map(|(name, value)| match schema["properties"].get(name) {
        Some(own) => mismatch(value, own),
        None if schema["additionalProperties"] == false => Some(format!("{name} is not known")),
        None => None,
    })
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "null" => value.is_null(),
        _ => true,
    }
}

/// Counts the calls in a text: JSON objects with a name and arguments, or else the tags from
/// models' training. If tools are given, only calls of similar names count.
fn in_text(text: &str, tools: &[Tool]) -> usize {
    let meant = |name: &str| tools.is_empty() || tools.iter().any(|tool| alike(&tool.name, name));
    let (mut count, mut rest) = (0, text);
    while let Some(at) = rest.find('{') {
        rest = &rest[at..];
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                count += usize::from(called(&value).is_some_and(meant));
                rest = &rest[values.byte_offset()..];
            }
            _ => rest = &rest[1..],
        }
    }
    // If the call inside a tag is malformed, only the tag reveals it.
    if count == 0 {
        count = ["<tool_call>", "<function=", "<function_call>"]
            .iter()
            .map(|tag| text.matches(tag).count())
            .max()
            .unwrap_or_default();
    }
    count
}

/// Returns the name of the tool that an object calls.
fn called(value: &Value) -> Option<&str> {
    let inner = if value["function"].is_object() { &value["function"] } else { value };
    let name = ["name", "tool", "tool_name", "function"].iter().find_map(|field| inner[*field].as_str())?;
    let arguments = ["arguments", "parameters", "input", "args"];
    arguments.iter().any(|field| inner[*field].is_object() || inner[*field].is_string()).then_some(name)
}

/// Returns whether two names differ only in case, punctuation, or the order of their words.
fn alike(one: &str, other: &str) -> bool {
    let words = |name: &str| {
        let mut words: Vec<String> = name
            .split(|letter: char| !letter.is_alphanumeric())
            .map(str::to_ascii_lowercase)
            .filter(|word| !word.is_empty())
            .collect();
        words.sort_unstable();
        words
    };
    words(one) == words(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn request() -> Value {
        let schema = json!({
            "type": "object",
            "properties": { "path": { "type": "string" }, "lines": { "type": ["integer", "null"] } },
            "required": ["path"],
            "additionalProperties": false,
        });
        json!({ "tools": [{ "type": "function", "function": { "name": "file_read", "parameters": schema } }] })
    }

    fn counted(answer: &Answer) -> (u64, u64) {
        let calls = judge(&request(), answer);
        (calls.written, calls.invalid)
    }

    #[test]
    fn a_call_is_checked_against_the_offered_tools() {
        for (name, arguments, invalid) in [
            ("file_read", r#"{"path":"a"}"#, 0),
            ("file_read", r#"{"path":"a","lines":null}"#, 0),
            ("file_read", r#"{"path":"a","lines":"3"}"#, 1),
            ("file_read", r#"{"path":"a","limit":3}"#, 1),
            ("file_read", r#"{"lines":3}"#, 1),
            ("file_read", r#"{"path":"a","#, 1),
            ("file_read", r#"["a"]"#, 1),
            ("file_read", "", 1),
            ("read_file", r#"{"path":"a"}"#, 1),
        ] {
            let call = Call { name: name.to_owned(), arguments: arguments.to_owned(), free: false };
            let answer = Answer { calls: vec![call], ..Answer::default() };
            assert_eq!(counted(&answer), (1, invalid), "{name} {arguments}");
        }
    }

    #[test]
    fn a_call_as_text_is_invalid_unless_the_text_was_prescribed() {
        for (text, count) in [
            ("```json\n{\"name\":\"file_read\",\"arguments\":{\"path\":\"a\"}}\n```", 1),
            (
                "{\"name\": \"read_file\", \"parameters\": {}} and {\"name\": \"File-Read\", \"arguments\": \"{}\"}",
                2,
            ),
            ("<tool_call>\n{\"name\": file_read}\n</tool_call>", 1),
            ("The file package.json has {\"name\": \"thing\", \"version\": \"1\"}.", 0),
            ("{\"name\": \"Ada\", \"arguments\": {}}", 0),
            ("fn main() { println!(\"{}\", 1); }", 0),
        ] {
            let answer = Answer { text: text.to_owned(), ..Answer::default() };
            assert_eq!(counted(&answer), (count, count), "{text}");
            let mut prescribed = request();
            prescribed["response_format"] = json!({ "type": "json_object" });
            assert_eq!(judge(&prescribed, &answer), Calls { written: count, invalid: 0 }, "{text}");
        }
    }
}
