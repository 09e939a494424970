//! Every crate begins with documentation of its purpose.

use super::Problem;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let roots =
        tree.rust().filter(|file| file.path.ends_with("src/lib.rs") || file.path.ends_with("src/main.rs"));
    roots
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| Problem::file(&file.path, "start the file with a `//!` doc that says what the crate is"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_a_doc_is_found() {
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", "//! The one thing.\n"),
            ("crates/b/src/lib.rs", "mod x;\n"),
            ("crates/b/src/x.rs", ""),
        ]);
        assert_eq!(check(&tree).len(), 1);
        assert_eq!(check(&tree)[0].path, "crates/b/src/lib.rs");
    }
}
