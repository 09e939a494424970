//! How a text stands on disk beside what it says: a byte-order mark, line ends. A local write keeps
//! both. Some clients take them off when they read and do not put them back when they write.

use std::hash::{DefaultHasher, Hash, Hasher};
use system::Look;

const BOM: char = '\u{feff}';

/// What a write must keep of a file on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    /// A byte-order mark stands in front.
    marked: bool,
    /// Every line ends with `\r\n`.
    crlf: bool,
    /// Tells whether the text is still the same.
    print: u64,
}

impl Form {
    /// The form of a file that is text; `None` where there is none.
    pub(super) fn of(look: &Look) -> Option<Self> {
        let text = look.text.as_ref().ok()?.as_deref()?;
        let newlines = text.matches('\n').count();
        let crlf = newlines > 0 && text.matches("\r\n").count() == newlines;
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Some(Self { marked: look.marked, crlf, print: hasher.finish() })
    }

    /// Whether there is anything that a client could lose.
    pub(super) fn is_special(self) -> bool {
        self.marked || self.crlf
    }

    /// Whether a file still holds what it held, mark included.
    pub(super) fn is_still(self, now: &Look) -> bool {
        Self::of(now) == Some(self)
    }

    /// What has to be written where `now` lost something; `None` where nothing is lost.
    pub(super) fn restored(self, now: &Look) -> Option<String> {
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

/// The text with a mark in front.
pub(super) fn marked(text: &str) -> String {
    match text.starts_with(BOM) {
        true => text.to_owned(),
        false => format!("{BOM}{text}"),
    }
}

/// Whether a text from a client may be made of bytes that are no text: characters that stand for
/// what could not be decoded, or NUL.
pub(super) fn is_suspicious(text: &str) -> bool {
    text.contains([char::REPLACEMENT_CHARACTER, '\0'])
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::{AbsPath, SystemError, TextEncoding};

    fn look(text: &str, marked: bool) -> Look {
        let nothing = SystemError::NotFound(AbsPath::new("/x").unwrap());
        Look { text: Ok(Some(text.to_owned())), marked, encoding: TextEncoding::Utf8, metadata: Err(nothing) }
    }

    #[test]
    fn what_a_write_lost_is_put_back() {
        for (before, now, expected) in [
            (("a\n", true), ("b\n", false), Some("\u{feff}b\n")),
            (("a\n", true), ("b\n", true), None),
            (("a\r\nb\r\n", false), ("a\nc\n", false), Some("a\r\nc\r\n")),
            (("a\r\nb\r\n", false), ("a\r\nc\r\n", false), None),
            (("a\r\n", true), ("b\n", false), Some("\u{feff}b\r\n")),
            (("a\r\n", true), ("b\n", true), Some("\u{feff}b\r\n")),
            // Mixed line ends belong to the text.
            (("a\r\nb\n", false), ("a\nc\n", false), None),
            (("a", false), ("b", false), None),
        ] {
            let form = Form::of(&look(before.0, before.1)).unwrap();
            assert_eq!(form.restored(&look(now.0, now.1)).as_deref(), expected, "{before:?} {now:?}");
            assert!(form.is_still(&look(before.0, before.1)) && !form.is_still(&look(now.0, now.1)));
        }
    }
}
