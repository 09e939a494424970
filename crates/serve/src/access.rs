//! What the wires ask about credentials.

use crate::{http::Problem, listen::Source};
use agent::Principal;
use async_trait::async_trait;
use jiff::Timestamp;

/// Decides which principal a request comes from.
#[async_trait]
pub trait Access: Send + Sync {
    /// Authenticates a request by the value of its `Authorization` header.
    async fn authenticate(&self, authorization: Option<&str>, source: Source) -> Result<Principal, Problem>;

    /// Returns the principal of a user of this machine, who connected to the Unix socket.
    async fn of_unix_user(&self, uid: u32) -> Result<Principal, Problem>;

    /// Issues a ticket that opens one WebSocket, for a browser that cannot set headers.
    fn issue_ticket(&self, principal: &Principal, origin: Option<&str>) -> Result<Ticket, Problem>;

    /// Uses a ticket up, whatever the answer is.
    async fn redeem_ticket(
        &self,
        ticket: &str,
        origin: Option<&str>,
        source: Source,
    ) -> Result<Principal, Problem>;

    /// Completes when the principal's credential is revoked or expires.
    async fn until_invalid(&self, principal: &Principal);
}

/// A ticket that opens one WebSocket.
#[derive(Clone)]
pub struct Ticket {
    /// Its secret text.
    pub text: String,
    /// When it expires.
    pub expires: Timestamp,
}
