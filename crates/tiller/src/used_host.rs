//! The use of a host by commands, as programs read it.

use agent::HostUse;
use schemars::JsonSchema;
use serde::Serialize;

/// The use of one host at one port until a call ended.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct UsedHost {
    /// A name, an address or `localhost`.
    host: String,
    /// The port.
    port: u16,
    /// Number of new connections.
    connections: u64,
    /// Number of bytes from commands to the host.
    sent: u64,
    /// Number of bytes from the host to commands.
    received: u64,
    /// The reason of the last refusal.
    refused: Option<String>,
    /// The rule that allowed the last connection.
    rule: Option<String>,
}

impl From<&HostUse> for UsedHost {
    fn from(used: &HostUse) -> Self {
        Self {
            host: used.destination.host_text(),
            port: used.destination.port(),
            connections: used.connections,
            sent: used.sent,
            received: used.received,
            refused: used.refused.clone(),
            rule: used.rule.clone(),
        }
    }
}
