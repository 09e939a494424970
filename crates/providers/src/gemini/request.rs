//! The body of a `streamGenerateContent` request.

use super::{WIRE, schema, version};
use crate::{
    call_ids::CallIds,
    parts::{Part, captioned_images, own_form, parts, sent_name, written},
    refused_options::{ModelQuirks, RequestOption},
    sink::sent_arguments,
    wire_format::BodyInput,
};
use agent::{AnsweredCall, AssistantMessage, Item, Message, ModelInfo, ModelRequest, ToolSpec, ToolSpecs};
use serde::{Deserialize, Serialize};
use serde_json::{Value, value::RawValue};
use std::{borrow::Cow, sync::Arc};

/// The options that a request can leave out.
pub(super) const OPTIONS: &[&RequestOption] =
    &[&THINKING, &THOUGHTS, &LEVEL, &BUDGET, &MAX_TOKENS, &ANSWER_SCHEMA, &TOOL_SCHEMA, &SEARCH];

const THINKING: RequestOption = RequestOption {
    at: "/generationConfig/thinkingConfig",
    names: &["thinkingconfig", "thinking_config", "thinking is not", "support thinking"],
};
const THOUGHTS: RequestOption = RequestOption {
    at: "/generationConfig/thinkingConfig/includeThoughts",
    names: &["includethoughts", "include_thoughts"],
};
const LEVEL: RequestOption = RequestOption {
    at: "/generationConfig/thinkingConfig/thinkingLevel",
    names: &["thinkinglevel", "thinking_level", "thinking level"],
};
const BUDGET: RequestOption = RequestOption {
    at: "/generationConfig/thinkingConfig/thinkingBudget",
    names: &["thinkingbudget", "thinking_budget", "thinking budget"],
};
const MAX_TOKENS: RequestOption = RequestOption {
    at: "/generationConfig/maxOutputTokens",
    names: &["maxoutputtokens value", "max_output_tokens", "maxoutputtokens"],
};
/// Models before version 3 produce no JSON answers when tools are present.
const ANSWER_SCHEMA: RequestOption = RequestOption {
    at: "/generationConfig/responseJsonSchema",
    names: &[
        "responsejsonschema",
        "response_json_schema",
        "response_schema",
        "response mime type",
        "response_mime_type",
    ],
};
/// Where JSON Schema is refused, tools are sent in Gemini's older schema format.
const TOOL_SCHEMA: RequestOption = RequestOption {
    at: "/tools/0/functionDeclarations/0/parametersJsonSchema",
    names: &["parametersjsonschema", "parameters_json_schema"],
};

/// The hosted web search beside functions: models before version 3 do not have both.
const SEARCH: RequestOption = RequestOption {
    at: "/toolConfig/includeServerSideToolInvocations",
    names: &[
        "googlesearch",
        "google_search",
        "google search",
        "includeserversidetoolinvocations",
        "include_server_side_tool_invocations",
        "built-in tools",
    ],
};

/// The placeholder signature for a call that another model made: from version 3 on, a call without
/// a signature is rejected (Google, "Thought signatures").
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Builds the body.
pub(super) fn body(input: &BodyInput<'_>) -> Vec<u8> {
    let BodyInput { request, info, model, quirks, .. } = *input;
    let wants_signatures = version(model).is_some_and(|version| version >= (3, 0));
    let mut contents = Vec::with_capacity(request.messages.len() * 2);
    let mut ids = CallIds::default();
    for message in &request.messages {
        match message {
            Message::User(content) => {
                push(&mut contents, "user", parts(content, info).into_iter().map(wire_part).collect())
            }
            Message::Assistant(answer) => {
                push_answer(&mut contents, answer, info, wants_signatures, &mut ids)
            }
        }
    }
    let limit = input.max_output();
    let schema = request.answer_schema.as_ref().filter(|_| quirks.accepts(&ANSWER_SCHEMA));
    let tools = tools(&request.tools, quirks.accepts(&TOOL_SCHEMA));
    let searches = wants_signatures && input.searches(&SEARCH);
    let body = Body {
        system_instruction: Some(&request.system)
            .filter(|text| !text.trim().is_empty())
            .map(|text| Content { role: None, parts: vec![WirePart::text(text.as_str())] }),
        contents,
        tools: tools.as_deref().map(|tools| {
            let search = searches.then_some(ToolEntry::Hosted { google_search: Empty {} });
            std::iter::once(ToolEntry::Functions { function_declarations: &tools.0 }).chain(search).collect()
        }),
        tool_config: searches.then_some(ToolConfig { include_server_side_tool_invocations: true }),
        generation_config: Generation {
            max_output_tokens: quirks.accepts(&MAX_TOKENS).then_some(limit),
            thinking_config: thinking(request, info, model, limit, quirks),
            response_mime_type: schema.map(|_| "application/json"),
            response_json_schema: schema,
        },
    };
    serde_json::to_vec(&body).expect("strings and JSON values always serialise")
}

