//! Reading and writing sessions as their rows.

use super::{SqliteStore, contents, failure::failed, lease, read::names};
use crate::raw::{
    Digest, Digesting, RawContent, RawControls, RawDirectories, RawEvent, RawRow, RawSession, unreadable,
};
use agent::{ContentHash, Lease, Owner, SessionId, StoreError};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, Row, params};
use std::sync::Arc;

/// An id and the session whose subagent it belongs to.
pub(crate) type IdAndParent = (String, Option<String>);

impl SqliteStore {
    /// Returns the ids of all sessions of an owner, those of subagents too; of all owners without
    /// one.
    pub(crate) async fn raw_ids(&self, owner: Option<Option<Owner>>) -> Result<Vec<IdAndParent>, StoreError> {
        self.reader
            .call(move |connection| {
                let (tenant, user) = names(owner.as_ref().and_then(Option::as_ref));
                let ids = || -> rusqlite::Result<Vec<IdAndParent>> {
                    connection
                        .prepare_cached(
                            "SELECT id, parent_id FROM sessions WHERE ?1 OR (tenant IS ?2 AND owner IS ?3) ORDER BY id",
                        )?
                        .query_map((owner.is_none(), tenant, user), |row| Ok((row.get(0)?, row.get(1)?)))?
                        .collect()
                };
                ids().map_err(|error| failed(&error))
            })
            .await
    }

    /// Returns the digest of a session's events; `None` without the session.
    pub(crate) async fn raw_digest(&self, id: &str) -> Result<Option<Digest>, StoreError> {
        let id = id.to_owned();
        self.reader
            .call(move |connection| {
                let known = connection
                    .prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")
                    .and_then(|mut statement| statement.exists([&id]))
                    .map_err(|error| failed(&error))?;
                let mut digesting = Digesting::default();
                each_event(connection, &id, |event| digesting.add(&event))?;
                Ok(known.then(|| digesting.end()))
            })
            .await
    }

    /// Returns a session with its rows.
    pub(crate) async fn raw_read(&self, id: &str) -> Result<RawSession, StoreError> {
        let id = id.to_owned();
        self.reader.call(move |connection| read(connection, &id)).await
    }

    /// Stores a session that does not exist, in one transaction, and acquires its lease.
    pub(crate) async fn raw_write(&self, session: RawSession) -> Result<Lease, StoreError> {
        let holder_lock = Arc::clone(&self.holder_lock);
        self.writer
            .call(move |connection| {
                write(connection, &session)?;
                lease::take(connection, &SessionId(session.row.id.clone()), &holder_lock)
            })
            .await
    }
}

fn each_event(connection: &Connection, id: &str, mut each: impl FnMut(RawEvent)) -> Result<(), StoreError> {
    let sql = |error: rusqlite::Error| failed(&error);
    let mut statement = connection
        .prepare_cached(
            "SELECT seq, format, kind, body, at, damaged FROM events WHERE session_id = ?1 ORDER BY seq",
        )
        .map_err(sql)?;
    let mut rows = statement.query([id]).map_err(sql)?;
    while let Some(row) = rows.next().map_err(sql)? {
        let seq: i64 = row.get(0).map_err(sql)?;
        let body = row.get_ref(3).map_err(sql)?.as_str();
        let body =
            body.map_err(|error| unreadable(id, &format!("the body of event {seq}: {error}")))?.to_owned();
        let event = |row: &Row<'_>| -> rusqlite::Result<RawEvent> {
            let (format, kind, at, damaged) = (row.get(1)?, row.get(2)?, row.get(4)?, row.get(5)?);
            Ok(RawEvent { seq, format, kind, body, at, damaged })
        };
        each(event(row).map_err(sql)?);
    }
    Ok(())
}

fn read(connection: &Connection, id: &str) -> Result<RawSession, StoreError> {
    let sql = |error: rusqlite::Error| failed(&error);
    let row = connection
        .prepare_cached(
            "SELECT parent_id, tenant, owner, cwd, additional_directories, branch, model, mode, permission_mode, effort, title, \
             archived, created_at, updated_at, last_seq, turns, cost, identity FROM sessions WHERE id = ?1",
        )
        .and_then(|mut statement| statement.query_row([id], |row| raw_row(id, row)).optional())
        .map_err(sql)?
        .ok_or_else(|| StoreError::NotFound(SessionId(id.to_owned())))?;
    let mut events = Vec::new();
    each_event(connection, id, |event| events.push(event))?;
    let contents = connection
        .prepare_cached("SELECT hash, bytes FROM contents WHERE session_id = ?1 ORDER BY id")
        .and_then(|mut statement| {
            statement
                .query_map([id], |row| Ok(RawContent { hash: row.get(0)?, bytes: row.get(1)? }))?
                .collect::<rusqlite::Result<_>>()
        })
        .map_err(sql)?;
    Ok(RawSession { row, events, contents })
}

fn raw_row(id: &str, row: &Row<'_>) -> rusqlite::Result<RawRow> {
    let (tenant, user): (Option<String>, Option<String>) = (row.get(1)?, row.get(2)?);
    Ok(RawRow {
        id: id.to_owned(),
        parent: row.get(0)?,
        owner: tenant.zip(user).map(|(tenant, user)| Owner { tenant, user }),
        directories: RawDirectories {
            cwd: row.get(3)?,
            additional: row.get(4)?,
            branch: row.get(5)?,
            identity: row.get(17)?,
        },
        controls: RawControls {
            model: row.get(6)?,
            mode: row.get(7)?,
            permission_mode: row.get(8)?,
            effort: row.get(9)?,
        },
        title: row.get(10)?,
        archived: row.get(11)?,
        times: (row.get(12)?, row.get(13)?),
        last_seq: row.get(14)?,
        totals: (row.get(15)?, row.get(16)?),
    })
}

fn write(connection: &Connection, session: &RawSession) -> Result<(), StoreError> {
    let RawSession { row, events, contents } = session;
    let (tenant, user) = names(row.owner.as_ref());
    connection
        .prepare_cached(
            "INSERT INTO sessions (id, parent_id, tenant, owner, cwd, additional_directories, branch, model, mode, permission_mode, \
             effort, title, archived, created_at, updated_at, last_seq, turns, cost, identity, lease_epoch) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, 0)",
        )
        .and_then(|mut statement| {
            statement.execute(params![
                row.id,
                row.parent,
                tenant,
                user,
                row.directories.cwd,
                row.directories.additional,
                row.directories.branch,
                row.controls.model,
                row.controls.mode,
                row.controls.permission_mode,
                row.controls.effort,
                row.title,
                row.archived,
                row.times.0,
                row.times.1,
                row.last_seq,
                row.totals.0,
                row.totals.1,
                row.directories.identity,
            ])
        })
        .map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => {
                unreadable(&row.id, "one with this id was created there meanwhile")
            }
            _ => failed(&error),
        })?;
    let insert = || -> rusqlite::Result<()> {
        let mut insert = connection.prepare_cached(
            "INSERT INTO events (session_id, seq, format, kind, body, at, damaged) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for event in events {
            let RawEvent { seq, format, kind, body, at, damaged } = event;
            insert.execute((&row.id, seq, format, kind, body, at, damaged))?;
        }
        Ok(())
    };
    insert().map_err(|error| failed(&error))?;
    let contents: Vec<(ContentHash, Arc<[u8]>)> = contents
        .iter()
        .map(|content| (ContentHash(content.hash.clone()), content.bytes.as_slice().into()))
        .collect();
    contents::keep(connection, &SessionId(row.id.clone()), &contents)
}
