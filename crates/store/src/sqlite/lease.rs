//! Who may write to a session. Each function runs in a transaction of the caller's.

use super::{
    database::failed,
    presence::{Lock, Presence},
    write::now,
};
use crate::limits::REMOTE_HOLDER_MS;
use agent::{Holding, Lease, SessionId, StoreError};
use rusqlite::{Connection, OptionalExtension as _, params};
use rustix::process::{Pid, test_kill_process};

/// Makes somebody the owner.
pub(super) const TAKE: &str = "UPDATE sessions SET lease_epoch = lease_epoch + 1, \
             lease_owner = ?2 || ' since ' || strftime('%Y-%m-%dT%H:%M:%SZ', ?6 / 1000, 'unixepoch'), \
             lease_host = ?3, lease_pid = ?4, lease_start = ?5, lease_since = ?6, lease_seen = ?6, \
             lease_lock = ?7, lease_machine = ?8, lease_lock_epoch = lease_epoch + 1 \
             WHERE id = ?1 RETURNING lease_epoch";

/// The lease in the row of a session.
struct Leased {
    host: String,
    pid: u32,
    start: u64,
    since: String,
    seen: i64,
    /// The name of the holder's lock, where it has one, and the marks of the machine it runs on.
    lock: Option<(String, String)>,
}

/// Takes the lease, unless somebody else who lives holds it. What is written with a refusal is to
/// be kept.
pub(super) fn acquire(
    connection: &Connection,
    id: &SessionId,
    me: &Presence,
    take_over: bool,
) -> Result<Lease, StoreError> {
    match refuse_while_held(connection, id, me) {
        Err(StoreError::Held { session, holder }) if !take_over => {
            forget_the_future(connection, id)?;
            Err(StoreError::Held { session, holder })
        }
        Ok(()) | Err(StoreError::Held { .. }) => take(connection, id, me),
        Err(error) => Err(error),
    }
}

/// Makes this process the owner. Whoever was it before is fenced by the new epoch.
pub(super) fn take(connection: &Connection, id: &SessionId, me: &Presence) -> Result<Lease, StoreError> {
    let lock = me.announce();
    let holder = &me.holder;
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

/// Clears the holder, if the lease is the one that counts.
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

/// [`StoreError::Held`] when another process that lives holds the session, [`StoreError::NotFound`]
/// when there is no such session.
pub(super) fn refuse_while_held(
    connection: &Connection,
    id: &SessionId,
    me: &Presence,
) -> Result<(), StoreError> {
    let leased = connection
        .prepare_cached(
            "SELECT lease_host, lease_pid, lease_start, strftime('%Y-%m-%dT%H:%M:%SZ', lease_since / 1000, 'unixepoch'), \
             lease_seen, iif(lease_lock_epoch = lease_epoch, lease_lock, NULL), lease_machine FROM sessions WHERE id = ?1",
        )
        .and_then(|mut statement| statement.query_row([id.as_str()], leased).optional())
        .map_err(|error| failed(&error))?
        .ok_or_else(|| StoreError::NotFound(id.clone()))?;
    match leased {
        Some(other) if !is_own(&other, me) && lives(&other, me) => {
            let holder = Holding { pid: other.pid, host: other.host, since: other.since };
            Err(StoreError::Held { session: id.clone(), holder })
        }
        _ => Ok(()),
    }
}

fn leased(row: &rusqlite::Row<'_>) -> rusqlite::Result<Option<Leased>> {
    let Some(host) = row.get::<_, Option<String>>(0)? else { return Ok(None) };
    // A program that knows no locks, and had the file open before it had columns for them, leaves
    // the lock of the lease before: it does not count.
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

fn is_own(leased: &Leased, me: &Presence) -> bool {
    let holder = &me.holder;
    match &leased.lock {
        Some((lock, _)) => me.is_own(lock),
        None => (leased.pid, leased.start, &leased.host) == (holder.pid, holder.start, &holder.machine.host),
    }
}

/// Whether the holder lives: what its lock says, and where none says anything, what its number and
/// its start say.
fn lives(leased: &Leased, me: &Presence) -> bool {
    let Some((lock, machine)) = &leased.lock else { return lives_by_number(leased, me) };
    match me.look(lock) {
        Lock::Taken => true,
        Lock::Free if me.holder.machine.has_one_of(machine) => false,
        // The locks of another machine may not reach this one.
        Lock::Free => wrote_lately(leased),
        Lock::Unknown => lives_by_number(leased, me),
    }
}

fn lives_by_number(leased: &Leased, me: &Presence) -> bool {
    let here = &me.holder.machine;
    match here.processes.state(leased.pid) {
        // The holder itself, whatever the host is called by now.
        Some(found) if leased.start != 0 && found.start == leased.start => !found.ended,
        _ if leased.host != here.host => wrote_lately(leased),
        // Another process of its number, unless the holder could not tell when it started.
        Some(found) => leased.start == 0 && !found.ended,
        None => exists(leased.pid),
    }
}

/// Whether a process of this number is there, where nothing more is told of it. Somebody else's may
/// not be signalled, but it is there.
fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(rustix::io::Errno::SRCH))
}

fn wrote_lately(leased: &Leased) -> bool {
    now() - leased.seen < REMOTE_HOLDER_MS
}

/// A holder of another machine counts from its last write on. One that lies in the future, by a
/// clock that was set back or that is wrong there, counts from now on: no session is held for as
/// long as a clock is wrong.
fn forget_the_future(connection: &Connection, id: &SessionId) -> Result<(), StoreError> {
    connection
        .prepare_cached("UPDATE sessions SET lease_seen = ?2 WHERE id = ?1 AND lease_seen > ?2")
        .and_then(|mut statement| statement.execute((id.as_str(), now())))
        .map_err(|error| failed(&error))?;
    Ok(())
}
