//! `bash`: runs a command where the session's commands run, in the foreground until it exits or in
//! the background.

use super::{
    args,
    cancel::unless_cancelled,
    command, output, own_temp,
    path::{self, GivenPath},
    unsaved,
};
use crate::{
    Access, Colours, Content, Description, Effect, Lifetime, Tool, ToolContent, ToolContext, ToolError,
    ToolKind, ToolOutput,
    limits::{SHELL_START_WAIT, SHELL_WAIT_MAX},
    shells::{NewShell, ShellEnd, UnreadOutput, ending},
    tool::titles,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::time::Duration;
use system::{AbsPath, Command, Confinement, ExitStatus, Process, SystemError};
use tokio::sync::OwnedSemaphorePermit;

/// Runs a shell command line.
#[derive(Debug, Default, serde::Deserialize)]
pub(super) struct Bash {
    #[serde(default)]
    pub(super) command: String,
    /// The working directory, relative to the session's directory.
    #[serde(default, deserialize_with = "path::optional")]
    pub(super) cwd: Option<GivenPath>,
    /// The timeout in seconds; values of 10,000 and above are milliseconds.
    #[serde(default, deserialize_with = "args::count")]
    pub(super) timeout: Option<u64>,
    #[serde(default, deserialize_with = "args::flag")]
    pub(super) background: bool,
    /// How long the call watches a background command before it returns, in milliseconds.
    #[serde(default, deserialize_with = "args::count")]
    pub(super) wait_ms: Option<u64>,
    /// Whether a background command keeps running when the session closes.
    #[serde(default, deserialize_with = "args::flag")]
    pub(super) keep: bool,
    #[serde(default, deserialize_with = "args::flag")]
    pub(super) outside_sandbox: bool,
    /// The reason for leaving the sandbox, for the user.
    #[serde(default)]
    pub(super) reason: Option<String>,
}

#[async_trait]
impl Tool for Bash {
    const NAME: &'static str = "bash";
    const DESCRIPTION: &'static str = "Runs a command line in the project folder and returns its output (stdout and stderr in one stream) and exit code. Each call is a new shell \
        without standard input. Start servers and watchers with background: true, then use shell.";
    const EFFECT: Effect = Effect::Executes;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "cwd": {"type": "string", "description": "Folder, relative to the project"},
                "timeout": {"type": "integer", "description": "Seconds (default 120, at most 7200)"},
                "background": {"type": "boolean", "description": "Leave it running and return an id for shell; it ends with the session"},
                "wait_ms": {"type": "integer"},
                "keep": {"type": "boolean", "description": "With background: it outlives the session. Only if the user wants that"},
                "outside_sandbox": {"type": "boolean", "description": "Run with the network and the user's files; the user is asked. Only after the sandbox stood in the way"},
                "reason": {"type": "string", "description": "Why outside_sandbox, for the user"}
            },
            "required": ["command"]
        })
    }

    fn describe(&self, cwd: &AbsPath) -> Description {
        let keeps = if self.keeps() { " (keeps running)" } else { "" };
        Description {
            title: format!("{}{keeps}", titles::command_title(&self.command, cwd)),
            kind: ToolKind::Execute,
            locations: Vec::new(),
        }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        match self.is_empty() {
            true => args::touches_nothing(Self::NAME),
            false => vec![Access::Execute {
                command: self.command.clone(),
                cwd: self.folder(cwd),
                unconfined: self.outside_sandbox,
                reason: self.reason.clone().filter(|_| self.outside_sandbox),
                lifetime: if self.keeps() { Lifetime::Kept } else { Lifetime::Session },
            }],
        }
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        if self.is_empty() {
            return Err(ToolError::message("No command provided"));
        }
        Ok(titles::command_block(&self.command))
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if self.is_empty() {
            return Err(ToolError::message("No command provided"));
        }
        if self.background {
            cx.session.shells.expect_room().map_err(ToolError::message)?;
        }
        let kept = match self.keeps() {
            true => Some(cx.session.shells.reserve().map_err(ToolError::message)?),
            false => None,
        };
        // Checked before the command starts, because its own changes are not unsaved changes.
        let unsaved = unsaved::note(&unsaved::unsaved(cx).await?);
        let process = match unless_cancelled(cx, cx.system.spawn(self.to_run(cx))).await? {
            Ok(process) => process,
            Err(error) => return Err(self.not_started(cx, error).await),
        };
        match self.background {
            true => self.in_background(cx, process, kept, &unsaved).await,
            false => self.to_its_end(cx, process, &unsaved).await,
        }
    }
}

impl Bash {
    fn is_empty(&self) -> bool {
        self.command.trim().is_empty()
    }

    fn keeps(&self) -> bool {
        self.keep && self.background
    }

