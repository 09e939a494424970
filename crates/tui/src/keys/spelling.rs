//! Keys as they are written: `ctrl+a`, `shift+tab`, and sequences such as `ctrl+x ctrl+e`.

use crate::input::{Key, KeyCode};
use crate::limits::SEQUENCE_KEYS;
use std::fmt;
use std::str::FromStr;

/// One key, or several that are pressed one after the other.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Chord(Vec<Key>);

/// A text that is not a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpellingError {
    /// There is no key in the text.
    #[error("an empty text is no key; write one as `ctrl+a`, `esc esc` or `?`")]
    Empty,
    /// The key has an unknown name.
    #[error("'{0}' is no key; keys are single characters and {names}", names = names())]
    Unknown(String),
    /// The sequence is too long.
    #[error("'{0}' has more than {SEQUENCE_KEYS} keys; use fewer")]
    TooLong(String),
}

/// The keys that have names, each with the first of its names as the one that is displayed.
const NAMES: [(&str, KeyCode); 18] = [
    ("enter", KeyCode::Enter),
    ("tab", KeyCode::Tab),
    ("esc", KeyCode::Esc),
    ("space", KeyCode::Char(' ')),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pgup", KeyCode::PageUp),
    ("pgdn", KeyCode::PageDown),
    ("return", KeyCode::Enter),
    ("escape", KeyCode::Esc),
    ("del", KeyCode::Delete),
];

fn names() -> String {
    NAMES.map(|(name, _)| name).join(", ")
}

impl Chord {
    /// Returns what was pressed; `None` if it is no key or too many, or has no spelling.
    pub fn of(pressed: &[Key]) -> Option<Self> {
        let chord = Self(pressed.iter().copied().map(normal).collect());
        chord.to_string().parse().ok().filter(|read| *read == chord)
    }

    /// Returns its keys, at least one.
    pub fn keys(&self) -> &[Key] {
        &self.0
    }
}

impl FromStr for Chord {
    type Err = SpellingError;

    fn from_str(text: &str) -> Result<Self, SpellingError> {
        let keys: Vec<_> = text.split_whitespace().map(key).collect::<Result<_, _>>()?;
        match keys.len() {
            0 => Err(SpellingError::Empty),
            1..=SEQUENCE_KEYS => Ok(Self(keys)),
            _ => Err(SpellingError::TooLong(text.to_owned())),
        }
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, key) in self.0.iter().enumerate() {
            if at > 0 {
                f.write_str(" ")?;
            }
            for (held, name) in [(key.ctrl, "ctrl+"), (key.alt, "alt+"), (key.shift, "shift+")] {
                if held {
                    f.write_str(name)?;
                }
            }
            match (NAMES.iter().find(|(_, code)| *code == key.code), key.code) {
                (Some((name, _)), _) => f.write_str(name)?,
                (None, KeyCode::Char(c)) => write!(f, "{c}")?,
                (None, other) => write!(f, "{other:?}")?,
            }
        }
        Ok(())
    }
}

/// Returns the one form of a key that terminals report in several: a character contains Shift, and
/// a character with Control is lowercase.
pub fn normal(key: Key) -> Key {
    let KeyCode::Char(c) = key.code else { return key };
    let c = match (key.ctrl, key.shift) {
        (true, _) => c.to_ascii_lowercase(),
        (false, true) => c.to_ascii_uppercase(),
        (false, false) => c,
    };
    Key { code: KeyCode::Char(c), shift: key.shift && key.ctrl, ..key }
}

fn key(word: &str) -> Result<Key, SpellingError> {
    let mut key = Key::plain(KeyCode::Esc);
    let mut rest = word;
    loop {
        let lower = rest.to_ascii_lowercase();
        let held = [("ctrl+", 0), ("alt+", 1), ("shift+", 2)]
            .into_iter()
            .find(|(name, _)| lower.starts_with(name) && lower.len() > name.len());
        let Some((name, which)) = held else { break };
        match which {
            0 => key.ctrl = true,
            1 => key.alt = true,
            _ => key.shift = true,
        }
        rest = &rest[name.len()..];
    }
    let named = NAMES.iter().find(|(name, _)| name.eq_ignore_ascii_case(rest));
    let mut chars = rest.chars();
    key.code = match (named, chars.next(), chars.next()) {
        (Some((_, code)), ..) => *code,
        (None, Some(c), None) if !c.is_control() => KeyCode::Char(c),
        _ => return Err(SpellingError::Unknown(word.to_owned())),
    };
    Ok(normal(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_read_and_shown_in_one_spelling() {
        for (given, shown) in [
            ("ctrl+a", "ctrl+a"),
            ("Ctrl+A", "ctrl+a"),
            ("ctrl+x ctrl+e", "ctrl+x ctrl+e"),
            ("ESC escape", "esc esc"),
            ("shift+tab", "shift+tab"),
            ("shift+n", "N"),
            ("N", "N"),
            ("+", "+"),
            ("ctrl++", "ctrl++"),
            ("alt+shift+left", "alt+shift+left"),
            ("?", "?"),
            ("Space", "space"),
            ("ctrl+_", "ctrl+_"),
            ("é", "é"),
            ("del", "delete"),
        ] {
            let chord: Chord = given.parse().unwrap();
            assert_eq!(chord.to_string(), shown, "{given}");
            assert_eq!(shown.parse::<Chord>().unwrap(), chord, "{shown}");
        }
    }

    #[test]
    fn what_is_no_key_is_an_error_that_names_it() {
        for (given, message) in [
            ("", "an empty text is no key"),
            ("  ", "an empty text is no key"),
            ("ctrl+", "'ctrl+' is no key"),
            ("cmd+a", "'cmd+a' is no key"),
            ("f1", "'f1' is no key"),
            ("a b c", "'a b c' has more than 2 keys"),
            ("\u{1b}", "'\u{1b}' is no key"),
        ] {
            let error = given.parse::<Chord>().unwrap_err().to_string();
            assert!(error.starts_with(message), "{error}");
        }
    }

    #[test]
    fn a_key_is_the_same_however_the_terminal_reports_shift() {
        let shifted = Key { shift: true, ..Key::plain(KeyCode::Char('n')) };
        let reported = Key { shift: true, ..Key::plain(KeyCode::Char('N')) };
        assert_eq!(normal(shifted), Key::plain(KeyCode::Char('N')));
        assert_eq!(normal(reported), Key::plain(KeyCode::Char('N')));
        assert_eq!(normal(Key::ctrl('A')), Key::ctrl('a'));
    }
}
