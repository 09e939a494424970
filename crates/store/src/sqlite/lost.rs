//! Sessions that this process has open and whose log is no longer in the file: it was deleted,
//! moved or replaced, or a part of it was lost to damage.

use agent::{SessionId, StoreError};
use rusqlite::{Connection, OptionalExtension as _};
use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Which sessions cannot go on.
pub(super) struct Lost {
    path: PathBuf,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Whether the file was ever replaced.
    replaced: bool,
    /// Whether it was replaced and what is there now was not compared yet.
    pending: bool,
    /// The sessions that somebody held in the file before, each with the number of its last event;
    /// until they are found in the next one.
    before: HashMap<String, u64>,
    /// The sessions whose log is not what was written.
    gone: HashSet<String>,
}

impl Lost {
    pub(super) fn new(path: &Path) -> Self {
        Self { path: path.to_owned(), state: Mutex::default() }
    }

    /// Takes down what was held in a file that is no longer at its path.
    pub(super) fn left(&self, old: &Connection) {
        let mut state = self.state();
        (state.replaced, state.pending) = (true, true);
        match held(old) {
            Ok(held) => state.before.extend(held),
            // What was lost of it is marked in the file that took its place.
            Err(error) => tracing::debug!(%error, "the sessions of the old file could not be read"),
        }
    }

    /// Finds out which of them are in the file that is there now.
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

    /// Refuses a session whose log is gone.
    pub(super) fn check(&self, id: &SessionId) -> Result<(), StoreError> {
        match self.state().gone.contains(id.as_str()) {
            true => Err(self.error(id)),
            false => Ok(()),
        }
    }

    /// The error of an append, in the light of what became of the file.
    pub(super) fn explain(&self, error: StoreError) -> StoreError {
        match error {
            StoreError::NotFound(id) if self.state().replaced => self.error(&id),
            other => other,
        }
    }

    /// A session was opened anew: what is in the file now is what its owner goes on from.
    pub(super) fn found(&self, id: &SessionId) {
        self.state().gone.remove(id.as_str());
    }

    /// The log of a session is gone.
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

/// The sessions that somebody holds, each with the number of its last event.
fn held(connection: &Connection) -> rusqlite::Result<HashMap<String, u64>> {
    let mut held = connection.prepare("SELECT id, last_seq FROM sessions WHERE lease_owner IS NOT NULL")?;
    let held = held.query_map([], |row| Ok((row.get(0)?, row.get::<_, i64>(1)?.cast_unsigned())))?;
    held.collect()
}
