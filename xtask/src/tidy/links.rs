//! Relative links in our documents have a target.

use super::Problem;
use super::tree::Tree;
use crate::relative::resolve;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.files().iter().filter(|file| file.path.ends_with(".md")) {
        let directory = file.path.rsplit_once('/').map_or("", |(directory, _)| directory);
        let mut fenced = false;
        for (index, line) in file.text.lines().enumerate() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            }
            for target in targets(line).filter(|_| !fenced) {
                let path = target.split('#').next().unwrap_or_default();
                if !resolve(directory, path).is_some_and(|path| tree.contains(&path)) {
                    problems.push(Problem::line(
                        &file.path,
                        index + 1,
                        format!("`{target}` does not exist; correct the link"),
                    ));
                }
            }
        }
    }
    problems
}

/// Returns the relative targets in a line: Markdown links and images, and `src` and `href` of
/// inline HTML.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let after = |opening: &'static str, closing: &'static [char]| {
        line.match_indices(opening)
            .filter_map(move |(at, _)| line[at + opening.len()..].split(closing).next())
    };
    let all = after("](", &[')', ' ']).chain(after("src=\"", &['"'])).chain(after("href=\"", &['"']));
    all.filter(|target| !target.is_empty() && !target.starts_with('#') && !target.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_followed() {
        let check = |line: &str, expected: usize| {
            let tree = Tree::of(&[("docs/adr/0001-a.md", line), ("README.md", ""), ("docs/demo.svg", "")]);
            assert_eq!(check(&tree).len(), expected, "{line}");
        };
        check("[up](../../README.md) and [part](../../README.md#start)", 0);
        check("[folder](..), ![picture](../demo.svg), <img src=\"../demo.svg\">, [here](#there)", 0);
        check("[web](https://example.org/x.md) and [mail](mailto:a@example.org)", 0);
        check("[gone](0002-b.md)", 1);
        check("[out](../../../secret.md)", 1);
        check("<a href=\"gone.html\">", 1);
        check("```\n[not a link](gone.md)\n```", 0);
    }
}
