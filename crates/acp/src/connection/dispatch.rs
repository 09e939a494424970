//! Routes every message from the client to the protocol version it speaks.

use super::{Connection, Version, errors, operations::operation, params, reply::Reply};
use crate::transport::is_bad_line;
use agent::Scope;
use agent_client_protocol::{
    Client, ConnectionTo, Dispatch, Error, ErrorCode, HandleDispatchFrom, Handled, Responder, UntypedMessage,
};
use async_trait::async_trait;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// A connection in any protocol version. A trait object, so that the SDK's generic code is compiled
/// once and not once per version.
#[async_trait]
pub(crate) trait AnyConnection: Send + Sync {
    /// Handles a request; returns when its first step is done.
    async fn request(
        self: Arc<Self>,
        request: UntypedMessage,
        responder: Responder<Value>,
        client: ConnectionTo<Client>,
    );

    /// Handles a notification.
    fn notification(&self, notification: UntypedMessage);

    /// Cancels everything this client requested.
    fn cancel(&self);

    /// Cancels everything this client requested, closes every session without other subscribers,
    /// and waits until every request is answered.
    async fn settle(&self);
}

/// Receives every message from the client.
///
/// Messages arrive undecoded, so that what the SDK's types reject as a whole (a missing list, one
/// unknown content block) can be accepted, or rejected with a precise error.
pub(crate) struct Dispatcher(pub(crate) Arc<dyn AnyConnection>);

impl HandleDispatchFrom<Client> for Dispatcher {
    async fn handle_dispatch_from(
        &mut self,
        message: Dispatch,
        client: ConnectionTo<Client>,
    ) -> Result<Handled<Dispatch>, Error> {
        match message {
            Dispatch::Request(request, responder) => {
                self.0.clone().request(request, responder, client).await;
            }
            Dispatch::Notification(notification) => self.0.notification(notification),
            response @ Dispatch::Response(..) => return Ok(Handled::No { message: response, retry: false }),
        }
        Ok(Handled::Yes)
    }

    fn describe_chain(&self) -> impl std::fmt::Debug {
        "tiller"
    }
}

#[async_trait]
impl<W: Version> AnyConnection for Connection<W> {
    async fn request(
        self: Arc<Self>,
        request: UntypedMessage,
        responder: Responder<Value>,
        client: ConnectionTo<Client>,
    ) {
        let Some(reply) = Reply::new(responder, &self.in_flight, self.native.clone()) else { return };
        let (method, params) = request.into_parts();
        if is_bad_line(&method) {
            return reply.send(Err::<(), _>(bad_line(params)));
        }
        if let Err(missing) = self.permit(&method) {
            return reply.send(Err::<(), _>(errors::forbidden(missing)));
        }
        self.tasks.clone().run(W::route(method, params, reply, self, client)).await;
    }

    fn notification(&self, notification: UntypedMessage) {
        let (method, params) = notification.into_parts();
        if let Err(missing) = self.permit(&method) {
            return tracing::info!(%method, scope = %missing, "a notification is not permitted");
        }
        match method.as_str() {
            "session/cancel" => self.cancel_turn(params),
            "cancel" if self.native.is_kosmokrator() => self.cancel_turn(params),
            _ => tracing::debug!(%method, "ignoring an unknown notification"),
        }
    }

    fn cancel(&self) {
        self.cancel();
    }

    async fn settle(&self) {
        self.settle().await;
    }
}

impl<W: Version> Connection<W> {
    /// Returns the scope that the connection's credential lacks for a method.
    fn permit(&self, method: &str) -> Result<(), Scope> {
        operation(method).map_or(Ok(()), |operation| (self.options.permits)(operation))
    }
}

/// Returns the error for a rejected line.
fn bad_line(given: Value) -> Error {
    #[derive(Deserialize)]
    struct BadLine {
        code: i32,
        message: String,
    }
    match params::<BadLine>("a bad line", given) {
        Ok(bad) => Error::new(ErrorCode::new(bad.code), bad.message),
        Err(error) => error,
    }
}

/// Answers a request to an unknown method with an error.
pub(crate) fn unknown(method: &str, reply: Reply) {
    reply.send(Err::<(), _>(errors::unknown_method(method)));
}