    /// Returns the working directory.
    fn folder(&self, cwd: &AbsPath) -> AbsPath {
        self.cwd.as_ref().map_or_else(|| cwd.clone(), |given| given.at(cwd))
    }

    fn to_run(&self, cx: &ToolContext) -> Command {
        let pending = command::pending_bytes(cx);
        let mut command = Command::line(cx.system.shell(), &self.command, self.folder(&cx.cwd), pending);
        if self.outside_sandbox {
            command.confinement = Confinement::Lifted;
        }
        command.interactive = self.background;
        command.executor_approved = cx.call.asked;
        command
    }

    async fn to_its_end(
        &self,
        cx: &ToolContext,
        process: Box<dyn Process>,
        unsaved: &str,
    ) -> Result<ToolOutput, ToolError> {
        let limit = command::limit(cx, self.timeout);
        let ran = command::follow(cx, Self::NAME, process, limit).await?;
        let said = ran.said.as_str();
        let mut colours = Colours::default();
        let (mut text, success) = match &ran.exit {
            Some(status) => (self.ended(cx, said, status).await, status.success()),
            None if said.is_empty() => (command::timed_out(limit), false),
            None => (format!("{said}\n{}", command::timed_out(limit)), false),
        };
        let note = command::limit_note(cx, self.timeout).map(|note| format!("{note}\n")).unwrap_or_default();
        colours.append(&ran.colours, note.len());
        text.insert_str(0, &note);
        text.push_str(unsaved);
        if cx.call.confined && !self.outside_sandbox {
            text.push_str(&own_temp::note_once(cx).await);
        }
        Ok(ToolOutput { colours, ..shown(text, success, ran.terminal, unsaved) })
    }

    /// Watches the process for a while, then hands it over to the session.
    async fn in_background(
        &self,
        cx: &ToolContext,
        process: Box<dyn Process>,
        kept: Option<OwnedSemaphorePermit>,
        unsaved: &str,
    ) -> Result<ToolOutput, ToolError> {
        let new = NewShell {
            call: cx.call.id.clone(),
            kept,
            line: self.command.clone(),
            confined: cx.call.confined && !self.outside_sandbox,
            lifted: self.outside_sandbox,
            limit: self.timeout.map(|_| command::limit(cx, self.timeout)),
        };
        let confined = new.confined;
        let shell = cx.session.shells.add(new, process);
        let terminal = shell.terminal().cloned().map(ToolContent::Terminal);
        let wait = self.wait_ms.map_or(SHELL_START_WAIT, Duration::from_millis).min(SHELL_WAIT_MAX);
        unless_cancelled(cx, shell.ended_within(wait)).await?;
        let UnreadOutput { said, end } = shell.take();
        let said = output::within(cx, said).await;
        let said = said.trim_end_matches('\n');
        let (mut text, success) = match end {
            Some(ShellEnd::NotConfined(why)) => return Err(ToolError::message(why)),
            Some(ShellEnd::Exited(status)) => (self.ended(cx, said, &status).await, status.success()),
            Some(end) => (format!("{}\n{}", or_nothing(said), end.words()), false),
            None => {
                cx.session.shells.report(&shell);
                let reach = match confined {
                    true if cx.call.asks_for_hosts => FORWARDED,
                    true => UNREACHED,
                    false => "",
                };
                let keeps = match (self.keeps(), shell.keeps()) {
                    (true, true) => " It keeps running when the session closes.",
                    (true, false) => " It runs in the user's terminal and ends with the session.",
                    (false, _) => "",
                };
                (
                    format!(
                        "Runs in the background as {}.{keeps}{reach} Its output so far:\n{}",
                        shell.id(),
                        or_nothing(said)
                    ),
                    true,
                )
            }
        };
        text.push_str(unsaved);
        Ok(shown(text, success, terminal, unsaved))
    }

    /// Returns the result of a command that exited by itself.
    async fn ended(&self, cx: &ToolContext, said: &str, status: &ExitStatus) -> String {
        let is_confined = cx.call.confined && !self.outside_sandbox && !status.success();
        let unseen = if is_confined { unseen(cx, said).await } else { None };
        let online = cx.call.asks_for_hosts;
        let network = if online { "only the hosts that the user allows" } else { "no network" };
        let sandbox = format!("This ran in a sandbox: {network}; {SANDBOX}");
        let why = match unseen {
            Some(path) => {
                Some(format!("{sandbox} {path} exists outside, where commands do not see it. {UNSEEN}"))
            }
            None => (is_confined && sandbox_may_be_why(said, online)).then_some(sandbox),
        };
        let hint = match why {
            Some(why) if cx.call.may_leave => format!("\n({why} {LEAVE})"),
            Some(why) => format!("\n({why})"),
            None => String::new(),
        };
        let withheld = if status.success() { String::new() } else { withheld(cx, said) };
        format!("{}\n{}{hint}{withheld}", or_nothing(said), ending(status))
    }

