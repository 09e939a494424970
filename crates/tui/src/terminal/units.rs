//! Whole keys, reports and pastes out of the bytes that a terminal sends.
//!
//! A key may come as several bytes, and the bytes of one key may come in several reads, such as
//! over a slow connection. A lone Escape is a key of its own; only time tells it from the beginning
//! of a sequence. The parser behind this gets whole sequences only, so that none that it does not
//! know can swallow the keys after it.

use crate::limits;
use std::time::Duration;

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;
const PASTE: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// One thing that a terminal sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unit {
    /// The bytes of one key or report.
    Bytes(Vec<u8>),
    /// What was pasted, at most [`limits::MAX_PASTE`] bytes.
    Paste(Vec<u8>),
}

/// Bytes that are no whole unit yet.
#[derive(Debug, Default)]
pub(super) struct Units {
    held: Vec<u8>,
    paste: Option<Vec<u8>>,
}

/// How the held bytes begin.
enum Start {
    /// This many bytes are a unit.
    Whole(usize),
    /// This many bytes are nothing that is known.
    Unknown(usize),
    /// More bytes must come.
    Part,
}

impl Units {
    /// Takes bytes; returns the units that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<Unit> {
        self.held.extend_from_slice(bytes);
        let mut units = Vec::new();
        let mut at = 0;
        loop {
            if let Some(paste) = &mut self.paste {
                let rest = &self.held[at..];
                let end = rest.windows(PASTE_END.len()).position(|part| part == PASTE_END);
                // The last bytes may be the beginning of the end.
                let taken = end.unwrap_or_else(|| rest.len().saturating_sub(PASTE_END.len() - 1));
                let room = limits::MAX_PASTE.saturating_sub(paste.len());
                paste.extend_from_slice(&rest[..taken.min(room)]);
                at += taken;
                if end.is_none() {
                    break;
                }
                at += PASTE_END.len();
                units.extend(self.paste.take().map(Unit::Paste));
                continue;
            }
            match start(&self.held[at..]) {
                Start::Whole(count) if &self.held[at..at + count] == PASTE => {
                    self.paste = Some(Vec::new());
                    at += count;
                }
                Start::Whole(count) => {
                    units.push(Unit::Bytes(self.held[at..at + count].to_vec()));
                    at += count;
                }
                Start::Unknown(count) => at += count,
                Start::Part => break,
            }
        }
        self.held.drain(..at);
        if self.paste.is_none() && self.held.len() > limits::MAX_SEQUENCE {
            self.held.clear();
        }
        units
    }

    /// Returns how long to wait for the rest of what is held; `None` if nothing is, or if a paste
    /// is, which ends when the terminal says so.
    pub(super) fn patience(&self) -> Option<Duration> {
        match self.held.as_slice() {
            _ if self.paste.is_some() => None,
            [] => None,
            // The answer of a terminal, which is longer than any key.
            [ESC, b']' | b'P' | b'_' | b'^', _, ..] => Some(limits::ANSWER_GAP),
            _ => Some(limits::SEQUENCE_GAP),
        }
    }

    /// Takes that nothing more came in time. An Escape is a key then, also one with another
    /// character; anything else that is incomplete is dropped.
    pub(super) fn expire(&mut self) -> Vec<Unit> {
        match self.held.as_slice() {
            _ if self.paste.is_some() => Vec::new(),
            [ESC] | [ESC, _] => vec![Unit::Bytes(std::mem::take(&mut self.held))],
            _ => {
                self.held.clear();
                Vec::new()
            }
        }
    }
}

fn start(bytes: &[u8]) -> Start {
    match bytes {
        [] | [ESC] => Start::Part,
        // Escape, and then a key that begins with one.
        [ESC, ESC, ..] => Start::Whole(1),
        [ESC, b'[', rest @ ..] => control_sequence(rest),
        [ESC, b'O', rest @ ..] => match rest.first() {
            None => Start::Part,
            Some(_) => Start::Whole(3),
        },
        [ESC, b']' | b'P' | b'_' | b'^', ..] => string(bytes),
        [ESC, rest @ ..] => match character(rest) {
            Start::Whole(count) => Start::Whole(1 + count),
            Start::Unknown(count) => Start::Unknown(1 + count),
            Start::Part => Start::Part,
        },
        _ => character(bytes),
    }
}

/// Finds the end of a control sequence, of which `rest` follows its first two bytes.
fn control_sequence(rest: &[u8]) -> Start {
    // Function keys of the Linux console.
    if rest.first() == Some(&b'[') {
        return if rest.len() > 1 { Start::Whole(4) } else { Start::Part };
    }
    let end = rest.iter().position(|byte| !(0x20..=0x3f).contains(byte));
    match end {
        None => Start::Part,
        Some(end) if (0x40..=0x7e).contains(&rest[end]) => Start::Whole(2 + end + 1),
        // A control character ends it; it is a key of its own.
        Some(end) => Start::Unknown(2 + end),
    }
}

