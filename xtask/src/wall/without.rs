//! The corpus against a build without one mechanism of the wall, listed in
//! `tests/wall/mechanisms.toml`. If no attack succeeds then, the corpus does not test the
//! mechanism.

use super::corpus::Attack;
use super::model::Model;
use super::run::{self, Outcome};
use super::run_home::WallSetup;
use super::{WORKERS, generated};
use crate::process::{capture, command, root, run_parallel, target_dir};
use anyhow::{Context, Result, bail};
use serde::Deserialize;
use std::fs;
use std::path::Path;

/// The name of the generated sessions among the families.
const GENERATED: &str = "generated";

/// The number of attacks that are printed for a mechanism.
const SHOWN: usize = 4;

/// A mechanism, and what Tiller is without it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Mechanism {
    name: String,
    file: String,
    text: String,
    replacement: String,
    families: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Mechanisms {
    mechanism: Vec<Mechanism>,
}

impl Mechanism {
    /// Removes the mechanism from the sources below a directory.
    fn remove(&self, sources: &Path) -> Result<()> {
        let path = sources.join(&self.file);
        let source = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        if source.matches(&self.text).count() != 1 {
            bail!("{}: {} does not have its text once", self.name, self.file);
        }
        Ok(fs::write(path, source.replace(&self.text, &self.replacement))?)
    }

    /// Returns what holds no more without the mechanism.
    fn missed(&self, attacks: &[Attack], binary: &Path) -> Result<Vec<String>> {
        let (wall_setup, model) = (WallSetup::prepare(binary)?, Model::start()?);
        let of_families: Vec<_> =
            attacks.iter().filter(|attack| self.families.contains(&attack.family)).collect();
        let outcomes = run_parallel(&of_families, WORKERS, |attack| run::attack(&wall_setup, &model, attack));
        let succeeded =
            of_families.iter().zip(&outcomes).filter(|(_, outcome)| **outcome == Outcome::Succeeded);
        let mut through: Vec<_> =
            succeeded.map(|(attack, _)| format!("{}/{}", attack.family, attack.name)).collect();
        if self.families.iter().any(|family| family == GENERATED) {
            generated::play(&wall_setup, &model, (generated::SESSIONS, 0), "", &mut through)?;
        }
        Ok(through)
    }
}

/// Reads the mechanisms.
fn mechanisms() -> Result<Vec<Mechanism>> {
    let text = fs::read_to_string(root().join("tests/wall/mechanisms.toml"))?;
    Ok(toml::from_str::<Mechanisms>(&text).context("mechanisms.toml")?.mechanism)
}

/// Builds the committed sources without each mechanism of that name, or each of all with `all`, and
/// runs its families. Fails if no attack succeeds without it.
pub(super) fn run(name: &str, attacks: &[Attack]) -> Result<()> {
    let mut chosen = mechanisms()?;
    chosen.retain(|mechanism| name == "all" || mechanism.name == name);
    if chosen.is_empty() {
        bail!("tests/wall/mechanisms.toml has no mechanism '{name}'");
    }
    let (sources, target) = (target_dir().join("without"), target_dir().join("without-target"));
    let git = |directory: &Path, words: &[&str]| capture(command("git").current_dir(directory).args(words));
    if !sources.exists() {
        git(
            &root(),
            &["worktree", "add", "--force", "--quiet", "--detach", &sources.to_string_lossy(), "HEAD"],
        )?;
    }
    let commit = git(&root(), &["rev-parse", "HEAD"])?;
    let mut survived = Vec::new();
    for mechanism in &chosen {
        git(&sources, &["checkout", "--quiet", "--force", "--detach", commit.trim()])?;
        mechanism.remove(&sources)?;
        let mut build = command("cargo");
        build.current_dir(&sources).env("CARGO_TARGET_DIR", &target).env("CARGO_INCREMENTAL", "0");
        capture(build.args(["build", "--quiet", "--locked", "--package", "tiller"]))?;
        let through = mechanism.missed(attacks, &target.join("debug/tiller"))?;
        let shown = through.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
        println!("without {}: {} succeed: {shown}", mechanism.name, through.len());
        if through.is_empty() {
            survived.push(mechanism.name.clone());
        }
    }
    git(&root(), &["worktree", "remove", "--force", &sources.to_string_lossy()])?;
    match survived.is_empty() {
        true => Ok(()),
        false => bail!("no attack succeeds without these mechanisms:\n  {}", survived.join("\n  ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mechanism_is_found_once() {
        for mechanism in mechanisms().unwrap() {
            let source = fs::read_to_string(root().join(&mechanism.file)).unwrap();
            assert_eq!(source.matches(&mechanism.text).count(), 1, "{}", mechanism.name);
            for family in mechanism.families.iter().filter(|family| *family != GENERATED) {
                assert!(root().join(format!("tests/wall/attacks/{family}.toml")).exists(), "{family}");
            }
        }
    }
}
