//! A question on the screen.

use super::frame::{Head, Lines};
use super::permission::{Permission, Stage};
use super::question::Asking;
use super::side_by_side;
use crate::keys::Action;
use crate::limits::{PANEL_CONTENT_ROWS, PANEL_WHOLE_ROWS};
use crate::look::Look;
use crate::shown::{Shown, cell, field_row};
use crate::text::row::Row;
use crate::theme::Role;
use agent::{Content, ToolContent, ToolKind, escaped, escaped_json, label, one_line};
use ratatui_core::text::Span;

/// The rows around a request's text, roughly: its first row and the answers.
const FOOT_ROWS: usize = 4;
/// Characters of a tool's name.
const NAME_CHARS: usize = 60;

/// Returns a permission request in at most `most` rows: title, where, why, the whole text or how
/// much of it is hidden, and the answers.
pub(super) fn permission(permission: &Permission, head: &Head<'_>, most: usize) -> Shown {
    let request = &permission.request;
    let mut body = head.labelled(
        &label(&request.name, NAME_CHARS),
        &one_line(&request.description.title),
        Role::Strong,
        Lines::Cells,
    );
    let (asked, why) = divided(&request.brief);
    body.extend(head.labelled("where", &escaped(asked), Role::Text, Lines::Words));
    if !why.is_empty() {
        body.extend(head.labelled("why", &escaped(why), Role::Text, Lines::Words));
    }
    let content = content(permission, head);
    let (shown, hidden) = match permission.whole {
        true => (content.len(), 0),
        false if content.len() <= PANEL_CONTENT_ROWS + 1 => (content.len(), 0),
        false => (PANEL_CONTENT_ROWS, content.len() - PANEL_CONTENT_ROWS),
    };
    body.extend(content.into_iter().take(shown));

    let (foot, cursor) = foot(permission, head, hidden > 0 || body.len() + FOOT_ROWS >= most);
    let room = most.saturating_sub(1 + foot.len()).max(1);
    let mut rows = vec![head.title("permission")];
    rows.extend(window(body, hidden, room, permission, head));
    let cursor = cursor.and_then(|(column, row)| cell(column, rows.len() + row));
    rows.extend(foot);
    Shown { rows, cursor }
}

/// Returns a question in at most `most` rows: its text, the choices by number, and the answer in
/// words.
pub(super) fn question(asking: &Asking, head: &Head<'_>, most: usize) -> Shown {
    let look = head.look;
    let question = &asking.question;
    let text = head.text(&escaped(&question.text), Role::Strong, Lines::Words);
    let mut choices = Vec::new();
    // The rows of the selected choice, which stay in view.
    let mut selected = 0;
    for (at, choice) in question.choices.iter().enumerate() {
        let chosen = asking.selected == Some(at);
        let marker = if chosen { "▸ " } else { "  " };
        let recommended = if choice.recommended { " (recommended)" } else { "" };
        let role = if chosen { Role::Selected } else { Role::Text };
        let line = format!("{marker}{} {}{recommended}", at + 1, one_line(&choice.label));
        if chosen {
            selected = choices.len();
        }
        choices.extend(head.text(&line, role, Lines::Words));
        if let Some(detail) = &choice.detail {
            choices.extend(head.text(&format!("    {}", one_line(detail)), Role::Dim, Lines::Words));
        }
    }
    let name = if question.choices.is_empty() { "answer: " } else { "or in words: " };
    let mut field = field_row(name, &asking.text, "", &Look { width: head.inner(), ..look.clone() });
    let field_rows: Vec<_> = field.rows.drain(..).map(|row| head.framed("│", row)).collect();
    let margin = look.width.saturating_sub(head.inner());

    let mut keys = Vec::new();
    if !question.choices.is_empty() {
        keys.push((format!("1–{}", question.choices.len()), "select".to_owned()));
    }
    keys.push((head.key(Action::QuestionAnswer), "answer".to_owned()));
    keys.push((head.key(Action::QuestionDecline), "decline".to_owned()));
    keys.push((head.key(Action::QuestionLeave), "back to the message".to_owned()));
    let foot = head.keys(&keys, "└");

    let mut rows = vec![head.title("question")];
    let room = most.saturating_sub(rows.len() + field_rows.len() + foot.len()).max(1);
    let most_text = room.saturating_sub(choices.len().min(room / 2)).max(1);
    rows.extend(cut_rows(text, most_text, head));
    let room = most.saturating_sub(rows.len() + field_rows.len() + foot.len());
    let from = (selected + 1).saturating_sub(room.max(1)).min(choices.len());
    rows.extend(choices.into_iter().skip(from).take(room));
    let typing = head.focused && asking.selected.is_none();
    let cursor = field.cursor.filter(|_| typing);
    let cursor = cursor.and_then(|(column, _)| cell(margin + usize::from(column), rows.len()));
    rows.extend(field_rows);
    rows.extend(foot);
    Shown { rows, cursor }
}

