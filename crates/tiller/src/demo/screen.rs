//! What the demo prints: one step a row, with the time since the prompt was sent.

use std::{io::Write, time::Instant};

/// Columns of a step's text before it is wrapped.
const TEXT_COLUMNS: usize = 88;
/// Columns of the time and the label.
const MARGIN: usize = 22;

/// A colour, or none.
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

/// The terminal, or whatever stdout is.
pub(super) struct Screen {
    colours: bool,
    start: Instant,
    /// The agent's words that do not end in a line break yet.
    said: String,
    /// Whether the last row is the beginning of what the agent says.
    saying: bool,
}

impl Screen {
    /// Colours only on a terminal, and only when nobody asked for none.
    pub(super) fn new(no_color: bool) -> Self {
        Self {
            colours: !no_color && crate::streams::stdout_is_terminal(),
            start: Instant::now(),
            said: String::new(),
            saying: false,
        }
    }

    /// Sets the clock to zero.
    pub(super) fn restart(&mut self) {
        self.start = Instant::now();
    }

    /// A step.
    pub(super) fn step(&mut self, label: &str, paint: Paint, text: &str) {
        self.flush();
        self.row(label, paint, text);
    }

    /// More of what the agent says; printed by lines.
    pub(super) fn say(&mut self, text: &str) {
        self.said.push_str(text);
        while let Some(at) = self.said.find('\n') {
            let line: String = self.said.drain(..=at).collect();
            self.said_line(&line);
        }
    }

    /// A line below a step.
    pub(super) fn detail(&mut self, paint: Paint, text: &str) {
        self.flush();
        let text = self.painted(paint, &clean(text));
        self.print(&format!("{:MARGIN$}{text}\n", ""));
    }

    /// A line of its own.
    pub(super) fn line(&mut self, paint: Paint, text: &str) {
        self.flush();
        let text = self.painted(paint, &clean(text));
        self.print(&format!("{text}\n"));
    }

    /// A question; the answer follows on the same line.
    pub(super) fn ask(&mut self, text: &str) {
        self.flush();
        self.print(&format!("{:MARGIN$}{}", "", clean(text)));
    }

    fn flush(&mut self) {
        let rest = std::mem::take(&mut self.said);
        self.said_line(&rest);
        self.saying = false;
    }

    /// The first line of what the agent says has the time; the rest stands below it.
    fn said_line(&mut self, line: &str) {
        let line = line.trim_end();
        if self.saying {
            wrap(&clean(line)).iter().for_each(|line| self.print(&format!("{:MARGIN$}{line}\n", "")));
        } else if !line.is_empty() {
            self.saying = true;
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
        // A reader that has gone has seen enough; the story is still played to its end and judged.
        let _ = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    }
}

/// Without control characters: what an agent or a command prints must not steer the user's terminal.
fn clean(text: &str) -> String {
    text.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| !c.is_control() || *c == '\n').collect()
}

/// Lines of bounded width, broken at spaces where there are any.
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
    fn lets_no_escape_sequence_through() {
        assert_eq!(clean("a\x1b[2Jb\tc\r\n"), "a[2Jb c\n");
    }
}
