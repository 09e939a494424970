//! The messages from the client: counted, and held while too many requests are unanswered.

use crate::{
    limits::{HELD_BYTES, HELD_MESSAGES, MESSAGE_IDS, UNANSWERED_REQUESTS},
    message::Head,
};
use std::collections::{BTreeSet, HashMap, VecDeque};

/// Counts the messages of a client, and queues them for the protocol.
#[derive(Debug, Default)]
pub(crate) struct Incoming {
    /// The last message of an unbroken sequence from 1.
    received: u64,
    /// Numbers beyond it, of POST requests that overtook others.
    beyond: BTreeSet<u64>,
    unanswered: HashMap<String, Unanswered>,
    queue: VecDeque<Queued>,
    queued_bytes: usize,
}

/// A request that the protocol has not answered.
#[derive(Debug)]
struct Unanswered {
    session: Option<String>,
    is_prompt: bool,
}

#[derive(Debug)]
struct Queued {
    text: String,
    head: Head,
    /// Whether a copy was passed on ahead of its turn.
    passed: bool,
}

impl Incoming {
    /// Counts a message of a WebSocket.
    pub(crate) fn count(&mut self) {
        self.received += 1;
    }

    /// Counts a message by its number; returns false if it is known.
    pub(crate) fn count_number(&mut self, number: u64) -> bool {
        if number <= self.received || self.beyond.contains(&number) {
            return false;
        }
        self.beyond.insert(number);
        while self.beyond.remove(&(self.received + 1)) {
            self.received += 1;
        }
        while self.beyond.len() > MESSAGE_IDS {
            self.beyond.pop_first();
        }
        true
    }

    /// Returns the number of messages received without a gap.
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// Whether another message may be queued.
    pub(crate) fn has_room(&self) -> bool {
        self.queue.len() < HELD_MESSAGES && self.queued_bytes < HELD_BYTES
    }

    /// Whether nothing is queued and every request is answered.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.unanswered.is_empty()
    }

    /// Queues a message.
    pub(crate) fn push(&mut self, head: Head, text: String) {
        self.queued_bytes += text.len();
        self.queue.push_back(Queued { text, head, passed: false });
    }

    /// Takes the next message for the protocol. While [`UNANSWERED_REQUESTS`] are unanswered, those
    /// are only responses, which unanswered requests may wait for, and cancellations. A
    /// cancellation that overtakes a prompt is passed on once more in its turn.
    pub(crate) fn take(&mut self) -> Option<String> {
        if self.unanswered.len() < UNANSWERED_REQUESTS {
            let Queued { text, head, .. } = self.queue.pop_front()?;
            self.queued_bytes -= text.len();
            self.note(&head);
            return Some(text);
        }
        let first_request = self.queue.iter().position(|queued| !queued.head.is_response())?;
        if first_request > 0 {
            let text = self.queue.pop_front()?.text;
            self.queued_bytes -= text.len();
            return Some(text);
        }
        if let Some(at) = self.queue.iter().position(|queued| queued.head.is_response()) {
            let text = self.queue.remove(at)?.text;
            self.queued_bytes -= text.len();
            return Some(text);
        }
        let cancel = self.queue.iter_mut().find(|queued| queued.head.cancels() && !queued.passed)?;
        cancel.passed = true;
        Some(cancel.text.clone())
    }

    /// Notes that a request was answered. Returns its session if the request is known.
    pub(crate) fn answered(&mut self, id: &str) -> Option<Option<String>> {
        self.unanswered.remove(id).map(|request| request.session)
    }

    /// Returns the sessions with an unanswered prompt, sorted.
    pub(crate) fn running(&self) -> BTreeSet<&str> {
        let prompts = self.unanswered.values().filter(|request| request.is_prompt);
        prompts.filter_map(|request| request.session.as_deref()).collect()
    }

    fn note(&mut self, head: &Head) {
        if let Some(id) = head.id.clone().filter(|_| head.is_request()) {
            let is_prompt = head.is_method("session/prompt");
            self.unanswered.insert(id, Unanswered { session: head.session.clone(), is_prompt });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(id: usize) -> String {
        format!(r#"{{"id":{id},"method":"m","params":{{"sessionId":"s"}}}}"#)
    }

    fn push(incoming: &mut Incoming, text: &str) {
        incoming.push(Head::of(text), text.to_owned());
    }

    fn all(incoming: &mut Incoming) -> Vec<String> {
        std::iter::from_fn(|| incoming.take()).collect()
    }

    #[test]
    fn requests_beyond_the_limit_wait_in_order_and_responses_and_cancels_pass() {
        const CANCEL: &str = r#"{"method":"session/cancel","params":{"sessionId":"s"}}"#;
        const RESPONSE: &str = r#"{"id":1,"result":{}}"#;
        let mut incoming = Incoming::default();
        (0..=UNANSWERED_REQUESTS).for_each(|id| push(&mut incoming, &request(id)));
        assert_eq!(all(&mut incoming).len(), UNANSWERED_REQUESTS);
        push(&mut incoming, CANCEL);
        push(&mut incoming, RESPONSE);
        assert_eq!(all(&mut incoming), [RESPONSE, CANCEL]);
        assert_eq!(incoming.answered("0"), Some(Some("s".to_owned())));
        assert_eq!(all(&mut incoming), [request(UNANSWERED_REQUESTS)], "it counts as unanswered");
        incoming.answered("1");
        assert_eq!(all(&mut incoming), [CANCEL], "it also cancels the prompt that it overtook");
        assert_eq!(incoming.queued_bytes, 0);
    }

    #[test]
    fn the_queue_is_bounded_in_messages_and_bytes() {
        let mut incoming = Incoming::default();
        while incoming.has_room() {
            push(&mut incoming, "{}");
        }
        assert_eq!(incoming.queue.len(), HELD_MESSAGES);
        let mut incoming = Incoming::default();
        push(&mut incoming, &"x".repeat(HELD_BYTES));
        assert!(!incoming.has_room());
        incoming.take();
        assert!(incoming.has_room());
    }

    #[test]
    fn numbered_messages_count_once_in_any_order() {
        let mut incoming = Incoming::default();
        assert!(incoming.count_number(2) && incoming.count_number(1) && incoming.count_number(4));
        assert!(!incoming.count_number(2) && !incoming.count_number(4));
        assert_eq!(incoming.received(), 2);
        assert!(incoming.count_number(3));
        assert_eq!(incoming.received(), 4);
    }

    #[test]
    fn sessions_run_while_their_prompts_are_unanswered() {
        let mut incoming = Incoming::default();
        push(&mut incoming, r#"{"id":1,"method":"session/prompt","params":{"sessionId":"s"}}"#);
        assert!(incoming.running().is_empty(), "the protocol has not got it yet");
        incoming.take();
        assert_eq!(incoming.running().into_iter().collect::<Vec<_>>(), ["s"]);
        incoming.answered("1");
        assert!(incoming.running().is_empty());
    }
}
