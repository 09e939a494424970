//! Spans that show where the time of a turn goes: in the turn itself, in its requests to models and
//! in its tool calls.
//!
//! They have the target [`SPANS`] and names of this crate, and cost nothing unless a subscriber
//! wants them. Their contents (messages, arguments, results) are recorded only where the target
//! [`SPAN_CONTENTS`] is enabled.

use tracing::Span;

/// The target of all spans.
pub const SPANS: &str = "tiller::spans";
/// The target that is enabled where spans are to have contents.
pub const SPAN_CONTENTS: &str = "tiller::span_contents";

/// Whether the contents of a span are wanted.
pub(crate) fn has_contents(span: &Span) -> bool {
    !span.is_disabled() && tracing::enabled!(target: SPAN_CONTENTS, tracing::Level::INFO)
}
