//! The crates that are compiled into the binary of a target, and their list in the format
//! CycloneDX.

use super::{release::Release, target::Target};
use crate::process::{capture, command, root};
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

/// A crate in the binary.
#[derive(Debug, Clone)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    /// An SPDX expression.
    pub(super) licence: Option<String>,
    pub(super) repository: Option<String>,
    pub(super) description: Option<String>,
    /// The directory of its source.
    pub(super) directory: PathBuf,
    /// Whether it comes from the registry, not from this workspace.
    pub(super) is_external: bool,
    /// The SHA-256 of its archive in the registry.
    checksum: Option<String>,
}

/// The crates of a binary, by id, with their dependencies.
pub(super) struct Graph {
    pub(super) packages: BTreeMap<String, Package>,
    dependencies: BTreeMap<String, BTreeSet<String>>,
    root: String,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<MetadataPackage>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct MetadataPackage {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    repository: Option<String>,
    description: Option<String>,
    manifest_path: PathBuf,
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// `None` for a normal dependency.
    kind: Option<String>,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<Locked>,
}

#[derive(Deserialize)]
struct Locked {
    name: String,
    version: String,
    checksum: Option<String>,
}

impl Graph {
    /// Reads the crates that `tiller` links for a target. Build scripts, procedural macros' own
    /// dependencies and tests are left out as far as cargo tells them apart.
    pub(super) fn of(target: &Target) -> Result<Self> {
        let mut cargo = command("cargo");
        cargo.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", target.triple]);
        let metadata: Metadata = serde_json::from_str(&capture(&mut cargo)?)?;
        let lock: Lock = toml::from_str(&fs::read_to_string(root().join("Cargo.lock"))?)?;
        let checksums: BTreeMap<_, _> = lock
            .package
            .into_iter()
            .filter_map(|locked| Some(((locked.name, locked.version), locked.checksum?)))
            .collect();
        let edges: BTreeMap<String, BTreeSet<String>> = metadata
            .resolve
            .nodes
            .into_iter()
            .map(|node| {
                let linked =
                    node.deps.into_iter().filter(|dep| dep.dep_kinds.iter().any(|kind| kind.kind.is_none()));
                (node.id, linked.map(|dep| dep.pkg).collect())
            })
            .collect();
        let ours =
            metadata.packages.iter().find(|package| package.name == "tiller" && package.source.is_none());
        let root = ours.context("the workspace has no package tiller")?.id.clone();
        let (mut reached, mut open) = (BTreeSet::new(), vec![root.clone()]);
        while let Some(id) = open.pop() {
            if reached.insert(id.clone()) {
                open.extend(edges.get(&id).into_iter().flatten().cloned());
            }
        }
        let packages = metadata
            .packages
            .into_iter()
            .filter(|package| reached.contains(&package.id))
            .map(|found| {
                let checksum = checksums.get(&(found.name.clone(), found.version.clone())).cloned();
                let package = Package {
                    name: found.name,
                    version: found.version,
                    licence: found.license,
                    repository: found.repository,
                    description: found.description,
                    directory: found.manifest_path.parent().map(PathBuf::from).unwrap_or_default(),
                    is_external: found.source.is_some(),
                    checksum,
                };
                (found.id, package)
            })
            .collect();
        let dependencies = edges.into_iter().filter(|(id, _)| reached.contains(id)).collect();
        Ok(Self { packages, dependencies, root })
    }

    /// The crates of others, by name and version.
    pub(super) fn external(&self) -> Vec<&Package> {
        let mut all: Vec<_> = self.packages.values().filter(|package| package.is_external).collect();
        all.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        all
    }
}

/// Returns the list as JSON of CycloneDX 1.6. Equal graphs have equal lists.
pub(super) fn cyclonedx(graph: &Graph, release: &Release) -> Vec<u8> {
    let mut components: Vec<_> = graph
        .packages
        .iter()
        .filter(|(id, _)| **id != graph.root)
        .map(|(_, package)| component(package))
        .collect();
    components.sort_by_key(|component| component["bom-ref"].to_string());
    let mut dependencies: Vec<_> = graph
        .dependencies
        .iter()
        .map(|(id, on)| {
            let on: BTreeSet<_> = on.iter().map(|id| purl(&graph.packages[id])).collect();
            json!({ "ref": purl(&graph.packages[id]), "dependsOn": on })
        })
        .collect();
    dependencies.sort_by_key(|dependency| dependency["ref"].to_string());
    let mut main = component(&graph.packages[&graph.root]);
    main["type"] = json!("application");
    let body = json!({
        "version": 1,
        "metadata": { "timestamp": timestamp(release.time), "component": main },
        "components": components,
        "dependencies": dependencies,
    });
    let mut whole = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": serial_number(&body.to_string()),
    });
    if let (Value::Object(whole), Value::Object(body)) = (&mut whole, body) {
        whole.extend(body);
    }
    format!("{whole:#}\n").into_bytes()
}

fn component(package: &Package) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": purl(package),
        "name": package.name,
        "version": package.version,
        "purl": purl(package),
    });
    if let Some(description) = &package.description {
        component["description"] = json!(description.trim());
    }
    if let Some(licence) = &package.licence {
        // Older crates write `MIT/Apache-2.0`.
        component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
    }
    if let Some(checksum) = &package.checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    if let Some(repository) = &package.repository {
        component["externalReferences"] = json!([{ "type": "vcs", "url": repository }]);
    }
    component
}

fn purl(package: &Package) -> String {
    format!("pkg:cargo/{}@{}", package.name, package.version.replace('+', "%2B"))
}

/// A UUID that follows from the text.
fn serial_number(text: &str) -> String {
    let mut bytes: [u8; 16] = Sha256::digest(text.as_bytes())[..16].try_into().expect("a digest is longer");
    // Version 8 (free use), variant 1.
    bytes[6] = (bytes[6] & 0x0f) | 0x80;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("urn:uuid:{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// Formats seconds since 1970 as `2026-11-23T20:00:00Z`.
fn timestamp(seconds: u64) -> String {
    let seconds = i64::try_from(seconds).unwrap_or_default();
    jiff::Timestamp::from_second(seconds).unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_every_linked_crate_with_its_checksum_and_no_test_crate() {
        let graph = Graph::of(Target::named("x86_64-unknown-linux-gnu").unwrap()).unwrap();
        let release = Release::read().unwrap();
        let list = cyclonedx(&graph, &release);
        assert_eq!(list, cyclonedx(&graph, &release));
        let list: Value = serde_json::from_slice(&list).unwrap();
        let components = list["components"].as_array().unwrap();
        let find = |name: &str| components.iter().find(|component| component["name"] == name);
        assert!(find("serde_json").unwrap()["hashes"][0]["content"].as_str().unwrap().len() == 64);
        assert!(find("agent").is_some() && find("agent").unwrap()["hashes"].is_null());
        assert!(find("proptest").is_none() && find("xtask").is_none());
        let known: BTreeSet<_> =
            components.iter().map(|component| component["bom-ref"].to_string()).collect();
        for dependency in list["dependencies"].as_array().unwrap() {
            for on in dependency["dependsOn"].as_array().unwrap() {
                assert!(known.contains(&on.to_string()), "{on}");
            }
        }
    }
}
