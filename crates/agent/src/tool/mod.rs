//! The seam to tools: typed where they are written, erased where they are called.

pub(crate) mod access;
pub(crate) mod nested;
pub(crate) mod question;
pub(crate) mod sampling;
pub(crate) mod titles;

use crate::{
    Access, AskUser, FileTracker, InnerCalls, Location, Outputs, SessionEvent, Shells, TaskList, ToolCallId,
    ToolCallUpdate, ToolContent, ToolKind, ToolLimits, ToolResult, ToolSpec,
};
use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{borrow::Cow, marker::PhantomData, sync::Arc};
use system::{AbsPath, Route, System};
use tokio_util::sync::CancellationToken;

/// A tool, written as the struct of its arguments: parsed, described, checked by the gate, prepared, run.
#[async_trait]
pub trait Tool: DeserializeOwned + Send + Sync + 'static {
    /// The name models call it by.
    const NAME: &'static str;
    /// What models are told about it.
    const DESCRIPTION: &'static str;
    /// What it does to the world.
    const EFFECT: Effect;
    /// Whether models are told of it. One that is not listed can be called all the same: by models
    /// and scripts that know its name.
    const LISTED: bool = true;

    /// JSON Schema of the arguments, an object.
    fn parameters() -> Value;

    /// What people are shown before it runs.
    fn describe(&self, cwd: &AbsPath) -> Description;

    /// All that it is going to touch. Must be complete: the gate sees nothing else.
    fn accesses(&self, cwd: &AbsPath) -> Vec<Access>;

    /// Does what must be done before the user can be asked: reads the file, computes the diff. Changes nothing. What it returns is
    /// shown in the permission request and in the call. Called once, before [`Tool::run`].
    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Ok(Vec::new())
    }

    /// Does it.
    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError>;
}

/// What a tool does to the world: decides in which modes it exists and what it runs beside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Reads only: exists in every mode, runs in parallel with other reads.
    Reads,
    /// Changes the session's own state (tasks): exists in every mode, runs in order.
    Session,
    /// Runs commands: exists in every mode, but changes nothing outside `edit`; runs in order.
    Executes,
    /// Changes files: exists in `edit` only, runs in order.
    Writes,
}

/// What people are shown of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// One line: `Read src/main.rs`, `Run cargo test`.
    pub title: String,
    /// What kind of thing it does.
    pub kind: ToolKind,
    /// Where it works.
    pub locations: Vec<Location>,
}

/// What a tool may use while it runs.
#[derive(Clone)]
pub struct ToolContext {
    /// Where effects happen.
    pub system: Arc<dyn System>,
    /// The session's folder: relative paths are relative to it.
    pub cwd: AbsPath,
    /// What the model has seen of which file.
    pub files: Arc<FileTracker>,
    /// The session's tasks.
    pub tasks: Arc<TaskList>,
    /// The session's commands in the background.
    pub shells: Arc<Shells>,
    /// Where long results are kept whole.
    pub outputs: Arc<Outputs>,
    /// Who can be asked a question.
    pub user: Arc<dyn AskUser>,
    /// The call.
    pub call: ToolCallId,
    /// Shows progress of the call (a terminal, live output). Never blocks.
    pub progress: Arc<dyn Fn(ToolCallUpdate) + Send + Sync>,
    /// Cancelled when the turn is; a tool stops at once and ends what it started.
    pub cancel: CancellationToken,
    /// Whether the user was asked between [`Tool::prepare`] and [`Tool::run`], so that files may have changed since.
    pub asked: bool,
    /// Whether its commands run in a sandbox.
    pub confined: bool,
    /// The limits in force.
    pub limits: ToolLimits,
    /// The session's tools, for a tool that calls others.
    pub inner: InnerCalls,
}

/// What a call gives.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolOutput {
    /// For the model.
    pub result: ToolResult,
    /// For the user; the result's text when `None`.
    pub shown: Option<Vec<ToolContent>>,
    /// Events to be recorded with the result: a new plan.
    pub events: Vec<SessionEvent>,
}

impl ToolOutput {
    /// Text for the model and the user alike.
    pub fn text(text: impl Into<String>) -> Self {
        Self { result: ToolResult::ok(text), shown: None, events: Vec::new() }
    }

