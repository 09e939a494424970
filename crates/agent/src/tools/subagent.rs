//! `subagent`: hands a task, or several, to subagents.

use super::args;
use crate::{
    Access, Description, Effect, Tool, ToolContext, ToolError, ToolKind, ToolOutput,
    limits::TASK_TITLE_CHARS,
    one_line,
    text::cut,
    tool::subagents::{Delegation, RequestedAgent},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use system::AbsPath;

/// Requests subagents.
#[derive(Debug, serde::Deserialize)]
pub(super) struct Subagent {
    #[serde(flatten)]
    one: Requested,
    #[serde(default)]
    mode: Waiting,
    /// A list, or a list as JSON in a string.
    #[serde(default)]
    agents: Value,
}

#[derive(Debug, Clone, Default, serde::Deserialize)]
struct Requested {
    #[serde(default, deserialize_with = "args::optional", alias = "prompt")]
    task: Option<String>,
    #[serde(
        default,
        rename = "type",
        alias = "subagent_type",
        alias = "agent_type",
        deserialize_with = "args::optional"
    )]
    kind: Option<String>,
    #[serde(default, deserialize_with = "args::optional")]
    id: Option<String>,
    #[serde(default, deserialize_with = "args::list")]
    depends_on: Vec<String>,
    #[serde(default, deserialize_with = "args::optional")]
    group: Option<String>,
    #[serde(default)]
    isolation: Isolation,
    #[serde(default, deserialize_with = "args::optional")]
    resume: Option<String>,
}

/// Whether the call waits for the subagents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Waiting {
    #[default]
    Await,
    Background,
}

/// Where a subagent works.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum Isolation {
    /// In the directory of the session.
    #[default]
    None,
    Worktree,
}

#[async_trait]
impl Tool for Subagent {
    const NAME: &'static str = "subagent";
    const DESCRIPTION: &'static str = "Hands a task to another agent, or several at once with agents. It sees nothing of this conversation: put all it needs into task. \
         Its last message is the result. explore reads and answers, plan reads and plans, general also writes and runs commands.";
    const EFFECT: Effect = Effect::Delegates;

    fn parameters() -> Value {
        json!({
            "type": "object",
            "properties": {
                "task": {"type": "string"},
                "type": {"type": "string", "description": "explore (default), plan, general"},
                "mode": {"type": "string", "enum": ["await", "background"], "description": "background: the result comes later"},
                "id": {"type": "string", "description": "A name of your choice"},
                "depends_on": {"type": "array", "items": {"type": "string"}, "description": "Ids of agents whose results it needs"},
                "group": {"type": "string", "description": "One agent of a group runs at a time"},
                "isolation": {"type": "string", "enum": ["none", "worktree"], "description": "worktree: own git branch"},
                "resume": {"type": "string", "description": "Id of an ended agent; task is its next message"},
                "agents": {"type": "array", "items": {"type": "object"}, "description": "Several instead: objects with these fields"}
            }
        })
    }

    fn describe(&self, _cwd: &AbsPath) -> Description {
        let title = match self.requested() {
            Ok((agents, true)) => match agents.len() {
                1 => "1 subagent".to_owned(),
                count => format!("{count} subagents"),
            },
            Ok((agents, false)) => match agents.first() {
                Some(Requested { resume: Some(id), .. }) => format!("Resume subagent {id}"),
                Some(agent) => {
                    let kind = agent.kind.as_deref().unwrap_or("explore");
                    format!("Subagent ({kind}): {}", agent.task.as_deref().unwrap_or_default())
                }
                None => "Subagent".to_owned(),
            },
            Err(_) => "Subagents".to_owned(),
        };
        let title = cut::cut(&one_line(&title), TASK_TITLE_CHARS).into_owned();
        Description { title, kind: ToolKind::Execute, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        args::touches_nothing(Self::NAME)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let Some(subagents) = cx.session.subagents.0.clone() else {
            return Err(ToolError::message(
                "Subagents are not available here. Do the work with the other tools.",
            ));
        };
        let (agents, is_batch) = self.requested()?;
        let agents = agents.into_iter().map(RequestedAgent::from).collect();
        let request = Delegation { agents, waits: self.mode == Waiting::Await, is_batch };
        subagents.delegate(request, cx).await
    }
}

impl Subagent {
    /// Returns the requested agents, and whether they are a batch.
    fn requested(&self) -> Result<(Vec<Requested>, bool), ToolError> {
        let batch: Vec<Requested> = match &self.agents {
            Value::Null => Vec::new(),
            Value::String(text) if text.trim().is_empty() => Vec::new(),
            Value::String(text) => serde_json::from_str(text).map_err(|error| not_a_batch(&error))?,
            list => serde_json::from_value(list.clone()).map_err(|error| not_a_batch(&error))?,
        };
        match (batch.is_empty(), self.one.task.is_some() || self.one.resume.is_some()) {
            (false, false) => Ok((batch, true)),
            (true, true) => Ok((vec![self.one.clone()], false)),
            _ => Err(ToolError::message("Provide either `task` (string) or `agents` (array).")),
        }
    }
}

fn not_a_batch(error: &serde_json::Error) -> ToolError {
    ToolError::message(format!(
        "agents must be a JSON array of objects with task, type, id, depends_on, group, isolation, resume: {error}"
    ))
}

impl From<Requested> for RequestedAgent {
    fn from(from: Requested) -> Self {
        let Requested { task, kind, id, depends_on, group, isolation, resume } = from;
        Self {
            task: task.unwrap_or_default(),
            kind,
            id,
            depends_on,
            group,
            isolated: isolation == Isolation::Worktree,
            resume,
        }
    }
}
