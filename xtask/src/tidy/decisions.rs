//! Every external dependency of the root manifest is named in a decision record, and members
//! inherit their dependencies from the root manifest.

use super::Problem;
use super::manifest::{external_dependencies, members};
use super::tree::Tree;
use toml::Value;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let (manifests, mut problems) = members(tree);
    match external_dependencies(tree) {
        Ok(names) => problems.extend(names.iter().filter(|name| !decided(tree, name)).map(|name| {
            let message = format!(
                "`{name}` has no decision; name it in a record in docs/adr, with what it replaces and costs"
            );
            Problem::file("Cargo.toml", message)
        })),
        Err(problem) => problems.push(problem),
    }
    for manifest in &manifests {
        for dependency in manifest.dependencies() {
            if dependency.value.get("workspace").and_then(Value::as_bool) != Some(true) {
                let message = format!(
                    "`{}`: move the version to the root manifest and write `workspace = true`",
                    dependency.name
                );
                problems.push(Problem::file(manifest.path, message));
            }
        }
    }
    problems
}

/// Returns whether a record names the dependency as code: in backticks, alone or with its version.
fn decided(tree: &Tree, name: &str) -> bool {
    let records =
        tree.files().iter().filter(|file| file.path.starts_with("docs/adr/") && file.path.ends_with(".md"));
    let mut spans = records.flat_map(|file| file.text.split('`').skip(1).step_by(2));
    spans.any(|code| code.split([' ', '=', '@']).next() == Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(record: &str) -> Vec<Problem> {
        let root = "[workspace.dependencies]\nsystem = { path = \"crates/system\" }\nserde = \"1\"\n";
        check(&Tree::of(&[("Cargo.toml", root), ("docs/adr/0001-x.md", record)]))
    }

    #[test]
    fn a_dependency_is_decided_when_a_record_names_it() {
        assert_eq!(found("We take `serde` for the wires."), []);
        assert_eq!(found("We take `serde 1` for the wires."), []);
        assert!(
            found("We take serde_json, and `serde_json`.")[0].message.starts_with("`serde` has no decision")
        );
    }

    #[test]
    fn a_member_with_a_version_of_its_own_is_found() {
        let member = "[package]\nname = \"x\"\n[dependencies]\na = { workspace = true }\nb = \"1\"\n";
        let problems = check(&Tree::of(&[("Cargo.toml", "[workspace]"), ("crates/x/Cargo.toml", member)]));
        assert_eq!(problems.len(), 1);
        assert!(problems[0].message.starts_with("`b`: move the version"));
    }
}
