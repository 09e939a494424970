//! What waits for the terminal's thread. Pushing never blocks; text of one message is merged, and a
//! snapshot replaces the one before, so that a slow terminal does not make it grow.

use super::asks::{AskId, Asked};
use crate::{
    driver::reply::Reply,
    limits::{MAILBOX_BYTES, MAILBOX_LETTERS},
};
use agent::{LiveOutput, SessionEvent, SwarmEvent};
use std::{
    collections::VecDeque,
    mem::discriminant,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// One item for the terminal's thread.
#[derive(Debug, PartialEq)]
pub enum Letter {
    /// An event of the session.
    Event(Box<SessionEvent>),
    /// A question for the user.
    Asked(AskId, Box<Asked>),
    /// A question that no longer waits: it was answered, or its turn was cancelled.
    Withdrawn(AskId),
    /// The result of what the interface requested.
    Reply(Box<Reply>),
}

/// The queue from the runtime's thread to the terminal's.
#[derive(Debug, Default)]
pub struct Mailbox {
    state: Mutex<State>,
    arrived: Notify,
    taken: Notify,
}

#[derive(Debug, Default)]
struct State {
    letters: VecDeque<Letter>,
    /// The bytes of text in them, roughly.
    bytes: usize,
}

impl Mailbox {
    /// Adds an item.
    pub fn push(&self, letter: Letter) {
        self.state().push(letter);
        self.arrived.notify_one();
    }

    /// Takes everything that waits, in order.
    pub fn take(&self) -> Vec<Letter> {
        let mut state = self.state();
        state.bytes = 0;
        let letters = state.letters.drain(..).collect();
        drop(state);
        self.taken.notify_waiters();
        letters
    }

    /// Waits until something has been pushed since the last call.
    pub async fn arrived(&self) {
        self.arrived.notified().await;
    }

    /// Waits until less than [`MAILBOX_BYTES`] of streamed text and [`MAILBOX_LETTERS`] items wait.
    pub async fn room(&self) {
        loop {
            let taken = self.taken.notified();
            tokio::pin!(taken);
            taken.as_mut().enable();
            if self.state().has_room() {
                return;
            }
            taken.await;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn has_room(&self) -> bool {
        self.bytes < MAILBOX_BYTES && self.letters.len() < MAILBOX_LETTERS
    }

    fn push(&mut self, letter: Letter) {
        let Letter::Event(event) = letter else {
            self.letters.push_back(letter);
            return;
        };
        self.bytes += text_bytes(&event);
        if let Some(Letter::Event(last)) = self.letters.back_mut()
            && merge(last, &event)
        {
            return;
        }
        if is_snapshot(&event) {
            let earlier = self.letters.iter_mut().find_map(|letter| match letter {
                Letter::Event(earlier) if same_kind(earlier, &event) => Some(earlier),
                _ => None,
            });
            if let Some(earlier) = earlier {
                *earlier = event;
                return;
            }
        }
        self.letters.push_back(Letter::Event(event));
    }
}

/// Appends the text of an event to the one before it, if both belong to one message or one command.
fn merge(last: &mut SessionEvent, next: &SessionEvent) -> bool {
    match (last, next) {
        (SessionEvent::MessageDelta { id, text }, SessionEvent::MessageDelta { id: next_id, text: more })
        | (SessionEvent::ThoughtDelta { id, text }, SessionEvent::ThoughtDelta { id: next_id, text: more })
            if id == next_id =>
        {
            text.push_str(more);
            true
        }
        (SessionEvent::ToolCall(call), SessionEvent::ToolCall(next))
            if call.id == next.id && next.status.is_none() && next.display == Default::default() =>
        {
            match (&mut call.output, &next.output) {
                (Some(LiveOutput::Text(text)), Some(LiveOutput::Text(more))) => {
                    call.colours.append(&next.colours, text.len());
                    text.push_str(more);
                    true
                }
                _ => false,
            }
        }
        _ => false,
    }
}

/// Whether only the last event of its kind matters.
fn is_snapshot(event: &SessionEvent) -> bool {
    matches!(
        event,
        SessionEvent::Usage(_)
            | SessionEvent::Phase(_)
            | SessionEvent::Commands(_)
            | SessionEvent::Swarm(SwarmEvent::State(_))
    )
}

fn same_kind(earlier: &SessionEvent, event: &SessionEvent) -> bool {
    match (earlier, event) {
        (SessionEvent::Swarm(earlier), SessionEvent::Swarm(event)) => {
            discriminant(earlier) == discriminant(event)
        }
        _ => discriminant(earlier) == discriminant(event),
    }
}

fn text_bytes(event: &SessionEvent) -> usize {
    match event {
        SessionEvent::MessageDelta { text, .. } | SessionEvent::ThoughtDelta { text, .. } => text.len(),
        SessionEvent::ToolCall(call) => match &call.output {
            Some(LiveOutput::Text(text)) => text.len() + size_of_val(call.colours.runs()),
            _ => 0,
        },
        _ => 0,
    }
}
