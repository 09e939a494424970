//! Sessions in one SQLite file.
//!
//! One thread owns the connection that writes, another, once something is read, the one that reads. Writes that wait at the same time share one
//! commit, and with it one flush to the disk; each is answered after that commit, never before.

mod contents;
mod cursor;
mod database;
mod holder;
mod lease;
mod machine;
mod presence;
mod quarantine;
mod read;
mod search;
mod worker;
mod write;

pub use holder::Holder;
pub use machine::Machine;

use crate::stored;
use agent::{
    ContentHash, Lease, ListQuery, NewSession, SearchHit, SearchQuery, SessionEvent, SessionId, SessionPage,
    SessionRecord, SessionStore, StoreError,
};
use async_trait::async_trait;
use presence::Presence;
use rusqlite::Connection;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
};
use system::AbsPath;
use worker::{Durable, Worker};

/// A [`SessionStore`] in one SQLite file, which several processes may use at once.
///
/// What is acknowledged is on disk. Dropping the store does not wait: what was acknowledged needs no closing.
pub struct SqliteStore {
    writer: Worker,
    reader: Reader,
    presence: Arc<Presence>,
}

impl SqliteStore {
    /// Opens the database at `path`, or creates it with its folder (0700) and file (0600).
    ///
    /// Blocks for about a millisecond when the file exists; for the flushes to the disk when it must be created; for 5 s at the most when
    /// another process holds its lock.
    ///
    /// # Errors
    /// [`StoreError::Format`] when the file is newer than this program, or no database of ours; [`StoreError::Io`] when it cannot be
    /// made, opened or locked.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_as(path, Holder::this_process())
    }

    /// Opens the database like [`SqliteStore::open`], its leases to be taken in another name than this process's own.
    ///
    /// # Errors
    /// As [`SqliteStore::open`].
    pub fn open_as(path: impl AsRef<Path>, holder: Holder) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        let connection = database::open(&path)?;
        Self::with(path, holder, move || Ok(connection))
    }

    /// Opens the database on a thread of its own and returns at once, so that a start does not wait for the disk. What
    /// [`SqliteStore::open`] would have said, every later call says.
    ///
    /// # Errors
    /// [`StoreError::Io`] when there can be no further thread.
    pub fn open_in_background(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        let opened = path.clone();
        let store = Self::with(path, Holder::this_process(), move || database::open(&opened))?;
        store.writer.wake(write::warm);
        Ok(store)
    }

    fn with(
        path: PathBuf,
        holder: Holder,
        writing: impl FnOnce() -> Result<Connection, StoreError> + Send + 'static,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            writer: Worker::spawn("store-writer", writing, worker::commit)?,
            presence: Arc::new(Presence::new(&path, holder)),
            reader: Reader { path, worker: OnceLock::new() },
        })
    }
}

#[async_trait]
impl SessionStore for SqliteStore {
    async fn create(&self, session: NewSession) -> Result<Lease, StoreError> {
        let me = Arc::clone(&self.presence);
        // Nothing was said in it yet: what is said first takes it to the disk.
        let create = move |connection: &Connection| write::create(connection, &session, &me);
        self.writer.call_durably(Durable::WithTheNext, create).await
    }

    async fn get(&self, id: &SessionId) -> Result<SessionRecord, StoreError> {
        let id = id.clone();
        self.reader.call(move |connection| read::get(connection, &id)).await
    }

    async fn acquire(&self, id: &SessionId, take_over: bool) -> Result<Lease, StoreError> {
        let (id, me) = (id.clone(), Arc::clone(&self.presence));
        // A refusal is what came of it, and nothing that makes it void.
        self.writer.call(move |connection| Ok(lease::acquire(connection, &id, &me, take_over))).await?
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        let lease = lease.clone();
        self.writer.call(move |connection| lease::release(connection, &lease)).await
    }

    /// Appends events. One that is not [durable](SessionEvent::is_durable) has no business here: a debug build panics, a
    /// release build leaves it out.
    async fn append(&self, lease: &Lease, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        let lease = lease.clone();
        let changes = write::Changes::of(&events);
        let mut rows = Vec::with_capacity(events.len());
        let mut contents = Vec::new();
        for mut event in events {
            contents.extend(event.snapshots_mut().filter_map(|snapshot| {
                let bytes = snapshot.bytes.take()?;
                Some((snapshot.hash.clone(), bytes))
            }));
            debug_assert!(event.is_durable(), "not to be stored: {event:?}");
            if event.is_durable() {
                rows.extend(stored::encode(event));
            }
        }
        self.writer
            .call(move |connection| {
                let last = write::append(connection, &lease, &rows, &changes)?;
                contents::keep(connection, &lease.session, &contents)?;
                Ok(last)
            })
            .await
    }

    async fn events(
        &self,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, SessionEvent)>, StoreError> {
        let of = id.clone();
        let page = self.reader.call(move |connection| read::events(connection, &of, after, limit)).await?;
        if !page.damaged.is_empty() {
            let of = id.clone();
            // The events are read; that the damage is marked for the next reader may fail.
            let marked =
                self.writer.call(move |connection| write::mark_damaged(connection, &of, &page.damaged)).await;
            if let Err(error) = marked {
                tracing::warn!(session = %id, %error, "damaged events could not be marked");
            }
        }
        Ok(page.events)
    }

    async fn content(&self, id: &SessionId, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        let (id, hash) = (id.clone(), hash.clone());
        self.reader.call(move |connection| contents::get(connection, &id, &hash)).await
    }

    async fn set_directories(&self, lease: &Lease, folders: Vec<AbsPath>) -> Result<(), StoreError> {
        let lease = lease.clone();
        self.writer.call(move |connection| write::set_directories(connection, &lease, &folders)).await
    }

    async fn fork(&self, from: &SessionId, session: NewSession) -> Result<Lease, StoreError> {
        let (from, me) = (from.clone(), Arc::clone(&self.presence));
        self.writer.call(move |connection| write::fork(connection, &from, &session, &me)).await
    }

    async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let (id, me) = (id.clone(), Arc::clone(&self.presence));
        self.writer.call(move |connection| write::delete(connection, &id, &me)).await
    }

    async fn set_archived(&self, id: &SessionId, archived: bool) -> Result<(), StoreError> {
        let (id, me) = (id.clone(), Arc::clone(&self.presence));
        self.writer.call(move |connection| write::set_archived(connection, &id, &me, archived)).await
    }

    async fn list(&self, query: ListQuery) -> Result<SessionPage, StoreError> {
        self.reader.call(move |connection| read::list(connection, &query)).await
    }

    async fn search(&self, query: SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        // In steps, so that whoever has something to store need not wait for all of it.
        while self.writer.call(search::take_up).await? {}
        self.reader.call(move |connection| search::find(connection, &query)).await
    }
}

/// The thread that reads. It begins with the first thing that is read: most sessions are never read back by the process that made them.
struct Reader {
    path: PathBuf,
    worker: OnceLock<Result<Worker, StoreError>>,
}

impl Reader {
    async fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let spawn = || {
            let path = self.path.clone();
            Worker::spawn("store-reader", move || database::open_to_read(&path), worker::answer)
        };
        self.worker.get_or_init(spawn).as_ref().map_err(StoreError::clone)?.call(work).await
    }
}
