//! The last row: what the session runs on, and what it has used.

use super::session::SessionView;
use crate::{
    look::Look,
    text::{cut::cut, measure::Measure, row::Row},
    theme::Role,
};
use agent::PermissionMode;
use ratatui_core::text::{Line, Span};

/// Returns the status row. What does not fit is left out, the least important part first.
pub(super) fn status(view: &SessionView, look: &Look) -> Row {
    let mut parts = parts(view);
    while parts.len() > 1 && joined_width(&parts, look.measure) > look.width {
        let least = parts.iter().enumerate().min_by_key(|(_, part)| part.rank).map(|(index, _)| index);
        parts.remove(least.expect("there are parts"));
    }
    let mut spans = Vec::new();
    for (index, part) in parts.into_iter().enumerate() {
        if index > 0 {
            spans.push(Span::styled(SEPARATOR, look.style(Role::Dim)));
        }
        spans.push(look.span(part.role, &part.text));
    }
    Row::new(Line::from(cut(spans, look.width, look.measure)))
}

const SEPARATOR: &str = " · ";

/// A part of the status row.
struct Part {
    text: String,
    role: Role,
    /// The part with the lowest rank is left out first.
    rank: u8,
}

fn parts(view: &SessionView) -> Vec<Part> {
    let part = |rank, role, text: String| Part { text, role, rank };
    let permission = view.controls.permission_mode;
    let unguarded = permission == PermissionMode::Prometheus;
    let mut parts = vec![
        part(8, Role::Dim, view.controls.mode.id().to_owned()),
        part(9, if unguarded { Role::Warning } else { Role::Dim }, permission.id().to_owned()),
        part(7, Role::Dim, view.controls.model.clone()),
    ];
    if let Some(effort) = view.controls.effort {
        parts.push(part(2, Role::Dim, format!("effort {}", effort.id())));
    }
    if let Some(percent) = view.context_percent() {
        let role = if percent >= 80 { Role::Warning } else { Role::Dim };
        parts.push(part(6, role, format!("ctx {percent}%")));
    }
    if let Some(cost) = view.usage.as_ref().and_then(|usage| usage.sum().cost) {
        parts.push(part(5, Role::Dim, dollars(cost.dollars())));
    }
    if !view.work.shells.is_empty() {
        parts.push(part(4, Role::Dim, format!("shells {}", view.work.shells.len())));
    }
    if let Some(name) = view.cwd.file_name() {
        parts.push(part(3, Role::Dim, name.to_owned()));
    }
    parts
}

fn joined_width(parts: &[Part], measure: Measure) -> usize {
    let texts: usize = parts.iter().map(|part| measure.text(&part.text)).sum();
    texts + measure.text(SEPARATOR) * parts.len().saturating_sub(1)
}

/// Returns an amount with as many digits as a person needs.
fn dollars(amount: f64) -> String {
    if amount < 0.01 { format!("${amount:.4}") } else { format!("${amount:.2}") }
}
