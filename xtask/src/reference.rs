//! `cargo xtask reference`: the pages of `docs/reference` and the published schema of the settings,
//! which tests of the binary's crate generate and compare.

use crate::process::{command, command_line};
use anyhow::{Context, Result, bail};

/// Checks the files, or writes them: `cargo xtask reference [--write]`.
pub(crate) fn run(words: &[&str]) -> Result<()> {
    let mut cargo = command("cargo");
    cargo.args(["test", "--quiet", "--locked", "--package", "tiller", "--bin", "tiller"]);
    cargo.arg("reference::");
    match words {
        [] => {}
        ["--write"] => _ = cargo.env("TILLER_RENEW", "1"),
        _ => bail!("no such option of reference: {}; there is --write", words.join(" ")),
    }
    if !cargo.status().context("cargo did not start")?.success() {
        bail!("`{}` failed; `cargo xtask reference --write` renews the files", command_line(&cargo));
    }
    Ok(())
}
