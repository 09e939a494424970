//! The ring buffer between a process and the reader of its output, and the decoder that fills it.

use crate::{Output, limits::OUTPUT_MERGE_BYTES};
use std::collections::VecDeque;

/// A ring buffer of the newest output of a process, at most `limit` bytes.
#[derive(Debug)]
pub(crate) struct Ring {
    limit: usize,
    chunks: VecDeque<String>,
    len: usize,
    /// Text was dropped before the buffered text, and the reader has not seen a gap for it yet.
    lost: bool,
    /// The last piece taken was a gap: text dropped now belongs to the same gap.
    in_gap: bool,
}

impl Ring {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, chunks: VecDeque::new(), len: 0, lost: false, in_gap: false }
    }

    /// Appends text. If the limit is exceeded, drops the oldest text in whole characters.
    pub(crate) fn push(&mut self, text: &str) {
        self.len += text.len();
        match self.chunks.back_mut() {
            Some(last) if last.len() + text.len() <= OUTPUT_MERGE_BYTES => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.chunks.push_back(text.to_owned()),
        }
        while self.len > self.limit {
            let excess = self.len - self.limit;
            let first = self.chunks.front_mut().expect("the length is that of the chunks");
            let cut = (excess..first.len()).find(|at| first.is_char_boundary(*at));
            if let Some(cut) = cut {
                first.drain(..cut);
                self.len -= cut;
            } else {
                self.len -= first.len();
                self.chunks.pop_front();
            }
            self.lost |= !self.in_gap;
        }
    }

    /// Takes a gap if text was lost, else all buffered text.
    pub(crate) fn take(&mut self) -> Option<Output> {
        if std::mem::take(&mut self.lost) {
            self.in_gap = true;
            return Some(Output::Gap);
        }
        if self.chunks.is_empty() {
            return None;
        }
        self.in_gap = false;
        self.len = 0;
        Some(Output::Text(self.chunks.drain(..).collect()))
    }
}

/// A streaming UTF-8 decoder. Invalid bytes become U+FFFD; a character split between two reads is
/// kept whole.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    /// The start of a character whose remaining bytes have not arrived: at most three bytes.
    tail: Vec<u8>,
}

impl Decoder {
    /// Decodes all characters that are complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> String {
        let joined = [self.tail.as_slice(), bytes].concat();
        let mut rest = joined.as_slice();
        let mut text = String::with_capacity(joined.len());
        self.tail.clear();
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(valid) => {
                    text.push_str(valid);
                    return text;
                }
                Err(error) => error,
            };
            let (valid, invalid) = rest.split_at(error.valid_up_to());
            text.push_str(std::str::from_utf8(valid).expect("the error says that it is valid up to here"));
            let Some(len) = error.error_len() else {
                self.tail.extend_from_slice(invalid);
                return text;
            };
            text.push(char::REPLACEMENT_CHARACTER);
            rest = &invalid[len..];
        }
    }

    /// Ends the stream: an incomplete character becomes U+FFFD.
    pub(crate) fn finish(&mut self) -> &'static str {
        if std::mem::take(&mut self.tail).is_empty() { "" } else { "\u{fffd}" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Option<Output> {
        Some(Output::Text(text.to_owned()))
    }

    #[test]
    fn the_oldest_output_is_dropped_at_a_character_boundary_with_one_gap() {
        let mut ring = Ring::new(4);
        ring.push("ab");
        assert_eq!(ring.take(), text("ab"));
        assert_eq!(ring.take(), None);
        ring.push("€uro");
        ring.push("");
        assert_eq!(ring.take(), Some(Output::Gap));
        ring.push("pe");
        assert_eq!(ring.take(), text("rope"), "what is lost after the gap was told belongs to it");
        ring.push("12345");
        assert_eq!(ring.take(), Some(Output::Gap), "another gap");
        assert_eq!(ring.take(), text("2345"));
        assert_eq!(ring.take(), None);
    }

    #[test]
    fn a_limit_of_zero_keeps_nothing() {
        let mut ring = Ring::new(0);
        ring.push("x");
        ring.push(&"y".repeat(OUTPUT_MERGE_BYTES));
        assert_eq!(ring.take(), Some(Output::Gap));
        ring.push("z");
        assert_eq!(ring.take(), None);
    }

    #[test]
    fn split_characters_are_reassembled() {
        let all = "a€😀ü".as_bytes();
        for step in 1..all.len() {
            let mut decoder = Decoder::default();
            let text: String = all.chunks(step).map(|piece| decoder.push(piece)).collect();
            assert_eq!(text + decoder.finish(), "a€😀ü", "in pieces of {step}");
        }
    }

    #[test]
    fn invalid_bytes_are_replaced() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"a\xffb\xe2\x82"), "a\u{fffd}b");
        assert_eq!(decoder.push(b"c"), "\u{fffd}c");
        assert_eq!(decoder.push(b"\xf0"), "");
        assert_eq!(decoder.finish(), "\u{fffd}");
        assert_eq!(decoder.finish(), "");
    }
}
