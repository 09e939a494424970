//! Version 1 of the protocol.

mod dispatch;
mod display;
mod from_acp;
mod handlers;
#[cfg(test)]
mod live_tests;
pub(crate) mod permission;
pub(crate) mod settings;
mod system;
pub(crate) mod to_acp;
mod wire;

pub(crate) use wire::V1;

use self::{
    system::{AcpSystem, Deadline, UsedCapabilities, ide::ide_tools},
    wire::{Connection, Peer},
};
use crate::{
    client_facts::Diff,
    connection::{AcpClient, Reply, SessionParts, ToolSet, Version},
};
use agent::SessionId;
use agent_client_protocol::{Client, ConnectionTo};
use serde_json::Value;
use std::sync::Arc;

impl Version for V1 {
    fn session_parts(connection: &Connection, peer: &Peer, session: &SessionId) -> SessionParts<Self> {
        let options = &connection.options;
        let set = Arc::new(ToolSet::new(options.machines.client_tools));
        let system = Arc::new(AcpSystem::new(
            options.machines.local.clone(),
            session.clone(),
            peer.connection.clone(),
            peer.outbox.clone(),
            UsedCapabilities { tools: set.clone(), ..peer.traits.capabilities.clone() },
            Deadline { limit: options.bounds.timeout, link: options.link.clone() },
        ));
        let projection = to_acp::Projection::live(peer.traits.optional_updates(connection));
        let choice = peer.traits.capabilities.advertised.anything().then_some(set);
        let client = AcpClient::new(connection, peer, session, projection);
        let client = match peer.traits.facts.shows.diff {
            // Such a client displays no content other than the title and perhaps a diff.
            Diff::First | Diff::Nowhere => client.with_permission_adapter(permission::with_question_in_title),
            Diff::Anywhere | Diff::Unknown => client,
        };
        SessionParts { client: client.with_tools(ide_tools(&system), choice), system }
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
