//! Messages that belong to no request: panics that were caught, and lines of the log.
//!
//! Their sources are not slowed down, so only the last ones wait for the terminal's thread. What
//! was left out is counted.

use crate::limits::{MESSAGE_BYTES, MESSAGES_WAITING};
use std::{
    collections::VecDeque,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// The queue of messages, which any thread may fill.
#[derive(Debug, Default)]
pub struct Messages {
    state: Mutex<State>,
    arrived: Notify,
}

#[derive(Debug, Default)]
struct State {
    waiting: VecDeque<String>,
    /// The messages that were left out since the last were taken.
    left_out: usize,
}

impl Messages {
    /// Adds a message. Never waits: if there are too many, the oldest is left out.
    pub fn push(&self, message: &str) {
        let message = message[..agent::floor_char_boundary(message, MESSAGE_BYTES)].to_owned();
        let mut state = self.state();
        if state.waiting.len() == MESSAGES_WAITING {
            state.waiting.pop_front();
            state.left_out += 1;
        }
        state.waiting.push_back(message);
        drop(state);
        self.arrived.notify_one();
    }

    /// Takes the messages that wait, in order. If some were left out before them, the last message
    /// says how many, since it is the one that stays on the screen.
    pub fn take(&self) -> Vec<String> {
        let mut state = self.state();
        let mut messages: Vec<String> = state.waiting.drain(..).collect();
        let left_out = std::mem::take(&mut state.left_out);
        if let Some(last) = messages.last_mut().filter(|_| left_out > 0) {
            last.push_str(&format!(
                " (before it, {left_out} messages were left out; tiller 2>FILE writes all to a file)"
            ));
        }
        messages
    }

    /// Waits until something has been added since the last call.
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_messages_is_bounded_and_says_what_is_missing() {
        let messages = Messages::default();
        for number in 0..100_000 {
            messages.push(&format!("line {number}"));
        }
        let waiting = messages.state().waiting.len();
        assert_eq!(waiting, MESSAGES_WAITING);
        let taken = messages.take();
        assert_eq!(taken[0], format!("line {}", 100_000 - MESSAGES_WAITING));
        let missing = format!("before it, {} messages were left out", 100_000 - MESSAGES_WAITING);
        let last = taken.last().unwrap();
        assert!(last.starts_with("line 99999 (") && last.contains(&missing), "{last}");
        assert!(messages.take().is_empty(), "it is said once");
        messages.push("next");
        assert_eq!(messages.take(), ["next"]);
        messages.push(&"ü".repeat(MESSAGE_BYTES));
        assert!(messages.take()[0].len() <= MESSAGE_BYTES);
    }
}
