//! Reads line ranges, even from clients that return other lines than requested.
//!
//! A wrong response cannot be recognised by its text: the first ten lines of a file look like any
//! other ten. So ranges are requested only from a client that is known to honour them. Until that
//! is known, files are read whole and cut here; the first file with a suitable line serves as a
//! probe: one of its lines is requested alone, at most one per read.

use super::{AcpSystem, call::CallError};
use crate::{client_facts::Ranges, limits::RANGE_WAIT};
use system::{AbsPath, TextRange};
use tokio::time::timeout;

const INVALID_PARAMS: i32 = -32602;

impl AcpSystem {
    /// Reads a text from the client, or a range of its lines; empty beyond the end.
    pub(super) async fn read_from_client(
        &self,
        path: &AbsPath,
        range: Option<TextRange>,
    ) -> Result<String, CallError> {
        let Some(range) = range else { return self.ask_for_text(path, None).await };
        let known = self.capabilities().behaviour.ranges();
        if known == Ranges::Honoured {
            match self.ask_for_text(path, Some(range)).await {
                Ok(text) if lines(&text) <= range.limit => return Ok(text),
                Ok(_more) => self.capabilities().behaviour.set_ranges(Ranges::Inexact),
                // Some clients reject a range beyond the end.
                Err(CallError::Refused { code: INVALID_PARAMS, .. }) if range.line > 1 => {}
                Err(error) => return Err(error),
            }
        }
        let text = self.ask_for_text(path, None).await?;
        if known == Ranges::Unknown {
            self.probe_ranges(path, &text).await;
        }
        Ok(cut(&text, range))
    }

    /// Probes whether the client honours ranges, if this text is suitable.
    async fn probe_ranges(&self, path: &AbsPath, text: &str) {
        let behaviour = &self.capabilities().behaviour;
        let (Some(range), Some(_right)) = (probe_range(text), behaviour.range_probe()) else { return };
        if behaviour.ranges() != Ranges::Unknown {
            return;
        }
        // A text that changed in between counts against the client: reading whole files is slower,
        // but never wrong.
        let found = match timeout(RANGE_WAIT, self.ask_for_text(path, Some(range))).await {
            Ok(Ok(part)) if without_line_ending(&part) == without_line_ending(&cut(text, range)) => {
                Ranges::Honoured
            }
            Ok(Err(CallError::Gone)) => return,
            _ => Ranges::Inexact,
        };
        behaviour.set_ranges(found);
    }
}

/// Returns a one-line range that no known error would produce: its line is not the whole text, and
/// differs from the first line and from both neighbours. `None` if the text has no such line.
fn probe_range(text: &str) -> Option<TextRange> {
    let first = text.lines().next()?;
    let mut lines = text.lines().zip(text.lines().skip(1)).zip(text.lines().skip(2));
    let at = lines.position(|((before, line), after)| {
        !line.trim().is_empty() && line != first && line != before && line != after
    })?;
    // The middle line of the first three is line 2.
    Some(TextRange { line: at + 2, limit: 1 })
}

/// Returns a line without its line ending: clients that join lines omit the last one.
fn without_line_ending(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// Counts the lines of a text, including a last one without a line ending.
fn lines(text: &str) -> usize {
    text.split_inclusive('\n').count()
}

/// Returns the lines of a range, with their line endings; empty beyond the end.
fn cut(text: &str, range: TextRange) -> String {
    text.split_inclusive('\n').skip(range.line.saturating_sub(1)).take(range.limit).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_by_one_based_lines() {
        for (text, line, limit, expected) in [
            ("a\nb\nc\n", 1, 2, "a\nb\n"),
            ("a\nb\nc", 3, 9, "c"),
            ("a\r\nb", 1, 1, "a\r\n"),
            ("a", 2, 1, ""),
            ("", 1, 1, ""),
            ("a\nb", 0, 1, "a\n"),
        ] {
            assert_eq!(cut(text, TextRange { line, limit }), expected, "{text:?} from {line}");
        }
        assert_eq!((lines(""), lines("a"), lines("a\n"), lines("a\nb")), (0, 1, 1, 2));
    }

    #[test]
    fn a_probe_range_excludes_lines_that_an_error_could_return() {
        for (text, line) in [
            ("a\nb\nc\n", Some(2)),
            ("a\r\nb\r\nc", Some(2)),
            ("a\na\nb\nc\n", Some(3)),
            ("a\nb\nb\nc\nd", Some(4)),
            ("x\n\n \n\ny\nz\n", Some(5)),
            ("a\nb\n", None),
            ("same\nsame\nsame\nsame\n", None),
            ("a\n\nb\n", None),
            ("", None),
        ] {
            assert_eq!(probe_range(text).map(|range| range.line), line, "{text:?}");
        }
    }
}
