//! Output for people: on a terminal without control sequences.
//!
//! Most of the text comes from elsewhere: a model, a server, the name of a file. In a pipe or a
//! file it is data, and nothing is removed from it. In JSON the same characters are written as
//! escapes (`agent::escaped_json`).

use crate::streams::{self, Stream};
use agent::Sanitiser;
use std::io::{self, Write};

/// Standard output: for display if it is a terminal, else as data.
pub(crate) fn stdout() -> Screen<Stream> {
    match streams::stdout_is_terminal() {
        true => Screen::new(streams::stdout()),
        false => Screen::data(streams::stdout()),
    }
}

/// Standard error.
pub(crate) fn stderr() -> Screen<Stream> {
    Screen::new(streams::stderr())
}

/// Prints a line for people on standard error, beside the output for programs.
pub(crate) fn note(text: &str) {
    // A closed stderr leaves no way to report anything.
    let _ = stderr().write_all(format!("{text}\n").as_bytes());
}

/// A writer that removes control sequences and hidden characters.
///
/// A sequence or a character may be split over several writes.
pub(crate) struct Screen<W> {
    out: W,
    /// `None` if the output is data.
    sanitiser: Option<Sanitiser>,
    /// The bytes of an incomplete character.
    held: Vec<u8>,
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, sanitiser: Some(Sanitiser::default()), held: Vec::new() }
    }

    /// Creates a writer that removes nothing.
    fn data(out: W) -> Self {
        Self { out, sanitiser: None, held: Vec::new() }
    }
}

impl<W: Write> Write for Screen<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let Some(sanitiser) = &mut self.sanitiser else {
            self.out.write_all(bytes)?;
            return Ok(bytes.len());
        };
        self.held.extend_from_slice(bytes);
        let mut text = String::new();
        let mut rest = Vec::new();
        for chunk in self.held.utf8_chunks() {
            text.push_str(chunk.valid());
            // The next write may complete the character; at most three bytes wait for a fourth.
            let last = chunk.invalid().as_ptr_range().end == self.held.as_ptr_range().end;
            match chunk.invalid() {
                [] => {}
                part if last && part.len() < 4 => rest = part.to_vec(),
                _ => text.push(char::REPLACEMENT_CHARACTER),
            }
        }
        self.held = rest;
        self.out.write_all(sanitiser.push(&text).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p12_split_control_sequences_are_removed_from_output() {
        let text = "é\u{1b}]52;c;ZXZpbA==\u{7}漢\u{9b}2J\u{202e}🙂\u{1b}[2J\u{200b}z\n";
        for size in 1..text.len() {
            let mut screen = Screen::new(Vec::new());
            text.as_bytes().chunks(size).for_each(|piece| screen.write_all(piece).unwrap());
            assert_eq!(String::from_utf8(screen.out).unwrap(), "é漢🙂z\n", "{size}");
        }
        let mut screen = Screen::new(Vec::new());
        screen.write_all(b"a\xffb\xc3").unwrap();
        screen.write_all(b"\nc").unwrap();
        assert_eq!(String::from_utf8(screen.out).unwrap(), "a\u{fffd}b\u{fffd}\nc");
    }
}
