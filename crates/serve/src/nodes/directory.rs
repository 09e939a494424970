//! Which node holds a session, and which nodes are alive.

use crate::auth::Source;
use agent::Principal;
use async_trait::async_trait;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio_util::sync::CancellationToken;

use crate::limits::NODES_INTERVAL;

/// The nodes of a server, as one of them sees the others. Errors are texts for the log.
#[async_trait]
pub trait Directory: Send + Sync {
    /// Returns who holds a session of a principal, who came from `source`.
    async fn holder(&self, principal: &Principal, source: Source, session: &str) -> Result<Holder, String>;

    /// Returns the other nodes that take sessions, the one with the fewest first.
    async fn takers(&self) -> Result<Vec<NodeAddress>, String>;

    /// Returns the ids of all other nodes that are alive.
    async fn alive(&self) -> Result<Vec<String>, String>;
}

/// Who holds a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// No node that is alive, or this one; or there is no such session.
    FreeOrHere,
    /// Another node.
    Other(NodeAddress),
    /// No node; but the folders that it works in are those of this other one.
    FreeAt(NodeAddress),
    /// A process that serves no nodes, by a description.
    Unreachable(String),
}

/// Where a node serves others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeAddress {
    /// The node's id, new with each start.
    pub id: String,
    /// `HOST:PORT`.
    pub address: String,
}

/// The nodes that sockets are open to. A socket to a node that is no longer alive ends at once: a
/// node that hangs, or that the network has cut off, would hold it for much longer.
#[derive(Default)]
pub(super) struct Watched(Mutex<HashMap<String, CancellationToken>>);

impl Watched {
    /// Returns what is cancelled once a node is no longer alive.
    pub(super) fn until_gone(&self, id: &str) -> CancellationToken {
        self.lock().entry(id.to_owned()).or_default().clone()
    }

    /// Looks at the nodes again and again. Never completes.
    pub(super) async fn follow(&self, directory: Arc<dyn Directory>) {
        loop {
            tokio::time::sleep(NODES_INTERVAL).await;
            if self.lock().is_empty() {
                continue;
            }
            match directory.alive().await {
                Ok(alive) => self.lock().retain(|id, gone| {
                    let stays = alive.contains(id);
                    if !stays {
                        tracing::warn!(node = id, "a node is no longer alive");
                        gone.cancel();
                    }
                    stays
                }),
                Err(error) => tracing::warn!(%error, "the other nodes are not known at the moment"),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
