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
/// The least of a column that is cut, in cells; the flexible one keeps half of a row too.
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

/// How the columns of a list share a row.
#[derive(Debug, Clone, Default)]
pub(super) struct Columns {
    /// The column that gives way first when the terminal is narrow.
    pub(super) flexible: usize,
    /// The column that names the row; the flexible one without another.
    pub(super) main: Option<usize>,
    /// Those that are left out next, in this order, before the others from the right.
    pub(super) left_out: Vec<usize>,
    /// Those that are shown whole or not at all.
    pub(super) uncut: Vec<usize>,
    /// Those that are aligned at the right.
    pub(super) numbers: Vec<usize>,
}

impl Columns {
    /// Returns the widths of the columns of these rows; 0 for a column that is left out.
    ///
    /// Beside a flexible column that names the row, no other takes more than a quarter of it,
    /// except those that are shown whole.
    pub(super) fn widths(&self, items: &[&Item], look: &Look) -> Vec<usize> {
        let flexible = self.flexible;
        let many = items.iter().map(|item| item.columns.len()).max().unwrap_or(0);
        let room = look.width.saturating_sub(SIGNS);
        let natural = |column: usize| {
            let cells = items.iter().filter_map(|item| item.columns.get(column));
            cells.map(|cell| look.measure.text(&agent::one_line(cell))).max().unwrap_or(0)
        };
        // A flexible column that names the row is worth more than the others.
        let names = self.main.is_none_or(|main| main == flexible);
        let least = if names { LEAST.max(room / 2) } else { LEAST };
        let most = if names { (room / 4).max(LEAST) } else { room };
        let limited = |column| match column == flexible || self.uncut.contains(&column) {
            true => natural(column),
            false => natural(column).min(most),
        };
        let mut widths: Vec<_> = (0..many).map(limited).collect();
        let used = |widths: &[usize]| -> usize {
            let shown = widths.iter().filter(|width| **width > 0).count();
            widths.iter().sum::<usize>() + GAP * shown.saturating_sub(1)
        };
        let shrink = |widths: &mut Vec<usize>| {
            let over = used(widths).saturating_sub(room);
            if let Some(width) = widths.get_mut(flexible) {
                *width = (*width).min((*width).saturating_sub(over).max(least));
            }
            used(widths) <= room
        };
        let named = self.left_out.iter().copied().filter(|column| *column < many);
        let others = (0..many).rev().filter(|column| !self.left_out.contains(column));
        for column in named.chain(others).filter(|column| *column != flexible) {
            if shrink(&mut widths) {
                break;
            }
            widths[column] = 0;
        }
        // What the columns that are left out would have needed goes to the flexible one.
        let left = room.saturating_sub(used(&widths));
        if let Some(cells) = widths.get_mut(flexible) {
            *cells = (*cells + left).min(natural(flexible)).min(room);
        }
        widths
    }

    /// Returns one row of the list.
    pub(super) fn row(&self, item: &Item, widths: &[usize], selected: bool, query: &str, look: &Look) -> Row {
        let signs = format!("{}{}", if selected { '▸' } else { ' ' }, if item.marked { '*' } else { ' ' });
        let mut spans =
            vec![Span::styled(cut_text(&signs, look.width, look.measure), look.style(Role::User))];
        let main = self.main.unwrap_or(self.flexible);
        let mut first = true;
        for (column, width) in widths.iter().enumerate().filter(|(_, width)| **width > 0) {
            let text = item.columns.get(column).map(|text| agent::one_line(text)).unwrap_or_default();
            let text = cut_text(&text, *width, look.measure);
            let rest = " ".repeat(width.saturating_sub(look.measure.text(&text)));
            let is_number = self.numbers.contains(&column);
            let role = match (selected, column == main) {
                (true, true) => Role::Selected,
                (false, true) => Role::Text,
                (_, false) => Role::Dim,
            };
            if !first {
                spans.push(Span::raw(" ".repeat(GAP)));
            }
            first = false;
            if is_number {
                spans.push(Span::raw(rest.clone()));
            }
            match !selected && column == main {
                true => spans.extend(found(&text, query, look)),
                false => spans.push(look.span(role, &text)),
            }
            if !is_number {
                spans.push(Span::raw(rest));
            }
        }
        Row::new(Line::from(spans))
    }
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
