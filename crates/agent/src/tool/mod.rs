//! The tool interface: [`Tool`] is typed, for implementers; [`AnyTool`] is type-erased, for
//! callers.

pub(crate) mod access;
pub(crate) mod nested;
pub(crate) mod question;
pub(crate) mod sampling;
pub(crate) mod subagents;
pub(crate) mod titles;

use crate::{
    Access, AskUser, Colours, FileTracker, Goal, Location, NestedCalls, Outputs, Recall, SessionEvent,
    Shells, SubagentAccess, Task, ToolCallId, ToolCallUpdate, ToolContent, ToolKind, ToolLimits, ToolResult,
    ToolSpec, Usage,
};
use async_trait::async_trait;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{
    borrow::Cow,
    marker::PhantomData,
    sync::{Arc, atomic::AtomicBool},
};
use system::{AbsPath, Route, System};
use tokio_util::sync::CancellationToken;

/// A tool. The implementing struct is the tool's arguments; a call is parsed into it, described,
/// checked by the gate, prepared and run, in this order.
#[async_trait]
pub trait Tool: DeserializeOwned + Send + Sync + 'static {
    /// The name under which models call the tool.
    const NAME: &'static str;
    /// The description sent to models.
    const DESCRIPTION: &'static str;
    /// The kind of side effects that the tool has.
    const EFFECT: Effect;
    /// Whether the tool is in the list sent to models. Models and scripts that know the name of an
    /// unlisted tool can still call it.
    const LISTED: bool = true;

    /// Returns the JSON Schema of the arguments, which must be of type `object`.
    fn parameters() -> Value;

    /// Returns the paths among the arguments, as the model wrote them. One that names no file may
    /// be replaced by the spelling of the disk, before the gate decides.
    fn paths(&mut self) -> Vec<&mut String> {
        Vec::new()
    }

    /// Returns the description of the call that users see before it runs.
    fn describe(&self, cwd: &AbsPath) -> Description;

    /// Returns everything that the call will touch. Must be complete: the gate decides on nothing
    /// else.
    fn accesses(&self, cwd: &AbsPath) -> Vec<Access>;

    /// Does the work that must precede the permission request, such as reading the file and
    /// computing the diff. Must not change anything. The returned content is shown in the
    /// permission request and in the call. Called once, before [`Tool::run`].
    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Ok(Vec::new())
    }

    /// Runs the call.
    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError>;
}

/// The side effects of a tool. They decide in which modes the tool exists and which calls it may
/// run in parallel with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Reads only: exists in every mode, runs in parallel with other reads.
    Reads,
    /// Changes the session's own state (tasks): exists in every mode, runs in order.
    Session,
    /// Hands work to subagents, which are bounded by the modes: exists in every mode, runs in
    /// parallel with reads.
    Delegates,
    /// Runs commands: exists in every mode, but changes nothing outside `edit`; runs in order.
    Executes,
    /// Changes files: exists in `edit` only, runs in order.
    Writes,
}

/// A call's description for users.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The title, one line: `Read src/main.rs`, `Run cargo test`.
    pub title: String,
    /// The category of the call.
    pub kind: ToolKind,
    /// The files that the call works on.
    pub locations: Vec<Location>,
}

/// What a session keeps for its tools from one call to the next. Clones share it.
#[derive(Clone, Default)]
pub struct SessionResources {
    /// The record of which file contents the model has seen.
    pub files: Arc<FileTracker>,
    /// The session's tasks when the call began. A call that changes them returns a
    /// [`SessionEvent::Tasks`].
    pub tasks: Arc<[Task]>,
    /// The session's goal when the call began. A call that changes it returns a
    /// [`SessionEvent::Goal`].
    pub goal: Option<Goal>,
    /// Tokens used by the session when the call began.
    pub usage: Usage,
    /// The session's background commands.
    pub shells: Arc<Shells>,
    /// The store of the full text of long results.
    pub outputs: Arc<Outputs>,
    /// Memories and earlier sessions; `None` for a call outside a session.
    pub recall: Option<Recall>,
    /// The session's subagents.
    pub subagents: SubagentAccess,
    /// Whether a result has named the place of the session's temporary files.
    pub temp_noted: Arc<AtomicBool>,
}

/// What a tool knows of the call that it runs.
#[derive(Clone)]
pub struct ToolCallContext {
    /// The id of the call; empty outside any call of a model.
    pub id: ToolCallId,
    /// Sends progress of the call (a terminal, live output) to the client. Never blocks.
    pub progress: Arc<dyn Fn(ToolCallUpdate) + Send + Sync>,
    /// Whether the user was asked for permission between [`Tool::prepare`] and [`Tool::run`], so
    /// that files may have changed in the meantime.
    pub asked: bool,
    /// Whether the tool's commands run in a sandbox.
    pub confined: bool,
    /// Whether the commands reach hosts that the user allows.
    pub asks_for_hosts: bool,
    /// Whether a command may ask to leave the sandbox. A server's users cannot.
    pub may_leave: bool,
}

impl ToolCallContext {
    /// Creates the context of an action outside any call: its progress is shown to no client.
    pub(crate) fn outside() -> Self {
        Self {
            id: ToolCallId(String::new()),
            progress: Arc::new(|_| {}),
            asked: false,
            confined: false,
            asks_for_hosts: false,
            may_leave: true,
        }
    }
}

