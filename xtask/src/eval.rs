//! `cargo xtask eval`: what an agent accomplishes with a model, on the tasks of `eval/tasks`.
//!
//! The agent is any that speaks the protocol; it gets a small project under git and a prompt as a
//! person would type it. A proxy between agent and model server gives all agents the same sampling
//! parameters and counts the traffic. The checks are hidden: they are copied over the project after
//! the turn.

mod agent;
mod calls;
mod editor;
mod exchange;
mod judge;
mod proxy;
mod result;
mod run;
mod run_directory;
mod selftest;
mod table;
mod task;
mod tools;
mod wide;

use crate::arguments::Arguments;
use crate::document;
use crate::process::{debug_binary, root};
use agent::Agent;
use anyhow::{Context, Result, bail};
use editor::Capabilities;
use proxy::Proxy;
use result::{Outcome, RunId};
use run::{Directories, Setup};
use std::path::PathBuf;
use std::time::Duration;
use task::{Split, Task};

/// The document with the results, and the markers around them.
const DOCUMENT: &str = "docs/evaluation.md";
const MARKERS: [&str; 2] = ["<!-- results -->\n", "<!-- end of the results -->\n"];
/// The default file of results.
const RESULTS: &str = "target/eval/results.jsonl";

/// Attempts for a run that fails because of the agent or the server.
const TRIES: usize = 3;

