//! The cost of confining a command: `true` is called repeatedly, in a process that confines
//! commands and in one that does not. The editor offers no terminals, so the launcher starts the
//! commands.

use super::super::child::Agent;
use super::super::figure::{Figure, Quantity};
use super::super::script::{ESCAPED, Script};
use super::delegation::calls;
use super::{Bench, initialize_with, open};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(super) const UNCONFINED: &str = "sandbox.level = \"off\"\n";

/// The size of a large project: directories, and files in each.
const DIRECTORIES: usize = 10_000;
const FILES: usize = 20;

/// Measures what confinement adds to a trivial command in a project under version control.
pub(super) fn measure(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut confined = Figure::of(Quantity::time("a confined `true`, from call to result"));
    let mut unconfined = Figure::of(Quantity::time("an unconfined one"));
    let mut more = Figure::of(Quantity::ms("... what confinement adds", 10.0));
    let mut room = Figure::of(Quantity::ms("... what the first one of a session adds", 15.0));
    let mut within = ready(bench, "")?;
    let mut without = ready(bench, UNCONFINED)?;
    // The first session of a process begins with more.
    launches(bench, &mut within, true)?;
    for agent in [&within, &without] {
        repository(Path::new(&agent.project()))?;
    }
    for _ in 0..bench.runs {
        let all = launches(bench, &mut within, true)?;
        let pair = [middle(&all), middle(&launches(bench, &mut without, false)?)];
        room.add_difference([*all.first().context("the turn called nothing")?, pair[0]]);
        confined.add_time(pair[0]);
        unconfined.add_time(pair[1]);
        more.add_difference(pair);
    }
    Ok(vec![confined, unconfined, more, room])
}

/// Measures the same in a large project: in a process that has not read its directories yet, and in
/// one that watches them.
pub(super) fn large_project(bench: &Bench<'_>) -> Result<Vec<Figure>> {
    let mut first = Figure::of(Quantity::time("200,000 files: the first confined command of a process"));
    let mut further = Figure::of(Quantity::time("... a further one"));
    let mut added = Figure::of(Quantity::ms("... what confinement adds to a further one", 10.0));
    let [large, other] = ["", UNCONFINED].map(|settings| project(bench, settings));
    let (large, mut without) = (large?, other?);
    for _ in 0..bench.runs {
        let mut within = large.again()?;
        initialize_with(&mut within, false, false)?;
        let all = launches(bench, &mut within, true)?;
        let pair = [middle(&all), middle(&launches(bench, &mut without, false)?)];
        first.add_time(*all.first().context("the turn called nothing")?);
        further.add_time(pair[0]);
        added.add_difference(pair);
    }
    Ok(vec![first, further, added])
}

pub(super) fn ready(bench: &Bench<'_>, settings: &str) -> Result<Agent> {
    let mut agent = Agent::start_with(bench.binary, &bench.server.base_url(), settings)?;
    initialize_with(&mut agent, false, false)?;
    Ok(agent)
}

/// Starts an agent with a large project.
fn project(bench: &Bench<'_>, settings: &str) -> Result<Agent> {
    let agent = ready(bench, settings)?;
    let project = PathBuf::from(agent.project());
    repository(&project)?;
    for directory in 0..DIRECTORIES {
        let directory = project.join(format!("part{}/folder{directory}", directory / 100));
        std::fs::create_dir_all(&directory)?;
        for file in 0..FILES {
            std::fs::write(directory.join(format!("file{file}.rs")), "")?;
        }
    }
    Ok(agent)
}

/// Creates the files that make a directory a git repository, and that the sandbox protects.
fn repository(project: &Path) -> Result<()> {
    let git = project.join(".git");
    for directory in ["objects", "refs", "hooks", "info"] {
        std::fs::create_dir_all(git.join(directory))?;
    }
    std::fs::write(git.join("HEAD"), "ref: refs/heads/main\n")?;
    std::fs::write(git.join("config"), "[core]\n\trepositoryformatversion = 0\n")?;
    Ok(())
}

/// Returns the times of a turn's commands. The first command checks whether they were confined.
fn launches(bench: &Bench<'_>, agent: &mut Agent, confined: bool) -> Result<Vec<Duration>> {
    let escaped = Path::new(&agent.project()).with_file_name(ESCAPED);
    if escaped.exists() {
        std::fs::remove_file(&escaped)?;
    }
    let (session, _) = open(agent)?;
    let (_, events) = bench.turn(agent, &session, Script::Trues)?;
    if escaped.exists() == confined {
        bail!("the commands were {}confined", if confined { "not " } else { "" });
    }
    Ok(calls(&events, &[]).iter().map(|call| call.time).collect())
}

fn middle(times: &[Duration]) -> Duration {
    let mut sorted = times.to_vec();
    sorted.sort();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_time_is_reported() {
        let of = |ms: &[u64]| middle(&ms.iter().copied().map(Duration::from_millis).collect::<Vec<_>>());
        assert_eq!(of(&[9, 1, 5]), Duration::from_millis(5));
        assert_eq!(of(&[]), Duration::ZERO);
    }
}
