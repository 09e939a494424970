//! Removes what models put around a patch: a code fence, a shell command, indentation.

use crate::tools::edit;

/// Returns the patch without its wrapping. Lines that cannot be distinguished from the patch are
/// kept.
pub(super) fn unwrap(patch: &str) -> String {
    let patch = match super::patch_of_command(patch) {
        Some(inner) => inner,
        None => patch.to_owned(),
    };
    let patch = match patch.trim().contains('\n') {
        true => patch,
        false => edit::unescaped(&patch, true),
    };
    let lines: Vec<&str> = patch.lines().collect();
    let first = lines.iter().position(|line| !is_wrapping(line)).unwrap_or(lines.len());
    let last = lines.iter().rposition(|line| !is_wrapping(line)).map_or(first, |last| last + 1);
    let lines = &lines[first..last.max(first)];
    let indent = lines.first().map_or("", |line| edit::indent_of(line));
    let is_indented = |line: &&str| line.starts_with(indent) || line.trim().is_empty();
    let indent =
        if is_header(lines.first().unwrap_or(&"")) && lines.iter().all(is_indented) { indent } else { "" };
    let line = |line: &&str| match line.strip_prefix(indent).unwrap_or("") {
        line if line.starts_with("***") => line.replace('\u{a0}', " "),
        line => line.to_owned(),
    };
    lines.iter().map(line).collect::<Vec<_>>().join("\n")
}

/// Whether a line can begin a patch.
fn is_header(line: &str) -> bool {
    ["*** ", "***\u{a0}", "diff --git ", "--- ", "Index: "]
        .iter()
        .any(|mark| line.trim_start().starts_with(mark))
}

fn is_wrapping(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || line.starts_with("```")
        || line.starts_with("apply_patch")
        || matches!(line.trim_matches(['\'', '"']), "EOF" | "PATCH")
}
