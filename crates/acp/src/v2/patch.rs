//! Converts a file change to version 2's form: the kind of change, and a patch in Git's format.

use crate::limits::PATCH_BYTES;
use agent::Diff;
use agent_client_protocol_schema::v2 as acp;
use imara_diff::{Algorithm, InternedInput, Interner, Token, UnifiedDiffConfig, UnifiedDiffPrinter};
use std::fmt::{self, Write};

/// Converts a change. Texts longer than [`PATCH_BYTES`] get no patch.
pub(crate) fn diff(diff: &Diff) -> acp::Diff {
    let path = diff.path.as_std();
    let change = match (&diff.old_text, &diff.new_text) {
        (None, Some(_)) => acp::DiffChange::add(path),
        (Some(_), None) => acp::DiffChange::delete(path),
        _ => acp::DiffChange::modify(path),
    };
    let shown = acp::Diff::new(vec![change.file_type(acp::DiffFileType::Text)]);
    shown.with_patch(patch(diff).map(acp::DiffPatch::new))
}

fn patch(diff: &Diff) -> Option<String> {
    let old = diff.old_text.as_deref().unwrap_or_default();
    let new = diff.new_text.as_deref().unwrap_or_default();
    if old.len() + new.len() > PATCH_BYTES {
        return None;
    }
    let path = quoted(diff.path.as_str());
    let mut patch = format!("diff --git {path} {path}\n");
    let (mut from, mut to) = (path.as_str(), path.as_str());
    if diff.old_text.is_none() {
        patch.push_str("new file mode 100644\n");
        from = "/dev/null";
    }
    if diff.new_text.is_none() {
        patch.push_str("deleted file mode 100644\n");
        to = "/dev/null";
    }
    let input = InternedInput::new(old, new);
    let mut lines = imara_diff::Diff::compute(Algorithm::Histogram, &input);
    lines.postprocess_lines(&input);
    let hunks =
        lines.unified_diff(&Printer(&input.interner), UnifiedDiffConfig::default(), &input).to_string();
    // If there is no difference (an empty file was created), Git omits the two file names.
    if !hunks.is_empty() {
        // Writing to a string does not fail.
        let _ = write!(patch, "--- {from}\n+++ {to}\n{hunks}");
    }
    Some(patch)
}

/// Formats hunks as Git does.
struct Printer<'a>(&'a Interner<&'a str>);

impl UnifiedDiffPrinter for Printer<'_> {
    fn display_header(
        &self,
        mut out: impl Write,
        old_start: u32,
        new_start: u32,
        old_len: u32,
        new_len: u32,
    ) -> fmt::Result {
        // Lines count from 1; a side without lines is numbered by the line before it.
        let at = |start: u32, len: u32| start + u32::from(len > 0);
        let old = at(old_start, old_len);
        writeln!(out, "@@ -{old},{old_len} +{},{new_len} @@", at(new_start, new_len))
    }

    fn display_context_token(&self, out: impl Write, token: Token) -> fmt::Result {
        self.line(out, ' ', token)
    }

    fn display_hunk(&self, mut out: impl Write, old: &[Token], new: &[Token]) -> fmt::Result {
        old.iter().try_for_each(|token| self.line(&mut out, '-', *token))?;
        new.iter().try_for_each(|token| self.line(&mut out, '+', *token))
    }
}

impl Printer<'_> {
    fn line(&self, mut out: impl Write, mark: char, token: Token) -> fmt::Result {
        let line = self.0[token];
        match line.strip_suffix('\n') {
            Some(line) => writeln!(out, "{mark}{line}"),
            None => writeln!(out, "{mark}{line}\n\\ No newline at end of file"),
        }
    }
}

/// Formats a path as Git does: quoted if it contains characters that a line of a patch cannot.
fn quoted(path: &str) -> String {
    let plain = |byte: u8| (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\';
    if path.bytes().all(plain) {
        return path.to_owned();
    }
    let mut quoted = String::from("\"");
    for byte in path.bytes() {
        match byte {
            b'"' | b'\\' => quoted.extend(['\\', char::from(byte)]),
            byte if plain(byte) => quoted.push(char::from(byte)),
            // Writing to a string does not fail.
            byte => drop(write!(quoted, "\\{byte:03o}")),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use system::AbsPath;

    fn check(path: &str, old: Option<&str>, new: Option<&str>, operation: &str, patch: &str) {
        let changed = Diff {
            path: AbsPath::new(path).unwrap(),
            old_text: old.map(str::to_owned),
            new_text: new.map(str::to_owned),
        };
        let shown = serde_json::to_value(diff(&changed)).unwrap();
        let expected = json!({
            "changes": [{"operation": operation, "path": path, "fileType": "text"}],
            "patch": {"format": "git_patch", "text": patch},
        });
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_patch_has_the_format_of_git() {
        check(
            "/w/a",
            Some("1\n2\n"),
            Some("1\n3\n"),
            "modify",
            "diff --git /w/a /w/a\n--- /w/a\n+++ /w/a\n@@ -1,2 +1,2 @@\n 1\n-2\n+3\n",
        );
        check(
            "/w/new",
            None,
            Some("x\n"),
            "add",
            "diff --git /w/new /w/new\nnew file mode 100644\n--- /dev/null\n+++ /w/new\n@@ -0,0 +1,1 @@\n+x\n",
        );
        check(
            "/w/a",
            Some("1\n2"),
            Some("1\n2\n"),
            "modify",
            "diff --git /w/a /w/a\n--- /w/a\n+++ /w/a\n@@ -1,2 +1,2 @@\n 1\n-2\n\\ No newline at end of file\n+2\n",
        );
        check("/w/empty", None, Some(""), "add", "diff --git /w/empty /w/empty\nnew file mode 100644\n");
        check(
            "/w/old",
            Some("x\n"),
            None,
            "delete",
            "diff --git /w/old /w/old\ndeleted file mode 100644\n--- /w/old\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-x\n",
        );
    }

    #[test]
    fn odd_paths_are_quoted_and_long_texts_have_no_patch() {
        assert_eq!(quoted("/w/a b"), "/w/a b");
        assert_eq!(quoted("/w/ü\n\"\\"), r#""/w/\303\274\012\"\\""#);
        let long = Diff {
            path: AbsPath::new("/w/a").unwrap(),
            old_text: Some("x".repeat(PATCH_BYTES)),
            new_text: Some("y".to_owned()),
        };
        assert_eq!(serde_json::to_value(diff(&long)).unwrap().get("patch"), None);
    }
}
