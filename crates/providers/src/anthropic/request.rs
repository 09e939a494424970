//! The body of a Messages request.

use super::{
    answer::push_answer,
    thinking_binding::{replayed_thinking, running_turn_start},
};
use crate::{
    call_ids::CallIds,
    family,
    fields::Fields,
    parts::{Part, parts, written},
    refused_options::{ModelQuirks, RequestOption},
    wire_format::BodyInput,
};
use agent::{Message, ToolSpec, ToolSpecs};
use serde::Serialize;
use serde_json::{Value, value::RawValue};
use std::{borrow::Cow, sync::Arc};

/// The smallest thinking budget that the API accepts, in tokens.
const MIN_THINKING_TOKENS: u64 = 1024;

/// The options that a request can leave out.
pub(super) const OPTIONS: &[&RequestOption] = &[&EFFORT, &THINKING, &DISPLAY, &SCHEMA, &SEARCH];

const EFFORT: RequestOption = RequestOption {
    at: "/output_config/effort",
    names: &["output_config.effort", "effort parameter", "effort level", "effort"],
};
const THINKING: RequestOption = RequestOption {
    at: "/thinking",
    names: &[
        "adaptive thinking",
        "extended thinking",
        "thinking.type",
        "thinking.adaptive",
        "thinking: input",
    ],
};
const DISPLAY: RequestOption = RequestOption {
    at: "/thinking/display",
    names: &["thinking.display", "thinking.adaptive.display", "thinking.enabled.display", "display: extra"],
};
const SCHEMA: RequestOption = RequestOption {
    at: "/output_config/format",
    names: &["output_config.format", "structured outputs", "json_schema", "output_format"],
};

/// The hosted web search is the first of the tools, and the only one with a type.
const SEARCH: RequestOption =
    RequestOption { at: "/tools/0/type", names: &["web_search", "web_search_20250305", "web search"] };

/// Searches that one answer may make. The server interrupts an answer after ten.
const MAX_SEARCHES: u32 = 5;

/// Builds the body. Prompt cache breakpoints are set at the end of the system prompt, which also
/// covers the tools before it, and at the last two user messages: one reads the entry of the
/// previous request, the other writes the entry for the next.
pub(super) fn body(input: &BodyInput<'_>) -> Vec<u8> {
    let BodyInput { request, info, model, quirks, .. } = *input;
    let mut messages: Vec<Wire<'_>> = Vec::with_capacity(request.messages.len() * 2);
    let mut ids = CallIds::default();
    let running = running_turn_start(&request.messages);
    for (position, message) in request.messages.iter().enumerate() {
        match message {
            Message::User(content) => {
                push(&mut messages, "user", parts(content, info).into_iter().map(block).collect())
            }
            Message::Assistant(answer) => {
                let replayed_thinking = replayed_thinking(answer, model, position >= running);
                push_answer(&mut messages, answer, replayed_thinking, info, &mut ids);
            }
        }
    }
    for message in messages.iter_mut().rev().filter(|message| message.role == "user").take(2) {
        if let Some(last) = message.content.last_mut() {
            last.cache_control = Some(CacheControl::EPHEMERAL);
        }
    }
    let max_tokens = input.max_output();
    let effort = quirks.effort(&EFFORT, request.reasoning_effort.as_deref(), &info.abilities.efforts);
    let thinking = thinking(model, effort, max_tokens, quirks);
    let adaptive = matches!(thinking, Some(Thinking::Adaptive { .. }));
    let output_config = OutputConfig {
        effort: effort.filter(|_| adaptive),
        format: request
            .answer_schema
            .as_ref()
            .filter(|_| quirks.accepts(&SCHEMA))
            .map(|schema| OutputFormat { kind: "json_schema", schema }),
    };
    let tools = tools(&request.tools, input.searches(&SEARCH));
    let body = Body {
        model,
        max_tokens,
        system: system(&request.system),
        messages,
        tools: tools.as_deref(),
        thinking,
        output_config: Some(output_config)
            .filter(|config| config.effort.is_some() || config.format.is_some()),
        stream: true,
    };
    serde_json::to_vec(&body).expect("strings and JSON values always serialise")
}

fn system(text: &str) -> Vec<Block<'_>> {
    if text.trim().is_empty() {
        return Vec::new();
    }
    vec![Block { kind: Kind::Text { text: text.into() }, cache_control: Some(CacheControl::EPHEMERAL) }]
}

