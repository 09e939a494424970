//! The parser of the patch format. Pure.

mod unified;

use crate::tools::path::GivenPath;

/// The operation of a patch on one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    /// Creates the file with a text.
    Add { path: GivenPath, text: String, executable: Option<bool> },
    /// Changes the file, moves it if `move_to` is given, and makes it executable or not if
    /// `executable` is given.
    Update { path: GivenPath, move_to: Option<GivenPath>, hunks: Vec<Hunk>, executable: Option<bool> },
    /// Deletes the file.
    Delete { path: GivenPath },
}

/// A change of adjacent lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Hunk {
    /// Lines that occur above the change, in this order but not necessarily adjacent.
    pub(super) anchors: Vec<String>,
    /// The hunk's lines, in order.
    pub(super) lines: Vec<Line>,
    /// Whether the change is at the end of the file.
    pub(super) at_end: bool,
    /// Whether the hunk's `@@` contains a line number.
    pub(super) numbered: bool,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// An unchanged line.
    Keep(String),
    /// A removed line.
    Remove(String),
    /// An added line.
    Add(String),
}

/// The reason why a text is not a valid patch. Line numbers are 1-based within the patch.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ParseError {
    #[error("Patch cannot be empty.")]
    Empty,
    #[error(
        "Patch names no file. Begin each file's part with '*** Add File: ', '*** Update File: ' or '*** Delete File: '."
    )]
    NoFiles,
    #[error("Patch line {line}: {what}: {text}")]
    Line { line: usize, what: &'static str, text: String },
    #[error("Patch line {line}: {path} has no changes; give at least one hunk with '-' or '+' lines.")]
    NoChanges { line: usize, path: String },
}

impl Operation {
    /// Returns every path that the operation names.
    pub(super) fn paths(&self) -> impl Iterator<Item = &GivenPath> {
        let (path, other) = match self {
            Self::Add { path, .. } | Self::Delete { path } => (path, None),
            Self::Update { path, move_to, .. } => (path, move_to.as_ref()),
        };
        std::iter::once(path).chain(other)
    }

    /// Returns the same paths, to replace them.
    pub(super) fn paths_mut(&mut self) -> impl Iterator<Item = &mut GivenPath> {
        let (path, other) = match self {
            Self::Add { path, .. } | Self::Delete { path } => (path, None),
            Self::Update { path, move_to, .. } => (path, move_to.as_mut()),
        };
        std::iter::once(path).chain(other)
    }

    /// Returns the paths that an update falls back to: those without git's prefix `a/` or `b/`.
    pub(super) fn paths_without_git_prefix(&self) -> impl Iterator<Item = GivenPath> {
        let updated = matches!(self, Self::Update { .. }).then(|| self.paths());
        updated.into_iter().flatten().filter_map(GivenPath::without_git_prefix)
    }
}

/// Parses a patch or a unified diff. Ignores what models often add around it.
pub(super) fn parse(patch: &str) -> Result<Vec<Operation>, ParseError> {
    if patch.trim().is_empty() {
        return Err(ParseError::Empty);
    }
    let patch = super::unwrap::unwrap(patch);
    let lines: Vec<&str> = patch.lines().collect();
    let mut parser = Parser { lines: &lines, at: 0 };
    let mut operations = Vec::new();
    while let Some(line) = parser.peek() {
        if line.trim().is_empty() || matches!(line.trim_end(), "*** Begin Patch" | "*** End Patch") {
            parser.at += 1;
            continue;
        }
        match parser.at_unified() {
            true => operations.extend(parser.unified()?),
            false => operations.push(parser.operation()?),
        }
    }
    if operations.is_empty() { Err(ParseError::NoFiles) } else { Ok(operations) }
}

pub(super) struct Parser<'a> {
    pub(super) lines: &'a [&'a str],
    pub(super) at: usize,
}

impl<'a> Parser<'a> {
    pub(super) fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    pub(super) fn wrong<T>(&self, what: &'static str) -> Result<T, ParseError> {
        let text = self.peek().unwrap_or_default().chars().take(200).collect();
        Err(ParseError::Line { line: self.at + 1, what, text })
    }

