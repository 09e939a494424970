//! The edit engine, pure: replaces text in text, keeping how its lines end.

use imara_diff::{Algorithm, Diff, InternedInput};
use std::ops::Range;

/// A text after an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Edited {
    /// All of it.
    pub(super) text: String,
    /// Lines that are gone.
    pub(super) removed: usize,
    /// Lines that are new.
    pub(super) added: usize,
    /// The 1-based line of the first change.
    pub(super) first_line: usize,
}

/// Why an edit does not fit a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EditError {
    /// There is nothing to look for.
    EmptyOld,
    /// There is nothing to change.
    Same,
    /// The old text does not occur.
    NotFound,
    /// The old text occurs more than once; the 1-based lines where it begins.
    Ambiguous(Vec<usize>),
}

/// Replaces `old` by `new`, where it occurs exactly once, or everywhere with `all`. Line ends match whatever they are; what is put in gets those of
/// its surroundings.
pub(super) fn apply(text: &str, old: &str, new: &str, all: bool) -> Result<Edited, EditError> {
    if old.is_empty() {
        return Err(EditError::EmptyOld);
    }
    let (old, new) = (old.replace("\r\n", "\n"), new.replace("\r\n", "\n"));
    if old == new {
        return Err(EditError::Same);
    }
    let unified = Unified::of(text);
    let matches = find(&unified.text, &old, all);
    match matches.as_slice() {
        [] => return Err(EditError::NotFound),
        [_] => {}
        _ if all => {}
        many => {
            return Err(EditError::Ambiguous(many.iter().map(|at| line_of(&unified.text, *at)).collect()));
        }
    }
    let crlf = is_crlf(text);
    let places: Vec<(Range<usize>, String)> = matches
        .iter()
        .map(|&at| {
            let place = unified.original(at)..unified.original(at + old.len());
            let crlf = match text[place.clone()].contains('\n') {
                true => text[place.clone()].contains("\r\n"),
                false => crlf,
            };
            (place, with_line_ends(&new, crlf))
        })
        .collect();
    let first_line = line_of(&unified.text, matches[0]);
    let (removed, added) = count(text, &places);
    Ok(Edited { text: replace(text, &places), removed, added, first_line })
}

/// Whether most lines of a text end in `\r\n`.
pub(super) fn is_crlf(text: &str) -> bool {
    let crlf = text.matches("\r\n").count();
    crlf * 2 > text.matches('\n').count()
}

/// A text that has only `\n`, with the line ends wanted.
pub(super) fn with_line_ends(text: &str, crlf: bool) -> String {
    if crlf { text.replace("\r\n", "\n").replace('\n', "\r\n") } else { text.to_owned() }
}

/// Lines removed and added between two texts.
pub(super) fn changed_lines(before: &str, after: &str) -> (usize, usize) {
    let diff = Diff::compute(Algorithm::Histogram, &InternedInput::new(before, after));
    (diff.count_removals() as usize, diff.count_additions() as usize)
}

/// A text with `\n` only, and the way back to the original's positions.
struct Unified {
    text: String,
    /// Where, in the unified text, each `\n` stands that was `\r\n`.
    shortened: Vec<usize>,
}

impl Unified {
    fn of(text: &str) -> Self {
        let shortened = text.match_indices("\r\n").enumerate().map(|(before, (at, _))| at - before).collect();
        Self { text: text.replace("\r\n", "\n"), shortened }
    }

    /// The position in the original. Before a `\n` it is the one before its `\r`.
    fn original(&self, at: usize) -> usize {
        at + self.shortened.partition_point(|&newline| newline < at)
    }
}

/// Where `old` begins. Without `all`, overlapping places count too: either could be meant.
fn find(text: &str, old: &str, all: bool) -> Vec<usize> {
    if all {
        return text.match_indices(old).map(|(at, _)| at).collect();
    }
    let step = old.chars().next().map_or(1, char::len_utf8);
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text[from..].find(old) {
        found.push(from + at);
        from += at + step;
    }
    found
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

/// Compares whole lines, only where something changed: a text of any size costs what its changes cost.
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

/// The end of the line that a position is in, its line end included.
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
            ("x\ny\nx\n", "x", "z", false, EditError::Ambiguous(vec![1, 3])),
            ("aaa", "aa", "b", false, EditError::Ambiguous(vec![1, 1])),
        ] {
            assert_eq!(apply(text, old, new, all), Err(expected), "{text:?} {old:?}");
        }
    }

    proptest! {
        #[test]
        fn never_panics_and_undoes(text in "[ab\r\nü🦀 ]{0,60}", old in "[ab\r\nü🦀 ]{0,4}", new in "[cd\n]{0,4}", all: bool) {
            if let Ok(edited) = apply(&text, &old, &new, all) {
                prop_assert_ne!(&edited.text, &text);
                // What was put in is unlike anything that was there: taking it out again restores the text.
                if !all && new.contains('c') && !text.contains('\r') && !old.contains('\r') && edited.text.matches(&new).count() == 1 {
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
