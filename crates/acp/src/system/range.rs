//! Ranges of lines, also from clients that give other lines than they are asked for.
//!
//! What a range brings cannot be told from a proper answer by its text: the first ten lines of a
//! file look like any other ten. So a client is asked for ranges only once it is known to honour
//! them. Until then a file is read whole and cut here, and the first file that can tell settles it:
//! one of its lines is asked for alone, at most once for each read.

use super::{AcpSystem, call::CallError};
use crate::{facts::Ranges, limits::RANGE_WAIT};
use system::{AbsPath, TextRange};
use tokio::time::timeout;

const INVALID_PARAMS: i32 = -32602;

impl AcpSystem {
    /// A text as the client has it, or the lines of it that are asked for; empty past the end.
    pub(super) async fn read_from_client(
        &self,
        path: &AbsPath,
        range: Option<TextRange>,
    ) -> Result<String, CallError> {
        let Some(range) = range else { return self.ask_for_text(path, None).await };
        let known = self.share().learned.ranges();
        if known == Ranges::Honoured {
            match self.ask_for_text(path, Some(range)).await {
                Ok(text) if lines(&text) <= range.limit => return Ok(text),
                Ok(_more) => self.share().learned.set_ranges(Ranges::Inexact),
                // Some clients refuse a range past the end.
                Err(CallError::Refused { code: INVALID_PARAMS, .. }) if range.line > 1 => {}
                Err(error) => return Err(error),
            }
        }
        let text = self.ask_for_text(path, None).await?;
        if known == Ranges::Unknown {
            self.settle_ranges(path, &text).await;
        }
        Ok(cut(&text, range))
    }

    /// Finds out whether the client honours ranges, if this text can tell.
    async fn settle_ranges(&self, path: &AbsPath, text: &str) {
        let learned = &self.share().learned;
        let (Some(range), Some(_right)) = (telling(text), learned.settling()) else { return };
        if learned.ranges() != Ranges::Unknown {
            return;
        }
        // A text that changed in between counts against the client: reading whole is slower, never
        // wrong.
        let found = match timeout(RANGE_WAIT, self.ask_for_text(path, Some(range))).await {
            Ok(Ok(part)) if without_end(&part) == without_end(&cut(text, range)) => Ranges::Honoured,
            Ok(Err(CallError::Gone)) => return,
            _ => Ranges::Inexact,
        };
        learned.set_ranges(found);
    }
}

/// A range of one line that no mistake brings: neither the whole text, nor the first line, one
/// before or behind, or two of them. `None` where no line of the text is so.
fn telling(text: &str) -> Option<TextRange> {
    let first = text.lines().next()?;
    let mut lines = text.lines().zip(text.lines().skip(1)).zip(text.lines().skip(2));
    let at = lines.position(|((before, line), after)| {
        !line.trim().is_empty() && line != first && line != before && line != after
    })?;
    // The line in the middle of the first three is the second one.
    Some(TextRange { line: at + 2, limit: 1 })
}

/// A line without what ends it: clients that join lines leave the last end out.
fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\n').unwrap_or(line);
    line.strip_suffix('\r').unwrap_or(line)
}

/// How many lines a text has; a last one without an end counts.
fn lines(text: &str) -> usize {
    text.split_inclusive('\n').count()
}

/// The lines of a range, with their ends; empty past the end.
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
    fn a_line_tells_only_if_no_mistake_brings_it() {
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
            assert_eq!(telling(text).map(|range| range.line), line, "{text:?}");
        }
    }
}
