//! The rows of a draft on the screen: soft-wrapped at words, and which cell is at which offset.

use super::draft::Draft;
use crate::field::glyph::{self, Glyph};
use crate::text::{cut::cut_text, measure::Measure};
use std::ops::Range;

/// The rows of a draft at one width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    /// The width in cells, at least 1.
    width: usize,
    measure: Measure,
    /// The byte range of each row, without line breaks; at least one row.
    rows: Vec<Range<usize>>,
}

/// A cluster or token of a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell<'a> {
    /// Its byte offset in the draft.
    pub(super) at: usize,
    /// Its first column.
    pub(super) column: usize,
    /// How it is shown.
    pub(super) glyph: Glyph<'a>,
    /// Whether it is a token.
    pub(super) token: bool,
}

impl Layout {
    /// Wraps a draft to a width in cells; 0 counts as 1.
    pub(super) fn new(draft: &Draft, width: usize, measure: Measure) -> Self {
        let width = width.max(1);
        let mut rows = Vec::new();
        let mut start = 0;
        loop {
            let end = draft.line_end(start);
            wrap(draft, start..end, (width, measure), &mut rows);
            if end == draft.text().len() {
                break;
            }
            start = end + 1;
        }
        Self { width, measure, rows }
    }

    /// Returns how many rows there are.
    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns the row and the column of an offset.
    pub(super) fn place(&self, draft: &Draft, at: usize) -> (usize, usize) {
        let row = self.rows.partition_point(|row| row.start <= at).saturating_sub(1);
        let before = self.cells(draft, row).take_while(|cell| cell.at < at).last();
        (row, before.map_or(0, |cell| cell.column + cell.glyph.width))
    }

    /// Returns the offset at a column of a row, or at the row's end.
    pub(super) fn offset(&self, draft: &Draft, row: usize, column: usize) -> usize {
        let Some(range) = self.rows.get(row) else { return draft.text().len() };
        let hit = self.cells(draft, row).find(|cell| cell.column + cell.glyph.width > column);
        // The end of a wrapped row is the beginning of the next one.
        let wrapped = self.rows.get(row + 1).is_some_and(|next| next.start == range.end);
        let end = if wrapped { draft.previous(range.end) } else { range.end };
        hit.map_or(end.max(range.start), |cell| cell.at)
    }

    /// Returns what a row shows, from left to right.
    pub(super) fn cells<'a>(&self, draft: &'a Draft, row: usize) -> impl Iterator<Item = Cell<'a>> + use<'a> {
        let (mut at, end) = self.rows.get(row).map_or((0, 0), |row| (row.start, row.end));
        let (mut column, size) = (0, (self.width, self.measure));
        std::iter::from_fn(move || {
            if at >= end {
                return None;
            }
            let cell = cell(draft, at, column, size);
            at = draft.next(at);
            column += cell.glyph.width;
            Some(cell)
        })
    }
}

fn cell(draft: &Draft, at: usize, column: usize, (width, measure): (usize, Measure)) -> Cell<'_> {
    let token = draft.token_at(at);
    let glyph = match token {
        Some(token) => {
            let label = token.label();
            let text = cut_text(&label, width, measure);
            Glyph { width: measure.text(&text).max(1), text: text.into(), sign: false }
        }
        None => glyph::glyph(&draft.text()[at..draft.next(at)], column, width, measure),
    };
    Cell { at, column, glyph, token: token.is_some() }
}

/// Wraps one line. If the draft ends with a full row, an empty one follows for the cursor.
fn wrap(draft: &Draft, line: Range<usize>, size: (usize, Measure), rows: &mut Vec<Range<usize>>) {
    let (mut start, mut at, mut column, width) = (line.start, line.start, 0, size.0);
    // The offset behind the last space of the row.
    let mut gap = None;
    while at < line.end {
        let cell = cell(draft, at, column, size);
        if column + cell.glyph.width > width {
            let end = gap.take().filter(|gap| *gap > start).unwrap_or(at);
            rows.push(start..end);
            (start, at, column) = (end, end, 0);
            continue;
        }
        column += cell.glyph.width;
        at = draft.next(at);
        if cell.glyph.text.trim().is_empty() {
            gap = Some(at);
        }
    }
    rows.push(start..line.end);
    if column == width && line.end == draft.text().len() {
        rows.push(line.end..line.end);
    }
}
