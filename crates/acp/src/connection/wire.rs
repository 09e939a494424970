//! The messages that a version of the protocol sends to the client.

use super::{
    auth::AuthState,
    projection::Projection,
    update::{ChunkKind, Update},
};
use agent::{MessageId, PermissionOutcome, PermissionRequest, SessionId, ToolCallId};
use agent_client_protocol::{Client, ConnectionTo, Error};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};

/// The messages of a version of the protocol. [`Version`](super::Version) adds its methods;
/// everything else about a connection is shared.
pub(crate) trait Wire: Send + Sync + Sized + 'static {
    /// A session update in this version.
    type Update: Serialize + Send + 'static;
    /// Converts a session's events to updates.
    type Projection: Projection<Self::Update>;
    /// Properties that clients declare in this version only.
    type ClientTraits: Send + Sync;
    /// An answer to a form.
    type FormAnswer: Serialize + DeserializeOwned;

    /// Returns the update for a piece of a message.
    fn chunk(kind: ChunkKind, id: &MessageId, text: String) -> Self::Update;

    /// Returns the update for a piece of a running command's output.
    fn display(call: &ToolCallId, data: String) -> Self::Update;

    /// Converts an update of a session to this version; `None` for a native event or state.
    fn update(update: Update<Self::Update>) -> Option<Self::Update> {
        match update {
            Update::Chunk { kind, id, text } => Some(Self::chunk(kind, &id, text)),
            Update::Display { call, data } => Some(Self::display(&call, data)),
            Update::Output { update, .. } | Update::Urgent(update) => Some(*update),
            Update::Native(_) | Update::State(..) => None,
        }
    }

    /// Sends an update, with this `_meta`.
    fn send(
        connection: &ConnectionTo<Client>,
        session: &SessionId,
        update: Self::Update,
        meta: Option<Map<String, Value>>,
    ) -> Result<(), Error>;

    /// Returns an update without content, whose `_meta` reports how the last turn stands; `None` if
    /// this version has an update of its own for that.
    fn turn_report() -> Option<Self::Update> {
        None
    }

    /// Returns whether the client offers files or terminals.
    fn has_workspace(_traits: &Self::ClientTraits) -> bool {
        false
    }

    /// Notifies the client of its login state.
    fn notify_auth(connection: &ConnectionTo<Client>, state: AuthState) -> Result<(), Error>;

    /// Sends a permission request to the client.
    fn request_permission(
        connection: &ConnectionTo<Client>,
        session: &SessionId,
        request: PermissionRequest,
    ) -> impl Future<Output = Result<PermissionOutcome, Error>> + Send;
}
