//! The names, the hosts, the version and the time of a release.

use crate::process::{capture, command, root};
use anyhow::{Context, Result};
use serde::Deserialize;
use std::fs;
use std::path::Path;

/// The names and hosts of releases: `packaging/release.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Release {
    pub(super) repository: String,
    pub(super) downloads: String,
    pub(super) latest: String,
    pub(super) key: String,
    pub(super) npm: String,
    pub(super) pypi: String,
    /// The version of the workspace.
    #[serde(skip)]
    pub(super) version: String,
    /// The time of all files, in seconds since 1970.
    #[serde(skip)]
    pub(super) time: u64,
}

impl Release {
    /// Reads the names, the version and the time.
    pub(super) fn read() -> Result<Self> {
        let path = root().join("packaging/release.toml");
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        let release: Self = toml::from_str(&text).with_context(|| format!("{}", path.display()))?;
        Ok(Self { version: version()?, time: time()?, ..release })
    }

    /// The URL of a file of this version.
    pub(super) fn url(&self, file: &str) -> String {
        format!("{}/{file}", self.downloads.replace("{version}", &self.version))
    }
}

/// The version of the workspace.
fn version() -> Result<String> {
    #[derive(Deserialize)]
    struct Manifest {
        workspace: Workspace,
    }
    #[derive(Deserialize)]
    struct Workspace {
        package: Package,
    }
    #[derive(Deserialize)]
    struct Package {
        version: String,
    }
    let manifest: Manifest = toml::from_str(&fs::read_to_string(root().join("Cargo.toml"))?)?;
    Ok(manifest.workspace.package.version)
}

/// The time of the files: `SOURCE_DATE_EPOCH`, or that of the last commit.
fn time() -> Result<u64> {
    let given = std::env::var("SOURCE_DATE_EPOCH").ok();
    let text = match given {
        Some(given) => given,
        None => capture(command("git").args(["log", "-1", "--format=%ct"]))?,
    };
    text.trim().parse().with_context(|| format!("SOURCE_DATE_EPOCH is no number of seconds: {text:?}"))
}

/// The name of a file without its directory.
pub(super) fn name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_url_of_a_file_has_its_version() {
        let release = Release::read().unwrap();
        assert!(release.url("x.tar.gz").contains(&format!("v{}/x.tar.gz", release.version)));
    }
}
