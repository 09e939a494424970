//! A page of a list: what `offset` and `limit` ask for.

/// Which items of a list are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Page {
    offset: usize,
    limit: usize,
}

impl Page {
    /// `usual` items where nobody says how many, and never more than `most`.
    pub(super) fn new(offset: Option<u64>, limit: Option<u64>, usual: usize, most: usize) -> Self {
        let number = |given: Option<u64>| given.map(|given| usize::try_from(given).unwrap_or(usize::MAX));
        // A limit of 0 is how some ask for all there is.
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

    /// The first item behind it.
    pub(super) fn end(self) -> usize {
        self.offset + self.limit
    }
}
