//! Salvages a damaged file: what can be read is copied to a fresh file, session by session. The
//! fresh file takes its place, and the damaged one is set aside.

mod copy;
mod pages;
mod rebuild;
mod rows;

use super::{
    connection::{self, SCHEMA_VERSION},
    failure::{failed_at, is_damaged},
    file_state::{self, Identity, beside},
    quarantine,
};
use agent::StoreError;
use pages::Pages;
use rusqlite::Connection;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// A session that lost a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutSession {
    /// Its id.
    pub id: String,
    /// How many of its events are kept: all up to the first gap.
    pub kept: u64,
    /// What is lost, for display.
    pub lost: String,
}

/// The result of salvaging a damaged file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Salvaged {
    /// The number of complete sessions.
    pub whole: usize,
    /// The sessions that lost a part.
    pub cut: Vec<CutSession>,
    /// The path of the damaged file.
    pub aside: PathBuf,
}

impl Salvaged {
    /// Returns a summary for display.
    pub fn summary(&self, path: &Path) -> String {
        let cut = match self.cut.len() {
            0 => "no session lost anything".to_owned(),
            1 => "one session lost a part".to_owned(),
            some => format!("{some} sessions lost a part"),
        };
        let cut_off: Vec<_> = self.cut.iter().map(|cut| format!("{}: {}", cut.id, cut.lost)).collect();
        let (between, named) =
            if cut_off.is_empty() { ("", String::new()) } else { (": ", cut_off.join("; ")) };
        format!(
            "{} was damaged; {} sessions are complete, and {cut}{between}{named}. The damaged file was not deleted but renamed to {}",
            path.display(),
            self.whole,
            self.aside.display()
        )
    }
}

/// Replaces the file at `path` by a fresh one with what can be read of it. Returns `None` if
/// another process has done so already: the file is no longer the one that was found damaged.
///
/// The file is unchanged if this fails.
pub(super) fn recover(path: &Path, damaged: Option<Identity>) -> Result<Option<Salvaged>, StoreError> {
    let _alone = quarantine::lock(path)?;
    quarantine::finish(path)?;
    match damaged {
        Some(damaged) if file_state::identity(path) != Some(damaged) => return Ok(None),
        None if !is_unreadable(path) => return Ok(None),
        _ => {}
    }
    let _unchanged = block_writers(path)?;
    let fresh = beside(path, ".salvaging");
    let salvaged = discard(&fresh)
        .and_then(|()| copy_readable(path, &fresh))
        .and_then(|salvaged| Ok(Salvaged { aside: quarantine::replace(path, &fresh)?, ..salvaged }));
    match salvaged {
        Ok(salvaged) => {
            mark(path, &salvaged)?;
            tracing::warn!("{}", salvaged.summary(path));
            Ok(Some(salvaged))
        }
        Err(error) => {
            let _ = discard(&fresh);
            Err(error)
        }
    }
}

/// Returns whether the file cannot be opened as it is.
fn is_unreadable(path: &Path) -> bool {
    file_state::length(path) == Some(0)
        || connection::open_raw(path).is_ok_and(|connection| {
            let tables = connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()));
            tables.is_err_and(|error| is_damaged(&error))
        })
}

/// Prevents other processes from writing to the file, if enough of it can be read for that. An
/// empty file is not opened, since SQLite would delete its log.
fn block_writers(path: &Path) -> Result<Option<Connection>, StoreError> {
    if file_state::length(path) == Some(0) {
        return Ok(None);
    }
    let connection = connection::open_raw(path).map_err(|error| failed_at(path, &error))?;
    match connection.execute_batch("BEGIN IMMEDIATE") {
        Err(error) if !is_damaged(&error) => Err(failed_at(path, &error)),
        _ => Ok(Some(connection)),
    }
}

/// Copies what can be read to a new file.
fn copy_readable(path: &Path, fresh: &Path) -> Result<Salvaged, StoreError> {
    let unreadable = |error: io::Error| {
        StoreError::Io(format!(
            "{} is damaged and cannot be read: {error}; check the disk it is on",
            path.display()
        ))
    };
    let pages = Pages::open(path).map_err(unreadable)?;
    match pages.schema_version() {
        Some(0) => return Err(foreign_database(path)),
        Some(newer) if newer > SCHEMA_VERSION => {
            return Err(StoreError::Format(format!(
                "{} is damaged, and a newer version created it (schema {newer}); upgrade to repair it",
                path.display()
            )));
        }
        _ => {}
    }
    let mut connection = connection::create_complete(fresh)?;
    let sql = |error: rusqlite::Error| failed_at(fresh, &error);
    let transaction = connection.transaction().map_err(sql)?;
    let found = copy::copy(&pages, &transaction).map_err(sql)?;
    let salvaged = rebuild::rebuild_sessions(&transaction, &found).map_err(sql)?;
    transaction.commit().map_err(sql)?;
    connection::close(connection).map_err(sql)?;
    Ok(salvaged)
}

fn foreign_database(path: &Path) -> StoreError {
    StoreError::Format(format!(
        "{} is a damaged database of another program; choose another file for the sessions",
        path.display()
    ))
}

/// Stores the name of the set-aside file with the sessions that lost a part.
fn mark(path: &Path, salvaged: &Salvaged) -> Result<(), StoreError> {
    let connection = connection::open_raw(path).map_err(|error| failed_at(path, &error))?;
    let name = salvaged.aside.file_name().unwrap_or_default().to_string_lossy();
    connection
        .execute("UPDATE salvaged SET file = ?1 WHERE file = ''", [name])
        .map_err(|error| failed_at(path, &error))?;
    Ok(())
}

/// Removes an unfinished copy.
#[expect(clippy::disallowed_methods, reason = "the program's own file, not one of the workspace")]
fn discard(fresh: &Path) -> Result<(), StoreError> {
    for suffix in ["", "-wal", "-shm", "-journal"] {
        match fs::remove_file(beside(fresh, suffix)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::Io(format!(
                    "cannot remove {}: {error}; remove it yourself",
                    fresh.display()
                )));
            }
            _ => {}
        }
    }
    Ok(())
}
