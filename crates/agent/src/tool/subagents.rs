//! The interface between the tools of a session and the subagents of its tree.

use crate::{FileChange, SessionEvent, StoreError, SwarmState, ToolContext, ToolError, ToolOutput};
use async_trait::async_trait;
use serde_json::Value;
use std::sync::Arc;

/// What one session can do with subagents. The default implementation is a session that has none.
#[async_trait]
pub(crate) trait Subagents: Send + Sync {
    /// Whether this session is itself that of a subagent.
    fn is_of_subagent(&self) -> bool;

    /// Starts the requested subagents, and waits for them unless they run in the background.
    ///
    /// # Errors
    ///
    /// The message is for the model: what is wrong with the request. Nothing was started then.
    async fn delegate(&self, request: Delegation, cx: &ToolContext) -> Result<ToolOutput, ToolError>;

    /// Returns the results of ended subagents that this session does not know yet, as a text for
    /// the model, with the events that mark them as delivered. `None` if there are none.
    fn take_results(&self) -> Option<(String, Vec<SessionEvent>)>;

    /// Whether subagents of this session run in the background, or have results that it does not
    /// know yet.
    fn has_unfinished(&self) -> bool;

    /// Completes when a result is ready for [`Subagents::take_results`]. Cancel-safe.
    async fn result_ready(&self);

    /// Cancels the subagents of this session at every level, and waits for their ends to be
    /// recorded.
    async fn cancel(&self);

    /// Records changes of files in the root session if this session is that of a subagent. Returns
    /// the changes that this session records itself: all of a root session, and those that a
    /// subagent made in its own worktree.
    ///
    /// # Errors
    ///
    /// If the changes could not be stored.
    async fn keep_changes(&self, changes: Vec<FileChange>) -> Result<Vec<FileChange>, StoreError>;

    /// Restores the state of a subagent from an event of the session's log.
    fn recall(&self, event: &SessionEvent);

    /// Returns the events that end the recalled subagents which no longer run.
    fn interrupted(&self) -> Vec<SessionEvent>;

    /// Returns all subagents of the tree as this process knows them.
    fn snapshot(&self) -> SwarmState;

    /// Cancels a subagent and its own; returns whether it was at work.
    fn cancel_agent(&self, id: &str) -> bool;

    /// Returns the subagents as a tree of text, for the user; empty if there are none.
    fn tree(&self) -> String;
}

/// A session's access to subagents; empty if it cannot have any.
#[derive(Clone, Default)]
pub struct SubagentAccess(pub(crate) Option<Arc<dyn Subagents>>);

/// A call that requests subagents.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Delegation {
    /// The subagents.
    pub(crate) agents: Vec<RequestedAgent>,
    /// Whether the call waits for them.
    pub(crate) waits: bool,
    /// Whether they were requested as a batch.
    pub(crate) is_batch: bool,
}

/// One requested subagent, as the model wrote it.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct RequestedAgent {
    /// What to do.
    pub(crate) task: String,
    /// `general`, `explore` or `plan`.
    pub(crate) kind: Option<String>,
    /// Its id; generated if it has none.
    pub(crate) id: Option<String>,
    /// The ids of subagents that must end first.
    pub(crate) depends_on: Vec<String>,
    /// Subagents of one group run one after the other.
    pub(crate) group: Option<String>,
    /// Whether it works in a git worktree of its own.
    pub(crate) isolated: bool,
    /// The id of an ended subagent that goes on with its own conversation.
    pub(crate) resume: Option<String>,
}

impl RequestedAgent {
    /// Returns the request as arguments for native clients, with the given id and kind.
    pub(crate) fn arguments(&self, id: &str, kind: &str, mode: &str) -> Value {
        serde_json::json!({
            "task": self.task,
            "type": kind,
            "mode": mode,
            "id": id,
            "depends_on": self.depends_on,
            "group": self.group,
        })
    }
}
