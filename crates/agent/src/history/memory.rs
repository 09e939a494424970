//! What is held in memory of sessions' conversations. The log has all of it, so that any of it may
//! be dropped between turns.

use crate::{SessionEvent, history::conversation::Conversation, limits::IDLE_BYTES};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// The conversation of one session.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<Held>);

#[derive(Debug, Default)]
struct Held {
    /// `None` where the log was not read yet, or what was read was dropped.
    conversation: Option<Arc<Conversation>>,
    /// Something failed half-way: the log may say something else.
    doubtful: bool,
}

impl Memory {
    /// Of a session whose log is empty.
    pub(crate) fn empty() -> Arc<Self> {
        let memory = Self::default();
        memory.hold(Conversation::default());
        Arc::new(memory)
    }

    /// What is held; `None` where the log must be read first.
    pub(crate) fn conversation(&self) -> Option<Arc<Conversation>> {
        self.lock().conversation.clone()
    }

    /// Whether a turn may begin without reading the log.
    pub(crate) fn is_certain(&self) -> bool {
        let held = self.lock();
        held.conversation.is_some() && !held.doubtful
    }

    /// Takes events, if anything is held that they could change.
    pub(crate) fn apply(&self, events: &[SessionEvent]) {
        if let Some(conversation) = &mut self.lock().conversation {
            // Whoever still looks at it as it was keeps that.
            let conversation = Arc::make_mut(conversation);
            events.iter().for_each(|event| conversation.apply(event));
        }
    }

    /// Holds what was read from the log.
    pub(crate) fn hold(&self, conversation: Conversation) {
        *self.lock() = Held { conversation: Some(Arc::new(conversation)), doubtful: false };
    }

    /// The log is to be read before the next turn.
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

/// The sessions of a runtime in which no turn runs. Beside the conversation that was idle last,
/// [`IDLE_BYTES`] of others are held; those that were idle longest are dropped, and read again
/// before their next turn.
#[derive(Debug, Default)]
pub(crate) struct IdleSessions(Mutex<VecDeque<Idle>>);

#[derive(Debug)]
struct Idle {
    memory: Weak<Memory>,
    bytes: usize,
}

impl IdleSessions {
    /// A turn begins.
    pub(crate) fn wake(&self, memory: &Arc<Memory>) {
        self.lock().retain(|idle| idle.memory.as_ptr() != Arc::as_ptr(memory));
    }

    /// A turn has ended.
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

    /// A session with a prompt of so many bytes.
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