    /// Consumes a line that begins with a marker, and returns the trimmed rest of the line.
    fn marked(&mut self, marker: &str) -> Option<&'a str> {
        let rest = self.peek()?.trim_end().strip_prefix(marker)?;
        self.at += 1;
        Some(rest.trim())
    }

    fn path(&mut self, marker: &str) -> Result<Option<GivenPath>, ParseError> {
        let Some(given) = self.marked(marker) else { return Ok(None) };
        GivenPath::try_from(given.to_owned()).map(Some).or_else(|_| {
            self.at -= 1;
            self.wrong("not a path")
        })
    }

    fn operation(&mut self) -> Result<Operation, ParseError> {
        if let Some(path) = self.path("*** Add File:")? {
            return Ok(Operation::Add { path, text: self.added()?, executable: None });
        }
        if let Some(path) = self.path("*** Delete File:")? {
            return Ok(Operation::Delete { path });
        }
        let header = self.at + 1;
        let Some(path) = self.path("*** Update File:")? else {
            return self.wrong("expected '*** Add File: ', '*** Update File: ' or '*** Delete File: '");
        };
        let move_to = self.path("*** Move to:")?;
        // The headers of a unified diff add no information here.
        if self.at_file_headers() {
            self.at += 2;
        }
        let hunks = self.hunks()?;
        if hunks.is_empty() && move_to.is_none() {
            return Err(ParseError::NoChanges { line: header, path: path.to_string() });
        }
        Ok(Operation::Update { path, move_to, hunks, executable: None })
    }

    fn added(&mut self) -> Result<String, ParseError> {
        let start = self.at;
        let mut lines = Vec::new();
        while !self.at_header() {
            let Some(line) = self.peek() else { break };
            lines.push(line);
            self.at += 1;
        }
        let marked = lines.iter().filter(|line| line.starts_with('+')).count();
        let mut text = String::new();
        for (index, line) in lines.iter().enumerate() {
            match line.strip_prefix('+') {
                Some(line) => text.push_str(line),
                // Either no line is marked with `+`, or only the blank lines are not.
                None if marked == 0 => text.push_str(line),
                None if line.trim().is_empty() => {}
                None => {
                    self.at = start + index;
                    return self.wrong("every line of an added file must begin with '+'");
                }
            }
            text.push('\n');
        }
        Ok(text)
    }

    /// Whether a file's part ends here: at a marker, or at blank lines before one.
    fn at_header(&self) -> bool {
        let next = (self.at..self.lines.len()).find(|&at| !self.lines[at].trim().is_empty());
        let Some(next) = next else { return true };
        let line = self.lines[next];
        let ends = line.starts_with("*** ") && line.trim_end() != "*** End of File";
        ends || Parser { lines: self.lines, at: next }.at_unified()
    }

    pub(super) fn hunks(&mut self) -> Result<Vec<Hunk>, ParseError> {
        let mut hunks = Vec::new();
        while !self.at_header() {
            let start = self.at;
            let mut hunk = Hunk::default();
            while let Some(given) = self.marked("@@") {
                let (numbered, anchor) = anchor(given);
                hunk.numbered |= numbered;
                hunk.anchors.extend(anchor);
            }
            let first = self.at;
            while !self.at_header() && self.peek().is_some_and(|line| !line.starts_with("@@")) {
                if self.marked("*** End of File").is_some() {
                    hunk.at_end = true;
                    break;
                }
                self.at += 1;
            }
            let lines = &self.lines[first..self.at - usize::from(hunk.at_end)];
            // A line without a mark is context. If any line has none, a leading blank is taken as
            // part of the line.
            let unmarked = lines
                .iter()
                .any(|line| !line.is_empty() && !line.starts_with([' ', '\u{a0}', '-', '+', '\\']));
            hunk.lines = lines.iter().filter_map(|text| line(text, unmarked)).collect();
            if hunk.lines.iter().all(|line| matches!(line, Line::Keep(_))) {
                self.at = start;
                return self.wrong("this hunk changes nothing; give '-' and '+' lines");
            }
            hunks.push(hunk);
        }
        Ok(hunks)
    }
}

/// Parses a line of a hunk; `None` for the marker of a missing final line ending.
fn line(text: &str, unmarked: bool) -> Option<Line> {
    let rest = || text.chars().skip(1).collect::<String>();
    Some(match text.chars().next() {
        Some('-') => Line::Remove(rest()),
        Some('+') => Line::Add(rest()),
        Some('\\') if text.starts_with("\\ No newline") => return None,
        Some(' ' | '\u{a0}') if !unmarked => Line::Keep(rest()),
        // Models omit the blank before an empty line.
        _ => Line::Keep(text.to_owned()),
    })
}

