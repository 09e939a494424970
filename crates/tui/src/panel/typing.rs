//! Tells an answer from a message that the user begins to type while a question is shown.
//!
//! Two different characters within 200 ms are typing: they go to the composer, and the question
//! waits without the focus. A letter that answers at once therefore counts only when nothing else
//! was typed for that time. While the question ignores keys, 400 ms are enough for two characters,
//! and each of them begins that time anew. A small letter that is no key of a permission request
//! begins a message by itself.

use super::AskQueue;
use crate::client::asks::{Answer, AskId};
use crate::input::{Key, KeyCode};
use crate::keys::{Action, Place};
use crate::limits::{FOCUS_GRACE, TYPING_GAP};
use std::time::Duration;

/// Who gets a key that is pressed while a question has the focus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyUse {
    /// The question takes it, by [`AskQueue::act`] or [`AskQueue::key`].
    Question,
    /// It waits until it is clear whether another character follows.
    Held,
    /// It belongs to a message, with the one before it. The question has no focus any more.
    Message(Vec<Key>),
}

/// A character that waits.
#[derive(Debug)]
pub(super) struct Held {
    key: Key,
    /// What it does if nothing else is typed; nothing while the question ignores keys.
    action: Option<Action>,
    at: Duration,
    /// When it is clear that nothing else is typed.
    pub(super) until: Duration,
}

impl AskQueue {
    /// Decides what a key is that is pressed while the shown question has the focus. `action` is
    /// what it is bound to there.
    pub fn use_of(&mut self, key: Key, action: Option<Action>, now: Duration) -> KeyUse {
        let character = match key.code {
            KeyCode::Char(character) if !key.ctrl && !key.alt => character,
            _ => return self.use_of_no_character(key),
        };
        match self.held.take() {
            Some(held) if held.key != key => return self.typing(vec![held.key, key], now),
            _ => {}
        }
        let takes = self.focus.takes_keys(now);
        match (self.place(), action) {
            _ if !takes => self.focus.begin_again(now),
            (Place::Permission, Some(Action::PermissionOnce | Action::PermissionNo)) => {}
            (Place::Permission, None) if character.is_lowercase() => return self.typing(vec![key], now),
            (Place::Permission, None) => {}
            _ => return KeyUse::Question,
        }
        self.focus.typed(now);
        let until = now + if takes { TYPING_GAP } else { FOCUS_GRACE };
        self.held = Some(Held { key, action: action.filter(|_| takes), at: now, until });
        KeyUse::Held
    }

    /// Enter after a letter changes nothing about it; any other key takes it back.
    fn use_of_no_character(&mut self, key: Key) -> KeyUse {
        if self.held.is_some() && key.code == KeyCode::Enter {
            return KeyUse::Held;
        }
        self.held = None;
        KeyUse::Question
    }

    fn typing(&mut self, keys: Vec<Key>, now: Duration) -> KeyUse {
        self.focus.leave();
        self.focus.typed(now);
        KeyUse::Message(keys)
    }

    /// Performs what the held character does, if nothing else was typed in time. To be called when
    /// [`AskQueue::due`] says, and before each input.
    pub fn settle_held(&mut self, now: Duration) -> Option<(AskId, Answer)> {
        let held = self.held.take_if(|held| held.until <= now)?;
        // The focus may have been lost or taken anew since.
        let takes = self.focus.takes_keys(held.at);
        held.action.filter(|_| takes).and_then(|action| self.perform(action, now))
    }
}
