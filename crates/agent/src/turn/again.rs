//! A request that is made again: at the user's wish after a turn that failed, and to another model
//! after the provider of the first has failed.

use super::{Turn, admit::Admitted};
use crate::{
    Briefing, MessageId, Phase, SessionEvent, Severity, TurnError, TurnId, history::conversation::Unanswered,
};
use tokio::sync::oneshot;

/// Sent to a model whose last answer is in the conversation as far as it came.
const BROKEN_OFF: &str = "Your last answer broke off before its end. Answer again from its beginning.";

impl Turn<'_> {
    /// Begins a turn, with `began` as its first event, without a message of the user: it asks again
    /// what the last one left unanswered.
    pub(super) async fn retry(
        &mut self,
        began: SessionEvent,
        Unanswered { message, text }: Unanswered,
        recorded: oneshot::Sender<MessageId>,
    ) -> Result<Admitted, TurnError> {
        let events = vec![began, SessionEvent::Phase(Phase::Thinking)];
        self.session.begin_storing(events, self.cancel, move || {
            // Most clients ignore the id and only wait for the end.
            let _ = recorded.send(message);
        });
        self.resume_goal().await?;
        self.ask_again();
        Ok(Admitted::Asks(text))
    }

    /// Begins a turn that goes on with the one that another process suspended between two requests.
    pub(super) fn resume_suspended(
        &mut self,
        turn: &TurnId,
        note: Option<Briefing>,
        recorded: oneshot::Sender<MessageId>,
    ) -> Admitted {
        let conversation = self.session.conversation();
        let (prompt, text) =
            (conversation.prompts().suspended().cloned(), conversation.history().last_prompt_text());
        let message = conversation.prompts().suspended_message().cloned();
        let mut events = vec![SessionEvent::TurnStarted { turn: turn.clone(), prompt }];
        events.extend(note.map(SessionEvent::Briefing));
        events.push(SessionEvent::Phase(Phase::Thinking));
        self.session.begin_storing(events, self.cancel, move || {
            if let Some(message) = message {
                // Most clients ignore the id and only wait for the end.
                let _ = recorded.send(message);
            }
        });
        Admitted::Asks(text)
    }

    /// Goes on with the next model of the user's list, after the provider of the current one has
    /// failed.
    ///
    /// # Errors
    ///
    /// Returns the error if no other model may answer.
    pub(super) async fn fail_over(&mut self, error: TurnError) -> Result<(), TurnError> {
        let failed = self.controls.state().model;
        let next = self.session.settings().start.model_after(&failed).map(str::to_owned);
        let may = error.is_of_provider() && !self.cancel.is_cancelled();
        let Some(next) = next.filter(|_| may) else { return Err(error) };
        self.session.stored().await?;
        self.record_last().await?;
        self.session.notify(SessionEvent::Notice {
            severity: Severity::Warning,
            title: format!("{failed} did not answer; trying {next}"),
            description: Some(error.to_string()),
        });
        self.controls.set_model(&next).await?;
        self.progress.was_silent = false;
        self.ask_again();
        Ok(())
    }

    /// Has the model answer from the beginning if its last answer broke off.
    fn ask_again(&mut self) {
        if self.session.conversation().history().ends_with_answer() {
            let text = BROKEN_OFF.to_owned();
            self.progress.nudge.get_or_insert(Briefing { text, ..Briefing::default() });
        }
    }
}
