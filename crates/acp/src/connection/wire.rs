//! The interface between a connection and a version of the protocol.

use super::{
    Connection, Peer, auth::AuthState, client::SessionParts, reply::Reply, settings::Settings,
    update::ChunkKind, update::Update,
};
use agent::{
    MessageId, ModelInfo, PermissionOutcome, PermissionRequest, Question, QuestionOutcome, SessionEvent,
    SessionId, ToolCallId,
};
use agent_client_protocol::{Client, ConnectionTo, Error};
use serde_json::Value;
use std::sync::Arc;

/// A version of the protocol: its messages and its methods. Everything else about a connection is
/// shared.
pub(crate) trait Wire: Send + Sync + Sized + 'static {
    /// A session update in this version.
    type Update: serde::Serialize + Send + 'static;
    /// Converts a session's events to updates.
    type Projection: Projection<Self::Update>;
    /// Properties that clients declare in this version only.
    type ClientTraits: Send + Sync;

    /// Returns the update for a piece of a message.
    fn chunk(kind: ChunkKind, id: &MessageId, text: String) -> Self::Update;

    /// Returns the update for a piece of a running command's output.
    fn display(call: &ToolCallId, data: String) -> Self::Update;

    /// Sends an update.
    fn send(
        connection: &ConnectionTo<Client>,
        session: &SessionId,
        update: Self::Update,
    ) -> Result<(), Error>;

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

    /// Sends a question for the user to the client.
    fn ask(
        connection: &ConnectionTo<Client>,
        session: &SessionId,
        question: Question,
    ) -> impl Future<Output = Result<QuestionOutcome, Error>> + Send;

    /// Creates the client and the system of a session.
    fn session_parts(
        connection: &Connection<Self>,
        peer: &Peer<Self>,
        session: &SessionId,
    ) -> SessionParts<Self>;

    /// Handles a request and sends its response.
    fn route(
        method: String,
        params: Value,
        reply: Reply,
        connection: Arc<Connection<Self>>,
        client: ConnectionTo<Client>,
    ) -> impl Future<Output = ()> + Send;
}

/// Converts a session's events to updates of one version. Keeps the state that later events need.
pub(crate) trait Projection<U>: Send {
    /// Returns the updates for an event, in order.
    fn project(&mut self, event: &SessionEvent, models: &dyn Fn() -> Vec<ModelInfo>) -> Vec<Update<U>>;

    /// Returns the updates for the start or the end of waiting for the user's answer.
    fn waiting(&mut self, _for_the_user: bool) -> Vec<Update<U>> {
        Vec::new()
    }

    /// Returns the updates for a message's turn that ended without an event because the event could
    /// not be stored.
    fn failed(&mut self, _message: &MessageId, _error: &Error) -> Vec<Update<U>> {
        Vec::new()
    }

    /// Stores the session's current settings, so that later changes can be reported in full.
    fn set_settings(&mut self, settings: Settings);
}
