//! The body of a Responses request.

use super::answer::push_answer;
use crate::{
    call_ids::CallIds,
    parts::{Part, data_url, parts, written},
    refused_options::RequestOption,
    wire_format::BodyInput,
};
use agent::{Message, ToolSpec, ToolSpecs};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use std::{borrow::Cow, sync::Arc};

/// The options that a request can leave out.
pub(super) const OPTIONS: &[&RequestOption] =
    &[&EFFORT, &SUMMARY, &REASONING, &ENCRYPTED, &MAX_TOKENS, &CACHE_KEY, &SCHEMA, &SEARCH];

const EFFORT: RequestOption = RequestOption {
    at: "/reasoning/effort",
    names: &["reasoning.effort", "reasoning_effort", "reasoning effort"],
};
/// OpenAI refuses summaries to organisations that it has not verified.
const SUMMARY: RequestOption = RequestOption {
    at: "/reasoning/summary",
    names: &["reasoning.summary", "reasoning_summary", "reasoning summaries", "reasoning summary"],
};
const REASONING: RequestOption = RequestOption { at: "/reasoning", names: &["reasoning"] };
const ENCRYPTED: RequestOption =
    RequestOption { at: "/include", names: &["include", "encrypted content", "encrypted_content"] };
const MAX_TOKENS: RequestOption = RequestOption { at: "/max_output_tokens", names: &["max_output_tokens"] };
const CACHE_KEY: RequestOption = RequestOption { at: "/prompt_cache_key", names: &["prompt_cache_key"] };
const SCHEMA: RequestOption =
    RequestOption { at: "/text/format", names: &["text.format", "json_schema", "response_format"] };

/// The hosted web search is the first of the tools.
const SEARCH: RequestOption = RequestOption { at: "/tools/0/type", names: &["web_search", "web search"] };

/// Builds the body. Nothing is stored at the provider (`store: false`), so reasoning is returned
/// encrypted and sent back with each request.
pub(super) fn body(input: &BodyInput<'_>) -> Vec<u8> {
    let BodyInput { request, info, model, quirks, .. } = *input;
    let mut items = Vec::with_capacity(request.messages.len() * 2);
    let mut ids = CallIds::default();
    for message in &request.messages {
        match message {
            Message::User(content) => {
                let content: Vec<_> = parts(content, info).into_iter().map(wire_part).collect();
                if !content.is_empty() {
                    items.push(Item::Message { role: "user", content });
                }
            }
            Message::Assistant(answer) => push_answer(&mut items, answer, info, &mut ids),
        }
    }
    let reasons = reasons(model) && quirks.accepts(&REASONING);
    let reasoning = ReasoningOptions {
        effort: quirks.effort(&EFFORT, request.reasoning_effort.as_deref(), &info.abilities.efforts),
        summary: quirks.accepts(&SUMMARY).then_some("auto"),
    };
    let tools = tools(&request.tools, input.searches(&SEARCH));
    let body = Body {
        model,
        instructions: Some(request.system.as_str()).filter(|text| !text.trim().is_empty()),
        input: items,
        tools: tools.as_deref(),
        max_output_tokens: request
            .max_output
            .map(|limit| limit.min(info.limits.max_output).max(1))
            .filter(|_| quirks.accepts(&MAX_TOKENS)),
        reasoning: Some(reasoning)
            .filter(|options| reasons && (options.effort.is_some() || options.summary.is_some())),
        include: if reasons && quirks.accepts(&ENCRYPTED) { &["reasoning.encrypted_content"] } else { &[] },
        prompt_cache_key: request.cache_key.as_deref().filter(|_| quirks.accepts(&CACHE_KEY)),
        text: request.answer_schema.as_ref().filter(|_| quirks.accepts(&SCHEMA)).map(|schema| TextOptions {
            format: TextFormat { kind: "json_schema", name: "answer", schema, strict: false },
        }),
        store: false,
        stream: true,
    };
    serde_json::to_vec(&body).expect("strings and JSON values always serialise")
}

/// Returns whether a model reasons. The API rejects reasoning options for models that do not, which
/// are a closed list of old ones.
fn reasons(model: &str) -> bool {
    let name = model.rsplit('/').next().unwrap_or(model);
    !["gpt-4", "gpt-3", "chatgpt", "gpt-5-chat"].iter().any(|old| name.starts_with(old))
}

pub(super) fn wire_part(part: Part<'_>) -> WirePart<'_> {
    match part {
        Part::Text(text) => WirePart::InputText { text },
        Part::Image { mime_type, data } => WirePart::InputImage { image_url: data_url(mime_type, data) },
    }
}

/// Returns the serialised tools; `None` if there are none. Without the hosted search they are
/// cached while the list is unchanged.
fn tools(specs: &ToolSpecs, searches: bool) -> Option<Arc<Tools>> {
    if specs.is_empty() {
        return None;
    }
    if searches {
        let search = Listed::Hosted(HostedTool { kind: "web_search" });
        let functions = specs.iter().map(|spec| Listed::Function(tool(spec)));
        return Some(Arc::new(Tools(written(std::iter::once(search).chain(functions)))));
    }
    Some(specs.form(|specs| Tools(written(specs.iter().map(tool)))))
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool {
        kind: "function",
        name: &spec.name,
        description: &spec.description,
        parameters: &spec.parameters,
        strict: false,
    }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    input: Vec<Item<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a Tools>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reasoning: Option<ReasoningOptions<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    include: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_cache_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<TextOptions<'a>>,
    store: bool,
    stream: bool,
}

#[derive(Serialize)]
struct ReasoningOptions<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'static str>,
}

