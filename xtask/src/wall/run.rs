//! One variant of an attack: the real binary in a temporary home directory, and the check of the
//! outcome.

use super::corpus::{ArgumentStyle, Attack, Place, with_texts};
use super::editor::Editor;
use super::model::Model;
use super::run_home::{ProgramEnd, RunHome, WallSetup};
use super::services::Services;
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
    Succeeded,
    /// It succeeded, and a document admits that.
    Documented,
    Skipped(String),
    /// The run is not conclusive about the product.
    Broken(String),
}

/// The observations after Tiller's exit.
struct RunResult {
    ended: ProgramEnd,
    questions: usize,
    /// The number of calls that were answered.
    results: usize,
}

/// Runs an attack.
pub(super) fn attack(wall_setup: &WallSetup, model: &Model, attack: &Attack) -> Outcome {
    if attack.environment.root && !wall_setup.root {
        return Outcome::Skipped("this variant must run as root".to_owned());
    }
    try_attack(wall_setup, model, attack).unwrap_or_else(|error| Outcome::Broken(format!("{error:#}")))
}

fn try_attack(wall_setup: &WallSetup, model: &Model, attack: &Attack) -> Result<Outcome> {
    let mut run_home = wall_setup.run_home(attack.environment.root)?;
    if let Some(missing) = missing(&run_home, attack)? {
        return Ok(Outcome::Skipped(missing));
    }
    let _services = attack.environment.services.then(|| Services::start(&mut run_home)).transpose()?;
    prepare(&run_home, attack)?;
    let run_home = Arc::new(run_home);
    let mut calls = attack.script.calls.clone();
    for call in &mut calls {
        call.arguments = with_texts(call.arguments.take(), &mut |text| run_home.fill(&text));
    }
    let call_count = calls.len();
    let base_url = model.play(&run_home.id, calls, &run_home.fill(&attack.script.final_text));
    let result = match attack.environment.place {
        Place::Local => headless(&run_home, attack, &base_url),
        Place::Editor { argument_style, launcher } => {
            editor(&run_home, attack, &base_url, argument_style, launcher)
        }
    };
    let script = model.take(&run_home.id);
    append(&run_home, &script.received)?;
    let result = result.map(|result| RunResult { results: script.results, ..result })?;
    std::thread::sleep(Duration::from_secs_f64(attack.check.settle));
    let succeeded = check_after_run(&run_home, attack, &result)?;
    if std::env::var_os("WALL_SHOW").is_some() {
        println!("--- {} ({})", attack.name, attack.variant);
        println!("{}", String::from_utf8_lossy(&std::fs::read(run_home.transcript())?));
    }
    if !succeeded && !attack.check.may_end && result.results < call_count {
        bail!("Tiller ended with {} after {} of {call_count} calls", result.ended.word(), result.results);
    }
    Ok(match (succeeded, &attack.check.documented) {
        (true, Some(_)) => Outcome::Documented,
        (true, None) => Outcome::Succeeded,
        (false, _) if result.questions > 0 => Outcome::Asked,
        (false, _) => Outcome::Stopped,
    })
}

/// Returns a program that the attack requires and the user does not have.
pub(super) fn missing(run_home: &RunHome, attack: &Attack) -> Result<Option<String>> {
    for need in &attack.environment.needs {
        let script = if need.contains(' ') { need.clone() } else { format!("command -v {need}") };
        if !run_home.shell(&script, &[], None)?.success() {
            return Ok(Some(format!("{need} is not available")));
        }
    }
    Ok(None)
}

/// Writes the settings and runs the setup script. Both may contain `@NAME@`.
pub(super) fn prepare(run_home: &RunHome, attack: &Attack) -> Result<()> {
    if !attack.environment.settings.is_empty() {
        let settings = run_home.home.join(".config/tiller/config.toml");
        std::fs::write(settings, run_home.fill(&attack.environment.settings))?;
    }
    let log = File::create(run_home.file("setup"))?;
    let setup = format!("set -e\n{}", run_home.fill(&attack.script.setup));
    if !run_home.shell(&setup, &[], Some(&log))?.success() {
        bail!("the setup failed: {}", std::fs::read_to_string(run_home.file("setup"))?.trim());
    }
    Ok(())
}

