//! Renders cells for `plain`: lines of words with a label, without box, Braille or block
//! characters.

use super::{
    Paint,
    small::{counted, parts},
    tool::{duration, ruling, state, words},
};
use crate::{
    limits::{FOLDED_DIFF_LINES, FOLDED_ERROR_LINES, FOLDED_OUTPUT_LINES, SHOWN_LINE_BYTES},
    look::Look,
    markdown::{Rendered, Renderer, Splitter},
    text::row::Row,
    theme::Role,
    transcript::cell::{Body, ToolCell},
};
use agent::{ToolKind, ToolStatus};

/// Renders a cell to lines.
pub(super) fn rows(paint: &Paint<'_>, cell: usize, body: &Body) -> Vec<Row> {
    let look = paint.look;
    match body {
        Body::User(message) => {
            let mut lines: Vec<_> = message.text.trim_end().lines().map(str::to_owned).collect();
            lines.extend(message.attachments.iter().map(|name| format!("[{}]", agent::one_line(name))));
            let lines = lines.iter().enumerate();
            lines.map(|(at, text)| line(if at == 0 { "you: " } else { "" }, text, look)).collect()
        }
        Body::Answer(said) => {
            let (mut renderer, mut rows) = (Renderer::default(), Vec::new());
            for piece in Splitter::default().settled(&said.text, true) {
                for part in renderer.render(&said.text, &piece, look.width, look) {
                    rows.extend(answer_line(&part, rows.is_empty(), look));
                }
            }
            rows
        }
        Body::Thought(said) => {
            let text = said.text.trim();
            let lines = text.lines().filter(|line| !line.trim().is_empty()).enumerate();
            lines.map(|(at, text)| line(if at == 0 { "thought: " } else { "" }, text, look)).collect()
        }
        Body::Tool(call) => tool(paint, cell, call),
        _ => {
            let Some((_, _, word, text, rest)) = parts(body, paint) else { return Vec::new() };
            let text = text.replace('◎', "now:");
            let mut rows = vec![line(&format!("{word}: "), &text, look)];
            rows.extend(
                rest.lines().filter(|text| !text.trim().is_empty()).map(|text| line("  ", text, look)),
            );
            rows
        }
    }
}

/// Renders the line that says that a call runs.
pub(in crate::transcript) fn started(call: &ToolCell, look: &Look) -> Row {
    let (name, title) = words(call);
    let place = call.place.map(|place| format!(" ({})", place.words())).unwrap_or_default();
    line("tool: ", &format!("{name} {title}: runs{place}"), look)
}

/// Renders a part of an answer.
pub(in crate::transcript) fn answer_line(part: &Rendered, is_first: bool, look: &Look) -> Vec<Row> {
    let label = if is_first { "tiller: " } else { "" };
    match part {
        Rendered::Row(row) => vec![line(label, &row.plain(), look)],
        Rendered::Code(code) => vec![line(label, &code.text, look)],
        Rendered::CodeStart(language) if language.is_empty() => vec![line(label, "code:", look)],
        Rendered::CodeStart(language) => vec![line(label, &format!("code in {language}:"), look)],
        Rendered::CodeEnd => vec![line("", "end of code", look)],
    }
}

fn tool(paint: &Paint<'_>, cell: usize, call: &ToolCell) -> Vec<Row> {
    let look = paint.look;
    let (name, title) = words(call);
    let mut text = format!(
        "{name} {title}: {}",
        state(call).unwrap_or(match call.status {
            Some(ToolStatus::Completed) => "done",
            _ => "runs",
        })
    );
    if let Some(time) = paint.transcript.elapsed(cell, paint.now).filter(|time| time.as_secs() > 0) {
        text.push_str(&format!(", {}", duration(time)));
    }
    let mut rows = vec![line("tool: ", &text, look)];
    if let Some((outcome, rule)) = call.permission.ruling.as_ref().filter(|(outcome, _)| !outcome.allows()) {
        rows.push(line("  ", &ruling(*outcome, rule), look));
    }
    for diff in &call.shown.diffs {
        let path = paint.transcript.shown_path(&diff.path);
        rows.push(line("  ", &format!("{path}: {} added, {} removed", diff.added, diff.removed), look));
        let lines = diff.rows(FOLDED_DIFF_LINES, look);
        rows.extend(lines.iter().map(|row| line("  ", &row.plain(), look)));
    }
    let failed = call.status.is_some_and(|status| status.is_final() && status != ToolStatus::Completed);
    let most = match call.kind {
        _ if failed => FOLDED_ERROR_LINES,
        Some(ToolKind::Execute) => FOLDED_OUTPUT_LINES,
        _ => 0,
    };
    let lines = call.shown.output.lines().count();
    let hidden = lines.saturating_sub(most) + call.shown.output.left_out();
    if most > 0 && hidden > 0 {
        rows.push(line("  ", &format!("{} before:", counted(hidden, "line")), look));
    }
    for text in call.shown.output.lines().skip(lines.saturating_sub(most)) {
        rows.push(line("  ", &text[..agent::floor_char_boundary(text, SHOWN_LINE_BYTES)], look));
    }
    rows
}

/// Creates a line of a label of ours and text from outside.
fn line(label: &str, text: &str, look: &Look) -> Row {
    let mut span = look.span(Role::Text, text);
    let text: String = span.content.chars().map(spoken).collect();
    let mark = if label.trim().is_empty() { mark(&text) } else { "" };
    span.content = format!("{label}{mark}{}", text.trim_end()).into();
    Row::logical(span)
}

/// The beginnings of lines that are Tiller's own in `plain`.
const LABELS: [&str; 8] =
    ["permission required:", "question:", "answer:", "answer with", "> ", "you:", "tiller:", "tool:"];

/// Returns what is put before a line of others that begins as one of Tiller's own, so that no text
/// can pass for a request or an answer.
pub fn mark(text: &str) -> &'static str {
    let begin: String = text.trim_start().chars().take(24).flat_map(char::to_lowercase).collect();
    if LABELS.iter().any(|label| begin.starts_with(label)) { "text: " } else { "" }
}

/// Replaces characters that a screen reader spells out or skips: lines, blocks and Braille
/// patterns.
fn spoken(c: char) -> char {
    match c {
        '─' | '━' | '┄' | '┅' | '┈' | '┉' | '═' | '╌' | '╍' => '-',
        '│' | '┃' | '║' | '┆' | '┇' | '┊' | '┋' | '╎' | '╏' => '|',
        '\u{2500}'..='\u{257f}' => '+',
        '\u{2580}'..='\u{259f}' => '#',
        '\u{2800}'..='\u{28ff}' => '.',
        '◐' | '◎' | '○' | '●' | '•' => '*',
        c => c,
    }
}
