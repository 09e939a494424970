//! Finds the new part of a terminal's output between two polls.
//!
//! A terminal keeps the last bytes of its output and drops earlier ones. Each poll returns all that
//! it keeps. Output seen in the previous poll must not be reported again, and output lost between
//! two polls must be reported once, as a gap.

use system::Output;

/// The output seen so far.
#[derive(Debug, Default)]
pub(super) struct OutputWindow {
    last: String,
    /// Whether the client reported dropped output.
    truncated: bool,
    /// Whether the lost beginning has been reported, or was seen before it was dropped.
    accounted: bool,
}

impl OutputWindow {
    /// Takes the result of a poll, and returns what is new.
    pub(super) fn update(&mut self, window: String, truncated: bool) -> Vec<Output> {
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

    /// Returns a gap at the end of the output if one was not reported yet: some clients keep the
    /// first bytes instead of the last, so that later output was never seen.
    pub(super) fn end(&mut self) -> Option<Output> {
        let lost = self.truncated && !self.accounted;
        self.accounted = true;
        lost.then_some(Output::Gap)
    }
}

/// Returns the length in bytes of the longest suffix of `last` that is a prefix of `window`.
///
/// Linear (Knuth–Morris–Pratt): runs `last` through the automaton whose state is the length of the
/// prefix of `window` just read.
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

/// Returns, for each prefix, the length of its longest proper prefix that is also its suffix.
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

    /// Polls in turn; a gap is shown as `~`.
    fn check(polls: &[(&str, bool)], expected: &str) {
        let mut window = OutputWindow::default();
        let mut out = Vec::new();
        for (text, truncated) in polls {
            out.extend(window.update((*text).to_owned(), *truncated));
        }
        out.extend(window.end());
        let shown: String = out
            .into_iter()
            .map(|piece| match piece {
                Output::Text(text) => text,
                Output::Gap => "~".to_owned(),
            })
            .collect();
        assert_eq!(shown, expected, "{polls:?}");
    }

    #[test]
    fn reports_new_output_once() {
        check(&[("", false), ("ab", false), ("ab", false), ("abcd", false)], "abcd");
        check(&[("abcdef", false), ("cdefgh", true), ("efghij", true)], "abcdefghij");
        check(&[("aaaa", false), ("aaaab", false), ("aaab", true), ("aabc", true)], "aaaabc");
    }

    #[test]
    fn reports_each_gap_once() {
        check(&[("abc", false), ("xyz", true), ("xyz", true), ("yzw", true)], "abc~xyzw");
        check(&[("abc", false), ("uvw", true), ("xyz", true)], "abc~uvw~xyz");
        check(&[("xyz", true), ("xyzw", true)], "~xyzw");
    }

    #[test]
    fn a_client_that_keeps_the_first_bytes_produces_a_gap_at_the_end() {
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
