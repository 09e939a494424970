//! Detects elisions: placeholder lines such as `// ... rest of the code`, which stand for lines
//! that a model left out.

/// Comment openers; longer ones first.
const OPENERS: [&str; 10] = ["<!--", "{/*", "///", "//", "/*", "--", "#", ";", "%", "*"];
/// Comment closers.
const CLOSERS: [&str; 3] = ["*/}", "*/", "-->"];
/// An elision with dots contains one of these words.
const WORDS: [&str; 16] = [
    "rest",
    "remaining",
    "remainder",
    "existing",
    "unchanged",
    "same",
    "previous",
    "omitted",
    "truncated",
    "snip",
    "snipped",
    "code",
    "other",
    "others",
    "etc",
    "keep",
];
/// Beginnings of an elision without dots.
const STARTS: [&str; 12] = [
    "rest of ",
    "the rest of ",
    "remainder of ",
    "existing code",
    "existing imports",
    "existing implementation",
    "existing methods",
    "remaining code",
    "unchanged code",
    "previous code",
    "keep existing",
    "same as before",
];
/// Endings of an elision without dots that continues after its beginning.
const ENDS: [&str; 16] = [
    "code",
    "file",
    "function",
    "method",
    "class",
    "module",
    "content",
    "contents",
    "implementation",
    "imports",
    "methods",
    "here",
    "unchanged",
    "the same",
    "as is",
    "as before",
];

/// Returns the first elision in a text; a line of only three dots counts.
pub(in crate::tools) fn any(text: &str) -> Option<&str> {
    text.lines().map(str::trim).find(|line| matches!(*line, "..." | "…") || is_elision(line))
}

/// Returns the first elision in a new text that occurs in none of the texts from before. A line of
/// only three dots does not count, because it is code in some languages.
pub(in crate::tools) fn added<'a>(new: &'a str, before: &[&str]) -> Option<&'a str> {
    let known = |line: &str| before.iter().any(|text| text.contains(line));
    new.lines().map(str::trim).find(|line| is_elision(line) && !known(line))
}

/// Whether a line is a comment that says lines were left out.
fn is_elision(line: &str) -> bool {
    let Some(opener) = OPENERS.iter().find(|opener| line.starts_with(**opener)) else { return false };
    let body = line[opener.len()..].trim();
    let body = CLOSERS.iter().find_map(|closer| body.strip_suffix(closer)).unwrap_or(body).trim();
    let body = body.trim_matches(['(', ')', '[', ']', '{', '}', ' ']).to_lowercase();
    let is_dots = |char: char| char == '.' || char == '…';
    let bare = body.trim_matches(|char| is_dots(char) || char == ' ' || char == '(' || char == ')');
    let dots =
        body.starts_with("...") || body.starts_with('…') || body.ends_with("...") || body.ends_with('…');
    match dots {
        true => {
            let mut words = bare.split(|char: char| !char.is_alphanumeric());
            bare.is_empty() || words.any(|word| WORDS.contains(&word))
        }
        false => {
            let bare = bare.trim_end_matches(':');
            STARTS.iter().any(|start| bare.starts_with(start)) && ENDS.iter().any(|end| bare.ends_with(end))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_lines_that_stand_for_others() {
        for line in [
            "// ... rest of the code",
            "// ...",
            "# ... existing code ...",
            "# ... (rest of the function unchanged)",
            "/* ... other methods ... */",
            "{/* … existing JSX, unchanged … */}",
            "<!-- ... rest of file ... -->",
            "-- rest of the file unchanged",
            "// rest of code",
            "// The rest of the file stays the same",
            "# existing code here",
            "// [... unchanged ...]",
        ] {
            assert!(is_elision(line), "{line}");
            assert_eq!(any(&format!("a\n  {line}\nb")), Some(line));
            assert_eq!(added(&format!("a\n  {line}\nb"), &["a", "b"]), Some(line));
            assert_eq!(added(line, &["a", &format!("x\n{line}\n")]), None, "it was there before");
        }
        assert_eq!((any("a\n...\nb"), added("a\n...\nb", &[])), (Some("..."), None));
    }

    #[test]
    fn other_comments_are_comments() {
        for line in [
            "// wait for the rest",
            "# existing code paths must not allocate",
            "// the same as above, for bytes",
            "let x = ...; // ...",
            "def f(): ...",
            "// loading...",
            "// a, b, ...",
            "* item",
            "#[test]",
        ] {
            assert!(!is_elision(line), "{line}");
        }
    }
}
