//! Architecture Invariant: only one crate names each wire format and each foreign runtime.

use super::Problem;
use super::manifest::members;
use super::tree::Tree;

/// A dependency, and the crates that may name it. Most have a single owner; HTTP has three kinds of
/// peers, the store encrypts the connections to its server, its tests use the system call filter to
/// make locking fail, and those of `integrations` build an HTTP client without certificates.
const OWNERS: [(&str, &[&str]); 15] = [
    ("agent-client-protocol", &["acp"]),
    ("agent-client-protocol-schema", &["acp"]),
    ("eventsource-stream", &["providers"]),
    ("reqwest", &["providers", "mcp", "integrations"]),
    ("rustls", &["providers", "integrations", "store", "serve", "egress"]),
    ("rusqlite", &["store"]),
    ("tokio-postgres", &["store"]),
    ("deadpool-postgres", &["store"]),
    ("landlock", &["system"]),
    ("process-wrap", &["system"]),
    ("seccompiler", &["system", "store"]),
    ("tree-sitter", &["agent"]),
    ("clap", &["tiller"]),
    ("rmcp", &["mcp"]),
    ("mlua", &["lua"]),
];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let (manifests, mut problems) = members(tree);
    for manifest in &manifests {
        for dependency in manifest.dependencies() {
            let name = dependency.name;
            let Some((_, owners)) = OWNERS.iter().find(|(foreign, _)| *foreign == name) else { continue };
            if !owners.contains(&manifest.name.as_str()) {
                let owners = owners.join("` and `");
                let message = format!(
                    "`{}` may not name `{name}`: only `{owners}` does; add what is needed there, behind a trait",
                    manifest.name
                );
                problems.push(Problem::file(manifest.path, message));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_owner_may_name_a_foreign_item() {
        let tree = Tree::of(&[
            ("crates/store/Cargo.toml", "[package]\nname = \"store\"\n[dependencies]\nrusqlite = \"1\""),
            ("crates/agent/Cargo.toml", "[package]\nname = \"agent\"\n[dev-dependencies]\nrusqlite = \"1\""),
        ]);
        let problems = check(&tree);
        assert_eq!(problems.len(), 1);
        assert!(problems[0].message.starts_with("`agent` may not name `rusqlite`: only `store` does"));
    }
}