/// Divides the gate's question into what it asks and why it asks.
fn divided(brief: &str) -> (&str, &str) {
    match brief.split_once("? ") {
        Some((asked, why)) => (&brief[..=asked.len()], why.trim()),
        None => (brief, ""),
    }
}

/// Returns the command, the texts and the diff that the request is about.
fn content(permission: &Permission, head: &Head<'_>) -> Vec<Row> {
    let request = &permission.request;
    let mut rows = Vec::new();
    for content in &request.content {
        let text = match content {
            ToolContent::Content(Content::Text(text)) => escaped(unfenced(text)),
            ToolContent::Content(Content::Resource { uri, text, .. }) => {
                format!("{}\n{}", one_line(uri), escaped(text))
            }
            ToolContent::Content(Content::ResourceLink { uri, .. }) => one_line(uri),
            ToolContent::Content(Content::Image { mime_type, .. }) => {
                format!("[image {}]", one_line(mime_type))
            }
            ToolContent::Diff(_) | ToolContent::Terminal(_) => continue,
        };
        add_text(&mut rows, "text", &text, head);
    }
    if request.content.is_empty() && request.description.kind == ToolKind::Other {
        let input = serde_json::to_string_pretty(&request.raw_input).unwrap_or_default();
        add_text(&mut rows, "input", &escaped_json(&input), head);
    }
    if let Some(file) = permission.files.get(permission.file) {
        let place = match permission.files.len() {
            1 => String::new(),
            many => format!("   file {} of {many}", permission.file + 1),
        };
        let name = format!("{} {}{place}", one_line(&file.path), file.counts());
        rows.extend(head.labelled("file", &name, Role::Name, Lines::Cells));
        let lines = side_by_side::rows(file, head.look, head.inner());
        rows.extend(lines.into_iter().map(|row| head.framed("│", row)));
    }
    rows
}

/// Adds a text, up to the most rows that a question has.
fn add_text(rows: &mut Vec<Row>, name: &str, text: &str, head: &Head<'_>) {
    let lines = text.lines().count();
    for (at, line) in text.lines().enumerate() {
        if rows.len() >= PANEL_WHOLE_ROWS {
            let more = format!("{} further lines are not shown", lines - at);
            return rows.extend(head.text(&more, Role::Warning, Lines::Words));
        }
        rows.extend(head.labelled(if at == 0 { name } else { "" }, line, Role::Code, Lines::Cells));
    }
}

/// Returns the text in a fenced block, or the text itself.
fn unfenced(text: &str) -> &str {
    let fence = &text[..text.len() - text.trim_start_matches('`').len()];
    let inner = (fence.len() >= 3).then(|| text.trim_end().strip_suffix(fence)).flatten();
    let inner = inner.and_then(|inner| inner.split_once('\n'));
    inner.map_or(text, |(_, inner)| inner.trim_end_matches('\n'))
}

