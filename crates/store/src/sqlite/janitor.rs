//! The janitor of a file. Several servers of one file may sweep at the same time: each deletion is
//! a transaction that looks again whether the session is in use.

use super::{
    LazyReader, failure::failed, holder_lock::HolderLock, lease, worker::Durability, worker::Worker,
};
use crate::{
    janitor::{Janitor, Sweep},
    limits::SWEPT_SESSIONS,
};
use agent::{SessionId, StoreError};
use async_trait::async_trait;
use rusqlite::Connection;
use std::sync::Arc;

/// Selects sessions that were last used before a time, with their subagents.
const UNUSED: &str = "SELECT s.id FROM sessions s WHERE s.updated_at < ?1 \
     AND (s.parent_id IS NULL OR NOT EXISTS (SELECT 1 FROM sessions p WHERE p.id = s.parent_id)) \
     AND NOT EXISTS (SELECT 1 FROM sessions c WHERE c.parent_id = s.id AND c.updated_at >= ?1) \
     ORDER BY s.updated_at, s.id";

/// Deletes from a file.
#[derive(Clone)]
pub(super) struct SqliteJanitor {
    pub(super) writer: Arc<Worker>,
    pub(super) reader: Arc<LazyReader>,
    pub(super) holder_lock: Arc<HolderLock>,
}

#[async_trait]
impl Janitor for SqliteJanitor {
    async fn begin(&self) -> Result<Option<Box<dyn Sweep>>, StoreError> {
        Ok(Some(Box::new(self.clone())))
    }
}

#[async_trait]
impl Sweep for SqliteJanitor {
    async fn delete_unused(&mut self, before: i64) -> Result<u64, StoreError> {
        let holder_lock = Arc::clone(&self.holder_lock);
        let free = move |connection: &Connection| free(connection, &holder_lock, before);
        let mut deleted = 0;
        // One after the other, so that appends need not wait for a hundred.
        for id in self.reader.call(free).await? {
            let holder_lock = Arc::clone(&self.holder_lock);
            let delete = move |connection: &Connection| delete(connection, &holder_lock, &id, before);
            deleted += u64::from(self.writer.call_with(Durability::WithNextFlush, delete).await?);
        }
        Ok(deleted)
    }

    async fn delete_orphans(&mut self) -> Result<u64, StoreError> {
        // Contents belong to one session and are deleted with it; only a file that was repaired by
        // other means can have others.
        let delete = |connection: &Connection| {
            connection
                .prepare_cached("DELETE FROM contents WHERE session_id NOT IN (SELECT id FROM sessions)")
                .and_then(|mut statement| statement.execute([]))
                .map(|count| count as u64)
                .map_err(|error| failed(&error))
        };
        self.writer.call_with(Durability::WithNextFlush, delete).await
    }
}

/// Returns the first sessions that were not used for long and that no living process holds.
fn free(
    connection: &Connection,
    holder_lock: &HolderLock,
    before: i64,
) -> Result<Vec<SessionId>, StoreError> {
    let sql = |error: rusqlite::Error| failed(&error);
    let mut statement = connection.prepare_cached(UNUSED).map_err(sql)?;
    let mut rows = statement.query([before]).map_err(sql)?;
    let mut free = Vec::new();
    while free.len() < usize::try_from(SWEPT_SESSIONS).unwrap_or_default()
        && let Some(row) = rows.next().map_err(sql)?
    {
        let id = SessionId(row.get(0).map_err(sql)?);
        if !is_held(connection, holder_lock, &id)? {
            free.push(id);
        }
    }
    Ok(free)
}

/// Deletes a session, unless it or a subagent's is in use.
fn delete(
    connection: &Connection,
    holder_lock: &HolderLock,
    id: &SessionId,
    before: i64,
) -> Result<bool, StoreError> {
    let sql = |error: rusqlite::Error| failed(&error);
    let used = connection
        .prepare_cached("SELECT 1 FROM sessions WHERE (id = ?1 OR parent_id = ?1) AND updated_at >= ?2")
        .and_then(|mut statement| statement.exists((id.as_str(), before)))
        .map_err(sql)?;
    if used || is_held(connection, holder_lock, id)? {
        return Ok(false);
    }
    connection
        .prepare_cached("DELETE FROM sessions WHERE id = ?1 OR parent_id = ?1")
        .and_then(|mut statement| statement.execute([id.as_str()]))
        .map(|count| count > 0)
        .map_err(sql)
}

/// Whether a living process, this one included, holds a session or one of its subagents'.
fn is_held(connection: &Connection, holder_lock: &HolderLock, id: &SessionId) -> Result<bool, StoreError> {
    let family: Vec<String> = connection
        .prepare_cached("SELECT id FROM sessions WHERE id = ?1 OR parent_id = ?1")
        .and_then(|mut statement| statement.query_map([id.as_str()], |row| row.get(0))?.collect())
        .map_err(|error| failed(&error))?;
    for id in family {
        if lease::is_live(connection, &SessionId(id), holder_lock)? {
            return Ok(true);
        }
    }
    Ok(false)
}
