//! Nested calls: what a running call asks of the session that runs it.
//!
//! The session's side, which carries them out, is `turn::calls`.

use super::AnyTool;
use crate::{Mode, SampleRequest, Sampled, ToolResult, ToolSpec, limits::INNER_CALLS};
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};

/// What a running call has of the session's tools.
#[derive(Clone, Default)]
pub struct InnerCalls(Option<mpsc::Sender<NestedRequest>>);

/// What is called.
#[derive(Clone)]
pub enum Callee {
    /// The session's tool of this name.
    Named(String),
    /// A tool that the session does not offer to the model. The gate knows it by its name.
    Tool(Arc<dyn AnyTool>),
}

/// Why a call from within a call was not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InnerError {
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
    /// What the tool was to do would change something, in a mode in which nothing is changed.
    #[error("tool {name} would modify state in {} mode", mode.label())]
    Modifies {
        /// The tool.
        name: String,
        /// The mode.
        mode: Mode,
    },
    /// The user would have to be asked.
    #[error("tool {0} needs an approval")]
    NeedsApproval(String),
    /// The policy or a hook forbids it; why, for the model.
    #[error("{0}")]
    Denied(String),
    /// The turn was cancelled, or has ended.
    #[error("the call was cancelled")]
    Cancelled,
    /// Calls cannot be made here: the caller is itself called from within a call, or runs in no turn.
    #[error("tools cannot be called from here")]
    Unavailable,
}

/// What a call asks of whoever runs it.
pub(crate) enum NestedRequest {
    Tools(oneshot::Sender<Vec<ToolSpec>>),
    Call { callee: Callee, arguments: Value, reply: oneshot::Sender<Result<ToolResult, InnerError>> },
    Sample { request: Box<SampleRequest>, reply: oneshot::Sender<Result<Sampled, InnerError>> },
}

impl InnerCalls {
    /// What a call gets, and what its runner serves.
    pub(crate) fn channel() -> (Self, mpsc::Receiver<NestedRequest>) {
        let (requests, served) = mpsc::channel(INNER_CALLS);
        (Self(Some(requests)), served)
    }

    /// The tools that the model is offered now, and all of those of servers; `None` where none can be called.
    pub async fn tools(&self) -> Option<Vec<ToolSpec>> {
        let (reply, tools) = oneshot::channel();
        self.0.as_ref()?.send(NestedRequest::Tools(reply)).await.ok()?;
        tools.await.ok()
    }

    /// Calls a tool and waits for its result. A tool that ran and failed says so in the result.
    pub async fn call(&self, callee: Callee, arguments: Value) -> Result<ToolResult, InnerError> {
        let Some(requests) = &self.0 else { return Err(InnerError::Unavailable) };
        let (reply, result) = oneshot::channel();
        let nested = NestedRequest::Call { callee, arguments, reply };
        requests.send(nested).await.map_err(|_| InnerError::Cancelled)?;
        result.await.unwrap_or(Err(InnerError::Cancelled))
    }

    /// Asks the model that the turn runs on, if the rules or the user allow it. Dropping the future takes it back.
    pub async fn sample(&self, request: SampleRequest) -> Result<Sampled, InnerError> {
        let Some(requests) = &self.0 else { return Err(InnerError::Unavailable) };
        let (reply, sampled) = oneshot::channel();
        let nested = NestedRequest::Sample { request: Box::new(request), reply };
        requests.send(nested).await.map_err(|_| InnerError::Cancelled)?;
        sampled.await.unwrap_or(Err(InnerError::Cancelled))
    }
}
