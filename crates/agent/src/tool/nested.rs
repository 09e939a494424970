//! Nested calls: requests that a running call sends to its session.
//!
//! The session's side, which serves the requests, is `turn::calls`.

use super::AnyTool;
use crate::{Mode, SampleRequest, Sampled, ToolResult, ToolSpec, limits::NESTED_CALLS};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// A running call's handle to the session's tools; empty where nested calls are not possible.
#[derive(Clone, Default)]
pub struct NestedCalls(Option<mpsc::Sender<NestedRequest>>);

/// The tool that a nested call invokes.
#[derive(Clone)]
pub enum Callee {
    /// The session's tool with this name.
    Named(String),
    /// A tool that the session does not offer to the model. The gate identifies it by its name.
    Tool(Arc<dyn AnyTool>),
}

/// The reason why a nested call was not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NestedCallError {
    /// The session has no such tool.
    #[error("unknown tool {0}")]
    Unknown(String),
    /// The tool does not exist in this mode.
    #[error("tool {name} is not available in {} mode", mode.label())]
    NotInMode {
        /// The tool.
        name: String,
        /// The mode.
        mode: Mode,
    },
    /// The call would modify state in a read-only mode.
    #[error("tool {name} would modify state in {} mode", mode.label())]
    Modifies {
        /// The tool.
        name: String,
        /// The mode.
        mode: Mode,
    },
    /// The call needs the user's approval.
    #[error("tool {0} needs an approval")]
    NeedsApproval(String),
    /// The policy or a hook denies the call. Contains the reason, for the model.
    #[error("{0}")]
    Denied(String),
    /// The turn was cancelled or has ended.
    #[error("the call was cancelled")]
    Cancelled,
    /// Nested calls are not possible here: the caller is itself a nested call, or runs outside a
    /// turn.
    #[error("tools cannot be called from here")]
    Unavailable,
}

/// A request of a running call to its session.
pub(crate) enum NestedRequest {
    Tools(oneshot::Sender<Vec<ToolSpec>>),
    Call { callee: Callee, arguments: Value, reply: oneshot::Sender<Result<ToolResult, NestedCallError>> },
    Sample { request: Box<SampleRequest>, reply: oneshot::Sender<Result<Sampled, NestedCallError>> },
}

impl NestedCalls {
    /// Creates a handle for a call and the receiver from which the session serves its requests.
    pub(crate) fn channel() -> (Self, mpsc::Receiver<NestedRequest>) {
        let (requests, served) = mpsc::channel(NESTED_CALLS);
        (Self(Some(requests)), served)
    }

    /// Returns the tools currently offered to the model and all tools of MCP servers; `None` where
    /// nested calls are not possible.
    pub async fn tools(&self) -> Option<Vec<ToolSpec>> {
        let (reply, tools) = oneshot::channel();
        self.0.as_ref()?.send(NestedRequest::Tools(reply)).await.ok()?;
        tools.await.ok()
    }

    /// Calls a tool and waits for its result. The failure of a tool that ran is part of the result,
    /// not an error.
    pub async fn call(&self, callee: Callee, arguments: Value) -> Result<ToolResult, NestedCallError> {
        let Some(requests) = &self.0 else { return Err(NestedCallError::Unavailable) };
        let (reply, result) = oneshot::channel();
        let nested = NestedRequest::Call { callee, arguments, reply };
        requests.send(nested).await.map_err(|_| NestedCallError::Cancelled)?;
        result.await.unwrap_or(Err(NestedCallError::Cancelled))
    }

    /// Sends a request to the model of the running turn, if the rules or the user allow it.
    /// Dropping the future cancels the request.
    pub async fn sample(&self, request: SampleRequest) -> Result<Sampled, NestedCallError> {
        let Some(requests) = &self.0 else { return Err(NestedCallError::Unavailable) };
        let (reply, sampled) = oneshot::channel();
        let nested = NestedRequest::Sample { request: Box::new(request), reply };
        requests.send(nested).await.map_err(|_| NestedCallError::Cancelled)?;
        sampled.await.unwrap_or(Err(NestedCallError::Cancelled))
    }
}
