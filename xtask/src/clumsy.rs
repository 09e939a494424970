//! `cargo xtask clumsy`: the table of malformed calls (`crates/providers/tests/it/clumsy`), with what came of each on every wire.

use crate::process::command;
use anyhow::{Context, Result, bail};

/// Plays the table and shows it.
pub(crate) fn run() -> Result<()> {
    let mut tests = command("cargo");
    tests.args([
        "test",
        "--locked",
        "-p",
        "providers",
        "--test",
        "it",
        "--",
        "--nocapture",
        "--test-threads=1",
    ]);
    tests.arg("clumsy_calls_come_right");
    let status = tests.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("too many cases are lost, see above");
    }
    Ok(())
}
