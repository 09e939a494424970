//! The tasks of `eval/wide`, in which subagents help, played by a script instead of a model: with
//! and without subagents. The script knows the solution, so this compares costs and no ability.

use super::agent::Agent;
use super::editor::Capabilities;
use super::proxy::Proxy;
use super::result::{Outcome, RunId};
use super::run::{self, Directories, Setup};
use super::task::Task;
use super::{run_directory, tools};
use crate::peers::http::Request;
use crate::peers::{model, wire};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How long the scripted model takes for each answer.
const ANSWER_TIME: Duration = Duration::from_secs(1);
/// The limit of a turn.
const LIMIT: Duration = Duration::from_secs(120);
/// The beginning of a subagent's task, before its folder.
const FOLDER: &str = "Work only in the folder ";
/// The end of a subagent's report.
const REPORT: &str =
    "all of it read; what the task asks about this folder is done, and nothing in it depends on another one";

/// Plays all tasks both ways; returns the table.
pub(super) fn compare(tasks: &[Task], binary: &Path) -> Result<String> {
    let mut lines = vec![
        "| task | subagents | solved | requests | tokens of all requests | answers | context of the session | seconds |"
            .to_owned(),
        "|---|---|---|--:|--:|--:|--:|--:|".to_owned(),
    ];
    for task in tasks {
        for delegates in [false, true] {
            let script = Arc::new(Script::of(task, delegates)?);
            let (outcome, context) = play(task, &script, binary)?;
            if let Some(reason) = &outcome.broken {
                bail!("{}: {reason}", task.name);
            }
            lines.push(format!(
                "| {} | {} | {} | {} | {} | {} | {context} | {:.0} |",
                task.name,
                if delegates { script.units.len() } else { 0 },
                if outcome.solved { "yes" } else { "no" },
                outcome.rounds,
                outcome.prompt_tokens,
                outcome.answer_tokens,
                outcome.seconds,
            ));
        }
    }
    Ok(lines.join("\n"))
}

/// Plays a task; returns the outcome and the tokens of the session's last request.
fn play(task: &Task, script: &Arc<Script>, binary: &Path) -> Result<(Outcome, usize)> {
    let (played, context) = (Arc::clone(script), Arc::new(Mutex::new(0)));
    let last = Arc::clone(&context);
    let address = model::serve(move |request| {
        let answer = answer(&played, request, &last);
        std::thread::sleep(ANSWER_TIME);
        answer
    })?;
    let place = std::env::temp_dir().join("tiller-eval-wide");
    run_directory::clear(&place)?;
    let setup = Setup {
        proxy: Proxy::start(&format!("http://{address}/v1"))?,
        model: "scripted".to_owned(),
        agent: Agent::named(None, binary, "scripted")?,
        capabilities: Capabilities::default(),
        temperature: 0.0,
        limit: LIMIT,
        path: tools::path(),
        directories: Directories { run: place, logs: None },
    };
    let id = RunId {
        agent: setup.agent.name.clone(),
        model: setup.model.clone(),
        task: task.name.clone(),
        seed: 1,
    };
    let outcome = run::run(&setup, task, id)?;
    let context = *context.lock().expect("no thread panics with the lock held");
    Ok((outcome, context))
}

/// What the model does in a task.
struct Script {
    prompt: String,
    units: Vec<Unit>,
    answer: String,
    delegates: bool,
}

/// A folder that is read, and perhaps changed, independently of the others.
struct Unit {
    folder: String,
    /// Paths relative to the project.
    reads: Vec<String>,
    /// Paths and new contents.
    writes: Vec<(String, String)>,
}

