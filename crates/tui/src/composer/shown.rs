//! The composer on the screen.

use super::draft::Draft;
use super::layout::Layout;
use crate::field::Field;
use crate::look::Look;
use crate::text::{cut::cut_text, row::Row};
use crate::theme::Role;
use ratatui_core::text::{Line, Span};

/// Rows with the cell of the cursor.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    /// The rows, at most as wide as asked for.
    pub rows: Vec<Row>,
    /// The column and the row of the cursor, from 0; `None` if it is not among the rows.
    pub cursor: Option<(u16, u16)>,
}

/// The marker before the first row.
const MARKER: &str = "> ";
/// Narrower than this, the marker is left out, in cells.
const MARKER_WIDTH: usize = 8;

/// Returns how wide the rows of a draft are beside their marker.
pub(super) fn text_width(width: usize) -> usize {
    if width < MARKER_WIDTH { width.max(1) } else { width - MARKER.len() }
}

/// Returns at most `most` rows of a draft around its cursor, from `top` on if the cursor is there.
/// `hint` follows the text.
pub(super) fn rows(
    draft: &Draft,
    layout: &Layout,
    look: &Look,
    most: usize,
    top: usize,
    hint: Option<&str>,
) -> (Shown, usize) {
    let width = look.width.max(1);
    let margin = width - text_width(width);
    let (row, column) = layout.place(draft, draft.cursor());
    let most = most.max(1);
    let top = top.clamp((row + 1).saturating_sub(most), row).min(layout.len().saturating_sub(most));
    let mut rows: Vec<_> = (top..layout.len().min(top + most))
        .map(|at| {
            let marker = if margin == 0 {
                ""
            } else if at == 0 {
                MARKER
            } else {
                "  "
            };
            let mut spans = vec![Span::styled(marker, look.style(Role::User))];
            spans.extend(cells(draft, layout, at, look));
            Row::new(Line::from(spans))
        })
        .collect();
    if let (Some(hint), Some(last)) = (hint, rows.last_mut()) {
        let room = width.saturating_sub(look.measure.line(&last.line));
        last.line.spans.push(Span::styled(cut_text(hint, room, look.measure), look.style(Role::Dim)));
    }
    let column = (margin + column).min(width.saturating_sub(1));
    let cursor = cell(column, row - top);
    (Shown { rows, cursor }, top)
}

/// Returns a row with a label, a field, and a state at its end.
pub(super) fn field_row(name: &str, field: &Field, state: &str, look: &Look) -> Shown {
    let (width, measure) = (look.width.max(1), look.measure);
    let name = cut_text(name, width / 2, measure);
    let state = cut_text(state, width / 4, measure);
    let (named, stated) = (measure.text(&name), measure.text(&state));
    let room = width.saturating_sub(named + stated + usize::from(stated > 0)).max(1);
    let (text, column) = field.shown(room, measure);
    let gap = " ".repeat(width.saturating_sub(named + measure.text(&text) + stated));
    let cursor = cell((named + column).min(width - 1), 0);
    let row = Row::new(Line::from(vec![
        Span::styled(name, look.style(Role::User)),
        Span::styled(text, look.style(Role::Text)),
        Span::styled(gap, look.style(Role::Text)),
        Span::styled(state, look.style(Role::Dim)),
    ]));
    Shown { rows: vec![row], cursor }
}

/// Returns a cell as coordinates of a terminal.
pub(super) fn cell(column: usize, row: usize) -> Option<(u16, u16)> {
    Some((u16::try_from(column).ok()?, u16::try_from(row).ok()?))
}

fn cells(draft: &Draft, layout: &Layout, row: usize, look: &Look) -> Vec<Span<'static>> {
    let mut spans: Vec<Span<'static>> = Vec::new();
    for cell in layout.cells(draft, row) {
        let role = match (cell.token, cell.glyph.sign) {
            (true, _) if cell.at == draft.cursor() => Role::Selected,
            (true, _) => Role::Name,
            (false, true) => Role::Warning,
            (false, false) => Role::Text,
        };
        let style = look.style(role);
        match spans.last_mut() {
            Some(last) if last.style == style => last.content.to_mut().push_str(&cell.glyph.text),
            _ => spans.push(Span::styled(cell.glyph.text.into_owned(), style)),
        }
    }
    spans
}
