//! Pagination by `offset` and `limit`.

/// The range of a list's items to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page {
    offset: usize,
    limit: usize,
}

impl Page {
    /// Creates a page with `usual` items if no limit is given, and never more than `most`.
    pub(super) fn new(offset: Option<u64>, limit: Option<u64>, usual: usize, most: usize) -> Self {
        let number = |given: Option<u64>| given.map(|given| usize::try_from(given).unwrap_or(usize::MAX));
        // Some models use a limit of 0 to request everything.
        let limit = match number(limit) {
            None => usual,
            Some(0) => most,
            Some(limit) => limit.min(most),
        };
        Self { offset: number(offset).unwrap_or(0).min(usize::MAX / 4), limit }
    }

    pub(super) fn has(self, item: usize) -> bool {
        (self.offset..self.end()).contains(&item)
    }

    pub(super) fn offset(self) -> usize {
        self.offset
    }

    pub(super) fn limit(self) -> usize {
        self.limit
    }

    /// Returns the index after the page's last item.
    pub(super) fn end(self) -> usize {
        self.offset + self.limit
    }
}
