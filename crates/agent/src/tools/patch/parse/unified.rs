//! The parser of unified diffs, as written by `git diff` and `diff -u`. Their counts and line
//! numbers are ignored, because models get them wrong.

use super::{Line, Operation, ParseError, Parser};
use crate::tools::path::GivenPath;

/// The information in the lines before a file's first hunk.
#[derive(Default)]
struct Headers<'a> {
    old: Option<&'a str>,
    new: Option<&'a str>,
    is_rename: bool,
    is_deletion: bool,
    is_creation: bool,
    /// Whether the file is executable afterwards, if its mode is given.
    executable: Option<bool>,
}

/// Header lines of `git diff` that do not affect the result.
const PASSED_OVER: [&str; 6] =
    ["index ", "Index: ", "old mode ", "similarity index ", "dissimilarity index ", "====="];

const NOWHERE: &str = "/dev/null";

impl<'a> Parser<'a> {
    /// Whether the part of one file in a unified diff begins here.
    pub(super) fn at_unified(&self) -> bool {
        self.at_file_headers()
            || self.peek().is_some_and(|line| line.starts_with("diff --git ") || line.starts_with("Index: "))
    }

    /// Whether the next two lines name the old and the new file.
    pub(super) fn at_file_headers(&self) -> bool {
        let line = |ahead: usize| self.lines.get(self.at + ahead).copied().unwrap_or_default();
        let is_last = line(2).trim().is_empty() || line(2).starts_with("@@") || line(2).starts_with("*** ");
        line(0).starts_with("--- ") && line(1).starts_with("+++ ") && is_last
    }

    /// Parses the part of one file.
    pub(super) fn unified(&mut self) -> Result<Option<Operation>, ParseError> {
        let start = self.at;
        let headers = self.headers()?;
        let hunks = self.hunks()?;
        let (old, new) = match (headers.old, headers.new) {
            (Some(old), Some(new)) => (old, new),
            _ => {
                self.at = start;
                return self.wrong("a diff must name its file with '--- ' and '+++ '");
            }
        };
        // A directory may be called `a`, so the prefixes denote the sides only if both are present.
        let is_old = |path: &str| path.starts_with("a/") || path == NOWHERE;
        let is_new = |path: &str| path.starts_with("b/") || path == NOWHERE;
        let has_sides = is_old(old) && is_new(new);
        let path = |given: &'a str| match GivenPath::try_from(
            if has_sides { &given[2..] } else { given }.to_owned(),
        ) {
            Ok(path) => Ok(path),
            Err(_) => Err(ParseError::Line { line: start + 1, what: "not a path", text: given.to_owned() }),
        };
        if new == NOWHERE || headers.is_deletion {
            return Ok(Some(Operation::Delete { path: path(old)? }));
        }
        if old == NOWHERE || headers.is_creation {
            let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
            let text = lines.filter_map(|line| match line {
                Line::Add(line) => Some(format!("{line}\n")),
                Line::Keep(_) | Line::Remove(_) => None,
            });
            return Ok(Some(Operation::Add {
                path: path(new)?,
                text: text.collect(),
                executable: headers.executable,
            }));
        }
        let (old_path, new_path) = (path(old)?, path(new)?);
        let moves = headers.is_rename || old_path != new_path;
        if hunks.is_empty() && !moves && headers.executable.is_none() {
            return Ok(None);
        }
        let move_to = moves.then_some(new_path);
        Ok(Some(Operation::Update { path: old_path, move_to, hunks, executable: headers.executable }))
    }

    fn headers(&mut self) -> Result<Headers<'a>, ParseError> {
        let mut headers = Headers::default();
        let mut is_first = true;
        while let Some(line) = self.peek() {
            if self.at_file_headers() {
                headers.old = Some(name(&line[4..]));
                headers.new = self.lines.get(self.at + 1).map(|line| name(&line[4..]));
                self.at += 2;
                break;
            }
            if let Some(names) = line.strip_prefix("diff --git ").filter(|_| is_first) {
                let names = names.trim_end();
                let middle = names.find(" b/").or_else(|| names.find(' ')).unwrap_or(names.len());
                headers.old = Some(&names[..middle]);
                headers.new = names.get(middle + 1..);
            } else if line.starts_with("rename ") || line.starts_with("copy ") {
                headers.is_rename = true;
            } else if let Some(mode) = line.strip_prefix("new file mode ") {
                headers.is_creation = true;
                headers.executable = executable(mode);
            } else if let Some(mode) = line.strip_prefix("new mode ") {
                headers.executable = executable(mode);
            } else if line.starts_with("deleted file mode ") {
                headers.is_deletion = true;
            } else if line.starts_with("Binary files ") || line.starts_with("GIT binary patch") {
                return self.wrong("a change of a binary file cannot be applied; use bash");
            } else if !PASSED_OVER.iter().any(|start| line.starts_with(start)) {
                break;
            }
            is_first = false;
            self.at += 1;
        }
        Ok(headers)
    }
}

