//! Converts the output of a command to plain text: what its lines finally show in a terminal.
//! Escape sequences are removed; carriage returns, backspaces and cursor moves within a line are
//! applied, so that only the last state of a progress bar remains.

use crate::{
    limits::PLAIN_LINE_CHARS,
    text::sanitise::{Scanner, Seen, is_plain},
};

/// Converts the output of one command, which arrives in chunks that may be split anywhere.
#[derive(Debug, Default)]
pub(crate) struct PlainOutput {
    scanner: Scanner,
    /// The current line, which has not ended.
    line: Vec<char>,
    /// The cursor: the index in the line where the next character goes.
    at: usize,
    /// Whether part of the line may have been overwritten.
    rewritten: bool,
}

impl PlainOutput {
    /// Takes a chunk of output and returns the text of the lines that it completes.
    pub(crate) fn push(&mut self, piece: &str) -> String {
        let mut ended = String::with_capacity(piece.len());
        for line in piece.split_inclusive('\n') {
            let whole = self.line.is_empty() && self.scanner.is_in_text() && line.ends_with('\n');
            if whole && self.at == 0 && line.bytes().all(is_plain) {
                ended.push_str(line);
                self.rewritten = false;
                continue;
            }
            for c in line.chars() {
                match self.scanner.next(c) {
                    Some(Seen::Text(c)) => self.text(c, &mut ended),
                    Some(Seen::Control { last, number }) => self.control(last, number),
                    None => {}
                }
            }
        }
        ended
    }

    /// Returns the current line, unless part of it was overwritten: then it may still change.
    pub(crate) fn unfinished(&self) -> Option<String> {
        (!self.line.is_empty() && !self.rewritten).then(|| self.line.iter().collect())
    }

    /// Takes the text of the current line. The next chunk begins a new line.
    pub(crate) fn rest(&mut self) -> String {
        let mut rest = String::new();
        self.end_line(&mut rest);
        rest
    }

    fn text(&mut self, c: char, ended: &mut String) {
        match c {
            '\n' => {
                self.end_line(ended);
                ended.push('\n');
            }
            '\r' => self.go(0),
            '\u{8}' => self.go(self.at.saturating_sub(1)),
            '\t' => self.put(c, ended),
            c if c.is_control() => {}
            c => self.put(c, ended),
        }
    }

    fn put(&mut self, c: char, ended: &mut String) {
        if self.at >= PLAIN_LINE_CHARS {
            self.end_line(ended);
        }
        while self.line.len() < self.at {
            self.line.push(' ');
        }
        match self.line.get_mut(self.at) {
            Some(there) => *there = c,
            None => self.line.push(c),
        }
        self.at += 1;
    }

    fn go(&mut self, at: usize) {
        self.at = at.min(PLAIN_LINE_CHARS);
        self.rewritten = true;
    }

    /// Applies control sequences that move the cursor within the line or erase part of it. Others
    /// have no meaning without a screen and are ignored.
    fn control(&mut self, last: char, number: Option<usize>) {
        let times = number.unwrap_or(1).max(1);
        match (last, number.unwrap_or(0)) {
            ('C', _) => self.go(self.at + times),
            ('D', _) => self.go(self.at.saturating_sub(times)),
            ('G', _) => self.go(times - 1),
            ('K' | 'J', 0) => {
                self.line.truncate(self.at);
                self.rewritten = true;
            }
            ('K', 1) => {
                let end = (self.at + 1).min(self.line.len());
                self.line[..end].fill(' ');
                self.rewritten = true;
            }
            ('K', 2) => {
                self.line.clear();
                self.rewritten = true;
            }
            _ => {}
        }
    }

    fn end_line(&mut self, ended: &mut String) {
        if self.rewritten {
            // Trailing spaces that overwrote longer text.
            let kept = self.line.iter().rposition(|c| *c != ' ').map_or(0, |last| last + 1);
            self.line.truncate(kept);
        }
        ended.extend(self.line.drain(..));
        (self.at, self.rewritten) = (0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(text: &str) -> String {
        let mut output = PlainOutput::default();
        output.push(text) + &output.rest()
    }

    #[test]
    fn output_is_what_its_lines_show_in_the_end() {
        for (given, expected) in [
            ("one\n\ttwo\n", "one\n\ttwo\n"),
            ("\u{1b}[1;31merror\u{1b}[0m: \u{1b}[38;5;9mx\u{1b}[m\n", "error: x\n"),
            (" 10%\r 50%\r100%\n", "100%\n"),
            ("\r 10%\r 50%\rdone\n", "done\n"),
            ("dos\r\nends\r\n", "dos\nends\n"),
            ("downloading 100%\r\u{1b}[Kok\n", "ok\n"),
            ("downloading 100%\u{1b}[2K\u{1b}[Gok\n", "ok\n"),
            ("downloading\r           \rok\n", "ok\n"),
            ("ab\u{8}\u{8}cd\u{8} \n", "c\n"),
            ("a\u{1b}[3Cb\n", "a   b\n"),
            ("abcdef\u{1b}[4DX\n", "abXdef\n"),
            ("a\u{1b}]0;title\u{7}b\u{1b}]8;;http://x\u{1b}\\c\u{1b}]8;;\u{1b}\\\n", "abc\n"),
            ("\u{1b}Pq#0;1\u{1b}\\z\u{1b}(B\u{1b}[?25l\u{f}\n", "z\n"),
            ("kept to the byte: é 漢 🙂 \u{200b}\n", "kept to the byte: é 漢 🙂 \u{200b}\n"),
            ("trailing blanks  \n", "trailing blanks  \n"),
            ("\u{1b}]never ended\nnext", "\nnext"),
            ("no line end", "no line end"),
            ("", ""),
        ] {
            assert_eq!(plain(given), expected, "{given:?}");
        }
    }

    #[test]
    fn an_unfinished_line_is_told_unless_it_may_change() {
        let mut output = PlainOutput::default();
        assert_eq!(output.push("Name? "), "");
        assert_eq!(output.unfinished().as_deref(), Some("Name? "));
        assert_eq!(output.push("x\n10%\r"), "Name? x\n");
        assert_eq!(output.unfinished(), None);
        assert_eq!(output.push("20%\n30"), "20%\n");
        assert_eq!(output.unfinished().as_deref(), Some("30"));
    }

    #[test]
    fn a_line_without_an_end_takes_a_bounded_memory() {
        let mut output = PlainOutput::default();
        let long = "x".repeat(10 * PLAIN_LINE_CHARS);
        let ended = output.push(&long);
        assert!(output.line.len() <= PLAIN_LINE_CHARS && output.line.capacity() <= 4 * PLAIN_LINE_CHARS);
        output.push("\u{1b}[9999999999C\u{1b}[9999Cy");
        assert!(output.line.len() <= PLAIN_LINE_CHARS);
        assert!(ended.len() >= 9 * PLAIN_LINE_CHARS);
    }

    proptest! {
        #[test]
        fn a_cut_anywhere_changes_nothing(
            text in "[ab\\n\\r\u{7}\u{8}\u{1b}\u{9b}\u{9c}\\[\\];0159mKDCG?\\\\é]{0,40}",
            at in 0usize..40,
        ) {
            let cut = text.char_indices().map(|(index, _)| index).nth(at).unwrap_or(text.len());
            let mut output = PlainOutput::default();
            let pieces = output.push(&text[..cut]) + &output.push(&text[cut..]) + &output.rest();
            prop_assert_eq!(&pieces, &plain(&text));
            prop_assert!(!pieces.chars().any(|c| c != '\n' && c != '\t' && c.is_control()));
        }
    }
}
