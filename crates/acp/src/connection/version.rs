//! The methods of a version of the protocol.

use super::{Connection, Peer, Wire, client::AcpClient, reply::Reply};
use agent::SessionId;
use agent_client_protocol::{Client, ConnectionTo};
use serde_json::Value;
use std::sync::Arc;
use system::System;

/// A version of the protocol: its messages, its sessions and its methods.
pub(crate) trait Version: Wire {
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

/// The client and the system of a session.
pub(crate) struct SessionParts<W: Wire> {
    /// The client that receives events and answers questions.
    pub(crate) client: AcpClient<W>,
    /// The system on which tools act.
    pub(crate) system: Arc<dyn System>,
}
