//! How a node leaves the others: its sessions go on elsewhere before it stops.

use super::users::Users;
use crate::limits;
use ::serve::{Drain, limits::DRAIN};
use std::{sync::Arc, time::Duration};
use store::nodes::{Nodes, Orphan};
use tokio_util::sync::CancellationToken;

/// An administrator's wish that the server stops.
#[derive(Clone)]
pub(super) struct Departing {
    wished: CancellationToken,
    /// The nodes of the same database, if this server is one.
    nodes: Option<Arc<dyn Nodes>>,
}

impl Departing {
    pub(super) fn new(nodes: Option<Arc<dyn Nodes>>) -> Self {
        Self { wished: CancellationToken::new(), nodes }
    }

    /// Has the server stop as a signal does.
    pub(super) fn begin(&self) {
        self.wished.cancel();
    }

    /// Completes once the server is to stop.
    pub(super) async fn wished(&self) {
        self.wished.cancelled().await;
    }

    /// Returns the number of other nodes that take sessions; 0 if it is not known.
    pub(super) async fn other_nodes(&self) -> usize {
        match &self.nodes {
            Some(nodes) => nodes.others().await.map_or(0, |others| others.len()),
            None => 0,
        }
    }

    /// Returns the longest time that the end of the server takes.
    pub(super) fn longest(&self) -> Duration {
        let apart = self.nodes.as_ref().map_or(Duration::ZERO, |_| Departure::LONGEST);
        apart + limits::ORDERLY_SHUTDOWN
    }
}

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

    /// Goes on, again and again, with the turns that other nodes left when they died, unless the
    /// settings have them wait for a client. Completes at once if they do.
    pub(super) async fn adopt_orphans(&self, users: &Users) {
        if !users.go_on_after_death() {
            return;
        }
        loop {
            tokio::time::sleep(limits::ORPHANS_INTERVAL).await;
            match self.nodes.orphans(limits::ORPHANS).await {
                Ok(orphans) => {
                    for orphan in orphans {
                        self.adopt(users, orphan).await;
                    }
                }
                Err(error) => tracing::warn!(%error, "sessions of dead nodes are not known at the moment"),
            }
        }
    }

    async fn adopt(&self, users: &Users, orphan: Orphan) {
        let session = orphan.id.clone();
        let adopted = match users.settle_orphan(orphan).await {
            Ok(None) => return,
            // Of several nodes that open it, one gets it, and the others lead there.
            Ok(Some(abandoned)) => self.drain.hand_over(abandoned).await,
            Err(error) => Err(error),
        };
        match adopted {
            Ok(()) => tracing::info!(%session, "the turn of a dead node goes on"),
            Err(error) => tracing::info!(%session, %error, "the turn of a dead node does not go on here"),
        }
    }

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
