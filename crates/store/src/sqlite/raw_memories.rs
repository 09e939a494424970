//! Reading and writing memories as their rows.

use super::{SqliteStore, failure::failed};
use crate::moved_memories::{MovedMemories, RawMemory, RawTimes, plan};
use agent::{Owner, StoreError};
use rusqlite::{Connection, Row, params};

impl SqliteStore {
    /// Returns the memories of an owner, in the order in which they were saved; of all owners
    /// without one.
    pub(crate) async fn raw_memories(
        &self,
        owner: Option<Option<Owner>>,
    ) -> Result<Vec<RawMemory>, StoreError> {
        self.reader
            .call(move |connection| {
                let all = read(connection).map_err(|error| failed(&error))?;
                Ok(all
                    .into_iter()
                    .filter(|memory| owner.as_ref().is_none_or(|owner| memory.owner == *owner))
                    .collect())
            })
            .await
    }

    /// Inserts memories that are not there, in one transaction.
    pub(crate) async fn raw_write_memories(&self, new: Vec<RawMemory>) -> Result<MovedMemories, StoreError> {
        self.writer
            .call(move |connection| {
                let write = || -> rusqlite::Result<MovedMemories> {
                    let (inserted, moved) = plan(&read(connection)?, &new);
                    inserted.iter().try_for_each(|memory| insert(connection, memory))?;
                    Ok(moved)
                };
                write().map_err(|error| failed(&error))
            })
            .await
    }
}

fn read(connection: &Connection) -> rusqlite::Result<Vec<RawMemory>> {
    connection
        .prepare_cached(
            "SELECT project, session_id, type, class, title, content, title_key, content_key, pinned, expires_at, surfaced_at, \
             created_at, updated_at, tenant, owner FROM memories ORDER BY id",
        )?
        .query_map([], memory)?
        .collect()
}

fn memory(row: &Row<'_>) -> rusqlite::Result<RawMemory> {
    let (tenant, user): (Option<String>, Option<String>) = (row.get(13)?, row.get(14)?);
    Ok(RawMemory {
        owner: tenant.zip(user).map(|(tenant, user)| Owner { tenant, user }),
        project: row.get(0)?,
        session: row.get(1)?,
        kind: row.get(2)?,
        class: row.get(3)?,
        title: row.get(4)?,
        content: row.get(5)?,
        keys: (row.get(6)?, row.get(7)?),
        pinned: row.get(8)?,
        times: RawTimes {
            expires: row.get(9)?,
            surfaced: row.get(10)?,
            created: row.get(11)?,
            updated: row.get(12)?,
        },
    })
}

fn insert(connection: &Connection, memory: &RawMemory) -> rusqlite::Result<()> {
    let RawTimes { expires, surfaced, created, updated } = memory.times;
    connection
        .prepare_cached(
            "INSERT INTO memories (project, session_id, type, class, title, content, title_key, content_key, pinned, expires_at, \
             surfaced_at, created_at, updated_at, tenant, owner) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        )?
        .execute(params![
            memory.project,
            memory.session,
            memory.kind,
            memory.class,
            memory.title,
            memory.content,
            memory.keys.0,
            memory.keys.1,
            memory.pinned,
            expires,
            surfaced,
            created,
            updated,
            memory.owner.as_ref().map(|owner| &owner.tenant),
            memory.owner.as_ref().map(|owner| &owner.user),
        ])
        .map(drop)
}
