//! `bash`: a command, run where the session's commands run.

use super::{args, cancel::unless_cancelled, command, output, unsaved};
use crate::{
    Access, Content, Description, Effect, Tool, ToolContent, ToolContext, ToolError, ToolKind, ToolOutput,
    limits::COMMAND_TITLE_CHARS,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use system::{AbsPath, Command, Confinement, ExitStatus, Route, SystemError};

/// Runs a shell line.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Bash {
    #[serde(default)]
    command: String,
    /// Seconds.
    #[serde(default, deserialize_with = "args::count")]
    timeout: Option<u64>,
    #[serde(default)]
    outside_sandbox: bool,
    /// Why it has to leave the sandbox, for the user.
    #[serde(default)]
    reason: Option<String>,
}

#[async_trait]
impl Tool for Bash {
    const NAME: &'static str = "bash";
    const DESCRIPTION: &'static str = "Runs a command line in the project folder, with bash where there is one and else with sh (the system prompt says which), and returns its \
        output (stdout and stderr in one stream) and exit code. Standard input is closed. Each call is a new shell. Long output keeps its end.";
    const EFFECT: Effect = Effect::Executes;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": {"type": "string", "description": "The command"},
                "timeout": {"type": "integer", "minimum": 1, "maximum": 7200, "description": "Seconds it may run (default 120)"},
                "outside_sandbox": {"type": "boolean", "description": "Run outside of the sandbox, with the network and the user's files; the user is asked. Only after the sandbox stood in the way"},
                "reason": {"type": "string", "description": "With outside_sandbox: what it needs from outside, in one sentence for the user"}
            },
            "required": ["command"]
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        let line = self.command.split_whitespace().collect::<Vec<_>>().join(" ");
        Description {
            title: format!("Run {}", output::cut(&line, COMMAND_TITLE_CHARS)),
            kind: ToolKind::Execute,
            locations: Vec::new(),
        }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        match self.is_empty() {
            true => args::touches_nothing(Self::NAME),
            false => vec![Access::Execute {
                command: self.command.clone(),
                cwd: cwd.clone(),
                unconfined: self.outside_sandbox,
                reason: self.reason.clone().filter(|_| self.outside_sandbox),
            }],
        }
    }

    async fn prepare(&mut self, cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        if self.is_empty() {
            return Err(ToolError::message("No command provided"));
        }
        let place = match cx.system.routes().spawn {
            Route::Client => "in the editor's terminal",
            Route::Local | Route::Refused if cx.system.is_apart() => "on the agent's machine, not on yours",
            Route::Local | Route::Refused => "on this machine",
        };
        let text = format!("{}\n\nRuns {place}, in {}", fenced(&self.command), cx.cwd);
        Ok(vec![ToolContent::Content(Content::text(text))])
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if self.is_empty() {
            return Err(ToolError::message("No command provided"));
        }
        let limit = command::limit(cx, self.timeout);
        let mut command =
            Command::line(cx.system.shell(), &self.command, cx.cwd.clone(), cx.limits.command_output_bytes);
        if self.outside_sandbox {
            command.confinement = Confinement::Lifted;
        }
        // Before it starts: what it changes itself is no unsaved change.
        let unsaved = unsaved::note(&unsaved::unsaved(cx).await?);
        let process = match unless_cancelled(cx, cx.system.spawn(command)).await? {
            Ok(process) => process,
            Err(error) => return Err(self.not_started(cx, error).await),
        };
        let ran = command::follow(cx, Self::NAME, process, limit).await?;
        let said = ran.said.as_str();
        let (text, success) = match &ran.exit {
            Some(status) => {
                let hint = if cx.confined && !self.outside_sandbox { sandbox_hint(said, status) } else { "" };
                (format!("{}\n{}{hint}", or_nothing(said), ending(status)), status.success())
            }
            None if said.is_empty() => (command::timed_out(limit), false),
            None => (format!("{said}\n{}", command::timed_out(limit)), false),
        };
        let text = format!("{text}{unsaved}");
        let output = match ran.terminal {
            Some(terminal) if unsaved.is_empty() => ToolOutput::shown(text, vec![terminal]),
            Some(terminal) => {
                let note = ToolContent::Content(Content::text(unsaved.trim()));
                ToolOutput::shown(text, vec![terminal, note])
            }
            None => ToolOutput::text(text),
        };
        Ok(if success { output } else { output.failed() })
    }
}

impl Bash {
    fn is_empty(&self) -> bool {
        self.command.trim().is_empty()
    }

    /// Why a command did not start. A folder that is gone looks like a program that is gone.
    async fn not_started(&self, cx: &ToolContext, error: SystemError) -> ToolError {
        let gone = matches!(error, SystemError::Spawn { .. } | SystemError::NotFound(_))
            && matches!(cx.system.metadata(&cx.cwd).await, Err(SystemError::NotFound(_)));
        match gone {
            true => ToolError::message(format!(
                "Not run: the project folder {} does not exist {} (any more). Ask the user where the project is now.",
                cx.cwd,
                if cx.system.is_apart() { "on the agent's machine" } else { "on this machine" },
            )),
            false => error.into(),
        }
    }
}

fn ending(status: &ExitStatus) -> String {
    match (&status.signal, status.code) {
        (Some(signal), _) => format!("Killed by signal: {signal}"),
        (None, Some(code)) => format!("Exit code: {code}"),
        (None, None) => "Exit status unknown".to_owned(),
    }
}

/// What the model is told when a failure looks like the sandbox's doing.
fn sandbox_hint(said: &str, status: &ExitStatus) -> &'static str {
    const SIGNS: [&str; 11] = [
        "Permission denied",
        "Operation not permitted",
        "Read-only file system",
        "Could not resolve",
        "Temporary failure in name resolution",
        "Network is unreachable",
        "EPERM",
        "EROFS",
        "Device or resource busy",
        "Name or service not known",
        "Could not connect",
    ];
    match !status.success() && SIGNS.iter().any(|sign| said.contains(sign)) {
        true => {
            "\n(This ran in a sandbox: no network; writes only below the project and the temporary directory, and not to git's configuration and hooks \
             or to files that editors and build tools obey, such as .vscode and .npmrc. If that is why it failed, call bash again with \
             outside_sandbox set and a reason; the user is asked.)"
        }
        false => "",
    }
}

fn or_nothing(said: &str) -> &str {
    if said.is_empty() { "(no output)" } else { said }
}

/// A command as a code block, whatever backticks it holds.
fn fenced(command: &str) -> String {
    let command = crate::escaped(command);
    let longest = command.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}sh\n{command}\n{fence}")
}
