//! A patch's hunks applied to a text. Pure.

use super::parse::{Hunk, Line};
use crate::tools::{edit::is_crlf, nearest};

/// A hunk that does not fit; counted from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Misfit {
    pub(super) hunk: usize,
    /// What was looked for and not found.
    pub(super) wanted: String,
    /// The places nearest to it, as lines with numbers.
    pub(super) nearest: String,
}

/// Applies hunks in order, each below the one before. Lines match exactly, else without the blanks at their ends; lines that stay are left as they
/// are, whatever their ends. A file without a final line end stays without one.
pub(super) fn apply(text: &str, hunks: &[Hunk]) -> Result<String, Misfit> {
    let newline = if is_crlf(text) { "\r\n" } else { "\n" };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut out: Vec<String> = Vec::new();
    let mut from = 0;
    for (index, hunk) in hunks.iter().enumerate() {
        let wanted: Vec<&str> = hunk.lines.iter().filter_map(old).collect();
        let misfit = |missing: &str| Misfit {
            hunk: index + 1,
            wanted: missing.to_owned(),
            nearest: nearest::nearest(text, missing),
        };
        let below = anchored(&lines, from, &hunk.anchors).map_err(|anchor| misfit(anchor))?;
        let at = place(&lines, from, below, hunk, &wanted).ok_or_else(|| misfit(&wanted.join("\n")))?;
        out.extend(lines[from..at].iter().map(|&line| line.to_owned()));
        let mut old = at;
        for line in &hunk.lines {
            match line {
                Line::Add(new) => out.push(format!("{new}{newline}")),
                Line::Keep(_) => {
                    out.push(lines[old].to_owned());
                    old += 1;
                }
                Line::Remove(_) => old += 1,
            }
        }
        from = old;
    }
    out.extend(lines[from..].iter().map(|&line| line.to_owned()));
    Ok(joined(out, newline, text.is_empty() || text.ends_with('\n')))
}

fn old(line: &Line) -> Option<&str> {
    match line {
        Line::Keep(line) | Line::Remove(line) => Some(line),
        Line::Add(_) => None,
    }
}

/// The line below the anchors, each looked for below the one before.
fn anchored<'a>(lines: &[&str], from: usize, anchors: &'a [String]) -> Result<Option<usize>, &'a str> {
    let mut below = None;
    for anchor in anchors {
        let start = below.unwrap_or(from);
        let found = [Match::Exact, Match::TrimEnd, Match::Trim]
            .into_iter()
            .find_map(|how| (start..lines.len()).find(|&at| how.same(lines[at], anchor)));
        below = Some(found.ok_or(anchor.as_str())? + 1);
    }
    Ok(below)
}

/// Where a hunk's old lines stand.
fn place(lines: &[&str], from: usize, below: Option<usize>, hunk: &Hunk, wanted: &[&str]) -> Option<usize> {
    if wanted.is_empty() {
        // Only new lines: below the anchor, else at the end of the file.
        return Some(if hunk.at_end { lines.len() } else { below.unwrap_or(lines.len()) });
    }
    let last = lines.len().checked_sub(wanted.len())?;
    for how in [Match::Exact, Match::TrimEnd] {
        let fits = |at: &usize| wanted.iter().zip(&lines[*at..]).all(|(wanted, line)| how.same(line, wanted));
        if hunk.at_end && last >= from && fits(&last) {
            return Some(last);
        }
        // The anchor may itself be the first of the lines.
        let anchor = below.map(|below| below - 1).filter(|&at| at >= from && at <= last);
        let start = below.unwrap_or(from);
        if let Some(at) = anchor.into_iter().chain(start..=last).find(fits) {
            return Some(at);
        }
    }
    None
}

#[derive(Clone, Copy)]
enum Match {
    Exact,
    TrimEnd,
    Trim,
}