/// Runs the later script and the predicate.
fn check_after_run(run_home: &RunHome, attack: &Attack, result: &RunResult) -> Result<bool> {
    let (ended, asked) = (result.ended.word(), result.questions.to_string());
    check_outcome(run_home, attack, &[("ENDED", &ended), ("ASKED", &asked)])
}

/// Like [`check_after_run`], without a run of Tiller.
pub(super) fn check_outcome(run_home: &RunHome, attack: &Attack, env: &[(&str, &str)]) -> Result<bool> {
    if !attack.script.after.is_empty() {
        run_home.shell(&run_home.fill(&attack.script.after), env, None)?;
    }
    Ok(run_home.shell(&run_home.fill(&attack.check.success), env, None)?.success())
}

/// Appends to the transcript.
pub(super) fn append(run_home: &RunHome, text: &str) -> Result<()> {
    use std::io::Write;
    let mut file = std::fs::OpenOptions::new().create(true).append(true).open(run_home.transcript())?;
    Ok(file.write_all(text.as_bytes())?)
}

/// Returns Tiller's command with the attack's environment, an API key, and a secret of the user.
pub(super) fn tiller(run_home: &RunHome, attack: &Attack, base_url: &str) -> Command {
    let mut command = run_home.command(run_home.get("TILLER"), false);
    command
        .env("OPENAI_BASE_URL", base_url)
        .env("OPENAI_API_KEY", run_home.get("KEY"))
        .env("GITHUB_TOKEN", run_home.get("CANARY"))
        .env("TILLER_MODEL", "openai/wall");
    command
        .envs(attack.environment.variables.iter().map(|(name, value)| (name.clone(), run_home.fill(value))));
    command
}

fn headless(run_home: &RunHome, attack: &Attack, base_url: &str) -> Result<RunResult> {
    let mut command = tiller(run_home, attack, base_url);
    command.args(["-p", "go on", "-o", "stream-json"]);
    command.args(["--permission-mode", &attack.environment.mode, "--mode", &attack.environment.agent]);
    let out = File::create(run_home.file("stdout"))?;
    command.stdout(out).stderr(File::create(run_home.file("stderr"))?);
    let ended = run_home.run(command, TIME)?;
    let mut questions = 0;
    for name in ["stdout", "stderr"] {
        let text = String::from_utf8_lossy(&std::fs::read(run_home.file(name))?).into_owned();
        if name == "stdout" {
            questions = text.lines().filter(|line| is_question(line)).count();
        }
        append(run_home, &text)?;
    }
    Ok(RunResult { ended, questions, results: 0 })
}

/// Returns whether an output line reports that approval would have been needed.
fn is_question(line: &str) -> bool {
    let event: Value = serde_json::from_str(line).unwrap_or_default();
    event["type"] == "error"
        && event["message"].as_str().is_some_and(|text| text.contains("in a headless run"))
}

fn editor(
    run_home: &Arc<RunHome>,
    attack: &Attack,
    base_url: &str,
    argument_style: ArgumentStyle,
    launcher: bool,
) -> Result<RunResult> {
    let mut command = tiller(run_home, attack, base_url);
    command.args(["acp", "--permission-mode", &attack.environment.mode, "--mode", &attack.environment.agent]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(File::create(run_home.file("stderr"))?);
    let host = Editor::new(Arc::clone(run_home), argument_style, launcher, attack.script.answers.clone());
    let mut session = Session::start(command, host)?;
    let reply = session.prompt(&run_home.project.to_string_lossy(), "go on", TIME);
    let (questions, log) = {
        let host = session.client.host();
        (host.questions.len(), host.log.clone())
    };
    drop(session);
    append(run_home, &log)?;
    append(run_home, &String::from_utf8_lossy(&std::fs::read(run_home.file("stderr"))?))?;
    let ended = match reply {
        Ok(()) => ProgramEnd::Exited(std::os::unix::process::ExitStatusExt::from_raw(0)),
        Err(_) => ProgramEnd::TimedOut,
    };
    Ok(RunResult { ended, questions, results: 0 })
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
    pub(super) fn prompt(&mut self, directory: &str, text: &str, patience: Duration) -> Result<()> {
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
        let session = ask("session/new", json!({ "cwd": directory, "mcpServers": [] }))?;
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
