//! Answers without a word and without a call.

use super::Turn;
use crate::{ModelError, ModelStop, SessionEvent, Severity};

/// What a model is told that answered without a word and without a call.
const NUDGE: &str =
    "Your last answer was empty. Go on with the task: call a tool, or answer the user in words.";

/// What is done about an answer without a word and without a call.
pub(super) enum Silence {
    /// The model is asked once more, and told why.
    AskAgain,
    /// It said nothing a second time.
    Fail(ModelError),
    /// It ended for a reason that the user is told.
    Accept,
}

impl Turn<'_> {
    /// Decides what is done about an empty answer. `cut_at`: it ended at this many tokens, which was its limit.
    pub(super) fn silence(&mut self, stop: ModelStop, cut_at: Option<u64>) -> Silence {
        match stop {
            ModelStop::Refusal => Silence::Accept,
            ModelStop::MaxTokens => {
                self.session.tell(SessionEvent::Notice {
                    severity: Severity::Warning,
                    title: "The model said nothing before the limit of its answer".to_owned(),
                    description: Some(format!(
                        "All of its {} tokens went into reasoning. Ask for less at a time, or choose less reasoning.",
                        cut_at.unwrap_or_default()
                    )),
                });
                Silence::Accept
            }
            ModelStop::EndTurn | ModelStop::ToolCalls
                if std::mem::replace(&mut self.progress.was_silent, true) =>
            {
                Silence::Fail(ModelError::BadResponse(
                    "the model answered nothing, twice; ask again in other words, or choose another model"
                        .to_owned(),
                ))
            }
            ModelStop::EndTurn | ModelStop::ToolCalls => {
                self.progress.nudge = Some(NUDGE);
                Silence::AskAgain
            }
        }
    }
}
