//! Texts as columns can hold them.

use std::borrow::Cow;

/// Returns a text as a column can hold it: PostgreSQL has no NUL in texts. In events it is escaped.
pub(super) fn text(text: &str) -> Cow<'_, str> {
    match text.contains('\0') {
        true => Cow::Owned(text.replace('\0', "\u{fffd}")),
        false => Cow::Borrowed(text),
    }
}
