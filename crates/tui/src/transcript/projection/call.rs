//! Applies an event of a tool call to its cell.

use crate::{
    diff::{DiffLine, FileDiff},
    limits::{COMMAND_BYTES, OUTPUT_BYTES, TITLE_CHARS},
    transcript::{cell::ToolCell, output::Output},
};
use agent::{Colours, Content, LiveOutput, ToolCallUpdate, ToolContent, ToolStatus};

/// Applies the fields that are set.
pub(super) fn update(tool: &mut ToolCell, update: &ToolCallUpdate) {
    let display = &update.display;
    let is_stored = update.status.is_some();
    let is_final = update.status.is_some_and(ToolStatus::is_final);
    if let Some(title) = &display.title {
        let title = agent::label(title, TITLE_CHARS);
        match is_stored {
            true => (tool.heading.title, tool.heading.progress) = (title, None),
            false => tool.heading.progress = Some(title),
        }
    }
    if is_stored {
        tool.status = update.status;
        tool.kind = display.kind.or(tool.kind);
    }
    if let Some(input) = display.raw_input.as_ref().filter(|_| is_stored) {
        tool.heading.lines = read_lines(input);
        tool.command = input["command"].as_str().map(|command| {
            let kept = agent::floor_char_boundary(command, COMMAND_BYTES);
            command[..kept].to_owned()
        });
    }
    if display.place.is_some() {
        tool.place = display.place;
    }
    if is_final {
        tool.heading.progress = None;
        tool.place = None;
        tool.permission.is_asking = false;
        if std::mem::take(&mut tool.shown.is_live) {
            (tool.shown.output, tool.shown.diffs) = (Output::default(), Vec::new());
        }
    }
    if let Some(content) = &display.content {
        show(tool, content);
        tool.shown.is_live |= !is_stored;
    }
    if let Some(LiveOutput::Text(text)) = &update.output {
        tool.shown.output.push(text, &update.colours, OUTPUT_BYTES);
        tool.shown.is_live = true;
    }
    if let Some(result) = &update.result
        && tool.shown.diffs.is_empty()
        && (tool.shown.output.text().is_empty()
            || !update.colours.is_empty() && is_text(display.content.as_deref(), &result.text))
    {
        tool.shown.output = Output::of(result.text.clone(), update.colours.clone(), OUTPUT_BYTES);
    }
}

/// Returns whether this text is all that a call shows.
fn is_text(content: Option<&[ToolContent]>, expected: &str) -> bool {
    matches!(content, Some([ToolContent::Content(Content::Text(text))]) if text == expected)
}

/// Replaces what a call shows.
fn show(tool: &mut ToolCell, content: &[ToolContent]) {
    let mut text = String::new();
    tool.shown.diffs.clear();
    for content in content {
        let part = match content {
            ToolContent::Diff(diff) => {
                tool.shown.diffs.push(FileDiff::of(diff));
                continue;
            }
            ToolContent::Content(Content::Text(text) | Content::Resource { text, .. }) => without_fence(text),
            ToolContent::Content(Content::Image { mime_type, .. }) => &format!("[image {mime_type}]"),
            ToolContent::Content(Content::ResourceLink { uri, .. }) => uri,
            ToolContent::Terminal(_) => continue,
        };
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(part);
    }
    tool.shown.output = Output::of(text, Colours::default(), OUTPUT_BYTES);
}

/// Returns the code of a text that is one block of code.
fn without_fence(text: &str) -> &str {
    let inner = || {
        let (first, rest) = text.split_once('\n')?;
        let ticks = first.len() - first.trim_start_matches('`').len();
        let end = rest.trim_end().strip_suffix(&first[..ticks])?;
        (ticks >= 3).then_some(end.strip_suffix('\n').unwrap_or(end))
    };
    inner().unwrap_or(text)
}

/// Returns the lines that a call reads, of its arguments `offset` and `limit`.
fn read_lines(input: &serde_json::Value) -> Option<String> {
    let first = input["offset"].as_i64().filter(|first| *first > 0);
    match (first, input["limit"].as_u64()) {
        (None, None) => None,
        (Some(first), None) => Some(format!("{first}–")),
        (first, Some(count)) => {
            let first = first.unwrap_or(1).unsigned_abs();
            Some(format!("{first}–{}", first.saturating_add(count.saturating_sub(1))))
        }
    }
}

/// Returns the bytes of a call's output and changes.
pub(super) fn bytes(tool: &ToolCell) -> usize {
    let line = |line: &DiffLine| line.text.len() + size_of::<DiffLine>();
    let diffs: usize = tool.shown.diffs.iter().flat_map(|diff| &diff.lines).map(line).sum();
    tool.shown.output.bytes() + diffs + tool.command.as_ref().map_or(0, String::len)
}
