//! The rows of a list.

use crate::fuzzy;
use crate::look::Look;
use crate::text::{
    cut::cut_text,
    row::{self, Row},
};
use crate::theme::Role;
use ratatui_core::text::{Line, Span};

/// A row of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Item {
    /// What its columns show; one line each.
    pub columns: Vec<String>,
    /// What the preview shows while it is selected, in rows of a name and a text.
    pub preview: Vec<(String, String)>,
    /// Whether it is the one in force, such as the session's model.
    pub marked: bool,
}

/// The space between two columns, in cells.
const GAP: usize = 2;
/// The signs before a row: selected, and marked.
const SIGNS: usize = 2;
/// The least of a column that gives way, in cells.
const LEAST: usize = 12;

impl Item {
    /// Creates a row.
    pub fn new(columns: impl IntoIterator<Item = impl Into<String>>) -> Self {
        Self { columns: columns.into_iter().map(Into::into).collect(), ..Self::default() }
    }

    /// Returns what is searched.
    pub(super) fn searched(&self) -> String {
        self.columns.join(" ")
    }
}

/// Returns the widths of the columns of these rows in a width; 0 for a column that is left out.
///
/// `flexible` is the column that gives way first; then columns are left out from the right.
pub(super) fn widths(items: &[&Item], flexible: usize, look: &Look) -> Vec<usize> {
    let many = items.iter().map(|item| item.columns.len()).max().unwrap_or(0);
    let room = look.width.saturating_sub(SIGNS);
    let width = |column: usize| {
        let cells = items.iter().filter_map(|item| item.columns.get(column));
        cells.map(|cell| look.measure.text(&agent::one_line(cell))).max().unwrap_or(0)
    };
    let mut widths: Vec<_> = (0..many).map(width).collect();
    let used = |widths: &[usize]| -> usize {
        let shown = widths.iter().filter(|width| **width > 0).count();
        widths.iter().sum::<usize>() + GAP * shown.saturating_sub(1)
    };
    for column in (0..many).rev() {
        let over = used(&widths).saturating_sub(room);
        if let Some(width) = widths.get_mut(flexible) {
            *width = (*width).min((*width).saturating_sub(over).max(LEAST));
        }
        if used(&widths) <= room {
            break;
        }
        if column != flexible {
            widths[column] = 0;
        }
    }
    // What the columns that are left out would have needed goes to the flexible one.
    let left = room.saturating_sub(used(&widths));
    if let Some(cells) = widths.get_mut(flexible) {
        *cells = (*cells + left).min(width(flexible)).min(room);
    }
    widths
}

/// Returns one row of the list.
pub(super) fn row(
    item: &Item,
    widths: &[usize],
    selected: bool,
    query: &str,
    main: usize,
    look: &Look,
) -> Row {
    let signs = format!("{}{}", if selected { '▸' } else { ' ' }, if item.marked { '*' } else { ' ' });
    let mut spans = vec![Span::styled(cut_text(&signs, look.width, look.measure), look.style(Role::User))];
    let mut first = true;
    for (column, width) in widths.iter().enumerate().filter(|(_, width)| **width > 0) {
        let text = item.columns.get(column).map(|text| agent::one_line(text)).unwrap_or_default();
        let text = cut_text(&text, *width, look.measure);
        let rest = width.saturating_sub(look.measure.text(&text));
        let role = match (selected, column == main) {
            (true, true) => Role::Selected,
            (false, true) => Role::Text,
            (_, false) => Role::Dim,
        };
        if !first {
            spans.push(Span::raw(" ".repeat(GAP)));
        }
        first = false;
        match !selected && column == main {
            true => spans.extend(found(&text, query, look)),
            false => spans.push(look.span(role, &text)),
        }
        spans.push(Span::raw(" ".repeat(rest)));
    }
    Row::new(Line::from(spans))
}

/// Returns the rows of a preview.
pub(super) fn preview(item: &Item, most: usize, look: &Look) -> Vec<Row> {
    let named = item.preview.iter().map(|(name, _)| look.measure.text(name)).max().unwrap_or(0);
    let one = |(name, text): &(String, String)| {
        let gap = named.saturating_sub(look.measure.text(name)) + GAP;
        let line = format!("  {}{}{}", agent::one_line(name), " ".repeat(gap), agent::one_line(text));
        Row::from(look.span(Role::Dim, &cut_text(&line, look.width, look.measure)))
    };
    item.preview.iter().take(most).map(one).collect()
}

/// Returns a text with the characters that a query found.
fn found(text: &str, query: &str, look: &Look) -> Vec<Span<'static>> {
    let hits = fuzzy::matched(query, text);
    let mut spans: Vec<Span<'static>> = Vec::new();
    let mut at = 0;
    for cluster in crate::text::measure::clusters(text) {
        let hit = hits.iter().any(|hit| (at..at + cluster.len()).contains(hit));
        let span = look.span(if hit { Role::Match } else { Role::Text }, cluster);
        at += cluster.len();
        row::push(&mut spans, span);
    }
    spans
}
