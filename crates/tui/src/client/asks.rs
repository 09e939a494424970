//! Questions that wait for the user.

use agent::{PermissionOutcome, PermissionRequest, Question, QuestionOutcome};
use std::{
    collections::HashMap,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};
use tokio::sync::oneshot;

/// Identifies a question that waits for the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AskId(pub u64);

/// A question for the user.
#[derive(Debug, Clone, PartialEq)]
#[expect(clippy::large_enum_variant, reason = "few questions wait at a time")]
pub enum Asked {
    /// Whether a call may run.
    Permission(PermissionRequest),
    /// A question of a tool.
    Question(Question),
}

/// The user's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// To a permission request.
    Permission {
        /// The decision.
        outcome: PermissionOutcome,
        /// The user's reason for a refusal, for the model.
        reason: Option<String>,
    },
    /// To a question.
    Question(QuestionOutcome),
}

/// The callers that wait for answers.
#[derive(Debug, Default)]
pub(super) struct Asks {
    next: AtomicU64,
    waiting: Mutex<HashMap<AskId, oneshot::Sender<Answer>>>,
}

impl Asks {
    /// Registers a question; the receiver gets its answer.
    pub(super) fn open(&self) -> (AskId, oneshot::Receiver<Answer>) {
        let id = AskId(self.next.fetch_add(1, Ordering::Relaxed));
        let (reply, answered) = oneshot::channel();
        self.waiting().insert(id, reply);
        (id, answered)
    }

    /// Forgets a question.
    pub(super) fn close(&self, id: AskId) {
        self.waiting().remove(&id);
    }

    /// Answers a question, if it still waits.
    pub(super) fn answer(&self, id: AskId, answer: Answer) {
        if let Some(reply) = self.waiting().remove(&id) {
            // The caller stopped waiting in this moment; the question is withdrawn.
            let _ = reply.send(answer);
        }
    }

    fn waiting(&self) -> MutexGuard<'_, HashMap<AskId, oneshot::Sender<Answer>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
