//! Finds the lines most similar to a text that was not found.

use crate::limits::{NEAREST_LINE_CHARS, NEAREST_SEARCHED, NEAREST_SHOWN};
use crate::text::cut;
use std::fmt::Write as _;

/// The minimum similarity of lines that are shown, from 0 to 1.
const ALIKE: f64 = 0.5;
/// The number of lines compared in detail, after a cheap comparison of all lines.
const CANDIDATES: usize = 20;

/// Returns the lines of `text` most similar to `wanted`, as `N\tline` under a heading; empty if
/// none is similar.
pub(super) fn nearest(text: &str, wanted: &str) -> String {
    let wanted: Vec<&str> = wanted.lines().collect();
    // The longest line is the most likely to be unique in the file.
    let Some((offset, anchor)) =
        wanted.iter().map(|line| line.trim()).enumerate().max_by_key(|(_, line)| line.len())
    else {
        return String::new();
    };
    if anchor.is_empty() {
        return String::new();
    }
    let lines: Vec<&str> = text.lines().take(NEAREST_SEARCHED).collect();
    let Some(at) = closest(&lines, &short(anchor)) else { return String::new() };
    let start = at.saturating_sub(offset);
    let end = (start + wanted.len().clamp(1, NEAREST_SHOWN)).max(at + 1).min(lines.len());
    let start = start.max(end.saturating_sub(NEAREST_SHOWN));
    format!("\nNearest lines:{}", numbered(&lines, start..end))
}

/// Returns the lines with the given 1-based numbers, each on a line of its own, as `N\tline`.
pub(super) fn at_lines(text: &str, numbers: &[usize]) -> String {
    let mut out = String::new();
    let mut last = 0;
    for &number in numbers {
        // Two matches in one line are shown once.
        if number == last {
            continue;
        }
        last = number;
        if let Some(line) = text.lines().nth(number.saturating_sub(1)) {
            let _ = write!(out, "\n{number}\t{}", cut::cut(line, NEAREST_LINE_CHARS));
        }
    }
    out
}

fn closest(lines: &[&str], anchor: &str) -> Option<usize> {
    let mut near: Vec<(f64, usize)> = lines
        .iter()
        .enumerate()
        .map(|(at, line)| (rough(&short(line.trim()), anchor), at))
        .filter(|(likeness, _)| *likeness > 0.2)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    near.truncate(CANDIDATES);
    near.into_iter()
        .map(|(_, at)| (strsim::normalized_damerau_levenshtein(&short(lines[at].trim()), anchor), at))
        .filter(|(likeness, _)| *likeness >= ALIKE)
        .max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))
        .map(|(_, at)| at)
}

fn rough(line: &str, anchor: &str) -> f64 {
    match line.is_empty() {
        true => 0.0,
        false if line == anchor => 1.0,
        false => strsim::sorensen_dice(line, anchor).max(if line.contains(anchor) { 0.5 } else { 0.0 }),
    }
}

fn short(line: &str) -> String {
    line.chars().take(NEAREST_LINE_CHARS).collect()
}

fn numbered(lines: &[&str], range: std::ops::Range<usize>) -> String {
    let mut out = String::new();
    for at in range {
        let _ = write!(out, "\n{}\t{}", at + 1, cut::cut(lines[at], NEAREST_LINE_CHARS));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_the_place_that_was_probably_meant() {
        let text = "fn a() {\n    let total = 1;\n}\n\nfn b() {\n    let totals = 2;\n}\n";
        for (wanted, expected) in [
            ("let totals = 3;", "\nNearest lines:\n6\t    let totals = 2;"),
            ("fn b() {\n  let totals = 2;\n}", "\nNearest lines:\n5\tfn b() {\n6\t    let totals = 2;\n7\t}"),
            ("zzz qqq", ""),
            ("\n \n", ""),
            ("", ""),
        ] {
            assert_eq!(nearest(text, wanted), expected, "{wanted:?}");
        }
        assert_eq!(at_lines(text, &[1, 1, 7]), "\n1\tfn a() {\n7\t}");
    }

    #[test]
    fn bounds_what_it_shows() {
        let long = "x".repeat(100_000);
        let shown = nearest(&long, &format!("{}y", "x".repeat(500)));
        assert!(shown.len() < 400, "{}", shown.len());
        let many = "let a = 1;\n".repeat(30_000);
        assert!(nearest(&many, &"let a = 2;\n".repeat(500)).lines().count() <= NEAREST_SHOWN + 2);
    }
}