/// The session state and services that a tool may use while it runs.
#[derive(Clone)]
pub struct ToolContext {
    /// The system that performs all effects.
    pub system: Arc<dyn System>,
    /// The session's directory, against which relative paths are resolved.
    pub cwd: AbsPath,
    /// What the session keeps for its tools.
    pub session: SessionResources,
    /// The user, for questions.
    pub user: Arc<dyn AskUser>,
    /// The current call.
    pub call: ToolCallContext,
    /// Cancelled together with the turn. A tool then stops immediately and terminates what it
    /// started.
    pub cancel: CancellationToken,
    /// The limits in force.
    pub limits: ToolLimits,
    /// The session's tools, for a tool that makes nested calls.
    pub nested_calls: NestedCalls,
}

/// The output of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolOutput {
    /// The result for the model.
    pub result: ToolResult,
    /// The colours of the result's text, for the user.
    pub colours: Colours,
    /// The content for the user; if `None`, the result's text is shown.
    pub shown: Option<Vec<ToolContent>>,
    /// The files that the call has worked on; if `None`, they are those of its description.
    pub locations: Option<Vec<Location>>,
    /// A new title for the call that has ended; if `None`, it keeps the one of its description.
    pub title: Option<String>,
    /// Events to record along with the result, such as a new plan.
    pub events: Vec<SessionEvent>,
}

impl ToolOutput {
    /// Creates an output with the same text for the model and the user.
    pub fn text(text: impl Into<String>) -> Self {
        Self { result: ToolResult::ok(text), ..Self::default() }
    }

    /// Adds a note on a line of its own, for the model and the user.
    pub(crate) fn add_note(&mut self, note: &str) {
        if let Some(shown) = &mut self.shown {
            shown.push(ToolContent::Content(crate::Content::text(note)));
        }
        let text = &mut self.result.text;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(note);
    }

    /// Creates an output with a text for the model and different content for the user.
    pub fn shown(text: impl Into<String>, shown: Vec<ToolContent>) -> Self {
        Self { result: ToolResult::ok(text), shown: Some(shown), ..Self::default() }
    }

    /// Marks the result as an error for the model, such as a command with a non-zero exit status.
    pub fn failed(mut self) -> Self {
        self.result.is_error = true;
        self
    }
}

/// The reason why a call failed. The text is for the model: what happened, to which object, and
/// what to do next.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// A failure that is described by its message alone.
    #[error("{0}")]
    Message(String),
    /// An effect of the system failed.
    #[error(transparent)]
    System(#[from] system::SystemError),
    /// The turn was cancelled during the call. Contains a description of what the call had done by
    /// then, if anything.
    #[error("cancelled")]
    Cancelled(Option<String>),
    /// The turn was cancelled during the call. Contains the output of what had ended by then.
    #[error("cancelled")]
    CutShort(Box<ToolOutput>),
}

impl ToolError {
    /// Creates a failure with a message for the model.
    pub fn message(text: impl Into<String>) -> Self {
        Self::Message(text.into())
    }
}

/// A tool whose argument type is erased.
pub trait AnyTool: Send + Sync {
    /// Returns the specification sent to models. It must stay the same for the tool's lifetime,
    /// because it is read only when the tool is added to a session.
    fn spec(&self) -> ToolSpec;

    /// Returns the name under which models call the tool.
    fn name(&self) -> Cow<'_, str> {
        Cow::Owned(self.spec().name)
    }

    /// Whether `name` is a name under which models call this tool.
    fn is_called(&self, name: &str) -> bool {
        self.name() == name
    }

    /// Returns the tool's side effects.
    fn effect(&self) -> Effect;

    /// Returns the route to the executor of the tool if it is not the session's system; the
    /// permission request names it. The call's paths then refer to another machine, on which links
    /// cannot be resolved.
    fn executor(&self) -> Option<Route> {
        None
    }

    /// Whether the tool is currently offered to models. A model that remembers a tool that is no
    /// longer offered can still call it; the tool then explains why it does nothing.
    fn is_offered(&self) -> bool {
        true
    }

    /// Parses arguments into a call. The error names the invalid argument and the problem.
    fn parse(&self, arguments: Value) -> Result<Box<dyn AnyCall>, ToolError>;
}

/// A parsed call whose argument type is erased. [`Tool`] documents each step.
#[async_trait]
#[expect(missing_docs, reason = "each is the method of `Tool` with the same name")]
pub trait AnyCall: Send + Sync {
    fn paths(&mut self) -> Vec<&mut String> {
        Vec::new()
    }
    fn describe(&self, cwd: &AbsPath) -> Description;
    fn accesses(&self, cwd: &AbsPath) -> Vec<Access>;
    async fn prepare(&mut self, cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError>;
    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError>;
}

#[async_trait]
impl<T: Tool> AnyCall for T {
    fn paths(&mut self) -> Vec<&mut String> {
        Tool::paths(self)
    }

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

/// Adapts a [`Tool`] to [`AnyTool`].
pub struct Typed<T>(PhantomData<fn() -> T>);

impl<T: Tool> Typed<T> {
    /// Creates the type-erased tool.
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

    // Avoids building the specification with its schema: every tool's name is read for every call.
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

/// Closes an object schema to additional properties, so that invented arguments are rejected, not
/// ignored.
fn closed(mut schema: Value) -> Value {
    if let Value::Object(fields) = &mut schema {
        fields.insert("additionalProperties".to_owned(), Value::Bool(false));
    }
    schema
}