    /// Returns the error for a command that did not start. A missing working directory looks like a
    /// missing program, so the directory is checked.
    async fn not_started(&self, cx: &ToolContext, error: SystemError) -> ToolError {
        let folder = self.folder(&cx.cwd);
        let gone = matches!(error, SystemError::Spawn { .. } | SystemError::NotFound(_))
            && matches!(cx.system.metadata(&folder).await, Err(SystemError::NotFound(_)));
        let machine = if cx.system.editor_is_remote() { "on the agent's machine" } else { "on this machine" };
        match gone {
            true if folder != cx.cwd => ToolError::message(format!(
                "Not run: the folder {folder} does not exist {machine}. cwd is relative to the project folder {}.",
                cx.cwd
            )),
            true => ToolError::message(format!(
                "Not run: the project folder {folder} does not exist {machine} (any more). Ask the user where the project is now.",
            )),
            false => error.into(),
        }
    }
}

/// The note about a background command in a sandbox whose servers the user reaches.
const FORWARDED: &str = " It runs in the sandbox: the session's other commands reach its ports at 127.0.0.1. The result of a later call says at which address the user reaches them.";

/// The note about a background command in a sandbox without a network.
const UNREACHED: &str = " It runs in the sandbox: the session's other commands reach its ports at 127.0.0.1, and programs outside do not unless the settings give the sandbox the network.";

/// Builds an output from a result and the terminal that shows the command, if there is one.
fn shown(text: String, success: bool, terminal: Option<ToolContent>, unsaved: &str) -> ToolOutput {
    let output = match terminal {
        Some(terminal) if unsaved.is_empty() => ToolOutput::shown(text, vec![terminal]),
        Some(terminal) => {
            let note = ToolContent::Content(Content::text(unsaved.trim()));
            ToolOutput::shown(text, vec![terminal, note])
        }
        None => ToolOutput::text(text),
    };
    if success { output } else { output.failed() }
}

/// What the sandbox keeps a command from.
const SANDBOX: &str = "it sees the project, the programs of the system, and a home directory with toolchains and caches; \
                       it writes there, but not to git's hooks. When it has ended, the user is asked about changes of what editors obey, such as .vscode.";
/// How a file outside gets into the sandbox.
const UNSEEN: &str = "The user can name it in the setting sandbox.readable_paths or sandbox.home_paths.";
/// How a command leaves the sandbox.
const LEAVE: &str =
    "If that is why it failed, call bash again with outside_sandbox set and a reason; the user is asked.";

/// Whether a failure looks like an effect of the sandbox. What an `online` sandbox refuses of the
/// network is reported by itself.
fn sandbox_may_be_why(said: &str, online: bool) -> bool {
    const SIGNS: [&str; 6] = [
        "Permission denied",
        "Operation not permitted",
        "Read-only file system",
        "EPERM",
        "EROFS",
        "Device or resource busy",
    ];
    const NETWORK: [&str; 5] = [
        "Could not resolve",
        "Temporary failure in name resolution",
        "Network is unreachable",
        "Name or service not known",
        "Could not connect",
    ];
    let network = NETWORK.iter().filter(|_| !online);
    SIGNS.iter().chain(network).any(|sign| said.contains(sign))
}

/// Returns a note on the variables that the output of a failed command names and that commands do
/// not get; empty if there are none.
fn withheld(cx: &ToolContext, said: &str) -> String {
    let is_named = |name: &String| {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        said.match_indices(name.as_str())
            .any(|(at, _)| !said[..at].ends_with(is_part) && !said[at + name.len()..].starts_with(is_part))
    };
    let names: Vec<_> = cx.system.withheld_variables().into_iter().filter(is_named).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!(
            "\n(Commands do not get {}. The user can name it in the setting sandbox.keep_variables.)",
            names.join(", ")
        ),
    }
}

/// Returns a file that a command did not find and that exists outside of the sandbox.
async fn unseen(cx: &ToolContext, said: &str) -> Option<AbsPath> {
    const SIGNS: [&str; 4] = ["No such file or directory", "not found", "ENOENT", "does not exist"];
    let lines = said.lines().filter(|line| SIGNS.iter().any(|sign| line.contains(sign)));
    let words = lines.flat_map(|line| line.split(|c: char| c.is_whitespace() || "'\"`()[],;".contains(c)));
    let paths = words.filter_map(|word| AbsPath::new(word.trim_end_matches([':', '.'])).ok());
    for path in paths.take(UNSEEN_PATHS) {
        if !cx.system.commands_see(&path) && cx.system.metadata(&path).await.is_ok() {
            return Some(path);
        }
    }
    None
}

/// Maximum number of paths in a command's output that are looked up.
const UNSEEN_PATHS: usize = 8;

fn or_nothing(said: &str) -> &str {
    if said.is_empty() { "(no output)" } else { said }
}
