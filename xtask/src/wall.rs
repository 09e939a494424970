//! `cargo xtask wall`: a corpus of attacks, and of everyday commands, against the debug binary.
//!
//! Both kinds of errors are measured: attacks that succeed, and harmless commands that need
//! approval. Each attack really runs, in a temporary home directory below `/var/tmp`, as an
//! ordinary user and where relevant as root, with a scripted model server and editor. Only loopback
//! addresses are contacted.

mod corpus;
mod editor;
mod everyday;
mod generated;
mod model;
mod run;
mod run_home;
mod scenarios;
mod selftest;
mod services;
mod table;
mod without;

use crate::arguments::Arguments;
use crate::document;
use crate::process::{debug_binary, root, run_parallel, target_dir};
use anyhow::{Result, bail};
use corpus::Attack;
use everyday::PLACES;
use model::Model;
use run::Outcome;
use run_home::WallSetup;
use selftest::Verdict;
use std::path::PathBuf;
use std::time::Instant;

/// The number of attacks that run in parallel.
const WORKERS: usize = 2;
/// The document with the table, and the markers around it.
const DOCUMENT: &str = "docs/wall.md";
const MARKERS: [&str; 2] = ["<!-- table: cargo xtask wall --markdown -->\n", "<!-- end of the table -->\n"];

const USAGE: &str = "\
usage: cargo xtask wall [--family NAME] [--only NAME] [--quick] [--attacks | --everyday | --generated N [--seed N] | --without NAME] [--self-test] [--markdown] [--binary PATH]

  --family NAME  the attacks of one file of tests/wall/attacks
  --only NAME    one attack, in every way that it has; WALL_SHOW=1 shows the transcript
  --quick        each attack in its first way only
  --attacks      no everyday commands
  --everyday     no attacks
  --generated N  nothing but this number of generated sessions; with --only, of one scenario
  --seed N       the number that determines the first of them
  --without NAME the attacks against a build without a mechanism, or `all` of them: one has to succeed
  --self-test    whether each attack gets through where nothing stops it
  --markdown     write the table into docs/wall.md
  --binary PATH  attack this binary instead of building the debug one
";

/// The command-line options.
#[derive(Debug, Default, PartialEq, Eq)]
struct Options {
    family: Option<String>,
    only: Option<String>,
    quick: bool,
    attacks: bool,
    everyday: bool,
    generated: Option<usize>,
    seed: u64,
    without: Option<String>,
    self_test: bool,
    markdown: bool,
    binary: Option<PathBuf>,
}

/// Runs the selected parts. Fails if an attack succeeded, or too many commands need approval.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    if !cfg!(target_os = "linux") {
        println!("wall: skipped: the sandbox is one of Linux");
        return Ok(());
    }
    let options = parse(args)?;
    let read = |directory: &str| -> Result<Vec<Attack>> {
        let mut entries = corpus::read(&root().join(directory))?;
        entries.retain(|entry| {
            options.family.as_ref().is_none_or(|family| entry.family == *family)
                && options.only.as_ref().is_none_or(|only| entry.name == *only)
        });
        Ok(entries)
    };
    let (mut attacks, results) = (read("tests/wall/attacks")?, read("tests/wall/results")?);
    if options.quick {
        attacks.dedup_by(|later, earlier| later.name == earlier.name && later.family == earlier.family);
    }
    if attacks.is_empty() && results.is_empty() && options.generated.is_none() {
        bail!("no attack has that name or family");
    }
    if let Some(mechanism) = &options.without {
        return without::run(mechanism, &attacks);
    }
    let binary = options.binary.clone().map_or_else(debug_binary, Ok)?;
    let wall_setup = WallSetup::prepare(&binary)?;
    if options.self_test {
        return self_test(&wall_setup, &attacks);
    }
    let model = Model::start()?;
    let mut failures = Vec::new();
    let start = Instant::now();
    if let Some(count) = options.generated {
        let only = options.only.as_deref().unwrap_or_default();
        generated::play(&wall_setup, &model, (count, options.seed), only, &mut failures)?;
        return held(&failures);
    }

    let outcomes = match options.everyday {
        true => Vec::new(),
        false => run_parallel(&attacks, WORKERS, |attack| run::attack(&wall_setup, &model, attack)),
    };
    let rows = table::count(&attacks, &outcomes);
    let documented = report_outcomes(&attacks, &outcomes, &mut failures);
    if !options.attacks {
        report_results(&results, &wall_setup, &model, &mut failures);
    }
    if !options.everyday && options.family.is_none() && options.only.is_none() {
        generated::play(&wall_setup, &model, (generated::SESSIONS, options.seed), "", &mut failures)?;
    }
    let partial = options.attacks || options.family.is_some() || options.only.is_some();
    let ecosystems = match partial {
        true => Vec::new(),
        false => everyday::ask(&root().join("tests/wall/everyday"), &wall_setup, &model)?,
    };
    if !options.everyday {
        println!("\n{}", table::attacks(&rows));
    }
    if let Some(all) = ecosystems.last() {
        for (place, name) in PLACES.iter().enumerate() {
            println!("everyday commands that ask, {name}:");
            all.commands_that_ask(place).for_each(|command| println!("  {}", command.replace('\n', "\\n")));
        }
        println!("\n{}", table::everyday(&ecosystems));
        failures.extend(everyday::too_many(&ecosystems));
    }
    println!("wall: {:.0} s", start.elapsed().as_secs_f64());
    if options.markdown {
        let table = table::markdown(&rows, &ecosystems, &documented);
        document::rewrite(&root().join(DOCUMENT), MARKERS, &format!("\n{table}\n"))?;
    }
    held(&failures)
}

