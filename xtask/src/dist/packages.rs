//! The files of one target: the archive, the list of crates, npm's package and the wheel.

use super::{
    archive::{self, Entry},
    contents::Contents,
    npm,
    release::Release,
    target::Target,
    wheel,
};
use anyhow::Result;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes the packages of a target; returns their paths.
pub(super) fn of_target(
    target: &Target,
    contents: &Contents,
    release: &Release,
    out: &Path,
    fast: bool,
) -> Result<Vec<PathBuf>> {
    let stem = format!("tiller-{}-{}", release.version, target.triple);
    let archive = out.join(format!("{stem}.tar.gz"));
    let mut entries = vec![Entry::program("tiller", contents.binary.clone())];
    entries.extend(contents.licences.iter().chain(&contents.extras).cloned());
    entries.push(Entry::new("sbom.cdx.json", contents.sbom.clone()));
    let entries: Vec<_> = entries.iter().map(|entry| entry.below(&stem)).collect();
    archive::write(&archive, &entries, release.time, fast)?;
    let list = out.join(format!("{stem}.cdx.json"));
    fs::write(&list, &contents.sbom)?;
    let npm = npm::write_platform(target, contents, release, out, fast)?;
    let wheel = wheel::write(target, contents, release, out, fast)?;
    Ok(vec![archive, list, npm, wheel])
}
