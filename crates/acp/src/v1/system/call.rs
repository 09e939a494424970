//! Requests to the client, with a timeout.

use super::reason;
use crate::{Link, connection::Outbox, limits::TERMINALS, v1::V1};
use agent::SessionId;
use agent_client_protocol::{Client, ConnectionTo, Error, ErrorCode, SentRequest, UntypedMessage};
use serde::Serialize;
use serde_json::Value;
use std::{sync::Arc, time::Duration};
use system::SystemError;
use tokio::sync::Semaphore;

/// Sends a session's requests to the client.
#[derive(Clone)]
pub(super) struct Caller {
    /// The connection to the client.
    pub(super) connection: ConnectionTo<Client>,
    /// The outbox, flushed before each request, so that earlier updates precede it.
    pub(super) outbox: Arc<Outbox<V1>>,
    /// The session.
    pub(super) session: SessionId,
    /// The timeout of a response.
    pub(super) deadline: Deadline,
    /// Permits for open terminals.
    pub(super) terminals: Arc<Semaphore>,
}

/// The timeout of a response, in the time that the client is there.
#[derive(Clone)]
pub(crate) struct Deadline {
    /// The timeout.
    pub(crate) limit: Duration,
    /// The way to the client, which knows when the client is away.
    pub(crate) link: Arc<dyn Link>,
}

impl Deadline {
    /// Waits for `work` within a limit; `None` if it takes longer.
    async fn within<T>(&self, limit: Duration, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            done = work => Some(done),
            () = self.link.elapsed(limit) => None,
        }
    }

    /// Waits for `work` within the timeout; `None` if it takes longer.
    pub(super) async fn of<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        self.within(self.limit, work).await
    }
}

/// The reason why a request has no usable response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallError {
    /// The client does not support the method.
    Unsupported,
    /// The client responded with an error.
    Refused {
        /// The error code.
        code: i32,
        /// The error message.
        message: String,
    },
    /// The response is malformed, or the request could not be serialized.
    BadAnswer(String),
    /// The client did not respond in time: the method and the timeout.
    Timeout(&'static str, Duration),
    /// The limit of open terminals is reached; no request was sent.
    TooManyTerminals,
    /// The client has disconnected.
    Gone,
}

impl Caller {
    /// Returns the session's id for the wire.
    pub(super) fn session_id(&self) -> String {
        self.session.as_str().to_owned()
    }

    /// Sends a request and waits for the response, up to the default timeout.
    pub(super) async fn call(
        &self,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<Value, CallError> {
        self.call_within(self.deadline.limit, method, params).await
    }

    /// Sends a request and waits for the response, up to `limit`.
    pub(super) async fn call_within(
        &self,
        limit: Duration,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<Value, CallError> {
        self.outbox.flush(&self.session);
        match self.deadline.within(limit, answer(self.send(method, params)?)).await {
            Some(answer) => answer,
            None => {
                tracing::warn!(method, seconds = limit.as_secs(), "the client did not answer in time");
                Err(CallError::Timeout(method, limit))
            }
        }
    }

    /// Sends a request and waits for the response without a timeout. Dropping the future cancels
    /// the request.
    pub(super) async fn call_without_timeout(
        &self,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<Value, CallError> {
        self.outbox.flush(&self.session);
        let request = answer(self.send(method, params)?);
        tokio::pin!(request);
        match self.deadline.of(&mut request).await {
            Some(answer) => answer,
            None => {
                tracing::info!(method, "the client has not answered yet; the user may be reviewing it");
                request.await
            }
        }
    }

    /// Sends a request; it is queued when this function returns.
    pub(super) fn send(
        &self,
        method: &'static str,
        params: &impl Serialize,
    ) -> Result<SentRequest<Value>, CallError> {
        let message = UntypedMessage::new(method, params)
            .map_err(|error| CallError::BadAnswer(format!("the request could not be written: {error}")))?;
        Ok(self.connection.send_request(message))
    }

    /// Converts an error to the failure of an operation; the message names the operation and its
    /// subject.
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

/// Waits for the response without a timeout.
pub(super) async fn answer(request: SentRequest<Value>) -> Result<Value, CallError> {
    request.block_task().await.map_err(|error| call_error(&error))
}

fn call_error(error: &Error) -> CallError {
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
        message: reason::describe(&error.message, error.data.as_ref()),
    }
}