/// Returns the thinking options. Newer models choose the amount themselves, guided by an effort,
/// and reject a budget. Older ones need a budget, which must leave room for the answer itself and
/// does not fit into very short answers.
///
/// A model that always thinks is asked for a summary even without an effort: its text between calls
/// arrives as thinking, which is empty otherwise (Anthropic, "Thinking in tool and multi-turn
/// workflows").
fn thinking(
    model: &str,
    effort: Option<&'static str>,
    max_tokens: u64,
    quirks: &ModelQuirks,
) -> Option<Thinking> {
    if !quirks.accepts(&THINKING) {
        return None;
    }
    let adaptive = Thinking::Adaptive { display: quirks.accepts(&DISPLAY).then_some("summarized") };
    match (family::anthropic_thinking(model), effort) {
        (family::Thinking::Always, _) | (family::Thinking::Asked, Some(_)) => Some(adaptive),
        (family::Thinking::Never, _) | (_, None) => None,
        (family::Thinking::Budget, Some(effort)) => {
            let requested = match effort {
                "low" => 4_096,
                "medium" => 10_240,
                "high" => 24_576,
                _ => 49_152,
            };
            let budget_tokens = max_tokens.div_euclid(2).min(requested);
            (budget_tokens >= MIN_THINKING_TOKENS).then_some(Thinking::Enabled { budget_tokens })
        }
    }
}

/// Appends blocks. Adjacent blocks of one role are merged into one message, such as the results of
/// calls and the user's next message.
pub(super) fn push<'a>(messages: &mut Vec<Wire<'a>>, role: &'static str, content: Vec<Block<'a>>) {
    match messages.last_mut() {
        _ if content.is_empty() => {}
        Some(last) if last.role == role => last.content.extend(content),
        _ => messages.push(Wire { role, content }),
    }
}

pub(super) fn block(part: Part<'_>) -> Block<'_> {
    Block::from(match part {
        Part::Text(text) => Kind::Text { text },
        Part::Image { mime_type, data } => {
            Kind::Image { source: Source { kind: "base64", media_type: mime_type, data } }
        }
    })
}

/// Returns the serialised tools; `None` if there are none. Without the hosted search they are
/// cached while the list is unchanged.
fn tools(specs: &ToolSpecs, searches: bool) -> Option<Arc<Tools>> {
    if specs.is_empty() {
        return None;
    }
    if searches {
        let search = HostedTool { kind: "web_search_20250305", name: "web_search", max_uses: MAX_SEARCHES };
        let functions = specs.iter().map(|spec| Listed::Function(tool(spec)));
        return Some(Arc::new(Tools(written(std::iter::once(Listed::Hosted(search)).chain(functions)))));
    }
    Some(specs.form(|specs| Tools(written(specs.iter().map(tool)))))
}

fn tool(spec: &ToolSpec) -> Tool<'_> {
    Tool { name: &spec.name, description: &spec.description, input_schema: &spec.parameters }
}

#[derive(Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u64,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    system: Vec<Block<'a>>,
    messages: Vec<Wire<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<&'a Tools>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_config: Option<OutputConfig<'a>>,
    stream: bool,
}

#[derive(Serialize)]
pub(super) struct Wire<'a> {
    role: &'static str,
    content: Vec<Block<'a>>,
}

pub(super) struct Block<'a> {
    pub(super) kind: Kind<'a>,
    cache_control: Option<CacheControl>,
}

impl<'a> From<Kind<'a>> for Block<'a> {
    fn from(kind: Kind<'a>) -> Self {
        Self { kind, cache_control: None }
    }
}

