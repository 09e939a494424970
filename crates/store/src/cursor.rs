//! The cursor of a list of sessions: the last session's time and id, so that sessions that are
//! added or removed in between shift nothing.

use agent::{SessionId, StoreError};

/// A position in the list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) updated_at: i64,
    pub(crate) id: SessionId,
}

impl Cursor {
    /// Returns the position before the first session.
    pub(crate) fn start() -> Self {
        Self { updated_at: i64::MAX, id: SessionId(String::new()) }
    }

    /// Formats the cursor for the caller, beginning with its version.
    pub(crate) fn to_text(&self) -> String {
        format!("1.{}.{}", self.updated_at, self.id)
    }

    /// Parses a cursor.
    ///
    /// # Errors
    ///
    /// [`StoreError::BadCursor`] if this store did not issue it.
    pub(crate) fn parse(text: &str) -> Result<Self, StoreError> {
        let bad = || StoreError::BadCursor(text.to_owned());
        let (updated_at, id) =
            text.strip_prefix("1.").and_then(|rest| rest.split_once('.')).ok_or_else(bad)?;
        let cursor = Self { updated_at: updated_at.parse().map_err(|_| bad())?, id: id.into() };
        // Accept only what was issued: no sign, no leading zeros, and not the start, where no page
        // ends.
        if cursor.id.0.is_empty() || cursor.to_text() != text { Err(bad()) } else { Ok(cursor) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_issued_cursors_are_accepted() {
        for (updated_at, id) in [(0, "a"), (-5, "with.dots.and.1.2"), (i64::MAX, "Größe 🦀")] {
            let cursor = Cursor { updated_at, id: id.into() };
            assert_eq!(Cursor::parse(&cursor.to_text()), Ok(cursor));
        }
        for bad in
            ["", "x", "1.", "1.5", "1.5.", "2.5.a", "1.+5.a", "1.05.a", "1.99999999999999999999.a", "1.x.a"]
        {
            assert_eq!(Cursor::parse(bad), Err(StoreError::BadCursor(bad.to_owned())), "{bad:?}");
        }
    }
}
