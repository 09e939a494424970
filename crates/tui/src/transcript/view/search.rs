//! Search in the source texts of the cells.

use super::{Place, View};
use crate::{
    limits::{SEARCH_BYTES, SEARCH_HITS},
    transcript::{
        projection::Transcript,
        rows::{Fold, Paint},
    },
};
use regex::{Regex, RegexBuilder};

/// A search and what it has found.
#[derive(Debug)]
pub(super) struct Search {
    query: String,
    pattern: Regex,
    /// The hits, in order: the cell, and the number of the hit in it.
    hits: Vec<(usize, usize)>,
    /// The hit that the view is at.
    current: Option<usize>,
    /// The first cell that has to be searched the next time.
    searched: usize,
}

impl Search {
    pub(super) fn pattern(&self) -> &Regex {
        &self.pattern
    }

    /// Searches the cells that came since, and those that were changing.
    fn go_on(&mut self, transcript: &Transcript) {
        let (cells, from) = (transcript.cells(), self.searched);
        self.hits.retain(|(cell, _)| *cell < from);
        for (at, cell) in cells.iter().enumerate().skip(from) {
            let sources = cell.sources();
            let count: usize = sources.iter().map(|source| self.pattern.find_iter(source).count()).sum();
            let room = SEARCH_HITS.saturating_sub(self.hits.len());
            self.hits.extend((0..count.min(room)).map(|number| (at, number)));
        }
        let changing = cells.iter().skip(from).position(|cell| !cell.is_settled());
        self.searched = changing.map_or(cells.len(), |at| from + at);
        self.current = self.current.filter(|current| *current < self.hits.len());
    }
}

impl View {
    /// Searches for a text and goes to the first hit at or below the current row, else to the first
    /// of all. Upper and lower case are the same unless the query has upper case. An empty query
    /// ends the search. Returns whether there is a hit.
    pub fn search(&mut self, query: &str, paint: &Paint<'_>) -> bool {
        let query = &query[..agent::floor_char_boundary(query, SEARCH_BYTES)];
        let pattern = RegexBuilder::new(&regex::escape(query))
            .case_insensitive(!query.chars().any(char::is_uppercase))
            .build();
        self.search = match pattern {
            Ok(pattern) if !query.is_empty() => Some(Search {
                query: query.to_owned(),
                pattern,
                hits: Vec::new(),
                current: None,
                searched: 0,
            }),
            _ => None,
        };
        let Some(search) = &mut self.search else { return false };
        search.go_on(paint.transcript);
        let first = search.hits.iter().position(|(cell, _)| *cell >= self.cursor.cell);
        self.go_to_hit(first.unwrap_or(0), paint)
    }

    /// Goes to the next hit, or the one before (negative); after the last one comes the first.
    /// Returns whether there is a hit.
    pub fn next_hit(&mut self, direction: isize, paint: &Paint<'_>) -> bool {
        let Some(search) = &mut self.search else { return false };
        search.go_on(paint.transcript);
        let all = search.hits.len();
        if all == 0 {
            return false;
        }
        let hit = match search.current {
            Some(current) if direction < 0 => (current + all - 1) % all,
            Some(current) => (current + 1) % all,
            None => 0,
        };
        self.go_to_hit(hit, paint)
    }

    /// Returns the query; `None` without a search.
    pub fn query(&self) -> Option<&str> {
        self.search.as_ref().map(|search| search.query.as_str())
    }

    /// Returns the number of the current hit, from 1, and of all. `None` without a search.
    pub fn hits(&self) -> Option<(usize, usize)> {
        let search = self.search.as_ref()?;
        Some((search.current.map_or(0, |current| current + 1), search.hits.len()))
    }

    fn go_to_hit(&mut self, hit: usize, paint: &Paint<'_>) -> bool {
        let Some(search) = &mut self.search else { return false };
        let Some((cell, number)) = search.hits.get(hit).copied() else { return false };
        search.current = Some(hit);
        let all = search.hits.iter().filter(|(other, _)| *other == cell).count();
        let pattern = search.pattern.clone();
        let count = |text: &str| pattern.find_iter(text).count();
        let rows = self.rows_of(cell, paint);
        let shown: usize = rows.iter().map(|row| count(&row.plain())).sum();
        if shown < all && self.fold(cell) == Fold::Folded {
            self.set_fold(cell, Fold::Whole);
        }
        // A hit that a line break divides is not found in any row; then the next one counts.
        let rows = self.rows_of(cell, paint);
        let mut so_far = 0;
        let row = rows.iter().position(|row| {
            so_far += count(&row.plain());
            so_far > number
        });
        let last = || rows.iter().rposition(|row| count(&row.plain()) > 0).unwrap_or(0);
        self.go_to(Place { cell, row: row.unwrap_or_else(last) }, paint);
        true
    }
}
