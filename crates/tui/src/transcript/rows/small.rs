//! Renders cells of a few lines: notices, errors, plans, changes of settings.

use super::{
    Fold, Paint,
    layout::{Layout, spaces},
};
use crate::{
    limits::{CELL_LINES, FOLDED_ERROR_LINES},
    look::Look,
    text::{row::Row, wrap::wrap},
    theme::Role,
    transcript::cell::{Body, CompactionEnd},
};
use agent::{PlanEntry, PlanStatus, Severity, SubagentStatus};
use ratatui_core::text::{Line, Span};

pub(super) fn rows(body: &Body, fold: Fold, layout: Layout, paint: &Paint<'_>) -> Vec<Row> {
    let look = paint.look;
    let Some((sign, role, word, text, rest)) = parts(body, paint) else { return Vec::new() };
    let mut head = vec![Span::styled(format!("{sign} {word}"), look.style(role))];
    if !text.is_empty() {
        head.push(Span::raw("  "));
        head.push(look.span(Role::Text, &text));
    }
    let mut rows = paragraph(&head, layout.tool, layout.body, look);
    let most = match (fold, body) {
        (Fold::Whole, _) => CELL_LINES,
        // The line above says enough.
        (Fold::Folded, Body::Plan(_)) => return rows,
        (Fold::Folded, Body::Compaction(_)) => 0,
        (Fold::Folded, _) => FOLDED_ERROR_LINES,
    };
    let lines = || rest.lines().filter(|line| !line.trim().is_empty());
    for line in lines().take(most) {
        rows.extend(paragraph(&[look.span(Role::Dim, line)], layout.body, layout.body, look));
    }
    let hidden = more(lines().count().saturating_sub(most), "line", look);
    rows.extend(hidden.map(|span| Row::from(span).after(spaces(layout.body))));
    rows
}

/// Returns sign, role, word, text and further lines of a small cell.
pub(super) fn parts(
    body: &Body,
    paint: &Paint<'_>,
) -> Option<(&'static str, Role, &'static str, String, String)> {
    let none = String::new;
    Some(match body {
        Body::Notice { severity, title, description } => {
            let (sign, role, word) = match severity {
                Severity::Info => ("i", Role::Dim, "note"),
                Severity::Warning => ("!", Role::Warning, "warning"),
                Severity::Error => ("✗", Role::Error, "error"),
            };
            (sign, role, word, title.clone(), description.clone().unwrap_or_default())
        }
        Body::Failure { provider, what, next, .. } => {
            let (first, rest) = what.split_once('\n').unwrap_or((what, ""));
            // Most messages begin with the provider's name.
            let named = provider.as_ref().filter(|provider| !first.starts_with(provider.as_str()));
            let text = named.map_or_else(|| first.to_owned(), |provider| format!("{provider}: {first}"));
            let next = if next.is_empty() { none() } else { format!("to do: {next}") };
            let rest = [rest, &next].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>();
            ("✗", Role::Error, "error", text, rest.join("\n"))
        }
        Body::Stopped { why, .. } => ("✗", Role::Warning, "stopped", (*why).to_owned(), none()),
        Body::Plan(entries) => ("·", Role::Dim, "plan", plan_line(entries), plan_list(entries)),
        Body::Changed { what, value } => ("·", Role::Dim, what, value.clone(), none()),
        Body::Compaction(compaction) => match &compaction.end {
            None => ("◐", Role::Running, "compacting", "summarises the conversation".to_owned(), none()),
            Some(CompactionEnd::Done(summary)) => (
                "✓",
                Role::Dim,
                "compacted",
                "older messages are now sent as a summary".to_owned(),
                summary.clone(),
            ),
            Some(CompactionEnd::Failed(why)) => ("✗", Role::Error, "compaction failed", why.clone(), none()),
            Some(CompactionEnd::Cancelled) => ("✗", Role::Warning, "compaction cancelled", none(), none()),
        },
        Body::Rewound { to, files } => {
            let what = match (to, files.len()) {
                (None, count) => format!("redone, {}", counted(count, "file")),
                (Some(turn), count) => format!("to turn {turn}, {}", counted(count, "file")),
            };
            let paths: Vec<_> = files.iter().map(|path| paint.transcript.shown_path(path)).collect();
            ("↺", Role::Warning, "rewound", what, paths.join("\n"))
        }
        Body::SubagentStarted { id, kind, task } => {
            let task = agent::one_line(task.lines().next().unwrap_or_default());
            ("◐", Role::Dim, "agent", format!("{id} ({kind}) started: {task}"), none())
        }
        Body::SubagentEnded { id, status, result } => {
            let (sign, role) = match status {
                SubagentStatus::Done => ("✓", Role::Ok),
                _ => ("✗", Role::Error),
            };
            (sign, role, "agent", format!("{id} {}", status.id()), result.clone())
        }
        Body::User(_) | Body::Answer(_) | Body::Thought(_) | Body::Tool(_) => return None,
    })
}

/// Returns a plan on one line: `2/4 ◎ run tests`.
pub fn plan_line(entries: &[PlanEntry]) -> String {
    let done = entries.iter().filter(|entry| entry.status == PlanStatus::Completed).count();
    let current = entries.iter().find(|entry| entry.status == PlanStatus::InProgress);
    let current = current.map_or_else(String::new, |entry| format!(" ◎ {}", agent::one_line(&entry.content)));
    match entries.len() {
        0 => "empty".to_owned(),
        all => format!("{done}/{all}{current}"),
    }
}

/// Returns the steps of a plan, a line each.
fn plan_list(entries: &[PlanEntry]) -> String {
    let line = |entry: &PlanEntry| {
        let sign = match entry.status {
            PlanStatus::Completed => "✓",
            PlanStatus::InProgress => "◎",
            PlanStatus::Pending => "○",
        };
        format!("{sign} {}", agent::one_line(&entry.content))
    };
    entries.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Wraps a text between two columns and the right margin.
pub(super) fn paragraph(spans: &[Span<'static>], first: usize, indent: usize, look: &Look) -> Vec<Row> {
    let width = look.prose().saturating_sub(indent).max(1);
    let lines = wrap(spans, width, width, look.measure).into_iter().enumerate();
    lines
        .map(|(at, line)| Row::new(Line::from(line)).after(spaces(if at == 0 { first } else { indent })))
        .collect()
}

/// Returns the hint that something is hidden; `None` if nothing is.
pub(super) fn more(hidden: usize, what: &str, look: &Look) -> Option<Span<'static>> {
    let text = format!("… {} ({})", counted(hidden, what), look.unfold_key);
    (hidden > 0).then(|| Span::styled(text, look.style(Role::Dim)))
}

/// Returns a number with its unit: `1 line`, `38 lines`.
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
