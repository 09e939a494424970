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
pub(super) struct Lost {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whether the file was ever replaced.
    replaced: bool,
    /// Whether it was replaced and the new file has not been checked yet.
    pending: bool,
    /// The held sessions of the previous file with the number of their last event, until the new
    /// file is checked for them.
    before: HashMap<String, u64>,
    /// The sessions whose log differs from what was written.
    gone: HashSet<String>,
}

impl Lost {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), state: Mutex::default() }
    }

    /// Stores the held sessions of a file that is no longer at its path.
    pub(super) fn left(&self, old: &Connection) {
        let mut state = self.state();
        (state.replaced, state.pending) = (true, true);
        match held(old) {
            Ok(held) => state.before.extend(held),
            // The replacement contains marks for what was lost.
            Err(error) => tracing::debug!(%error, "the sessions of the old file could not be read"),
        }
    }

    /// Checks which of them are in the file that is at the path now.
    pub(super) fn entered(&self, new: &Connection) -> rusqlite::Result<()> {
        let mut state = self.state();
        if !state.pending {
            return Ok(());
        }
        let mut marked = new.prepare("SELECT session_id FROM salvaged")?;
        let marked: HashSet<String> =
            marked.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        if state.before.is_empty() {
            state.gone.extend(marked);
        }
        let mut last = new.prepare("SELECT last_seq FROM sessions WHERE id = ?1")?;
        for (id, before) in std::mem::take(&mut state.before) {
            let now: Option<i64> = last.query_row([&id], |row| row.get(0)).optional()?;
            if now.map(i64::cast_unsigned) != Some(before) {
                state.gone.insert(id);
            }
        }
        state.pending = false;
        Ok(())
    }

    /// Returns an error if the log of a session is gone.
    pub(super) fn check(&self, id: &SessionId) -> Result<(), StoreError> {
        match self.state().gone.contains(id.as_str()) {
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
    pub(super) fn found(&self, id: &SessionId) {
        self.state().gone.remove(id.as_str());
    }

    /// Returns the error for a session whose log is gone.
    pub(super) fn error(&self, id: &SessionId) -> StoreError {
        StoreError::Io(format!(
            "the log of session {id} is gone: {} was deleted, moved, replaced or damaged while it was in use, so what is said in this \
             session is no longer stored; load the session again for what is left of it, or start a new one",
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
