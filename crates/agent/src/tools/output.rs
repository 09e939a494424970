//! Keeps results within the limits; the only place that does so.

use crate::{
    Content, ToolContent, ToolContext, ToolLimits, ToolOutput,
    text::cut::{TRUNCATED, floor_char_boundary, head, tail},
};
use std::fmt::Write as _;
use system::AbsPath;

/// Bytes reserved for what a tool appends to a text, such as a command's exit status.
const ENDING_BYTES: usize = 200;

/// Bytes reserved for the note on omitted text, without the path of the full text.
const NOTE_BYTES: usize = 200;

/// The share of a shortened text that is taken from its beginning, in tenths. The rest is its end,
/// where failures are reported.
const HEAD_TENTHS: usize = 3;

/// Shortens a text to the limits: its beginning and its end, with a note between them on how many
/// lines and bytes are omitted. The result, including the note, never exceeds the limits.
pub fn cap(text: String, limits: &ToolLimits) -> String {
    if fits(&text, limits) {
        return text;
    }
    shorten(&text, Lost::default(), limits, None)
}

/// Shortens a result of a call like [`cap`], but first stores the full text in a file that the
/// model can read, if the session keeps such files.
pub async fn within(cx: &ToolContext, text: String) -> String {
    if fits(&text, &cx.limits) {
        return text;
    }
    let whole = cx.session.outputs.keep(cx.system.as_ref(), &cx.call.id, &text).await;
    shorten(&text, Lost::default(), &cx.limits, whole.as_ref())
}

/// Shortens the output of a call like [`within`]; the content shown to the user is cut along with
/// it.
pub async fn fit(cx: &ToolContext, mut output: ToolOutput) -> ToolOutput {
    if fits(&output.result.text, &cx.limits) {
        return output;
    }
    let whole = std::mem::take(&mut output.result.text);
    output.result.text = within(cx, whole.clone()).await;
    for shown in output.shown.iter_mut().flatten() {
        if let ToolContent::Content(Content::Text(text)) = shown
            && *text == whole
        {
            text.clone_from(&output.result.text);
        }
    }
    output
}

/// Stores a full text in a file, if the session keeps such files, and returns a sentence for the
/// model that names the path.
pub async fn keep_whole(cx: &ToolContext, text: &str) -> Option<String> {
    let path = cx.session.outputs.keep(cx.system.as_ref(), &cx.call.id, text).await?;
    Some(format!("All of it is in {path}: read it with file_read or grep"))
}

/// The amount of text already dropped from the middle.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Lost {
    pub(super) lines: usize,
    pub(super) bytes: usize,
}

/// Fits the output of a command into the limits, with room for the exit status line. Returns
/// whether anything is missing.
pub(super) async fn of_command(cx: &ToolContext, text: String, lost: Lost) -> (String, bool) {
    let ToolLimits { output_lines, output_bytes, .. } = cx.limits;
    let limits = ToolLimits {
        output_lines: output_lines.saturating_sub(2),
        output_bytes: output_bytes.saturating_sub(ENDING_BYTES),
        ..cx.limits.clone()
    };
    if lost.bytes == 0 && fits(&text, &limits) {
        return (text, false);
    }
    let whole = cx.session.outputs.keep(cx.system.as_ref(), &cx.call.id, &text).await;
    (shorten(&text, lost, &limits, whole.as_ref()), true)
}

/// Returns the beginning and the end of a text.
fn shorten(text: &str, lost: Lost, limits: &ToolLimits, whole: Option<&AbsPath>) -> String {
    let path = whole.map_or(0, |path| path.as_str().len());
    let bytes = limits.output_bytes.saturating_sub(NOTE_BYTES + path);
    let lines = limits.output_lines.saturating_sub(1);
    let (head_bytes, head_lines) = (bytes / 10 * HEAD_TENTHS, lines * HEAD_TENTHS / 10);
    let head = head(text, head_lines, head_bytes);
    let rest = &text[head.len()..];
    let tail = tail(rest, lines - head_lines, bytes - head_bytes);
    let left_out = &rest[..rest.len() - tail.len()];
    if left_out.is_empty() && lost.bytes == 0 {
        return text.to_owned();
    }
    let (count, size) = (left_out.lines().count() + lost.lines, left_out.len() + lost.bytes);
    let mut note = format!("{TRUNCATED}: {count} lines ({size} bytes) are left out here");
    if let Some(whole) = whole {
        let all = if lost.bytes == 0 { "All of it is" } else { "More of it is" };
        let _ = write!(note, ". {all} in {whole}: read it with file_read or grep");
    }
    note.push(']');
    let breaks = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
    let mut short = format!("{head}{breaks}{note}\n{tail}");
    // The limits may be too small even for the note.
    short.truncate(floor_char_boundary(&short, limits.output_bytes));
    short
}

fn fits(text: &str, limits: &ToolLimits) -> bool {
    text.len() <= limits.output_bytes && text.lines().count() <= limits.output_lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(output_lines: usize, output_bytes: usize) -> ToolLimits {
        ToolLimits { output_lines, output_bytes, ..ToolLimits::default() }
    }

    #[test]
    fn stays_within_the_limits() {
        let path = AbsPath::new("/var/tmp/a-folder/of-a-session/outputs/tool_1.txt").unwrap();
        for text in
            ["", "a", &"ü".repeat(5_000), &"line\n".repeat(3_000), &"\n".repeat(9_000), &"🦀\n".repeat(900)]
        {
            for (lines, bytes) in [(2_000, 50_000), (10, 50_000), (2_000, 1_000), (5, 400), (3, 201), (3, 90)]
            {
                let limits = limits(lines, bytes);
                let lost = Lost { lines: 7, bytes: 99 };
                for capped in [cap(text.to_owned(), &limits), shorten(text, lost, &limits, Some(&path))] {
                    assert!(capped.len() <= bytes, "{} bytes of {bytes}", capped.len());
                    assert!(capped.lines().count() <= lines, "{} lines of {lines}", capped.lines().count());
                }
            }
        }
    }

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end_and_counts_what_is_left_out() {
        let text: String = (1..=100).map(|line| format!("line {line}\n")).collect();
        let short = cap(text.clone(), &limits(11, 10_000));
        assert_eq!(
            short,
            "line 1\nline 2\nline 3\n[output truncated: 90 lines (714 bytes) are left out here]\n\
             line 94\nline 95\nline 96\nline 97\nline 98\nline 99\nline 100\n"
        );
        assert_eq!(cap(text.clone(), &limits(100, 10_000)), text);
        let one_line = "x".repeat(9_000);
        let short = cap(one_line, &limits(10, 1_000));
        assert!(
            short.contains("x\n[output truncated: 1 lines (8200 bytes) are left out here]\nx"),
            "{short}"
        );
        let path = AbsPath::new("/v/tool_1.txt").unwrap();
        let short = shorten(&text, Lost { lines: 10, bytes: 100 }, &limits(11, 10_000), Some(&path));
        let note = "100 lines (814 bytes) are left out here. More of it is in /v/tool_1.txt: read it with";
        assert!(short.contains(note), "{short}");
    }
}
