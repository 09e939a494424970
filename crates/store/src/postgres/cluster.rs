//! The nodes that share the database.

use super::{
    failure::failed,
    scope::{Scope, owner},
    shared::Shared,
    transaction::{Transaction, connect},
};
use crate::nodes::{ANY_FOLDERS, NodeHolder, Nodes, Orphan, Peer};
use agent::{Owner, SessionId, StoreError};
use async_trait::async_trait;
use std::{sync::Arc, time::Instant};
use tokio_postgres::Row;
use uuid::Uuid;

/// The nodes that share the database.
pub(super) struct Cluster(pub(super) Arc<Shared>);

/// The node that holds a session, as long as it lives, and the name of the session's folders.
const HOLDER: &str = "SELECT n.id, n.address, s.workspace->>'folders' FROM sessions s LEFT JOIN nodes n ON n.id = s.lease_node \
     AND n.incarnation = s.lease_incarnation AND n.expires_at > clock_timestamp() WHERE s.id = $1";

impl Cluster {
    async fn rows(&self, sql: &str, params: super::transaction::Params<'_>) -> Result<Vec<Row>, StoreError> {
        let connection = connect(&self.0.pool, Instant::now()).await?;
        connection.query(sql, params).await.map_err(|error| failed(&error))
    }

    /// Returns the other nodes that take sessions of these folders, the one with the fewest first.
    async fn takers(&self, folders: &str) -> Result<Vec<Peer>, StoreError> {
        let rows = self.rows("SELECT id, address FROM takers_of($1)", &[&folders]).await?;
        let peers = rows.iter().map(peer).filter(|(id, _)| *id != self.0.node.id);
        Ok(peers.map(|(_, peer)| peer).collect())
    }
}

#[async_trait]
impl Nodes for Cluster {
    fn id(&self) -> String {
        self.0.node.id.to_string()
    }

    async fn announce(&self, address: Option<String>, is_draining: bool) -> Result<(), StoreError> {
        self.0.node.announce(address.clone(), is_draining);
        let incarnation = self.0.node.incarnation();
        let id = &self.0.node.id;
        self.rows("SELECT announce($1, $2, $3, $4)", &[id, &incarnation, &address, &is_draining]).await?;
        let folders = self.0.node.folders();
        self.rows("SELECT announce_folders($1, $2, $3)", &[id, &incarnation, &folders]).await.map(drop)
    }

    fn set_folders(&self, name: String) {
        self.0.node.set_folders(name);
    }

    fn on_renewal(&self, renewed: Box<dyn Fn(u64) + Send + Sync>) {
        self.0.node.on_renewal(renewed);
    }

    async fn others(&self) -> Result<Vec<Peer>, StoreError> {
        self.takers(&self.0.node.folders()).await
    }

    async fn alive(&self) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT id FROM nodes WHERE expires_at > clock_timestamp()";
        let rows = self.rows(sql, &[]).await?;
        Ok(rows.iter().map(|row| row.get::<_, Uuid>(0).to_string()).collect())
    }

    async fn holder(&self, owner: Option<&Owner>, session: &SessionId) -> Result<NodeHolder, StoreError> {
        let transaction = Transaction::begin(&self.0.pool, &Scope::of(owner)).await?;
        let row = transaction.first(HOLDER, &[&session.as_str()]).await?;
        transaction.commit().await?;
        let Some(row) = row else { return Ok(NodeHolder::Free) };
        if row.get::<_, Option<Uuid>>(0).is_some() {
            let (id, peer) = peer(&row);
            return Ok(if id == self.0.node.id { NodeHolder::Here } else { NodeHolder::Other(peer) });
        }
        let own = self.0.node.folders();
        Ok(match row.get::<_, Option<String>>(2) {
            Some(folders) if own != ANY_FOLDERS && folders != own => {
                self.takers(&folders).await?.into_iter().next().map_or(NodeHolder::Free, NodeHolder::FreeAt)
            }
            _ => NodeHolder::Free,
        })
    }

    async fn orphans(&self, at_most: usize) -> Result<Vec<Orphan>, StoreError> {
        let at_most = i32::try_from(at_most).unwrap_or(i32::MAX);
        let sql = "SELECT tenant, subject, id FROM orphans_with($1, $2)";
        let rows = self.rows(sql, &[&self.0.node.folders(), &at_most]).await?;
        let orphans =
            rows.iter().map(|row| Orphan { owner: owner(row.get(0), row.get(1)), id: SessionId(row.get(2)) });
        Ok(orphans.collect())
    }
}

/// Reads a node's id and address.
fn peer(row: &Row) -> (Uuid, Peer) {
    let id: Uuid = row.get(0);
    (id, Peer { id: id.to_string(), address: row.get(1) })
}
