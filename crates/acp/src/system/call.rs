//! Requests to the client, with a deadline.

use super::reason;
use crate::{connection::Outbox, limits::TERMINALS, v1::V1};
use agent::SessionId;
use agent_client_protocol::{Client, ConnectionTo, Error, ErrorCode, SentRequest, UntypedMessage};
use serde::Serialize;
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use system::SystemError;
use tokio::sync::Semaphore;

/// Sends a session's requests.
#[derive(Clone)]
pub(super) struct Caller {
    /// The way to the client.
    pub(super) connection: ConnectionTo<Client>,
    /// What was told before a request goes out before it.
    pub(super) outbox: Arc<Outbox<V1>>,
    /// Whose requests they are.
    pub(super) session: SessionId,
    /// How long an answer may take.
    pub(super) deadline: Duration,
    /// Places for terminals that are open at a time.
    pub(super) terminals: Arc<Semaphore>,
}

/// Why a request brought no answer to work with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallError {
    /// The client does not do it.
    Unsupported,
    /// The client answered with an error.
    Refused {
        /// Its code.
        code: i32,
        /// Its message.
        message: String,
    },
    /// The client answered with something that is no answer.
    BadAnswer(String),
    /// The client did not answer in time.
    Timeout(&'static str, Duration),
    /// As many terminals are open as may be; the client was not asked.
    TooManyTerminals,
    /// The client is gone.
    Gone,
}

impl Caller {
    /// The session's id as the wire has it.
    pub(super) fn session_id(&self) -> String {
        self.session.as_str().to_owned()
    }

    /// Sends a request and waits for its answer as long as the deadline allows.
    pub(super) async fn call(
        &self,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<Value, CallError> {
        self.call_within(self.deadline, method, params).await
    }

    /// Sends a request and waits for its answer for a given time.
    pub(super) async fn call_within(
        &self,
        deadline: Duration,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<Value, CallError> {
        self.outbox.flush(&self.session);
        match tokio::time::timeout(deadline, answer(self.send(method, params)?)).await {
            Ok(answer) => answer,
            Err(_elapsed) => {
                tracing::warn!(method, seconds = deadline.as_secs(), "the client did not answer in time");
                Err(CallError::Timeout(method, deadline))
            }
        }
    }

    /// Sends a request and waits for its answer as long as that takes. Dropped, it takes the
    /// request back.
    pub(super) async fn call_patiently(
        &self,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<Value, CallError> {
        self.outbox.flush(&self.session);
        let request = answer(self.send(method, params)?);
        tokio::pin!(request);
        match tokio::time::timeout(self.deadline, &mut request).await {
            Ok(answer) => answer,
            Err(_elapsed) => {
                tracing::info!(method, "the client has not answered yet; the user may be reviewing it");
                request.await
            }
        }
    }

    /// Sends a request; it is queued when this returns.
    pub(super) fn send(
        &self,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<SentRequest<Value>, CallError> {
        let message = UntypedMessage::new(method, params)
            .map_err(|error| CallError::BadAnswer(format!("the request could not be written: {error}")))?;
        Ok(self.connection.send_request(message))
    }

    /// The failure of an operation, in words that name what it was about.
    pub(super) fn failure(&self, operation: &'static str, about: &str, error: CallError) -> SystemError {
        let message = match error {
            CallError::Timeout(operation, after) => return SystemError::ClientTimeout { operation, after },
            CallError::Unsupported => "it does not support this".to_owned(),
            CallError::Refused { message, .. } => message,
            CallError::BadAnswer(message) => message,
            CallError::TooManyTerminals => format!(
                "{TERMINALS} of its terminals are open in this session already; wait for a command to end"
            ),
            CallError::Gone => "it closed the connection".to_owned(),
        };
        SystemError::Client { operation, path: about.to_owned(), message }
    }
}

/// Waits for an answer, without a deadline.
pub(super) async fn answer(request: SentRequest<Value>) -> Result<Value, CallError> {
    request.block_task().await.map_err(|error| refused(&error))
}

fn refused(error: &Error) -> CallError {
    if agent_client_protocol::is_connection_terminated(error)
        || agent_client_protocol::is_incoming_transport_closed(error)
    {
        return CallError::Gone;
    }
    if error.code == ErrorCode::METHOD_NOT_FOUND {
        return CallError::Unsupported;
    }
    CallError::Refused {
        code: error.code.value(),
        message: reason::told(&error.message, error.data.as_ref()),
    }
}
