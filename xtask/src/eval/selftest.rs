//! A test of the tasks without a model: each check must fail on the untouched project and pass with
//! the reference solution, which may only change permitted files.

use super::judge::{Verdict, judge};
use super::run_directory::{RunDirectory, copy};
use super::task::{Check, TASKS, Task, WIDE, all};
use super::tools;
use crate::process::{root, run_parallel};
use anyhow::{Context, Result, bail};

/// The number of tasks tested in parallel.
const WORKERS: usize = 2;

/// Tests all selected tasks.
pub(crate) fn run(meant: Option<&str>) -> Result<()> {
    let mut tasks = all(&root().join(TASKS))?;
    tasks.extend(all(&root().join(WIDE))?);
    tasks.retain(|task| meant.is_none_or(|words| task.is_meant(words)));
    let path = tools::path();
    let scratch = tempfile::Builder::new().prefix("tiller-eval-test-").tempdir()?;
    let outcomes = run_parallel(&tasks, WORKERS, |task| match tools::missing(&task.needs, &path) {
        Some(program) => Ok(Some(program.to_owned())),
        None => try_out(task, &scratch.path().join(&task.name), &path).map(|()| None),
    });
    let (mut good, mut bad) = (0, Vec::new());
    for (task, outcome) in tasks.iter().zip(outcomes) {
        match outcome {
            Ok(None) => good += 1,
            Ok(Some(program)) => println!("skipped  {}: {program} is not installed", task.name),
            Err(error) => bad.push(format!("{}: {error:#}", task.name)),
        }
    }
    if !bad.is_empty() {
        bail!("these tasks are not what they say:\n  {}", bad.join("\n  "));
    }
    println!("eval: {good} of {} tasks fail without their reference solution and pass with it", tasks.len());
    Ok(())
}

/// Tests one task in a directory that does not exist yet.
fn try_out(task: &Task, place: &std::path::Path, path: &str) -> Result<()> {
    let run_directory = RunDirectory::make(place.to_owned(), task, path)?;
    let refused = |answer: &str, what: &str| -> Result<()> {
        match judge(task, &run_directory, answer)? {
            Verdict { failure: Some(_), unwanted } if unwanted.is_empty() => Ok(()),
            Verdict { unwanted, .. } if !unwanted.is_empty() => bail!("{what}: {unwanted:?} changed"),
            _ => bail!("the check passes, though {what}"),
        }
    };
    refused("", "nothing was done")?;
    let mut answer = String::new();
    match &task.check {
        Check::Answer { wrong, .. } => {
            wrong.iter().try_for_each(|wrong| refused(wrong, &format!("the answer was {wrong:?}")))?;
            let file = task.solution().join("answer.txt");
            answer = std::fs::read_to_string(file).context("solution/answer.txt")?;
        }
        Check::Script(_) => {
            if task.solution().is_dir() {
                copy(&task.solution(), &run_directory.project())?;
            }
            for name in task.removed() {
                std::fs::remove_file(run_directory.project().join(name)).with_context(|| name.clone())?;
            }
        }
    }
    let verdict = judge(task, &run_directory, &answer)?;
    if !verdict.unwanted.is_empty() {
        bail!("the reference solution changes {:?}, which may not change", verdict.unwanted);
    }
    match verdict.failure {
        None => Ok(()),
        Some(reason) => bail!("the reference solution does not pass: {reason}"),
    }
}