#[derive(Serialize)]
struct TextOptions<'a> {
    format: TextFormat<'a>,
}

#[derive(Serialize)]
struct TextFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    schema: &'a Value,
    strict: bool,
}

pub(super) enum Item<'a> {
    Message { role: &'static str, content: Vec<WirePart<'a>> },
    FunctionCall { call_id: String, name: Cow<'a, str>, arguments: String },
    FunctionCallOutput { call_id: String, output: Output<'a> },
    Replayed(&'a RawValue),
}

impl Serialize for Item<'_> {
    /// Implemented manually because a replayed item must be sent byte for byte, which a tagged enum
    /// does not allow.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "snake_case")]
        enum Tagged<'a> {
            Message { role: &'a str, content: &'a [WirePart<'a>] },
            FunctionCall { call_id: &'a str, name: &'a str, arguments: &'a str },
            FunctionCallOutput { call_id: &'a str, output: &'a Output<'a> },
        }
        match self {
            Self::Message { role, content } => Tagged::Message { role, content },
            Self::FunctionCall { call_id, name, arguments } => {
                Tagged::FunctionCall { call_id, name, arguments }
            }
            Self::FunctionCallOutput { call_id, output } => Tagged::FunctionCallOutput { call_id, output },
            Self::Replayed(raw) => return raw.serialize(serializer),
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Output<'a> {
    Text(Cow<'a, str>),
    Parts(Vec<WirePart<'a>>),
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum WirePart<'a> {
    InputText { text: Cow<'a, str> },
    OutputText { text: Cow<'a, str> },
    InputImage { image_url: String },
}

/// The tools, serialised for this wire.
#[derive(Serialize)]
struct Tools(Box<RawValue>);

#[derive(Serialize)]
#[serde(untagged)]
enum Listed<'a> {
    Hosted(HostedTool),
    Function(Tool<'a>),
}

/// A tool that the server runs by itself.
#[derive(Serialize)]
struct HostedTool {
    #[serde(rename = "type")]
    kind: &'static str,
}

#[derive(Serialize)]
struct Tool<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'a str,
    description: &'a str,
    parameters: &'a Value,
    strict: bool,
}

#[cfg(test)]
mod tests {
    use crate::{fixture, responses};
    use agent::ModelRequest;

    #[test]
    fn a_conversation_with_every_kind_of_content_is_converted() {
        let item = r#"{"type":"reasoning", "id":"rs_1","encrypted_content":"gAA/+==","summary":[]}"#;
        let request = fixture::request(item);
        let body = fixture::body(&responses::FORMAT, &request, &fixture::info(true), "gpt-5");
        let sent = String::from_utf8(body.clone()).unwrap();
        assert_eq!(sent.matches(item).count(), 1, "byte for byte, to the model that made it only: {sent}");
        insta::assert_snapshot!(fixture::shown(&body, "input"), @r#"
        include = ["reasoning.encrypted_content"]
        input: {"content":[{"text":"First","type":"input_text"}],"role":"user","type":"message"}
        input: {"content":[{"text":"From another model.","type":"output_text"}],"role":"assistant","type":"message"}
        input: {"content":[{"text":"Look","type":"input_text"},{"image_url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==","type":"input_image"},{"text":"[a](file:///a)","type":"input_text"}],"role":"user","type":"message"}
        input: {"encrypted_content":"gAA/+==","id":"rs_1","summary":[],"type":"reasoning"}
        input: {"arguments":"{\"path\": \"a\"}","call_id":"c:1","name":"read","type":"function_call"}
        input: {"arguments":"{\"malformed_arguments\":\"{\\\"path\\\":\"}","call_id":"c_1","name":"read","type":"function_call"}
        input: {"call_id":"c:1","output":[{"text":"seen","type":"input_text"},{"image_url":"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==","type":"input_image"}],"type":"function_call_output"}
        input: {"call_id":"c_1","output":"Error: the arguments are no JSON","type":"function_call_output"}
        instructions = "Be brief."
        max_output_tokens = 4096
        model = "gpt-5"
        prompt_cache_key = "session-1"
        reasoning = {"effort":"low","summary":"auto"}
        store = false
        stream = true
        tools = [{"description":"Reads.","name":"read","parameters":{"properties":{"path":{"type":"string"}},"type":"object"},"strict":false,"type":"function"}]
        "#);
    }

    #[test]
    fn reasoning_is_not_requested_of_models_without_it() {
        let request = ModelRequest { messages: Vec::new(), ..fixture::request("{}") };
        let body = fixture::body(&responses::FORMAT, &request, &fixture::info(true), "gpt-4.1");
        insta::assert_snapshot!(fixture::shown(&body, "input"), @r#"
        instructions = "Be brief."
        max_output_tokens = 4096
        model = "gpt-4.1"
        prompt_cache_key = "session-1"
        store = false
        stream = true
        tools = [{"description":"Reads.","name":"read","parameters":{"properties":{"path":{"type":"string"}},"type":"object"},"strict":false,"type":"function"}]
        "#);
    }
}
