//! The names of OpenTelemetry's conventions for generative AI, release 0.1.0 of
//! `open-telemetry/semantic-conventions-genai`. All of them have the status Development: a later
//! release changes this file only.

use crate::limits::SPAN_TEXT_BYTES;
use opentelemetry::{
    Array, KeyValue, StringValue, Value,
    trace::{SpanKind, Status},
};
use opentelemetry_sdk::trace::SpanData;

/// The attributes that hold what users and models wrote.
const CONTENTS: [&str; 4] = ["arguments", "result", "messages", "answer"];

/// Renames a span of a turn and its attributes, and shortens and redacts its texts. Without
/// `content`, those that hold what users and models wrote are removed.
pub(super) fn apply(mut span: SpanData, content: bool, redact: impl Fn(&str) -> String) -> SpanData {
    let given = std::mem::take(&mut span.attributes);
    let text = |name: &str| {
        let found = given.iter().find(|attribute| attribute.key.as_str() == name);
        found.map(|attribute| attribute.value.as_str().into_owned())
    };
    let model = text("model");
    let (name, kind, operation) = match span.name.as_ref() {
        "prompt" => ("session/prompt".to_owned(), SpanKind::Server, None),
        "turn" => {
            let agent = if text("is_subagent").as_deref() == Some("true") { "subagent" } else { "tiller" };
            span.attributes.push(KeyValue::new("gen_ai.agent.name", agent));
            (format!("invoke_agent {agent}"), SpanKind::Internal, Some("invoke_agent"))
        }
        "model_call" => {
            let (_, name) = provider_and_name(model.as_deref().unwrap_or_default());
            (format!("chat {name}"), SpanKind::Client, Some("chat"))
        }
        "tool_call" => {
            let tool = text("tool").unwrap_or_default();
            span.attributes.push(KeyValue::new("gen_ai.tool.type", "function"));
            (format!("execute_tool {tool}"), SpanKind::Internal, Some("execute_tool"))
        }
        other => (other.to_owned(), span.span_kind.clone(), None),
    };
    span.name = name.into();
    span.span_kind = kind;
    span.attributes.extend(operation.map(|name| KeyValue::new("gen_ai.operation.name", name)));
    if let Some(model) = model {
        let (provider, name) = provider_and_name(&model);
        span.attributes.push(KeyValue::new("gen_ai.provider.name", provider.to_owned()));
        span.attributes.push(KeyValue::new("gen_ai.request.model", name.to_owned()));
    }
    for KeyValue { key, value, .. } in given {
        if !content && CONTENTS.contains(&key.as_str()) {
            continue;
        }
        let value = match value {
            Value::String(text) => Value::from(redact(shortened(text.as_str()))),
            value => value,
        };
        let (name, value) = match key.as_str() {
            "session" => ("gen_ai.conversation.id", value),
            "tool" => ("gen_ai.tool.name", value),
            "call" => ("gen_ai.tool.call.id", value),
            "arguments" => ("gen_ai.tool.call.arguments", value),
            "result" => ("gen_ai.tool.call.result", value),
            "messages" => ("gen_ai.input.messages", value),
            "answer" => ("gen_ai.output.messages", value),
            "input_tokens" => ("gen_ai.usage.input_tokens", value),
            "output_tokens" => ("gen_ai.usage.output_tokens", value),
            "cached_tokens" => ("gen_ai.usage.cache_read.input_tokens", value),
            "stop" => {
                let reasons = vec![StringValue::from(value.as_str().into_owned())];
                ("gen_ai.response.finish_reasons", Value::Array(Array::String(reasons)))
            }
            "error" => {
                span.status = Status::error("");
                ("error.type", value)
            }
            _ => continue,
        };
        span.attributes.push(KeyValue::new(name, value));
    }
    span
}

/// Splits the id of a model into the provider, as the conventions name it, and the model's name.
fn provider_and_name(id: &str) -> (&str, &str) {
    let (provider, name) = id.split_once('/').unwrap_or(("", id));
    let provider = match provider {
        "google" | "gemini" => "gcp.gemini",
        "vertex" => "gcp.vertex_ai",
        "azure" => "azure.ai.openai",
        "bedrock" => "aws.bedrock",
        "mistral" => "mistral_ai",
        "moonshot" | "kimi" => "moonshot_ai",
        "xai" => "x_ai",
        other => other,
    };
    (provider, name)
}

