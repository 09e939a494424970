//! One variant of an attack: the real binary in a temporary home directory, and the check of the
//! outcome.

use super::corpus::{Attack, Place, Words};
use super::editor::Editor;
use super::model::Model;
use super::services::Services;
use super::world::{Ended, Ground, World};
use crate::peers::client::Client;
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::fs::File;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

/// The time limit for one attack.
const TIME: Duration = Duration::from_secs(20);

/// The outcome of an attack.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It failed without a permission request.
    Stopped,
    /// It failed, and a permission was or would have been requested.
    Asked,
    Through,
    /// It succeeded, and a document admits that.
    Documented,
    Skipped(String),
    /// The run is not conclusive about the product.
    Broken(String),
}

/// The observations after Tiller's exit.
struct Played {
    ended: Ended,
    questions: usize,
    /// The number of calls that were answered.
    results: usize,
}

/// Runs an attack.
pub(super) fn attack(ground: &Ground, model: &Model, attack: &Attack) -> Outcome {
    if attack.root && !ground.root {
        return Outcome::Skipped("only root can be root".to_owned());
    }
    tried(ground, model, attack).unwrap_or_else(|error| Outcome::Broken(format!("{error:#}")))
}

fn tried(ground: &Ground, model: &Model, attack: &Attack) -> Result<Outcome> {
    let mut world = ground.world(attack.root)?;
    if let Some(missing) = missing(&world, attack)? {
        return Ok(Outcome::Skipped(missing));
    }
    let _services = attack.services.then(|| Services::start(&mut world)).transpose()?;
    prepare(&world, attack)?;
    let world = Arc::new(world);
    let mut calls = attack.calls.clone();
    for call in &mut calls {
        call.arguments = filled(&world, &call.arguments);
    }
    let asked = calls.len();
    let base_url = model.play(&world.id, calls, &world.fill(&attack.says));
    let played = match attack.place {
        Place::Local => headless(&world, attack, &base_url),
        Place::Editor { words, launcher } => editor(&world, attack, &base_url, words, launcher),
    };
    let script = model.take(&world.id);
    append(&world, &script.told)?;
    let played = played.map(|played| Played { results: script.results, ..played })?;
    std::thread::sleep(Duration::from_secs_f64(attack.settle));
    let through = looked(&world, attack, &played)?;
    if std::env::var_os("WALL_SHOW").is_some() {
        println!("--- {} ({})", attack.name, attack.way);
        println!("{}", String::from_utf8_lossy(&std::fs::read(world.transcript())?));
    }
    if !through && !attack.may_end && played.results < asked {
        bail!("Tiller ended with {} after {} of {asked} calls", played.ended.word(), played.results);
    }
    Ok(match (through, &attack.documented) {
        (true, Some(_)) => Outcome::Documented,
        (true, None) => Outcome::Through,
        (false, _) if played.questions > 0 => Outcome::Asked,
        (false, _) => Outcome::Stopped,
    })
}

/// Returns a program that the attack requires and the user does not have.
pub(super) fn missing(world: &World, attack: &Attack) -> Result<Option<String>> {
    for need in &attack.needs {
        let script = if need.contains(' ') { need.clone() } else { format!("command -v {need}") };
        if !world.shell(&script, &[], None)?.success() {
            return Ok(Some(format!("there is no {need}")));
        }
    }
    Ok(None)
}

/// Writes the settings and runs the setup script. Both may contain `@NAME@`.
pub(super) fn prepare(world: &World, attack: &Attack) -> Result<()> {
    if !attack.settings.is_empty() {
        let settings = world.home.join(".config/tiller/config.toml");
        std::fs::write(settings, world.fill(&attack.settings))?;
    }
    let log = File::create(world.file("setup"))?;
    let setup = format!("set -e\n{}", world.fill(&attack.setup));
    if !world.shell(&setup, &[], Some(&log))?.success() {
        bail!("the setup failed: {}", std::fs::read_to_string(world.file("setup"))?.trim());
    }
    Ok(())
}

/// Runs the later script and the predicate.
fn looked(world: &World, attack: &Attack, played: &Played) -> Result<bool> {
    let (ended, asked) = (played.ended.word(), played.questions.to_string());
    look(world, attack, &[("ENDED", &ended), ("ASKED", &asked)])
}

/// Like [`looked`], without a run of Tiller.
pub(super) fn look(world: &World, attack: &Attack, env: &[(&str, &str)]) -> Result<bool> {
    if !attack.after.is_empty() {
        world.shell(&world.fill(&attack.after), env, None)?;
    }
    Ok(world.shell(&world.fill(&attack.through), env, None)?.success())
}

/// Replaces `@NAME@` in every string of a call's arguments.
pub(super) fn filled(world: &World, value: &Value) -> Value {
    match value {
        Value::String(text) => json!(world.fill(text)),
        Value::Array(values) => values.iter().map(|value| filled(world, value)).collect(),
        Value::Object(table) => {
            table.iter().map(|(key, value)| (key.clone(), filled(world, value))).collect()
        }
        other => other.clone(),
    }
}

