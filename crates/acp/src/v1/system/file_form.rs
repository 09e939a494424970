//! The byte-order mark and line endings of a file. A local write keeps both; some clients remove
//! them when reading and do not restore them when writing.

use std::hash::{DefaultHasher, Hash, Hasher};
use system::DiskSnapshot;

const BOM: char = '\u{feff}';

/// The properties of a file on disk that a write must keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileForm {
    /// Whether the file begins with a byte-order mark.
    marked: bool,
    /// Whether every line ends with `\r\n`.
    crlf: bool,
    /// A hash of the text, to detect changes.
    print: u64,
}

impl FileForm {
    /// Returns the form of a text file; `None` if it does not exist or is not text.
    pub(super) fn of(snapshot: &DiskSnapshot) -> Option<Self> {
        let text = snapshot.text.as_ref().ok()?.as_deref()?;
        let newlines = text.matches('\n').count();
        let crlf = newlines > 0 && text.matches("\r\n").count() == newlines;
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Some(Self { marked: snapshot.marked, crlf, print: hasher.finish() })
    }

    /// Returns whether there is anything that a client could lose.
    pub(super) fn is_special(self) -> bool {
        self.marked || self.crlf
    }

    /// Returns whether a file is unchanged, including its byte-order mark.
    pub(super) fn is_still(self, now: &DiskSnapshot) -> bool {
        Self::of(now) == Some(self)
    }

    /// Returns the text to write again if `now` lost something; `None` otherwise.
    pub(super) fn restored(self, now: &DiskSnapshot) -> Option<String> {
        let lost = Self::of(now)?;
        let text = now.text.as_ref().ok()?.as_deref()?;
        let lines = self.crlf && text.contains('\n') && !text.contains("\r\n");
        let mark = self.marked && !lost.marked;
        if !lines && !mark {
            return None;
        }
        let text = if lines { text.replace('\n', "\r\n") } else { text.to_owned() };
        Some(if self.marked { marked(&text) } else { text })
    }
}

/// Returns the text with a byte-order mark.
pub(super) fn marked(text: &str) -> String {
    match text.starts_with(BOM) {
        true => text.to_owned(),
        false => format!("{BOM}{text}"),
    }
}

/// Returns whether a client's text may come from bytes that are not UTF-8 text: it contains
/// replacement characters or NUL.
pub(super) fn is_suspicious(text: &str) -> bool {
    text.contains([char::REPLACEMENT_CHARACTER, '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::{AbsPath, SystemError, TextEncoding};

    fn snapshot(text: &str, marked: bool) -> DiskSnapshot {
        let nothing = SystemError::NotFound(AbsPath::new("/x").unwrap());
        DiskSnapshot {
            text: Ok(Some(text.to_owned())),
            marked,
            encoding: TextEncoding::Utf8,
            metadata: Err(nothing),
        }
    }

    #[test]
    fn a_write_that_lost_line_endings_or_the_mark_is_repaired() {
        for (before, now, expected) in [
            (("a\n", true), ("b\n", false), Some("\u{feff}b\n")),
            (("a\n", true), ("b\n", true), None),
            (("a\r\nb\r\n", false), ("a\nc\n", false), Some("a\r\nc\r\n")),
            (("a\r\nb\r\n", false), ("a\r\nc\r\n", false), None),
            (("a\r\n", true), ("b\n", false), Some("\u{feff}b\r\n")),
            (("a\r\n", true), ("b\n", true), Some("\u{feff}b\r\n")),
            // Mixed line endings are part of the text.
            (("a\r\nb\n", false), ("a\nc\n", false), None),
            (("a", false), ("b", false), None),
        ] {
            let form = FileForm::of(&snapshot(before.0, before.1)).unwrap();
            assert_eq!(form.restored(&snapshot(now.0, now.1)).as_deref(), expected, "{before:?} {now:?}");
            assert!(form.is_still(&snapshot(before.0, before.1)) && !form.is_still(&snapshot(now.0, now.1)));
        }
    }
}
