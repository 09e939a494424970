//! Merges two changes of one text line by line. Performs no IO.

use imara_diff::{Algorithm, Diff, InternedInput};
use std::ops::Range;

/// A range of lines of the base and the text that replaces it.
#[derive(Debug, PartialEq, Eq)]
struct Hunk {
    lines: Range<usize>,
    text: String,
}

/// Returns the base with both changes applied; `None` if both change the same or adjoining lines in
/// different ways.
pub(super) fn merge(base: &str, ours: &str, theirs: &str) -> Option<String> {
    let (ours, theirs) = (hunks(base, ours), hunks(base, theirs));
    let (mut ours, mut theirs) = (ours.iter().peekable(), theirs.iter().peekable());
    let lines: Vec<&str> = base.split_inclusive('\n').collect();
    let (mut merged, mut at) = (String::new(), 0);
    loop {
        let next = match (ours.peek(), theirs.peek()) {
            (None, None) => break,
            (Some(_), None) => ours.next(),
            (None, Some(_)) => theirs.next(),
            (Some(a), Some(b)) if a == b => {
                theirs.next();
                ours.next()
            }
            (Some(a), Some(b)) if a.touches(b) => return None,
            (Some(a), Some(b)) if a.lines.start < b.lines.start => ours.next(),
            (Some(_), Some(_)) => theirs.next(),
        };
        let Some(hunk) = next else { break };
        merged.extend(lines[at..hunk.lines.start].iter().copied());
        merged.push_str(&hunk.text);
        at = hunk.lines.end;
    }
    merged.extend(lines[at..].iter().copied());
    Some(merged)
}

impl Hunk {
    fn touches(&self, other: &Self) -> bool {
        self.lines.start <= other.lines.end && other.lines.start <= self.lines.end
    }
}

/// Returns the hunks that turn `base` into `other`, in order; no two of them adjoin.
fn hunks(base: &str, other: &str) -> Vec<Hunk> {
    let input = InternedInput::new(base, other);
    let range = |range: Range<u32>| range.start as usize..range.end as usize;
    let lines: Vec<&str> = other.split_inclusive('\n').collect();
    let diff = Diff::compute(Algorithm::Histogram, &input);
    let mut hunks: Vec<Hunk> = Vec::new();
    for hunk in diff.hunks() {
        let (old, text) = (range(hunk.before), lines[range(hunk.after)].concat());
        match hunks.last_mut() {
            Some(last) if last.lines.end == old.start => {
                last.lines.end = old.end;
                last.text.push_str(&text);
            }
            _ => hunks.push(Hunk { lines: old, text }),
        }
    }
    hunks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_different_lines_are_put_together() {
        let base = "1\n2\n3\n4\n5\n6\n";
        for (ours, theirs, merged) in [
            ("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\n6\n", Some("1\n2\n3\n4\n5\n6\n")),
            ("one\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\nfive\n6\n", Some("one\n2\n3\n4\nfive\n6\n")),
            ("0\n1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\n6\n7", Some("0\n1\n2\n3\n4\n5\n6\n7")),
            ("1\n3\n4\n5\n6\n", "1\n2\n3\n4\n6\n", Some("1\n3\n4\n6\n")),
            ("1\n2\nx\n4\n5\n6\n", "1\n2\nx\n4\n5\n6\n", Some("1\n2\nx\n4\n5\n6\n")),
            ("1\n2\nx\n4\n5\n6\n", "1\n2\ny\n4\n5\n6\n", None),
            ("1\n2\nx\n4\n5\n6\n", "1\n2\n3\ny\n5\n6\n", None),
            ("", "1\n2\n3\n4\n5\nsix\n", None),
        ] {
            assert_eq!(merge(base, ours, theirs).as_deref(), merged, "{ours:?} {theirs:?}");
            assert_eq!(merge(base, theirs, ours).as_deref(), merged, "{theirs:?} {ours:?}");
        }
        assert_eq!(merge("", "a", "").as_deref(), Some("a"));
        assert_eq!(merge("", "a", "b"), None);
    }

    proptest::proptest! {
        /// If only one side changes the text, or both make the same change, the result is that
        /// change.
        #[test]
        fn a_change_alone_is_made_as_it_is(base in "[ab\n]{0,20}", changed in "[ab\n]{0,20}") {
            proptest::prop_assert_eq!(merge(&base, &changed, &base), Some(changed.clone()));
            proptest::prop_assert_eq!(merge(&base, &base, &changed), Some(changed.clone()));
            proptest::prop_assert_eq!(merge(&base, &changed, &changed), Some(changed));
        }
    }
}
