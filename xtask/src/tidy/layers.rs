//! Architecture Invariant: dependencies between crates only go down, and siblings do not depend on
//! each other.

use super::Problem;
use super::manifest::members;
use super::tree::Tree;

/// The layers, top to bottom. A crate may depend on crates of lower layers only.
const LAYERS: [&[&str]; 5] = [
    &["tiller"],
    &["acp", "tui", "providers", "store", "mcp", "egress", "lua", "integrations"],
    &["serve"],
    &["agent"],
    &["system"],
];

/// A crate outside the layers: no member depends on it, and it depends on none.
const UNKNOWN_CRATE: &str = "xtask";

/// Names that crates must not have: their content belongs elsewhere.
const NEVER: [&str; 4] = ["core", "common", "types", "utils"];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let (manifests, mut problems) = members(tree);
    let names: Vec<&str> = manifests.iter().map(|manifest| manifest.name.as_str()).collect();
    for manifest in &manifests {
        let name = manifest.name.as_str();
        if NEVER.contains(&name) {
            problems.push(Problem::file(
                manifest.path,
                format!("put what is in `{name}` where its noun belongs"),
            ));
        } else if layer(name).is_none() && name != UNKNOWN_CRATE {
            let message =
                format!("`{name}` has no layer; give it one in xtask/src/tidy/layers.rs and ARCHITECTURE.md");
            problems.push(Problem::file(manifest.path, message));
        }
        for dependency in manifest.dependencies() {
            let other = dependency.name;
            if other == name || !names.contains(&other) && layer(other).is_none() {
                continue;
            }
            let down = layer(name).zip(layer(other)).is_some_and(|(from, to)| from < to);
            if !down {
                let message = format!(
                    "`{name}` may not depend on `{other}`: dependencies go down only; move what it needs below both"
                );
                problems.push(Problem::file(manifest.path, message));
            }
        }
    }
    problems
}

fn layer(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, dependencies: &str) -> Vec<String> {
        let manifest = format!("[package]\nname = \"{name}\"\n[dependencies]\n{dependencies}");
        let path = format!("crates/{name}/Cargo.toml");
        check(&Tree::of(&[(&path, &manifest)])).into_iter().map(|problem| problem.message).collect()
    }

    #[test]
    fn downward_dependencies_are_allowed() {
        assert!(found("tiller", "acp = {}\nagent = {}\nsystem = {}\nserde = \"1\"").is_empty());
        assert!(found("xtask", "anyhow = \"1\"").is_empty());
    }

    #[test]
    fn upward_sideways_and_unknown_dependencies_are_not() {
        let refused = |name: &str, other: &str| {
            let found = found(name, &format!("{other} = {{}}"));
            assert!(found[0].starts_with(&format!("`{name}` may not depend on `{other}`")), "{found:?}");
        };
        refused("system", "agent");
        refused("acp", "store");
        refused("agent", "tiller");
        refused("xtask", "system");
    }

    #[test]
    fn a_crate_without_a_layer_is_reported() {
        assert!(found("surprise", "")[0].contains("`surprise` has no layer"));
        assert!(found("utils", "")[0].contains("where its noun belongs"));
    }
}
