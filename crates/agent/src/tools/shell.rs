//! `shell`: reads the output of a session's background commands, sends them input and terminates
//! them. Also the contract's separate tools for the same actions.

use super::{args, bash::Bash, cancel::unless_cancelled, output, path, path::GivenPath};
use crate::{
    Access, Description, Effect, Lifetime, Tool, ToolContent, ToolContext, ToolError, ToolKind, ToolOutput,
    limits::{SHELL_WAIT, SHELL_WAIT_MAX},
    shells::{self, ShellEnd},
    tool::titles,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::time::Duration;
use system::AbsPath;

/// Controls a background command.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Shell {
    #[serde(default)]
    action: Action,
    #[serde(default, deserialize_with = "args::optional", alias = "session_id")]
    id: Option<String>,
    /// The input to send.
    #[serde(default, alias = "input")]
    text: Option<String>,
    /// How long to wait for output, in milliseconds.
    #[serde(default, deserialize_with = "args::count")]
    wait_ms: Option<u64>,
    /// Whether to omit the line ending after the input.
    #[serde(skip)]
    unsubmitted: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Action {
    #[default]
    #[serde(alias = "read")]
    Output,
    #[serde(alias = "write", alias = "send")]
    Input,
    #[serde(alias = "kill")]
    Stop,
    List,
}

#[async_trait]
impl Tool for Shell {
    const NAME: &'static str = "shell";
    const DESCRIPTION: &'static str = "Deals with commands started by bash with background: output returns what is new, input sends a line, stop ends it, list shows all.";
    const EFFECT: Effect = Effect::Executes;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "action": {"type": "string", "enum": ["output", "input", "stop", "list"]},
                "id": {"type": "string", "description": "The id that bash returned"},
                "text": {"type": "string", "description": "For input"},
                "wait_ms": {"type": "integer", "description": "How long to wait for output"}
            },
            "required": ["action"]
        })
    }

    fn describe(&self, cwd: &AbsPath) -> Description {
        let id = self.id.as_deref().unwrap_or("a background command");
        let title = match self.action {
            Action::Output => format!("Read the output of {id}"),
            Action::Input => {
                format!("Tell {id}: {}", titles::command_title(self.text(), cwd).trim_start_matches("Run "))
            }
            Action::Stop => format!("Stop {id}"),
            Action::List => "List background commands".to_owned(),
        };
        Description { title, kind: ToolKind::Execute, locations: Vec::new() }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        match (self.action, self.text().trim()) {
            (Action::Input, text) if !text.is_empty() => vec![Access::Execute {
                command: self.text().to_owned(),
                cwd: cwd.clone(),
                unconfined: shells::is_outside(self.id()),
                reason: None,
                lifetime: Lifetime::Running,
            }],
            _ => args::touches_nothing(Self::NAME),
        }
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        if self.action == Action::List {
            return Ok(ToolOutput::text(cx.session.shells.list()));
        }
        let shell = cx.session.shells.find(self.id()).map_err(ToolError::message)?;
        let wait = self.wait_ms.map_or(SHELL_WAIT, Duration::from_millis).min(SHELL_WAIT_MAX);
        match self.action {
            Action::Input => {
                if cx.call.confined && !shell.is_confined() {
                    return Err(ToolError::message(format!(
                        "{} was started without a sandbox, and commands are now confined. Stop it and start it again.",
                        shell.id()
                    )));
                }
                let end = if self.unsubmitted || self.text().ends_with('\n') { "" } else { "\n" };
                let text = format!("{}{end}", self.text());
                unless_cancelled(cx, shell.write(text)).await?.map_err(ToolError::message)?;
                unless_cancelled(cx, shell.wait_for_output(wait)).await?;
            }
            Action::Stop => unless_cancelled(cx, shell.stop()).await?,
            Action::Output | Action::List => unless_cancelled(cx, shell.wait_for_output(wait)).await?,
        }
        let unread = shell.take();
        let said = output::within(cx, unread.said).await;
        let said = match said.trim_end_matches('\n') {
            "" => "(no new output)",
            said => said,
        };
        Ok(ToolOutput::text(match unread.end {
            None => format!("{said}\n({} is running)", shell.id()),
            Some(end @ ShellEnd::Exited(_)) => format!("{said}\n({} has ended)\n{}", shell.id(), end.words()),
            Some(end) => format!("{said}\n({}) {}", shell.id(), end.words()),
        }))
    }
}

impl Shell {
    fn id(&self) -> &str {
        self.id.as_deref().unwrap_or_default()
    }

    fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }
}

