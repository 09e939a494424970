//! Alternative readings of an old and a new text that a model wrote with formatting mistakes:
//! printed line numbers, HTML entities, or one level of backslashes too many.

/// A formatting mistake that was corrected, or a difference that was ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::tools) enum Step {
    /// `&lt;` for `<` and the like.
    Entities,
    /// `\n` for a line ending, `\"` for a quote and the like.
    Backslashes,
    /// Line numbers printed before lines.
    LineNumbers,
    /// Trailing blanks.
    TrailingBlanks,
    /// Look-alike quotes, dashes, blanks and dots.
    LookAlikes,
    /// The same lines with consistently different indentation.
    Indentation,
}

impl Step {
    /// Returns a description that completes a sentence beginning with "matched after".
    fn said(self) -> &'static str {
        match self {
            Self::Entities => "reading HTML entities as characters",
            Self::Backslashes => "removing one level of backslashes",
            Self::LineNumbers => "removing the printed line numbers",
            Self::TrailingBlanks => "ignoring blanks at line ends",
            Self::LookAlikes => "treating look-alike characters (quotes, dashes, blanks) as equal",
            Self::Indentation => "adapting the indentation to the file's",
        }
    }
}

/// Returns `matched after …` with the steps needed to find a text; empty if there were none.
pub(in crate::tools) fn matched_after(steps: &[Step]) -> String {
    let said: Vec<_> = steps.iter().map(|step| step.said()).collect();
    match said.as_slice() {
        [] => String::new(),
        said => format!("matched after {}", said.join(", ")),
    }
}

/// An old and a new text under one reading.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Spelling {
    /// The mistakes that were corrected.
    pub(super) steps: Vec<Step>,
    pub(super) old: String,
    pub(super) new: String,
}

impl Spelling {
    /// Returns the readings of two texts, the verbatim one first. A reading under which the new
    /// text is ambiguous is left out: nothing is guessed.
    pub(super) fn all(old: &str, new: &str) -> Vec<Self> {
        let as_it_is = Self { steps: Vec::new(), old: old.to_owned(), new: new.to_owned() };
        let undone = |step, read: Option<(String, String)>| {
            read.filter(|(read, _)| read != old).map(|(old, new)| Self { steps: vec![step], old, new })
        };
        let readings = [
            Some(as_it_is),
            undone(Step::Entities, without_entities(old, new)),
            undone(Step::Backslashes, without_backslashes(old, new, true)),
            undone(Step::Backslashes, without_backslashes(old, new, false)),
        ];
        let mut all = Vec::new();
        for reading in readings.into_iter().flatten() {
            let unnumbered = without_numbers(&reading.old, &reading.new).map(|(old, new)| Self {
                steps: reading.steps.iter().copied().chain([Step::LineNumbers]).collect(),
                old,
                new,
            });
            all.push(reading);
            all.extend(unnumbered);
        }
        all
    }
}

pub(super) const ENTITIES: [(&str, &str); 7] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&apos;", "'"),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    // Last, so that its result is not decoded again.
    ("&amp;", "&"),
];

fn without_entities(old: &str, new: &str) -> Option<(String, String)> {
    let has_entities = |text: &str| ENTITIES.iter().any(|(entity, _)| text.contains(entity));
    let decoded =
        |text: &str| ENTITIES.iter().fold(text.to_owned(), |text, (from, to)| text.replace(from, to));
    if !has_entities(old) {
        return None;
    }
    let new = match has_entities(new) {
        false => new.to_owned(),
        // Both forms in one text: it is ambiguous which of them is meant.
        true if new.contains(['<', '>']) => return None,
        true => decoded(new),
    };
    Some((decoded(old), new))
}

/// Removes one level of backslashes: all escapes, or all except those of line endings and tabs.
fn without_backslashes(old: &str, new: &str, line_ends: bool) -> Option<(String, String)> {
    let read_old = unescaped(old, line_ends);
    if read_old == old {
        return None;
    }
    let controls =
        |text: &str| unescaped(text, true).matches(['\n', '\t']).count() > text.matches(['\n', '\t']).count();
    let breaks_lines = line_ends && controls(old);
    let has_bare_quote = |text: &str| odd_quotes(text).next().is_some();
    let is_as_meant = match breaks_lines {
        // The new text already has real line endings.
        true => new.contains('\n') && !old.trim_end_matches('\n').contains('\n'),
        false => has_bare_quote(new) && !has_bare_quote(old),
    };
    if is_as_meant || unescaped(new, true) == new {
        return Some((read_old, new.to_owned()));
    }
    // `\n` in a text with no other mistake, or within quotes: it could mean a line ending or the
    // two characters.
    if line_ends && controls(new) && (!breaks_lines || has_escape_in_quotes(new)) {
        return None;
    }
    Some((read_old, unescaped(new, line_ends)))
}

