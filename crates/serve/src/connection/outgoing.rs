//! The messages of one stream to the client: those that wait, and those that were sent and are kept
//! for a resumption.

use crate::limits::{KEPT_BYTES, KEPT_MESSAGES};
use bytes::Bytes;
use std::collections::VecDeque;

/// A message to the client, with the session that it belongs to.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// The message, as UTF-8 JSON.
    pub(crate) text: Bytes,
    /// The session that it concerns.
    pub(crate) session: Option<String>,
}

/// Why a stream cannot be resumed after a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ResumeError {
    /// Messages after it are not kept any more.
    #[error("messages after that one are no longer kept; load the session again")]
    Gap,
    /// It was never sent.
    #[error("no such message was sent; start a new connection")]
    Never,
}

/// The messages of one stream, numbered from 1 in the order in which they are sent.
#[derive(Debug, Default)]
pub(crate) struct Outgoing {
    /// Sent and not acknowledged, in order; the last of them has the number `last`.
    sent: VecDeque<Bytes>,
    sent_bytes: usize,
    /// The number of the last message that was sent.
    last: u64,
    /// The messages of `sent`, from its end, that must be sent again.
    again: usize,
    waiting: VecDeque<Message>,
    waiting_bytes: usize,
    /// Whether sent messages are kept until they are acknowledged, whatever their size.
    keeps_all: bool,
}

impl Outgoing {
    /// Creates a stream that keeps all sent messages until they are acknowledged.
    pub(crate) fn keeping_all() -> Self {
        Self { keeps_all: true, ..Self::default() }
    }

    /// Queues a message.
    pub(crate) fn push(&mut self, message: Message) {
        self.waiting_bytes += message.text.len();
        self.waiting.push_back(message);
    }

    /// Takes the next message to be sent, with its number.
    pub(crate) fn next(&mut self) -> Option<(u64, Bytes)> {
        if self.again > 0 {
            let text = self.sent[self.sent.len() - self.again].clone();
            self.again -= 1;
            return Some((self.last - self.again as u64, text));
        }
        let Message { text, .. } = self.waiting.pop_front()?;
        self.waiting_bytes -= text.len();
        self.sent_bytes += text.len();
        self.sent.push_back(text.clone());
        self.last += 1;
        while self.is_full() {
            self.drop_first();
        }
        Some((self.last, text))
    }

    /// Drops the messages up to a number, which the client has received.
    pub(crate) fn acknowledge(&mut self, number: u64) {
        while self.first() <= number && self.sent.len() > self.again {
            self.drop_first();
        }
    }

    /// Continues after a message that the client has received: later ones are sent again.
    pub(crate) fn resume(&mut self, after: u64) -> Result<(), ResumeError> {
        if after > self.last {
            return Err(ResumeError::Never);
        }
        if after + 1 < self.first() {
            return Err(ResumeError::Gap);
        }
        self.again = 0;
        self.acknowledge(after);
        self.again = self.sent.len();
        Ok(())
    }

    /// Continues with messages that were never sent, whatever the client has received.
    pub(crate) fn skip_sent(&mut self) {
        self.again = 0;
    }

    /// Removes and returns the waiting messages of a session, in order.
    pub(crate) fn take_session(&mut self, session: &str) -> Vec<Message> {
        let (of_session, others) = self
            .waiting
            .drain(..)
            .partition::<Vec<_>, _>(|message| message.session.as_deref() == Some(session));
        self.waiting = others.into();
        self.waiting_bytes = self.waiting.iter().map(|message| message.text.len()).sum();
        of_session
    }

    /// Removes and returns all waiting messages.
    pub(crate) fn take_waiting(&mut self) -> Vec<Message> {
        self.waiting_bytes = 0;
        self.waiting.drain(..).collect()
    }

    /// Returns the number and the bytes of the waiting messages.
    pub(crate) fn waiting(&self) -> (usize, usize) {
        (self.waiting.len(), self.waiting_bytes)
    }

    /// Whether there is something to send.
    pub(crate) fn is_idle(&self) -> bool {
        self.again == 0 && self.waiting.is_empty()
    }

    /// Returns the number of the last message that was sent.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Returns the number of messages that are kept for a resumption.
    pub(crate) fn kept(&self) -> usize {
        self.sent.len()
    }

