//! Files stay small enough to be read in one go.

use super::Problem;
use super::tree::Tree;

/// Files with more lines must be split.
const SPLIT: usize = 800;
/// Files with more lines are reported.
const ARGUE: usize = 400;
/// The limit for the median number of lines.
const MEDIAN: usize = 150;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let sizes = sizes(tree);
    let mut problems: Vec<Problem> = sizes
        .iter()
        .filter(|(lines, _)| *lines > SPLIT)
        .map(|(lines, path)| {
            Problem::file(path, format!("has {lines} lines, over {SPLIT}; split it by its nouns"))
        })
        .collect();
    if let Some((median, _)) = sizes.get(sizes.len() / 2)
        && *median > MEDIAN
    {
        let message =
            format!("the median Rust file has {median} lines, over {MEDIAN}; split the largest files");
        problems.push(Problem::file(".", message));
    }
    problems
}

/// Returns notes on files that are long but permitted.
pub(super) fn notes(tree: &Tree) -> Vec<String> {
    let long = sizes(tree).into_iter().filter(|(lines, _)| (ARGUE + 1..=SPLIT).contains(lines));
    long.map(|(lines, path)| format!("{path} has {lines} lines, over {ARGUE}")).collect()
}

/// Returns the lines of each Rust file, smallest first.
fn sizes(tree: &Tree) -> Vec<(usize, &str)> {
    let mut sizes: Vec<_> = tree.rust().map(|file| (file.text.lines().count(), file.path.as_str())).collect();
    sizes.sort_unstable();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_files_are_reported_and_very_long_ones_refused() {
        let (long, too_long) = ("\n".repeat(401), "\n".repeat(801));
        let tree =
            Tree::of(&[("a.rs", "\n"), ("b.rs", "\n"), ("long.rs", &long), ("too_long.rs", &too_long)]);
        assert_eq!(notes(&tree), ["long.rs has 401 lines, over 400"]);
        let messages: Vec<_> = check(&tree).into_iter().map(|problem| problem.to_string()).collect();
        assert!(messages[0].starts_with("too_long.rs: has 801 lines"), "{messages:?}");
    }

    #[test]
    fn the_median_counts() {
        let long = "\n".repeat(151);
        assert!(
            check(&Tree::of(&[("a.rs", &long), ("b.rs", &long), ("c.rs", "")]))[0].message.contains("median")
        );
        assert_eq!(check(&Tree::of(&[("a.rs", &long), ("b.rs", ""), ("c.rs", "")])), []);
    }
}
