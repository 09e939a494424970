//! `cargo xtask serve-ci`: the tests of a server with many clients and many nodes, for as long as
//! its promises say.

use crate::process::command;
use anyhow::{Context, Result, bail};

/// The variables that extend the tests.
const LONG: &[(&str, &str)] = &[
    ("TILLER_CHAOS", "300"),
    ("TILLER_CHAOS_SESSIONS", "198"),
    ("TILLER_LOAD", "60"),
    ("TILLER_LOAD_P99", "50"),
    ("TILLER_ABANDONED", "10000"),
    ("TILLER_CHAOS_STOPPED", "40"),
    ("TILLER_LEASES", "1000000"),
    ("TILLER_ISOLATION_MS", "2"),
    ("TILLER_MIGRATE", "1000"),
    ("TILLER_REQUIRE_POSTGRES", "1"),
];

/// Runs the tests of `serve`, of the database, and of the nodes, and shows their output.
pub(crate) fn run() -> Result<()> {
    const OUTSIDE: &[&str] = &["--test", "it"];
    const INSIDE: &[&str] = &["--lib"];
    for (package, profile, target, tests) in [
        ("serve", "dev", OUTSIDE, ""),
        ("store", "dev", INSIDE, "postgres::life"),
        ("store", "dev", OUTSIDE, "postgres::"),
        ("tiller", "dev", OUTSIDE, "nodes::"),
        ("tiller", "dev", OUTSIDE, "chaos::"),
        // Times are those of the optimized program.
        ("tiller", "release", OUTSIDE, "load::"),
        ("tiller", "release", OUTSIDE, "the_sessions_of_one_user_do_not_exist_for_another"),
    ] {
        let mut command = command("cargo");
        command.args(["test", "--locked", "--package", package, "--profile", profile]).args(target);
        // One after the other: times are measured.
        command.args(["--", "--nocapture", "--test-threads=1", tests]);
        command.envs(LONG.iter().copied());
        let status = command.status().context("cannot start cargo")?;
        if !status.success() {
            bail!("a test of {package} failed, see above");
        }
    }
    Ok(())
}
