//! Binds the keys that are pressed next to an action.

use super::{App, Overlay, effect::Effect, lists::List, work::Drawing};
use crate::{
    driver::request::Request,
    input::{Key, KeyCode},
    keys::spelling::Chord,
    limits::SEQUENCE_KEYS,
    text::row::Row,
    theme::Role,
};

/// What waits for keys to bind.
pub(super) struct Binding {
    /// The setting: `ui.keys.ACTION`.
    name: String,
    /// The keys that the action keeps.
    kept: Vec<String>,
    pressed: Vec<Key>,
    /// The list to return to.
    below: Option<Box<List>>,
}

impl Binding {
    pub(super) fn new(name: String, kept: Vec<String>, below: Option<Box<List>>) -> Self {
        Self { name, kept, pressed: Vec::new(), below }
    }

    /// Returns the change that binds a key.
    fn request(&self, key: &Chord) -> Request {
        let mut keys = self.kept.clone();
        let key = key.to_string();
        if !keys.contains(&key) {
            keys.push(key);
        }
        // As a list, so that a key such as `[` is not taken for the beginning of one.
        let value = serde_json::Value::from(keys).to_string();
        Request::ChangeSetting { name: self.name.clone(), value: Some(vec![value]) }
    }

    /// Returns what was pressed, and what the next key does.
    pub(super) fn rows(&self, drawing: Drawing<'_>) -> Vec<Row> {
        let pressed = match (Chord::of(&self.pressed), self.pressed.is_empty()) {
            (_, true) => "press the key".to_owned(),
            (Some(chord), _) => chord.to_string(),
            (None, _) => "this key has no name, so it cannot be bound".to_owned(),
        };
        let next = match self.pressed.len() {
            0 => "any key is taken, esc and enter too",
            count if count < SEQUENCE_KEYS => "enter: bind it · esc: back · another key: both in a row",
            _ => "enter: bind it · esc: back",
        };
        let name = format!("{} > ", self.name);
        vec![drawing.row(&[(Role::User, &name), (Role::Strong, &pressed)]), drawing.row(&[(Role::Dim, next)])]
    }
}

impl App {
    /// Takes a key while a binding waits for one.
    pub(super) fn pressed_for_binding(&mut self, key: Key) -> Vec<Effect> {
        let Overlay::Binding(binding) = &mut self.overlay else { return Vec::new() };
        match (binding.pressed.len(), key) {
            (1.., Key { code: KeyCode::Esc, .. }) => self.end_binding(None),
            (1.., Key { code: KeyCode::Enter, ctrl: false, alt: false, shift: false }) => {
                match Chord::of(&binding.pressed) {
                    Some(chord) => self.end_binding(Some(&chord)),
                    None => self.end_binding(None),
                }
            }
            (count, key) => {
                if count < SEQUENCE_KEYS {
                    binding.pressed.push(key);
                }
                Vec::new()
            }
        }
    }

    /// Takes the line that names the key, in plain mode.
    pub(super) fn line_of_binding(&mut self, line: &str) -> Vec<Effect> {
        if line.is_empty() || line == "cancel" {
            return self.end_binding(None);
        }
        match line.parse::<Chord>() {
            Ok(chord) => self.end_binding(Some(&chord)),
            Err(error) => {
                self.plain.say(&format!("{error}; or write cancel"));
                Vec::new()
            }
        }
    }

    /// Returns to the list, and binds a key if there is one.
    fn end_binding(&mut self, key: Option<&Chord>) -> Vec<Effect> {
        let Overlay::Binding(binding) = std::mem::take(&mut self.overlay) else { return Vec::new() };
        let request = key.map(|key| Effect::Request(binding.request(key)));
        if let Some(list) = binding.below {
            self.overlay = Overlay::List(list);
        }
        request.into_iter().collect()
    }
}