impl Serialize for Block<'_> {
    /// Implemented manually because a replayed block must be sent byte for byte, which flattening
    /// would not preserve.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Marked<'a> {
            #[serde(flatten)]
            kind: &'a Kind<'a>,
            cache_control: CacheControl,
        }
        match (&self.kind, self.cache_control) {
            (Kind::Replayed(raw) | Kind::Thinking(raw), _) => raw.serialize(serializer),
            (kind, None) => kind.serialize(serializer),
            (kind, Some(cache_control)) => Marked { kind, cache_control }.serialize(serializer),
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Kind<'a> {
    Text {
        text: Cow<'a, str>,
    },
    Image {
        source: Source<'a>,
    },
    ToolUse {
        id: String,
        name: Cow<'a, str>,
        input: Input<'a>,
        /// Unknown members of the call.
        #[serde(flatten)]
        more: Fields<'a>,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        content: Vec<Block<'a>>,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    #[serde(skip)]
    Replayed(&'a RawValue),
    #[serde(skip)]
    Thinking(&'a RawValue),
}

/// The arguments of a call.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Input<'a> {
    /// The text that the model wrote.
    Written(&'a RawValue),
    /// The parsed value.
    Read(Cow<'a, Value>),
}

#[derive(Serialize)]
pub(super) struct Source<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    media_type: &'a str,
    data: &'a str,
}

#[derive(Serialize, Clone, Copy)]
struct CacheControl {
    #[serde(rename = "type")]
    kind: &'static str,
}

impl CacheControl {
    const EPHEMERAL: Self = Self { kind: "ephemeral" };
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
    name: &'static str,
    max_uses: u32,
}

#[derive(Serialize)]
struct Tool<'a> {
    name: &'a str,
    description: &'a str,
    input_schema: &'a Value,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Thinking {
    Enabled {
        budget_tokens: u64,
    },
    Adaptive {
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<&'static str>,
    },
}

#[derive(Serialize)]
struct OutputConfig<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    effort: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<OutputFormat<'a>>,
}

#[derive(Serialize)]
struct OutputFormat<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    schema: &'a Value,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{anthropic, fixture};
    use agent::ModelRequest;

    #[test]
    fn a_conversation_with_every_kind_of_content_is_converted() {
        let block = r#"{"type":"thinking", "thinking":"Hm","signature":"EqQB/+="}"#;
        let request = fixture::request(block);
        let body = fixture::body(&anthropic::FORMAT, &request, &fixture::info(true), "claude-opus-5-5");
        let sent = String::from_utf8(body.clone()).unwrap();
        assert_eq!(sent.matches(block).count(), 1, "byte for byte, to the model that made it only: {sent}");
        insta::assert_snapshot!(fixture::shown(&body, "messages"), @r#"
        max_tokens = 4096
        messages: {"content":[{"text":"First","type":"text"}],"role":"user"}
        messages: {"content":[{"text":"From another model.","type":"text"}],"role":"assistant"}
        messages: {"content":[{"text":"Look","type":"text"},{"source":{"data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==","media_type":"image/png","type":"base64"},"type":"image"},{"cache_control":{"type":"ephemeral"},"text":"[a](file:///a)","type":"text"}],"role":"user"}
        messages: {"content":[{"signature":"EqQB/+=","thinking":"Hm","type":"thinking"},{"id":"c_1","input":{"path":"a"},"name":"read","type":"tool_use"},{"id":"c_1_2","input":{"malformed_arguments":"{\"path\":"},"name":"read","type":"tool_use"}],"role":"assistant"}
        messages: {"content":[{"content":[{"text":"seen","type":"text"},{"source":{"data":"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==","media_type":"image/png","type":"base64"},"type":"image"}],"tool_use_id":"c_1","type":"tool_result"},{"cache_control":{"type":"ephemeral"},"content":[{"text":"the arguments are no JSON","type":"text"}],"is_error":true,"tool_use_id":"c_1_2","type":"tool_result"}],"role":"user"}
        model = "claude-opus-5-5"
        output_config = {"effort":"low"}
        stream = true
        system = [{"cache_control":{"type":"ephemeral"},"text":"Be brief.","type":"text"}]
        thinking = {"display":"summarized","type":"adaptive"}
        tools = [{"description":"Reads.","input_schema":{"properties":{"path":{"type":"string"}},"type":"object"},"name":"read"}]
        "#);
    }

    /// Returns the `thinking` and `output_config` members of a body without a conversation.
    fn thinking_and_config(model: &str, effort: Option<&str>, max_output: u64) -> (Value, Value) {
        let request = ModelRequest {
            max_output: Some(max_output),
            reasoning_effort: effort.map(str::to_owned),
            ..ModelRequest::default()
        };
        let mut info = fixture::info(true);
        info.limits.max_output = 128_000;
        let body = fixture::body(&anthropic::FORMAT, &request, &info, model);
        let mut body: serde_json::Map<String, Value> = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["max_tokens"], max_output);
        (body.remove("thinking").unwrap_or_default(), body.remove("output_config").unwrap_or_default())
    }

    #[test]
    fn thinking_is_requested_as_each_generation_expects() {
        let adaptive = r#"{"type":"adaptive","display":"summarized"}"#;
        for (model, max_output, effort, thinking, output) in [
            ("claude-3-5-sonnet-20241022", 8_192, Some("high"), "null", "null"),
            (
                "claude-3-7-sonnet-20250219",
                32_000,
                Some("low"),
                r#"{"type":"enabled","budget_tokens":4096}"#,
                "null",
            ),
            ("claude-sonnet-4-5", 32_000, Some("low"), r#"{"type":"enabled","budget_tokens":4096}"#, "null"),
            (
                "claude-sonnet-4-20250514",
                32_000,
                Some("high"),
                r#"{"type":"enabled","budget_tokens":16000}"#,
                "null",
            ),
            (
                "claude-sonnet-4-5",
                128_000,
                Some("max"),
                r#"{"type":"enabled","budget_tokens":49152}"#,
                "null",
            ),
            ("claude-haiku-4-5", 1_000, Some("high"), "null", "null"),
            ("claude-opus-4-6", 32_000, None, "null", "null"),
            ("claude-opus-4-6", 32_000, Some("max"), adaptive, r#"{"effort":"max"}"#),
            ("claude-opus-4-6", 1_000, Some("enormous"), "null", "null"),
            ("claude-sonnet-5-5", 1_000, Some("xhigh"), adaptive, r#"{"effort":"xhigh"}"#),
            ("claude-sonnet-5-5", 1_000, None, adaptive, "null"),
            ("claude-fable-5-1", 1_000, None, adaptive, "null"),
            ("glm-5", 1_000, None, "null", "null"),
        ] {
            let (actual, config) = thinking_and_config(model, effort, max_output);
            let json = |text: &str| serde_json::from_str::<Value>(text).unwrap();
            assert_eq!((actual, config), (json(thinking), json(output)), "{model} {effort:?}");
        }
    }
}
