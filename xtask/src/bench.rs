//! `cargo xtask bench`: benchmarks of the release binary as a whole process, between a model server
//! and an editor that this program plays.
//!
//! Nothing of the product is linked in: the benchmark speaks the protocol over the child's pipes
//! and the model's wire format over loopback, as any third party would. A missed target does not
//! fail the run; it is marked `over` beside the figure.

mod child;
mod editor;
mod figure;
mod measure;
mod model_server;
#[cfg(test)]
mod relay;
mod report;
mod script;
mod window;

use crate::arguments::Arguments;
use crate::process::{command, command_line, target_dir};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// Samples per figure, unless `--runs` sets another number.
const RUNS: usize = 10;

pub(crate) const USAGE: &str = "\
usage: cargo xtask bench [--json] [--runs N] [--only NAME] [--binary PATH]

  --json         print the figures as one JSON object
  --runs N       take each figure N times (10)
  --only NAME    take the figures of one measurement: one of those that `--only help` names
  --binary PATH  measure this binary instead of building the release one
";

/// The command-line options.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    json: bool,
    runs: usize,
    only: Option<String>,
    binary: Option<PathBuf>,
}

/// Builds the binary to measure, and measures it.
///
/// The editor's side is timed too, so it has to be fast: a debug build of this program builds a
/// release build of itself and delegates to it.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let options = parse(args)?;
    if cfg!(debug_assertions) {
        return hand_over(&options);
    }
    let binary = options.binary.context("name the binary to measure: --binary PATH")?;
    let figures = measure::all(&binary, options.runs, options.only.as_deref())?;
    if options.json {
        println!("{:#}", report::json(&binary, options.runs, &figures));
    } else {
        print!("{}", report::table(&figures));
    }
    Ok(())
}

fn parse(args: &[&str]) -> Result<Options> {
    let mut options = Options { json: false, runs: RUNS, only: None, binary: None };
    let mut args = Arguments::new(args);
    while let Some(option) = args.next_option() {
        match option {
            "--json" => options.json = true,
            "--runs" => {
                let runs = args.number()?;
                options.runs = Some(runs).filter(|runs| *runs > 0).context("--runs needs a number over 0")?;
            }
            "--only" => options.only = Some(args.text()?),
            "--binary" => options.binary = Some(args.path()?),
            _ => return Err(args.unknown(USAGE)),
        }
    }
    Ok(options)
}

/// Builds the release binaries and runs this command in the optimised build.
fn hand_over(options: &Options) -> Result<()> {
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => build("tiller")?,
    };
    let mut inner = command(build("xtask")?);
    inner.args(["bench", "--runs", &options.runs.to_string(), "--binary"]).arg(binary);
    if options.json {
        inner.arg("--json");
    }
    if let Some(name) = &options.only {
        inner.args(["--only", name]);
    }
    let status = inner.status().with_context(|| format!("`{}` did not start", command_line(&inner)))?;
    if !status.success() {
        bail!("`{}` ended with {status}", command_line(&inner));
    }
    Ok(())
}

fn build(package: &str) -> Result<PathBuf> {
    let mut cargo = command("cargo");
    cargo.args(["build", "--release", "--locked", "--quiet", "--package", package]);
    if !cargo.status()?.success() {
        bail!("`{}` failed", command_line(&cargo));
    }
    let binary = target_dir().join("release").join(package);
    if !Path::new(&binary).exists() {
        bail!("{} is not there after its build", binary.display());
    }
    Ok(binary)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        assert_eq!(parse(&[]).unwrap(), Options { json: false, runs: RUNS, only: None, binary: None });
        let all = parse(&["--json", "--runs", "3", "--only", "start", "--binary", "/bin/true"]).unwrap();
        let (only, binary) = (Some("start".to_owned()), Some(PathBuf::from("/bin/true")));
        assert_eq!(all, Options { json: true, runs: 3, only, binary });
        for bad in [&["--runs"][..], &["--runs", "0"], &["--binary"], &["--only"], &["--fast"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
