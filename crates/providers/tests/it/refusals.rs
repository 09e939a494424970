//! Refusals in the words of the vendors: a server that applies a vendor's rules to each request.
//!
//! The texts are those of the vendors' servers in November 2026, with the request's names filled
//! in.

use serde_json::{Value, json};

/// A vendor's rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// OpenAI: current models accept no tools over Chat Completions.
    ToolsOnChat,
    /// OpenAI: organisations that are not verified get no reasoning summaries.
    SummaryNotVerified,
    /// OpenAI: a parameter that the model does not support.
    Unsupported(&'static str),
    /// Servers based on pydantic: an unknown parameter.
    Forbidden(&'static str),
    /// Gateways without this address.
    NoResponses,
    /// Anthropic: thinking blocks must be sent back unchanged.
    ThinkingModified(&'static str),
    /// Anthropic: nothing before a thinking block may change. The value is the text before it.
    BoundElsewhere(&'static str),
    /// DeepSeek: answers with tool calls must contain their reasoning.
    ReasoningContent,
    /// Google: calls must contain their signature.
    ThoughtSignature,
    /// Ollama: models whose template has no tools.
    NoTools,
    /// OpenRouter: models without image input.
    NoImages,
    /// OpenAI and others: the request's limit of output tokens exceeds the model's.
    MostTokens(u64),
}

/// Returns the status and the body of a refusal, if the rule rejects the request.
pub(crate) fn refuse(rule: Rule, path: &str, body: &Value) -> Option<(u16, Value)> {
    let openai = |message: String, param: &str, code: &str| {
        let kind = "invalid_request_error";
        (400, json!({"error": {"message": message, "type": kind, "param": param, "code": code}}))
    };
    let anthropic = |message: String| {
        (
            400,
            json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": "req_1"}),
        )
    };
    let model = body["model"].as_str().unwrap_or("m");
    let has_tools = body["tools"].as_array().is_some_and(|tools| !tools.is_empty());
    match rule {
        Rule::ToolsOnChat if path.ends_with("/chat/completions") && has_tools => Some(openai(
            format!(
                "Function tools with reasoning_effort are not supported for {model} in /v1/chat/completions. Please use /v1/responses instead."
            ),
            "reasoning_effort",
            "unsupported_value",
        )),
        Rule::SummaryNotVerified if !body["reasoning"]["summary"].is_null() => Some(openai(
            "Your organization must be verified to generate reasoning summaries. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization. If you just verified, it can take up to 15 minutes for access to propagate.".to_owned(),
            "reasoning.summary",
            "unsupported_value",
        )),
        Rule::Unsupported(name) if body.pointer(&pointer(name)).is_some() => Some(openai(
            format!("Unsupported parameter: '{name}' is not supported with this model."),
            name,
            "unsupported_parameter",
        )),
        Rule::Forbidden(name) if body.pointer(&pointer(name)).is_some() => Some((
            422,
            json!({"detail": [{"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted", "input": "low"}]}),
        )),
        Rule::NoResponses if path.ends_with("/responses") => Some((404, json!({"detail": "Not Found"}))),
        Rule::ThinkingModified(block) if thinks_otherwise(body, block) => Some(anthropic(
            "messages.1.content.0: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.".to_owned(),
        )),
        Rule::BoundElsewhere(before) if thinks_after_another(body, before) => Some(anthropic(
            "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\". That setting requires the `thinking-binding-controls-2026-08-01` value in the `anthropic-beta` header.".to_owned(),
        )),
        Rule::ReasoningContent if calls_without(body, "reasoning_content") => Some(openai(
            "The `reasoning_content` in the thinking mode must be passed back to the API.".to_owned(),
            "",
            "invalid_request_error",
        )),
        Rule::ThoughtSignature => unsigned_call(body).map(|name| {
            let message = format!(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{name}` , position 2. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details."
            );
            (400, json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}))
        }),
        Rule::NoTools if has_tools => {
            let message = format!("registry.ollama.ai/library/{model} does not support tools");
            Some((400, json!({"error": {"message": message, "type": "api_error", "param": null, "code": null}})))
        }
        Rule::NoImages if body.to_string().contains("image_url") => {
            Some((404, json!({"error": {"message": "No endpoints found that support image input", "code": 404}})))
        }
        Rule::MostTokens(most) => {
            let (name, asked) = ["max_tokens", "max_completion_tokens", "max_output_tokens"]
                .into_iter()
                .find_map(|name| Some((name, body[name].as_u64()?)))?;
            let message = format!(
                "{name} is too large: {asked}. This model supports at most {most} completion tokens, whereas you provided {asked}."
            );
            (asked > most).then(|| openai(message, name, "invalid_value"))
        }
        _ => None,
    }
}

fn pointer(name: &str) -> String {
    format!("/{}", name.replace('.', "/"))
}

fn blocks(body: &Value) -> impl Iterator<Item = &Value> {
    let messages = body["messages"].as_array().into_iter().flatten();
    messages.filter_map(|message| message["content"].as_array()).flatten()
}

/// Returns whether a thinking block differs from the given one.
fn thinks_otherwise(body: &Value, block: &str) -> bool {
    let given: Value = serde_json::from_str(block).unwrap_or_default();
    blocks(body).any(|block| block["type"] == "thinking" && *block != given)
}

/// Returns whether a thinking block follows a different system prompt than the one it was written
/// after.
fn thinks_after_another(body: &Value, before: &str) -> bool {
    blocks(body).any(|block| block["type"] == "thinking") && !body["system"].to_string().contains(before)
}

fn calls_without(body: &Value, field: &str) -> bool {
    let messages = body["messages"].as_array().into_iter().flatten();
    messages.into_iter().any(|message| message["tool_calls"].is_array() && message[field].is_null())
}

/// Returns the name of the first call of a model's turn that has no signature.
fn unsigned_call(body: &Value) -> Option<String> {
    let contents = body["contents"].as_array()?;
    contents.iter().filter(|content| content["role"] == "model").find_map(|content| {
        let call = content["parts"].as_array()?.iter().find(|part| !part["functionCall"].is_null())?;
        let name = call["functionCall"]["name"].as_str()?.to_owned();
        call["thoughtSignature"].is_null().then_some(name)
    })
}
