//! Connections to a database file: their settings and the schema.

use super::failure::failed_at;
use crate::limits::{BUSY_STEP, BUSY_TIMEOUT, CACHE_KIB, CHECKPOINT_PAGES};
use agent::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::{fs::OpenOptions, io, os::unix::fs::OpenOptionsExt as _, path::Path, time::Instant};

/// The migration to each schema version from the one before; the first one creates the schema. A
/// released step must never change.
const MIGRATIONS: [&str; 13] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
    include_str!("schema/8.sql"),
    include_str!("schema/9.sql"),
    include_str!("schema/10.sql"),
    include_str!("schema/11.sql"),
    include_str!("schema/12.sql"),
    include_str!("schema/13.sql"),
];
/// The schema version that this program reads and writes.
pub(super) const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// Opens the file for reading and writing; creates it if it is missing.
pub(super) fn connect(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    match Connection::open_with_flags(path, flags) {
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::CannotOpen) => {
            create(path).map_err(|error| {
                StoreError::Io(format!(
                    "cannot open or create {}: {error}; check the owner of the file and of its directory",
                    path.display()
                ))
            })?;
            Connection::open_with_flags(path, flags)
        }
        other => other,
    }
    .map_err(|error| failed_at(path, &error))
}

/// Opens the file unchanged, for inspection or copying: nothing is created, migrated or repaired.
pub(super) fn open_raw(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    Ok(connection)
}

/// Creates a file with the newest schema, for salvaged data. It is not shared until it is complete,
/// and consists of one file only.
pub(super) fn create_complete(path: &Path) -> Result<Connection, StoreError> {
    let (connection, _) = prepare(connect(path)?).map_err(|error| failed_at(path, &error))?;
    Ok(connection)
}

/// Closes a file after a checkpoint that empties its write-ahead log.
pub(super) fn close(connection: Connection) -> rusqlite::Result<()> {
    connection.execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")?;
    connection.close().map_err(|(_, error)| error)
}

/// Checkpoints the write-ahead log once it is long. SQLite itself would do it inside the commit,
/// before the acknowledgement.
pub(super) fn checkpoint(connection: &Connection) -> rusqlite::Result<()> {
    let pages: i64 =
        connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?.query_row([], |row| row.get(1))?;
    if pages >= CHECKPOINT_PAGES {
        connection.prepare_cached("PRAGMA wal_checkpoint(PASSIVE)")?.query_row([], |_| Ok(()))?;
    }
    Ok(())
}

/// Creates an empty file with mode 0600. SQLite gives its side files the same mode.
fn create(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    Ok(())
}

/// Configures a connection, migrates an older schema, and returns the schema version.
pub(super) fn prepare(mut connection: Connection) -> rusqlite::Result<(Connection, i64)> {
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Set before the first page is read, so that the small cache applies from the start.
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

/// Returns the schema version; 0 for an empty file, or one of another program.
pub(super) fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA user_version", [], |row| row.get(0))
}

/// Creates the schema in an empty file, or migrates an older one. Returns the resulting version, or
/// 0 for another program's file. Another process may do the same concurrently; the second one finds
/// it done. If interrupted, nothing has changed, and the next start repeats it.
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
    for step in MIGRATIONS.iter().skip(done) {
        transaction.execute_batch(step)?;
    }
    transaction.commit()?;
    version(connection)
}

/// Switches to write-ahead logging. SQLite does not wait if two processes try at the same time, so
/// this function does.
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
