//! Renders cells to rows: `you` and `tiller` in the first columns, calls below them.
//!
//! No text from outside begins in the first column, so that no text can look like a
//! panel.

pub mod layout;
mod plain;
mod said;
mod small;
mod tool;

use super::{
    cell::{Body, Cell},
    projection::Transcript,
};
use crate::{highlight::Highlighter, look::Look, text::row::Row};
use layout::Layout;
use std::time::Duration;

/// How much of a cell is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Fold {
    /// The important part.
    #[default]
    Folded,
    /// All of it.
    Whole,
}

/// Whether a command's output has the colours that it was written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommandColours {
    /// No: it becomes part of the scrollback, in which nothing can be corrected.
    Dropped,
    /// Yes.
    Kept,
}

/// What cells are rendered with.
#[derive(Debug, Clone, Copy)]
pub struct Paint<'a> {
    /// The transcript.
    pub transcript: &'a Transcript,
    /// The appearance.
    pub look: &'a Look,
    /// The highlighter of code.
    pub highlighter: &'a Highlighter,
    /// The time.
    pub now: Duration,
}

impl Paint<'_> {
    /// Renders a cell. In `plain`, each row is a line of any length.
    pub fn rows(&self, cell: usize, fold: Fold) -> Vec<Row> {
        self.rows_in(cell, fold, CommandColours::Dropped)
    }

    /// Renders a cell, with the colours that a command's output was written in.
    pub fn coloured_rows(&self, cell: usize, fold: Fold) -> Vec<Row> {
        self.rows_in(cell, fold, CommandColours::Kept)
    }

    fn rows_in(&self, cell: usize, fold: Fold, colours: CommandColours) -> Vec<Row> {
        let Some(Cell { body, .. }) = self.transcript.cells().get(cell) else { return Vec::new() };
        if self.look.plain {
            return plain::rows(self, cell, body);
        }
        let layout = Layout::of(self.look);
        match body {
            Body::User(message) => said::user(message, fold, layout, self.look),
            Body::Answer(answer) => said::answer(&answer.text, layout, self),
            Body::Thought(thought) => said::thought(thought, fold, layout, self.look),
            Body::Tool(call) => tool::rows(call, cell, fold, colours, layout, self),
            _ => small::rows(body, fold, layout, self),
        }
    }

    /// Returns whether an empty row separates a cell from the one before it.
    pub fn has_gap_before(&self, cell: usize) -> bool {
        let cells = self.transcript.cells();
        let before = cell.checked_sub(1).and_then(|before| cells.get(before));
        match (before.map(|before| &before.body), cells.get(cell).map(|cell| &cell.body)) {
            _ if self.look.plain => false,
            (None, _) | (_, None) => false,
            (Some(_), Some(Body::User(_))) => true,
            (Some(Body::User(_)), Some(_)) => false,
            (Some(_), Some(Body::Answer(_))) => true,
            _ => false,
        }
    }
}

pub use plain::mark;
pub(super) use plain::{answer_line, started};
pub(super) use said::{answer_row, answer_width};
pub use small::plan_line;
pub use tool::duration;
