//! Prompts that were sent with an id: one that is sent again joins the first.

use crate::{MessageId, PromptId, PromptOutcome, StopReason, TurnError, limits::REMEMBERED_PROMPTS};
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::oneshot;

/// The prompts of an open session that have ids. What its log knows of them as well is remembered
/// for a limited number.
#[derive(Debug, Default)]
pub(super) struct Once(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    prompts: HashMap<PromptId, Sent>,
    /// The settled prompts, oldest first.
    settled: VecDeque<PromptId>,
}

/// A prompt that was sent.
#[derive(Debug)]
struct Sent {
    /// Its number.
    number: u64,
    progress: Progress,
}

#[derive(Debug)]
enum Progress {
    /// It has not settled: those who wait for it, and its message once that is recorded.
    Open {
        message: Option<MessageId>,
        waiting: Vec<Waiting>,
    },
    Settled {
        message: Option<MessageId>,
        result: Result<PromptOutcome, TurnError>,
    },
}

/// Where the progress of a prompt goes.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) recorded: Option<oneshot::Sender<MessageId>>,
    pub(super) reply: oneshot::Sender<Result<PromptOutcome, TurnError>>,
}

impl Waiting {
    // The receivers may have been dropped.

    fn record(&mut self, message: &MessageId) {
        if let Some(recorded) = self.recorded.take() {
            let _ = recorded.send(message.clone());
        }
    }

    fn settle(mut self, message: Option<&MessageId>, result: &Result<PromptOutcome, TurnError>) {
        if let (Some(message), Ok(_)) = (message, result) {
            self.record(message);
        }
        let _ = self.reply.send(result.clone());
    }
}

impl Once {
    /// Joins the prompt with an id if it was sent before, and returns its number. Else notes it
    /// under the number `fresh`, and returns `None`: it must be sent, and followed
    /// ([`Once::follow`]).
    pub(super) fn join(&self, id: &PromptId, fresh: u64, mut waits: Waiting) -> Option<u64> {
        let mut known = self.lock();
        let Some(sent) = known.prompts.get_mut(id) else {
            let progress = Progress::Open { message: None, waiting: vec![waits] };
            known.prompts.insert(id.clone(), Sent { number: fresh, progress });
            return None;
        };
        match &mut sent.progress {
            Progress::Open { message, waiting } => {
                if let Some(message) = message {
                    waits.record(message);
                }
                waiting.push(waits);
            }
            Progress::Settled { message, result } => waits.settle(message.as_ref(), result),
        }
        Some(sent.number)
    }

    /// Passes the progress of a prompt to all who wait for it, until it has settled.
    pub(super) async fn follow(
        self: Arc<Self>,
        id: PromptId,
        inserted: oneshot::Receiver<MessageId>,
        settled: oneshot::Receiver<Result<PromptOutcome, TurnError>>,
    ) {
        let recorded = inserted.await.ok();
        if let Some(recorded) = &recorded
            && let Some(Sent { progress: Progress::Open { message, waiting }, .. }) =
                self.lock().prompts.get_mut(&id)
        {
            waiting.iter_mut().for_each(|waits| waits.record(recorded));
            *message = Some(recorded.clone());
        }
        let result = settled.await.unwrap_or(Err(TurnError::Closed));
        self.lock().settle(&id, recorded, result);
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        // Each change is one insertion or one replacement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    fn settle(
        &mut self,
        id: &PromptId,
        message: Option<MessageId>,
        result: Result<PromptOutcome, TurnError>,
    ) {
        let Some(Sent { number, progress: Progress::Open { waiting, .. } }) = self.prompts.remove(id) else {
            return;
        };
        waiting.into_iter().for_each(|waits| waits.settle(message.as_ref(), &result));
        if matches!(&result, Ok(outcome) if outcome.stop_reason == StopReason::Suspended) {
            return;
        }
        // Nothing of such a prompt was done for certain, or only the log knows whether it was: it
        // may be sent again.
        if let Err(
            TurnError::BadPrompt(_)
            | TurnError::QueueFull(_)
            | TurnError::NotAdmitted(_)
            | TurnError::FoldersElsewhere(_)
            | TurnError::Closed
            | TurnError::Store(_),
        ) = &result
        {
            return;
        }
        self.prompts.insert(id.clone(), Sent { number, progress: Progress::Settled { message, result } });
        self.settled.push_back(id.clone());
        if self.settled.len() > REMEMBERED_PROMPTS
            && let Some(oldest) = self.settled.pop_front()
        {
            self.prompts.remove(&oldest);
        }
    }
}
