//! The patch format, parsed. Pure.

use crate::tools::path::GivenPath;

/// What a patch does to one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operation {
    /// Creates it with a text.
    Add { path: GivenPath, text: String },
    /// Changes it, and perhaps moves it.
    Update { path: GivenPath, move_to: Option<GivenPath>, hunks: Vec<Hunk> },
    /// Deletes it.
    Delete { path: GivenPath },
}

/// A change of neighbouring lines.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Hunk {
    /// Lines that stand, one after another but not side by side, above the change.
    pub(super) anchors: Vec<String>,
    /// The lines, in order.
    pub(super) lines: Vec<Line>,
    /// Whether the change is at the end of the file.
    pub(super) at_end: bool,
}

/// A line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// Stays.
    Keep(String),
    /// Goes.
    Remove(String),
    /// Comes.
    Add(String),
}

/// Why a text is no patch. Lines count from 1, the patch's first line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum ParseError {
    #[error("Patch cannot be empty.")]
    Empty,
    #[error("Patch must begin with '*** Begin Patch' and end with '*** End Patch'.")]
    Frame,
    #[error("Patch names no file between '*** Begin Patch' and '*** End Patch'.")]
    NoFiles,
    #[error("Patch line {line}: {what}: {text}")]
    Line { line: usize, what: &'static str, text: String },
    #[error("Patch line {line}: {path} has no changes; give at least one hunk with '-' or '+' lines.")]
    NoChanges { line: usize, path: String },
}

impl Operation {
    /// Every path it names.
    pub(super) fn paths(&self) -> impl Iterator<Item = &GivenPath> {
        let (path, other) = match self {
            Self::Add { path, .. } | Self::Delete { path } => (path, None),
            Self::Update { path, move_to, .. } => (path, move_to.as_ref()),
        };
        std::iter::once(path).chain(other)
    }
}

/// Parses a patch. What models often add around it (a code fence, a here-document) is passed over.
pub(super) fn parse(patch: &str) -> Result<Vec<Operation>, ParseError> {
    if patch.trim().is_empty() {
        return Err(ParseError::Empty);
    }
    let lines: Vec<&str> = patch.lines().collect();
    let at = |marker: &str| lines.iter().position(|line| line.trim() == marker);
    let begin = at("*** Begin Patch").ok_or(ParseError::Frame)?;
    let end = lines.iter().rposition(|line| line.trim() == "*** End Patch").ok_or(ParseError::Frame)?;
    if end < begin || !lines[..begin].iter().chain(&lines[end + 1..]).all(|line| is_wrapping(line)) {
        return Err(ParseError::Frame);
    }
    let mut parser = Parser { lines: &lines[..end], at: begin + 1 };
    let mut operations = Vec::new();
    while let Some(line) = parser.peek() {
        if line.trim().is_empty() {
            parser.at += 1;
            continue;
        }
        operations.push(parser.operation()?);
    }
    if operations.is_empty() { Err(ParseError::NoFiles) } else { Ok(operations) }
}

fn is_wrapping(line: &str) -> bool {
    let line = line.trim();
    line.is_empty()
        || line.starts_with("```")
        || line.contains("<<")
        || line.trim_matches(['\'', '"']) == "EOF"
}

struct Parser<'a> {
    lines: &'a [&'a str],
    at: usize,
}

