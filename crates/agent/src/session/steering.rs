//! Messages from the user to a running turn.

use crate::session::message::Queued;
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// The queue between the session's task, which receives steering messages, and the turn, which
/// takes them.
#[derive(Default)]
pub(crate) struct Steering {
    waiting: Mutex<VecDeque<Queued>>,
    arrived: Notify,
}

impl Steering {
    pub(crate) fn push(&self, prompt: Queued) {
        self.lock().push_back(prompt);
        self.arrived.notify_one();
    }

    /// Completes when a message waits. Cancel-safe.
    pub(crate) async fn arrives(&self) {
        while !self.is_waiting() {
            self.arrived.notified().await;
        }
    }

    /// Takes the next message.
    pub(crate) fn next(&self) -> Option<Queued> {
        self.lock().pop_front()
    }

    /// Removes a message that the turn has not taken.
    pub(crate) fn remove(&self, number: u64) -> Option<Queued> {
        let mut waiting = self.lock();
        let at = waiting.iter().position(|prompt| prompt.number == number)?;
        waiting.remove(at)
    }

    /// Takes all messages that the turn has not taken.
    pub(crate) fn drain(&self) -> Vec<Queued> {
        self.lock().drain(..).collect()
    }

    pub(crate) fn is_waiting(&self) -> bool {
        !self.lock().is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Queued>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
