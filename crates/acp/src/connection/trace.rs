//! The span of a prompt, as part of its client's trace.

use crate::link::{Link, TraceContext};
use agent::{SessionHandle, spans::SPANS};
use serde_json::Value;
use tracing::Span;

/// Begins the span of a prompt. `_meta.traceparent` and `_meta.tracestate`, which ACP reserves for
/// W3C Trace Context, name the trace that it belongs to.
pub(crate) fn prompt_span(link: &dyn Link, handle: &SessionHandle, meta: &Value) -> Span {
    let span = tracing::info_span!(target: SPANS, "prompt", session = handle.id().as_str());
    let text = |name: &str| meta.get(name).and_then(Value::as_str);
    if !span.is_disabled()
        && let Some(parent) = text("traceparent")
    {
        link.join_trace(&span, TraceContext { parent, state: text("tracestate") });
    }
    span
}
