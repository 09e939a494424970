//! Renders a diff to rows.

use super::{Change, DiffLine, FileDiff};
use crate::{look::Look, text::clean::clean, text::row::Row, theme::Role};
use ratatui_core::text::{Line, Span};

impl FileDiff {
    /// Renders the first `most` lines as `41 + text`, and how many more there are. Lines are not
    /// wrapped.
    pub fn rows(&self, most: usize, look: &Look) -> Vec<Row> {
        let digits = self.lines.iter().map(|line| line.number).max().unwrap_or(0).to_string().len();
        let mut rows = Vec::new();
        let mut last: Option<&DiffLine> = None;
        let shown = self.lines.len().min(most);
        for line in &self.lines[..shown] {
            if last.is_some_and(|last| is_gap(last, line)) {
                rows.push(Row::from(Span::styled(format!("{:>digits$} …", ""), look.style(Role::Dim))));
            }
            let (sign, role) = match line.change {
                Change::Added => ('+', Role::Added),
                Change::Removed => ('-', Role::Removed),
                Change::Unchanged => (' ', Role::Dim),
            };
            let text = clean(&line.text, 0, look.measure);
            rows.push(Row::logical(Line::from(vec![
                Span::styled(format!("{:>digits$} ", line.number), look.style(Role::Dim)),
                Span::styled(format!("{sign} {text}"), look.style(role)),
            ])));
            last = Some(line);
        }
        let more = self.lines.len() - shown + self.left_out;
        if more > 0 {
            let lines = if more == 1 { "line" } else { "lines" };
            rows.push(Row::from(Span::styled(format!("… {more} more {lines}"), look.style(Role::Dim))));
        }
        rows
    }
}

/// Returns whether lines of the file are left out between two lines of the diff.
fn is_gap(last: &DiffLine, line: &DiffLine) -> bool {
    match (last.change, line.change) {
        (Change::Unchanged, Change::Unchanged) => line.number > last.number + 1,
        // A change follows its context, or another change, without a gap; an unchanged line after
        // a change follows it.
        _ => false,
    }
}
