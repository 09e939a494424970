//! A page of what may be long: a list with a cursor, or a line for each result.

use crate::failure::usage;
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;

/// A page of results.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Page<T> {
    /// The results, in order.
    pub(crate) items: Vec<T>,
    /// The cursor for `--after`, which continues after the last of them; null at the end.
    pub(crate) next: Option<String>,
}

impl<T> Page<T> {
    /// Creates the page that begins after `skipped` of the best `found` results, of which there is
    /// one more than `limit` if they go on. Its cursor is a number of results, because results are
    /// ordered by how well they match.
    pub(crate) fn ranked(found: Vec<T>, skipped: usize, limit: usize) -> Self {
        let more = found.len() > skipped + limit;
        let items: Vec<_> = found.into_iter().skip(skipped).take(limit).collect();
        let next = more.then(|| (skipped + items.len()).to_string());
        Self { items, next }
    }

    /// Converts the results.
    pub(crate) fn map<U>(self, convert: impl FnMut(T) -> U) -> Page<U> {
        Page { items: self.items.into_iter().map(convert).collect(), next: self.next }
    }
}

/// Parses a cursor that is a number; without one, 0.
///
/// # Errors
/// If it is not the cursor of such a page.
pub(crate) fn numbered<N: std::str::FromStr + Default>(after: Option<&str>) -> Result<N> {
    match after {
        None => Ok(N::default()),
        Some(given) => given.parse().map_err(|_| bad_cursor(given)),
    }
}

/// Returns the error for a cursor that no page had.
pub(crate) fn bad_cursor(given: &str) -> anyhow::Error {
    usage(format!("--after {given:?} is not a cursor; pass the `next` of the page before, unchanged"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranked_pages_continue_where_the_one_before_ended() {
        let all = ["a", "b", "c", "d", "e"];
        let (mut seen, mut after) = (Vec::new(), None::<String>);
        loop {
            let skipped = numbered::<usize>(after.as_deref()).unwrap();
            let found = all.iter().take(skipped + 2 + 1).copied().collect();
            let page = Page::ranked(found, skipped, 2);
            seen.extend(page.items);
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(seen, all);
        assert_eq!(Page::ranked(vec!["a", "b"], 0, 2).next, None, "a full page can be the last one");
        assert_eq!(Page::ranked(vec!["a"], 7, 2), Page { items: Vec::new(), next: None });
    }

    #[test]
    fn a_text_that_is_no_cursor_is_refused() {
        for given in ["", "x", "-1", "1.5"] {
            let error = numbered::<u64>(Some(given)).unwrap_err();
            assert!(error.to_string().contains("is not a cursor"), "{error}");
        }
    }
}
