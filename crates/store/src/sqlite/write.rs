//! Functions that change the database. Each runs in the caller's transaction and changes nothing if
//! it fails.

use super::{
    failure::failed,
    holder_lock::HolderLock,
    lease::{TAKE, refuse_while_held, take},
};
use crate::{changes::Changes, clock::now, stored};
use agent::{
    Effort, FolderFacts, FolderIdentity, Lease, Mode, NewSession, PermissionMode, SessionId, StoreError,
};
use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};
use system::AbsPath;

/// Creates the row of a session.
const CREATE: &str = "INSERT INTO sessions (id, cwd, additional_directories, model, mode, permission_mode, created_at, \
             updated_at, last_seq, lease_epoch, parent_id, tenant, owner) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 0, 0, ?8, ?9, ?10)";

/// Selects the last event number and the lease.
const SELECT_LEASE: &str =
    "SELECT last_seq, lease_epoch, lease_owner IS NOT NULL FROM sessions WHERE id = ?1";

/// Adds an event.
const APPEND: &str =
    "INSERT INTO events (session_id, seq, format, kind, body, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";

/// Updates the session's row after an append.
const UPDATE_SESSION: &str = "UPDATE sessions SET last_seq = ?2, updated_at = max(updated_at, ?3), lease_seen = ?3, \
             model = coalesce(?4, model), mode = coalesce(?5, mode), \
             permission_mode = coalesce(?6, permission_mode), title = coalesce(?7, title), \
             effort = iif(?8, ?9, effort), turns = turns + ?10, cost = coalesce(?11, cost) WHERE id = ?1";

/// Compiles the statements for a new session and its first turn in advance, so that these do not
/// wait for it.
pub(super) fn prepare_statements(connection: &Connection) -> rusqlite::Result<()> {
    [CREATE, TAKE, SELECT_LEASE, APPEND, UPDATE_SESSION]
        .iter()
        .try_for_each(|sql| connection.prepare_cached(sql).map(drop))
}

pub(super) fn create(
    connection: &Connection,
    session: &NewSession,
    holder_lock: &HolderLock,
) -> Result<Lease, StoreError> {
    connection
        .prepare_cached(CREATE)
        .and_then(|mut statement| {
            statement.execute(params![
                session.id.as_str(),
                session.cwd.as_str(),
                to_json(&session.additional_directories),
                session.model,
                session.mode.id(),
                session.permission_mode.id(),
                now(),
                session.parent.as_ref().map(SessionId::as_str),
                session.owner.as_ref().map(|owner| &owner.tenant),
                session.owner.as_ref().map(|owner| &owner.user),
            ])
        })
        .map_err(|error| match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => {
                StoreError::Io(format!("session {} exists already; load it, or use another id", session.id))
            }
            _ => failed(&error),
        })?;
    take(connection, &session.id, holder_lock)
}

pub(super) fn set_directories(
    connection: &Connection,
    lease: &Lease,
    directories: &[AbsPath],
) -> Result<(), StoreError> {
    // An empty append checks the lease.
    append(connection, lease, &[], &Changes::default())?;
    connection
        .prepare_cached("UPDATE sessions SET additional_directories = ?2 WHERE id = ?1")
        .and_then(|mut statement| statement.execute((lease.session.as_str(), to_json(directories))))
        .map_err(|error| failed(&error))?;
    Ok(())
}

pub(super) fn set_cwd(connection: &Connection, lease: &Lease, cwd: &AbsPath) -> Result<(), StoreError> {
    // An empty append checks the lease.
    append(connection, lease, &[], &Changes::default())?;
    connection
        .prepare_cached("UPDATE sessions SET cwd = ?2 WHERE id = ?1")
        .and_then(|mut statement| statement.execute((lease.session.as_str(), cwd.as_str())))
        .map_err(|error| failed(&error))?;
    Ok(())
}

pub(super) fn set_folder(
    connection: &Connection,
    lease: &Lease,
    facts: &FolderFacts,
) -> Result<(), StoreError> {
    // An empty append checks the lease.
    append(connection, lease, &[], &Changes::default())?;
    let identity = facts.identity.as_ref().map(FolderIdentity::to_json);
    connection
        .prepare_cached("UPDATE sessions SET branch = ?2, identity = ?3 WHERE id = ?1")
        .and_then(|mut statement| statement.execute((lease.session.as_str(), &facts.branch, identity)))
        .map_err(|error| failed(&error))?;
    Ok(())
}

