//! Renders tool calls.

use super::{
    CommandColours, Fold, Paint,
    layout::{Layout, spaces},
    small::more,
};
use crate::{
    limits::{CELL_LINES, FOLDED_DIFF_LINES, FOLDED_ERROR_LINES, FOLDED_OUTPUT_LINES, SHOWN_LINE_BYTES},
    look::Look,
    text::{clean, cut::cut, row::Row},
    theme::Role,
    transcript::cell::ToolCell,
};
use agent::{Colours, PermissionOutcome, ToolKind, ToolStatus};
use ratatui_core::text::{Line, Span};
use std::time::Duration;

pub(super) fn rows(
    call: &ToolCell,
    cell: usize,
    fold: Fold,
    colours: CommandColours,
    layout: Layout,
    paint: &Paint<'_>,
) -> Vec<Row> {
    let look = paint.look;
    let mut rows = vec![head(call, cell, layout, paint)];
    let body = |row: Row| row.after(spaces(layout.body));
    let room = look.width.saturating_sub(layout.body).max(1);
    // Folded, a line takes one row.
    let shorten = |row: Row| match fold {
        Fold::Folded => Row { line: Line::from(cut(row.line.spans, room, look.measure)), ..row },
        Fold::Whole => row,
    };
    if fold == Fold::Whole
        && let Some(command) =
            call.command.as_deref().filter(|command| !call.heading.title.contains(*command))
    {
        let command = agent::escaped(command);
        rows.extend(command.lines().map(|line| body(Row::logical(look.span(Role::Code, line)))));
    }
    if let Some((outcome, rule)) =
        call.permission.ruling.as_ref().filter(|(outcome, _)| fold == Fold::Whole || !outcome.allows())
    {
        let text = ruling(*outcome, &agent::one_line(rule));
        rows.push(body(Row::from(look.span(Role::Dim, &text))));
    }
    for diff in &call.shown.diffs {
        let path = paint.transcript.shown_path(&diff.path);
        if call.shown.diffs.len() > 1 || !call.heading.title.contains(path) {
            let text = format!("{} {}", agent::one_line(path), diff.counts());
            rows.push(body(Row::from(look.span(Role::Dim, &text))));
        }
        let most = if fold == Fold::Folded { FOLDED_DIFF_LINES / call.shown.diffs.len() } else { CELL_LINES };
        rows.extend(diff.rows(most.max(1), look).into_iter().map(shorten).map(body));
    }
    output(call, fold, colours, look, |row| rows.push(body(shorten(row))));
    rows
}

/// Renders the output: folded the end of what a command printed, or the error of a call.
fn output(call: &ToolCell, fold: Fold, colours: CommandColours, look: &Look, mut push: impl FnMut(Row)) {
    let failed = call.status.is_some_and(|status| status.is_final() && status != ToolStatus::Completed);
    let most = match fold {
        Fold::Whole => CELL_LINES,
        Fold::Folded if failed => FOLDED_ERROR_LINES,
        Fold::Folded
            if call.kind == Some(ToolKind::Execute)
                || !call.shown.output.text().is_empty() && !is_done(call) =>
        {
            FOLDED_OUTPUT_LINES
        }
        Fold::Folded => return,
    };
    let lines = call.shown.output.lines().count();
    let hidden = lines.saturating_sub(most) + call.shown.output.left_out();
    if let Some(span) = more(hidden, "line", look) {
        push(Row::from(span));
    }
    let role = if failed && call.kind != Some(ToolKind::Execute) { Role::Error } else { Role::Dim };
    for (line, painted) in call.shown.output.painted_lines().skip(lines.saturating_sub(most)) {
        let line = &line[..agent::floor_char_boundary(line, SHOWN_LINE_BYTES)];
        let painted = if colours == CommandColours::Kept { painted } else { Colours::default() };
        let plain = look.style(role);
        let spans = clean::painted(line, painted, |ink| look.theme.ink(ink, plain), look.measure);
        push(Row::logical(Line::from(spans)));
    }
}

