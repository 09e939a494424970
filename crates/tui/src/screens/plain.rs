//! Plain lines, for screen readers and terminals that know no control sequences.

use super::frame::Frame;

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
