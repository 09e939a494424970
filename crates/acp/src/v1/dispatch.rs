//! Which handler takes which method.

use super::{Connection, errors, from_acp, handlers, reply::Reply};
use crate::transport::BAD_LINE;
use agent_client_protocol::{
    Client, ConnectionTo, Dispatch, Error, ErrorCode, HandleDispatchFrom, Handled, UntypedMessage,
};
use serde_json::Value;
use std::sync::Arc;

/// Takes every message of the client. Messages arrive undecoded, so that what the library's types refuse wholesale (a missing list, one unknown
/// content block) can be taken or refused precisely.
pub(crate) struct Dispatcher(pub(crate) Arc<Connection>);

impl HandleDispatchFrom<Client> for Dispatcher {
    async fn handle_dispatch_from(
        &mut self,
        message: Dispatch,
        client: ConnectionTo<Client>,
    ) -> Result<Handled<Dispatch>, Error> {
        match message {
            Dispatch::Request(request, responder) => {
                if let Some(reply) = Reply::new(responder, &self.0.in_flight) {
                    self.request(request, reply, client).await;
                }
            }
            Dispatch::Notification(notification) => self.notification(notification),
            response @ Dispatch::Response(..) => return Ok(Handled::No { message: response, retry: false }),
        }
        Ok(Handled::Yes)
    }

    fn describe_chain(&self) -> impl std::fmt::Debug {
        "tiller v1"
    }
}

impl Dispatcher {
    async fn request(&self, request: UntypedMessage, reply: Reply, client: ConnectionTo<Client>) {
        let (method, params) = request.into_parts();
        let connection = self.0.clone();
        let tasks = self.0.tasks.clone();
        tasks.run(async move { route(&method, params, reply, connection, client).await }).await;
    }

    fn notification(&self, notification: UntypedMessage) {
        let (method, params) = notification.into_parts();
        match method.as_str() {
            "session/cancel" => handlers::cancel(&self.0, params),
            _ => tracing::debug!(%method, "ignoring an unknown notification"),
        }
    }
}

async fn route(
    method: &str,
    params: Value,
    reply: Reply,
    connection: Arc<Connection>,
    client: ConnectionTo<Client>,
) {
    if method == BAD_LINE {
        return reply.send(Err::<(), _>(bad_line(&params)));
    }
    if method == "initialize" {
        return reply.send(handlers::initialize(&connection, client, params));
    }
    let peer = match connection.peer() {
        Ok(peer) => peer,
        Err(error) => return reply.send(Err::<(), _>(error)),
    };
    match method {
        "authenticate" => reply.send(handlers::authenticate(&connection, params)),
        "logout" => reply.send(Ok(handlers::logout(&connection))),
        "auth/status" => reply.send(Ok(handlers::auth_status(&connection).await)),
        "session/new" => handlers::new(&connection, peer, params, reply).await,
        "session/load" => handlers::load(&connection, peer, params, reply).await,
        "session/resume" => handlers::resume(&connection, peer, params, reply).await,
        "session/list" => reply.send(handlers::list(&connection, params).await),
        "session/close" => reply.send(handlers::close(&connection, params).await),
        "session/delete" => reply.send(handlers::delete(&connection, params).await),
        "session/fork" => handlers::fork(&connection, peer, params, reply).await,
        "session/set_title" => reply.send(handlers::set_title(&connection, params).await),
        "session/status" => reply.send(handlers::status(&connection, params).await),
        "session/prompt" => handlers::prompt(&connection, peer, params, reply).await,
        "session/set_mode" => reply.send(handlers::set_mode(&connection, params).await),
        "session/set_config_option" => reply.send(handlers::set_config_option(&connection, params).await),
        "session/set_model" | "unstable_set_model" => {
            reply.send(handlers::set_model(&connection, params).await)
        }
        _ => reply.send(Err::<(), _>(errors::unknown_method(method))),
    }
}

/// The error that a line which could not be passed on is answered with.
fn bad_line(params: &Value) -> Error {
    #[derive(serde::Deserialize)]
    struct BadLine {
        code: i32,
        message: String,
    }
    match from_acp::params::<BadLine>(BAD_LINE, params.clone()) {
        Ok(bad) => Error::new(ErrorCode::new(bad.code), bad.message),
        Err(error) => error,
    }
}
