//! Version 1 of the protocol.

mod dispatch;
mod display;
mod elicitation;
mod from_acp;
mod handlers;
#[cfg(test)]
mod live_tests;
pub(crate) mod permission;
pub(crate) mod settings;
pub(crate) mod to_acp;

use crate::{
    client_facts::{ClientFacts, Diff},
    connection::{self, AcpClient, ChunkKind, Reply, SessionParts, Wire, auth::AuthState},
    system::{AcpSystem, ToolSet, UsedCapabilities, ide_tools},
};
use agent::{
    MessageId, PermissionOutcome, PermissionRequest, Question, QuestionOutcome, SessionId, ToolCallId,
};
use agent_client_protocol::{Client, ConnectionTo, Error, v1::schema as acp};
use serde_json::Value;
use std::sync::Arc;

type Connection = connection::Connection<V1>;
type Peer = connection::Peer<V1>;

/// The marker type of version 1.
#[derive(Debug)]
pub(crate) struct V1;

/// The properties that a client of this version declares, and facts about it.
pub(crate) struct ClientTraits {
    capabilities: UsedCapabilities,
    /// The facts known about the client, by its name.
    facts: ClientFacts,
    optional_updates: to_acp::OptionalUpdates,
}

impl ClientTraits {
    /// Returns which optional updates the client accepts on this connection.
    fn optional_updates(&self, connection: &Connection) -> to_acp::OptionalUpdates {
        to_acp::OptionalUpdates { raw_output: connection.native.is_kosmokrator(), ..self.optional_updates }
    }
}

impl Wire for V1 {
    type Update = acp::SessionUpdate;
    type Projection = to_acp::Projection;
    type ClientTraits = ClientTraits;

    fn chunk(kind: ChunkKind, id: &MessageId, text: String) -> acp::SessionUpdate {
        let chunk = to_acp::chunk(id, text.into());
        match kind {
            ChunkKind::Message => acp::SessionUpdate::AgentMessageChunk(chunk),
            ChunkKind::Thought => acp::SessionUpdate::AgentThoughtChunk(chunk),
        }
    }

    fn display(call: &ToolCallId, data: String) -> acp::SessionUpdate {
        let update = acp::ToolCallUpdate::new(call.as_str().to_owned(), acp::ToolCallUpdateFields::new());
        acp::SessionUpdate::ToolCallUpdate(update.meta(display::output(call, data)))
    }

    fn send(
        connection: &ConnectionTo<Client>,
        session: &SessionId,
        update: acp::SessionUpdate,
    ) -> Result<(), Error> {
        connection.send_notification(acp::SessionNotification::new(session.as_str().to_owned(), update))
    }

    fn has_workspace(traits: &Self::ClientTraits) -> bool {
        traits.capabilities.advertised.anything()
    }

    fn notify_auth(connection: &ConnectionTo<Client>, state: AuthState) -> Result<(), Error> {
        connection
            .send_notification(acp::AuthStatusUpdateNotification::new(handlers::auth_state_to_acp(state)))
    }

    async fn request_permission(
        connection: &ConnectionTo<Client>,
        session: &SessionId,
        request: PermissionRequest,
    ) -> Result<PermissionOutcome, Error> {
        let request = permission::request(session, request);
        let response = connection.send_request(request).block_task().await?;
        Ok(permission::outcome(&response.outcome))
    }

    async fn ask(
        connection: &ConnectionTo<Client>,
        session: &SessionId,
        question: Question,
    ) -> Result<QuestionOutcome, Error> {
        let request = elicitation::request(session, &question);
        let response = connection.send_request(request).block_task().await?;
        Ok(elicitation::outcome(response.action, &question))
    }

    fn session_parts(connection: &Connection, peer: &Peer, session: &SessionId) -> SessionParts<Self> {
        let options = &connection.options;
        let set = Arc::new(ToolSet::new(options.client_tools));
        let system = Arc::new(AcpSystem::new(
            options.local.clone(),
            session.clone(),
            peer.connection.clone(),
            peer.outbox.clone(),
            UsedCapabilities { tools: set.clone(), ..peer.traits.capabilities.clone() },
            options.client_timeout,
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