/// Returns the rows that fit, and how many do not.
fn window(body: Vec<Row>, hidden: usize, room: usize, permission: &Permission, head: &Head<'_>) -> Vec<Row> {
    if !permission.whole {
        let rows = body.len();
        let fits = if hidden == 0 && rows <= room { rows } else { rows.min(room.saturating_sub(1)) };
        let more = rows - fits + hidden;
        let mut shown: Vec<_> = body.into_iter().take(fits).collect();
        if more > 0 {
            let key = head.key(Action::PermissionText);
            shown.extend(note(&format!("… {more} more rows ({key} shows all)"), head));
        }
        return shown;
    }
    if body.len() <= room {
        return body;
    }
    let (all, room) = (body.len(), room.saturating_sub(1).max(1));
    let top = permission.top.get().min(all - room);
    permission.top.set(top);
    let mut shown: Vec<_> = body.into_iter().skip(top).take(room).collect();
    let (up, down) = (head.key(Action::PermissionUp), head.key(Action::PermissionDown));
    shown.extend(note(&format!("rows {}–{} of {all} ({up} {down} scroll)", top + 1, top + room), head));
    shown
}

fn cut_rows(rows: Vec<Row>, most: usize, head: &Head<'_>) -> Vec<Row> {
    let all = rows.len();
    if all <= most {
        return rows;
    }
    let mut shown: Vec<_> = rows.into_iter().take(most.saturating_sub(1)).collect();
    shown.extend(note(&format!("… {} more rows", all - shown.len()), head));
    shown
}

fn note(text: &str, head: &Head<'_>) -> Option<Row> {
    let look = head.look;
    let text = crate::text::cut::cut_text(text, head.inner(), look.measure);
    Some(head.framed("│", Row::from(Span::styled(text, look.style(Role::Dim)))))
}

/// Returns the answers with their keys, and the cursor among them while a reason is typed.
fn foot(permission: &Permission, head: &Head<'_>, hidden: bool) -> (Vec<Row>, Option<(usize, usize)>) {
    let key = |action, does: &str| (head.key(action), does.to_owned());
    let scope = &permission.request.grant_label;
    let confirm = |word: &str, verb: &str| {
        let mut rows = head.labelled(
            word,
            &format!("{verb} without asking: {}", one_line(scope)),
            Role::Warning,
            Lines::Cells,
        );
        let keys = [
            key(Action::PermissionConfirm, word),
            key(Action::PermissionNo, "no"),
            key(Action::PermissionLeave, "back"),
        ];
        rows.extend(head.keys(&keys, "└"));
        (rows, None)
    };
    match &permission.stage {
        Stage::Always => confirm("always", "allows"),
        Stage::Never => confirm("never", "rejects"),
        Stage::Because(reason) => {
            let look = Look { width: head.inner(), ..head.look.clone() };
            let field = field_row("no, because: ", reason, "", &look);
            let margin = head.look.width.saturating_sub(head.inner());
            let mut rows: Vec<_> = field.rows.into_iter().map(|row| head.framed("│", row)).collect();
            let keys = [key(Action::ReasonSend, "reject with this reason"), key(Action::ReasonLeave, "back")];
            rows.extend(head.keys(&keys, "└"));
            (rows, field.cursor.filter(|_| head.focused).map(|(column, _)| (margin + usize::from(column), 0)))
        }
        Stage::Choose => {
            let mut keys = vec![key(Action::PermissionOnce, "once")];
            if permission.lasts() {
                keys.push((head.key(Action::PermissionAlways), format!("always: {scope}")));
            }
            keys.push(key(Action::PermissionNo, "no"));
            if permission.lasts() {
                keys.push(key(Action::PermissionNever, "never"));
            }
            keys.push(key(Action::PermissionBecause, "no, because…"));
            let mut rows = head.keys(&keys, "│");
            let mut more = Vec::new();
            match (permission.whole, hidden) {
                (true, _) => more.push(key(Action::PermissionText, "less")),
                (false, true) => more.push(key(Action::PermissionText, "whole text")),
                (false, false) => {}
            }
            if permission.files.len() > 1 {
                let keys = [Action::PermissionNextFile, Action::PermissionPreviousFile]
                    .map(|action| head.key(action));
                more.push((keys.join(" "), "next, previous file".to_owned()));
            }
            more.push(key(Action::Transcript, "context"));
            more.push(key(Action::PermissionLeave, "back to the message"));
            rows.extend(head.keys(&more, "└"));
            (rows, None)
        }
    }
}
