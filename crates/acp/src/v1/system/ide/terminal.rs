//! `ide_terminal`.

use super::{IdeTool, operation::IdeOperation};
use crate::v1::system::terminal_command::quoted;
use agent::{
    Access, AnyCall, Description, Lifetime, ToolContent, ToolContext, ToolError, ToolKind, ToolOutput, tools,
};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;
use std::collections::BTreeMap;
use system::{AbsPath, Command};

/// Characters of a command shown in a title.
const TITLE_CHARS: usize = 80;

pub(super) struct Terminal {
    run: Run,
    tool: IdeTool,
}

#[derive(Deserialize)]
pub(super) struct Run {
    command: String,
    args: Option<Vec<String>>,
    cwd: Option<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    timeout: Option<u64>,
}

impl Terminal {
    pub(super) fn new(run: Run, tool: IdeTool) -> Self {
        Self { run, tool }
    }

    fn cwd(&self, session: &AbsPath) -> AbsPath {
        self.run.cwd.as_deref().map_or_else(|| session.clone(), |cwd| session.join(cwd))
    }

    /// Returns the command with its variables as one shell line, for the policy and for display.
    fn line(&self) -> String {
        let env = self.run.env.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        let command = match self.run.args.as_deref() {
            None | Some([]) => vec![self.run.command.clone()],
            Some(args) => std::iter::once(&self.run.command).chain(args).map(|word| quoted(word)).collect(),
        };
        env.chain(command).collect::<Vec<_>>().join(" ")
    }

    fn command(&self, cx: &ToolContext) -> Command {
        let (cwd, limit) = (self.cwd(&cx.cwd), cx.limits.command_output_bytes);
        let mut command = Command::shell(&self.run.command, cwd, limit);
        if let Some(args) = self.run.args.clone().filter(|args| !args.is_empty()) {
            (command.program, command.args) = (self.run.command.clone(), args);
        }
        command.env = self.run.env.clone().into_iter().collect();
        command
    }
}

#[async_trait]
impl AnyCall for Terminal {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        let line = self.line().split_whitespace().collect::<Vec<_>>().join(" ");
        let title: String = line.chars().take(TITLE_CHARS).collect();
        Description {
            title: format!("Run in the editor: {title}"),
            kind: ToolKind::Execute,
            locations: Vec::new(),
        }
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        let (command, cwd) = (self.line(), self.cwd(cwd));
        vec![Access::Execute { command, cwd, unconfined: false, reason: None, lifetime: Lifetime::Session }]
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        self.tool.check_available()?;
        if self.run.command.trim().is_empty() {
            return Err(ToolError::message("No command provided"));
        }
        Ok(agent::command_block(&self.line()))
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.tool.check_available()?;
        let command = self.command(cx);
        let started = cx.cancel.run_until_cancelled(self.tool.system.spawn_at_client(&command)).await;
        let process = started
            .ok_or(ToolError::Cancelled(None))?
            .map_err(|error| self.tool.failed("running", &command.program, error))?;
        let limit = tools::command::limit(cx, self.run.timeout);
        let ran = tools::command::follow(cx, IdeOperation::Terminal.name(), Box::new(process), limit).await?;
        let mut result = json!({
            "output": ran.said,
            "exit_code": ran.exit.as_ref().and_then(|exit| exit.code),
            "truncated": ran.truncated,
        });
        match &ran.exit {
            None => result["error"] = json!(tools::command::timed_out(limit)),
            Some(exit) if exit.signal.is_some() => result["signal"] = json!(exit.signal),
            Some(_) => {}
        }
        let output = ToolOutput::shown(result.to_string(), ran.terminal.into_iter().collect());
        let success = ran.exit.is_some_and(|exit| exit.success());
        Ok(if success { output } else { output.failed() })
    }
}