fn shortened(text: &str) -> &str {
    &text[..agent::floor_char_boundary(text, SPAN_TEXT_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use opentelemetry::trace::{SpanContext, SpanId};
    use opentelemetry_sdk::trace::{SpanEvents, SpanLinks};
    use std::{collections::BTreeMap, time::SystemTime};

    fn span(name: &'static str, attributes: &[(&'static str, Value)]) -> SpanData {
        SpanData {
            span_context: SpanContext::empty_context(),
            parent_span_id: SpanId::INVALID,
            parent_span_is_remote: false,
            span_kind: SpanKind::Internal,
            name: name.into(),
            start_time: SystemTime::UNIX_EPOCH,
            end_time: SystemTime::UNIX_EPOCH,
            attributes: attributes.iter().map(|(name, value)| KeyValue::new(*name, value.clone())).collect(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: Status::Unset,
            instrumentation_scope: Default::default(),
        }
    }

    fn attributes(span: &SpanData) -> BTreeMap<String, String> {
        let pair = |attribute: &KeyValue| (attribute.key.to_string(), attribute.value.as_str().into_owned());
        span.attributes.iter().map(pair).collect()
    }

    fn map(expected: &[(&str, &str)]) -> BTreeMap<String, String> {
        expected.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_request_to_a_model_has_the_names_of_the_conventions() {
        let given = [
            ("session", "s1".into()),
            ("model", "google/gemini-3-pro".into()),
            ("input_tokens", 12_i64.into()),
            ("output_tokens", 3_i64.into()),
            ("cached_tokens", 10_i64.into()),
            ("stop", "stop".into()),
        ];
        let span = apply(span("model_call", &given), true, str::to_owned);
        assert_eq!((span.name.as_ref(), &span.span_kind), ("chat gemini-3-pro", &SpanKind::Client));
        assert_eq!(
            attributes(&span),
            map(&[
                ("gen_ai.conversation.id", "s1"),
                ("gen_ai.operation.name", "chat"),
                ("gen_ai.provider.name", "gcp.gemini"),
                ("gen_ai.request.model", "gemini-3-pro"),
                ("gen_ai.response.finish_reasons", r#"["stop"]"#),
                ("gen_ai.usage.cache_read.input_tokens", "10"),
                ("gen_ai.usage.input_tokens", "12"),
                ("gen_ai.usage.output_tokens", "3"),
            ])
        );
        assert_eq!(span.status, Status::Unset);
    }

    #[test]
    fn a_tool_call_that_failed_has_an_error() {
        let given = [("tool", "bash".into()), ("call", "c1".into()), ("error", "failed".into())];
        let span = apply(span("tool_call", &given), true, str::to_owned);
        assert_eq!((span.name.as_ref(), span.status.clone()), ("execute_tool bash", Status::error("")));
        assert_eq!(attributes(&span)["error.type"], "failed");
        assert_eq!(attributes(&span)["gen_ai.tool.name"], "bash");
    }

    #[test]
    fn turns_are_named_by_their_agent() {
        let name = |is_subagent: bool| {
            apply(span("turn", &[("is_subagent", is_subagent.into())]), true, str::to_owned).name
        };
        assert_eq!([name(false), name(true)], ["invoke_agent tiller", "invoke_agent subagent"]);
    }

    #[test]
    fn texts_are_redacted_and_bounded() {
        let given = [("arguments", format!("{{\"key\":\"secret\"}}{}", "é".repeat(SPAN_TEXT_BYTES)).into())];
        let redact = |text: &str| text.replace("secret", "***");
        let without = apply(span("tool_call", &given), false, redact);
        assert!(!attributes(&without).contains_key("gen_ai.tool.call.arguments"));
        let span = apply(span("tool_call", &given), true, redact);
        let arguments = &attributes(&span)["gen_ai.tool.call.arguments"];
        assert!(arguments.starts_with("{\"key\":\"***\"}") && arguments.len() <= SPAN_TEXT_BYTES);
    }
}
