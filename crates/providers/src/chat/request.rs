//! The body of a Chat Completions request.

use super::{
    answer::{self, ModelTraits},
    message::{ChatMessage, UserContent, wire_part},
    tools_as_text,
};
use crate::{
    call_ids::CallIds,
    family,
    parts::{Part, captioned_images, parts, result_text, written},
    refused_options::RequestOption,
    wire_format::BodyInput,
};
use agent::{AssistantMessage, Message, ModelInfo, ToolSpec, ToolSpecs};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use std::sync::Arc;

/// The options that a request can leave out.
pub(super) const OPTIONS: &[&RequestOption] =
    &[&EFFORT, &TOKEN_COUNTS, &MAX_TOKENS, &MAX_COMPLETION_TOKENS, &CACHE_KEY, &SCHEMA];

const EFFORT: RequestOption =
    RequestOption { at: "/reasoning_effort", names: &["reasoning_effort", "reasoning effort"] };
const TOKEN_COUNTS: RequestOption =
    RequestOption { at: "/stream_options", names: &["stream_options", "include_usage"] };
const CACHE_KEY: RequestOption = RequestOption { at: "/prompt_cache_key", names: &["prompt_cache_key"] };
/// vLLM counts the limit into the context, so it rejects a conversation that leaves less room.
const MAX_TOKENS: RequestOption =
    RequestOption { at: "/max_tokens", names: &["max_tokens", "in the completion"] };
const MAX_COMPLETION_TOKENS: RequestOption =
    RequestOption { at: "/max_completion_tokens", names: &["max_completion_tokens", "in the completion"] };
/// llama.cpp compiles the schema to a grammar, and rejects it if the tools have one already.
const SCHEMA: RequestOption = RequestOption {
    at: "/response_format",
    names: &["response_format", "json_schema", "custom grammar", "structured output"],
};

/// Builds the body. OpenAI's own server requires `max_completion_tokens` and accepts
/// `prompt_cache_key`. All others accept `max_tokens`, and some reject unknown names.
pub(super) fn body(input: &BodyInput<'_>) -> Vec<u8> {
    let BodyInput { request, info, model, quirks, is_openai, .. } = *input;
    let without_tools;
    let request = if quirks.no_tools && !request.tools.is_empty() {
        without_tools = tools_as_text::rewritten(request);
        &without_tools
    } else {
        request
    };
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.trim().is_empty() {
        messages.push(ChatMessage::System { content: &request.system });
    }
    let mut ids = CallIds::default();
    let model_traits = ModelTraits::of(&request.messages, &info.id, is_openai, quirks);
    for message in &request.messages {
        match message {
            Message::User(content) => push_user(&mut messages, parts(content, info)),
            Message::Assistant(answer) => push_answer(&mut messages, answer, info, model_traits, &mut ids),
        }
    }
    let tools = tools(&request.tools);
    let limit = input.max_output();
    let (in_all, visible) = (quirks.accepts(&MAX_COMPLETION_TOKENS), quirks.accepts(&MAX_TOKENS));
    let prefers_all = is_openai || family::wants_completion_tokens(model);
    let body = Body {
        model,
        messages,
        stream: true,
        stream_options: quirks.accepts(&TOKEN_COUNTS).then_some(StreamOptions { include_usage: true }),
        tools: tools.as_deref(),
        max_tokens: (visible && !(prefers_all && in_all)).then_some(limit),
        max_completion_tokens: (in_all && (prefers_all || !visible)).then_some(limit),
        reasoning_effort: quirks.effort(
            &EFFORT,
            request.reasoning_effort.as_deref(),
            &info.abilities.efforts,
        ),
        prompt_cache_key: request.cache_key.as_deref().filter(|_| is_openai && quirks.accepts(&CACHE_KEY)),
        response_format: request.answer_schema.as_ref().filter(|_| quirks.accepts(&SCHEMA)).map(|schema| {
            ResponseFormat {
                kind: "json_schema",
                json_schema: JsonSchema { name: "answer", schema, strict: false },
            }
        }),
    };
    serde_json::to_vec(&body).expect("strings and JSON values always serialise")
}

fn push_user<'a>(messages: &mut Vec<ChatMessage<'a>>, parts: Vec<Part<'a>>) {
    match <[Part<'a>; 1]>::try_from(parts) {
        // A single text is sent as a plain string, the form that every server accepts.
        Ok([Part::Text(text)]) => messages.push(ChatMessage::User { content: UserContent::Text(text) }),
        Ok([image]) => {
            messages.push(ChatMessage::User { content: UserContent::Parts(vec![wire_part(image)]) })
        }
        Err(parts) if parts.is_empty() => {}
        Err(parts) => {
            messages.push(ChatMessage::User {
                content: UserContent::Parts(parts.into_iter().map(wire_part).collect()),
            });
        }
    }
}