/// Finds the end of a string sequence: BEL, or Escape with a backslash.
fn string(bytes: &[u8]) -> Start {
    let end = bytes.iter().enumerate().skip(2).find(|(_, byte)| matches!(**byte, BEL | ESC));
    match end {
        None => Start::Part,
        Some((at, &BEL)) => Start::Whole(at + 1),
        Some((at, _)) => match bytes.get(at + 1) {
            None => Start::Part,
            Some(b'\\') => Start::Whole(at + 2),
            Some(_) => Start::Unknown(at),
        },
    }
}

/// Finds the end of a character in UTF-8.
fn character(bytes: &[u8]) -> Start {
    let count = match bytes.first() {
        None => return Start::Part,
        Some(0x00..=0x7f) => 1,
        Some(0xc2..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf4) => 4,
        Some(_) => return Start::Unknown(1),
    };
    let present = &bytes[..count.min(bytes.len())];
    match std::str::from_utf8(present) {
        Ok(_) => Start::Whole(count),
        Err(error) if error.error_len().is_none() && present.len() < count => Start::Part,
        Err(_) => Start::Unknown(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(units: &[Unit]) -> Vec<String> {
        let shown =
            |bytes: &[u8]| String::from_utf8_lossy(bytes).replace('\u{1b}', "E").replace('\u{7}', "B");
        units
            .iter()
            .map(|unit| match unit {
                Unit::Bytes(bytes) => shown(bytes),
                Unit::Paste(bytes) => format!("<{}>", shown(bytes)),
            })
            .collect()
    }

    #[test]
    fn units_are_whole_however_the_bytes_are_cut() {
        for (bytes, expected) in [
            ("abü漢🙂", vec!["a", "b", "ü", "漢", "🙂"]),
            ("\u{1b}[A\u{1b}[1;5Cx", vec!["E[A", "E[1;5C", "x"]),
            ("\u{1b}OP\u{1b}[[Bq", vec!["EOP", "E[[B", "q"]),
            ("\u{1b}b\u{1b}ü", vec!["Eb", "Eü"]),
            ("\u{1b}\u{1b}[A", vec!["E", "E[A"]),
            ("\u{1b}[200~a\rb\u{1b}[Ac\u{1b}[201~d", vec!["<a\rbE[Ac>", "d"]),
            ("\u{1b}]11;rgb:0/0/0\u{7}x", vec!["E]11;rgb:0/0/0B", "x"]),
            ("\u{1b}P>|tmux 3.4\u{1b}\\x", vec!["EP>|tmux 3.4E\\", "x"]),
            ("\u{1b}[?2026;2$yx", vec!["E[?2026;2$y", "x"]),
            ("\u{1b}[>84;0;0cx", vec!["E[>84;0;0c", "x"]),
            ("\u{1b}[12\u{3}x", vec!["\u{3}", "x"]),
        ] {
            for size in 1..=bytes.len() {
                let mut units = Units::default();
                let found: Vec<Unit> =
                    bytes.as_bytes().chunks(size).flat_map(|piece| units.push(piece)).collect();
                assert_eq!(text(&found), expected, "{bytes:?} in pieces of {size}");
                assert_eq!(units.patience(), None, "{bytes:?} in pieces of {size}");
            }
        }
    }

    #[test]
    fn a_lone_escape_is_a_key_after_a_while() {
        let mut units = Units::default();
        for (bytes, after) in [("\u{1b}", vec!["E"]), ("\u{1b}[", vec!["E["]), ("\u{1b}]", vec!["E]"])] {
            assert!(units.push(bytes.as_bytes()).is_empty());
            assert!(units.patience().is_some());
            assert_eq!(text(&units.expire()), after);
            assert_eq!(units.patience(), None);
        }
        assert!(units.push(b"\x1b[1;").is_empty());
        assert!(units.expire().is_empty());
        assert_eq!(text(&units.push(b"x")), ["x"]);
    }

    #[test]
    fn what_is_held_is_limited() {
        let mut units = Units::default();
        units.push(b"\x1b]");
        units.push(&vec![b'x'; limits::MAX_SEQUENCE + 1]);
        assert_eq!(units.patience(), None);
        units.push(PASTE);
        for _ in 0..limits::MAX_PASTE / 65_536 + 2 {
            units.push(&[b'x'; 65_536]);
        }
        let units = units.push(PASTE_END);
        assert!(matches!(&units[..], [Unit::Paste(paste)] if paste.len() == limits::MAX_PASTE));
    }

    #[test]
    fn bytes_that_are_no_text_are_dropped() {
        let mut units = Units::default();
        assert_eq!(text(&units.push(b"a\xff\xc3(b\x80")), ["a", "(", "b"]);
    }
}