pub(super) fn fork(
    connection: &Connection,
    from: &SessionId,
    session: &NewSession,
    holder_lock: &HolderLock,
) -> Result<Lease, StoreError> {
    let known = connection
        .prepare_cached("SELECT 1 FROM sessions WHERE id = ?1")
        .and_then(|mut statement| statement.exists([from.as_str()]))
        .map_err(|error| failed(&error))?;
    if !known {
        return Err(StoreError::NotFound(from.clone()));
    }
    let lease = create(connection, session, holder_lock)?;
    let pair = (session.id.as_str(), from.as_str());
    connection
        .prepare_cached(
            "INSERT INTO events (session_id, seq, format, kind, body, at, damaged) \
             SELECT ?1, seq, format, kind, body, at, damaged FROM events WHERE session_id = ?2 ORDER BY seq",
        )
        .and_then(|mut statement| statement.execute(pair))
        .and_then(|_| super::contents::copy(connection, from, &session.id))
        .and_then(|_| {
            connection.prepare_cached(
                "UPDATE sessions SET (title, effort, last_seq, turns, cost) = \
                 (SELECT title, effort, last_seq, turns, cost FROM sessions WHERE id = ?2) WHERE id = ?1",
            )
        })
        .and_then(|mut statement| statement.execute(pair))
        .map_err(|error| failed(&error))?;
    Ok(lease)
}

pub(super) fn delete(
    connection: &Connection,
    id: &SessionId,
    holder_lock: &HolderLock,
) -> Result<(), StoreError> {
    match refuse_while_held(connection, id, holder_lock) {
        Err(StoreError::NotFound(_)) => return Ok(()),
        other => other?,
    }
    // Its events are deleted with it, and so are the sessions of its subagents.
    connection
        .prepare_cached("DELETE FROM sessions WHERE id = ?1 OR parent_id = ?1")
        .and_then(|mut statement| statement.execute([id.as_str()]))
        .map_err(|error| failed(&error))?;
    Ok(())
}

pub(super) fn set_archived(
    connection: &Connection,
    id: &SessionId,
    holder_lock: &HolderLock,
    archived: bool,
) -> Result<(), StoreError> {
    refuse_while_held(connection, id, holder_lock)?;
    connection
        .prepare_cached("UPDATE sessions SET archived = ?2 WHERE id = ?1")
        .and_then(|mut statement| statement.execute((id.as_str(), archived)))
        .map_err(|error| failed(&error))?;
    Ok(())
}

fn to_json(directories: &[AbsPath]) -> String {
    let directories: Vec<&str> = directories.iter().map(|path| path.as_str()).collect();
    serde_json::to_string(&directories).expect("a list of texts is JSON")
}

pub(super) fn append(
    connection: &Connection,
    lease: &Lease,
    rows: &[stored::Row],
    changes: &Changes,
) -> Result<u64, StoreError> {
    let sql = |error: rusqlite::Error| failed(&error);
    let id = lease.session.as_str();
    let (last, epoch, held): (i64, i64, bool) = connection
        .prepare_cached(SELECT_LEASE)
        .and_then(|mut statement| {
            statement.query_row([id], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).optional()
        })
        .map_err(sql)?
        .ok_or_else(|| StoreError::NotFound(lease.session.clone()))?;
    if !held || epoch.cast_unsigned() != lease.epoch {
        return Err(StoreError::Fenced(lease.session.clone()));
    }
    if rows.is_empty() {
        return Ok(last.cast_unsigned());
    }
    let now = now();
    let mut seq = last;
    let mut insert = connection.prepare_cached(APPEND).map_err(sql)?;
    for row in rows {
        seq += 1;
        insert.execute((id, seq, row.format, row.kind, &row.body, now)).map_err(sql)?;
    }
    // Due to `max`, a clock that was set back does not move the session down in the list.
    connection
        .prepare_cached(UPDATE_SESSION)
        .and_then(|mut statement| {
            statement.execute(params![
                id,
                seq,
                now,
                changes.model,
                changes.mode.map(Mode::id),
                changes.permission_mode.map(PermissionMode::id),
                changes.title,
                changes.effort.is_some(),
                changes.effort.flatten().map(Effort::id),
                changes.totals.turns.cast_signed(),
                changes.totals.cost.map(|cost| i64::try_from(cost.0).unwrap_or(i64::MAX)),
            ])
        })
        .map_err(sql)?;
    Ok(seq.cast_unsigned())
}

/// Marks the rows of damaged events with what is wrong; later reads skip them silently.
pub(super) fn mark_damaged(
    connection: &Connection,
    id: &SessionId,
    damaged: &[(i64, String)],
) -> Result<(), StoreError> {
    let sql = |error: rusqlite::Error| failed(&error);
    let mut statement = connection
        .prepare_cached("UPDATE events SET damaged = ?3 WHERE session_id = ?1 AND seq = ?2")
        .map_err(sql)?;
    for (seq, what) in damaged {
        statement.execute((id.as_str(), seq, what)).map_err(sql)?;
    }
    Ok(())
}
