//! The interface to the sessions that subagents run in.

use super::Node;
use crate::{
    Client, Mode, PromptOutcome, SessionId, SubagentWorktree, TurnError, session::controls::StateBound,
};
use async_trait::async_trait;
use std::sync::Arc;

/// Creates and opens the sessions of one root session's subagents.
#[async_trait]
pub(crate) trait ChildSessions: Send + Sync {
    /// Creates the session of a subagent, or opens it again.
    ///
    /// # Errors
    ///
    /// The message says why it could not be created or opened.
    async fn open(&self, child: NewChild) -> Result<Arc<dyn ChildSession>, String>;

    /// Creates a git worktree with a branch of its own for a subagent, or again the one that it
    /// had.
    ///
    /// # Errors
    ///
    /// The message says what git reported.
    async fn isolate(
        &self,
        agent: &str,
        known: Option<&SubagentWorktree>,
    ) -> Result<SubagentWorktree, String>;

    /// Commits what a subagent left in its worktree. Returns a text for the model: the branch and
    /// what it changes.
    async fn hand_back(&self, worktree: &SubagentWorktree) -> String;
}

/// The session of a subagent that is to be created or opened.
pub(crate) struct NewChild {
    /// The session to open; `None` creates one.
    pub(crate) session: Option<SessionId>,
    /// The model; `None` is that of the agent that requested the subagent.
    pub(crate) model: Option<String>,
    /// The mode; the session is further bounded by the mode of the agent that requested it.
    pub(crate) mode: Mode,
    /// The title of its session.
    pub(crate) title: String,
    /// The worktree it works in; `None` is the directory of the root session.
    pub(crate) worktree: Option<SubagentWorktree>,
    /// Receives its events and requests.
    pub(crate) client: Arc<dyn Client>,
    /// Its access to subagents of its own.
    pub(crate) node: Arc<Node>,
    /// The state of the agent that requested it: its modes are never looser.
    pub(crate) bound: Option<Arc<StateBound>>,
}

/// The session of a subagent.
#[async_trait]
pub(crate) trait ChildSession: Send + Sync {
    fn session(&self) -> &SessionId;

    /// Runs a prompt's turn.
    async fn run(&self, text: String) -> Result<PromptOutcome, TurnError>;

    /// Cancels the running turn.
    fn stop(&self);

    /// Closes the session.
    async fn end(&self);
}
