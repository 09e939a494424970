//! The messages of version 2.

use super::{permission, to_acp};
use crate::connection::{self, ChunkKind, Wire, auth::AuthState};
use agent::{MessageId, PermissionOutcome, PermissionRequest, SessionId, ToolCallId};
use agent_client_protocol::{Client, ConnectionTo, Error, UntypedMessage};
use agent_client_protocol_schema::v2 as acp;
use base64::{Engine, engine::general_purpose::STANDARD};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

pub(super) type Connection = connection::Connection<V2>;
pub(super) type Peer = connection::Peer<V2>;

/// The marker type of version 2.
#[derive(Debug)]
pub(crate) struct V2;

impl Wire for V2 {
    type Update = acp::SessionUpdate;
    type Projection = to_acp::Projection;
    type FormAnswer = acp::CreateElicitationResponse;
    type ClientTraits = ();

    fn chunk(kind: ChunkKind, id: &MessageId, text: String) -> acp::SessionUpdate {
        let text = acp::ContentBlock::Text(acp::TextContent::new(text));
        let chunk = acp::ContentChunk::new(text, id.as_str().to_owned());
        match kind {
            ChunkKind::Message => acp::SessionUpdate::AgentMessageChunk(chunk),
            ChunkKind::Thought => acp::SessionUpdate::AgentThoughtChunk(chunk),
        }
    }

    fn display(call: &ToolCallId, data: String) -> acp::SessionUpdate {
        let chunk = acp::TerminalOutputChunk::new(call.as_str().to_owned(), STANDARD.encode(data));
        acp::SessionUpdate::TerminalOutputChunk(chunk)
    }

    fn send(
        connection: &ConnectionTo<Client>,
        session: &SessionId,
        update: acp::SessionUpdate,
        meta: Option<Map<String, Value>>,
    ) -> Result<(), Error> {
        let update = acp::UpdateSessionNotification::new(session.as_str().to_owned(), update).meta(meta);
        connection.send_notification(UntypedMessage::new("session/update", update)?)
    }

    fn notify_auth(connection: &ConnectionTo<Client>, state: AuthState) -> Result<(), Error> {
        let state = acp::AuthStatusUpdateNotification::new(to_acp::auth_state(state));
        connection.send_notification(UntypedMessage::new("auth/status_update", state)?)
    }

    async fn request_permission(
        connection: &ConnectionTo<Client>,
        session: &SessionId,
        request: PermissionRequest,
    ) -> Result<PermissionOutcome, Error> {
        let request = permission::request(session, request);
        let response: acp::RequestPermissionResponse =
            ask(connection, "session/request_permission", request).await?;
        Ok(permission::outcome(&response.outcome))
    }
}

/// Sends a request and waits for its response. Messages are untyped, because the SDK provides this
/// version's types only together with its router (ADR 0013).
async fn ask<T: DeserializeOwned>(
    connection: &ConnectionTo<Client>,
    method: &str,
    request: impl Serialize,
) -> Result<T, Error> {
    let answer = connection.send_request(UntypedMessage::new(method, request)?).block_task().await?;
    Ok(serde_json::from_value(answer)?)
}
