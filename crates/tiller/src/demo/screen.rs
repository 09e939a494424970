//! The output of the demo: one row per step, with the time since the prompt was sent.

use std::{io::Write, time::Instant};

/// The width of a step's text, in columns.
const TEXT_COLUMNS: usize = 88;
/// The width of the time and the label, in columns.
const MARGIN: usize = 22;

/// A text style.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Paint {
    Plain,
    Dim,
    Bold,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
}

/// The printer; it writes to stdout.
pub(super) struct Screen {
    colours: bool,
    start: Instant,
    /// The agent's text that does not end in a line break yet.
    partial_line: String,
    /// Whether the first line of the current message has been printed.
    message_started: bool,
}

impl Screen {
    /// Creates a printer. Colours are used only on a terminal, and not with `no_color`.
    pub(super) fn new(no_color: bool) -> Self {
        Self {
            colours: !no_color && crate::streams::stdout_is_terminal(),
            start: Instant::now(),
            partial_line: String::new(),
            message_started: false,
        }
    }

    /// Resets the clock.
    pub(super) fn restart(&mut self) {
        self.start = Instant::now();
    }

    /// Prints a step.
    pub(super) fn step(&mut self, label: &str, paint: Paint, text: &str) {
        self.flush();
        self.row(label, paint, text);
    }

    /// Adds text of the agent's message; complete lines are printed.
    pub(super) fn say(&mut self, text: &str) {
        self.partial_line.push_str(text);
        while let Some(at) = self.partial_line.find('\n') {
            let line: String = self.partial_line.drain(..=at).collect();
            self.message_line(&line);
        }
    }

    /// Prints a line below a step.
    pub(super) fn detail(&mut self, paint: Paint, text: &str) {
        self.flush();
        let text = self.painted(paint, &clean(text));
        self.print(&format!("{:MARGIN$}{text}\n", ""));
    }

    /// Prints a line of its own.
    pub(super) fn line(&mut self, paint: Paint, text: &str) {
        self.flush();
        let text = self.painted(paint, &clean(text));
        self.print(&format!("{text}\n"));
    }

    /// Prints a question; the user types the answer on the same line.
    pub(super) fn ask(&mut self, text: &str) {
        self.flush();
        self.print(&format!("{:MARGIN$}{}", "", clean(text)));
    }

    fn flush(&mut self) {
        let rest = std::mem::take(&mut self.partial_line);
        self.message_line(&rest);
        self.message_started = false;
    }

    /// Prints a line of the agent's message: the first with the time, the others below it.
    fn message_line(&mut self, line: &str) {
        let line = line.trim_end();
        if self.message_started {
            wrap(&clean(line)).iter().for_each(|line| self.print(&format!("{:MARGIN$}{line}\n", "")));
        } else if !line.is_empty() {
            self.message_started = true;
            self.row("agent", Paint::Cyan, line);
        }
    }

    fn row(&self, label: &str, paint: Paint, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let time = format!("{:>9.1} ms", self.start.elapsed().as_secs_f64() * 1000.0);
        let (time, label) = (self.painted(Paint::Dim, &time), self.painted(paint, &format!("{label:<8}")));
        let mut lines = wrap(&clean(text)).into_iter();
        self.print(&format!("{time} {label} {}\n", lines.next().unwrap_or_default()));
        for line in lines {
            self.print(&format!("{:MARGIN$}{line}\n", ""));
        }
    }

    fn painted(&self, paint: Paint, text: &str) -> String {
        let code = match paint {
            _ if !self.colours => return text.to_owned(),
            Paint::Plain => return text.to_owned(),
            Paint::Dim => "2",
            Paint::Bold => "1",
            Paint::Red => "31",
            Paint::Green => "32",
            Paint::Yellow => "33",
            Paint::Blue => "34",
            Paint::Magenta => "35",
            Paint::Cyan => "36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }

    fn print(&self, text: &str) {
        let mut stdout = crate::streams::stdout();
        // A closed stdout ends the output only; the demo still runs to its end and judges the
        // result.
        let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    }
}

/// Removes control characters: text from an agent or a command must not control the user's
/// terminal.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| !c.is_control() || *c == '\n').collect()
}

/// Wraps text to a bounded width, at spaces where possible.
fn wrap(text: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut current = String::new();
        for word in line.split_inclusive(' ') {
            if !current.is_empty()
                && (current.chars().count() + word.trim_end().chars().count()) > TEXT_COLUMNS
            {
                lines.push(std::mem::take(&mut current).trim_end().to_owned());
            }
            current.push_str(word);
        }
        lines.push(current.trim_end().to_owned());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wraps_at_spaces_and_keeps_indentation() {
        assert_eq!(wrap("  a b\nc"), ["  a b", "c"]);
        let long = "word ".repeat(40);
        let lines = wrap(&long);
        assert!(
            lines.len() == 3 && lines.iter().all(|line| line.chars().count() <= TEXT_COLUMNS),
            "{lines:?}"
        );
        assert_eq!(lines.join(" "), long.trim_end());
    }

    #[test]
    fn removes_escape_sequences() {
        assert_eq!(clean("a\x1b[2Jb\tc\r\n"), "a[2Jb c\n");
    }
}
