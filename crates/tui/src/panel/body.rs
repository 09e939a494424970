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
use agent::{Content, NetworkRule, ToolContent, ToolKind, escaped, escaped_json, label, one_line};
use ratatui_core::text::Span;

/// The rows of a call that a low screen shows.
const CALL_ROWS: usize = 2;
/// The rows of a change that are shown before a long command gets the rest.
const CHANGE_ROWS: usize = 6;
/// Characters of a tool's name.
const NAME_CHARS: usize = 60;

/// A permission request in rows.
struct Body {
    /// What would be done: the title, which has the command if it is short enough.
    call: Vec<Row>,
    /// Where and why; they give way to the call only.
    fixed: Vec<Row>,
    /// The texts and the changes that it is about.
    content: Vec<Row>,
}

/// Returns a permission request in at most `most` rows: title, where, why, the whole text or how
/// much of it is hidden, and the answers.
pub(super) fn permission(permission: &Permission, head: &Head<'_>, most: usize) -> Shown {
    let body = body(permission, head);
    let fits =
        |foot: &[Row]| body.len() + 1 + foot.len() <= most && body.content.len() <= PANEL_CONTENT_ROWS + 1;
    let (mut foot, mut cursor) = answers(permission, head, false);
    if !fits(&foot) {
        (foot, cursor) = answers(permission, head, true);
    }
    // On a low screen the call is more important than the names of all keys.
    if permission.stage == Stage::Choose && foot.len() + body.least() + 1 > most {
        foot = short_answers(head);
    }
    let room = most.saturating_sub(1 + foot.len()).max(1);
    let mut rows = vec![head.title("permission")];
    match permission.whole {
        true => rows.extend(scrolled(body.whole(), room, permission, head)),
        false => rows.extend(body.cut(room, head)),
    }
    let cursor = cursor.and_then(|(column, row)| cell(column, rows.len() + row));
    rows.extend(foot);
    Shown { rows, cursor }
}

fn body(permission: &Permission, head: &Head<'_>) -> Body {
    let request = &permission.request;
    let mut title = one_line(&request.description.title);
    // The title names the only file; only how much of it changes is added.
    let named = match permission.files.as_slice() {
        [file] if request.content.len() == 1 && names(&title, &file.path) => Some(file),
        _ => None,
    };
    if let Some(file) = named {
        title.push_str(&format!("  {}", file.counts()));
    }
    let call = head.labelled(&label(&request.name, NAME_CHARS), &title, Role::Strong, Lines::Cells);
    let mut fixed = Vec::new();
    let directory = request.place.directory.as_ref().map(|directory| head.look.path(directory));
    let place: Vec<_> = directory.into_iter().chain(request.place.facts.iter().cloned()).collect();
    if !place.is_empty() {
        let place = place.iter().map(|fact| one_line(fact)).collect::<Vec<_>>().join(" · ");
        fixed.extend(head.labelled("where", &place, Role::Text, Lines::Words));
    }
    let why = reason(&request.brief);
    if !why.is_empty() {
        fixed.extend(head.labelled("why", &escaped(why), Role::Text, Lines::Words));
    }
    Body { call, fixed, content: content(permission, named.is_none(), head) }
}

impl Body {
    fn len(&self) -> usize {
        self.call.len() + self.fixed.len() + self.content.len()
    }

    /// Returns how many rows a low screen must show: the beginning of the call, and how much of it
    /// is hidden.
    fn least(&self) -> usize {
        self.call.len().min(CALL_ROWS) + 1
    }

    fn whole(self) -> Vec<Row> {
        [self.call, self.fixed, self.content].concat()
    }