/// A call: the tool and its arguments.
type Call = (&'static str, Value);

/// What the model answers.
#[derive(Debug, PartialEq)]
enum Step {
    Calls(Vec<Call>),
    Says(String),
}

impl Script {
    /// Derives the script from the task's files and its reference solution.
    fn of(task: &Task, delegates: bool) -> Result<Self> {
        let mut units: BTreeMap<String, Unit> = BTreeMap::new();
        for (path, _) in files(&task.files())? {
            // Files at the top, such as .gitignore, belong to no unit.
            let Some((folder, _)) = path.rsplit_once('/') else { continue };
            let new = || Unit { folder: folder.to_owned(), reads: Vec::new(), writes: Vec::new() };
            units.entry(folder.to_owned()).or_insert_with(new).reads.push(path);
        }
        let mut answer = "All folders are done.".to_owned();
        for (path, text) in files(&task.solution())? {
            match path.rsplit_once('/').and_then(|(folder, _)| units.get_mut(folder)) {
                Some(unit) => unit.writes.push((path, text)),
                None if path == "answer.txt" => answer = text,
                None => bail!("{}: {path} of the solution is in no folder of the project", task.name),
            }
        }
        Ok(Self { prompt: task.prompt.clone(), units: units.into_values().collect(), answer, delegates })
    }

    /// Returns what comes after this many answers with calls: of the session, or of the subagent
    /// that works in a folder.
    fn step(&self, folder: Option<&str>, made: usize) -> Step {
        if let Some(unit) = folder.and_then(|folder| self.units.iter().find(|unit| unit.folder == folder)) {
            let report = Step::Says(format!("{}: {REPORT}.", unit.folder));
            return unit.calls().into_iter().nth(made).map_or(report, Step::Calls);
        }
        let calls: Vec<_> = match self.delegates {
            true => vec![vec![self.delegation()]],
            false => self.units.iter().flat_map(Unit::calls).collect(),
        };
        calls.into_iter().nth(made).map_or_else(|| Step::Says(self.answer.clone()), Step::Calls)
    }

    fn delegation(&self) -> Call {
        let agents = self.units.iter().map(|unit| {
            let kind = if unit.writes.is_empty() { "explore" } else { "general" };
            json!({ "type": kind, "task": format!("{FOLDER}{}. {}", unit.folder, self.prompt) })
        });
        ("subagent", json!({ "agents": agents.collect::<Vec<_>>() }))
    }
}

impl Unit {
    /// Returns the calls of each answer: all reads at once, then all writes at once.
    fn calls(&self) -> Vec<Vec<Call>> {
        let reads = self.reads.iter().map(|path| ("file_read", json!({ "path": path })));
        let writes =
            self.writes.iter().map(|(path, text)| ("file_write", json!({ "path": path, "content": text })));
        let mut calls: Vec<Vec<Call>> = vec![reads.collect(), writes.collect()];
        calls.retain(|calls| !calls.is_empty());
        calls
    }
}

/// Returns the answer to a request, and keeps the size of the session's last one.
fn answer(script: &Script, request: &Request, session: &Mutex<usize>) -> Option<Vec<String>> {
    let body: Value = serde_json::from_slice(&request.body).ok()?;
    let messages = body["messages"].as_array()?;
    let folder = messages.iter().filter(|message| message["role"] == "user").find_map(|message| {
        let text = message["content"].to_string();
        Some(text.split_once(FOLDER)?.1.split_once('.')?.0.to_owned())
    });
    let made = messages.iter().filter(|message| message["tool_calls"].is_array()).count();
    let (event, reason) = match script.step(folder.as_deref(), made) {
        Step::Calls(calls) => (wire::tool_calls(made * 100, &calls), "tool_calls"),
        Step::Says(text) => (wire::text(&text), "stop"),
    };
    let tokens = tokens(request.body.len());
    if folder.is_none() {
        *session.lock().expect("no thread panics with the lock held") = tokens;
    }
    let usage = wire::usage_of(tokens, self::tokens(event.len()));
    Some(vec![event, wire::end(reason), usage, wire::DONE.to_owned()])
}

/// Estimates the tokens of a text: four bytes each.
fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// Returns the files below a directory, with their text, ordered by path; none if it is missing.
fn files(directory: &Path) -> Result<BTreeMap<String, String>> {
    let (mut found, mut open) = (BTreeMap::new(), vec![directory.to_owned()]);
    while let Some(next) = open.pop().filter(|_| directory.is_dir()) {
        for entry in std::fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(directory).context("it is below the directory")?;
            found.insert(name.to_string_lossy().into_owned(), std::fs::read_to_string(&path)?);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::super::task::{WIDE, all};
    use super::*;
    use crate::process::root;

    #[test]
    fn both_ways_read_every_folder_and_end_with_the_same_answer() {
        for task in all(&root().join(WIDE)).unwrap() {
            let alone = Script::of(&task, false).unwrap();
            assert!(alone.units.len() >= 4 && alone.units.iter().all(|unit| !unit.reads.is_empty()));
            let answers = alone.units.iter().flat_map(Unit::calls).count();
            assert_eq!(alone.step(None, answers), Step::Says(alone.answer.clone()));
            let swarm = Script::of(&task, true).unwrap();
            let Step::Calls(calls) = swarm.step(None, 0) else { panic!() };
            assert_eq!(calls[0].1["agents"].as_array().unwrap().len(), swarm.units.len());
            assert_eq!(swarm.step(None, 1), Step::Says(alone.answer.clone()));
            let folder = swarm.units[0].folder.as_str();
            assert!(matches!(swarm.step(Some(folder), 0), Step::Calls(calls) if calls[0].0 == "file_read"));
        }
    }
}
