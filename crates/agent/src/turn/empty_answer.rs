//! Handles answers that have neither text nor calls.

use super::Turn;
use crate::{Briefing, ModelError, ModelStop, SessionEvent, Severity};

/// Sent to a model that gave an answer with neither text nor calls.
const NUDGE: &str =
    "Your last answer was empty. Go on with the task: call a tool, or answer the user in words.";

/// How an answer with neither text nor calls is handled.
pub(super) enum EmptyAnswer {
    /// Call the model once more, with a message that says why.
    AskAgain,
    /// The turn fails: this was the second empty answer.
    Fail(ModelError),
    /// The turn ends normally, for a reason that is shown to the user.
    Accept,
}

impl Turn<'_> {
    /// Decides how an empty answer is handled. `cut_at` is the token limit that the answer reached,
    /// if it did.
    pub(super) fn empty_answer(&mut self, stop: ModelStop, cut_at: Option<u64>) -> EmptyAnswer {
        match stop {
            ModelStop::Refusal => EmptyAnswer::Accept,
            ModelStop::MaxTokens => {
                self.session.notify(SessionEvent::Notice {
                    severity: Severity::Warning,
                    title: "The model reached the limit of its answer without a text".to_owned(),
                    description: Some(format!(
                        "All of its {} tokens went into reasoning. Ask for less at a time, or choose less reasoning.",
                        cut_at.unwrap_or_default()
                    )),
                });
                EmptyAnswer::Accept
            }
            ModelStop::EndTurn | ModelStop::ToolCalls
                if std::mem::replace(&mut self.progress.was_silent, true) =>
            {
                EmptyAnswer::Fail(ModelError::BadResponse(
                    "the model's answer was empty twice; rephrase the request, or choose another model"
                        .to_owned(),
                ))
            }
            ModelStop::EndTurn | ModelStop::ToolCalls => {
                self.progress.nudge = Some(Briefing { text: NUDGE.to_owned(), ..Briefing::default() });
                EmptyAnswer::AskAgain
            }
        }
    }
}