/// Returns the positions of double quotes that no backslash precedes.
fn odd_quotes(text: &str) -> impl Iterator<Item = usize> {
    text.match_indices('"').map(|(at, _)| at).filter(|&at| !text[..at].ends_with('\\'))
}

/// Whether a `\n` escape follows an even number of quotes, that is, lies outside quotes.
pub(super) fn has_break_outside_quotes(text: &str) -> bool {
    text.match_indices("\\n").any(|(at, _)| odd_quotes(&text[..at]).count().is_multiple_of(2))
}

/// Whether a `\n` or `\t` escape follows an odd number of quotes, that is, lies within quotes.
fn has_escape_in_quotes(text: &str) -> bool {
    let escapes = ["\\n", "\\t"].iter().flat_map(|escape| text.match_indices(escape));
    escapes.into_iter().any(|(at, _)| odd_quotes(&text[..at]).count() % 2 == 1)
}

/// Removes one level of backslashes; `line_ends` selects whether those of line endings and tabs are
/// included.
pub(in crate::tools) fn unescaped(text: &str, line_ends: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let escape = &rest[at..];
        let (is, length) = match escape.as_bytes().get(1) {
            Some(b'n') if line_ends => ("\n", 2),
            Some(b't') if line_ends => ("\t", 2),
            Some(b'r') if line_ends && escape.starts_with("\\r\\n") => ("\n", 4),
            Some(b'"') => ("\"", 2),
            Some(b'\'') => ("'", 2),
            Some(b'`') => ("`", 2),
            Some(b'/') => ("/", 2),
            Some(b'\\') => ("\\", 2),
            _ => ("\\", 1),
        };
        out.push_str(is);
        rest = &escape[length..];
    }
    out + rest
}

/// The characters that separate a printed number from its line.
const SEPARATORS: [char; 4] = ['\t', '→', '|', ':'];

/// Splits a line into its printed number, the separator and the rest.
fn numbered(line: &str) -> Option<(usize, char, &str)> {
    let line = line.trim_start_matches(' ');
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let number = line[..digits].parse().ok().filter(|_| digits <= 7)?;
    let rest = line[digits..].trim_start_matches(' ');
    let separator = rest.chars().next().filter(|first| SEPARATORS.contains(first))?;
    Some((number, separator, &rest[separator.len_utf8()..]))
}

