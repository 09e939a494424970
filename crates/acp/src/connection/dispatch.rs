//! Every message of the client, handed to the version it speaks.

use super::{Connection, Wire, errors, params, reply::Reply};
use crate::transport::BAD_LINE;
use agent_client_protocol::{
    Client, ConnectionTo, Dispatch, Error, ErrorCode, HandleDispatchFrom, Handled, UntypedMessage,
};
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// Takes every message of the client. Messages arrive undecoded, so that what the library's types refuse wholesale (a missing list, one unknown
/// content block) can be taken or refused precisely.
pub(crate) struct Dispatcher<W: Wire>(pub(crate) Arc<Connection<W>>);

impl<W: Wire> HandleDispatchFrom<Client> for Dispatcher<W> {
    async fn handle_dispatch_from(
        &mut self,
        message: Dispatch,
        client: ConnectionTo<Client>,
    ) -> Result<Handled<Dispatch>, Error> {
        match message {
            Dispatch::Request(request, responder) => {
                if let Some(reply) = Reply::new(responder, &self.0.in_flight, self.0.native.clone()) {
                    self.request(request, reply, client).await;
                }
            }
            Dispatch::Notification(notification) => self.notification(notification),
            response @ Dispatch::Response(..) => return Ok(Handled::No { message: response, retry: false }),
        }
        Ok(Handled::Yes)
    }

    fn describe_chain(&self) -> impl std::fmt::Debug {
        W::NAME
    }
}

impl<W: Wire> Dispatcher<W> {
    async fn request(&self, request: UntypedMessage, reply: Reply, client: ConnectionTo<Client>) {
        let (method, params) = request.into_parts();
        if method == BAD_LINE {
            return reply.send(Err::<(), _>(bad_line(params)));
        }
        let connection = self.0.clone();
        self.0.tasks.clone().run(W::route(method, params, reply, connection, client)).await;
    }

    fn notification(&self, notification: UntypedMessage) {
        let (method, params) = notification.into_parts();
        match method.as_str() {
            "session/cancel" => self.0.cancel_turn(params),
            "cancel" if self.0.native.is_seed() => self.0.cancel_turn(params),
            _ => tracing::debug!(%method, "ignoring an unknown notification"),
        }
    }
}

/// The error that a line which could not be passed on is answered with.
fn bad_line(given: Value) -> Error {
    #[derive(Deserialize)]
    struct BadLine {
        code: i32,
        message: String,
    }
    match params::<BadLine>(BAD_LINE, given) {
        Ok(bad) => Error::new(ErrorCode::new(bad.code), bad.message),
        Err(error) => error,
    }
}

/// The error of a request that no handler takes.
pub(crate) fn unknown(method: &str, reply: Reply) {
    reply.send(Err::<(), _>(errors::unknown_method(method)));
}