    /// Returns the rows that fit, and how many of what do not.
    fn cut(mut self, room: usize, head: &Head<'_>) -> Vec<Row> {
        if self.len() <= room && self.content.len() <= PANEL_CONTENT_ROWS + 1 {
            return self.whole();
        }
        let (command, change) = (self.call.len(), self.content.len() + self.fixed.len());
        self.fixed.truncate(room.saturating_sub(self.least()));
        let change = change - self.fixed.len();
        // One row says what is hidden.
        let room = room.saturating_sub(self.fixed.len() + 1);
        self.call.truncate(room.saturating_sub(change.min(CHANGE_ROWS)).max(1));
        self.content.truncate(room.saturating_sub(self.call.len()).min(PANEL_CONTENT_ROWS));
        let rows = |count: usize| if count == 1 { "row" } else { "rows" };
        let hidden = match (command - self.call.len(), change - self.content.len()) {
            (0, change) => format!("{change} more {}", rows(change)),
            (command, 0) => format!("{command} more {} of the command", rows(command)),
            (command, change) => {
                format!("{command} more {} of the command, {change} below it", rows(command))
            }
        };
        let note = note(&format!("… {hidden} ({} shows all)", head.key(Action::PermissionText)), head);
        let mut rows = self.whole();
        rows.extend(note);
        rows
    }
}

/// Whether a title ends with a path, or with its end from a directory on.
pub(super) fn names(title: &str, path: &str) -> bool {
    let last = title.rsplit(' ').next().unwrap_or_default();
    let begin = path.strip_suffix(last).filter(|_| !last.is_empty());
    begin.is_some_and(|begin| begin.is_empty() || begin.ends_with('/') || last.starts_with('/'))
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

/// Returns why the gate asks: what its question says behind what it asks.
fn reason(brief: &str) -> &str {
    brief.split_once("? ").map_or("", |(_, why)| why.trim())
}

/// Returns the command, the texts and the diff that the request is about; a diff with the name of
/// its file if `names_file`.
fn content(permission: &Permission, names_file: bool, head: &Head<'_>) -> Vec<Row> {
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
        if names_file {
            let place = match permission.files.len() {
                1 => String::new(),
                many => format!("   file {} of {many}", permission.file + 1),
            };
            let name = format!("{} {}{place}", one_line(&file.path), file.counts());
            rows.extend(head.labelled("file", &name, Role::Name, Lines::Cells));
        }
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

/// Returns the rows of a window that scrolls, and which they are.
fn scrolled(body: Vec<Row>, room: usize, permission: &Permission, head: &Head<'_>) -> Vec<Row> {
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

/// Returns the most important answers in one row.
fn short_answers(head: &Head<'_>) -> Vec<Row> {
    let keys = [
        (Action::PermissionOnce, "once"),
        (Action::PermissionNo, "no"),
        (Action::PermissionText, "whole text"),
    ];
    let keys = keys.map(|(action, does)| (head.key(action), does.to_owned()));
    head.keys(&keys, "└").into_iter().take(1).collect()
}

/// Returns the answers with their keys, and the cursor among them while a reason is typed.
fn answers(permission: &Permission, head: &Head<'_>, hidden: bool) -> (Vec<Row>, Option<(usize, usize)>) {
    let key = |action, does: &str| (head.key(action), does.to_owned());
    let scope = &permission.request.grant_label;
    let confirm = |word: &str, verb: &str, rule: Option<&NetworkRule>| {
        let mut rows = head.labelled(
            word,
            &format!("{verb} without asking: {}", one_line(scope)),
            Role::Warning,
            Lines::Cells,
        );
        let mut keys = vec![key(Action::PermissionConfirm, word)];
        keys.extend(rule.map(|rule| {
            let does = format!("in all sessions: add {rule} to your settings");
            (head.key(Action::PermissionForUser), does)
        }));
        keys.extend([key(Action::PermissionNo, "no"), key(Action::PermissionLeave, "back")]);
        rows.extend(head.keys(&keys, "└"));
        (rows, None)
    };
    match &permission.stage {
        Stage::Always => confirm("always", "allows", permission.request.remedy.user_rule.as_ref()),
        Stage::Never => confirm("never", "rejects", None),
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
