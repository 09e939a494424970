//! `tiller demo`: plays the editor against `tiller acp` over a real pipe, and prints the messages
//! between them.

mod editor;
mod ledger;
mod peer;
mod permission;
mod project;
mod screen;
mod terminals;
mod updates;

use crate::{
    args::DemoArgs,
    environment::{self, Environment},
    exit::Exit,
    wiring,
};
use anyhow::{Context, Result, bail};
use editor::Editor;
use peer::{Peer, Start};
use permission::Approver;
use screen::{Paint, Screen};
use serde_json::{Value, json};
use std::{sync::Arc, time::Instant};
use system::{AbsPath, System};

const PILOT: &str = "offline/pilot";

/// Plays the demo. The exit code is 0 if every expected step happened.
pub(crate) async fn run(args: DemoArgs, environment: &Environment) -> Result<Exit> {
    let system = wiring::local(Vec::new(), Vec::new(), system::LoginShell::default());
    let temp = system::TemporaryDirectory::new().context("cannot make a temporary folder")?;
    let base = system.resolve(&AbsPath::from_os(temp.path())?).await?;
    let root = match &args.project {
        Some(path) => {
            let directory = environment::absolute(&environment::current_dir()?, path)?;
            environment::check_directory("--project", &directory)?;
            directory
        }
        None => base.join("greeter"),
    };
    let screen = Screen::new(environment.get("NO_COLOR").is_some());
    let ending = play(&args, &base, &root, Arc::clone(&system), screen).await;
    if args.keep && args.project.is_none() {
        let kept = temp.keep();
        tracing::warn!("kept {}", kept.display());
    }
    ending
}

async fn play(
    args: &DemoArgs,
    base: &AbsPath,
    root: &AbsPath,
    system: Arc<dyn System>,
    mut screen: Screen,
) -> Result<Exit> {
    let sample = args.project.is_none();
    let model = args.model.as_deref().unwrap_or(PILOT);
    let unsaved = if sample { Some(project::write(&*system, root).await?) } else { None };
    introduce(&mut screen, model, root, sample, args.keep);

    let approver = if sample { Approver::AllowOnce } else { Approver::Terminal };
    let start = Instant::now();
    let peer = Peer::start(Start {
        cwd: root.clone(),
        args: agent_args(model, sample),
        // With a model of the user's choice, the agent needs the user's own models and settings.
        home: (sample && args.model.is_none()).then(|| base.join("home")),
    })?;
    let mut editor = Editor::new(peer, screen, Arc::clone(&system), root.clone(), approver);
    if let Some(text) = unsaved {
        editor.type_unsaved(root.join(project::FILE), text);
    }
    editor.screen.restart();
    let session = open(&mut editor, root, start).await?;

    let prompt = match (&args.prompt, model) {
        (Some(prompt), _) => prompt.as_str(),
        (None, PILOT) => project::COMMANDS,
        (None, _) => project::PROMPT,
    };
    editor.screen.restart();
    editor.screen.step("you", Paint::Green, prompt);
    let content = json!([{ "type": "text", "text": prompt }]);
    let answer = editor.call("session/prompt", json!({ "sessionId": session, "prompt": content })).await?;
    let stop = answer["stopReason"].as_str().unwrap_or("no stop reason").to_owned();
    editor.screen.step("turn", Paint::Dim, &format!("ended: {stop}"));
    conclude(editor, &*system, root, sample && args.prompt.is_none(), &stop).await
}

fn introduce(screen: &mut Screen, model: &str, root: &AbsPath, sample: bool, keep: bool) {
    screen.line(Paint::Bold, "An editor and its agent: this process plays the editor, `tiller acp` is its child, ACP runs on the pipe");
    screen.line(Paint::Plain, "");
    let about = match model {
        PILOT => "offline/pilot: not a language model, it follows plain commands. Pass --model for one",
        other => other,
    };
    screen.line(Paint::Plain, &format!("  model     {about}"));
    let kind = match (sample, keep) {
        (false, _) => "your files",
        (true, true) => "a sample, kept",
        (true, false) => "a sample, removed at the end",
    };
    screen.line(Paint::Plain, &format!("  project   {root} ({kind})"));
    if sample {
        let open =
            format!("  open      {}, with a line that is not saved: {}", project::FILE, project::UNSAVED);
        screen.line(Paint::Plain, &open);
    }
    screen.line(Paint::Plain, "");
}