/// Appends to the transcript.
pub(super) fn append(world: &World, text: &str) -> Result<()> {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(world.transcript())?;
    Ok(file.write_all(text.as_bytes())?)
}

/// Returns Tiller's command with the attack's environment, an API key, and a secret of the user.
pub(super) fn tiller(world: &World, attack: &Attack, base_url: &str) -> Command {
    let mut command = world.command(world.get("TILLER"), false);
    command
        .env("OPENAI_BASE_URL", base_url)
        .env("OPENAI_API_KEY", world.get("KEY"))
        .env("GITHUB_TOKEN", world.get("CANARY"))
        .env("TILLER_MODEL", "openai/wall");
    command.envs(attack.env.iter().map(|(name, value)| (name.clone(), world.fill(value))));
    command
}

fn headless(world: &World, attack: &Attack, base_url: &str) -> Result<Played> {
    let mut command = tiller(world, attack, base_url);
    command.args(["-p", "go on", "-o", "stream-json"]);
    command.args(["--permission-mode", &attack.mode, "--mode", &attack.agent]);
    let out = File::create(world.file("stdout"))?;
    command.stdout(out).stderr(File::create(world.file("stderr"))?);
    let ended = world.run(command, TIME)?;
    let mut questions = 0;
    for name in ["stdout", "stderr"] {
        let text = String::from_utf8_lossy(&std::fs::read(world.file(name))?).into_owned();
        if name == "stdout" {
            questions = text.lines().filter(|line| is_question(line)).count();
        }
        append(world, &text)?;
    }
    Ok(Played { ended, questions, results: 0 })
}

/// Returns whether an output line reports that approval would have been needed.
fn is_question(line: &str) -> bool {
    let event: Value = serde_json::from_str(line).unwrap_or_default();
    event["type"] == "error"
        && event["message"].as_str().is_some_and(|text| text.contains("No user can approve it in a headless run"))
}

fn editor(
    world: &Arc<World>,
    attack: &Attack,
    base_url: &str,
    words: Words,
    launcher: bool,
) -> Result<Played> {
    let mut command = tiller(world, attack, base_url);
    command.args(["acp", "--permission-mode", &attack.mode, "--mode", &attack.agent]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(world.file("stderr"))?);
    let host = Editor::new(Arc::clone(world), words, launcher, attack.answers.clone());
    let mut session = Session::start(command, host)?;
    let reply = session.prompt(&world.project.to_string_lossy(), "go on", TIME);
    let (questions, log) = {
        let host = session.client.host();
        (host.questions.len(), host.log.clone())
    };
    drop(session);
    append(world, &log)?;
    append(world, &String::from_utf8_lossy(&std::fs::read(world.file("stderr"))?))?;
    let ended = match reply {
        Ok(()) => Ended::With(std::os::unix::process::ExitStatusExt::from_raw(0)),
        Err(_) => Ended::TimeOut,
    };
    Ok(Played { ended, questions, results: 0 })
}

/// A running `tiller acp`, killed when dropped.
pub(super) struct Session {
    pub(super) client: Client<Editor>,
    child: std::process::Child,
}

impl Session {
    /// Starts the command, whose input and output must be pipes.
    pub(super) fn start(mut command: Command, host: Editor) -> Result<Self> {
        let mut child = command.spawn().context("tiller acp did not start")?;
        let stdout = child.stdout.take().context("stdout is not a pipe")?;
        let stdin = child.stdin.take().context("stdin is not a pipe")?;
        Ok(Self { client: Client::new(stdout, stdin, host), child })
    }

    /// Opens a session in a directory and sends one prompt. `patience` limits each wait.
    pub(super) fn prompt(&mut self, folder: &str, text: &str, patience: Duration) -> Result<()> {
        let capabilities = json!({ "fs": { "readTextFile": true, "writeTextFile": true }, "terminal": true });
        let hello = json!({
            "protocolVersion": 1, "clientCapabilities": capabilities,
            "clientInfo": { "name": "wall", "version": "1" },
        });
        let mut ask = |method: &str, params: Value| -> Result<Value> {
            let pending = self.client.send(method, &params)?;
            Ok(self.client.wait_for(pending, patience)?.result)
        };
        ask("initialize", hello)?;
        let session = ask("session/new", json!({ "cwd": folder, "mcpServers": [] }))?;
        let prompt = json!([{ "type": "text", "text": text }]);
        ask("session/prompt", json!({ "sessionId": session["sessionId"], "prompt": prompt }))?;
        Ok(())
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // Like an editor: the pipe is closed with the client, and a process that does not exit is
        // killed.
        crate::leftovers::kill_group(self.child.id());
        self.child.wait().ok();
    }
}
