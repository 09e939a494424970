//! The nodes of a server: processes that share one database of sessions.

use agent::{Owner, SessionId, StoreError};
use async_trait::async_trait;

/// The name of folders that are those of any node: sessions that are created there belong to no
/// folders, and those of any folders are used there.
pub const ANY_FOLDERS: &str = "any";

/// The nodes that share a database, as one of them sees the others.
#[async_trait]
pub trait Nodes: Send + Sync {
    /// Returns this node's id.
    fn id(&self) -> String;

    /// Makes it known where other nodes reach this one (`HOST:PORT`), and whether it drains: a node
    /// that drains gets no further sessions.
    async fn announce(&self, address: Option<String>, is_draining: bool) -> Result<(), StoreError>;

    /// Gives the folders of this node a name, before it takes sessions. Nodes that share a file
    /// system have the same one; without a name it is that of the machine. Only the first call has
    /// an effect.
    fn set_folders(&self, name: String);

    /// Calls `renewed` now and whenever this node's life was extended: with the time until when its
    /// leases are certainly its own, in milliseconds since the boot, those asleep included. It must
    /// not block. Only the first call has an effect.
    fn on_renewal(&self, renewed: Box<dyn Fn(u64) + Send + Sync>);

    /// Returns the other nodes that are alive, have an address, do not drain and have the same
    /// folders as this one; the one that holds the fewest sessions first.
    async fn others(&self) -> Result<Vec<Peer>, StoreError>;

    /// Returns the ids of all nodes that are alive.
    async fn alive(&self) -> Result<Vec<String>, StoreError>;

    /// Returns who holds a session of a user (`None`: the user of the machine).
    async fn holder(&self, owner: Option<&Owner>, session: &SessionId) -> Result<NodeHolder, StoreError>;

    /// Returns sessions of this node's folders whose holder died while it held them, at most so
    /// many.
    async fn orphans(&self, at_most: usize) -> Result<Vec<Orphan>, StoreError>;
}

/// Another node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its id, which is new with each start.
    pub id: String,
    /// Where other nodes reach it, as `HOST:PORT`; `None` if it serves no nodes.
    pub address: Option<String>,
}

/// Who holds a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NodeHolder {
    /// No node, or one that is gone; or there is no such session.
    Free,
    /// This node.
    Here,
    /// Another node that is alive.
    Other(Peer),
    /// No node; but the session's folders are those of another node, and not of this one.
    FreeAt(Peer),
}

/// A session whose holder died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Orphan {
    /// The user whom it belongs to; `None` for the user of the machine.
    pub owner: Option<Owner>,
    /// The session.
    pub id: SessionId,
}
