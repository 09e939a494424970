//! Every crate inherits the workspace's lints.

use super::Problem;
use super::manifest::members;
use super::tree::Tree;
use toml::Value;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let (manifests, mut problems) = members(tree);
    for manifest in &manifests {
        let inherited =
            manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(Value::as_bool);
        if inherited != Some(true) {
            problems.push(Problem::file(manifest.path, "add `[lints] workspace = true`"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_without_the_lints_is_found() {
        let tree = Tree::of(&[
            ("crates/a/Cargo.toml", "[package]\nname = \"a\"\n[lints]\nworkspace = true"),
            ("crates/b/Cargo.toml", "[package]\nname = \"b\""),
            ("crates/c/Cargo.toml", "[package]\nname = \"c\"\n[lints]\nworkspace = false"),
        ]);
        let paths: Vec<_> = check(&tree).into_iter().map(|problem| problem.path).collect();
        assert_eq!(paths, ["crates/b/Cargo.toml", "crates/c/Cargo.toml"]);
    }
}
