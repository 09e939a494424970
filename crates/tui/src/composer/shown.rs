//! The composer on the screen.

use super::draft::Draft;
use super::layout::Layout;
use crate::look::Look;
use crate::shown::{Shown, cell};
use crate::text::{cut::cut_text, row::Row};
use crate::theme::Role;
use ratatui_core::text::{Line, Span};

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
