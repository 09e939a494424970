//! The edit engine: replaces text within text and preserves line endings. Pure.

mod as_written;
pub(super) mod elision;
mod indent;
mod locate;
mod spelling;
mod view;
mod weave;

pub(super) use as_written::doubtful;
pub(super) use indent::indent_of;
pub(super) use locate::{Found, Place, Target, Where};
pub(super) use spelling::{Step, matched_after, unescaped};

use imara_diff::{Algorithm, Diff, InternedInput};
use std::ops::Range;

/// The result of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edited {
    /// The whole text.
    pub(super) text: String,
    /// The number of removed lines.
    pub(super) removed: usize,
    /// The number of added lines.
    pub(super) added: usize,
    /// The 1-based line of the first change.
    pub(super) first_line: usize,
    /// The corrections and tolerances applied to find the old text.
    pub(super) steps: Vec<Step>,
}

/// The reason why an edit cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EditError {
    /// The old text is empty.
    EmptyOld,
    /// The old and the new text are equal.
    Same,
    /// The old text does not occur.
    NotFound,
    /// The old text does not occur, and it contains this elision, which stands for omitted lines.
    ElidedOld(String),
    /// The new text contains this elision, which would be written literally.
    ElidedNew(String),
    /// By the reading that found the old text, the old and the new text are equal.
    NoDifference(Vec<Step>),
    /// The old text occurs more than once.
    Ambiguous {
        /// The 1-based lines where the matches begin.
        lines: Vec<usize>,
        /// The corrections and tolerances applied to find the matches.
        steps: Vec<Step>,
    },
}

/// Replaces `old` by `new`: the only occurrence, or with `all` every occurrence. If `old` does not
/// occur verbatim, the looser readings of [`locate`] apply, each only if it finds exactly one
/// match. Line endings match regardless of kind; inserted text takes the line endings of its
/// surroundings.
pub(super) fn apply(text: &str, old: &str, new: &str, all: bool) -> Result<Edited, EditError> {
    if old.is_empty() {
        return Err(EditError::EmptyOld);
    }
    if old.replace("\r\n", "\n") == new.replace("\r\n", "\n") {
        return Err(EditError::Same);
    }
    let which = if all { Where::Everywhere } else { Where::Anywhere };
    let Some(found) = Target::new(text).locate(old, new, which) else {
        return Err(match elision::any(old) {
            Some(line) => EditError::ElidedOld(line.to_owned()),
            None => EditError::NotFound,
        });
    };
    if let Some(line) = elision::added(new, &[text, old]) {
        return Err(EditError::ElidedNew(line.to_owned()));
    }
    let Found { places, steps } = found;
    if places.len() > 1 && !(all && steps.is_empty()) {
        let lines = places.iter().map(|place| line_of(text, place.range.start)).collect();
        return Err(EditError::Ambiguous { lines, steps });
    }
    let first_line = line_of(text, places[0].range.start);
    let places: Vec<_> = places.into_iter().map(|place| (place.range, place.new)).collect();
    let (removed, added) = count(text, &places);
    let after = replace(text, &places);
    match after == text {
        true => Err(EditError::NoDifference(steps)),
        false => Ok(Edited { text: after, removed, added, first_line, steps }),
    }
}

/// Whether most line endings of a text are `\r\n`.
pub(super) fn is_crlf(text: &str) -> bool {
    let crlf = text.matches("\r\n").count();
    crlf * 2 > text.matches('\n').count()
}

/// Converts a text that contains only `\n` to the given line endings.
pub(super) fn with_line_ends(text: &str, crlf: bool) -> String {
    if crlf { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text.to_owned() }
}

