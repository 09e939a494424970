//! The rule by which a question takes the keys, so that no key that was meant for the message
//! answers it.
//!
//! A question takes the focus by itself only if the composer is empty, nothing was typed for a
//! second and the terminal has the focus. Keys are ignored for 400 ms after it got the focus, after
//! another question took its place, and after the terminal or the view came back to it.

use crate::limits::{FOCUS_GRACE, FOCUS_PAUSE};
use std::time::Duration;

/// Who has the keys, and since when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Focus {
    /// Whether the terminal has the focus. One that does not report it always has.
    terminal: bool,
    /// Whether something else, such as the transcript, has the keys for now.
    covered: bool,
    /// When the last key was pressed or text was pasted.
    typed: Option<Duration>,
    /// Since when the question that is shown has the focus.
    since: Option<Duration>,
}

impl Default for Focus {
    fn default() -> Self {
        Self { terminal: true, covered: false, typed: None, since: None }
    }
}

impl Focus {
    /// Notes that something was typed.
    pub(super) fn typed(&mut self, now: Duration) {
        self.typed = Some(now);
    }

    /// Notes that the terminal gained or lost the focus.
    pub(super) fn terminal(&mut self, has: bool, now: Duration) {
        self.terminal = has;
        self.begin_again(now);
    }

    /// Notes whether something else has the keys.
    pub(super) fn cover(&mut self, covered: bool, now: Duration) {
        if self.covered != covered {
            self.covered = covered;
            self.begin_again(now);
        }
    }

    /// Gives the focus if the rule allows it.
    pub(super) fn offer(&mut self, composer_empty: bool, now: Duration) {
        let quiet = self.typed.is_none_or(|typed| now.saturating_sub(typed) >= FOCUS_PAUSE);
        if self.since.is_none() && composer_empty && quiet && self.terminal && !self.covered {
            self.since = Some(now);
        }
    }

    /// Gives the focus, because the user asked for it.
    pub(super) fn take(&mut self, now: Duration) {
        self.since = Some(now);
    }

    /// Takes the focus away.
    pub(super) fn leave(&mut self) {
        self.since = None;
    }

    /// Begins the time anew in which keys are ignored.
    pub(super) fn begin_again(&mut self, now: Duration) {
        if self.since.is_some() {
            self.since = Some(now);
        }
    }

    /// Returns whether the question has the focus.
    pub(super) fn has(&self) -> bool {
        self.since.is_some()
    }

    /// Returns whether a key that is pressed now reaches the question.
    pub(super) fn takes_keys(&self, now: Duration) -> bool {
        let settled = self.since.is_some_and(|since| now.saturating_sub(since) >= FOCUS_GRACE);
        settled && self.terminal && !self.covered
    }

    /// Returns when the state changes without anything happening, if it does.
    pub(super) fn due(&self, now: Duration) -> Option<Duration> {
        let due = match (self.since, self.typed) {
            (Some(since), _) => since + FOCUS_GRACE,
            (None, Some(typed)) => typed + FOCUS_PAUSE,
            (None, None) => return None,
        };
        (due > now).then_some(due)
    }
}
