//! The changelog has a section for unreleased changes.

use super::Problem;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let heading = "## [Unreleased]";
    match tree.get("CHANGELOG.md") {
        None => vec![Problem::file("CHANGELOG.md", "is missing; start it with an Unreleased section")],
        Some(file) if !file.text.lines().any(|line| line.trim_end() == heading) => {
            vec![Problem::file("CHANGELOG.md", format!("add the section `{heading}`"))]
        }
        Some(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needs_an_unreleased_section() {
        assert_eq!(check(&Tree::of(&[("CHANGELOG.md", "# Changelog\n\n## [Unreleased]\n")])), []);
        assert_eq!(check(&Tree::of(&[("CHANGELOG.md", "# Changelog\n\n## [0.1.0]\n")])).len(), 1);
        assert_eq!(check(&Tree::of(&[])).len(), 1);
    }
}
