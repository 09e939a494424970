//! Version 2 of the protocol, a draft. Its clients offer neither files nor terminals: tools act on
//! the agent's machine, and the output of commands is shown in terminals owned by the agent.

mod dispatch;
mod from_acp;
mod handlers;
mod patch;
mod permission;
mod settings;
mod to_acp;
mod wire;

pub(crate) use wire::V2;

use self::wire::{Connection, Peer};
use crate::connection::{AcpClient, Reply, SessionParts, Version};
use agent::SessionId;
use agent_client_protocol::{Client, ConnectionTo};
use serde_json::Value;
use std::sync::Arc;

impl Version for V2 {
    fn session_parts(connection: &Connection, peer: &Peer, session: &SessionId) -> SessionParts<Self> {
        let client = AcpClient::new(connection, peer, session, to_acp::Projection::default());
        SessionParts { client, system: connection.options.machines.local.clone() }
    }

    async fn route(
        method: String,
        params: Value,
        reply: Reply,
        connection: Arc<Connection>,
        client: ConnectionTo<Client>,
    ) {
        dispatch::route(&method, params, reply, connection, client).await;
    }
}
