//! Opening the file: its folder, its settings, its schema, and what its errors mean.

use super::quarantine;
use crate::limits::{BUSY_STEP, BUSY_TIMEOUT, CACHE_KIB, CHECKPOINT_PAGES};
use agent::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::{
    fs::{DirBuilder, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::Path,
    time::Instant,
};

/// What makes each version of the schema out of the one before; the first makes it out of nothing. A step that was released does not
/// change any more.
const STEPS: [&str; 6] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
];
/// The schema this program reads and writes.
const SCHEMA_VERSION: i64 = STEPS.len() as i64;

/// Opens the file to write, and makes what is missing. A file that is damaged as a whole is moved aside, and a fresh one begun.
pub(super) fn open(path: &Path) -> Result<Connection, StoreError> {
    let (connection, version) = attempt(path)?;
    check(version, path)?;
    Ok(connection)
}

/// Opens the file to read. Never changes a session, though it may be the one that makes the file. A file of a newer schema can be read, as far
/// as that one has what this program asks for.
pub(super) fn open_to_read(path: &Path) -> Result<Connection, StoreError> {
    let (connection, version) = attempt(path)?;
    if version <= SCHEMA_VERSION {
        check(version, path)?;
    }
    connection.execute_batch("PRAGMA query_only = ON").map_err(|error| failed(&error))?;
    Ok(connection)
}

/// Opens the file, whatever its schema; the second is its version.
fn attempt(path: &Path) -> Result<(Connection, i64), StoreError> {
    {
        let _in_place = quarantine::share(path)?;
        match prepare(connect(path)?) {
            Err(error) if is_damaged(&error) => {}
            other => return other.map_err(|error| failed(&error)),
        }
    }
    let _alone = quarantine::lock(path)?;
    // Whoever held the lock before may have done it.
    match prepare(connect(path)?) {
        Err(error) if is_damaged(&error) => quarantine::move_aside(path, &error)?,
        other => return other.map_err(|error| failed(&error)),
    }
    prepare(connect(path)?).map_err(|error| failed(&error))
}

fn is_damaged(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match Connection::open_with_flags(path, flags) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {
            create(path).map_err(|error| {
                StoreError::Io(format!("cannot create {}: {error}; check the folder's owner", path.display()))
            })?;
            Connection::open_with_flags(path, flags)
        }
        other => other,
    }
    .map_err(|error| StoreError::Io(format!("cannot open {}: {error}", path.display())))
}

/// Moves the write-ahead log into the database once it is long. SQLite would do it inside the commit, before the answer.
pub(super) fn checkpoint(connection: &Connection) -> rusqlite::Result<()> {
    let pages: i64 =
        connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?.query_row([], |row| row.get(1))?;
    if pages >= CHECKPOINT_PAGES {
        connection.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?.query_row([], |_| Ok(()))?;
    }
    Ok(())
}

/// What an error of SQLite means to the caller, and what can be done.
pub(super) fn failed(error: &rusqlite::Error) -> StoreError {
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => StoreError::Format(format!(
            "the session database is damaged ({error}); move it away and start again, or put a backup in its place"
        )),
        Some(ErrorCode::DiskFull) => StoreError::Io("the disk is full; free some space".to_owned()),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Io(format!(
            "another process has locked the session database for more than {} s; try again, or end that process",
            BUSY_TIMEOUT.as_secs()
        )),
        Some(ErrorCode::ReadOnly) => {
            StoreError::Io("the session database cannot be written; check the file's owner".to_owned())
        }
        _ => StoreError::Io(error.to_string()),
    }
}

/// Makes the folder and an empty file that nobody else can read. SQLite gives its side files the same mode.
fn create(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    Ok(())
}

/// Sets a connection up and returns its schema's version, brought up to date where it was older.
fn prepare(mut connection: Connection) -> rusqlite::Result<(Connection, i64)> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Before the first page is read, so that it is read into the small cache.
    connection.execute_batch(&format!(
        "PRAGMA cache_size = -{CACHE_KIB}; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; \
         PRAGMA wal_autocheckpoint = 0;"
    ))?;
    let version = match version(&connection)? {
        older if older < SCHEMA_VERSION => migrate(&mut connection)?,
        version => version,
    };
    Ok((connection, version))
}

/// Whether this program may write to a file of this version.
fn check(version: i64, path: &Path) -> Result<(), StoreError> {
    match version {
        SCHEMA_VERSION => Ok(()),
        0 => Err(StoreError::Format(format!(
            "{} is a database of another program; choose another file for the sessions",
            path.display()
        ))),
        newer => Err(StoreError::Format(format!(
            "{} has schema {newer}, and this program knows {SCHEMA_VERSION} at the most: a newer version made it; sessions can be listed, \
             shown and exported, and nothing can be written: upgrade, or choose another file for the sessions",
            path.display()
        ))),
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Makes the schema in an empty file, or brings an older one up to date, and returns the version that is there then; 0 for another
/// program's file. Another process may be doing the same; the one that comes second finds it done. Cut off anywhere, nothing has
/// happened, and it is done again at the next start.
fn migrate(connection: &mut Connection) -> rusqlite::Result<i64> {
    if version(connection)? == 0 {
        let tables: i64 = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables > 0 && version(connection)? == 0 {
            return Ok(0);
        }
        write_ahead(connection)?;
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let done = usize::try_from(version(&transaction)?).unwrap_or_default();
    for step in STEPS.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    transaction.commit()?;
    version(connection)
}

/// Switches to write-ahead logging. SQLite does not wait when two processes try at the same time, so this does.
fn write_ahead(connection: &Connection) -> rusqlite::Result<()> {
    let begun = Instant::now();
    loop {
        match connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(())) {
            Err(error)
                if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy)
                    && begun.elapsed() < BUSY_TIMEOUT =>
            {
                std::thread::sleep(BUSY_STEP);
            }
            other => return other,
        }
    }
}
