//! A conversation that contains every kind of content, for snapshots of the wires' requests.

use crate::{
    refused_options::ModelQuirks,
    wire_format::{BodyInput, WireFormat},
};
use agent::{
    AnsweredCall, AssistantMessage, Content, Item, Message, ModelAbilities, ModelCall, ModelInfo,
    ModelLimits, ModelRequest, Reasoning, Text, ToolCallRequest, ToolResult, ToolSpec, ToolSpecs,
};
use serde_json::json;

/// Returns the body of a request to a server that has refused nothing.
pub(crate) fn body(format: &WireFormat, request: &ModelRequest, info: &ModelInfo, model: &str) -> Vec<u8> {
    let quirks = ModelQuirks::default();
    let (is_openai, hosted_search) = (false, false);
    (format.body)(&BodyInput { request, info, model, quirks: &quirks, is_openai, hosted_search })
}

/// Returns the conversation. `opaque` is reasoning as the wire stored it, made by the model
/// `wire/m`.
pub(crate) fn request(opaque: &str) -> ModelRequest {
    let reasoning = || Item::Reasoning(Reasoning { text: "Hm".into(), opaque: Some(opaque.into()) });
    let image = || Content::Image {
        mime_type: "image/png".into(),
        data:
            "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
                .into(),
    };
    let call = |id: &str, arguments: &str, result| {
        let (provider_id, name, arguments) = (id.into(), "read".into(), arguments.into());
        let call = ModelCall { provider_id, name, arguments, opaque: None };
        Item::Call(AnsweredCall::new(ToolCallRequest::new("tool_0".into(), call), result))
    };
    ModelRequest {
        system: "Be brief.".into(),
        messages: vec![
            Message::User(vec![Content::Text("First".into())]),
            Message::Assistant(AssistantMessage {
                model: "other/model".into(),
                items: vec![reasoning(), Item::Text(Text::plain("From another model."))],
                prefix_changed: false,
            }),
            Message::User(vec![
                Content::Text("Look".into()),
                Content::Text(" ".into()),
                image(),
                Content::ResourceLink { uri: "file:///a".into(), name: "a".into() },
            ]),
            Message::Assistant(AssistantMessage {
                model: "wire/m".into(),
                items: vec![
                    reasoning(),
                    call(
                        "c:1",
                        r#"{"path": "a"}"#,
                        ToolResult { images: vec![image()], ..ToolResult::ok("seen") },
                    ),
                    call("c:1", "{\"path\":", ToolResult::error("the arguments are no JSON")),
                ],
                prefix_changed: false,
            }),
        ],
        tools: ToolSpecs::from(vec![ToolSpec {
            name: "read".into(),
            description: "Reads.".into(),
            parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
        }]),
        max_output: Some(4_096),
        reasoning_effort: Some("low".into()),
        cache_key: Some("session-1".into()),
        answer_schema: None,
    }
}

pub(crate) fn info(images: bool) -> ModelInfo {
    ModelInfo {
        id: "wire/m".into(),
        name: "m".into(),
        description: None,
        limits: ModelLimits { context_size: 100_000, max_output: 32_000, silence: None },
        abilities: ModelAbilities { images, ..ModelAbilities::default() },
        disclosure: None,
        ..ModelInfo::default()
    }
}

/// Formats a body as one line for each message, tool and setting, with sorted keys: whether
/// `serde_json` maps keep their order depends on the features of the other crates in the build.
pub(crate) fn shown(body: &[u8], list: &str) -> String {
    let mut body: serde_json::Value = serde_json::from_slice(body).unwrap();
    body.sort_all_objects();
    let mut lines = Vec::new();
    for (name, value) in body.as_object().unwrap() {
        match value.as_array().filter(|_| name == list) {
            Some(items) => lines.extend(items.iter().map(|item| format!("{name}: {item}"))),
            None => lines.push(format!("{name} = {value}")),
        }
    }
    lines.join("\n")
}
