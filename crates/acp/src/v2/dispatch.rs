//! Routes version 2's methods to their handlers.

use super::{Connection, handlers};
use crate::{
    connection::{Reply, errors, unknown},
    native::{self, Prefix},
};
use agent_client_protocol::{Client, ConnectionTo, Error};
use agent_client_protocol_schema::v2 as acp;
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
    if reply.is_anonymous() {
        let error = errors::invalid_request("a request's id is a string or an integer, not null");
        return reply.send(Err::<(), _>(error));
    }
    if method == "initialize" {
        return reply.send(handlers::initialize(&connection, client, params));
    }
    let peer = match connection.peer() {
        Ok(peer) => peer,
        Err(error) => return reply.send(Err::<(), Error>(error)),
    };
    match method {
        "auth/login" => handlers::login(&connection, peer, params, reply).await,
        "auth/logout" => handlers::logout(&connection, peer, reply).await,
        "auth/status" => reply.send(Ok(handlers::auth_status(&connection).await)),
        "session/new" => handlers::new(&connection, peer, params, reply).await,
        "session/resume" => handlers::resume(&connection, peer, params, reply).await,
        "session/list" => reply.send(handlers::list(&connection, params).await),
        "session/close" => {
            reply.send(connection.close(peer, params).await.map(|()| acp::CloseSessionResponse::new()));
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
        "session/prompt" => handlers::prompt(&connection, params, reply).await,
        "session/set_config_option" => reply.send(handlers::set_config_option(&connection, params).await),
        "tool_call/cancel" | "terminal/cancel" => {
            let error = errors::invalid_params("it cannot be cancelled by itself; use session/cancel");
            reply.send(Err::<(), _>(error));
        }
        _ if Prefix::split(method).is_some() => native::route(method, params, reply, connection).await,
        _ => unknown(method, reply),
    }
}
