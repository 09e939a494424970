//! The approvals that everyday commands need, in three environments.

use super::corpus::{ArgumentStyle, Call};
use super::editor::Editor;
use super::model::Model;
use super::run::Session;
use super::run_home::{RunHome, WallSetup};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

/// The largest permitted share of commands that need approval, in percent.
const MOST: usize = 8;
/// The limit of a pause in the editor's run.
const PATIENCE: Duration = Duration::from_secs(30);
/// The timeout of one command, in seconds.
const COMMAND_TIME: u64 = 5;

/// The environments, as named in the output.
pub(super) const PLACES: [&str; 3] = ["sandbox", "editor's terminal with launcher", "no sandbox"];

/// The commands of one ecosystem, with whether each needs approval in each environment.
pub(super) struct Ecosystem {
    pub(super) name: String,
    pub(super) commands: Vec<String>,
    asks: [Vec<bool>; 3],
}

impl Ecosystem {
    /// Returns how many need approval, by environment.
    pub(super) fn approval_counts(&self) -> [usize; 3] {
        [0, 1, 2].map(|place| self.asks[place].iter().filter(|asks| **asks).count())
    }

    /// Returns the commands that need approval in an environment.
    pub(super) fn commands_that_ask(&self, place: usize) -> impl Iterator<Item = &str> {
        self.commands
            .iter()
            .zip(&self.asks[place])
            .filter(|(_, asks)| **asks)
            .map(|(command, _)| command.as_str())
    }
}

/// Determines for every command of every ecosystem whether it needs approval; the last row has the
/// totals.
pub(super) fn ask(directory: &Path, wall_setup: &WallSetup, model: &Model) -> Result<Vec<Ecosystem>> {
    let mut paths: Vec<_> =
        std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    paths.sort();
    let mut rows = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let commands = commands(&std::fs::read_to_string(&path)?).with_context(|| name.clone())?;
        let asks = [
            explain_all(wall_setup, &commands, "")?,
            requests_in_editor(wall_setup, model, &name, &commands)?,
            explain_all(wall_setup, &commands, "[sandbox]\nlevel = \"off\"\n")?,
        ];
        rows.push(Ecosystem { name, commands, asks });
    }
    let mut all = Ecosystem { name: "all".to_owned(), commands: Vec::new(), asks: Default::default() };
    for row in &rows {
        all.commands.extend(row.commands.iter().cloned());
        all.asks.iter_mut().zip(&row.asks).for_each(|(all, asks)| all.extend(asks));
    }
    rows.push(all);
    Ok(rows)
}

fn commands(text: &str) -> Result<Vec<String>> {
    let file: Value = toml::from_str(text)?;
    let commands = file["commands"].as_array().context("`commands` is a list")?;
    commands.iter().map(|line| Ok(line.as_str().context("a command is a text")?.to_owned())).collect()
}

/// Returns the environments in which too many commands need approval.
pub(super) fn too_many(rows: &[Ecosystem]) -> Vec<String> {
    let Some(all) = rows.last() else { return Vec::new() };
    let over = |place: &usize| all.approval_counts()[*place] * 100 > all.commands.len() * MOST;
    let message = |place: usize| {
        format!(
            "{}: {} of {} everyday commands ask",
            PLACES[place],
            all.approval_counts()[place],
            all.commands.len()
        )
    };
    [0, 1].into_iter().filter(over).map(message).collect()
}

/// Returns the decisions of `tiller permissions explain`. A denial counts as needing approval,
/// because it hinders the user as well.
fn explain_all(wall_setup: &WallSetup, commands: &[String], settings: &str) -> Result<Vec<bool>> {
    let run_home = wall_setup.run_home(false)?;
    std::fs::write(run_home.home.join(".config/tiller/config.toml"), settings)?;
    commands.iter().map(|command| explain(&run_home, command)).collect()
}

fn explain(run_home: &RunHome, command: &str) -> Result<bool> {
    let output = run_home
        .command(run_home.get("TILLER"), false)
        .args(["permissions", "explain", "--", command])
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let decision = text.lines().filter_map(|line| line.strip_prefix("decision")).next_back();
    match decision.map(str::trim_start) {
        Some(decision) if decision.starts_with("allow") => Ok(false),
        Some(decision) if decision.starts_with("ask") || decision.starts_with("deny") => Ok(true),
        _ => bail!("`permissions explain` printed no decision about {command}: {text}"),
    }
}

/// Returns the permission requests to an editor whose terminals have the launcher. Confined
/// commands really run; others are only simulated.
fn requests_in_editor(
    wall_setup: &WallSetup,
    model: &Model,
    name: &str,
    commands: &[String],
) -> Result<Vec<bool>> {
    let run_home = Arc::new(wall_setup.run_home(false)?);
    let call = |command: &String| Call {
        tool: "bash".to_owned(),
        arguments: json!({ "command": command, "timeout": COMMAND_TIME }),
    };
    let base_url = model.play(&run_home.id, commands.iter().map(call).collect(), "done");
    let mut tiller = run_home.command(run_home.get("TILLER"), false);
    tiller.env("OPENAI_BASE_URL", base_url).env("OPENAI_API_KEY", run_home.get("KEY"));
    tiller.env("TILLER_MODEL", "openai/wall").arg("acp");
    tiller.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut host = Editor::new(Arc::clone(&run_home), ArgumentStyle::Argv, true, Vec::new());
    host.pretends = true;
    let mut session = Session::start(tiller, host)?;
    session
        .prompt(&run_home.project.to_string_lossy(), "go on", PATIENCE)
        .with_context(|| name.to_owned())?;
    let questions = session.client.host().questions.clone();
    drop(session);
    let results = model.take(&run_home.id).results;
    if results < commands.len() {
        bail!("{name}: only {results} of {} commands were answered in the editor", commands.len());
    }
    let asks = |command: &String| {
        let title = format!("Run {}", command.split_whitespace().collect::<Vec<_>>().join(" "));
        questions.iter().any(|question| title.starts_with(question.trim_end_matches('…')))
    };
    Ok(commands.iter().map(asks).collect())
}