/// Returns the numbers of lines removed and added between two texts.
pub(super) fn changed_lines(before: &str, after: &str) -> (usize, usize) {
    let diff = Diff::compute(Algorithm::Histogram, &InternedInput::new(before, after));
    (diff.count_removals() as usize, diff.count_additions() as usize)
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

fn replace(text: &str, places: &[(Range<usize>, String)]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut from = 0;
    for (place, new) in places {
        out.push_str(&text[from..place.start]);
        out.push_str(new);
        from = place.end;
    }
    out.push_str(&text[from..]);
    out
}

/// Counts removed and added lines. Compares only the changed lines, so the cost depends on the
/// changes and not on the size of the text.
fn count(text: &str, places: &[(Range<usize>, String)]) -> (usize, usize) {
    let (mut removed, mut added) = (0, 0);
    let mut places = places;
    while let Some((first, _)) = places.first() {
        let start = text[..first.start].rfind('\n').map_or(0, |at| at + 1);
        let mut end = line_end(text, first.end);
        let mut together = 1;
        while let Some((next, _)) = places.get(together).filter(|(next, _)| next.start < end) {
            end = line_end(text, next.end);
            together += 1;
        }
        let (these, rest) = places.split_at(together);
        let moved: Vec<_> =
            these.iter().map(|(place, new)| (place.start - start..place.end - start, new.clone())).collect();
        let (gone, new) = changed_lines(&text[start..end], &replace(&text[start..end], &moved));
        removed += gone;
        added += new;
        places = rest;
    }
    (removed, added)
}

/// Returns the end of the line that contains a position, including its line ending.
fn line_end(text: &str, at: usize) -> usize {
    text[at..].find('\n').map_or(text.len(), |newline| at + newline + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn replaces_and_keeps_line_ends() {
        for (text, old, new, all, expected, removed, added) in [
            ("a\nb\nc\n", "b", "x", false, "a\nx\nc\n", 1, 1),
            ("a\nb\nc", "c", "d", false, "a\nb\nd", 1, 1),
            ("a\r\nb\r\nc\r\n", "a\nb", "x\ny\nz", false, "x\r\ny\r\nz\r\nc\r\n", 2, 3),
            ("a\r\nb\r\n", "\r\nb", "", false, "a\r\n", 1, 0),
            ("a\nb\n", "a\r\nb", "x\r\ny", false, "x\ny\n", 2, 2),
            ("a\r\nb\nc\n", "b\nc", "x\ny", false, "a\r\nx\ny\n", 2, 2),
            ("a\r\nb\nc\n", "a\nb", "x\ny", false, "x\r\ny\nc\n", 2, 2),
            ("aa\naa\n", "a", "b", true, "bb\nbb\n", 2, 2),
            ("grüße 🦀\n", "🦀", "Krebs", false, "grüße Krebs\n", 1, 1),
            ("a\nb\nc\n", "b\n", "", false, "a\nc\n", 1, 0),
            ("a\nkeep\nb\n", "a\nkeep\nb", "x\nkeep\ny", false, "x\nkeep\ny\n", 2, 2),
            ("\u{feff}a\n", "a", "b", false, "\u{feff}b\n", 1, 1),
            ("a\rb\r\n", "a\rb", "c", false, "c\r\n", 1, 1),
        ] {
            let edited =
                apply(text, old, new, all).unwrap_or_else(|error| panic!("{text:?} {old:?}: {error:?}"));
            assert_eq!(edited.text, expected, "{text:?} {old:?}");
            assert_eq!((edited.removed, edited.added), (removed, added), "{text:?} {old:?}");
        }
    }

    #[test]
    fn refuses_what_does_not_fit() {
        for (text, old, new, all, expected) in [
            ("a", "", "b", false, EditError::EmptyOld),
            ("a", "a", "a", false, EditError::Same),
            ("a\nb", "a\r\nb", "a\nb", false, EditError::Same),
            ("a", "b", "c", false, EditError::NotFound),
            ("a", "b", "c", true, EditError::NotFound),
            ("x\ny\nx\n", "x", "z", false, EditError::Ambiguous { lines: vec![1, 3], steps: vec![] }),
            ("aaa", "aa", "b", false, EditError::Ambiguous { lines: vec![1, 1], steps: vec![] }),
        ] {
            assert_eq!(apply(text, old, new, all), Err(expected), "{text:?} {old:?}");
        }
    }

    /// A file with what models get wrong: tabs, trailing blanks, typographic characters, CRLF.
    const FILE: &str = "fn a() {\n    if x < 1 && y {\n        say(\"it's\");  \n    }\n    done();\n}\n\nfn b() {\n\tgo();\n\tend();\n}\n";

    #[test]
    fn faults_of_form_are_passed_over_where_one_place_is_left() {
        use Step::*;
        for (old, new, steps, gone, come) in [
            // The line numbers that `file_read` prints, in any format.
            (
                "2\t    if x < 1 && y {\n3\t        say(\"it's\");  ",
                "2\t    if x {\n3\t        say(\"it's\");  ",
                &[LineNumbers][..],
                "x < 1 && y {",
                "x {",
            ),
            (" 5→    done();", "    over();", &[LineNumbers], "done();", "over();"),
            ("5|     done();\n6| }", "5|     over();\n6| }", &[LineNumbers], "done();", "over();"),
            // Trailing blanks, in either text.
            ("fn a() {  \n    if x < 1", "fn a() {  \n    if x < 2", &[TrailingBlanks], "x < 1", "x < 2"),
            (
                "say(\"it's\");\n    }\n    done();",
                "say(\"it's\");\n    }\n    over();",
                &[TrailingBlanks],
                "done();",
                "over();",
            ),
            ("done();   ", "over();   ", &[TrailingBlanks], "done();", "over();"),
            // Look-alike characters: inserted text gets the file's characters too.
            (
                "say(“it’s”);",
                "say(“it’s not”, “x”);",
                &[LookAlikes],
                "say(\"it's\");",
                "say(\"it's not\", \"x\");",
            ),
            (
                "\u{a0}\u{a0}\u{a0}\u{a0}done();\n}",
                "\u{a0}\u{a0}\u{a0}\u{a0}over();\n}",
                &[LookAlikes],
                "done();",
                "over();",
            ),
            // Indentation that differs consistently.
            (
                "if x < 1 && y {\n    say(\"it's\");\n}",
                "if x < 1 && y {\n    if z {\n        say(\"it's\");\n    }\n}",
                &[TrailingBlanks, Indentation],
                "        say(\"it's\");  \n",
                "        if z {\n            say(\"it's\");\n        }\n",
            ),
            (
                "    fn b() {\n        go();\n        end();\n    }",
                "    fn b() {\n        go();\n        if z {\n            end();\n        }\n    }",
                &[Indentation],
                "\tend();\n",
                "\tif z {\n\t\tend();\n\t}\n",
            ),
            ("  go();", "  stop();", &[Indentation], "go();", "stop();"),
            // One level of escaping too many.
            ("fn b() {\\n\\tgo();", "fn b() {\\n\\tstop();", &[Backslashes], "go();", "stop();"),
            ("say(\\\"it's\\\");", "say(\\\"its\\\");", &[Backslashes], "it's", "its"),
            ("x &lt; 1 &amp;&amp; y", "x &gt; 1 &amp;&amp; y", &[Entities], "x < 1", "x > 1"),
            // Several mistakes together.
            (
                "9\t    go();\n10\t    end();",
                "9\t    stop();\n10\t    end();",
                &[LineNumbers, Indentation],
                "go();",
                "stop();",
            ),
        ] {
            for crlf in [false, true] {
                let file = with_line_ends(FILE, crlf);
                let edited =
                    apply(&file, old, new, false).unwrap_or_else(|error| panic!("{old:?}: {error:?}"));
                let (gone, come) = (with_line_ends(gone, crlf), with_line_ends(come, crlf));
                assert_eq!(edited.text, file.replacen(&gone, &come, 1), "{old:?}");
                assert_eq!(edited.steps, steps, "{old:?}");
            }
        }
    }

    #[test]
    fn what_could_be_meant_otherwise_is_refused() {
        let twice = "if a {\n    go();\n}\nif b {\n        go();\n}\n";
        for (text, old, new, all, expected) in [
            // Two matches by the same reading, with and without `all`.
            (twice, "\tgo();", "stop();", false, Some((vec![2, 5], vec![Step::Indentation]))),
            (twice, "\tgo();", "stop();", true, Some((vec![2, 5], vec![Step::Indentation]))),
            ("'a'\n'a'\n", "‘a’", "‘b’", false, Some((vec![1, 2], vec![Step::LookAlikes]))),
            // A part of a deeper line, or the line with another indentation.
            (
                "if a {\n        text.push(b);\n    text\n}\n",
                "       text",
                "       text?",
                false,
                Some((vec![2, 3], vec![Step::Indentation])),
            ),
            // Different structure, or mere similarity.
            ("if a:\n    b()\nc()\n", "if a:\n    b()\n    c()", "if a:\n    c()", false, None),
            ("let total = 1;\n", "let totals = 1;", "let total = 2;", false, None),
            // The number is not a line number: it belongs to the text of another line.
            ("4\tfoo\n", "3\tfo", "3\tba", false, None),
            // The new text's indentation would become negative.
            ("a {\n  b\n}\n", "        b", "c", false, None),
            // The new text's `\\n` is ambiguous.
            ("a();\nb();\n", "a();\\nb();", "a(\"\\n\");\\nb();", false, None),
        ] {
            let expected = match expected {
                Some((lines, steps)) => EditError::Ambiguous { lines, steps },
                None => EditError::NotFound,
            };
            assert_eq!(apply(text, old, new, all), Err(expected), "{text:?} {old:?}");
        }
    }

    #[test]
    fn lines_that_stand_for_others_are_refused() {
        let text = "a\nb\nc\nd\n";
        for (old, new, expected) in [
            ("a\n...\nd", "x", EditError::ElidedOld("...".into())),
            ("a\n// ... existing code ...\nd", "x", EditError::ElidedOld("// ... existing code ...".into())),
            ("b", "x\n# ... rest of the code", EditError::ElidedNew("# ... rest of the code".into())),
        ] {
            assert_eq!(apply(text, old, new, false), Err(expected), "{old:?}");
        }
        // Dots that are code, and a comment that was there before.
        for (text, old, new) in [
            ("a\n...\n", "...", "b"),
            ("a\n", "a", "..."),
            ("# ... rest of it\n", "rest of it", "rest of it here"),
        ] {
            apply(text, old, new, false).unwrap_or_else(|error| panic!("{old:?}: {error:?}"));
        }
    }

    #[test]
    fn what_stays_is_as_the_file_has_it() {
        for (text, old, new, expected) in [
            ("a – b\nc\n", "a - b\nc", "a - b\nd", "a – b\nd\n"),
            ("“x” and “y”\n", "\"x\" and \"y\"", "\"x\" or \"y\"", "“x” or “y”\n"),
            ("a  \nb\t\nc\n", "a\nb\nc", "a\nc", "a  \nc\n"),
            ("key: a\n", "key: a   ", "key:", "key:\n"),
            ("a\r\nb\nc\r\n", "a \nb\nc", "a\nb\nd", "a\r\nb\nd\r\n"),
            // New characters that also occur in the file are intended.
            ("“a” b's\n", "b’s", "“b’s”", "“a” “b's”\n"),
        ] {
            let edited = apply(text, old, new, false).unwrap_or_else(|error| panic!("{old:?}: {error:?}"));
            assert_eq!(edited.text, expected, "{old:?}");
        }
    }

    proptest! {
        #[test]
        fn never_panics_and_undoes(text in "[ab\r\nü🦀 ]{0,60}", old in "[ab\r\nü🦀 ]{0,4}", new in "[cd\n]{0,4}", all: bool) {
            if let Ok(edited) = apply(&text, &old, &new, all) {
                prop_assert_ne!(&edited.text, &text);
                // The inserted text is unique, so removing it again restores the original text.
                if !all && edited.steps.is_empty() && new.contains('c') && !text.contains('\r') && !old.contains('\r') && edited.text.matches(&new).count() == 1 {
                    prop_assert_eq!(apply(&edited.text, &new, &old, false).unwrap().text, text);
                }
            }
        }

        #[test]
        fn a_text_without_the_old_one_is_refused(text in "[ab\r\n]{0,60}", new in "[ab\n]{0,4}", all: bool) {
            prop_assert_eq!(apply(&text, "c", &new, all), Err(EditError::NotFound));
            prop_assert_eq!(apply(&text, "a", "a", all), Err(EditError::Same));
        }
    }
}
