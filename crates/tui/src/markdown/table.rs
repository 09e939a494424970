//! Tables: aligned in columns where they fit, else as text.

use crate::{
    limits::TABLE_COLUMNS,
    look::Look,
    text::{row::Row, wrap::wrap},
    theme::Role,
};
use pulldown_cmark::Alignment;
use ratatui_core::text::{Line, Span};

/// The narrowest column of a table that is aligned, in cells.
const COLUMN: usize = 6;
/// The cells between two columns.
const BETWEEN: usize = 2;

/// A cell: its spans.
pub(super) type Cell = Vec<Span<'static>>;

/// A table as it was parsed.
#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) alignments: Vec<Alignment>,
    pub(super) head: Vec<Cell>,
    pub(super) rows: Vec<Vec<Cell>>,
}

impl Table {
    /// Renders the table to rows of at most `width` cells.
    pub(super) fn rows(&self, width: usize, look: &Look) -> Vec<Row> {
        let natural = self.widths(look);
        match columns(&natural, width) {
            Some(widths) if !look.plain => self.aligned(&widths, look),
            _ => self.rows.iter().flat_map(|row| self.as_text(row, width, look)).collect(),
        }
    }

    /// Returns the text of the head.
    pub(super) fn names(&self) -> Vec<String> {
        self.head.iter().map(|cell| cell.iter().map(|span| span.content.as_ref()).collect()).collect()
    }

    fn widths(&self, look: &Look) -> Vec<usize> {
        let columns = self.alignments.len();
        let cell = |row: &Vec<Cell>, at: usize| {
            row.get(at).map_or(0, |cell| cell.iter().map(|span| look.measure.text(&span.content)).sum())
        };
        let all = || self.rows.iter().chain([&self.head]);
        (0..columns).map(|at| all().map(|row| cell(row, at)).max().unwrap_or(0).max(1)).collect()
    }

    fn aligned(&self, widths: &[usize], look: &Look) -> Vec<Row> {
        let mut rows = self.lines(&self.head, widths, look);
        let all = widths.iter().sum::<usize>() + BETWEEN * widths.len().saturating_sub(1);
        rows.push(Row::from(Span::styled("─".repeat(all), look.style(Role::Rule))));
        rows.extend(self.rows.iter().flat_map(|row| self.lines(row, widths, look)));
        rows
    }

    /// Renders a row of the table; cells that are too wide are wrapped.
    fn lines(&self, row: &[Cell], widths: &[usize], look: &Look) -> Vec<Row> {
        let empty = Cell::new();
        let cells: Vec<_> = widths
            .iter()
            .enumerate()
            .map(|(at, width)| wrap(row.get(at).unwrap_or(&empty), *width, *width, look.measure))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        let mut rows = Vec::with_capacity(height);
        for line in 0..height {
            let mut spans: Vec<Span<'static>> = Vec::new();
            let mut due = 0;
            for (at, cell) in cells.iter().enumerate() {
                let content = cell.get(line).cloned().unwrap_or_default();
                let used: usize = content.iter().map(|span| look.measure.text(&span.content)).sum();
                let free = widths[at].saturating_sub(used);
                let before = match self.alignments[at] {
                    Alignment::Right => free,
                    Alignment::Center => free / 2,
                    Alignment::Left | Alignment::None => 0,
                };
                due += before;
                if used > 0 && due > 0 {
                    spans.push(Span::raw(" ".repeat(std::mem::take(&mut due))));
                }
                spans.extend(content);
                due += free - before + BETWEEN;
            }
            rows.push(Row::new(Line::from(spans)));
        }
        rows
    }

    /// Renders a row of the table as text: `Head: cell`.
    fn as_text(&self, row: &[Cell], width: usize, look: &Look) -> Vec<Row> {
        let mut spans: Cell = Vec::new();
        for (name, cell) in self.head.iter().zip(row) {
            if cell.iter().all(|span| span.content.trim().is_empty()) {
                continue;
            }
            if !spans.is_empty() {
                spans.push(Span::styled("; ", look.style(Role::Dim)));
            }
            spans.extend(name.iter().cloned());
            spans.push(Span::styled(": ", look.style(Role::Dim)));
            spans.extend(cell.iter().cloned());
        }
        indented(&spans, width, look)
    }
}

/// Renders a row that follows a long table, with the names of the table's columns.
pub(super) fn text_row(head: &[String], cells: &[String], width: usize, look: &Look) -> Vec<Row> {
    let mut spans: Cell = Vec::new();
    for (at, cell) in cells.iter().enumerate().filter(|(_, cell)| !cell.is_empty()) {
        if !spans.is_empty() {
            spans.push(Span::styled("; ", look.style(Role::Dim)));
        }
        if let Some(name) = head.get(at) {
            spans.push(Span::styled(format!("{name}: "), look.style(Role::Dim)));
        }
        spans.push(look.span(Role::Text, cell));
    }
    indented(&spans, width, look)
}

/// Returns the cells of a line of a table, as written.
pub(super) fn split_cells(line: &str) -> Vec<String> {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').filter(|rest| !rest.ends_with('\\')).unwrap_or(line);
    let mut cells = vec![String::new()];
    let mut is_escaped = false;
    for c in line.chars() {
        let last = cells.last_mut().expect("begins with one");
        match c {
            '|' if is_escaped => {
                last.pop();
                last.push('|');
            }
            '|' => cells.push(String::new()),
            c => last.push(c),
        }
        is_escaped = c == '\\';
    }
    cells.iter().map(|cell| cell.trim().to_owned()).collect()
}

/// Wraps a row of text; further lines are indented.
fn indented(spans: &[Span<'static>], width: usize, look: &Look) -> Vec<Row> {
    let inner = width.saturating_sub(BETWEEN).max(1);
    let lines = wrap(spans, inner, inner, look.measure).into_iter().enumerate();
    lines
        .map(|(at, line)| {
            let row = Row::new(Line::from(line));
            if at == 0 { row } else { row.after(Span::raw("  ")) }
        })
        .collect()
}

/// Returns the widths of the columns in a table of at most `width` cells; `None` if they would be
/// too narrow. The widest columns give way.
fn columns(natural: &[usize], width: usize) -> Option<Vec<usize>> {
    let room = width.checked_sub(BETWEEN * natural.len().checked_sub(1)?)?;
    if natural.len() > TABLE_COLUMNS {
        return None;
    }
    if natural.iter().sum::<usize>() <= room {
        return Some(natural.to_vec());
    }
    // The greatest width that all columns fit with, if no column is wider.
    let fits = |most: &usize| natural.iter().map(|width| (*width).min(*most)).sum::<usize>() <= room;
    let most = (COLUMN..=room).rev().find(fits)?;
    let mut widths: Vec<_> = natural.iter().map(|width| (*width).min(most)).collect();
    let mut left = room - widths.iter().sum::<usize>();
    for (width, natural) in widths.iter_mut().zip(natural) {
        if left > 0 && *width < *natural {
            (*width, left) = (*width + 1, left - 1);
        }
    }
    Some(widths)
}
