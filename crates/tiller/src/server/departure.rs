//! How a node leaves the others: its sessions go on elsewhere before it stops.

use super::users::Users;
use ::serve::{Drain, limits::DRAIN};
use std::{sync::Arc, time::Duration};
use store::nodes::Nodes;

/// The way in which a node leaves.
pub(super) struct Departure {
    pub(super) nodes: Arc<dyn Nodes>,
    pub(super) drain: Drain,
    /// Where other nodes reach this one, as long as it holds sessions.
    pub(super) address: String,
}

impl Departure {
    /// The longest time that it takes: for turns to stop, and then for clients to be answered.
    pub(super) const LONGEST: Duration = DRAIN.saturating_mul(2);

    /// Moves all sessions to other nodes, and forwards to them until no client of this node waits
    /// for an answer. Does nothing if there is no other node.
    pub(super) async fn drain(&self, users: &Users) {
        match self.nodes.others().await {
            Ok(others) if others.is_empty() => {
                return tracing::info!("there is no other node; running turns end");
            }
            Ok(_) => {}
            Err(error) => return tracing::warn!(%error, "the other nodes are not known; running turns end"),
        }
        if let Err(error) = self.nodes.announce(Some(self.address.clone()), true).await {
            tracing::warn!(%error, "the other nodes do not know that this one drains");
        }
        self.drain.begin();
        let abandoned = users.suspend(DRAIN).await;
        self.drain.end_forwarded();
        for abandoned in abandoned {
            if let Err(error) = self.drain.hand_over(abandoned).await {
                tracing::warn!(%error, "a turn goes on when its session is opened next");
            }
        }
        if tokio::time::timeout(DRAIN, self.drain.until_idle()).await.is_err() {
            tracing::warn!("clients still wait for answers; they find them at another node");
        }
    }
}
