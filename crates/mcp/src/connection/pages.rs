//! Pagination of a server's lists.

use crate::limits::PAGES;
use rmcp::model::PaginatedRequestParams;

/// Pagination of one list, up to a number of items.
pub(super) struct Pages<T> {
    all: Vec<T>,
    limit: usize,
    requested: usize,
    /// The cursor of the next page; the first request has none.
    cursor: Option<String>,
}

impl<T> Pages<T> {
    pub(super) fn up_to(limit: usize) -> Self {
        Self { all: Vec::new(), limit, requested: 0, cursor: None }
    }

    /// Returns the parameters of the next request; `None` when the list is complete, long enough,
    /// or `PAGES` were requested.
    pub(super) fn next(&mut self) -> Option<PaginatedRequestParams> {
        let wanted = self.requested == 0 || (self.cursor.is_some() && self.all.len() < self.limit);
        if !wanted || self.requested == PAGES {
            return None;
        }
        self.requested += 1;
        Some(PaginatedRequestParams::default().with_cursor(self.cursor.take()))
    }

    pub(super) fn add(&mut self, page: impl IntoIterator<Item = T>, cursor: Option<String>) {
        self.all.extend(page);
        self.cursor = cursor;
    }

    pub(super) fn all(mut self) -> Vec<T> {
        self.all.truncate(self.limit);
        self.all
    }
}
