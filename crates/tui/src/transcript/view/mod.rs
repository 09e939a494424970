//! The transcript as a screen of its own: scrolling, folding, search, marking.
//!
//! A place is a cell and a row in it, never a number of rows from the beginning, so only the cells
//! on the screen are rendered, however long the session is.

mod copy;
mod screen;
mod search;
#[cfg(test)]
mod tests;

use super::{
    cell::Body,
    rows::{Fold, Paint},
};
use crate::{
    limits::VIEW_ROWS,
    look::Look,
    text::{cut::broken, row::Row},
};
use ratatui_core::text::Span;
use search::Search;
use std::{collections::HashMap, rc::Rc};

/// What is shown of a transcript, and where.
#[derive(Debug)]
pub struct View {
    /// The first row on the screen.
    top: Place,
    /// The current row, which is always on the screen.
    cursor: Place,
    /// The rows of the screen.
    height: usize,
    /// Whether the screen stays at the end.
    is_following: bool,
    /// The number of cells when it last was at the end.
    seen: usize,
    /// Cells that are shown otherwise than folded.
    folds: HashMap<usize, Fold>,
    search: Option<Search>,
    /// The other end of the marked rows.
    mark: Option<Place>,
    /// The rows of cells that do not change any more.
    rendered: HashMap<usize, Rendered>,
    /// The number of rows in `rendered`.
    kept: usize,
    /// What the rows are rendered for.
    look: Option<(Look, u64)>,
}

/// A row of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Place {
    cell: usize,
    row: usize,
}

#[derive(Debug)]
struct Rendered {
    revision: u32,
    fold: Fold,
    rows: Rc<Vec<Row>>,
}

impl Default for View {
    fn default() -> Self {
        Self {
            top: Place::default(),
            cursor: Place::default(),
            height: 1,
            is_following: true,
            seen: 0,
            folds: HashMap::new(),
            search: None,
            mark: None,
            rendered: HashMap::new(),
            kept: 0,
            look: None,
        }
    }
}

impl View {
    /// Creates a view that shows a cell first; it does not follow the end.
    pub fn at_cell(cell: usize) -> Self {
        let place = Place { cell, row: 0 };
        Self { top: place, cursor: place, is_following: false, ..Self::default() }
    }

    /// Returns whether the screen stays at the end.
    pub fn is_following(&self) -> bool {
        self.is_following
    }

    /// Returns the number of cells that came since the screen left the end.
    pub fn unseen(&self, paint: &Paint<'_>) -> usize {
        if self.is_following { 0 } else { paint.transcript.cells().len().saturating_sub(self.seen) }
    }

    /// Returns the current cell.
    pub fn cell(&self) -> usize {
        self.cursor.cell
    }

    /// Moves the current row; the screen follows it. Negative is up.
    pub fn move_by(&mut self, rows: isize, paint: &Paint<'_>) {
        let to = self.shifted(self.cursor, rows, paint);
        self.go_to(to, paint);
        if rows > 0 && self.shifted(to, 1, paint) == to {
            self.to_end(paint);
        }
    }

    /// Moves the screen and the current row.
    pub fn scroll(&mut self, rows: isize, paint: &Paint<'_>) {
        let last_top = self.last_top(paint);
        self.top = self.shifted(self.top, rows, paint).min(last_top);
        self.move_by(rows, paint);
    }

    /// Moves by screens.
    pub fn page(&mut self, pages: isize, paint: &Paint<'_>) {
        let rows = isize::try_from(self.height.saturating_sub(1).max(1)).unwrap_or(isize::MAX);
        self.scroll(rows.saturating_mul(pages), paint);
    }

    /// Goes to the beginning.
    pub fn to_start(&mut self, paint: &Paint<'_>) {
        self.go_to(Place::default(), paint);
    }

    /// Goes to the end and stays there.
    pub fn to_end(&mut self, paint: &Paint<'_>) {
        self.cursor = self.last(paint);
        self.is_following = true;
        self.seen = paint.transcript.cells().len();
    }

    /// Goes to the next message of the user, or the one before (negative). Returns whether there is
    /// one.
    pub fn to_prompt(&mut self, direction: isize, paint: &Paint<'_>) -> bool {
        let is_prompt = |cell: &usize| matches!(paint.transcript.cells()[*cell].body, Body::User(_));
        let all = paint.transcript.cells().len();
        let cell = match direction < 0 {
            true => (0..self.cursor.cell.min(all)).rev().find(is_prompt),
            false => (self.cursor.cell + 1..all).find(is_prompt),
        };
        let Some(cell) = cell else { return false };
        let place = Place { cell, row: usize::from(paint.has_gap_before(cell)) };
        self.go_to(place, paint);
        // As far as there is a screen below it, the message is the first row.
        self.top = self.cursor.min(self.last_top(paint));
        true
    }

    /// Shows all of the current cell, or the important part again.
    pub fn toggle_fold(&mut self, paint: &Paint<'_>) {
        let fold = match self.fold(self.cursor.cell) {
            Fold::Folded => Fold::Whole,
            Fold::Whole => Fold::Folded,
        };
        self.set_fold(self.cursor.cell, fold);
        self.mark = None;
        self.go_to(Place { row: 0, ..self.cursor }, paint);
    }

