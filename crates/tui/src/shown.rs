//! Rows with a cursor.

use crate::field::Field;
use crate::look::Look;
use crate::text::{cut::cut_text, row::Row};
use crate::theme::Role;
use ratatui_core::text::{Line, Span};

/// Rows with the cell of the cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// The rows, at most as wide as the look says.
    pub rows: Vec<Row>,
    /// The column and the row of the cursor, from 0; `None` if it is not among the rows.
    pub cursor: Option<(u16, u16)>,
}

/// Returns a cell as coordinates of a terminal.
pub(crate) fn cell(column: usize, row: usize) -> Option<(u16, u16)> {
    Some((u16::try_from(column).ok()?, u16::try_from(row).ok()?))
}

/// Returns a row with a name, a field with the cursor, and a state at its end.
pub(crate) fn field_row(name: &str, field: &Field, state: &str, look: &Look) -> Shown {
    let (width, measure) = (look.width.max(1), look.measure);
    let name = cut_text(name, width / 2, measure);
    let state = cut_text(state, width / 2, measure);
    let (named, mut stated) = (measure.text(&name), measure.text(&state));
    // The field needs room more than the state does.
    if named + stated + width / 4 > width {
        stated = 0;
    }
    let room = width.saturating_sub(named + stated + usize::from(stated > 0)).max(1);
    let (text, column) = field.shown(room, measure);
    let gap = " ".repeat(width.saturating_sub(named + measure.text(&text) + stated));
    let mut spans =
        vec![Span::styled(name, look.style(Role::User)), Span::styled(text, look.style(Role::Text))];
    if stated > 0 {
        spans.push(Span::styled(gap, look.style(Role::Text)));
        spans.push(Span::styled(state, look.style(Role::Dim)));
    }
    Shown { rows: vec![Row::new(Line::from(spans))], cursor: cell((named + column).min(width - 1), 0) }
}
