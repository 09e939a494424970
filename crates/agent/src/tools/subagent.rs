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
use serde::{Deserialize as _, de::IntoDeserializer as _};
use serde_json::{Map, Value, json};
use system::AbsPath;

/// Requests subagents.
#[derive(Debug, serde::Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub(super) struct Subagent {
    one: Requested,
    mode: Waiting,
    /// A list, or a list as JSON in a string.
    agents: Value,
}

/// One requested subagent: the arguments of a call, or an element of its list.
#[derive(Debug, Clone, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
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
    #[serde(default, deserialize_with = "isolation")]
    isolation: Isolation,
    #[serde(default, deserialize_with = "args::optional")]
    resume: Option<String>,
}

impl TryFrom<Map<String, Value>> for Subagent {
    type Error = String;

    fn try_from(mut given: Map<String, Value>) -> Result<Self, String> {
        let mode = match given.remove("mode") {
            None | Some(Value::Null) => Waiting::default(),
            Some(Value::String(text)) if text.trim().is_empty() => Waiting::default(),
            Some(mode) => serde_json::from_value(mode).map_err(|error| format!("mode: {error}"))?,
        };
        let agents = given.remove("agents").unwrap_or_default();
        let one = requested(given).map_err(|field| field.to_string())?;
        Ok(Self { one, mode, agents })
    }
}

/// Parses the fields of one subagent.
fn requested(mut fields: Map<String, Value>) -> serde_json::Result<Requested> {
    // Models label calls and elements of lists.
    fields.remove("description");
    serde_json::from_value(Value::Object(fields))
}

/// Deserializes where a subagent works; null and the empty string are `none`.
fn isolation<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Isolation, D::Error> {
    match args::optional(from)? {
        None => Ok(Isolation::None),
        Some(text) => Isolation::deserialize(text.into_deserializer()),
    }
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

/// Requests subagents in a session whose files are on another machine than this program, which
/// cannot give them worktrees there.
#[derive(Debug, serde::Deserialize)]
#[serde(transparent)]
pub(super) struct WithoutWorktrees(Subagent);

#[async_trait]
impl Tool for WithoutWorktrees {
    const NAME: &'static str = Subagent::NAME;
    const DESCRIPTION: &'static str = Subagent::DESCRIPTION;
    const EFFECT: Effect = Subagent::EFFECT;

    fn parameters() -> Value {
        let mut parameters = Subagent::parameters();
        if let Some(properties) = parameters["properties"].as_object_mut() {
            properties.remove("isolation");
        }
        parameters
    }

    fn describe(&self, cwd: &AbsPath) -> Description {
        self.0.describe(cwd)
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        self.0.accesses(cwd)
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (agents, _) = self.0.requested()?;
        if agents.iter().any(|agent| agent.isolation == Isolation::Worktree) {
            return Err(ToolError::message(
                "isolation: \"worktree\" is not available here: the files of this session are on the editor's machine. No agent was started.",
            ));
        }
        self.0.run(cx).await
    }
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
        let elements: Vec<Value> = match &self.agents {
            Value::Null => Vec::new(),
            Value::String(text) if text.trim().is_empty() => Vec::new(),
            Value::String(text) => serde_json::from_str(text).map_err(|error| not_a_batch(&error))?,
            list => serde_json::from_value(list.clone()).map_err(|error| not_a_batch(&error))?,
        };
        let batch = elements.into_iter().enumerate().map(|(at, element)| of_element(at, element));
        let batch: Vec<Requested> = batch.collect::<Result<_, _>>()?;
        match (batch.is_empty(), self.one.task.is_some() || self.one.resume.is_some()) {
            (false, false) if self.one == Requested::default() => Ok((batch, true)),
            (false, false) => Err(ToolError::message(
                "type, id, depends_on, group and isolation beside agents apply to none of them: put them into the elements of agents.",
            )),
            (true, true) => Ok((vec![self.one.clone()], false)),
            _ => Err(ToolError::message("Provide either `task` (string) or `agents` (array).")),
        }
    }
}

/// Parses an element of `agents`.
fn of_element(at: usize, element: Value) -> Result<Requested, ToolError> {
    let Value::Object(fields) = element else {
        return Err(ToolError::message(format!("agents[{at}] is not an object with a task: {element}")));
    };
    if fields.contains_key("mode") {
        return Err(ToolError::message(format!(
            "agents[{at}] has a mode, and mode is of the whole call: put it beside agents. No agent was started."
        )));
    }
    requested(fields)
        .map_err(|error| ToolError::message(format!("agents[{at}]: {error}. No agent was started.")))
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
