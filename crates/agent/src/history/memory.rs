//! Caches the conversations of sessions. The log has all of them, so any may be dropped between
//! turns.

use crate::{SessionEvent, history::conversation::Conversation, limits::IDLE_BYTES};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// The cached conversation of one session.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    /// `None` if the log was not read yet, or the conversation was dropped.
    conversation: Option<Arc<Conversation>>,
    /// Set when recording failed or was given up: the log may differ from the conversation.
    doubtful: bool,
}

impl Memory {
    /// Creates the cache of a session whose log is empty.
    pub(crate) fn empty() -> Arc<Self> {
        let memory = Self::default();
        memory.hold(Conversation::default());
        Arc::new(memory)
    }

    /// Returns the conversation, or `None` if the log must be read first.
    pub(crate) fn conversation(&self) -> Option<Arc<Conversation>> {
        self.lock().conversation.clone()
    }

    /// Returns whether a turn may begin without reading the log.
    pub(crate) fn is_certain(&self) -> bool {
        let held = self.lock();
        held.conversation.is_some() && !held.doubtful
    }

    /// Applies events to the conversation, if it is cached.
    pub(crate) fn apply(&self, events: &[SessionEvent]) {
        if let Some(conversation) = &mut self.lock().conversation {
            // Copy on write: readers keep the snapshot they hold.
            let conversation = Arc::make_mut(conversation);
            events.iter().for_each(|event| conversation.apply(event));
        }
    }

    /// Caches a conversation that was read from the log.
    pub(crate) fn hold(&self, conversation: Conversation) {
        *self.lock() = Held { conversation: Some(Arc::new(conversation)), doubtful: false };
    }

    /// Requires that the log is read before the next turn.
    pub(crate) fn doubt(&self) {
        self.lock().doubtful = true;
    }

    fn drop_conversation(&self) {
        self.lock().conversation = None;
    }

    fn bytes(&self) -> usize {
        self.conversation().map_or(0, |conversation| conversation.history().bytes())
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The sessions of a runtime in which no turn runs. Beside the conversation that became idle last,
/// at most [`IDLE_BYTES`] of others stay cached; those that have been idle longest are dropped, and
/// read again before their next turn.
#[derive(Debug, Default)]
pub(crate) struct IdleSessions(Mutex<VecDeque<Idle>>);

#[derive(Debug)]
struct Idle {
    memory: Weak<Memory>,
    bytes: usize,
}

impl IdleSessions {
    /// Removes a session when its turn begins.
    pub(crate) fn wake(&self, memory: &Arc<Memory>) {
        self.lock().retain(|idle| idle.memory.as_ptr() != Arc::as_ptr(memory));
    }

    /// Adds a session when its turn has ended, and drops the conversations beyond the limit.
    pub(crate) fn rest(&self, memory: &Arc<Memory>) {
        let mut idle = self.lock();
        idle.retain(|idle| idle.memory.strong_count() > 0 && idle.memory.as_ptr() != Arc::as_ptr(memory));
        let mut others: usize = idle.iter().map(|idle| idle.bytes).sum();
        while others > IDLE_BYTES
            && let Some(longest) = idle.pop_front()
        {
            others -= longest.bytes;
            if let Some(memory) = longest.memory.upgrade() {
                memory.drop_conversation();
            }
        }
        idle.push_back(Idle { memory: Arc::downgrade(memory), bytes: memory.bytes() });
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Idle>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, MessageId};

    /// A session with a prompt of this many bytes.
    fn session(bytes: usize) -> Arc<Memory> {
        let memory = Memory::empty();
        let content = vec![Content::text("x".repeat(bytes))];
        memory.apply(&[SessionEvent::UserMessage { id: MessageId::from("msg_1"), content }]);
        memory
    }

    #[test]
    fn the_conversations_that_were_idle_longest_are_dropped_beyond_the_bound() {
        let idle = IdleSessions::default();
        let sessions = [IDLE_BYTES / 2, IDLE_BYTES / 2, 10, 2 * IDLE_BYTES, 10].map(session);
        let held = || sessions.each_ref().map(|session| session.is_certain());
        sessions[..2].iter().for_each(|session| idle.rest(session));
        idle.rest(&sessions[2]);
        assert_eq!(held(), [true; 5], "the bound itself is no reason");
        idle.rest(&sessions[3]);
        assert_eq!(
            held(),
            [false, true, true, true, true],
            "the one that was idle last stays, whatever it takes"
        );
        idle.rest(&sessions[4]);
        assert_eq!(held(), [false, false, false, false, true]);
    }

    #[test]
    fn what_a_turn_works_on_is_not_dropped() {
        let idle = IdleSessions::default();
        let (running, other, last) = (session(IDLE_BYTES + 1), session(IDLE_BYTES + 1), session(1));
        idle.rest(&running);
        idle.wake(&running);
        idle.rest(&other);
        idle.rest(&last);
        assert!(running.is_certain() && !other.is_certain() && last.is_certain());
        drop(other);
        idle.rest(&last);
        assert_eq!(idle.lock().len(), 1, "of sessions that are gone nothing is kept");
    }

    #[test]
    fn what_is_not_held_takes_no_events_and_doubt_goes_when_the_log_was_read() {
        let memory = session(1);
        memory.drop_conversation();
        memory.apply(&[SessionEvent::TitleChanged("x".to_owned())]);
        assert!(memory.conversation().is_none() && !memory.is_certain());
        memory.hold(Conversation::default());
        memory.doubt();
        assert!(memory.conversation().is_some() && !memory.is_certain());
        memory.hold(Conversation::default());
        assert!(memory.is_certain());
    }
}
