//! Where the parts of a cell begin.

use crate::{look::Look, text::row::Overflow, text::row::Row, theme::Role};
use ratatui_core::text::Span;

/// The columns that parts of a cell begin in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    /// Columns of the label; 0 if it has a row of its own.
    pub label: usize,
    /// The column of messages.
    pub prose: usize,
    /// The column of code in it.
    pub code: usize,
    /// The column of calls.
    pub tool: usize,
    /// The column of what calls show.
    pub body: usize,
}

impl Layout {
    /// Returns the layout for a width: below 40 columns there is no gutter but the first column.
    pub fn of(look: &Look) -> Self {
        match look.width {
            40.. => Self { label: 8, prose: 8, code: 2, tool: 2, body: 6 },
            _ => Self { label: 0, prose: 1, code: 1, tool: 1, body: 2 },
        }
    }

    /// Puts the gutter of a message before a row. `label` is set for the first row.
    pub fn said(self, row: Row, label: Option<(&'static str, Role)>, look: &Look) -> Vec<Row> {
        let indent = match row.overflow {
            Overflow::Wrapped => self.prose,
            Overflow::Logical => self.code,
        };
        let shifted = |row: Row| if row.line.spans.is_empty() { row } else { row.after(spaces(indent)) };
        let Some((label, role)) = label else { return vec![shifted(row)] };
        let span = Span::styled(label, look.style(role));
        match row.overflow {
            Overflow::Wrapped if self.label > 0 => {
                let gap = self.label.saturating_sub(label.len());
                vec![row.after(spaces(gap)).after(span)]
            }
            _ => vec![Row::from(span), shifted(row)],
        }
    }

    /// Returns the width of prose.
    pub fn prose_width(self, look: &Look) -> usize {
        look.prose().saturating_sub(self.prose).max(1)
    }
}

/// Returns empty columns.
pub fn spaces(columns: usize) -> Span<'static> {
    Span::raw(" ".repeat(columns))
}
