//! The messages of version 1, and what its clients declare.

use super::{display, permission, system::UsedCapabilities, to_acp};
use crate::{
    client_facts::ClientFacts,
    connection::{self, ChunkKind, Wire, auth::AuthState},
};
use agent::{MessageId, PermissionOutcome, PermissionRequest, SessionId, ToolCallId};
use agent_client_protocol::{Client, ConnectionTo, Error, v1::schema as acp};
use serde_json::{Map, Value};

pub(super) type Connection = connection::Connection<V1>;
pub(super) type Peer = connection::Peer<V1>;

/// The marker type of version 1.
#[derive(Debug)]
pub(crate) struct V1;

/// The properties that a client of this version declares, and facts about it.
pub(crate) struct ClientTraits {
    /// The capabilities that its sessions use.
    pub(super) capabilities: UsedCapabilities,
    /// The facts known about the client, by its name.
    pub(super) facts: ClientFacts,
    /// The optional updates that it accepts.
    pub(super) optional_updates: to_acp::OptionalUpdates,
}

impl ClientTraits {
    /// Returns which optional updates the client accepts on this connection.
    pub(super) fn optional_updates(&self, connection: &Connection) -> to_acp::OptionalUpdates {
        to_acp::OptionalUpdates { raw_output: connection.native.is_kosmokrator(), ..self.optional_updates }
    }
}

impl Wire for V1 {
    type Update = acp::SessionUpdate;
    type Projection = to_acp::Projection;
    type FormAnswer = acp::CreateElicitationResponse;
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
        meta: Option<Map<String, Value>>,
    ) -> Result<(), Error> {
        let update = acp::SessionNotification::new(session.as_str().to_owned(), update);
        connection.send_notification(update.meta(meta))
    }

    fn turn_report() -> Option<acp::SessionUpdate> {
        Some(acp::SessionUpdate::SessionInfoUpdate(acp::SessionInfoUpdate::new()))
    }

    fn has_workspace(traits: &Self::ClientTraits) -> bool {
        traits.capabilities.advertised.anything()
    }

    fn notify_auth(connection: &ConnectionTo<Client>, state: AuthState) -> Result<(), Error> {
        connection.send_notification(acp::AuthStatusUpdateNotification::new(to_acp::auth_state(state)))
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
}
