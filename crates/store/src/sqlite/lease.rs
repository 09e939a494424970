//! Leases: which process may write to a session. Each function runs in the caller's transaction.

use super::{
    Holder, connection,
    failure::{failed, failed_at},
    file_state,
    holder_lock::{HolderLock, LockState},
};
use crate::clock::now;
use crate::limits::REMOTE_HOLDER_MS;
use agent::{Lease, LeaseHolder, SessionId, StoreError};
use rusqlite::{Connection, OptionalExtension as _, params};
use rustix::process::{Pid, test_kill_process};
use std::path::Path;

/// Assigns the lease to a holder.
pub(super) const TAKE: &str = "UPDATE sessions SET lease_epoch = lease_epoch + 1, \
             lease_owner = ?2 || ' since ' || strftime('%Y-%m-%dT%H:%M:%SZ', ?6 / 1000, 'unixepoch'), \
             lease_host = ?3, lease_pid = ?4, lease_start = ?5, lease_since = ?6, lease_seen = ?6, \
             lease_lock = ?7, lease_machine = ?8, lease_lock_epoch = lease_epoch + 1 \
             WHERE id = ?1 RETURNING lease_epoch";

/// The columns of [`leased`].
const LEASED: &str = "lease_host, lease_pid, lease_start, \
             strftime('%Y-%m-%dT%H:%M:%SZ', lease_since / 1000, 'unixepoch'), lease_seen, \
             iif(lease_lock_epoch = lease_epoch, lease_lock, NULL), lease_machine";

/// The lease in the row of a session.
struct Leased {
    host: String,
    pid: u32,
    start: u64,
    since: String,
    seen: i64,
    /// The name of the holder's lock, if it has one, and the marks of its machine.
    lock: Option<(String, String)>,
}

/// Takes the lease, unless another live process holds it and `take_over` is false. The caller must
/// commit even if this fails with [`StoreError::Held`].
pub(super) fn acquire(
    connection: &Connection,
    id: &SessionId,
    holder_lock: &HolderLock,
    take_over: bool,
) -> Result<Lease, StoreError> {
    match refuse_while_held(connection, id, holder_lock) {
        Err(StoreError::Held { session, holder }) if !take_over => {
            clamp_last_write(connection, id)?;
            Err(StoreError::Held { session, holder })
        }
        Ok(()) | Err(StoreError::Held { .. }) => take(connection, id, holder_lock),
        Err(error) => Err(error),
    }
}

/// Makes this process the holder. The new epoch fences the previous holder.
pub(super) fn take(
    connection: &Connection,
    id: &SessionId,
    holder_lock: &HolderLock,
) -> Result<Lease, StoreError> {
    let lock = holder_lock.lock_own_file();
    let holder = &holder_lock.holder;
    let epoch: i64 = connection
        .prepare_cached(TAKE)
        .and_then(|mut statement| {
            statement.query_row(
                params![
                    id.as_str(),
                    holder.to_string(),
                    holder.machine.host,
                    holder.pid,
                    holder.start.cast_signed(),
                    now(),
                    lock,
                    holder.machine.marks.join(" "),
                ],
                |row| row.get(0),
            )
        })
        .map_err(|error| failed(&error))?;
    Ok(Lease { session: id.clone(), epoch: epoch.cast_unsigned() })
}

/// Clears the holder, if this lease is the current one.
pub(super) fn release(connection: &Connection, lease: &Lease) -> Result<(), StoreError> {
    connection
        .prepare_cached(
            "UPDATE sessions SET lease_owner = NULL, lease_host = NULL, lease_pid = NULL, lease_start = NULL, \
             lease_since = NULL, lease_seen = NULL, lease_lock = NULL, lease_machine = NULL, lease_lock_epoch = NULL \
             WHERE id = ?1 AND lease_epoch = ?2",
        )
        .and_then(|mut statement| {
            statement.execute((lease.session.as_str(), lease.epoch.cast_signed()))
        })
        .map_err(|error| failed(&error))?;
    Ok(())
}

/// Returns [`StoreError::Held`] if another live process holds the session, and
/// [`StoreError::NotFound`] if the session does not exist.
pub(super) fn refuse_while_held(
    connection: &Connection,
    id: &SessionId,
    holder_lock: &HolderLock,
) -> Result<(), StoreError> {
    match lease_of(connection, id)? {
        Some(other) if !is_own(&other, holder_lock) && is_alive(&other, holder_lock) => {
            let holder = LeaseHolder { pid: other.pid, host: other.host, since: other.since };
            Err(StoreError::Held { session: id.clone(), holder })
        }
        _ => Ok(()),
    }
}

/// Whether a living process holds a session, this one included.
pub(super) fn is_live(
    connection: &Connection,
    id: &SessionId,
    holder_lock: &HolderLock,
) -> Result<bool, StoreError> {
    let leased = lease_of(connection, id)?;
    Ok(leased.is_some_and(|leased| is_own(&leased, holder_lock) || is_alive(&leased, holder_lock)))
}

