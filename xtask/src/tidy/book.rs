//! `docs/SUMMARY.md`, the table of contents of the site, lists every page once.

use super::Problem;
use super::tree::Tree;

const SUMMARY: &str = "docs/SUMMARY.md";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(summary) = tree.get(SUMMARY) else {
        return vec![Problem::file(SUMMARY, "is missing; list the pages of the site in it")];
    };
    let listed = |page: &str| summary.text.matches(&format!("]({page})")).count();
    let pages = tree.files().iter().filter(|file| file.path.ends_with(".md") && file.path != SUMMARY);
    let pages = pages.filter_map(|file| Some((&file.path, file.path.strip_prefix("docs/")?)));
    pages
        .filter_map(|(path, page)| match listed(page) {
            0 => Some(Problem::file(path, format!("is not in {SUMMARY}; list it there"))),
            1 => None,
            times => Some(Problem::file(path, format!("is listed {times} times in {SUMMARY}; keep one"))),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_listed_once() {
        let found = |summary: &str| {
            check(&Tree::of(&[
                (SUMMARY, summary),
                ("docs/a.md", ""),
                ("docs/b/c.md", ""),
                ("docs/d.svg", ""),
                ("e.md", ""),
            ]))
            .len()
        };
        assert_eq!(found("- [A](a.md)\n- [C](b/c.md)\n"), 0);
        assert_eq!(found("- [A](a.md)\n"), 1);
        assert_eq!(found("- [A](a.md)\n- [A](a.md)\n"), 2);
        assert_eq!(check(&Tree::of(&[("docs/a.md", "")])).len(), 1);
    }
}