fn head(call: &ToolCell, cell: usize, layout: Layout, paint: &Paint<'_>) -> Row {
    let look = paint.look;
    let (sign, role) = sign(call);
    let (name, title) = words(call);
    let mut right: Vec<String> = state(call).map(str::to_owned).into_iter().collect();
    right.extend(call.place.map(|place| place.words().to_owned()));
    let elapsed = paint.transcript.elapsed(cell, paint.now).filter(|time| time.as_secs() > 0);
    right.extend(elapsed.map(duration));
    let right = if look.width < 40 { String::new() } else { right.join(" · ") };
    let taken = if right.is_empty() { 0 } else { look.measure.text(&right) + 2 };
    let width = look.prose().saturating_sub(layout.tool + taken).max(1);
    let mut spans = vec![
        Span::styled(format!("{sign} "), look.style(role)),
        look.span(Role::Strong, &format!("{name:<4}  ")),
        look.span(Role::Text, &title),
    ];
    if !call.shown.diffs.is_empty() {
        let (added, removed) =
            call.shown.diffs.iter().fold((0, 0), |(a, r), diff| (a + diff.added, r + diff.removed));
        spans.push(Span::styled(format!(" +{added}"), look.style(Role::Added)));
        spans.push(Span::styled(format!(" −{removed}"), look.style(Role::Removed)));
    }
    let mut spans = cut(spans, width, look.measure);
    if !right.is_empty() {
        let used: usize = spans.iter().map(|span| look.measure.text(&span.content)).sum();
        spans.push(spaces(width.saturating_sub(used) + 2));
        spans.push(look.span(if role == Role::Error { Role::Error } else { Role::Dim }, &right));
    }
    Row::new(Line::from(spans)).after(spaces(layout.tool))
}

fn is_done(call: &ToolCell) -> bool {
    call.status.is_some_and(ToolStatus::is_final)
}

fn sign(call: &ToolCell) -> (&'static str, Role) {
    match call.status {
        _ if call.permission.is_asking => ("?", Role::Warning),
        None | Some(ToolStatus::Pending) => ("·", Role::Dim),
        Some(ToolStatus::InProgress) => ("◐", Role::Running),
        Some(ToolStatus::Completed) => ("✓", Role::Ok),
        Some(ToolStatus::Failed | ToolStatus::Cancelled | ToolStatus::Interrupted) => ("✗", Role::Error),
    }
}

/// Returns the state in a word, where the sign alone does not say it.
pub(super) fn state(call: &ToolCell) -> Option<&'static str> {
    match call.status {
        _ if call.permission.is_asking => Some("waits for permission"),
        None | Some(ToolStatus::Pending) => Some("waits"),
        Some(ToolStatus::InProgress | ToolStatus::Completed) => None,
        Some(ToolStatus::Failed) => Some("failed"),
        Some(ToolStatus::Cancelled) => Some("cancelled"),
        Some(ToolStatus::Interrupted) => Some("interrupted"),
    }
}

/// Returns a call's short name and its title without the verb that the name says: `read` and
/// `src/page.rs 1–120`.
pub(super) fn words(call: &ToolCell) -> (String, String) {
    let (name, verb) = match call.heading.name.as_str() {
        "file_read" => ("read", "Read "),
        "file_edit" | "apply_patch" => ("edit", "Edit "),
        "file_write" => ("write", "Write "),
        "bash" => ("bash", "Run "),
        "grep" => ("grep", "Search "),
        "web_fetch" => ("fetch", "Fetch "),
        name => (name, ""),
    };
    let name: String = agent::one_line(name).chars().take(32).collect();
    let title = call.heading.progress.as_deref().unwrap_or(&call.heading.title);
    let mut title = agent::one_line(title.strip_prefix(verb).unwrap_or(title));
    if let Some(lines) = &call.heading.lines {
        title.push_str(&format!(" {lines}"));
    }
    if title == name { (name, String::new()) } else { (name, title) }
}

/// Returns how a permission request ended: what was decided, and by what.
pub(super) fn ruling(outcome: PermissionOutcome, rule: &str) -> String {
    let decided = match outcome {
        PermissionOutcome::AllowOnce => "allowed once",
        PermissionOutcome::AllowAlways => "allowed for the session",
        PermissionOutcome::AllowForUser => "allowed in all sessions",
        PermissionOutcome::RejectOnce => "rejected",
        PermissionOutcome::RejectAlways => "rejected for the session",
        // It was cancelled, and nothing decided.
        PermissionOutcome::Cancelled => return "not answered".to_owned(),
    };
    format!("{decided} by {rule}")
}

/// Returns a time in words: `14 s`, `2 min 5 s`, `1 h 3 min`.
pub fn duration(time: Duration) -> String {
    match time.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
