//! Opens the database file: its directory, its settings, its schema.

pub(super) use super::failure::failed;
use super::{
    failure::failed_at,
    file_state::{self, FileState, Identity},
    quarantine, salvage,
};
use crate::limits::{BUSY_STEP, BUSY_TIMEOUT, CACHE_KIB, CHECKPOINT_PAGES, OPENINGS};
use agent::StoreError;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::{
    fs::{DirBuilder, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    time::Instant,
};

/// The migration to each schema version from the one before; the first one creates the schema. A
/// released step must never change.
const MIGRATIONS: [&str; 7] = [
    include_str!("schema/1.sql"),
    include_str!("schema/2.sql"),
    include_str!("schema/3.sql"),
    include_str!("schema/4.sql"),
    include_str!("schema/5.sql"),
    include_str!("schema/6.sql"),
    include_str!("schema/7.sql"),
];
/// The schema version that this program reads and writes.
pub(super) const SCHEMA_VERSION: i64 = MIGRATIONS.len() as i64;

/// An open file.
pub(super) struct Database {
    pub(super) connection: Connection,
    path: PathBuf,
    identity: Identity,
    /// Its write-ahead log.
    log: Option<Identity>,
}

impl Database {
    /// Returns the identity of the file.
    pub(super) fn identity(&self) -> Identity {
        self.identity
    }

    /// Returns the state of the file at its path since it was opened, including its write-ahead
    /// log.
    pub(super) fn file_state(&self) -> FileState {
        match file_state::file_state(&self.path, self.identity) {
            FileState::Kept if self.log.is_some() && self.current_log() != self.log => FileState::Moved,
            other => other,
        }
    }

    /// Prepares to open the file that is at the path now: saves what is only in this file's log,
    /// and prevents the log from being taken for that of another file.
    pub(super) fn preserve_log(&self) -> Result<(), StoreError> {
        let _alone = quarantine::lock(&self.path).ok();
        let log = self.current_log();
        match file_state::file_state(&self.path, self.identity) {
            // Only the log was deleted, and no other was created: this connection still has it
            // open.
            FileState::Kept if log.is_none() => self
                .connection
                .query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
                .map_err(|error| failed_at(&self.path, &error)),
            FileState::Moved if log.is_some() && log == self.log => quarantine::set_log_aside(&self.path),
            _ => Ok(()),
        }
    }

    fn current_log(&self) -> Option<Identity> {
        file_state::identity(&file_state::beside(&self.path, "-wal"))
    }
}

/// Opens the file for writing and creates what is missing. If the file is damaged as a whole,
/// salvages what can be read.
pub(super) fn open(path: &Path) -> Result<Database, StoreError> {
    let (database, version) = open_any_version(path)?;
    check(version, path)?;
    Ok(database)
}

/// Opens the file for reading. Never changes a session, but creates the file if it is missing. A
/// file with a newer schema can be read as far as it has the expected tables and columns.
pub(super) fn open_to_read(path: &Path) -> Result<Database, StoreError> {
    let (database, version) = open_any_version(path)?;
    if version <= SCHEMA_VERSION {
        check(version, path)?;
    }
    database.connection.execute_batch("PRAGMA query_only = ON").map_err(|error| failed_at(path, &error))?;
    Ok(database)
}

/// Opens the file with any schema, and returns its version too.
fn open_any_version(path: &Path) -> Result<(Database, i64), StoreError> {
    create_directory(path)?;
    match file_state::length(path) {
        Some(0) => handle_empty_file(path)?,
        None => handle_missing_file(path)?,
        Some(_) => {}
    }
    match open_in_place(path) {
        Err(StoreError::Damaged(what)) => tracing::warn!("{what}"),
        other => return other,
    }
    salvage::recover(path, None)?;
    open_in_place(path)
}

/// Opens the file while no other process can set it aside.
fn open_in_place(path: &Path) -> Result<(Database, i64), StoreError> {
    let _shared = quarantine::share(path);
    for _ in 0..OPENINGS {
        let opened = connect(path)?;
        let identity = file_state::identity(path);
        let (connection, version) = prepare(opened).map_err(|error| failed_at(path, &error))?;
        if let Some(identity) = identity
            && file_state::file_state(path, identity) != FileState::Moved
        {
            let log = file_state::identity(&file_state::beside(path, "-wal"));
            return Ok((Database { connection, path: path.to_owned(), identity, log }, version));
        }
        tracing::debug!("the session database was replaced while it was opened");
    }
    Err(StoreError::Io(format!(
        "{} was replaced each time it was opened; stop the program that replaces it, and try again",
        path.display()
    )))
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

/// Handles a file of 0 bytes: warns before a fresh store is begun in it. Its write-ahead log may
/// still contain sessions, which SQLite would delete; those are salvaged.
fn handle_empty_file(path: &Path) -> Result<(), StoreError> {
    {
        // Another process may be creating the file; it has finished when we get this lock.
        let _alone = quarantine::lock(path).ok();
        if file_state::length(path) != Some(0) {
            return Ok(());
        }
        if file_state::length(&file_state::beside(path, "-wal")).unwrap_or_default() == 0 {
            tracing::warn!(
                "{} was an empty file (0 bytes), and a new session store was created in it; if it contained sessions, restore the \
                 file from a backup",
                path.display()
            );
            return Ok(());
        }
    }
    tracing::warn!(
        "{} was truncated to 0 bytes; the sessions in its write-ahead log are salvaged",
        path.display()
    );
    salvage::recover(path, None).map(drop)
}

/// Handles a missing file: finishes an interrupted replacement, and sets aside a write-ahead log
/// left by a deleted file, so that it is not taken for the log of the next one.
fn handle_missing_file(path: &Path) -> Result<(), StoreError> {
    // On a file system without locks, no file was ever set aside.
    let Ok(_alone) = quarantine::lock(path) else { return Ok(()) };
    quarantine::finish(path)?;
    let has_log = file_state::identity(&file_state::beside(path, "-wal")).is_some();
    if file_state::identity(path).is_none() && has_log {
        quarantine::set_log_aside(path)?;
    }
    Ok(())
}

fn connect(path: &Path) -> Result<Connection, StoreError> {
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

/// Creates the directory with mode 0700.
fn create_directory(path: &Path) -> Result<(), StoreError> {
    let Some(directory) = path.parent() else { return Ok(()) };
    DirBuilder::new().recursive(true).mode(0o700).create(directory).map_err(|error| {
        StoreError::Io(format!(
            "cannot create the directory {} of the session database: {error}; check what is at that path and who owns it",
            directory.display()
        ))
    })
}

/// Creates an empty file with mode 0600. SQLite gives its side files the same mode.
fn create(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(path)?;
    Ok(())
}

/// Configures a connection, migrates an older schema, and returns the schema version.
fn prepare(mut connection: Connection) -> rusqlite::Result<(Connection, i64)> {
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

/// Returns an error unless this program may write to a file with this schema version.
fn check(version: i64, path: &Path) -> Result<(), StoreError> {
    match version {
        SCHEMA_VERSION => Ok(()),
        0 => Err(StoreError::Format(format!(
            "{} is a database of another program; choose another file for the sessions",
            path.display()
        ))),
        newer => Err(StoreError::Format(format!(
            "{} has schema {newer}, and this program supports schemas up to {SCHEMA_VERSION}: a newer version created it. Sessions can be \
             listed, shown and exported, but not written; upgrade, or choose another file for the sessions",
            path.display()
        ))),
    }
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
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
