//! The shell installer: installs, is run again, refuses a wrong sum, and removes what it made.

use super::{Outcome, Trial};
use crate::process::{capture, command};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The profile that the user has before.
const PROFILE: &str = "# mine\nexport EDITOR=vi";

/// Plays the installer in an empty home.
pub(super) fn try_installer(trial: &Trial) -> Result<Outcome> {
    let program = trial.home.join(".local/bin/tiller");
    let receipt = trial.home.join(".local/share/tiller/receipt.json");
    lint(&trial.file("install.sh"))?;

    succeeded(&installer(trial, trial.out).output()?)?;
    let mut installed = trial.command(&program);
    installed.arg("acp");
    trial.starts(installed)?;
    let written: Value = serde_json::from_str(&fs::read_to_string(&receipt)?).context("the receipt")?;
    ensure!(written["binary"] == program.display().to_string(), "the receipt names {}", written["binary"]);
    ensure!(
        written["version"] == trial.release.version && written["target"] == trial.target.triple,
        "{written}"
    );
    ensure!(written["source"] == trial.release.latest, "the receipt names {}", written["source"]);
    let stray: Vec<_> = fs::read_dir(trial.home.join(".local/bin"))?.flatten().collect();
    ensure!(stray.len() == 1, "there are {} files beside the program", stray.len() - 1);

    // A second time, over the running version; and the line in the profile is added once.
    fs::write(trial.home.join(".bashrc"), PROFILE)?;
    for _ in 0..2 {
        succeeded(&installer(trial, trial.out).arg("--modify-path").output()?)?;
    }
    let profile = fs::read_to_string(trial.home.join(".bashrc"))?;
    ensure!(profile.starts_with(&format!("{PROFILE}\n")), "the profile was changed: {profile}");
    ensure!(profile.matches("installer of tiller").count() == 1, "the line is there twice: {profile}");
    let mut shell = trial.command("bash");
    let found = capture(shell.args(["-c", ". ~/.bashrc; command -v tiller"]))?;
    ensure!(found.trim() == program.display().to_string(), "the shell finds {found}");

    let mut remove = installer(trial, trial.out);
    succeeded(&remove.arg("--uninstall").output()?)?;
    ensure!(!program.exists() && !receipt.exists(), "something is left after the removal");
    let profile = fs::read_to_string(trial.home.join(".bashrc"))?;
    ensure!(profile.trim_end() == PROFILE, "the profile was not restored: {profile}");

    refuses_a_wrong_sum(trial, &program)?;
    Ok(Outcome::Passed)
}

fn installer(trial: &Trial, from: &Path) -> Command {
    let mut installer = trial.command("sh");
    installer.arg(trial.file("install.sh")).arg("--from").arg(from).env("SHELL", "/bin/bash");
    installer
}

fn succeeded(output: &Output) -> Result<()> {
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "the installer ended with {}: {text}", output.status);
    Ok(())
}

/// Changes one byte of the archive: nothing may be installed.
fn refuses_a_wrong_sum(trial: &Trial, program: &Path) -> Result<()> {
    let damaged = trial.home.join("damaged");
    fs::create_dir(&damaged)?;
    let name = format!("tiller-{}-{}.tar.gz", trial.release.version, trial.target.triple);
    let mut bytes = fs::read(trial.file(&name))?;
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(damaged.join(&name), bytes)?;
    fs::copy(trial.file("SHA256SUMS"), damaged.join("SHA256SUMS"))?;
    let output = installer(trial, &damaged).output()?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(
        !output.status.success() && text.contains("nothing was installed"),
        "it took a wrong sum: {text}"
    );
    ensure!(!program.exists(), "it installed a program with a wrong sum");
    Ok(())
}

/// Checks the script with shellcheck, where that is installed.
fn lint(script: &Path) -> Result<()> {
    if super::has("shellcheck") {
        capture(command("shellcheck").arg(script))?;
    }
    capture(command("sh").arg("-n").arg(script)).map(drop)
}
