//! The prompts of a session that their clients gave an id, and how their turns ended: what a
//! repeated prompt is answered with.

use crate::{MessageId, ModelResponse, PromptId, StopReason, TurnEnd, Usage, event::PROCESS_ENDED};
use std::{collections::HashMap, sync::Arc};

/// The prompts with an id, as the events of the session tell them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prompts {
    /// Shared, since the conversation that holds them is copied on write.
    settled: Arc<HashMap<PromptId, SettledPrompt>>,
    running: Option<RunningPrompt>,
    /// The prompt whose turn was suspended, and not gone on with yet.
    suspended: Option<RunningPrompt>,
}

/// The prompt of the running turn.
#[derive(Debug, Clone)]
struct RunningPrompt {
    id: PromptId,
    message: Option<MessageId>,
    /// The tokens used before it.
    before: Spent,
    requests: u32,
}

/// The tokens used so far, by the session and by its subagents.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Spent {
    pub(crate) own: Usage,
    pub(crate) subagents: Usage,
}

/// A prompt whose turn has ended.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct SettledPrompt {
    /// Its message.
    pub(crate) message: Option<MessageId>,
    /// How it ended.
    pub(crate) end: TurnEnd,
    /// The tokens that its turn used.
    pub(crate) usage: Usage,
    /// The tokens that the session had used then.
    pub(crate) total: Usage,
    /// The answers of the model in its turn.
    pub(crate) requests: u32,
}

impl Prompts {
    /// Returns how the turn of a prompt ended; `None` if the session has no such prompt, or its
    /// turn has not ended.
    pub(crate) fn settled(&self, id: &PromptId) -> Option<&SettledPrompt> {
        self.settled.get(id)
    }

    /// Notes that a turn begins, for a prompt with an id or without.
    pub(crate) fn begin(&mut self, id: Option<&PromptId>, spent: Spent) {
        // A turn that has no end was cut off.
        self.end(&TurnEnd::Failed(PROCESS_ENDED.to_owned()), spent);
        let running =
            |id: &PromptId| RunningPrompt { id: id.clone(), message: None, before: spent, requests: 0 };
        let goes_on = match self.suspended.take() {
            Some(suspended) if Some(&suspended.id) == id => Some(suspended),
            // Another prompt came first: its turn does not go on any more.
            forgotten => {
                self.running = forgotten;
                self.end(&TurnEnd::Failed(PROCESS_ENDED.to_owned()), spent);
                None
            }
        };
        self.running = goes_on.or_else(|| id.map(running));
    }

    /// Returns the prompt whose turn was suspended, and not gone on with yet.
    pub(crate) fn suspended(&self) -> Option<&PromptId> {
        self.suspended.as_ref().map(|prompt| &prompt.id)
    }

    /// Returns the message of that prompt.
    pub(crate) fn suspended_message(&self) -> Option<&MessageId> {
        self.suspended.as_ref()?.message.as_ref()
    }

    /// Notes the message of the prompt whose turn has begun.
    pub(crate) fn message(&mut self, id: &MessageId) {
        if let Some(running) = &mut self.running {
            running.message = Some(id.clone());
        }
    }

    /// Notes an answer of the model.
    pub(crate) fn answered(&mut self, response: &ModelResponse) {
        if let Some(running) = &mut self.running
            && !response.model.is_empty()
        {
            running.requests += 1;
        }
    }

    /// Notes the end of the turn.
    pub(crate) fn end(&mut self, end: &TurnEnd, spent: Spent) {
        if *end == TurnEnd::Stopped(StopReason::Suspended) {
            self.suspended = self.running.take();
            return;
        }
        let Some(RunningPrompt { id, message, before, requests }) = self.running.take() else { return };
        let (mut usage, mut total) = (spent.own.since(before.own), spent.own);
        usage += spent.subagents.since(before.subagents);
        total += spent.subagents;
        let settled = SettledPrompt { message, end: end.clone(), usage, total, requests };
        Arc::make_mut(&mut self.settled).insert(id, settled);
    }
}
