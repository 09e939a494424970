//! Manifests, reduced to what the checks need.

use super::Problem;
use super::tree::{File, Tree};
use toml::{Table, Value};

/// The manifest of a workspace member.
pub(super) struct Manifest<'a> {
    pub(super) path: &'a str,
    /// The package's name.
    pub(super) name: String,
    table: Table,
}

/// An entry of a dependency table.
pub(super) struct Dependency<'a> {
    pub(super) name: &'a str,
    pub(super) value: &'a Value,
}

const KINDS: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

impl<'a> Manifest<'a> {
    fn parse(file: &'a File) -> Result<Self, Problem> {
        let table = parse(file)?;
        let name = table.get("package").and_then(|package| package.get("name")).and_then(Value::as_str);
        let name =
            name.ok_or_else(|| Problem::file(&file.path, "has no package.name; give it one"))?.to_owned();
        Ok(Self { path: &file.path, name, table })
    }

    /// Returns all dependencies of any kind, for any platform.
    pub(super) fn dependencies(&self) -> Vec<Dependency<'_>> {
        let targets = self.table.get("target").and_then(Value::as_table);
        let tables = std::iter::once(&self.table)
            .chain(targets.into_iter().flat_map(Table::values).filter_map(Value::as_table));
        tables
            .flat_map(|table| KINDS.iter().filter_map(|kind| table.get(*kind)?.as_table()))
            .flatten()
            .map(|(name, value)| Dependency { name, value })
            .collect()
    }

    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.table.get(key)
    }
}

/// Returns the manifests of all members; unreadable ones are problems.
pub(super) fn members(tree: &Tree) -> (Vec<Manifest<'_>>, Vec<Problem>) {
    let (mut manifests, mut problems) = (Vec::new(), Vec::new());
    for file in tree.files().iter().filter(|file| file.path.ends_with("/Cargo.toml")) {
        match Manifest::parse(file) {
            Ok(manifest) => manifests.push(manifest),
            Err(problem) => problems.push(problem),
        }
    }
    (manifests, problems)
}

/// Returns the names of external dependencies in the root manifest's `[workspace.dependencies]`.
pub(super) fn external_dependencies(tree: &Tree) -> Result<Vec<String>, Problem> {
    let Some(root) = tree.get("Cargo.toml") else {
        return Err(Problem::file("Cargo.toml", "is missing"));
    };
    let table = parse(root)?;
    let lines =
        table.get("workspace").and_then(|workspace| workspace.get("dependencies")).and_then(Value::as_table);
    let external = |(name, value): (&String, &Value)| value.get("path").is_none().then(|| name.clone());
    Ok(lines.into_iter().flatten().filter_map(external).collect())
}

fn parse(file: &File) -> Result<Table, Problem> {
    file.text.parse().map_err(|error| Problem::file(&file.path, format!("is not valid TOML: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_dependency_is_seen() {
        let text = "[package]\nname = \"x\"\n[dependencies]\na = \"1\"\n[dev-dependencies]\nb = \"1\"\n\
                    [build-dependencies]\nc = \"1\"\n[target.'cfg(unix)'.dependencies]\nd = \"1\"\n";
        let tree = Tree::of(&[("crates/x/Cargo.toml", text)]);
        let (manifests, problems) = members(&tree);
        let names: Vec<_> = manifests[0].dependencies().iter().map(|dependency| dependency.name).collect();
        assert_eq!(names, ["a", "b", "c", "d"]);
        assert_eq!(problems, []);
    }

    #[test]
    fn a_broken_manifest_is_a_problem() {
        let tree = Tree::of(&[("crates/x/Cargo.toml", "[package"), ("crates/y/Cargo.toml", "")]);
        assert_eq!(members(&tree).1.len(), 2);
    }
}