impl Match {
    fn same(self, line: &str, wanted: &str) -> bool {
        let line = line.strip_suffix('\n').unwrap_or(line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        match self {
            Self::Exact => line == wanted,
            Self::TrimEnd => line.trim_end() == wanted.trim_end(),
            Self::Trim => line.trim() == wanted.trim(),
        }
    }
}

/// The lines as a text: every one ended but the last, which is ended as the text was before.
fn joined(mut lines: Vec<String>, newline: &str, ended: bool) -> String {
    let count = lines.len();
    for (index, line) in lines.iter_mut().enumerate() {
        let last = index + 1 == count;
        match line.ends_with('\n') {
            false if !last || ended => line.push_str(newline),
            true if last && !ended => {
                line.pop();
                if line.ends_with('\r') {
                    line.pop();
                }
            }
            _ => {}
        }
    }
    lines.concat()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::patch::parse::{Operation, parse};
    use proptest::prelude::*;

    fn hunks(body: &str) -> Vec<Hunk> {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch");
        match parse(&patch).unwrap().remove(0) {
            Operation::Update { hunks, .. } => hunks,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn applies_hunks() {
        for (text, body, expected) in [
            ("a\nb\nc\n", "@@\n a\n-b\n+x\n c", "a\nx\nc\n"),
            ("a\nb\nc\n", " a\n-b\n+x", "a\nx\nc\n"),
            ("a\nb\nc", "@@\n-c\n+d\n+e", "a\nb\nd\ne"),
            ("a\nb", "@@\n b\n+c", "a\nb\nc"),
            ("a\r\nb\r\n", "@@\n-a\n+x\n+y", "x\r\ny\r\nb\r\n"),
            ("a  \nb\n", "@@\n a\n-b\n+c", "a  \nc\n"),
            ("x\na\nx\nb\n", "@@ a\n-x\n+y", "x\na\ny\nb\n"),
            ("fn a\n  x\nfn b\n  x\n", "@@ fn b\n-  x\n+  y", "fn a\n  x\nfn b\n  y\n"),
            ("fn b\n  x\n", "@@ fn b\n fn b\n-  x\n+  y", "fn b\n  y\n"),
            ("x\nx\n", "@@\n-x\n+1\n@@\n-x\n+2", "1\n2\n"),
            ("x\na\nx\n", "@@\n-x\n+y\n*** End of File", "x\na\ny\n"),
            ("a\nb\n", "@@\n+new", "a\nb\nnew\n"),
            ("a\nb\n", "@@ a\n+new", "a\nnew\nb\n"),
            ("", "@@\n+new", "new\n"),
            ("a\n", "@@\n-a", ""),
            ("grüße\n🦀\n", "@@\n grüße\n-🦀\n+Krebs", "grüße\nKrebs\n"),
        ] {
            assert_eq!(apply(text, &hunks(body)).as_deref(), Ok(expected), "{text:?} {body:?}");
        }
    }

    #[test]
    fn names_the_hunk_that_does_not_fit() {
        for (text, body, hunk, wanted, nearest) in [
            ("alpha\n", "@@\n-alphb\n+x", 1, "alphb", "\nNearest lines:\n1\talpha"),
            ("a\nb\n", "@@\n-b\n+x\n@@\n-a\n+y", 2, "a", "\nNearest lines:\n1\ta"),
            ("a\nb\n", "@@ fn q\n-b\n+x", 1, "fn q", ""),
            ("", "@@\n-a\n+b", 1, "a", ""),
        ] {
            let expected = Misfit { hunk, wanted: wanted.into(), nearest: nearest.into() };
            assert_eq!(apply(text, &hunks(body)), Err(expected), "{text:?} {body:?}");
        }
    }

    proptest! {
        #[test]
        fn a_hunk_made_from_a_text_fits_it_and_back(before in "([ab]{0,2}\n){0,6}", middle in "[ab]{1,3}", after in "([ab]{0,2}\n){0,6}") {
            let text = format!("{before}{middle}\n{after}");
            let keep = |part: &str| part.lines().map(|line| format!(" {line}\n")).collect::<String>();
            let there = format!("@@\n{}-{middle}\n+NEW\n{}*** End of File", keep(&before), keep(&after));
            let back = format!("@@\n{}-NEW\n+{middle}\n{}*** End of File", keep(&before), keep(&after));
            let changed = apply(&text, &hunks(&there)).unwrap();
            prop_assert_eq!(&changed, &format!("{before}NEW\n{after}"));
            prop_assert_eq!(apply(&changed, &hunks(&back)).unwrap(), text);
        }

        #[test]
        fn never_panics(text in "[ab \r\n]{0,30}", body in prop::collection::vec("[-+ ][ab]{0,2}", 1..6)) {
            let body = format!("@@ a\n{}\n+x", body.join("\n"));
            let _ = apply(&text, &hunks(&body));
        }
    }
}