/// Returns the agent's arguments. For the sample nothing depends on the user's settings, so that
/// the
/// story is the same everywhere.
fn agent_args(model: &str, sample: bool) -> Vec<String> {
    let mut args = vec!["--model", model];
    if sample {
        args.extend(["--mode", "edit", "--permission-mode", "guardian"]);
    }
    args.into_iter().map(str::to_owned).collect()
}

/// Sends `initialize` and `session/new`; returns the session's id.
async fn open(editor: &mut Editor, root: &AbsPath, start: Instant) -> Result<Value> {
    let capabilities = json!({ "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true });
    let client = json!({ "name": "tiller-demo", "version": env!("CARGO_PKG_VERSION") });
    let hello = json!({ "protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": client });
    let initialized = editor.call("initialize", hello).await?;
    if initialized["protocolVersion"] != 1 {
        bail!("the agent speaks version {} of the protocol, this editor 1", initialized["protocolVersion"]);
    }
    let ready = start.elapsed().as_secs_f64() * 1000.0;
    let before = Instant::now();
    let session = editor.call("session/new", json!({ "cwd": root.as_str(), "mcpServers": [] })).await?;
    let opened = before.elapsed().as_secs_f64() * 1000.0;
    let text = format!("started and initialized in {ready:.1} ms, session opened in {opened:.1} ms");
    editor.screen.step("agent", Paint::Cyan, &text);
    Ok(session["sessionId"].clone())
}

/// Prints the table, the final file and the verdict.
async fn conclude(
    mut editor: Editor,
    system: &dyn System,
    root: &AbsPath,
    story: bool,
    stop: &str,
) -> Result<Exit> {
    let ledger = std::mem::take(&mut editor.ledger);
    ledger.print(&mut editor.screen);
    let mut missing = Vec::new();
    if stop != "end_turn" {
        missing.push(format!("the turn ended with {stop}"));
    }
    if editor.unreleased() > 0 {
        missing.push(format!("{} terminals were not released", editor.unreleased()));
    }
    if story {
        missing.extend(ledger.missing(project::FILE));
        missing.extend(check_result(&mut editor, system, root).await?);
    }
    let Editor { peer, mut screen, .. } = editor;
    if let Err(error) = peer.hang_up().await {
        missing.push(format!("{error:#}"));
    }
    screen.line(Paint::Plain, "");
    if missing.is_empty() {
        let verdict = if story { "Every step happened." } else { "The turn completed." };
        screen.line(Paint::Green, verdict);
        return Ok(Exit::Ok);
    }
    for lack in missing {
        screen.line(Paint::Red, &format!("Missing step: {lack}."));
    }
    Ok(Exit::Error)
}

/// Checks that the buffer and the file on disk have both the unsaved line and the fix, and prints
/// the
/// file.
async fn check_result(editor: &mut Editor, system: &dyn System, root: &AbsPath) -> Result<Vec<String>> {
    let path = root.join(project::FILE);
    let disk = system.read_text(&path, None).await?;
    let buffer = editor.buffer(&path).unwrap_or_default().to_owned();
    let mut missing = Vec::new();
    for (place, text) in [("the buffer", &buffer), ("the file", &disk)] {
        if !text.contains(project::UNSAVED) {
            missing.push(format!("the unsaved line is gone from {place}"));
        }
        if !text.contains(project::BUG.1) || text.contains(&format!("{},", project::BUG.0)) {
            missing.push(format!("the bug is still in {place}"));
        }
    }
    editor.screen.line(Paint::Plain, "");
    editor.screen.line(Paint::Bold, &format!("{} now, in the editor and on disk", project::FILE));
    for line in disk.lines() {
        let paint = match line {
            project::UNSAVED => Paint::Yellow,
            line if line.contains(project::BUG.1) => Paint::Green,
            _ => Paint::Plain,
        };
        editor.screen.line(paint, &format!("  {line}"));
    }
    if missing.is_empty() {
        editor.screen.line(Paint::Plain, "");
        editor.screen.line(Paint::Plain, "The line that was never saved survived the agent's edit.");
    }
    Ok(missing)
}