/// `shell_start`: starts a background command.
#[derive(Debug, serde::Deserialize)]
pub(super) struct ShellStart {
    #[serde(default)]
    command: String,
    #[serde(default, deserialize_with = "path::optional")]
    cwd: Option<GivenPath>,
    #[serde(default, deserialize_with = "args::count")]
    timeout: Option<u64>,
    #[serde(default, deserialize_with = "args::count")]
    wait_ms: Option<u64>,
    #[serde(default, deserialize_with = "args::flag")]
    keep: bool,
}

impl ShellStart {
    fn bash(&self) -> Bash {
        let Self { command, cwd, timeout, wait_ms, keep } = self;
        let (command, cwd, keep) = (command.clone(), cwd.clone(), *keep);
        Bash { command, cwd, timeout: *timeout, wait_ms: *wait_ms, background: true, keep, ..Bash::default() }
    }
}

#[async_trait]
impl Tool for ShellStart {
    const NAME: &'static str = "shell_start";
    const DESCRIPTION: &'static str = "Starts a command in the background. The same as bash with background.";
    const EFFECT: Effect = Effect::Executes;
    const LISTED: bool = false;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "cwd": {"type": "string"},
                "timeout": {"type": "integer"},
                "wait_ms": {"type": "integer"},
                "keep": {"type": "boolean"}
            },
            "required": ["command"]
        })
    }

    fn describe(&self, cwd: &AbsPath) -> Description {
        Tool::describe(&self.bash(), cwd)
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        Tool::accesses(&self.bash(), cwd)
    }

    async fn prepare(&mut self, cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Tool::prepare(&mut self.bash(), cx).await
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        Tool::run(&mut self.bash(), cx).await
    }
}

/// `shell_write`: sends input.
#[derive(Debug, serde::Deserialize)]
pub(super) struct ShellWrite {
    session_id: String,
    #[serde(default)]
    input: String,
    #[serde(default = "yes", deserialize_with = "args::flag")]
    submit: bool,
    #[serde(default, deserialize_with = "args::count")]
    wait_ms: Option<u64>,
}

fn yes() -> bool {
    true
}

/// `shell_read`: reads output.
#[derive(Debug, serde::Deserialize)]
pub(super) struct ShellRead {
    session_id: String,
    #[serde(default, deserialize_with = "args::count")]
    wait_ms: Option<u64>,
}

/// `shell_kill`: terminates the command.
#[derive(Debug, serde::Deserialize)]
pub(super) struct ShellKill {
    session_id: String,
}

impl From<&ShellWrite> for Shell {
    fn from(from: &ShellWrite) -> Self {
        let text = Some(from.input.clone());
        let shell = Self::of(Action::Input, &from.session_id, from.wait_ms);
        Self { text, unsubmitted: !from.submit, ..shell }
    }
}

impl From<&ShellRead> for Shell {
    fn from(from: &ShellRead) -> Self {
        Self::of(Action::Output, &from.session_id, from.wait_ms)
    }
}

impl From<&ShellKill> for Shell {
    fn from(from: &ShellKill) -> Self {
        Self::of(Action::Stop, &from.session_id, None)
    }
}

impl Shell {
    fn of(action: Action, id: &str, wait_ms: Option<u64>) -> Self {
        Self { action, id: Some(id.to_owned()), text: None, wait_ms, unsubmitted: false }
    }
}

/// Implements a tool of the contract that is an alias for one action of `shell`.
macro_rules! alias {
    ($type:ty, $name:literal, $description:literal, $properties:tt, $required:tt) => {
        #[async_trait]
        impl Tool for $type {
            const NAME: &'static str = $name;
            const DESCRIPTION: &'static str = $description;
            const EFFECT: Effect = Effect::Executes;
            const LISTED: bool = false;

            fn parameters() -> Value {
                json!({ "type": "object", "properties": $properties, "required": $required })
            }

            fn describe(&self, cwd: &AbsPath) -> Description {
                Tool::describe(&Shell::from(self), cwd)
            }

            fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
                Tool::accesses(&Shell::from(self), cwd)
            }

            async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
                Tool::run(&mut Shell::from(&*self), cx).await
            }
        }
    };
}

alias!(
    ShellWrite,
    "shell_write",
    "Sends input to a background command. The same as shell with action input.",
    {
        "session_id": {"type": "string"},
        "input": {"type": "string"},
        "submit": {"type": "boolean"},
        "wait_ms": {"type": "integer"}
    },
    ["session_id", "input"]
);
alias!(
    ShellRead,
    "shell_read",
    "Returns what is new of a background command's output. The same as shell with action output.",
    {"session_id": {"type": "string"}, "wait_ms": {"type": "integer"}},
    ["session_id"]
);
alias!(
    ShellKill,
    "shell_kill",
    "Ends a background command. The same as shell with action stop.",
    {"session_id": {"type": "string"}},
    ["session_id"]
);
