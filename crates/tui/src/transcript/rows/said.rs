//! Renders messages of the user, answers and reasoning of the model.

use super::{
    Fold, Paint,
    layout::{Layout, spaces},
    small::more,
};
use crate::{
    limits::{CELL_LINES, FOLDED_PROMPT_LINES, FOLDED_THOUGHT_BYTES, FOLDED_THOUGHT_ROWS},
    look::Look,
    markdown::{CodeLine, Rendered, Renderer, Splitter},
    text::{row::Row, wrap::wrap},
    theme::Role,
    transcript::cell::{Said, UserMessage},
};
use ratatui_core::text::Line;

pub(super) const YOU: (&str, Role) = ("you", Role::User);
pub(super) const TILLER: (&str, Role) = ("tiller", Role::Assistant);

pub(super) fn user(message: &UserMessage, fold: Fold, layout: Layout, look: &Look) -> Vec<Row> {
    let width = layout.prose_width(look);
    let mut rows = Vec::new();
    let most = if fold == Fold::Folded { FOLDED_PROMPT_LINES } else { CELL_LINES };
    let text = message.text.trim_end();
    for line in text.lines().take(most) {
        let spans = [look.span(Role::Text, line)];
        rows.extend(
            wrap(&spans, width, width, look.measure).into_iter().map(|line| Row::new(Line::from(line))),
        );
    }
    rows.extend(more(text.lines().count().saturating_sub(most), "line", look).map(Row::from));
    for attachment in &message.attachments {
        let name = format!("[{}]", agent::one_line(attachment));
        let spans = [look.span(Role::Dim, &name)];
        rows.extend(
            wrap(&spans, width, width, look.measure).into_iter().map(|line| Row::new(Line::from(line))),
        );
    }
    if rows.is_empty() {
        rows.push(Row::empty());
    }
    let rows = rows.into_iter().enumerate();
    rows.flat_map(|(at, row)| layout.said(row, (at == 0).then_some(YOU), look)).collect()
}

/// Renders a whole answer.
pub(super) fn answer(text: &str, layout: Layout, paint: &Paint<'_>) -> Vec<Row> {
    let look = paint.look;
    let (mut renderer, mut rows) = (Renderer::default(), Vec::new());
    let mut code: Option<(String, Vec<CodeLine>)> = None;
    for piece in Splitter::default().settled(text, true) {
        for part in renderer.render(text, &piece, answer_width(look), look) {
            match part {
                Rendered::Row(row) => rows.push(row),
                Rendered::CodeStart(language) => code = Some((language, Vec::new())),
                Rendered::Code(line) => match &mut code {
                    Some((_, lines)) => lines.push(line),
                    None => rows.push(line.row(&[], look)),
                },
                Rendered::CodeEnd => {
                    let Some((language, lines)) = code.take() else { continue };
                    let styles =
                        paint.highlighter.text(&language, lines.iter().map(|line| line.text.as_str()));
                    let styles = styles.unwrap_or_default();
                    let of = |at: usize| styles.get(at).map_or(&[][..], Vec::as_slice);
                    rows.extend(lines.iter().enumerate().map(|(at, line)| line.row(of(at), look)));
                }
            }
        }
        if rows.len() > CELL_LINES {
            break;
        }
    }
    let rows = rows.into_iter().enumerate();
    rows.flat_map(|(at, row)| layout.said(row, (at == 0).then_some(TILLER), look)).collect()
}

/// Returns the width that answers are rendered for, without the gutter.
pub(in crate::transcript) fn answer_width(look: &Look) -> usize {
    if look.plain { look.width } else { Layout::of(look).prose_width(look) }
}

/// Puts the gutter before a row of an answer.
pub(in crate::transcript) fn answer_row(row: Row, is_first: bool, look: &Look) -> Vec<Row> {
    Layout::of(look).said(row, is_first.then_some(TILLER), look)
}

pub(super) fn thought(thought: &Said, fold: Fold, layout: Layout, look: &Look) -> Vec<Row> {
    let text = thought.text.trim();
    let head = if thought.is_done { "· thought  " } else { "◐ thinking  " };
    let width = look.prose().saturating_sub(layout.body).max(1);
    let first = look.prose().saturating_sub(layout.tool + look.measure.text(head)).max(1);
    // Folded, only the beginning is needed, and while it is being written, the end.
    let most = if fold == Fold::Whole { usize::MAX } else { FOLDED_THOUGHT_BYTES };
    let shown = match thought.is_done {
        true => &text[..agent::floor_char_boundary(text, most)],
        false => &text[agent::ceil_char_boundary(text, text.len().saturating_sub(most))..],
    };
    let mut lines = Vec::new();
    for line in shown.lines().filter(|line| !line.trim().is_empty()).take(CELL_LINES) {
        let first = if lines.is_empty() { first } else { width };
        lines.extend(wrap(&[look.span(Role::Thought, line)], first, width, look.measure));
    }
    let mut hidden = 0;
    if fold == Fold::Folded && lines.len() > FOLDED_THOUGHT_ROWS {
        hidden = text.lines().filter(|line| !line.trim().is_empty()).count();
        match thought.is_done {
            true => lines.truncate(FOLDED_THOUGHT_ROWS),
            false => lines = lines.split_off(lines.len() - FOLDED_THOUGHT_ROWS),
        }
    }
    let mut rows: Vec<_> = lines.into_iter().map(|line| Row::new(Line::from(line))).collect();
    if rows.is_empty() {
        rows.push(Row::empty());
    }
    let rows = rows.into_iter().enumerate().map(|(at, row)| match at {
        0 => row.after(look.span(Role::Dim, head)).after(spaces(layout.tool)),
        _ => row.after(spaces(layout.body)),
    });
    let all = more(hidden, "line", look).filter(|_| thought.is_done);
    rows.chain(all.map(|span| Row::from(span).after(spaces(layout.body)))).collect()
}