const USAGE: &str = "\
usage: cargo xtask eval --model MODEL [--agent AGENT] [--tasks WORDS] [--split tuned|frozen|peers] [--seeds N]
       cargo xtask eval --self-test [--tasks WORDS] | --list [--tasks WORDS] | --table | --write

  --model MODEL        the model: local/NAME, anthropic/NAME, or a name that the server knows
  --server URL         the model server (http://127.0.0.1:8080/v1)
  --agent AGENT        a name of eval/peers, or a command that speaks the protocol; Tiller without it
  --name NAME          what the agent is called in the results
  --tasks WORDS        only tasks whose name holds, or whose kind or language is, one of these, as in edit,python
  --split HALF         only the tuned half, the frozen one, or the twelve frozen tasks for other agents (peers)
  --seeds N            each task with the seeds 1 to N (1)
  --temperature T      the sampling of all requests (0.2)
  --timeout SECONDS    the limit of a turn (300)
  --capabilities WHICH what the editor offers: none, fs or all (none)
  --results FILE       where the results are kept (target/eval/results.jsonl); runs that it has are not run again
  --logs FOLDER        keeps what was said on both wires
  --binary PATH        Tiller's binary, instead of building the debug one
  --self-test          whether each check fails on the untouched project and passes with the reference solution
  --wide               the tasks of eval/wide, in which subagents help, instead of those of eval/tasks
  --scripted           the tasks of eval/wide with a script as the model, with and without subagents: compares costs
  --list               the tasks
  --table              the results as a table
  --write              the same, into docs/evaluation.md
";

/// The command-line options.
#[derive(Debug, PartialEq)]
struct Options {
    model: Option<String>,
    server: String,
    agent: Option<String>,
    name: Option<String>,
    tasks: Option<String>,
    split: Option<String>,
    seeds: u64,
    temperature: f64,
    timeout: u64,
    capabilities: Capabilities,
    results: PathBuf,
    logs: Option<PathBuf>,
    binary: Option<PathBuf>,
    wide: bool,
    action: Action,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Action {
    Run,
    Scripted,
    SelfTest,
    List,
    Table,
    Write,
}

/// Runs the selected action. An unsolved task is a result and no error.
pub(crate) fn run(args: &[&str]) -> Result<()> {
    if let [] | ["--help" | "-h"] = args {
        print!("{USAGE}");
        return Ok(());
    }
    let options = parse(args)?;
    match options.action {
        Action::SelfTest => return selftest::run(options.tasks.as_deref()),
        Action::Table => {
            println!("{}", table::markdown(&results(&options)?));
            return Ok(());
        }
        Action::Write => {
            let table = table::markdown(&results(&options)?);
            let content = format!("\n{}\n\n", table.trim());
            return document::rewrite(&root().join(DOCUMENT), MARKERS, &content);
        }
        Action::List | Action::Run | Action::Scripted => {}
    }
    let tasks = chosen(&options)?;
    if options.action == Action::Scripted {
        let binary = options.binary.clone().map_or_else(debug_binary, Ok)?;
        println!("{}", wide::compare(&tasks, &binary)?);
        return Ok(());
    }
    if options.action == Action::List {
        for task in tasks {
            let peers = if task.peers { " peers" } else { "" };
            println!("{:32} {:10} {:10} {}{peers}", task.name, task.kind.name(), task.language, task.split);
        }
        return Ok(());
    }
    evaluate(&options, &tasks)
}

/// Reads the selected results.
fn results(options: &Options) -> Result<Vec<Outcome>> {
    let results = result::read(&options.results)?;
    if results.is_empty() {
        bail!(
            "{} contains no results; run the evaluation first, or pass the file with --results",
            options.results.display()
        );
    }
    Ok(results)
}

/// Runs the self-test of all tasks.
pub(crate) fn self_test() -> Result<()> {
    selftest::run(None)
}

fn chosen(options: &Options) -> Result<Vec<Task>> {
    let directory = if options.wide { task::WIDE } else { task::TASKS };
    let mut tasks = task::all(&root().join(directory))?;
    tasks.retain(|task| options.tasks.as_ref().is_none_or(|words| task.is_meant(words)));
    tasks.retain(|task| match options.split.as_deref() {
        Some("tuned") => task.split == Split::Tuned,
        Some("frozen") => task.split == Split::Frozen,
        Some(_) => task.peers,
        None => true,
    });
    if tasks.is_empty() {
        bail!("no task matches; see `cargo xtask eval --list`");
    }
    Ok(tasks)
}

/// Runs the tasks sequentially, because a local model server handles one at a time.
fn evaluate(options: &Options, tasks: &[Task]) -> Result<()> {
    let model = options.model.clone().context("--model is missing, such as --model local/qwen2.5-coder")?;
    let binary = match (&options.binary, &options.agent) {
        (Some(binary), _) => binary.clone(),
        (None, Some(_)) => PathBuf::new(),
        (None, None) => debug_binary()?,
    };
    let mut agent = Agent::named(options.agent.as_deref(), &binary, &model)?;
    agent.name = options.name.clone().unwrap_or(agent.name);
    agent.install()?;
    if let Some(directory) = options.results.parent() {
        std::fs::create_dir_all(directory)?;
    }
    let done = result::read(&options.results)?;
    let place = std::env::temp_dir().join("tiller-eval");
    run_directory::clear(&place)?;
    let setup = Setup {
        proxy: Proxy::start(&options.server)?,
        model: agent::bare(&model).to_owned(),
        agent,
        capabilities: options.capabilities,
        temperature: options.temperature,
        limit: Duration::from_secs(options.timeout),
        path: tools::path(),
        directories: Directories { run: place, logs: options.logs.clone() },
    };
    setup.proxy.check_upstream()?;
    for seed in 1..=options.seeds {
        for task in tasks {
            let (agent, model) = (setup.agent.name.clone(), setup.model.clone());
            let id = RunId { agent, model, task: task.name.clone(), seed };
            if done.iter().any(|outcome| outcome.id == id && outcome.broken.is_none()) {
                continue;
            }
            if let Some(program) = tools::missing(&task.needs, &setup.path) {
                println!("skipped  {}: {program} is not installed", task.name);
                continue;
            }
            let mut outcome = run::run(&setup, task, id.clone())?;
            // On a busy machine the agent may have been too slow to find the server.
            for _ in 1..TRIES {
                if outcome.broken.is_some() {
                    print_outcome(&outcome);
                    outcome = run::run(&setup, task, id.clone())?;
                }
            }
            print_outcome(&outcome);
            result::append(&options.results, &outcome)?;
            if let Some(reason) = &outcome.broken {
                bail!("{}: {reason}; run the same command again to continue from here", task.name);
            }
        }
    }
    println!("\n{}", table::markdown(&result::read(&options.results)?));
    Ok(())
}

fn print_outcome(outcome: &Outcome) {
    let word = match outcome {
        Outcome { broken: Some(_), .. } => "BROKEN",
        Outcome { solved: true, .. } => "solved",
        Outcome { ended, .. } if ended == "timeout" => "late",
        _ => "no",
    };
    let tokens = outcome.prompt_tokens + outcome.answer_tokens;
    println!(
        "{word:8} {} seed {}: {} rounds, {tokens} tokens, {:.0} s, {} of {} calls invalid, unwanted {:?}",
        outcome.id.task,
        outcome.id.seed,
        outcome.rounds,
        outcome.seconds,
        outcome.invalid_calls,
        outcome.calls,
        outcome.unwanted,
    );
}

fn parse(args: &[&str]) -> Result<Options> {
    let mut options = Options {
        model: None,
        server: "http://127.0.0.1:8080/v1".to_owned(),
        agent: None,
        name: None,
        tasks: None,
        split: None,
        seeds: 1,
        temperature: 0.2,
        timeout: 300,
        capabilities: Capabilities::default(),
        results: root().join(RESULTS),
        logs: None,
        binary: None,
        wide: false,
        action: Action::Run,
    };
    let mut args = Arguments::new(args);
    while let Some(option) = args.next_option() {
        match option {
            "--model" => options.model = Some(args.text()?),
            "--server" => options.server = args.text()?,
            "--agent" => options.agent = Some(args.text()?),
            "--name" => options.name = Some(args.text()?),
            "--tasks" => options.tasks = Some(args.text()?),
            "--split" => {
                let half = args.text()?;
                if !["tuned", "frozen", "peers"].contains(&half.as_str()) {
                    bail!("--split is tuned, frozen or peers, not {half}");
                }
                options.split = Some(half);
            }
            "--seeds" => options.seeds = args.number()?,
            "--temperature" => options.temperature = args.number()?,
            "--timeout" => options.timeout = args.number()?,
            "--capabilities" => options.capabilities = Capabilities::parse(args.value()?)?,
            "--results" => options.results = args.path()?,
            "--logs" => options.logs = Some(args.path()?),
            "--binary" => options.binary = Some(args.path()?),
            "--wide" => options.wide = true,
            "--scripted" => (options.wide, options.action) = (true, Action::Scripted),
            "--self-test" => options.action = Action::SelfTest,
            "--list" => options.action = Action::List,
            "--table" => options.action = Action::Table,
            "--write" => options.action = Action::Write,
            _ => return Err(args.unknown(USAGE)),
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read() {
        let options = parse(&["--model", "local/m", "--split", "peers", "--seeds", "3"]).unwrap();
        assert_eq!(
            (options.model.as_deref(), options.seeds, options.action),
            (Some("local/m"), 3, Action::Run)
        );
        assert_eq!(parse(&["--self-test"]).unwrap().action, Action::SelfTest);
        let scripted = parse(&["--scripted"]).unwrap();
        assert!(scripted.wide && scripted.action == Action::Scripted);
        for bad in [&["--seeds", "many"][..], &["--split", "half"], &["--model"], &["tasks"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