/// Returns the thinking options: models from version 3 on have levels, 2.5 has a budget, and older
/// ones do not think.
fn thinking(
    request: &ModelRequest,
    info: &ModelInfo,
    model: &str,
    limit: u64,
    quirks: &ModelQuirks,
) -> Option<Thinking> {
    let version = version(model).filter(|version| *version >= (2, 5) && quirks.accepts(&THINKING))?;
    let requested = request.reasoning_effort.as_deref();
    let has_levels = version >= (3, 0);
    let level =
        quirks.effort(&LEVEL, requested, &info.abilities.efforts).filter(|_| has_levels).map(|level| {
            match level {
                "low" | "medium" => level,
                _ => "high",
            }
        });
    let budget = quirks.effort(&BUDGET, requested, &[]).filter(|_| !has_levels).map(|effort| match effort {
        "low" => 4_096,
        "medium" => 10_240,
        _ => 24_576,
    });
    Some(Thinking {
        include_thoughts: quirks.accepts(&THOUGHTS).then_some(true),
        thinking_level: level,
        // At least half of the limit is left for the answer itself.
        thinking_budget: budget.map(|budget: u64| budget.min(limit / 2)),
    })
}

fn push<'a>(contents: &mut Vec<Content<'a>>, role: &'static str, parts: Vec<WirePart<'a>>) {
    if !parts.is_empty() {
        contents.push(Content { role: Some(role), parts });
    }
}

/// Appends an answer, then the results of its calls in one content, followed by their images.
///
/// The model that wrote the answer gets its parts back as they were received, in order, with their
/// signatures. Thoughts without a signature are for display only and are not sent.
fn push_answer<'a>(
    contents: &mut Vec<Content<'a>>,
    answer: &'a AssistantMessage,
    info: &ModelInfo,
    wants_signatures: bool,
    ids: &mut CallIds,
) {
    let own = answer.model == info.id;
    let raw_parts = |opaque: &'a Option<String>| -> Vec<&'a RawValue> {
        let form = own_form(opaque.as_ref().filter(|_| own), WIRE);
        form.and_then(|parts| serde_json::from_str(parts.get()).ok()).unwrap_or_default()
    };
    let (mut parts_of_answer, mut results, mut images) = (Vec::new(), Vec::new(), Vec::new());
    let mut calls = 0;
    for item in &answer.items {
        match item {
            Item::Text(text) => match raw_parts(&text.opaque) {
                raw if !raw.is_empty() => parts_of_answer.extend(raw.into_iter().map(WirePart::Kept)),
                _ if text.text.trim().is_empty() => {}
                _ => parts_of_answer.push(WirePart::text(text.text.as_str())),
            },
            Item::Reasoning(reasoning) => {
                parts_of_answer.extend(raw_parts(&reasoning.opaque).into_iter().map(WirePart::Kept))
            }
            Item::Other(opaque) => {
                let form = own_form(Some(opaque).filter(|_| own), WIRE);
                let raw: Vec<&RawValue> =
                    form.and_then(|parts| serde_json::from_str(parts.get()).ok()).unwrap_or_default();
                parts_of_answer.extend(raw.into_iter().map(WirePart::Kept));
            }
            Item::Call(call) => {
                let raw = raw_parts(&call.written.opaque);
                // Of calls that were made together, only the first has a signature.
                let needs_one = wants_signatures && calls == 0 && !raw.iter().any(|part| is_signed(part));
                calls += 1;
                let id = raw.first().and_then(|part| id_of(part)).map(|id| ids.own(&id, |_| true));
                results.push(WirePart::FunctionResponse {
                    function_response: FunctionResponse {
                        id,
                        name: sent_name(call, own),
                        response: response(call),
                    },
                });
                images.extend(captioned_images(call, info).into_iter().map(wire_part));
                if raw.is_empty() || needs_one {
                    parts_of_answer.push(WirePart::FunctionCall {
                        function_call: FunctionCall {
                            id: raw.first().and_then(|part| id_of(part)),
                            name: sent_name(call, own),
                            args: sent_arguments(&call.arguments),
                        },
                        thought_signature: needs_one.then_some(NO_SIGNATURE),
                    });
                } else {
                    parts_of_answer.extend(raw.into_iter().map(WirePart::Kept));
                }
            }
        }
    }
    push(contents, "model", parts_of_answer);
    results.extend(images);
    push(contents, "user", results);
}

