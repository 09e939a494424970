//! The licences of the crates in the binary: their names, and the texts that come with them.

use super::sbom::{Graph, Package};
use anyhow::Result;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

/// How the files of a licence are named.
const NAMES: [&str; 6] = ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"];

/// Returns the list of crates, then each text once with the crates that it comes from.
pub(super) fn of(graph: &Graph) -> Result<Vec<u8>> {
    let mut text =
        "The program contains these packages, each under the licence named beside it.\n\n".to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in graph.external() {
        let Package { name, version, licence, repository, .. } = package;
        let licence = licence.as_deref().unwrap_or("see its text below");
        let _ = writeln!(text, "{name} {version}: {licence}{}", origin(repository.as_deref()));
        for found in files(&package.directory)? {
            texts.entry(found).or_default().push(format!("{name} {version}"));
        }
    }
    let mut texts: Vec<_> = texts.into_iter().collect();
    texts.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    for (licence, packages) in texts {
        let _ = write!(text, "\n{}\n{}:\n\n{}\n", "-".repeat(80), packages.join(", "), licence.trim_end());
    }
    Ok(text.into_bytes())
}

fn origin(repository: Option<&str>) -> String {
    repository.map(|url| format!(" ({url})")).unwrap_or_default()
}

/// The texts of the files with licences in a crate's directory.
fn files(directory: &Path) -> Result<Vec<String>> {
    let mut paths: Vec<_> = fs::read_dir(directory)?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let is_licence = |path: &Path| {
        let name = super::release::name(path).to_uppercase();
        NAMES.iter().any(|start| name.starts_with(start)) && !name.ends_with(".RS") && path.is_file()
    };
    let texts = paths.iter().filter(|path| is_licence(path)).filter_map(|path| fs::read(path).ok());
    Ok(texts.map(|bytes| String::from_utf8_lossy(&bytes).replace("\r\n", "\n")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::target::Target;

    #[test]
    fn the_texts_of_linked_crates_are_there_once() {
        let graph = Graph::of(Target::named("x86_64-unknown-linux-gnu").unwrap()).unwrap();
        let text = String::from_utf8(of(&graph).unwrap()).unwrap();
        assert!(text.contains("\nserde_json 1."), "the list names serde_json");
        assert!(text.contains("PUC-Rio") || text.contains("mlua"), "Lua is linked");
        let permission = "Permission is hereby granted, free of charge";
        assert!(text.contains(permission));
        for package in graph.external() {
            assert!(
                package.licence.is_some() || !files(&package.directory).unwrap().is_empty(),
                "{}",
                package.name
            );
        }
    }
}
