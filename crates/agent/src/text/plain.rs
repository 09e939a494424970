//! Converts the output of a command to plain text: what its lines finally show in a terminal.
//! Escape sequences are removed; carriage returns, backspaces and cursor moves within a line are
//! applied, so that only the last state of a progress bar remains. Colours are kept beside the
//! text.

use crate::{
    limits::PLAIN_LINE_CHARS,
    text::colours::{Colours, Ink},
    text::sanitise::{Scanner, Seen, is_plain},
};

/// A text with its colours.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Painted {
    pub(crate) text: String,
    pub(crate) colours: Colours,
}

impl Painted {
    /// Appends a text with its colours.
    pub(crate) fn append(&mut self, more: &Self) {
        self.colours.append(&more.colours, self.text.len());
        self.text.push_str(&more.text);
    }

    /// Removes the first bytes.
    pub(crate) fn cut_front(&mut self, bytes: usize) {
        self.text.drain(..bytes);
        self.colours.cut_front(bytes);
    }

    /// Takes the first bytes.
    pub(crate) fn split_front(&mut self, bytes: usize) -> Self {
        let colours = Colours::of(self.colours.within(0..bytes));
        let front = Self { text: self.text[..bytes].to_owned(), colours };
        self.cut_front(bytes);
        front
    }

    fn push(&mut self, c: char, ink: Ink) {
        let at = self.text.len();
        self.text.push(c);
        self.colours.push(at..self.text.len(), ink);
    }

    fn of(line: impl IntoIterator<Item = (char, Ink)>) -> Self {
        let mut painted = Self::default();
        line.into_iter().for_each(|(c, ink)| painted.push(c, ink));
        painted
    }
}

impl From<String> for Painted {
    /// Creates a plain text.
    fn from(text: String) -> Self {
        Self { text, colours: Colours::default() }
    }
}

/// What is in a place that nothing was written to.
const BLANK: (char, Ink) = (
    ' ',
    Ink {
        colour: None,
        behind: None,
        bold: false,
        dim: false,
        italic: false,
        underline: false,
        reverse: false,
    },
);

/// Converts the output of one command, which arrives in chunks that may be split anywhere.
#[derive(Debug, Default)]
pub(crate) struct PlainOutput {
    scanner: Scanner,
    /// The current line, which has not ended.
    line: Vec<(char, Ink)>,
    /// The cursor: the index in the line where the next character goes.
    at: usize,
    /// The ink of the next character.
    ink: Ink,
    /// Whether part of the line may have been overwritten.
    rewritten: bool,
}

