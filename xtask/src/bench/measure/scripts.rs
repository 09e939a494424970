//! The cost of a call from a script to its host: leaving the interpreter, arguments as JSON, the
//! result, and back.

use super::Bench;
use crate::bench::figure::{Figure, Quantity};
use crate::process::command;
use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Calls per sample; a sample is their mean.
const CALLS: f64 = 20_000.0;

/// Settings that enable an integration which needs no account and requires approval.
const SETTINGS: &str = "integrations.coingecko.enabled = true\n";

const INTEGRATION: Quantity =
    Quantity { name: "… to a function of an integration, up to the gate", unit: "µs", target: Some(50.0) };

const CALL: Quantity = Quantity { name: "a call from a script to its host", unit: "µs", target: Some(50.0) };

pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let home = tempfile::tempdir()?;
    std::fs::write(home.path().join("config.toml"), SETTINGS)?;
    let mut figures = Vec::new();
    for (quantity, called) in [
        // Without a turn the call is refused, which takes the same path.
        (CALL, "app.tools.file_read, {path = 'a.txt', limit = i}"),
        // The gate would have to ask, so nothing is sent.
        (INTEGRATION, "app.integrations.coingecko.get_coin, {id = 'bitcoin', tickers = i > 1}"),
    ] {
        let code = format!("for i = 1, {CALLS} do pcall({called}) end");
        let mut figure = Figure::of(quantity);
        for _ in 0..bench.runs {
            let mut run = command(bench.binary);
            run.args(["lua", "run", "--json", "--eval", &code]);
            let output = run.current_dir(home.path()).env("TILLER_HOME", home.path()).output();
            let output = output.with_context(|| format!("{} did not start", bench.binary.display()))?;
            if !output.status.success() {
                bail!("`lua run` failed: {}", String::from_utf8_lossy(&output.stdout));
            }
            let result: Value = serde_json::from_slice(&output.stdout)?;
            let milliseconds = result["duration_ms"].as_f64().context("no time was reported")?;
            figure.add(milliseconds * 1e3 / CALLS);
        }
        figures.push(figure);
    }
    Ok(figures)
}