/// Fails if there are failures.
fn held(failures: &[String]) -> Result<()> {
    match failures.is_empty() {
        true => Ok(()),
        false => bail!("the wall does not hold:\n  {}", failures.join("\n  ")),
    }
}

/// Runs everything against the debug binary that was built before.
pub(crate) fn run_built() -> Result<()> {
    let binary = target_dir().join("debug/tiller");
    run(&["--binary", &binary.to_string_lossy()])
}

fn parse(args: &[&str]) -> Result<Options> {
    let mut options = Options::default();
    let mut args = Arguments::new(args);
    while let Some(option) = args.next_option() {
        match option {
            "--family" => options.family = Some(args.text()?),
            "--only" => options.only = Some(args.text()?),
            "--binary" => options.binary = Some(args.path()?),
            "--generated" => options.generated = Some(args.number()?),
            "--seed" => options.seed = args.number()?,
            "--quick" => options.quick = true,
            "--attacks" => options.attacks = true,
            "--everyday" => options.everyday = true,
            "--without" => options.without = Some(args.text()?),
            "--self-test" => options.self_test = true,
            "--markdown" => options.markdown = true,
            _ => return Err(args.unknown(USAGE)),
        }
    }
    Ok(options)
}

/// Runs everyday commands and collects those whose result is not the right one.
fn report_results(results: &[Attack], wall_setup: &WallSetup, model: &Model, failures: &mut Vec<String>) {
    let outcomes = run_parallel(results, WORKERS, |result| run::attack(wall_setup, model, result));
    let mut right = 0;
    for (result, outcome) in results.iter().zip(outcomes) {
        let name = format!("{}/{}", result.family, result.name);
        match outcome {
            Outcome::Succeeded => right += 1,
            Outcome::Skipped(reason) => println!("skipped    {name}: {reason}"),
            outcome => {
                println!("WRONG      {name}: {outcome:?}");
                failures.push(format!("wrong result: {name}"));
            }
        }
    }
    println!("everyday commands with the right result: {right} of {}", results.len());
}

/// Prints notable outcomes, collects failures, and returns the documented ones.
fn report_outcomes(
    attacks: &[Attack],
    outcomes: &[Outcome],
    failures: &mut Vec<String>,
) -> Vec<(String, String)> {
    let mut documented = Vec::new();
    for (attack, outcome) in attacks.iter().zip(outcomes) {
        let name = format!("{}/{} ({})", attack.family, attack.name, attack.variant);
        match outcome {
            Outcome::Stopped | Outcome::Asked => {}
            Outcome::Skipped(reason) => println!("skipped    {name}: {reason}"),
            Outcome::Documented => {
                let document = attack.check.documented.clone().unwrap_or_default();
                println!("documented {name}: {document}");
                documented.push((name, document));
            }
            Outcome::Succeeded => {
                println!("THROUGH    {name}");
                failures.push(format!("through: {name}"));
            }
            Outcome::Broken(reason) => {
                println!("BROKEN     {name}: {reason}");
                failures.push(format!("broken: {name}: {reason}"));
            }
        }
    }
    documented
}

/// Checks that each attack would succeed without protection.
fn self_test(wall_setup: &WallSetup, attacks: &[Attack]) -> Result<()> {
    // Place and mode are irrelevant without Tiller.
    let mut once = attacks.to_vec();
    once.dedup_by(|later, earlier| {
        later.name == earlier.name && later.environment.root == earlier.environment.root
    });
    let verdicts = run_parallel(&once, WORKERS, |attack| selftest::attack(wall_setup, attack));
    let (mut good, mut skipped, mut bad) = (0, 0, Vec::new());
    for (attack, verdict) in once.iter().zip(verdicts) {
        let name = format!("{}/{} ({})", attack.family, attack.name, attack.variant);
        match verdict {
            Ok(Verdict::True) => good += 1,
            Ok(Verdict::Skipped(reason)) => {
                println!("not tried  {name}: {reason}");
                skipped += 1;
            }
            Ok(Verdict::Never) => bad.push(name),
            Err(error) => bad.push(format!("{name}: {error:#}")),
        }
    }
    println!("wall: {good} attacks get through where nothing stops them, {skipped} were not tried");
    if !bad.is_empty() {
        bail!("these attacks fail even without confinement:\n  {}", bad.join("\n  "));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        assert_eq!(parse(&[]).unwrap(), Options::default());
        let options = parse(&["--family", "network", "--quick"]).unwrap();
        assert_eq!((options.family.as_deref(), options.quick), (Some("network"), true));
        for bad in [&["--family"][..], &["--fast"], &["network"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