impl PlainOutput {
    /// Takes a chunk of output and returns the text of the lines that it completes.
    pub(crate) fn push(&mut self, piece: &str) -> Painted {
        let mut ended = Painted { text: String::with_capacity(piece.len()), colours: Colours::default() };
        for line in piece.split_inclusive('\n') {
            let whole = self.line.is_empty() && self.scanner.is_in_text() && line.ends_with('\n');
            if whole && self.at == 0 && line.bytes().all(is_plain) {
                let start = ended.text.len();
                ended.text.push_str(line);
                ended.colours.push(start..ended.text.len() - 1, self.ink);
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
    pub(crate) fn unfinished(&self) -> Option<Painted> {
        (!self.line.is_empty() && !self.rewritten).then(|| Painted::of(self.line.iter().copied()))
    }

    /// Takes the text of the current line. The next chunk begins a new line, in no colour.
    pub(crate) fn rest(&mut self) -> Painted {
        let mut rest = Painted::default();
        self.end_line(&mut rest);
        self.ink = Ink::default();
        rest
    }

    fn text(&mut self, c: char, ended: &mut Painted) {
        match c {
            '\n' => {
                self.end_line(ended);
                ended.text.push('\n');
            }
            '\r' => self.go(0),
            '\u{8}' => self.go(self.at.saturating_sub(1)),
            '\t' => self.put(c, ended),
            c if c.is_control() => {}
            c => self.put(c, ended),
        }
    }

    fn put(&mut self, c: char, ended: &mut Painted) {
        if self.at >= PLAIN_LINE_CHARS {
            self.end_line(ended);
        }
        while self.line.len() < self.at {
            self.line.push(BLANK);
        }
        match self.line.get_mut(self.at) {
            Some(there) => *there = (c, self.ink),
            None => self.line.push((c, self.ink)),
        }
        self.at += 1;
    }

    fn go(&mut self, at: usize) {
        self.at = at.min(PLAIN_LINE_CHARS);
        self.rewritten = true;
    }

    /// Applies control sequences that move the cursor within the line, erase part of it or choose
    /// its colours. Others have no meaning without a screen and are ignored.
    fn control(&mut self, last: char, number: Option<usize>) {
        let times = number.unwrap_or(1).max(1);
        match (last, number.unwrap_or(0)) {
            ('m', _) => {
                if let Some(parameters) = self.scanner.parameters() {
                    self.ink.apply(parameters);
                }
            }
            ('C', _) => self.go(self.at + times),
            ('D', _) => self.go(self.at.saturating_sub(times)),
            ('G', _) => self.go(times - 1),
            ('K' | 'J', 0) => {
                self.line.truncate(self.at);
                self.rewritten = true;
            }
            ('K', 1) => {
                let end = (self.at + 1).min(self.line.len());
                self.line[..end].fill(BLANK);
                self.rewritten = true;
            }
            ('K', 2) => {
                self.line.clear();
                self.rewritten = true;
            }
            _ => {}
        }
    }

    fn end_line(&mut self, ended: &mut Painted) {
        if self.rewritten {
            // Trailing spaces that overwrote longer text.
            let kept = self.line.iter().rposition(|(c, _)| *c != ' ').map_or(0, |last| last + 1);
            self.line.truncate(kept);
        }
        self.line.drain(..).for_each(|(c, ink)| ended.push(c, ink));
        (self.at, self.rewritten) = (0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn painted(pieces: &[&str]) -> Painted {
        let mut output = PlainOutput::default();
        let mut all = Painted::default();
        pieces.iter().for_each(|piece| all.append(&output.push(piece)));
        all.append(&output.rest());
        all
    }

    fn plain(text: &str) -> String {
        painted(&[text]).text
    }

    #[test]
    fn colours_are_kept_beside_the_text() {
        for (given, expected) in [
            ("\u{1b}[31mred\u{1b}[0m plain\n", &["red"][..]),
            // Over several lines; the end of the output is the end of the colour.
            ("\u{1b}[31mone\ntwo\n\nthree", &["one", "two", "three"]),
            ("a\u{1b}[32mb\u{1b}[1mc\u{1b}[md\n", &["b", "c"]),
            // What is overwritten loses its colour.
            ("\u{1b}[31mabc\u{1b}[m\rx\n", &["bc"]),
            ("\u{1b}[31mabc\u{1b}[2K\rok\n", &["ok"]),
            // Only SGR colours: no private, intermediate or endless sequence.
            ("\u{1b}[>4;31mx\u{1b}[?31my\u{1b}[31 mz\u{1b}[31\n", &[]),
            (&format!("\u{1b}[{}31mx\n", "0;".repeat(500)), &[]),
        ] {
            let painted = painted(&[given]);
            let runs = painted.colours.runs().iter();
            let shown: Vec<_> = runs.map(|run| &painted.text[run.bytes.clone()]).collect();
            assert_eq!(shown, expected, "{given:?}");
        }
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
        let unfinished = |output: &PlainOutput| output.unfinished().map(|line| line.text);
        assert_eq!(output.push("Name? ").text, "");
        assert_eq!(unfinished(&output).as_deref(), Some("Name? "));
        assert_eq!(output.push("x\n10%\r").text, "Name? x\n");
        assert_eq!(unfinished(&output), None);
        assert_eq!(output.push("20%\n30").text, "20%\n");
        assert_eq!(unfinished(&output).as_deref(), Some("30"));
    }

    #[test]
    fn a_line_without_an_end_takes_a_bounded_memory() {
        let mut output = PlainOutput::default();
        let long = "x".repeat(10 * PLAIN_LINE_CHARS);
        let ended = output.push(&long);
        assert!(output.line.len() <= PLAIN_LINE_CHARS && output.line.capacity() <= 4 * PLAIN_LINE_CHARS);
        output.push("\u{1b}[9999999999C\u{1b}[9999Cy");
        assert!(output.line.len() <= PLAIN_LINE_CHARS);
        assert!(ended.text.len() >= 9 * PLAIN_LINE_CHARS);
    }

    proptest! {
        #[test]
        fn a_cut_anywhere_changes_nothing(
            text in "[ab\\n\\r\u{7}\u{8}\u{1b}\u{9b}\u{9c}\\[\\];0134;:159mKDCG?\\\\é]{0,40}",
            at in 0usize..40,
        ) {
            let cut = text.char_indices().map(|(index, _)| index).nth(at).unwrap_or(text.len());
            let pieces = painted(&[&text[..cut], &text[cut..]]);
            prop_assert_eq!(&pieces, &painted(&[&text]));
            for run in pieces.colours.runs() {
                prop_assert!(pieces.text.get(run.bytes.clone()).is_some_and(|text| !text.contains('\n')));
            }
            prop_assert!(!pieces.text.chars().any(|c| c != '\n' && c != '\t' && c.is_control()));
        }
    }
}
