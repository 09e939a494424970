//! Stores an answer in parts while it arrives, so that the end of the process does not lose it.

use crate::{AnswerPart, MessageId, SessionEvent, limits::ANSWER_PART_EVERY, session::Session};
use std::{future::pending, mem::take};
use tokio::time::{Instant, sleep_until};

/// The part of an answer that is not stored yet.
pub(super) struct AnswerParts {
    part: AnswerPart,
    /// When it is stored; `None` while there is nothing to store.
    due: Option<Instant>,
}

impl AnswerParts {
    pub(super) fn new(id: &MessageId, thought_id: &MessageId, model: &str) -> Self {
        let part = AnswerPart {
            id: id.clone(),
            thought_id: thought_id.clone(),
            model: model.to_owned(),
            text: String::new(),
            thoughts: String::new(),
        };
        Self { part, due: None }
    }

    /// Adds text as it is shown.
    pub(super) fn text(&mut self, text: &str) {
        self.part.text.push_str(text);
        self.begin(text);
    }

    /// Adds reasoning as it is shown.
    pub(super) fn thought(&mut self, text: &str) {
        self.part.thoughts.push_str(text);
        self.begin(text);
    }

    fn begin(&mut self, text: &str) {
        if !text.is_empty() && self.due.is_none() {
            self.due = Some(Instant::now() + ANSWER_PART_EVERY);
        }
    }

    /// Completes when there is a part to store: some time after its first text, so that an answer
    /// which stalls is stored too.
    pub(super) async fn due(&self) {
        match self.due {
            Some(due) => sleep_until(due).await,
            None => pending().await,
        }
    }

    /// Stores the part, or puts it off while the write before it is not done.
    pub(super) fn store(&mut self, session: &mut Session) {
        if session.is_storing() {
            self.due = Some(Instant::now() + ANSWER_PART_EVERY);
            return;
        }
        self.due = None;
        let (text, thoughts) = (take(&mut self.part.text), take(&mut self.part.thoughts));
        let part = AnswerPart { text, thoughts, ..self.part.clone() };
        session.store_also(vec![SessionEvent::AnswerPart(part)]);
    }
}
