//! What every package of a target consists of.

use super::{archive::Entry, licences, release::Release, sbom, target::Target};
use crate::process::{capture, command, root};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;

/// The shells that have a completion script, with the name of its file.
const SHELLS: [(&str, &str); 6] = [
    ("bash", "tiller.bash"),
    ("zsh", "_tiller"),
    ("fish", "tiller.fish"),
    ("powershell", "_tiller.ps1"),
    ("elvish", "tiller.elv"),
    ("nushell", "tiller.nu"),
];

/// Directories of the tree with JSON Schemas, by their name in the archive.
const SCHEMAS: [(&str, &str); 2] = [("clients/schema", "schema"), ("docs/schema/cli", "schema/cli")];

/// The files of a target.
pub(super) struct Contents {
    pub(super) binary: Vec<u8>,
    /// Licences: our own, and those of the crates in the binary.
    pub(super) licences: Vec<Entry>,
    /// Manual pages, completion scripts, schemas and documents.
    pub(super) extras: Vec<Entry>,
    /// The list of the crates in the binary, in the format CycloneDX.
    pub(super) sbom: Vec<u8>,
}

impl Contents {
    /// Collects the files. `runner` is a binary of this version that runs on this machine.
    pub(super) fn new(target: &Target, binary: &Path, runner: &Path, release: &Release) -> Result<Self> {
        let graph = sbom::Graph::of(target)?;
        let binary = fs::read(binary).with_context(|| format!("cannot read {}", binary.display()))?;
        let mut licences = Vec::new();
        for name in ["LICENSE-APACHE", "LICENSE-MIT"] {
            licences.push(Entry::new(name, fs::read(root().join(name))?));
        }
        licences.push(Entry::new("THIRD-PARTY.txt", licences::of(&graph)?));
        let mut extras = manual(runner)?;
        for (shell, file) in SHELLS {
            let script = output(runner, &["completions", shell])?;
            extras.push(Entry::new(format!("completions/{file}"), script));
        }
        for (from, to) in SCHEMAS {
            extras.extend(schemas(&root().join(from), to)?);
        }
        for name in ["README.md", "CHANGELOG.md"] {
            extras.push(Entry::new(name, fs::read(root().join(name))?));
        }
        Ok(Self { binary, licences, extras, sbom: sbom::cyclonedx(&graph, release) })
    }
}

/// The manual pages, as the program writes them.
fn manual(runner: &Path) -> Result<Vec<Entry>> {
    let directory = tempfile::tempdir()?;
    let out = directory.path().to_str().context("the temporary directory has no UTF-8 path")?;
    output(runner, &["man", "--out", out])?;
    let mut pages = Vec::new();
    for page in fs::read_dir(directory.path())? {
        let page = page?;
        let name = page.file_name().to_string_lossy().into_owned();
        pages.push(Entry::new(format!("man/man1/{name}"), fs::read(page.path())?));
    }
    ensure!(pages.iter().any(|page| page.path.ends_with("/tiller.1")), "the program wrote no page tiller.1");
    Ok(pages)
}

/// Runs the program in an empty home and returns what it prints.
fn output(runner: &Path, words: &[&str]) -> Result<String> {
    let home = tempfile::tempdir()?;
    capture(command(runner).args(words).env("TILLER_HOME", home.path()))
        .context("the program must run on this machine to write its pages; pass another one with --runner")
}

fn schemas(from: &Path, to: &str) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            entries.push(Entry::new(format!("{to}/{}", super::release::name(&path)), fs::read(&path)?));
        }
    }
    Ok(entries)
}
