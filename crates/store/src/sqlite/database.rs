//! Opens the session database: creates what is missing, and salvages a damaged file.

use super::{
    connection::{SCHEMA_VERSION, connect, open_raw, prepare, version},
    failure::failed_at,
    file_state::{self, FileState, Identity},
    quarantine, salvage,
};
use crate::{limits::OPENINGS, server_state::Migrated};
use agent::StoreError;
use rusqlite::Connection;
use std::{
    fs::DirBuilder,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
};

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

/// Creates the file, or brings the schema of an older program up to date.
pub(super) fn migrate(path: &Path) -> Result<Migrated, StoreError> {
    let before = match file_state::length(path) {
        None | Some(0) => 0,
        Some(_) => open_raw(path)
            .and_then(|connection| version(&connection))
            .map_err(|error| failed_at(path, &error))
            .or_else(|error| match error {
                // Opening it salvages what can be read.
                StoreError::Damaged(_) => Ok(0),
                other => Err(other),
            })?,
    };
    let database = open(path)?;
    let after = version(&database.connection).map_err(|error| failed_at(path, &error))?;
    let number = |version| i32::try_from(version).unwrap_or(i32::MAX);
    Ok(Migrated { from: number(before), to: number(after) })
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

/// Handles a file of 0 bytes: warns before a fresh store is begun in it. Its write-ahead log may
/// still contain sessions, which SQLite would delete; those are salvaged.
fn handle_empty_file(path: &Path) -> Result<(), StoreError> {
    {
        // Another process may be creating the file; it has finished when we get this lock.
        let _alone = quarantine::lock(path).ok();
        if file_state::length(path) != Some(0) {
            return Ok(());
        }
        if !file_state::has_log_content(path) {
            if !file_state::is_unfinished(path) {
                tracing::warn!(
                    "{} was an empty file (0 bytes), and a new session store was created in it; if it contained sessions, restore \
                     the file from a backup",
                    path.display()
                );
            }
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
