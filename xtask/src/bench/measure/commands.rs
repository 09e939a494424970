//! Commands that need no session, from their start to their end.

use super::super::figure::{Figure, Quantity};
use super::Bench;
use anyhow::{Result, bail};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Commands of every kind, with the names of their figures and their targets in milliseconds.
const COMMANDS: &[(&str, f64, &[&str])] = &[
    ("`tiller -V`", 5.0, &["-V"]),
    ("`tiller --help`", 15.0, &["--help"]),
    ("`tiller help sessions`", 15.0, &["help", "sessions"]),
    ("`tiller settings list --json`", 15.0, &["settings", "list", "--json"]),
    ("`tiller config show`", 15.0, &["config", "show"]),
    ("`tiller sessions list`", 15.0, &["sessions", "list"]),
    ("`tiller providers list`", 15.0, &["providers", "list"]),
    ("`tiller keys`", 15.0, &["keys"]),
    ("`tiller completions bash`", 15.0, &["completions", "bash"]),
    ("a completion of a setting", 20.0, &["__complete", "settings", "ui."]),
];

/// Runs of one command whose fastest counts as a sample: the machine is shared.
const TRIES: usize = 3;

/// Measures the commands.
pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let agent = bench.ready()?;
    let mut figures = Vec::new();
    for &(name, target, arguments) in COMMANDS {
        let mut figure = Figure::of(Quantity::ms(name, target));
        for _ in 0..bench.runs {
            let mut fastest = Duration::MAX;
            for _ in 0..TRIES {
                let mut command = agent.in_terminal(arguments);
                command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
                let started = Instant::now();
                let status = command.status()?;
                fastest = fastest.min(started.elapsed());
                if !status.success() {
                    bail!("{name} ended with {status}");
                }
            }
            figure.add_time(fastest);
        }
        figures.push(figure);
    }
    Ok(figures)
}
