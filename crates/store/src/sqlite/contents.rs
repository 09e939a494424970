//! File contents by hash: stored with the events that name them, limited per session.

use super::failure::failed;
use crate::limits::CONTENTS_BYTES;
use agent::{ContentHash, Owner, SessionId, StoreError};
use rusqlite::{Connection, OptionalExtension as _};
use std::sync::Arc;

/// Stores contents, each once, and deletes the session's oldest ones beyond [`CONTENTS_BYTES`].
pub(super) fn keep(
    connection: &Connection,
    id: &SessionId,
    contents: &[(ContentHash, Arc<[u8]>)],
) -> Result<(), StoreError> {
    if contents.is_empty() {
        return Ok(());
    }
    let keep = || -> rusqlite::Result<()> {
        let mut insert = connection.prepare_cached(
            "INSERT INTO contents (session_id, hash, size, bytes) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING",
        )?;
        for (hash, bytes) in contents {
            let size = i64::try_from(bytes.len()).unwrap_or(i64::MAX);
            insert.execute((id.as_str(), &hash.0, size, &bytes[..]))?;
        }
        let mut all = connection.prepare_cached("SELECT sum(size) FROM contents WHERE session_id = ?1")?;
        if all.query_row([id.as_str()], |row| row.get::<_, i64>(0))? > CONTENTS_BYTES {
            let mut forget = connection.prepare_cached(
                "DELETE FROM contents WHERE id IN (SELECT id FROM \
                 (SELECT id, sum(size) OVER (ORDER BY id DESC) AS newer FROM contents WHERE session_id = ?1) \
                 WHERE newer > ?2)",
            )?;
            forget.execute((id.as_str(), CONTENTS_BYTES))?;
        }
        Ok(())
    };
    keep().map_err(|error| failed(&error))
}

pub(super) fn get(
    connection: &Connection,
    id: &SessionId,
    hash: &ContentHash,
) -> Result<Option<Vec<u8>>, StoreError> {
    connection
        .prepare_cached("SELECT bytes FROM contents WHERE session_id = ?1 AND hash = ?2")
        .and_then(|mut statement| statement.query_row((id.as_str(), &hash.0), |row| row.get(0)).optional())
        .map_err(|error| failed(&error))
}

/// Returns the bytes of the contents of each user of a tenant.
pub(super) fn sums(connection: &Connection, tenant: &str) -> Result<Vec<(Owner, u64)>, StoreError> {
    let sums = || -> rusqlite::Result<Vec<(Owner, u64)>> {
        let mut statement = connection.prepare_cached(
            "SELECT s.owner, sum(c.size) FROM sessions s JOIN contents c ON c.session_id = s.id \
             WHERE s.tenant = ?1 AND s.owner IS NOT NULL GROUP BY s.owner",
        )?;
        let sum = |row: &rusqlite::Row<'_>| {
            let owner = Owner { tenant: tenant.to_owned(), user: row.get(0)? };
            Ok((owner, row.get::<_, i64>(1)?.cast_unsigned()))
        };
        statement.query_map([tenant], sum)?.collect()
    };
    sums().map_err(|error| failed(&error))
}

/// Copies all contents of one session to another.
pub(super) fn copy(connection: &Connection, from: &SessionId, to: &SessionId) -> rusqlite::Result<usize> {
    connection
        .prepare_cached(
            "INSERT INTO contents (session_id, hash, size, bytes) \
             SELECT ?1, hash, size, bytes FROM contents WHERE session_id = ?2 ORDER BY id",
        )?
        .execute((to.as_str(), from.as_str()))
}
