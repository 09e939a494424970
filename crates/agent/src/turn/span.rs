//! The span of a turn.

use crate::{PromptOutcome, SessionId, TurnError, model::span::model_error, spans::SPANS};
use tracing::{Span, field::Empty};

/// Begins the span of a turn. Its parent is what was current when the prompt was sent.
pub(super) fn begin(session: &SessionId, is_subagent: bool, parent: &Span) -> Span {
    tracing::info_span!(
        target: SPANS,
        parent: parent,
        "turn",
        session = session.as_str(),
        is_subagent,
        input_tokens = Empty,
        output_tokens = Empty,
        stop = Empty,
        error = Empty,
    )
}

/// Records how a turn ended.
pub(super) fn end(span: &Span, end: &Result<PromptOutcome, TurnError>) {
    match end {
        Ok(outcome) => {
            span.record("stop", outcome.stop_reason.id());
            span.record("input_tokens", outcome.usage.input);
            span.record("output_tokens", outcome.usage.output);
        }
        Err(error) => {
            span.record("error", turn_error(error));
        }
    }
}

fn turn_error(error: &TurnError) -> &'static str {
    match error {
        TurnError::Model(error) => model_error(error),
        TurnError::Store(_) => "store",
        TurnError::BadPrompt(_) => "bad_prompt",
        TurnError::QueueFull(_) => "queue_full",
        TurnError::NotAdmitted(_) => "not_admitted",
        TurnError::FoldersElsewhere(_) => "folders_elsewhere",
        TurnError::Closed => "closed",
        TurnError::OwnerLost => "owner_lost",
        TurnError::Earlier(_) => "earlier",
        TurnError::Panicked(_) => "panicked",
    }
}