    /// Returns all bytes that it holds.
    pub(crate) fn bytes(&self) -> usize {
        self.sent_bytes + self.waiting_bytes
    }

    /// Whether the first sent message is to be dropped.
    fn is_full(&self) -> bool {
        let too_much = self.sent_bytes > KEPT_BYTES || self.sent.len() > KEPT_MESSAGES;
        too_much && self.sent.len() > 1 && !self.keeps_all
    }

    /// The number of the first message that is kept; one after the last if none is.
    fn first(&self) -> u64 {
        self.last + 1 - self.sent.len() as u64
    }

    fn drop_first(&mut self) {
        if let Some(text) = self.sent.pop_front() {
            self.sent_bytes -= text.len();
        }
        self.again = self.again.min(self.sent.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Message {
        Message { text: Bytes::copy_from_slice(text.as_bytes()), session: None }
    }

    fn all(outgoing: &mut Outgoing) -> Vec<(u64, String)> {
        let next = || outgoing.next().map(|(n, text)| (n, String::from_utf8(text.to_vec()).unwrap()));
        std::iter::from_fn(next).collect()
    }

    #[test]
    fn a_resumption_at_any_point_sends_the_rest_exactly_once() {
        for received in 0..=5_u64 {
            let mut outgoing = Outgoing::default();
            (1..=5).for_each(|n| outgoing.push(message(&n.to_string())));
            assert_eq!(all(&mut outgoing).len(), 5);
            outgoing.push(message("6"));
            outgoing.resume(received).unwrap();
            let rest = all(&mut outgoing);
            let expected: Vec<_> = (received + 1..=6).map(|n| (n, n.to_string())).collect();
            assert_eq!(rest, expected);
            assert!(outgoing.is_idle());
        }
    }

    #[test]
    fn a_resumption_that_is_interrupted_can_be_repeated() {
        let mut outgoing = Outgoing::default();
        (1..=4).for_each(|n| outgoing.push(message(&n.to_string())));
        all(&mut outgoing);
        outgoing.resume(1).unwrap();
        assert_eq!(outgoing.next().map(|(n, _)| n), Some(2));
        outgoing.acknowledge(2);
        outgoing.resume(2).unwrap();
        assert_eq!(all(&mut outgoing).iter().map(|(n, _)| *n).collect::<Vec<_>>(), [3, 4]);
    }

    #[test]
    fn what_is_acknowledged_or_evicted_is_a_gap_and_what_never_was_is_refused() {
        let mut outgoing = Outgoing::default();
        (1..=3).for_each(|n| outgoing.push(message(&n.to_string())));
        all(&mut outgoing);
        assert_eq!(outgoing.resume(4), Err(ResumeError::Never));
        outgoing.acknowledge(2);
        assert_eq!(outgoing.resume(1), Err(ResumeError::Gap));
        assert_eq!(outgoing.resume(2), Ok(()));
        let large = "x".repeat(KEPT_BYTES / 4);
        (0..8).for_each(|_| outgoing.push(message(&large)));
        all(&mut outgoing);
        assert!(outgoing.bytes() <= KEPT_BYTES && outgoing.resume(3) == Err(ResumeError::Gap));
        let mut many = Outgoing::default();
        (0..2 * KEPT_MESSAGES).for_each(|_| many.push(message("x")));
        all(&mut many);
        assert_eq!(many.resume(KEPT_MESSAGES as u64 - 1), Err(ResumeError::Gap));
        assert_eq!(many.resume(KEPT_MESSAGES as u64), Ok(()));
    }

    #[test]
    fn the_waiting_messages_of_a_session_move_in_order() {
        let mut outgoing = Outgoing::default();
        for (text, session) in [("1", Some("a")), ("2", Some("b")), ("3", None), ("4", Some("a"))] {
            outgoing.push(Message { session: session.map(str::to_owned), ..message(text) });
        }
        let moved: Vec<_> = outgoing.take_session("a").into_iter().map(|message| message.text).collect();
        assert_eq!(moved, ["1", "4"]);
        assert_eq!(outgoing.waiting(), (2, 2));
        assert_eq!(all(&mut outgoing), [(1, "2".to_owned()), (2, "3".to_owned())]);
    }
}
