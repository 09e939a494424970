//! `cargo xtask soak`: the extended runs of the tests with many sessions and with kills.

use crate::process::command;
use anyhow::{Context, Result, bail};

/// The variables that extend each test.
const LONG: &[(&str, &str)] = &[("TILLER_SOAK", "2000"), ("TILLER_KILLS", "200")];

/// Runs both tests and shows their output.
pub(crate) fn run() -> Result<()> {
    let mut tests = command("cargo");
    tests.args(["test", "--workspace", "--locked", "--test", "it"]).args(["--", "--nocapture"]);
    tests.args(["acknowledged_work_survives_any_kill", "every_prompt_of_many_sessions_is_answered_once"]);
    tests.envs(LONG.iter().copied());
    let status = tests.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("a test failed, see above");
    }
    Ok(())
}
