//! A turn that failed can be tried again: by a key, as long as nothing else was asked.
//!
//! What the user types belongs to the message. So a letter that is bound to the action is typed
//! like any other, and acts only if it is the whole message when Enter sends it.

use super::{App, effect::Effect, work::Drawing};
use crate::{
    composer::Part,
    driver::request::When,
    input::{Key, KeyCode},
    keys::{Action, Bindings, Match, Place, Situation},
    text::row::Row,
    theme::Role,
};

/// The session's command that asks again.
const COMMAND: &str = "/retry";

impl App {
    /// Whether the last request to the model failed and can be made again.
    pub(super) fn can_retry(&self) -> bool {
        self.session
            .as_ref()
            .is_some_and(|session| session.has_failed() && session.turn.is_none() && session.held.is_none())
            && self.waiting.all().is_empty()
    }

    /// Takes a key that is no text and is bound to the action, while the message is empty.
    pub(super) fn retry_key(&mut self, place: Place, key: Key) -> Option<Vec<Effect>> {
        let is_bound = place == Place::Composer && self.composer.is_empty() && !is_text(key);
        let retries = is_bound && self.can_retry() && asks_again(&self.options.bindings, key);
        retries.then(|| self.retry())
    }

    /// Takes a message that is nothing but the letter of the action.
    pub(super) fn retry_message(&mut self, message: &[Part]) -> Option<Vec<Effect>> {
        let [Part::Text(text)] = message else { return None };
        let mut letters = text.trim().chars();
        let (Some(letter), None) = (letters.next(), letters.next()) else { return None };
        let key = Key::plain(KeyCode::Char(letter));
        let retries = self.can_retry() && asks_again(&self.options.bindings, key);
        retries.then(|| self.retry())
    }

    fn retry(&mut self) -> Vec<Effect> {
        vec![self.send(vec![Part::Text(COMMAND.to_owned())], When::After)]
    }

    /// Returns how to ask again: `r enter`.
    pub(super) fn retry_keys(&self) -> String {
        match self.options.bindings.key_of(Action::Retry) {
            Some(key) if key.chars().count() == 1 => format!("{key} enter"),
            Some(key) => key,
            None => COMMAND.to_owned(),
        }
    }

    /// Returns the row that says what can be done about the failed turn; `None` if there is nothing
    /// to do, or the user writes something else.
    pub(super) fn retry_row(&self, drawing: Drawing<'_>) -> Option<Row> {
        let typed = self.composer.as_text();
        let shown = typed.is_empty() || self.retry_keys().strip_suffix(" enter") == Some(&typed);
        (shown && self.can_retry()).then(|| {
            let keys = format!("{}: try again · /model: choose another model", self.retry_keys());
            drawing.row(&[(Role::Error, "✗"), (Role::Text, " the turn failed · "), (Role::Dim, &keys)])
        })
    }
}

fn asks_again(bindings: &Bindings, key: Key) -> bool {
    let situation = Situation::idle(Place::Failure);
    bindings.find(&situation, &[key]) == Match::Action(Action::Retry)
}

/// Whether a key is part of what the user writes.
fn is_text(key: Key) -> bool {
    matches!(key.code, KeyCode::Char(_)) && !key.ctrl && !key.alt
}
