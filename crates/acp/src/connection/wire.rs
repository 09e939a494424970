//! What differs between the versions of the protocol.

use super::{
    Connection, Peer, auth::AuthState, client::Outfit, reply::Reply, settings::Settings, update::ChunkKind,
    update::Update,
};
use agent::{
    MessageId, ModelInfo, PermissionOutcome, PermissionRequest, Question, QuestionOutcome, SessionEvent,
    SessionId, ToolCallId,
};
use agent_client_protocol::{Client, ConnectionTo, Error};
use serde_json::Value;
use std::sync::Arc;

/// A version of the protocol: what its messages look like, and which there are. All else about a connection is the same for each.
pub(crate) trait Wire: Send + Sync + Sized + 'static {
    /// An update of a session as it goes over the wire.
    type Update: serde::Serialize + Send + 'static;
    /// Turns a session's events into updates.
    type Projection: Projection<Self::Update>;
    /// What its clients say of themselves beyond what all versions know.
    type Traits: Send + Sync;

    /// A piece of a message.
    fn chunk(kind: ChunkKind, id: &MessageId, text: String) -> Self::Update;

    /// A piece of what a running command prints.
    fn display(call: &ToolCallId, data: String) -> Self::Update;

    /// Sends an update.
    fn send(
        connection: &ConnectionTo<Client>,
        session: &SessionId,
        update: Self::Update,
    ) -> Result<(), Error>;

    /// Whether the client has files or terminals of its own to work with.
    fn has_workspace(_traits: &Self::Traits) -> bool {
        false
    }

    /// Tells the client whether it is logged in.
    fn tell_auth(connection: &ConnectionTo<Client>, state: AuthState) -> Result<(), Error>;

    /// Asks the client for a permission.
    fn request_permission(
        connection: &ConnectionTo<Client>,
        session: &SessionId,
        request: PermissionRequest,
    ) -> impl Future<Output = Result<PermissionOutcome, Error>> + Send;

    /// Asks the user a question.
    fn ask(
        connection: &ConnectionTo<Client>,
        session: &SessionId,
        question: Question,
    ) -> impl Future<Output = Result<QuestionOutcome, Error>> + Send;

    /// What a session that is made or opened works with.
    fn outfit(connection: &Connection<Self>, peer: &Peer<Self>, session: &SessionId) -> Outfit<Self>;

    /// Takes a request and answers it.
    fn route(
        method: String,
        params: Value,
        reply: Reply,
        connection: Arc<Connection<Self>>,
        client: ConnectionTo<Client>,
    ) -> impl Future<Output = ()> + Send;
}

/// Turns a session's events into updates of one version. Keeps what one event must know of those before it.
pub(crate) trait Projection<U>: Send {
    /// The updates of an event, in order.
    fn project(&mut self, event: &SessionEvent, models: &dyn Fn() -> Vec<ModelInfo>) -> Vec<Update<U>>;

    /// Nothing goes on until the user has answered a question, or it goes on again: the updates that say so.
    fn waiting(&mut self, _for_the_user: bool) -> Vec<Update<U>> {
        Vec::new()
    }

    /// The turn of a message ended without an event that says so, because that could not be stored: the updates that do.
    #[cfg(feature = "v2")]
    fn failed(&mut self, _message: &MessageId, _error: &Error) -> Vec<Update<U>> {
        Vec::new()
    }

    /// Says what the session is set to, so that later changes can be told in full.
    fn set_settings(&mut self, settings: Settings);
}
