//! `cargo xtask edits`: the extended run of the edit test.

use crate::arguments::Arguments;
use crate::process::command;
use anyhow::{Context, Result, bail};

/// The default number of cases; each is tried in every form with every fault.
const CASES: u64 = 300;

/// Runs the test and shows its table.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let (mut cases, mut seed) = (CASES, 1_u64);
    let mut args = Arguments::new(args);
    while let Some(option) = args.next_option() {
        match option {
            "--cases" => cases = args.number()?,
            "--seed" => seed = args.number()?,
            _ => return Err(args.unknown("edits takes --cases N and --seed S")),
        }
    }
    let mut bench = command("cargo");
    bench.args([
        "test",
        "--locked",
        "-p",
        "agent",
        "--lib",
        "no_edit_lands_at_a_wrong_place_whatever_its_form",
    ]);
    bench.args(["--", "--nocapture"]);
    bench.env("TILLER_EDITS", cases.to_string()).env("TILLER_EDITS_SEED", seed.to_string());
    let status = bench.status().context("cannot start cargo")?;
    if !status.success() {
        bail!("an edit landed at a wrong place, or too few were made, see above");
    }
    Ok(())
}