impl<'a> Parser<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.lines.get(self.at).copied()
    }

    fn wrong<T>(&self, what: &'static str) -> Result<T, ParseError> {
        let text = self.peek().unwrap_or_default().chars().take(200).collect();
        Err(ParseError::Line { line: self.at + 1, what, text })
    }

    /// Takes a line that begins with a marker; what follows the marker, trimmed.
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
            return Ok(Operation::Add { path, text: self.added()? });
        }
        if let Some(path) = self.path("*** Delete File:")? {
            return Ok(Operation::Delete { path });
        }
        let header = self.at + 1;
        let Some(path) = self.path("*** Update File:")? else {
            return self.wrong("expected '*** Add File: ', '*** Update File: ' or '*** Delete File: '");
        };
        let move_to = self.path("*** Move to:")?;
        let hunks = self.hunks()?;
        if hunks.is_empty() && move_to.is_none() {
            return Err(ParseError::NoChanges { line: header, path: path.to_string() });
        }
        Ok(Operation::Update { path, move_to, hunks })
    }

    fn added(&mut self) -> Result<String, ParseError> {
        let mut text = String::new();
        while !self.at_header() {
            let Some(line) = self.peek() else { break };
            let Some(line) = line.strip_prefix('+') else {
                return self.wrong("every line of an added file must begin with '+'");
            };
            text.push_str(line);
            text.push('\n');
            self.at += 1;
        }
        Ok(text)
    }

    /// Whether a file's part ends here: at a marker, or at blank lines before one.
    fn at_header(&self) -> bool {
        let next = self.lines[self.at.min(self.lines.len())..].iter().find(|line| !line.trim().is_empty());
        let ends = next.is_none_or(|line| line.starts_with("*** ") && line.trim_end() != "*** End of File");
        ends && self.peek().is_none_or(|line| line.trim().is_empty() || line.starts_with("*** "))
    }

    fn hunks(&mut self) -> Result<Vec<Hunk>, ParseError> {
        let mut hunks = Vec::new();
        while !self.at_header() {
            let start = self.at;
            let mut hunk = Hunk::default();
            while let Some(anchor) = self.marked("@@") {
                hunk.anchors.extend(anchor_text(anchor));
            }
            while !self.at_header() && self.peek().is_some_and(|line| !line.starts_with("@@")) {
                if self.marked("*** End of File").is_some() {
                    hunk.at_end = true;
                    break;
                }
                let line = self.line()?;
                hunk.lines.push(line);
                self.at += 1;
            }
            if hunk.lines.iter().all(|line| matches!(line, Line::Keep(_))) {
                self.at = start;
                return self.wrong("this hunk changes nothing; give '-' and '+' lines");
            }
            hunks.push(hunk);
        }
        Ok(hunks)
    }

    fn line(&self) -> Result<Line, ParseError> {
        let line = self.peek().unwrap_or_default();
        match (line.chars().next(), line.get(1..)) {
            // Models leave out the blank that stands before an empty line.
            (None, _) => Ok(Line::Keep(String::new())),
            (Some(' '), Some(rest)) => Ok(Line::Keep(rest.to_owned())),
            (Some('-'), Some(rest)) => Ok(Line::Remove(rest.to_owned())),
            (Some('+'), Some(rest)) => Ok(Line::Add(rest.to_owned())),
            _ => self.wrong("a line of a hunk must begin with ' ', '-' or '+'"),
        }
    }
}

/// The line an `@@` names. Line numbers, as in unified diffs, say nothing here.
fn anchor_text(anchor: &str) -> Option<String> {
    let numbers = anchor.strip_prefix('-').and_then(|rest| rest.split_once("@@"));
    let text = match numbers {
        Some((_, after)) => after.trim(),
        None => anchor,
    };
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn path(given: &str) -> GivenPath {
        GivenPath::try_from(given.to_owned()).unwrap()
    }

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
        };
        let expected = vec![
            Operation::Add { path: path("a"), text: "one\n\n".into() },
            Operation::Update { path: path("b c"), move_to: Some(path("d")), hunks: vec![hunk] },
            Operation::Delete { path: path("e") },
        ];
        assert_eq!(parse(patch), Ok(expected.clone()));
        assert_eq!(parse(&format!("```\n{patch}\n```\n")), Ok(expected.clone()));
        assert_eq!(parse(&format!("apply_patch <<'EOF'\n{patch}\nEOF")), Ok(expected));
    }

    #[test]
    fn says_what_is_wrong() {
        for (patch, expected) in [
            (" \n", "Patch cannot be empty."),
            ("*** Update File: a", "Patch must begin with '*** Begin Patch' and end with '*** End Patch'."),
            (
                "*** End Patch\n*** Begin Patch",
                "Patch must begin with '*** Begin Patch' and end with '*** End Patch'.",
            ),
            (
                "*** Begin Patch\n*** End Patch",
                "Patch names no file between '*** Begin Patch' and '*** End Patch'.",
            ),
            (
                "*** Begin Patch\nhello\n*** End Patch",
                "Patch line 2: expected '*** Add File: ', '*** Update File: ' or '*** Delete File: ': hello",
            ),
            ("*** Begin Patch\n*** Add File:\n+a\n*** End Patch", "Patch line 2: not a path: *** Add File:"),
            (
                "*** Begin Patch\n*** Add File: a\nx\n*** End Patch",
                "Patch line 3: every line of an added file must begin with '+': x",
            ),
            (
                "*** Begin Patch\n*** Update File: a\n*** End Patch",
                "Patch line 2: a has no changes; give at least one hunk with '-' or '+' lines.",
            ),
            (
                "*** Begin Patch\n*** Update File: a\n@@\n x\n*** End Patch",
                "Patch line 3: this hunk changes nothing; give '-' and '+' lines: @@",
            ),
            (
                "*** Begin Patch\n*** Update File: a\n@@\n-x\n?\n*** End Patch",
                "Patch line 5: a line of a hunk must begin with ' ', '-' or '+': ?",
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
