//! Plain lines, for screen readers and terminals that know no control sequences.

use super::frame::Frame;

/// What asks for a line of the user.
pub const PROMPT: &str = "> ";

/// Writes frames as lines, and [`PROMPT`] behind them where a line is awaited.
#[derive(Debug, Default)]
pub struct Printer {
    /// Whether the prompt is on the last line, behind which the cursor is.
    asks: bool,
}

impl Printer {
    /// Returns what shows a frame.
    pub fn draw(&mut self, frame: &Frame) -> String {
        let lines = lines(frame);
        let mut text = String::new();
        if !lines.is_empty() {
            text.push_str(self.end());
        }
        text.push_str(&lines);
        if !frame.live.is_empty() && !std::mem::replace(&mut self.asks, true) {
            text.push_str(PROMPT);
        }
        text
    }

    /// Notes that the user has ended a line, which the terminal shows.
    pub fn entered(&mut self) {
        self.asks = false;
    }

    /// Returns what begins a new line, if the cursor is behind the prompt.
    pub fn end(&mut self) -> &'static str {
        if std::mem::take(&mut self.asks) { "\n" } else { "" }
    }
}

/// Returns the finished rows of a frame as lines. They contain no control character but the line
/// feeds at their ends.
pub fn lines(frame: &Frame) -> String {
    let mut lines = String::new();
    for row in &frame.commit {
        for span in &row.line.spans {
            lines.extend(span.content.chars().filter(|character| !character.is_control()));
        }
        lines.push('\n');
    }
    lines
}

/// Splits typed bytes into lines. The terminal's own line editing sends whole lines; a pipe sends
/// any part.
#[derive(Debug, Default)]
pub struct Lines {
    held: Vec<u8>,
}

impl Lines {
    /// Takes bytes; returns the lines that they end.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<String> {
        self.held.extend_from_slice(bytes);
        let Some(end) = self.held.iter().rposition(|byte| *byte == b'\n') else { return Vec::new() };
        let rest = self.held.split_off(end + 1);
        let whole = std::mem::replace(&mut self.held, rest);
        String::from_utf8_lossy(&whole).lines().map(str::to_owned).collect()
    }

    /// Takes the end of the input; returns the line that it ends without a line feed, if any.
    pub fn finish(&mut self) -> Option<String> {
        let rest = std::mem::take(&mut self.held);
        (!rest.is_empty()).then(|| String::from_utf8_lossy(&rest).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::row::Row;

    #[test]
    fn plain_lines_have_no_control_characters() {
        let frame = Frame {
            commit: vec![Row::new("you: a\u{1b}[2Jb\u{9b}"), Row::empty()],
            live: vec![Row::new("spinner")],
            cursor: None,
        };
        assert_eq!(lines(&frame), "you: a[2Jb\n\n");
    }

    #[test]
    fn the_prompt_is_written_once_and_what_follows_begins_on_a_line_of_its_own() {
        let asks = |lines: &[&str]| Frame {
            commit: lines.iter().map(|line| Row::new((*line).to_owned())).collect(),
            live: vec![Row::empty()],
            cursor: None,
        };
        let mut printer = Printer::default();
        assert_eq!(printer.draw(&Frame { live: Vec::new(), ..asks(&["works"]) }), "works\n");
        assert_eq!(printer.draw(&asks(&["done"])), "done\n> ");
        assert_eq!(printer.draw(&asks(&[])), "");
        // Nothing was typed, or no terminal shows what was.
        assert_eq!(printer.draw(&asks(&["by the way"])), "\nby the way\n> ");
        printer.entered();
        assert_eq!(printer.draw(&asks(&["you said it"])), "you said it\n> ");
        assert_eq!((printer.end(), printer.end()), ("\n", ""));
    }

    #[test]
    fn lines_come_whole_however_the_input_is_cut() {
        let text = "eins\nzwei ü\r\n\ndrei";
        for size in 1..text.len() {
            let mut lines = Lines::default();
            let mut found: Vec<String> =
                text.as_bytes().chunks(size).flat_map(|piece| lines.push(piece)).collect();
            found.extend(lines.finish());
            assert_eq!(found, ["eins", "zwei ü", "", "drei"], "{size}");
        }
    }
}