fn without_numbers(old: &str, new: &str) -> Option<(String, String)> {
    let lines: Vec<_> = old.lines().map(numbered).collect();
    let (first, separator, _) = lines.first().copied().flatten()?;
    let is_next = |(index, line): (usize, &Option<(usize, char, &str)>)| match line {
        Some((number, by, _)) => *number == first + index && *by == separator,
        None => old.lines().nth(index).is_some_and(|line| line.trim().is_empty()),
    };
    if !lines.iter().enumerate().all(is_next) {
        return None;
    }
    // In `12| line`, the blank belongs to the separator if it occurs in every line.
    let is_padded = matches!(separator, '|' | ':')
        && lines.iter().flatten().all(|(_, _, line)| line.is_empty() || line.starts_with(' '));
    let bare = |line: &str| match numbered(line) {
        Some((_, by, line)) if by == separator => {
            line.strip_prefix(' ').filter(|_| is_padded).unwrap_or(line).to_owned()
        }
        _ => line.to_owned(),
    };
    let stripped = |text: &str| {
        let body: Vec<_> = text.lines().map(bare).collect();
        body.join("\n") + if text.ends_with('\n') { "\n" } else { "" }
    };
    let has_number = |line: &&str| numbered(line).is_some_and(|(_, by, _)| by == separator);
    let filled_lines = || new.lines().filter(|line| !line.trim().is_empty());
    let some = filled_lines().any(|line| has_number(&line));
    // A line may itself begin with a number and a colon.
    if some && matches!(separator, '|' | ':') && !filled_lines().all(|line| has_number(&line)) {
        return None;
    }
    Some((stripped(old), if some { stripped(new) } else { new.to_owned() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(old: &str, new: &str) -> Vec<(Vec<Step>, String, String)> {
        Spelling::all(old, new).into_iter().skip(1).map(|read| (read.steps, read.old, read.new)).collect()
    }

    #[test]
    fn printed_line_numbers_are_taken_off() {
        for (old, new, expected) in [
            ("7\tlet a;\n8\t\n9\tb", "7\tlet c;\n8\td", Some(("let a;\n\nb", "let c;\nd"))),
            ("  7→let a;", "let c;", Some(("let a;", "let c;"))),
            ("7| a\n8|   b\n", "7| c\n", Some(("a\n  b\n", "c\n"))),
            ("7|a\n8|  b", "7|a", Some(("a\n  b", "a"))),
            ("7: a\n8: b", "c", Some(("a\nb", "c"))),
            ("7\ta\n8\tb", "7\ta\nnew line\n8\tb", Some(("a\nb", "a\nnew line\nb"))),
            // Not consecutive line numbers.
            ("7\ta\n9\tb", "c", None),
            ("7\ta\nb", "c", None),
            ("7\ta\n8→b", "c", None),
            ("a", "b", None),
            // It may be a key.
            ("7: a\n8: b", "7: a\nnew", None),
        ] {
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(old, new)| (vec![Step::LineNumbers], old.into(), new.into()))
                .collect();
            assert_eq!(read(old, new), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn entities_are_characters() {
        for (old, new, expected) in [
            ("a &lt; b &amp;&amp; c", "a &gt; b", Some(("a < b && c", "a > b"))),
            ("x = &quot;a&#39;&quot;", "x = 1", Some(("x = \"a'\"", "x = 1"))),
            ("&amp;lt;", "&amp;gt;", Some(("&lt;", "&gt;"))),
            ("a &lt; b", "a <= b", Some(("a < b", "a <= b"))),
            ("a &lt; b", "<b>&lt;</b>", None),
            ("a < b", "a &gt; b", None),
        ] {
            let expected: Vec<_> = expected
                .into_iter()
                .map(|(old, new)| (vec![Step::Entities], old.into(), new.into()))
                .collect();
            assert_eq!(read(old, new), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn a_level_of_backslashes_is_taken_off() {
        for (old, new, line_ends, expected) in [
            ("a();\\n\\tb();", "a();\\n\\tc();", true, Some(("a();\n\tb();", "a();\n\tc();"))),
            ("a();\\r\\nb();", "c();", true, Some(("a();\nb();", "c();"))),
            (
                "say(\\\"a\\\\n\\\");\\nx",
                "say(\\\"b\\\\n\\\");",
                true,
                Some(("say(\"a\\n\");\nx", "say(\"b\\n\");")),
            ),
            // The new text is as intended.
            ("a();\\nb();", "a();\nprint(\"x\\n\");", true, Some(("a();\nb();", "a();\nprint(\"x\\n\");"))),
            ("say(\\\"a\\\")", "say(\"b\\n\")", true, Some(("say(\"a\")", "say(\"b\\n\")"))),
            // The `\n` in it is ambiguous.
            ("a();\\nb();", "print(\"x\\n\");\\nc();", true, None),
            ("say(\\\"a\\\")", "say(\\\"b\\n\\\")", true, None),
            ("say(\\\"a\\\")", "say(\\\"b\\n\\\")", false, Some(("say(\"a\")", "say(\"b\\n\")"))),
            ("\\d+", "\\w+", true, None),
            ("a", "\\n", true, None),
        ] {
            let expected = expected.map(|(old, new): (&str, &str)| (old.to_owned(), new.to_owned()));
            assert_eq!(without_backslashes(old, new, line_ends), expected, "{old:?} {new:?}");
        }
    }

    #[test]
    fn faults_come_together() {
        let readings = read("7\\ta &lt; b", "7\\tc");
        assert_eq!(readings.len(), 3, "{readings:?}");
        assert!(readings.contains(&(
            vec![Step::Backslashes, Step::LineNumbers],
            "a &lt; b".into(),
            "c".into()
        )));
        assert_eq!(
            matched_after(&[Step::Backslashes, Step::LineNumbers]),
            "matched after removing one level of backslashes, removing the printed line numbers"
        );
        assert_eq!(matched_after(&[]), "");
    }
}