    /// Text for the model, something else for the user.
    pub fn shown(text: impl Into<String>, shown: Vec<ToolContent>) -> Self {
        Self { result: ToolResult::ok(text), shown: Some(shown), events: Vec::new() }
    }

    /// Marks the result as a failure that the model should see as one (a command that exited non-zero).
    pub fn failed(mut self) -> Self {
        self.result.is_error = true;
        self
    }
}

/// Why a call failed. The text is for the model: what happened, to what, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The message is all there is to say.
    #[error("{0}")]
    Message(String),
    /// An effect failed.
    #[error(transparent)]
    System(#[from] system::SystemError),
    /// The turn was cancelled while it ran; what it had done by then, in words, if anything.
    #[error("cancelled")]
    Cancelled(Option<String>),
}

impl ToolError {
    /// A failure with a message for the model.
    pub fn message(text: impl Into<String>) -> Self {
        Self::Message(text.into())
    }
}

/// A tool whose argument type is erased.
pub trait AnyTool: Send + Sync {
    /// What models are told. The same for as long as the tool lives: it is asked for when the tool is new to a session.
    fn spec(&self) -> ToolSpec;

    /// The name models call it by.
    fn name(&self) -> Cow<'_, str> {
        Cow::Owned(self.spec().name)
    }

    /// Whether models call it by this name.
    fn is_called(&self, name: &str) -> bool {
        self.name() == name
    }

    /// What it does to the world.
    fn effect(&self) -> Effect;

    /// Who carries it out, where that is not the session's system: named in the question to the user. Its paths are then those of
    /// another machine, on which no link can be resolved.
    fn executor(&self) -> Option<Route> {
        None
    }

    /// Whether models are told of it now. One that is not offered can still be called, by a model that remembers it, and says why it
    /// does nothing.
    fn is_offered(&self) -> bool {
        true
    }

    /// Parses arguments into a call. The error names the argument and what is wrong with it.
    fn parse(&self, arguments: Value) -> Result<Box<dyn AnyCall>, ToolError>;
}

/// A parsed call whose argument type is erased. See [`Tool`] for what each step does.
#[async_trait]
#[expect(missing_docs, reason = "each is the method of `Tool` with the same name")]
pub trait AnyCall: Send + Sync {
    fn describe(&self, cwd: &AbsPath) -> Description;
    fn accesses(&self, cwd: &AbsPath) -> Vec<Access>;
    async fn prepare(&mut self, cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError>;
    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError>;
}

#[async_trait]
impl<T: Tool> AnyCall for T {
    fn describe(&self, cwd: &AbsPath) -> Description {
        Tool::describe(self, cwd)
    }

    fn accesses(&self, cwd: &AbsPath) -> Vec<Access> {
        Tool::accesses(self, cwd)
    }

    async fn prepare(&mut self, cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Tool::prepare(self, cx).await
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        Tool::run(self, cx).await
    }
}

/// A [`Tool`] as an [`AnyTool`].
pub struct Typed<T>(PhantomData<fn() -> T>);

impl<T: Tool> Typed<T> {
    /// The erased tool.
    #[expect(clippy::new_ret_no_self, reason = "the erased form is the only one anybody wants")]
    pub fn new() -> Arc<dyn AnyTool> {
        Arc::new(Self(PhantomData))
    }
}

impl<T: Tool> AnyTool for Typed<T> {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: T::NAME.to_owned(),
            description: T::DESCRIPTION.to_owned(),
            parameters: closed(T::parameters()),
        }
    }

    // Without the schema that a specification carries: this is asked of every tool for every call.
    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(T::NAME)
    }

    fn effect(&self) -> Effect {
        T::EFFECT
    }

    fn is_offered(&self) -> bool {
        T::LISTED
    }

    fn parse(&self, arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        match serde_json::from_value::<T>(arguments) {
            Ok(call) => Ok(Box::new(call)),
            Err(error) => Err(ToolError::message(format!("Invalid arguments for '{}': {error}", T::NAME))),
        }
    }
}

/// A schema that says that there are no other arguments: what a model makes up is refused, never ignored.
fn closed(mut schema: Value) -> Value {
    if let Value::Object(fields) = &mut schema {
        fields.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    schema
}