/// Appends an answer, then the result of each call, then the images of the results: a tool message
/// can contain text only.
fn push_answer<'a>(
    messages: &mut Vec<ChatMessage<'a>>,
    answer: &'a AssistantMessage,
    info: &ModelInfo,
    model_traits: ModelTraits<'_>,
    ids: &mut CallIds,
) {
    let mut sent = Vec::new();
    messages.extend(answer::message(answer, answer.model == info.id, model_traits, ids, &mut sent));
    let mut images = Vec::new();
    for (call, id) in answer.calls().zip(sent) {
        messages.push(ChatMessage::Tool { tool_call_id: id, content: result_text(&call.result) });
        images.extend(captioned_images(call, info));
    }
    push_user(messages, images);
}

/// Returns the serialised tools, cached while the list is unchanged; `None` if there are none.
fn tools(specs: &ToolSpecs) -> Option<Arc<Tools>> {
    (!specs.is_empty()).then(|| specs.form(|specs| Tools(written(specs.iter().map(tool)))))
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        kind: "function",
        function: ToolFunction {
            name: &spec.name,
            description: &spec.description,
            parameters: &spec.parameters,
        },
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<ChatMessage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a Tools>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning_effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_format: Option<ResponseFormat<'a>>,
}

#[derive(Serialize)]
struct ResponseFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    json_schema: JsonSchema<'a>,
}

#[derive(Serialize)]
struct JsonSchema<'a> {
    name: &'static str,
    schema: &'a Value,
    strict: bool,
}

#[derive(Serialize)]
struct StreamOptions {
    include_usage: bool,
}

/// The tools, serialised for this wire.
#[derive(Serialize)]
struct Tools(Box<RawValue>);

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    function: ToolFunction<'a>,
}

#[derive(Serialize)]
struct ToolFunction<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{chat, fixture, refused_options::ModelQuirks};
    use agent::ModelRequest;

    #[test]
    fn a_conversation_with_every_kind_of_content_is_converted() {
        let request = fixture::request(r#"{"field":"reasoning_content"}"#);
        let body = fixture::body(&chat::FORMAT, &request, &fixture::info(true), "m");
        insta::assert_snapshot!(fixture::shown(&body, "messages"), @r#"
        max_tokens = 4096
        messages: {"content":"Be brief.","role":"system"}
        messages: {"content":"First","role":"user"}
        messages: {"content":"From another model.","role":"assistant"}
        messages: {"content":[{"text":"Look","type":"text"},{"image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="},"type":"image_url"},{"text":"[a](file:///a)","type":"text"}],"role":"user"}
        messages: {"content":null,"reasoning_content":"Hm","role":"assistant","tool_calls":[{"function":{"arguments":"{\"path\": \"a\"}","name":"read"},"id":"c:1","type":"function"},{"function":{"arguments":"{\"malformed_arguments\":\"{\\\"path\\\":\"}","name":"read"},"id":"c_1","type":"function"}]}
        messages: {"content":"seen","role":"tool","tool_call_id":"c:1"}
        messages: {"content":"Error: the arguments are no JSON","role":"tool","tool_call_id":"c_1"}
        messages: {"content":[{"text":"Images from the result of read:","type":"text"},{"image_url":{"url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="},"type":"image_url"}],"role":"user"}
        model = "m"
        reasoning_effort = "low"
        stream = true
        stream_options = {"include_usage":true}
        tools = [{"function":{"description":"Reads.","name":"read","parameters":{"properties":{"path":{"type":"string"}},"type":"object"}},"type":"function"}]
        "#);
    }

    #[test]
    fn openais_own_server_and_a_model_without_images_are_supported() {
        let request = ModelRequest { tools: ToolSpecs::default(), ..fixture::request("{}") };
        let (info, quirks) = (fixture::info(false), ModelQuirks::default());
        let (request, info, quirks) = (&request, &info, &quirks);
        let (model, is_openai, hosted_search) = ("m", true, true);
        let body = body(&BodyInput { request, info, model, quirks, is_openai, hosted_search });
        insta::assert_snapshot!(fixture::shown(&body, "messages"), @r#"
        max_completion_tokens = 4096
        messages: {"content":"Be brief.","role":"system"}
        messages: {"content":"First","role":"user"}
        messages: {"content":"From another model.","role":"assistant"}
        messages: {"content":[{"text":"Look","type":"text"},{"text":"[an image (image/png) was here; m takes no images]","type":"text"},{"text":"[a](file:///a)","type":"text"}],"role":"user"}
        messages: {"content":null,"role":"assistant","tool_calls":[{"function":{"arguments":"{\"path\": \"a\"}","name":"read"},"id":"c:1","type":"function"},{"function":{"arguments":"{\"path\":","name":"read"},"id":"c_1","type":"function"}]}
        messages: {"content":"seen","role":"tool","tool_call_id":"c:1"}
        messages: {"content":"Error: the arguments are no JSON","role":"tool","tool_call_id":"c_1"}
        messages: {"content":[{"text":"Images from the result of read:","type":"text"},{"text":"[an image (image/png) was here; m takes no images]","type":"text"}],"role":"user"}
        model = "m"
        prompt_cache_key = "session-1"
        reasoning_effort = "low"
        stream = true
        stream_options = {"include_usage":true}
        "#);
    }
}
