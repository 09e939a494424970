//! The two threads of a store: one writes, one reads.

use super::{
    database::{self, Database},
    failure::failed_at,
    search,
    vanished::VanishedSessions,
    worker::{self, Job, Service},
};
use agent::StoreError;
use rusqlite::Connection;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

/// The writer, which also adds words to the search index while its queue is empty.
pub(super) struct Writer {
    pub(super) path: PathBuf,
    pub(super) vanished: Arc<VanishedSessions>,
    /// The database, if it was opened before the thread started.
    pub(super) open: Option<Database>,
    /// Whether events may be missing in the search index because an older program stored them or
    /// they were salvaged.
    pub(super) index_behind: bool,
}

impl Service for Writer {
    fn path(&self) -> &Path {
        &self.path
    }

    fn open(&mut self, old: Option<Database>) -> Result<Database, StoreError> {
        if let Some(old) = old {
            self.vanished.file_replaced(&old.connection);
        }
        let database = match self.open.take() {
            Some(open) => open,
            None => database::open(&self.path)?,
        };
        self.index_behind = true;
        self.vanished.check_new_file(&database.connection).map_err(|error| failed_at(&self.path, &error))?;
        Ok(database)
    }

    fn serve(&self, connection: &mut Connection, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
        worker::commit(connection, jobs)
    }

    fn after_requests(&mut self, connection: &Connection) {
        worker::checkpoint_if_long(connection);
    }

    fn run_idle_work(&mut self, connection: &mut Connection) -> bool {
        self.index_behind = self.index_behind && search::index_in_background(connection);
        self.index_behind
    }
}

/// The reader.
pub(super) struct Reader {
    pub(super) path: PathBuf,
}

impl Service for Reader {
    fn path(&self) -> &Path {
        &self.path
    }

    fn open(&mut self, _old: Option<Database>) -> Result<Database, StoreError> {
        database::open_to_read(&self.path)
    }

    fn serve(&self, connection: &mut Connection, jobs: &mut [Box<dyn Job>]) -> Result<(), StoreError> {
        worker::read(connection, jobs);
        Ok(())
    }
}