/// Returns the lease in the row of a session; [`StoreError::NotFound`] without the session.
fn lease_of(connection: &Connection, id: &SessionId) -> Result<Option<Leased>, StoreError> {
    connection
        .prepare_cached(&format!("SELECT {LEASED} FROM sessions WHERE id = ?1"))
        .and_then(|mut statement| statement.query_row([id.as_str()], leased).optional())
        .map_err(|error| failed(&error))?
        .ok_or_else(|| StoreError::NotFound(id.clone()))
}

/// A session that a process has, or had when it died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionLease {
    /// The session.
    pub session: SessionId,
    /// The process.
    pub holder: LeaseHolder,
    /// Whether the process lives.
    pub is_alive: bool,
}

/// Returns the leases in a file, without changing it. There are none if there is no file, or an
/// empty one: opening that would remove what says that its creation was interrupted. Blocks
/// for the reads.
///
/// # Errors
///
/// [`StoreError::Io`] or [`StoreError::Format`] if it cannot be read.
pub fn leases(path: &Path) -> Result<Vec<SessionLease>, StoreError> {
    if file_state::is_missing(path) || file_state::length(path) == Some(0) {
        return Ok(Vec::new());
    }
    let connection = connection::open_raw(path).map_err(|error| failed_at(path, &error))?;
    let holder_lock = HolderLock::new(path, Holder::this_process());
    let found = connection
        .prepare(&format!(
            "SELECT {LEASED}, id FROM sessions WHERE lease_host IS NOT NULL ORDER BY lease_since"
        ))
        .and_then(|mut statement| {
            let row = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(7)?, leased(row)?));
            statement.query_map([], row)?.collect::<Result<Vec<_>, _>>()
        })
        .map_err(|error| failed_at(path, &error))?;
    let leases = found.into_iter().filter_map(|(session, leased)| {
        let leased = leased?;
        let is_alive = is_alive(&leased, &holder_lock);
        let holder = LeaseHolder { pid: leased.pid, host: leased.host, since: leased.since };
        Some(SessionLease { session: SessionId(session), holder, is_alive })
    });
    Ok(leases.collect())
}

fn leased(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<Leased>> {
    let Some(host) = row.get::<_, Option<String>>(0)? else { return Ok(None) };
    // An older program without locks leaves the previous holder's lock in the row if it opened the
    // file before the columns existed. The query ignores such a lock by its epoch.
    let lock = row.get::<_, Option<String>>(5)?;
    let machine = row.get::<_, Option<String>>(6)?.unwrap_or_default();
    Ok(Some(Leased {
        host,
        pid: row.get(1)?,
        start: row.get::<_, i64>(2)?.cast_unsigned(),
        since: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
        seen: row.get(4)?,
        lock: lock.map(|name| (name, machine)),
    }))
}

fn is_own(leased: &Leased, holder_lock: &HolderLock) -> bool {
    let holder = &holder_lock.holder;
    match &leased.lock {
        Some((lock, _)) => holder_lock.is_own(lock),
        None => (leased.pid, leased.start, &leased.host) == (holder.pid, holder.start, &holder.machine.host),
    }
}

/// Returns whether the holder is alive, judged by its lock, or by its process id and start time if
/// the lock gives no answer.
fn is_alive(leased: &Leased, holder_lock: &HolderLock) -> bool {
    let Some((lock, machine)) = &leased.lock else { return process_is_alive(leased, holder_lock) };
    match holder_lock.probe(lock) {
        LockState::Taken => true,
        LockState::Free if holder_lock.holder.machine.shares_mark(machine) => false,
        // The locks of another machine may be invisible here.
        LockState::Free => wrote_recently(leased),
        LockState::Unknown => process_is_alive(leased, holder_lock),
    }
}

fn process_is_alive(leased: &Leased, holder_lock: &HolderLock) -> bool {
    let here = &holder_lock.holder.machine;
    match here.processes.state(leased.pid) {
        // The holder itself, even if the host was renamed.
        Some(found) if leased.start != 0 && found.start == leased.start => !found.ended,
        _ if leased.host != here.host => wrote_recently(leased),
        // Another process with the same id, unless the holder's start time is unknown.
        Some(found) => leased.start == 0 && !found.ended,
        None => exists(leased.pid),
    }
}

/// Returns whether a process with this id exists, if nothing else is known of it. Being forbidden
/// to signal another user's process means that it exists.
fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

fn wrote_recently(leased: &Leased) -> bool {
    now() - leased.seen < REMOTE_HOLDER_MS
}

/// Resets a time of the last write that is in the future to now. A holder on another machine
/// expires some time after its last write; without this, a clock that was set back, or is wrong
/// there, would keep the session held for as long as the clock is wrong.
fn clamp_last_write(connection: &Connection, id: &SessionId) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE sessions SET lease_seen = ?2 WHERE id = ?1 AND lease_seen > ?2")
        .and_then(|mut statement| statement.execute((id.as_str(), now())))
        .map_err(|error| failed(&error))?;
    Ok(())
}