/// Converts a result. The key (`output` or `error`) shows Gemini whether the call failed.
fn response(call: &AnsweredCall) -> Response<'_> {
    let text = call.result.text.as_str();
    if call.result.is_error { Response::Error(text) } else { Response::Output(text) }
}

fn is_signed(part: &RawValue) -> bool {
    #[derive(Deserialize)]
    struct Signed {
        #[serde(rename = "thoughtSignature", alias = "thought_signature")]
        signature: Option<serde::de::IgnoredAny>,
    }
    serde_json::from_str::<Signed>(part.get()).is_ok_and(|part| part.signature.is_some())
}

/// Returns the id that the server assigned to a call; older models assign none.
fn id_of(part: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Called {
        #[serde(rename = "functionCall", alias = "function_call")]
        call: Id,
    }
    #[derive(Deserialize)]
    struct Id {
        id: Option<String>,
    }
    serde_json::from_str::<Called>(part.get()).ok()?.call.id.filter(|id| !id.is_empty())
}

fn wire_part(part: Part<'_>) -> WirePart<'_> {
    match part {
        Part::Text(text) => WirePart::Text { text },
        Part::Image { mime_type, data } => {
            WirePart::InlineData { inline_data: InlineData { mime_type, data } }
        }
    }
}

/// Returns the serialised tools, cached while the list is unchanged; `None` if there are none.
fn tools(specs: &ToolSpecs, as_json_schema: bool) -> Option<Arc<Tools>> {
    if specs.is_empty() {
        return None;
    }
    if as_json_schema {
        return Some(specs.form(|specs| Tools(written(specs.iter().map(tool)))));
    }
    Some(Arc::new(Tools(written(specs.iter().map(|spec| Declaration {
        parameters: Some(schema::subset(&spec.parameters)),
        parameters_json_schema: None,
        ..tool(spec)
    })))))
}

fn tool(spec: &ToolSpec) -> Declaration<'_> {
    Declaration {
        name: &spec.name,
        description: &spec.description,
        parameters_json_schema: Some(&spec.parameters),
        parameters: None,
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    system_instruction: Option<Content<'a>>,
    contents: Vec<Content<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tools: Option<Vec<ToolEntry<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_config: Option<ToolConfig>,
    generation_config: Generation<'a>,
}

#[derive(Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
    parts: Vec<WirePart<'a>>,
}

#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum WirePart<'a> {
    Text {
        text: Cow<'a, str>,
    },
    InlineData {
        inline_data: InlineData<'a>,
    },
    FunctionCall {
        function_call: FunctionCall<'a>,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'static str>,
    },
    FunctionResponse {
        function_response: FunctionResponse<'a>,
    },
    Kept(&'a RawValue),
}

impl<'a> WirePart<'a> {
    fn text(text: &'a str) -> Self {
        Self::Text { text: text.into() }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InlineData<'a> {
    mime_type: &'a str,
    data: &'a str,
}

#[derive(Serialize)]
struct FunctionCall<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    name: Cow<'a, str>,
    args: Cow<'a, Value>,
}

#[derive(Serialize)]
struct FunctionResponse<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    name: Cow<'a, str>,
    response: Response<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Response<'a> {
    Output(&'a str),
    Error(&'a str),
}

#[derive(Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
enum ToolEntry<'a> {
    Functions { function_declarations: &'a RawValue },
    Hosted { google_search: Empty },
}

/// An object without members.
#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolConfig {
    /// Makes the server return its own calls and their results, so that they can be sent back.
    include_server_side_tool_invocations: bool,
}

/// The tools, serialised for this wire.
#[derive(Debug)]
struct Tools(Box<RawValue>);

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Declaration<'a> {
    name: &'a str,
    description: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters_json_schema: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Generation<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_config: Option<Thinking>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_mime_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_json_schema: Option<&'a Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Thinking {
    #[serde(skip_serializing_if = "Option::is_none")]
    include_thoughts: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u64>,
}
