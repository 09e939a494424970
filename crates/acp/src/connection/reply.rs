//! The response to a request, sent exactly once.

use crate::native::{EventsSwitch, with_kosmokrator_keys};
use agent_client_protocol::{Error, ErrorCode, RawJsonRpcId, RequestCancellation, Responder};
use serde::Serialize;
use serde_json::Value;
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

/// The KosmoKrator wire's code for missing credentials.
const KOSMOKRATOR_AUTH_REQUIRED: i32 = -32001;

/// The ids of unanswered requests.
pub(crate) type InFlight = Arc<Mutex<HashSet<RawJsonRpcId>>>;

/// The pending response to a request. If dropped unanswered (after a panic, for example), it sends
/// an internal error.
pub(crate) struct Reply {
    responder: Responder,
    native: Arc<EventsSwitch>,
    _open: Open,
}

impl Reply {
    /// Accepts a request. If its id is in use, sends an error to the client and returns `None`.
    pub(crate) fn new(responder: Responder, in_flight: &InFlight, native: Arc<EventsSwitch>) -> Option<Self> {
        let id = responder.raw_id().clone();
        // Null ids are not tracked: requests with one cannot be distinguished anyway.
        let fresh = id == RawJsonRpcId::Null || lock(in_flight).insert(id.clone());
        if !fresh {
            let error = super::errors::invalid_request("this id belongs to a request that is still running");
            log_send_error(responder.respond_with_error(error));
            return None;
        }
        Some(Self { responder, native, _open: Open { id, in_flight: in_flight.clone() } })
    }

    /// Returns whether the request's id is null.
    pub(crate) fn is_anonymous(&self) -> bool {
        *self.responder.raw_id() == RawJsonRpcId::Null
    }

    /// Returns the token that is set when the client sends `$/cancel_request` for this request.
    pub(crate) fn cancellation(&self) -> RequestCancellation {
        self.responder.cancellation()
    }

    /// Sends the result or the error.
    pub(crate) fn send(self, result: Result<impl Serialize, Error>) {
        let result = result.and_then(|result| {
            serde_json::to_value(result)
                .map_err(|error| Error::internal_error().data(Value::String(error.to_string())))
        });
        let result = result.map_err(|mut error| {
            // The message may quote the client's input.
            error.message = agent::sanitise(&error.message);
            error
        });
        let result = if self.native.is_kosmokrator() {
            result.map(with_kosmokrator_keys).map_err(kosmokrator_error)
        } else {
            result
        };
        log_send_error(self.responder.respond_with_result(result));
    }
}

/// Converts an error to the KosmoKrator wire: its codes, and its message where that wire fixes one.
fn kosmokrator_error(mut error: Error) -> Error {
    let data = |key: &str| error.data.as_ref()?.get(key)?.as_str().map(str::to_owned);
    let (method, session) = (data("method"), data("sessionId"));
    if error.code == ErrorCode::AUTH_REQUIRED {
        error.code = ErrorCode::new(KOSMOKRATOR_AUTH_REQUIRED);
    } else if error.code == ErrorCode::PARSE_ERROR {
        "Invalid JSON-RPC frame".clone_into(&mut error.message);
    } else if let (ErrorCode::METHOD_NOT_FOUND, Some(method)) = (error.code, method) {
        error.message = format!("Method not found: {method}");
    } else if let (ErrorCode::RESOURCE_NOT_FOUND, Some(session)) = (error.code, session) {
        error.code = ErrorCode::INVALID_PARAMS;
        error.message = format!("Session not loaded: {session}");
    }
    error
}

/// Keeps an id in use until the response is sent.
struct Open {
    id: RawJsonRpcId,
    in_flight: InFlight,
}

impl Drop for Open {
    fn drop(&mut self) {
        lock(&self.in_flight).remove(&self.id);
    }
}

fn lock(in_flight: &InFlight) -> std::sync::MutexGuard<'_, HashSet<RawJsonRpcId>> {
    in_flight.lock().unwrap_or_else(PoisonError::into_inner)
}

fn log_send_error(result: Result<(), Error>) {
    if let Err(error) = result {
        tracing::debug!(%error, "the connection is closed; a response was not sent");
    }
}
