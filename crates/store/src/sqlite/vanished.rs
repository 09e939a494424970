//! Open sessions of this process whose log is no longer in the file, because the file was deleted,
//! moved or replaced, or because the log was partly lost to damage.

use agent::{SessionId, StoreError};
use rusqlite::{Connection, OptionalExtension as _};
use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// The sessions that cannot continue.
pub(super) struct VanishedSessions {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whether the file was ever replaced.
    replaced: bool,
    /// Whether it was replaced and the new file has not been checked yet.
    unchecked: bool,
    /// The held sessions of the previous file with the number of their last event, until the new
    /// file is checked for them.
    expected: HashMap<String, u64>,
    /// The sessions whose log differs from what was written.
    vanished: HashSet<String>,
}

impl VanishedSessions {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), state: Mutex::default() }
    }

    /// Stores the held sessions of a file that is no longer at its path.
    pub(super) fn file_replaced(&self, old: &Connection) {
        let mut state = self.state();
        (state.replaced, state.unchecked) = (true, true);
        match held(old) {
            Ok(held) => state.expected.extend(held),
            // The replacement contains marks for what was lost.
            Err(error) => tracing::debug!(%error, "the sessions of the old file could not be read"),
        }
    }

    /// Checks which of them are in the file that is at the path now.
    pub(super) fn check_new_file(&self, new: &Connection) -> rusqlite::Result<()> {
        let mut state = self.state();
        if !state.unchecked {
            return Ok(());
        }
        let mut marked = new.prepare("SELECT session_id FROM salvaged")?;
        let marked: HashSet<String> =
            marked.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        if state.expected.is_empty() {
            state.vanished.extend(marked);
        }
        let mut last = new.prepare("SELECT last_seq FROM sessions WHERE id = ?1")?;
        for (id, expected) in std::mem::take(&mut state.expected) {
            let now: Option<i64> = last.query_row([&id], |row| row.get(0)).optional()?;
            if now.map(i64::cast_unsigned) != Some(expected) {
                state.vanished.insert(id);
            }
        }
        state.unchecked = false;
        Ok(())
    }

    /// Returns an error if the log of a session is gone.
    pub(super) fn check(&self, id: &SessionId) -> Result<(), StoreError> {
        match self.state().vanished.contains(id.as_str()) {
            true => Err(self.error(id)),
            false => Ok(()),
        }
    }

    /// Replaces the error of an append if the file was replaced.
    pub(super) fn explain(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::NotFound(id) if self.state().replaced => self.error(&id),
            other => other,
        }
    }

    /// Called when a session is opened again: its owner continues from what is in the file now.
    pub(super) fn reopened(&self, id: &SessionId) {
        self.state().vanished.remove(id.as_str());
    }

    /// Returns the error for a session whose log is gone.
    pub(super) fn error(&self, id: &SessionId) -> StoreError {
        StoreError::Io(format!(
            "the log of session {id} is gone: {} was deleted, moved, replaced or damaged while it was in use, so this session is no \
             longer stored; load it again to continue from what is left of it, or start a new one",
            self.path.display()
        ))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the held sessions with the number of their last event.
fn held(connection: &Connection) -> rusqlite::Result<HashMap<String, u64>> {
    let mut held = connection.prepare("SELECT id, last_seq FROM sessions WHERE lease_owner IS NOT NULL")?;
    let held = held.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned())))?;
    held.collect()
}