    fn fold(&self, cell: usize) -> Fold {
        self.folds.get(&cell).copied().unwrap_or_default()
    }

    fn set_fold(&mut self, cell: usize, fold: Fold) {
        match fold {
            Fold::Folded => self.folds.remove(&cell),
            Fold::Whole => self.folds.insert(cell, fold),
        };
    }

    /// Makes a row the current one and brings it on the screen.
    fn go_to(&mut self, place: Place, paint: &Paint<'_>) {
        if self.is_following {
            self.top = self.last_top(paint);
            self.seen = paint.transcript.cells().len();
        }
        self.is_following = false;
        self.cursor = self.valid(place, paint);
        self.show_cursor(paint);
    }

    fn show_cursor(&mut self, paint: &Paint<'_>) {
        self.top = self.valid(self.top, paint).min(self.cursor);
        let height = isize::try_from(self.height).unwrap_or(isize::MAX);
        self.top = self.top.max(self.shifted(self.cursor, 1 - height, paint));
    }

    /// Returns the nearest row that exists.
    fn valid(&mut self, place: Place, paint: &Paint<'_>) -> Place {
        if place.cell >= paint.transcript.cells().len() {
            return self.last(paint);
        }
        match self.rows_of(place.cell, paint).len() {
            0 => self.shifted(Place { row: 0, ..place }, -1, paint),
            rows => Place { row: place.row.min(rows - 1), ..place },
        }
    }

    /// Returns the last row.
    fn last(&mut self, paint: &Paint<'_>) -> Place {
        let after = Place { cell: paint.transcript.cells().len(), row: 0 };
        self.shifted(after, -1, paint)
    }

    /// Returns the first row of the screen at the end.
    fn last_top(&mut self, paint: &Paint<'_>) -> Place {
        let after = Place { cell: paint.transcript.cells().len(), row: 0 };
        let height = isize::try_from(self.height).unwrap_or(isize::MAX);
        self.shifted(after, -height, paint)
    }

    /// Returns the place some rows further, or the first or last one.
    fn shifted(&mut self, mut place: Place, rows: isize, paint: &Paint<'_>) -> Place {
        let mut left = rows.unsigned_abs();
        if rows < 0 {
            // The last row that exists, if there is none further up.
            let mut best = place;
            while left > 0 {
                if place.row >= left {
                    return Place { row: place.row - left, ..place };
                }
                left -= place.row;
                if place.row > 0 {
                    best = Place { row: 0, ..place };
                }
                let Some(cell) = place.cell.checked_sub(1) else { return best };
                place = Place { cell, row: self.rows_of(cell, paint).len() };
            }
            return place;
        }
        let all = paint.transcript.cells().len();
        let mut best = place;
        while place.cell < all {
            let count = self.rows_of(place.cell, paint).len();
            if place.row + left < count {
                return Place { row: place.row + left, ..place };
            }
            if count > 0 {
                best = Place { row: count - 1, ..place };
            }
            left -= count.saturating_sub(place.row).min(left);
            place = Place { cell: place.cell + 1, row: 0 };
        }
        best
    }

    /// Returns the rows of a cell, each as wide as the screen at most.
    fn rows_of(&mut self, cell: usize, paint: &Paint<'_>) -> Rc<Vec<Row>> {
        let look = (paint.look, paint.highlighter.generation());
        if self.look.as_ref().map(|(look, generation)| (look, *generation)) != Some(look) {
            self.look = Some((look.0.clone(), look.1));
            self.forget();
        }
        let Some(source) = paint.transcript.cells().get(cell) else { return Rc::default() };
        let fold = self.fold(cell);
        if let Some(known) = self.rendered.get(&cell)
            && (known.revision, known.fold) == (source.revision, fold)
        {
            return known.rows.clone();
        }
        let rows = paint.coloured_rows(cell, fold);
        let gap = (!rows.is_empty() && paint.has_gap_before(cell)).then(Row::empty);
        let rows = gap.into_iter().chain(rows);
        let rows: Rc<Vec<_>> = Rc::new(rows.flat_map(|row| fitted(row, paint.look)).collect());
        // A call that runs shows its time, so it is rendered each time.
        if source.is_settled() {
            self.kept += rows.len() + 1;
            if self.kept > VIEW_ROWS {
                self.forget();
                self.kept = rows.len() + 1;
            }
            self.rendered.insert(cell, Rendered { revision: source.revision, fold, rows: rows.clone() });
        }
        rows
    }

    fn forget(&mut self) {
        self.rendered = HashMap::new();
        self.kept = 0;
    }
}

/// Breaks a row that is too wide. The first column stays free, as in all rows.
fn fitted(row: Row, look: &Look) -> Vec<Row> {
    let width = look.width.max(1);
    if width < 2 || look.measure.line(&row.line) <= width {
        return broken(&row, width, look.measure);
    }
    let parts = broken(&row, width - 1, look.measure).into_iter().enumerate();
    parts.map(|(at, part)| if at == 0 { part } else { part.after(Span::raw(" ")) }).collect()
}
