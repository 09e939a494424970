//! `cargo xtask faults`: fault injection.
//!
//! There are two parts. In tests, every operation of every interface fails once, and the tests
//! print how many there were. Outside, the real binary is killed at moments derived from a seed,
//! surrounded by a scripted model, editor and server, and is started again.

mod editor;
mod home;
mod kill_moment;
mod kill_test;
mod kind;
mod model;
mod prompt;
mod results;
mod running_program;
mod suites;
mod swarm;

use crate::arguments::Arguments;
use crate::process::{debug_binary, run_parallel, target_dir};
use anyhow::{Context, Result, bail};
use kill_test::Plan;
use kind::Kind;
use model::Model;
use results::ResultRow;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Instant, SystemTime};
use suites::SUITES;

/// The number of kills by default, and in CI.
const POINTS: usize = 300;
const POINTS_IN_CI: usize = 30;
/// The number of programs that are killed in parallel.
const WORKERS: usize = 2;

const USAGE: &str = "\
usage: cargo xtask faults [--points N] [--seed S] [--binary PATH] [--only NAME]…

  --points N     how often the program is killed, 300 by default
  --seed S       which moments; printed with every run
  --binary PATH  kill this binary instead of building the debug one
  --only NAME    one of: agent, acp (every operation fails, in tests); local, unconfined, delegated, servers, swarm (kills). May be repeated
";

/// The command-line options.
#[derive(Debug, PartialEq, Eq)]
struct Options {
    points: usize,
    seed: Option<u64>,
    binary: Option<PathBuf>,
    only: Vec<String>,
}

impl Options {
    fn wants(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == name)
    }
}

/// Runs the selected parts.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    let options = parse(args)?;
    let mut rows = Vec::new();
    for (package, filter) in SUITES.iter().filter(|(package, _)| options.wants(package)) {
        rows.extend(suites::run(package, filter)?);
    }
    let kinds: Vec<_> = Kind::ALL.into_iter().filter(|kind| options.wants(kind.name())).collect();
    if !kinds.is_empty() {
        if cfg!(target_os = "linux") {
            let binary = options.binary.clone().map_or_else(debug_binary, Ok)?;
            let seed = options.seed.map_or_else(any_seed, Ok)?;
            rows.extend(kill(&kinds, options.points, seed, &binary)?);
        } else {
            println!(
                "faults: the kills are skipped: surviving processes are searched in /proc, which only Linux has"
            );
        }
    }
    println!("\n{}", results::table(&rows));
    let failures = results::failures(&rows);
    if !failures.is_empty() {
        bail!("failures after a fault:\n  {}", failures.join("\n  "));
    }
    Ok(())
}

/// Runs only a few kills, on the debug binary that was built before; the fault tests run with all
/// other tests.
pub(crate) fn run_built() -> Result<()> {
    let (points, binary) = (POINTS_IN_CI.to_string(), target_dir().join("debug/tiller"));
    let mut args = vec!["--points", &points, "--binary"];
    let binary = binary.to_string_lossy();
    args.push(&binary);
    Kind::ALL.iter().for_each(|kind| args.extend(["--only", kind.name()]));
    run(&args)
}

/// Kills the program repeatedly; returns a row for each kind.
fn kill(kinds: &[Kind], points: usize, seed: u64, binary: &Path) -> Result<Vec<ResultRow>> {
    println!("faults: {points} kills, --seed {seed}");
    let begun = Instant::now();
    let model = Model::start()?;
    // A directory where the user that plays a story can execute the program.
    let directory = tempfile::tempdir()?;
    std::fs::set_permissions(directory.path(), std::fs::Permissions::from_mode(0o755))?;
    let copy = directory.path().join("tiller");
    std::fs::copy(binary, &copy).with_context(|| format!("{}: build it first", binary.display()))?;
    let plans = Plan::all(kinds, points, seed);
    let played = run_parallel(&plans, WORKERS, |plan| kill_test::play(*plan, &copy, &model));
    let mut rows: Vec<ResultRow> = Vec::new();
    for results in played {
        match rows.iter_mut().find(|row| row.name == results.name) {
            Some(row) => row.add(results),
            None => rows.push(results),
        }
    }
    println!("faults: {points} kills took {:.0} s", begun.elapsed().as_secs_f64());
    Ok(rows)
}

fn any_seed() -> Result<u64> {
    Ok(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH)?.as_secs())
}

fn parse(args: &[&str]) -> Result<Options> {
    let mut options = Options { points: POINTS, seed: None, binary: None, only: Vec::new() };
    let mut args = Arguments::new(args);
    while let Some(option) = args.next_option() {
        match option {
            "--points" => options.points = args.number()?,
            "--seed" => options.seed = Some(args.number()?),
            "--binary" => options.binary = Some(args.path()?),
            "--only" => options.only.push(known(args.text()?)?),
            _ => return Err(args.unknown(USAGE)),
        }
    }
    Ok(options)
}

fn known(name: String) -> Result<String> {
    let suites = SUITES.iter().map(|(package, _)| *package);
    if suites.chain(Kind::ALL.map(Kind::name)).any(|known| known == name) {
        return Ok(name);
    }
    bail!("unknown name: {name}\n\n{USAGE}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        assert_eq!(parse(&[]).unwrap().points, POINTS);
        let options = parse(&["--points", "5", "--seed", "9", "--only", "acp", "--only", "local"]).unwrap();
        assert_eq!((options.points, options.seed), (5, Some(9)));
        assert!(options.wants("acp") && options.wants("local") && !options.wants("servers"));
        for bad in [&["--points"][..], &["--points", "x"], &["--only", "nothing"], &["--fast"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