/// Returns whether an `@@` line contains line numbers, and the line that it names.
fn anchor(given: &str) -> (bool, Option<String>) {
    let text = given.trim_end_matches("@@").trim();
    if let Some(rest) =
        text.strip_prefix('-').filter(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    {
        let after = rest.split_once("@@").map_or("", |(_, after)| after).trim();
        return (true, (!after.is_empty()).then(|| after.to_owned()));
    }
    let words = text.strip_prefix("lines").or_else(|| text.strip_prefix("line")).unwrap_or(text).trim();
    let is_number = !words.is_empty()
        && words.chars().all(|char| char.is_ascii_digit() || matches!(char, '-' | ',' | '+' | ':' | ' '));
    match is_number {
        true => (true, None),
        false => (false, (!text.is_empty()).then(|| text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(given: &str) -> GivenPath {
        GivenPath::try_from(given.to_owned()).unwrap()
    }

    const NO_FILES: &str = "Patch names no file. Begin each file's part with '*** Add File: ', '*** Update File: ' or '*** Delete File: '.";

    const ALL: &str = "*** Begin Patch\n*** Add File: a\n+one\n+\n+two\n*** Update File: b\n@@\n keep\n-old\n+new\n*** Delete File: c\n*** End Patch";

    #[test]
    fn parses_every_part() {
        let patch = "*** Begin Patch\n*** Add File: a\n+one\n+\n*** Update File: b c\n*** Move to: d\n@@ fn x\n@@ -1,2 +3,4 @@ fn y\n keep\n\n-old\n+new\n\
            *** End of File\n\n*** Delete File: e\n*** End Patch";
        let hunk = Hunk {
            anchors: vec!["fn x".into(), "fn y".into()],
            lines: vec![
                Line::Keep("keep".into()),
                Line::Keep(String::new()),
                Line::Remove("old".into()),
                Line::Add("new".into()),
            ],
            at_end: true,
            numbered: true,
        };
        let expected = vec![
            Operation::Add { path: path("a"), text: "one\n\n".into(), executable: None },
            Operation::Update {
                path: path("b c"),
                move_to: Some(path("d")),
                hunks: vec![hunk],
                executable: None,
            },
            Operation::Delete { path: path("e") },
        ];
        assert_eq!(parse(patch), Ok(expected.clone()));
        assert_eq!(parse(&format!("```\n{patch}\n```\n")), Ok(expected.clone()));
        assert_eq!(parse(&format!("apply_patch <<'EOF'\n{patch}\nEOF")), Ok(expected));
    }

    #[test]
    fn forms_that_models_write_are_the_same_patch() {
        let expected = parse(ALL).unwrap();
        assert_eq!(expected.len(), 3);
        let inner = ALL.strip_prefix("*** Begin Patch\n").unwrap().strip_suffix("\n*** End Patch").unwrap();
        for (what, form) in [
            ("no end", format!("*** Begin Patch\n{inner}")),
            ("no begin", format!("{inner}\n*** End Patch")),
            ("no frame", inner.to_owned()),
            ("a fence", format!("```diff\n{ALL}\n```")),
            ("a command", format!("apply_patch <<'EOF'\n{ALL}\nEOF")),
            ("an argument list", serde_json::json!(["apply_patch", ALL]).to_string()),
            ("one line", ALL.replace('\n', "\\n")),
            ("indented", ALL.lines().map(|line| format!("    {line}\n")).collect()),
            ("line ends", ALL.replace('\n', "\r\n")),
            ("two patches", ALL.replace("*** Delete", "*** End Patch\n*** Begin Patch\n*** Delete")),
            ("line hints", ALL.replace("@@", "@@ line 1")),
            ("an added file without marks", ALL.replace("+one\n+\n+two", "one\n\ntwo")),
            ("an added file without marks before blank lines", ALL.replace("+one\n+\n+two", "+one\n\n+two")),
            ("headers of a diff", ALL.replace("File: b\n", "File: b\n--- a/b\n+++ b/b\n")),
        ] {
            let mut parsed = parse(&form).unwrap_or_else(|error| panic!("{what}: {error}"));
            for operation in &mut parsed {
                if let Operation::Update { hunks, .. } = operation {
                    hunks.iter_mut().for_each(|hunk| hunk.numbered = false);
                }
            }
            assert_eq!(parsed, expected, "{what}");
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (patch, expected) in [
            (" \n", "Patch cannot be empty."),
            ("*** Begin Patch\n*** End Patch", NO_FILES),
            ("*** End Patch\n*** Begin Patch", NO_FILES),
            (
                "*** Update File: a",
                "Patch line 1: a has no changes; give at least one hunk with '-' or '+' lines.",
            ),
            (
                "*** Begin Patch\nhello\n*** End Patch",
                "Patch line 2: expected '*** Add File: ', '*** Update File: ' or '*** Delete File: ': hello",
            ),
            ("*** Begin Patch\n*** Add File:\n+a\n*** End Patch", "Patch line 2: not a path: *** Add File:"),
            (
                "*** Begin Patch\n*** Add File: a\n+w\nx\n*** End Patch",
                "Patch line 4: every line of an added file must begin with '+': x",
            ),
            (
                "*** Begin Patch\n*** Update File: a\n*** End Patch",
                "Patch line 2: a has no changes; give at least one hunk with '-' or '+' lines.",
            ),
            (
                "*** Begin Patch\n*** Update File: a\n@@\n x\n*** End Patch",
                "Patch line 3: this hunk changes nothing; give '-' and '+' lines: @@",
            ),
        ] {
            assert_eq!(parse(patch).unwrap_err().to_string(), expected, "{patch:?}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(lines in prop::collection::vec(
            prop_oneof![
                Just("*** Add File: a".to_owned()), Just("*** Update File: b".to_owned()), Just("*** Delete File: c".to_owned()),
                Just("*** Move to: d".to_owned()), Just("*** End of File".to_owned()), Just("*** End Patch".to_owned()),
                Just("*** Begin Patch".to_owned()), Just("@@ x".to_owned()), "[-+ @*ü🦀]{0,4}",
            ], 0..20)
        ) {
            let _ = parse(&format!("*** Begin Patch\n{}\n*** End Patch", lines.join("\n")));
            let _ = parse(&lines.join("\n"));
        }
    }
}
