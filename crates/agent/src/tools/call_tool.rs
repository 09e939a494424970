//! `call_tool`: calls tools that are not in the list sent to the model because they were added
//! after the list was frozen. The tool itself never runs: the gate, the user interface and the log
//! treat a call of it as a call of the named tool.

use crate::{ToolCallRequest, ToolSpec};
use serde_json::{Value, json};

/// The name of the tool.
pub(crate) const NAME: &str = "call_tool";

/// Returns the specification sent to models.
pub(crate) fn spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Calls a tool that was announced in a message and is not in this list.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The tool" },
                "arguments": { "type": "object", "description": "Its arguments, as its schema says" },
            },
            "required": ["name", "arguments"],
        }),
    }
}

/// Turns a call of `call_tool` into a call of the named tool; leaves other calls unchanged. What
/// the model wrote is kept. The error is for the model.
pub(crate) fn unwrap(request: &mut ToolCallRequest) -> Result<(), String> {
    if request.name != NAME {
        return Ok(());
    }
    let wrong = |what: &str| {
        format!("Invalid arguments for '{NAME}': {what}. Send {{\"name\": \"TOOL\", \"arguments\": {{…}}}}.")
    };
    let Ok(outer) = &request.arguments else { return Err(wrong("they are not a JSON object")) };
    let name = outer["name"].as_str().map(str::trim).unwrap_or_default().to_owned();
    if name.is_empty() || name == NAME {
        return Err(wrong("`name` must be the name of a tool"));
    }
    let arguments = match &outer["arguments"] {
        Value::Null => json!({}),
        // Some models encode the arguments as JSON in a string.
        Value::String(text) => {
            let parsed = serde_json::from_str(text).ok().filter(Value::is_object);
            parsed.ok_or_else(|| wrong("`arguments` must be an object"))?
        }
        arguments if arguments.is_object() => arguments.clone(),
        _ => return Err(wrong("`arguments` must be an object")),
    };
    (request.name, request.arguments) = (name, Ok(arguments));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelCall;

    fn request(name: &str, arguments: Value) -> ToolCallRequest {
        let (provider_id, name, arguments) = ("p".to_owned(), name.to_owned(), arguments.to_string());
        ToolCallRequest::new("tool_0".into(), ModelCall { provider_id, name, arguments, opaque: None })
    }

    #[test]
    fn a_call_of_it_is_the_call_that_it_names() {
        let direct = request("mcp__a__b", json!({ "x": 1 }));
        for call in [
            direct.clone(),
            request(NAME, json!({ "name": "mcp__a__b", "arguments": { "x": 1 } })),
            request(NAME, json!({ "name": " mcp__a__b", "arguments": "{\"x\": 1}" })),
        ] {
            let mut meant = call.clone();
            unwrap(&mut meant).unwrap();
            assert_eq!((&meant.name, &meant.arguments), (&direct.name, &direct.arguments), "{call:?}");
            assert_eq!(meant.written, call.written, "what was written is sent back");
        }
        let mut bare = request(NAME, json!({ "name": "mcp__a__b" }));
        unwrap(&mut bare).unwrap();
        assert_eq!(bare.arguments, Ok(json!({})));
    }

    #[test]
    fn one_that_names_no_tool_or_itself_is_refused_with_its_form() {
        for arguments in [
            json!({}),
            json!({ "name": "" }),
            json!({ "name": NAME, "arguments": {} }),
            json!({ "name": "bash", "arguments": [] }),
            json!({ "name": "bash", "arguments": "ls" }),
        ] {
            let error = unwrap(&mut request(NAME, arguments)).unwrap_err();
            assert!(error.contains("\"name\": \"TOOL\""), "{error}");
        }
    }
}
