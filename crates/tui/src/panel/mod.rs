//! The questions that wait for the user: permission requests, and questions of tools.
//!
//! [`AskQueue`] shows the first one and answers only that one. `focus.rs` is the rule by which it
//! gets the keys. A call is approved by a letter that was pressed while the request was shown with
//! the focus for at least 400 ms, and by nothing else: Enter alone, Space, digits and the mouse
//! never approve, and the lasting answers show what they cover before Enter confirms them.
//!
//! `typing.rs` tells an answer from a message that is begun while a question is shown.

mod body;
mod focus;
mod frame;
mod permission;
mod question;
mod side_by_side;
#[cfg(test)]
mod tests;
mod typing;

use crate::client::asks::{Answer, AskId, Asked};
use crate::input::Key;
use crate::keys::{Action, Bindings, Place};
use crate::look::Look;
use crate::shown::Shown;
use focus::Focus;
use frame::Head;
use permission::{Permission, Step};
use question::Asking;
use std::collections::VecDeque;
use std::time::Duration;
use typing::Held;
pub use typing::KeyUse;

/// The questions that wait for the user.
#[derive(Debug, Default)]
pub struct AskQueue {
    asks: VecDeque<Waiting>,
    focus: Focus,
    /// A key whose meaning depends on whether another one follows.
    held: Option<Held>,
    bindings: Bindings,
}

/// A question that waits.
#[derive(Debug)]
struct Waiting {
    id: AskId,
    panel: Panel,
    /// Whether the user went back to the message; it gets the focus by a key only.
    left: bool,
}

#[derive(Debug)]
enum Panel {
    Permission(Box<Permission>),
    Question(Asking),
}

impl AskQueue {
    /// Creates an empty queue. The bindings are named in hints.
    pub fn new(bindings: Bindings) -> Self {
        Self { bindings, ..Self::default() }
    }

    /// Replaces the bindings, which are named in hints.
    pub fn set_bindings(&mut self, bindings: Bindings) {
        self.bindings = bindings;
    }

    /// Adds a question behind those that wait. It has no focus before [`AskQueue::settle`].
    pub fn push(&mut self, id: AskId, asked: Asked) {
        let panel = match asked {
            Asked::Permission(request) => Panel::Permission(Box::new(Permission::new(request))),
            Asked::Question(question) => Panel::Question(Asking::new(question)),
        };
        self.asks.push_back(Waiting { id, panel, left: false });
    }

    /// Removes a question that no longer waits. If it was shown, the next one is shown, and keys
    /// are ignored for 400 ms.
    pub fn withdraw(&mut self, id: AskId, now: Duration) {
        let shown = self.asks.front().is_some_and(|ask| ask.id == id);
        self.asks.retain(|ask| ask.id != id);
        if shown {
            self.next(now);
        }
    }

    /// Returns whether no question waits.
    pub fn is_empty(&self) -> bool {
        self.asks.is_empty()
    }

    /// Returns how many questions wait.
    pub fn len(&self) -> usize {
        self.asks.len()
    }

    /// Notes that a key was pressed or text was pasted, wherever it went.
    pub fn typed(&mut self, now: Duration) {
        self.focus.typed(now);
    }

    /// Notes that the terminal gained or lost the focus.
    pub fn focus_changed(&mut self, focused: bool, now: Duration) {
        self.focus.terminal(focused, now);
    }

    /// Gives the shown question the focus if the rule allows it. `covered` says whether something
    /// else, such as the transcript or a list, has the keys. To be called after each input, after
    /// each change of the questions, and when [`AskQueue::due`] says.
    pub fn settle(&mut self, composer_empty: bool, covered: bool, now: Duration) {
        self.focus.cover(covered, now);
        if self.asks.front().is_some_and(|ask| !ask.left) {
            self.focus.offer(composer_empty, now);
        }
    }

    /// Gives the shown question the focus, because the user asked for it.
    pub fn take_focus(&mut self, now: Duration) {
        if let Some(ask) = self.asks.front_mut() {
            ask.left = false;
            self.focus.take(now);
        }
    }

    /// Returns when the focus or the shown text changes without an input, if it does.
    pub fn due(&self, now: Duration) -> Option<Duration> {
        self.asks.front()?;
        self.focus.due(now).into_iter().chain(self.held.as_ref().map(|held| held.until)).min()
    }

    /// Returns whether the shown question has the focus, so that keys belong to it.
    pub fn has_focus(&self) -> bool {
        self.focus.has()
    }

    /// Returns the place of the shown question in the table of keys.
    pub fn place(&self) -> Place {
        match self.asks.front().map(|ask| &ask.panel) {
            Some(Panel::Permission(permission)) => permission.place(),
            Some(Panel::Question(_)) => Place::Question,
            None => Place::Composer,
        }
    }

    /// Performs an action on the shown question; returns its answer if that answers it. Dropped if
    /// the question has no focus, or has had it for less than 400 ms.
    pub fn act(&mut self, action: Action, now: Duration) -> Option<(AskId, Answer)> {
        self.reached(now)?;
        self.perform(action, now)
    }

    fn perform(&mut self, action: Action, now: Duration) -> Option<(AskId, Answer)> {
        let ask = self.asks.front_mut()?;
        let step = match &mut ask.panel {
            Panel::Permission(permission) => permission.act(action),
            Panel::Question(asking) => asking.act(action),
        };
        match step {
            Step::Waits => None,
            Step::Leave => {
                ask.left = true;
                self.held = None;
                self.focus.leave();
                None
            }
            Step::Answered(answer) => {
                let ask = self.asks.pop_front()?;
                self.next(now);
                Some((ask.id, answer))
            }
        }
    }

    /// Takes a key that nothing is bound to. Dropped as in [`AskQueue::act`].
    pub fn key(&mut self, key: Key, now: Duration) {
        let Some(ask) = self.reached(now) else { return };
        match &mut ask.panel {
            Panel::Question(asking) => asking.key(key),
            Panel::Permission(permission) => {
                if let Some(field) = permission.field() {
                    field.key(key);
                }
            }
        }
    }

    /// Takes a pasted text: a part of a reason or of an answer in words, else dropped.
    pub fn paste(&mut self, text: &str, now: Duration) {
        self.held = None;
        let Some(ask) = self.reached(now) else { return };
        match &mut ask.panel {
            Panel::Question(asking) => asking.paste(text),
            Panel::Permission(permission) => {
                if let Some(field) = permission.field() {
                    field.insert(text);
                }
            }
        }
    }

    /// Returns the shown question in at most `most` rows; none if no question waits.
    pub fn rows(&self, look: &Look, most: usize, now: Duration) -> Shown {
        let Some(ask) = self.asks.front() else { return Shown::default() };
        let head = Head {
            many: self.asks.len(),
            focused: self.focus.has(),
            takes_keys: self.focus.takes_keys(now),
            bindings: &self.bindings,
            look,
        };
        match &ask.panel {
            Panel::Permission(permission) => body::permission(permission, &head, most),
            Panel::Question(asking) => body::question(asking, &head, most),
        }
    }

    /// Returns the shown question if a key that is pressed now reaches it.
    fn reached(&mut self, now: Duration) -> Option<&mut Waiting> {
        let takes = self.focus.takes_keys(now);
        self.focus.typed(now);
        self.asks.front_mut().filter(|_| takes)
    }

    /// After the shown question went, the next one keeps the focus, but not the keys typed for the
    /// one before.
    fn next(&mut self, now: Duration) {
        self.held = None;
        match self.asks.front() {
            Some(ask) if !ask.left => self.focus.begin_again(now),
            _ => self.focus.leave(),
        }
    }
}
