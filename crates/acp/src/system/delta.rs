//! What is new in a terminal's output, from one look at it to the next.
//!
//! A terminal keeps the last bytes of its output and forgets those before. Each look gives all it keeps; what was seen in the look
//! before must not be told again, and what was lost between two looks must be told once.

use system::Output;

/// The output seen so far.
#[derive(Debug, Default)]
pub(super) struct Window {
    last: String,
    /// Whether the client said that it forgot something.
    truncated: bool,
    /// Whether the beginning was seen to go, or its loss was told.
    accounted: bool,
}

impl Window {
    /// Takes a look, and returns what is new in it.
    pub(super) fn look(&mut self, window: String, truncated: bool) -> Vec<Output> {
        let first = self.last.is_empty() && !self.accounted;
        self.truncated |= truncated;
        let mut out = Vec::new();
        let seen = if window.starts_with(&self.last) {
            if first && truncated && !window.is_empty() {
                self.accounted = true;
                out.push(Output::Gap);
            }
            self.last.len()
        } else {
            self.accounted = true;
            let overlap = overlap(&self.last, &window);
            if overlap == 0 {
                out.push(Output::Gap);
            }
            overlap
        };
        if seen < window.len() {
            out.push(Output::Text(window[seen..].to_owned()));
        }
        self.last = window;
        out
    }

    /// The end: some clients keep the first bytes instead of the last, so that what came after them was never seen.
    pub(super) fn end(&mut self) -> Option<Output> {
        let lost = self.truncated && !self.accounted;
        self.accounted = true;
        lost.then_some(Output::Gap)
    }
}

/// How many bytes at the end of `last` are also at the beginning of `window`, at the most.
///
/// Linear: runs `last` through the automaton that knows how much of the beginning of `window` was just read.
fn overlap(last: &str, window: &str) -> usize {
    let pattern = window.as_bytes();
    let borders = borders(pattern);
    let mut matched = 0;
    for &byte in last.as_bytes() {
        while matched > 0 && (matched == pattern.len() || pattern[matched] != byte) {
            matched = borders[matched - 1];
        }
        if matched < pattern.len() && pattern[matched] == byte {
            matched += 1;
        }
    }
    matched
}

/// For each prefix, how long its longest proper prefix is that is also its end.
fn borders(pattern: &[u8]) -> Vec<usize> {
    let mut borders = vec![0; pattern.len()];
    let mut matched = 0;
    for at in 1..pattern.len() {
        while matched > 0 && pattern[matched] != pattern[at] {
            matched = borders[matched - 1];
        }
        if pattern[matched] == pattern[at] {
            matched += 1;
        }
        borders[at] = matched;
    }
    borders
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looks in turn; a gap is shown as `~`.
    fn check(looks: &[(&str, bool)], expected: &str) {
        let mut window = Window::default();
        let mut out = Vec::new();
        for (text, truncated) in looks {
            out.extend(window.look((*text).to_owned(), *truncated));
        }
        out.extend(window.end());
        let shown: String = out
            .into_iter()
            .map(|piece| match piece {
                Output::Text(text) => text,
                Output::Gap => "~".to_owned(),
            })
            .collect();
        assert_eq!(shown, expected, "{looks:?}");
    }

    #[test]
    fn tells_what_is_new_once() {
        check(&[("", false), ("ab", false), ("ab", false), ("abcd", false)], "abcd");
        check(&[("abcdef", false), ("cdefgh", true), ("efghij", true)], "abcdefghij");
        check(&[("aaaa", false), ("aaaab", false), ("aaab", true), ("aabc", true)], "aaaabc");
    }

    #[test]
    fn tells_of_a_gap_once_for_each() {
        check(&[("abc", false), ("xyz", true), ("xyz", true), ("yzw", true)], "abc~xyzw");
        check(&[("abc", false), ("uvw", true), ("xyz", true)], "abc~uvw~xyz");
        check(&[("xyz", true), ("xyzw", true)], "~xyzw");
    }

    #[test]
    fn a_client_that_keeps_the_head_loses_the_tail() {
        check(&[("ab", false), ("abcd", true), ("abcd", true)], "abcd~");
        check(&[("ab", false), ("abcd", false)], "abcd");
    }

    #[test]
    fn overlaps_respect_characters_and_odd_sizes() {
        check(&[("aü→", false), ("→🦀", true)], "aü→🦀");
        check(&[("abc", false), ("", true), ("d", true)], "abc~d");
        assert_eq!(overlap("abab", "ababab"), 4);
        assert_eq!(overlap("xab", "ab"), 2);
        assert_eq!(overlap("ab", "ba"), 1);
        assert_eq!(overlap("", "a"), 0);
        assert_eq!(overlap("a", ""), 0);
    }
}
