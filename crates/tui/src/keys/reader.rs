//! Turns pressed keys into actions; remembers the beginning of a sequence.

use super::action::Action;
use super::bindings::{Bindings, Match};
use super::situation::Situation;
use super::spelling::normal;
use crate::input::Key;
use crate::limits::SEQUENCE_PAUSE;
use std::time::Duration;

/// Turns pressed keys into actions.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct KeyReader {
    begun: Vec<Key>,
    /// When the last key of `begun` was pressed.
    at: Duration,
}

/// What a pressed key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pressed {
    /// An action.
    Action(Action),
    /// The beginning of a sequence, such as the first `esc` of `esc esc`.
    Begun,
    /// A key that nothing is bound to; a character is typed.
    Key(Key),
}

impl KeyReader {
    /// Takes a key that was pressed at `now`.
    ///
    /// A key that does not continue a begun sequence is taken by itself; so is one that comes
    /// later than [`SEQUENCE_PAUSE`].
    pub fn press(&mut self, bindings: &Bindings, situation: &Situation, key: Key, now: Duration) -> Pressed {
        let key = normal(key);
        let continues = !self.begun.is_empty() && now.saturating_sub(self.at) <= SEQUENCE_PAUSE;
        let mut begun = std::mem::take(&mut self.begun);
        if continues {
            begun.push(key);
            match bindings.find(situation, &begun) {
                Match::Action(action) => return Pressed::Action(action),
                Match::Begun => return self.wait(begun, now),
                Match::Nothing => {}
            }
        }
        match bindings.find(situation, &[key]) {
            Match::Action(action) => Pressed::Action(action),
            Match::Begun => self.wait(vec![key], now),
            Match::Nothing => Pressed::Key(key),
        }
    }

    /// Forgets a begun sequence, because something else happened.
    pub fn forget(&mut self) {
        self.begun.clear();
    }

    fn wait(&mut self, begun: Vec<Key>, now: Duration) -> Pressed {
        (self.begun, self.at) = (begun, now);
        Pressed::Begun
    }
}