/// Returns whether a mode that git writes is that of an executable file; `None` for other modes.
fn executable(mode: &str) -> Option<bool> {
    match mode.trim() {
        "100755" => Some(true),
        "100644" => Some(false),
        _ => None,
    }
}

/// Returns the path of a header, without the timestamp that may follow it.
fn name(header: &str) -> &str {
    header.split('\t').next().unwrap_or_default().trim().trim_matches('"')
}

#[cfg(test)]
mod tests {
    use super::super::{Hunk, parse};
    use super::*;

    fn path(given: &str) -> GivenPath {
        GivenPath::try_from(given.to_owned()).unwrap()
    }

    fn update(from: &str, move_to: Option<&str>) -> Operation {
        let lines = vec![Line::Keep("keep".into()), Line::Remove("old".into()), Line::Add("new".into())];
        let hunk = Hunk { lines, numbered: true, ..Hunk::default() };
        Operation::Update {
            path: path(from),
            move_to: move_to.map(path),
            hunks: vec![hunk],
            executable: None,
        }
    }

    const HUNK: &str = "@@ -7,99 +3,1 @@\n keep\n-old\n+new\n";

    #[test]
    fn unified_diffs_are_patches() {
        for (diff, expected) in [
            (format!("--- a/x/y\n+++ b/x/y\n{HUNK}"), update("x/y", None)),
            (format!("--- x/y\t2026-01-01\n+++ x/y\t2026-01-02\n{HUNK}"), update("x/y", None)),
            (format!("--- a/y\n+++ a/y\n{HUNK}"), update("a/y", None)),
            (format!("diff --git a/y b/y\nindex 1..2 100644\n--- a/y\n+++ b/y\n{HUNK}"), update("y", None)),
            (format!("```diff\n--- a/y\n+++ b/y\n{HUNK}```"), update("y", None)),
            (format!("*** Begin Patch\n--- a/y\n+++ b/y\n{HUNK}*** End Patch"), update("y", None)),
            (format!("--- a/y\n+++ b/y\n{HUNK}\\ No newline at end of file"), update("y", None)),
            (
                format!("diff --git a/y b/z\nsimilarity index 90%\nrename from y\nrename to z\n--- a/y\n+++ b/z\n{HUNK}"),
                update("y", Some("z")),
            ),
            (
                "diff --git a/y b/z\nsimilarity index 100%\nrename from y\nrename to z\n".to_owned(),
                Operation::Update {
                    path: path("y"),
                    move_to: Some(path("z")),
                    hunks: vec![],
                    executable: None,
                },
            ),
            (
                "diff --git a/y b/y\nnew file mode 100755\n--- /dev/null\n+++ b/y\n@@ -0,0 +1,2 @@\n+one\n+\n".to_owned(),
                Operation::Add { path: path("y"), text: "one\n\n".into(), executable: Some(true) },
            ),
            (
                "diff --git a/y b/y\nold mode 100755\nnew mode 100644\n".to_owned(),
                Operation::Update { path: path("y"), move_to: None, hunks: vec![], executable: Some(false) },
            ),
            (
                "--- a/y\n+++ /dev/null\n@@ -1 +0,0 @@\n-old\n".to_owned(),
                Operation::Delete { path: path("y") },
            ),
        ] {
            assert_eq!(parse(&diff), Ok(vec![expected]), "{diff}");
        }
        let two = format!("--- a/x\n+++ b/x\n{HUNK}--- a/y\n+++ b/y\n{HUNK}");
        assert_eq!(parse(&two), Ok(vec![update("x", None), update("y", None)]));
    }

    #[test]
    fn what_is_no_change_of_text_is_refused() {
        let binary = "diff --git a/y b/y\nindex 1..2\nBinary files a/y and b/y differ";
        assert!(parse(binary).unwrap_err().to_string().contains("binary file"));
        assert!(parse("diff --git a/y b/y\nindex 1..2\n").is_err());
    }
}
