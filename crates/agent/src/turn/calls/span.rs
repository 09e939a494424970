//! The span of a tool call.

use crate::{
    SessionId, ToolCallId, ToolError, ToolOutput,
    spans::{SPANS, has_contents},
};
use serde_json::Value;
use system::SystemError;
use tracing::{Span, field::Empty};

/// Begins the span of a tool call.
pub(super) fn begin(
    session: &SessionId,
    name: &str,
    id: &ToolCallId,
    arguments: impl FnOnce() -> Value,
) -> Span {
    let span = tracing::info_span!(
        target: SPANS,
        "tool_call",
        session = session.as_str(),
        tool = name,
        call = id.as_str(),
        arguments = Empty,
        result = Empty,
        error = Empty,
    );
    if has_contents(&span) {
        span.record("arguments", arguments().to_string());
    }
    span
}

/// Records how a tool call ended.
pub(super) fn end(span: &Span, outcome: &Result<ToolOutput, ToolError>) {
    match outcome {
        Ok(output) => {
            if output.result.is_error {
                span.record("error", "failed");
            }
            if has_contents(span) {
                span.record("result", output.result.text.as_str());
            }
        }
        Err(error) => {
            span.record("error", tool_error(error));
        }
    }
}

fn tool_error(error: &ToolError) -> &'static str {
    match error {
        ToolError::Cancelled(_) | ToolError::CutShort(_) => "cancelled",
        ToolError::System(SystemError::NotConfined(_)) => "not_confined",
        ToolError::System(_) => "system",
        ToolError::Message(_) => "failed",
    }
}
