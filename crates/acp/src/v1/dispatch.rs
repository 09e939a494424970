//! Routes version 1's methods to their handlers.

use super::{Connection, handlers};
use crate::{
    connection::{Reply, unknown},
    native::{self, Prefix},
};
use agent_client_protocol::{Client, ConnectionTo, Error, ErrorCode, v1::schema as acp};
use serde_json::Value;
use std::sync::Arc;

/// Handles a request and sends its response.
pub(super) async fn route(
    method: &str,
    params: Value,
    reply: Reply,
    connection: Arc<Connection>,
    client: ConnectionTo<Client>,
) {
    if method == "initialize" {
        return reply.send(handlers::initialize(&connection, client, params));
    }
    let peer = match connection.peer() {
        Ok(peer) => peer,
        Err(error) => return reply.send(Err::<(), Error>(error)),
    };
    match method {
        "authenticate" => handlers::authenticate(&connection, peer, params, reply).await,
        "logout" => handlers::logout(&connection, peer, reply).await,
        "auth/status" => reply.send(Ok(handlers::auth_status(&connection).await)),
        "session/new" => handlers::new(&connection, peer, params, reply).await,
        "session/load" => handlers::load(&connection, peer, params, reply).await,
        "session/resume" | "session/unstable_resume" | "unstable_resume" => {
            handlers::resume(&connection, peer, params, reply).await;
        }
        "session/list" => reply.send(handlers::list(&connection, params).await),
        "session/close" => {
            let closed = connection.close(peer, params).await;
            // On the KosmoKrator wire, closing an unknown session succeeds.
            let fine = |error: &Error| {
                connection.native.is_kosmokrator() && error.code == ErrorCode::RESOURCE_NOT_FOUND
            };
            let closed = closed.or_else(|error| if fine(&error) { Ok(()) } else { Err(error) });
            reply.send(closed.map(|()| acp::CloseSessionResponse::new()));
        }
        "session/delete" => {
            reply.send(connection.delete(params).await.map(|()| acp::DeleteSessionResponse::new()));
        }
        "session/fork" => handlers::fork(&connection, peer, params, reply).await,
        "session/archive" => {
            let archived = connection.archive(method, peer, params, true).await;
            reply.send(archived.map(|()| acp::ArchiveSessionResponse::new()));
        }
        "session/unarchive" => {
            let taken_out = connection.archive(method, peer, params, false).await;
            reply.send(taken_out.map(|()| acp::UnarchiveSessionResponse::new()));
        }
        "session/set_title" => {
            reply.send(connection.set_title(params).await.map(acp::SetSessionTitleResponse::new));
        }
        "session/status" => reply.send(handlers::status(&connection, params).await),
        "session/prompt" => handlers::prompt(&connection, peer, params, reply).await,
        "session/set_mode" => reply.send(handlers::set_mode(&connection, params).await),
        "session/set_config_option" => reply.send(handlers::set_config_option(&connection, params).await),
        "session/set_model" | "session/unstable_set_model" | "unstable_set_model" => {
            reply.send(handlers::set_model(&connection, params).await)
        }
        "session/cancel" if connection.native.is_kosmokrator() => {
            connection.cancel_turn(params);
            reply.send(Ok(serde_json::json!({})));
        }
        _ if Prefix::split(method).is_some() => native::route(method, params, reply, connection).await,
        _ => unknown(method, reply),
    }
}
