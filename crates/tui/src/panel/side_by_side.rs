//! A diff as rows: unified, or in wide terminals with the old text beside the new one.

use crate::diff::{Change, DiffLine, FileDiff};
use crate::limits::SIDE_BY_SIDE_CELLS;
use crate::look::Look;
use crate::text::{cut::broken, cut::cut, row::Row};
use crate::theme::Role;
use ratatui_core::text::{Line, Span};

/// Returns the changed lines of a file with invisible characters escaped, at most `width` cells
/// wide.
pub(super) fn rows(file: &FileDiff, look: &Look, width: usize) -> Vec<Row> {
    let digits = file.lines.iter().map(|line| line.number).max().unwrap_or(0).to_string().len();
    let mut rows = match look.width >= SIDE_BY_SIDE_CELLS {
        true => beside(&file.lines, digits, look, width),
        false => {
            let lines = file.lines.iter().map(|line| Row::new(Line::from(spans(line, digits, look))));
            lines.flat_map(|line| broken(&line, width, look.measure)).collect()
        }
    };
    if file.left_out > 0 {
        let text = format!("{} further lines are not shown", file.left_out);
        rows.push(Row::new(Line::from(cut(vec![look.span(Role::Warning, &text)], width, look.measure))));
    }
    rows
}

fn spans(line: &DiffLine, digits: usize, look: &Look) -> Vec<Span<'static>> {
    let (sign, role) = match line.change {
        Change::Added => ('+', Role::Added),
        Change::Removed => ('−', Role::Removed),
        Change::Unchanged => (' ', Role::Dim),
    };
    let text = agent::escaped(&line.text);
    vec![
        Span::styled(format!("{:>digits$} ", line.number), look.style(Role::Dim)),
        Span::styled(format!("{sign} "), look.style(role)),
        look.span(role, &text),
    ]
}

/// Pairs removed lines with the added ones that replace them; unchanged lines are on both sides.
fn beside(lines: &[DiffLine], digits: usize, look: &Look, width: usize) -> Vec<Row> {
    let half = width.saturating_sub(3) / 2;
    let mut rows = Vec::new();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        if line.change == Change::Unchanged {
            rows.push(pair(Some(line), Some(line), digits, look, half));
            at += 1;
            continue;
        }
        let run = |from: usize, change| lines[from..].iter().take_while(|line| line.change == change).count();
        let removed = run(at, Change::Removed);
        let added = run(at + removed, Change::Added);
        for row in 0..removed.max(added) {
            let old = lines[at..at + removed].get(row);
            let new = lines[at + removed..at + removed + added].get(row);
            rows.push(pair(old, new, digits, look, half));
        }
        at += removed + added;
    }
    rows
}

fn pair(old: Option<&DiffLine>, new: Option<&DiffLine>, digits: usize, look: &Look, half: usize) -> Row {
    let side = |line: Option<&DiffLine>| {
        let spans = line.map_or_else(Vec::new, |line| spans(line, digits, look));
        cut(spans, half, look.measure)
    };
    let mut row = side(old);
    let used = look.measure.line(&Line::from(row.clone()));
    row.push(Span::styled(" ".repeat(half.saturating_sub(used)), look.style(Role::Text)));
    row.push(Span::styled(" │ ", look.style(Role::Rule)));
    row.extend(side(new));
    Row::new(Line::from(row))
}
