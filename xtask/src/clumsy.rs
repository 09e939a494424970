//! `cargo xtask clumsy`: the table of malformed calls (`crates/providers/tests/it/clumsy`), with
//! the outcome of each on every wire format.

use crate::process::command;
use anyhow::{Context, Result, bail};

/// Runs the table's test and shows its output.
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
    tests.arg("clumsy::malformed_calls_are_repaired_on_");
    let status = tests.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("too many cases are lost, see above");
    }
    Ok(())
}
