//! Every crate begins with a short documentation of its purpose, and of what it must never do.

use super::Problem;
use super::tree::{File, Tree};

/// The most lines with text in the documentation of a crate: a reader takes in a page at a glance.
const LINES: usize = 12;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let roots =
        tree.rust().filter(|file| file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs"));
    roots.filter_map(|file| Some(Problem::file(&file.path, objection(file)?))).collect()
}

fn objection(file: &File) -> Option<String> {
    let doc: Vec<&str> = file.text.lines().map_while(|line| line.strip_prefix("//!")).collect();
    let lines = doc.iter().filter(|line| !line.trim().is_empty()).count();
    if doc.is_empty() {
        return Some("start the file with a `//!` doc that says what the crate is".to_owned());
    }
    if lines > LINES {
        return Some(format!("the doc has {lines} lines, over {LINES}; move details to the modules"));
    }
    let text = doc.concat();
    (!text.contains(" must never ")).then(|| "add to the doc what the crate must never do".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_says_what_it_is_and_what_it_must_never_do() {
        let long = "//! A line.\n".repeat(12);
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "//! The one thing.\n//!\n//! It must never do another.\nmod y;\n"),
            ("crates/b/src/lib.rs", "mod x;\n"),
            ("crates/b/src/x.rs", ""),
            ("crates/c/src/lib.rs", "//! The other thing.\nfn must_never_do() {}\n"),
            ("crates/d/src/main.rs", &format!("{long}//! It must never do another.\n")),
        ]);
        let problems: Vec<_> = check(&tree).into_iter().map(|problem| problem.to_string()).collect();
        let expected = [
            "crates/b/src/lib.rs: start the file with a `//!` doc that says what the crate is",
            "crates/c/src/lib.rs: add to the doc what the crate must never do",
            "crates/d/src/main.rs: the doc has 13 lines, over 12; move details to the modules",
        ];
        assert_eq!(problems, expected);
    }
}
