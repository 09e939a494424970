//! Sessions in one SQLite file.
//!
//! One thread owns the connection that writes; another, started at the first read, owns the one
//! that reads. Writes that are queued together share one commit, and with it one flush to the disk;
//! each is acknowledged after that commit, never before.

mod connection;
mod contents;
mod database;
mod failure;
mod file_state;
mod holder;
mod holder_lock;
mod janitor;
mod lease;
mod machine;
mod memories;
mod quarantine;
mod raw;
mod raw_memories;
mod read;
mod repair;
mod salvage;
mod search;
mod threads;
mod vanished;
mod worker;
mod write;

pub use holder::Holder;
pub use lease::{SessionLease, leases};
pub use machine::Machine;
pub use repair::{CheckDepth, Health, Remedy, Repaired, examine, repair};
pub use salvage::{CutSession, Salvaged};

use crate::{changes::Prepared, janitor::Janitor, server_state::Migrated};
use agent::{
    ContentHash, FolderFacts, KnownFolder, Lease, LeaseHolder, ListQuery, Memories, NewSession, Owner,
    SearchHit, SearchQuery, SessionEvent, SessionId, SessionPage, SessionRecord, SessionStore, StoreError,
    Usage,
};
use async_trait::async_trait;
use database::Database;
use holder_lock::HolderLock;
use janitor::SqliteJanitor;
use memories::{MemoryUser, SqliteMemories};
use rusqlite::Connection;
use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};
use system::AbsPath;
use threads::{Reader, Writer};
use vanished::VanishedSessions;
use worker::{Durability, Worker};

/// A [`SessionStore`] in one SQLite file, which several processes may use at the same time.
///
/// Acknowledged events are on disk. Dropping the store does not block: nothing acknowledged has to
/// be flushed.
pub struct SqliteStore {
    writer: Arc<Worker>,
    reader: Arc<LazyReader>,
    holder_lock: Arc<HolderLock>,
    vanished: Arc<VanishedSessions>,
}

impl SqliteStore {
    /// Opens the database at `path`, or creates it with its directory (mode 0700) and file (mode
    /// 0600).
    ///
    /// Blocks for about a millisecond if the file exists, for the flushes to the disk if it must be
    /// created, and for at most 5 s if another process holds its lock.
    ///
    /// # Errors
    ///
    /// - [`StoreError::Format`] if the file is newer than this program or belongs to another
    ///   program.
    /// - [`StoreError::Io`] if it cannot be created, opened or locked.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_as(path, Holder::this_process())
    }

    /// Opens the database like [`SqliteStore::open`], but takes leases in the name of `holder`.
    ///
    /// # Errors
    ///
    /// The same as for [`SqliteStore::open`].
    pub fn open_as(path: impl AsRef<Path>, holder: Holder) -> Result<Self, StoreError> {
        let path = path.as_ref().to_owned();
        let database = database::open(&path)?;
        Self::with(path, holder, Some(database))
    }

    /// Creates the file at `path`, or brings the schema of an older program up to date, as
    /// [`SqliteStore::open`] does too.
    ///
    /// # Errors
    ///
    /// The same as for [`SqliteStore::open`].
    pub fn migrate(path: impl AsRef<Path>) -> Result<Migrated, StoreError> {
        database::migrate(path.as_ref())
    }

    /// Starts a thread that opens the database, and returns without waiting for the disk, so that
    /// it does not delay the start. While the file cannot be opened, every call tries again and
    /// returns the error of [`SqliteStore::open`].
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the thread cannot be started.
    pub fn open_in_background(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let store = Self::with(path.as_ref().to_owned(), Holder::this_process(), None)?;
        store.writer.prepare_early(write::prepare_statements);
        Ok(store)
    }

    fn with(path: PathBuf, holder: Holder, open: Option<Database>) -> Result<Self, StoreError> {
        let vanished = Arc::new(VanishedSessions::new(&path));
        let writer = Writer { path: path.clone(), vanished: Arc::clone(&vanished), open, index_behind: true };
        Ok(Self {
            writer: Arc::new(Worker::spawn("store-writer", writer)?),
            holder_lock: Arc::new(HolderLock::new(&path, holder)),
            reader: Arc::new(LazyReader { path, worker: Mutex::default() }),
            vanished,
        })
    }

    /// Returns the janitor of the file.
    pub fn janitor(&self) -> Arc<dyn Janitor> {
        let (writer, reader) = (Arc::clone(&self.writer), Arc::clone(&self.reader));
        Arc::new(SqliteJanitor { writer, reader, holder_lock: Arc::clone(&self.holder_lock) })
    }

    /// Indexes what is pending, and searches.
    async fn search_indexed(&self, query: SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        // In steps, so that pending writes do not have to wait for all of it.
        while self.writer.call_with(Durability::WithNextFlush, search::index_pending).await? {}
        self.reader.call(move |connection| search::find(connection, &query)).await
    }
}

#[async_trait]
impl SessionStore for SqliteStore {
    async fn create(&self, session: NewSession) -> Result<Lease, StoreError> {
        let (holder_lock, vanished) = (Arc::clone(&self.holder_lock), Arc::clone(&self.vanished));
        // The session has no content yet; the flush of its first event covers it.
        let create = move |connection: &Connection| {
            write::create(connection, &session, &holder_lock)
                .inspect(|lease| vanished.reopened(&lease.session))
        };
        self.writer.call_with(Durability::WithNextFlush, create).await
    }

    async fn get(&self, id: &SessionId) -> Result<SessionRecord, StoreError> {
        let id = id.clone();
        self.reader.call(move |connection| read::get(connection, &id)).await
    }

    async fn parent(&self, id: &SessionId) -> Result<Option<SessionId>, StoreError> {
        let id = id.clone();
        self.reader.call(move |connection| read::parent(connection, &id)).await
    }

    async fn acquire(&self, id: &SessionId, take_over: bool) -> Result<Lease, StoreError> {
        let (id, holder_lock, vanished) =
            (id.clone(), Arc::clone(&self.holder_lock), Arc::clone(&self.vanished));
        let acquire =
            move |connection: &Connection| match lease::acquire(connection, &id, &holder_lock, take_over) {
                // The update that accompanies a refusal must be committed.
                Err(refused @ StoreError::Held { .. }) => Ok(Err(refused)),
                acquired => acquired.inspect(|_| vanished.reopened(&id)).map(Ok),
            };
        self.writer.call(acquire).await?
    }

    async fn holder(&self, id: &SessionId) -> Result<Option<LeaseHolder>, StoreError> {
        let (id, holder_lock) = (id.clone(), Arc::clone(&self.holder_lock));
        let holder =
            move |connection: &Connection| match lease::refuse_while_held(connection, &id, &holder_lock) {
                Ok(()) => Ok(None),
                Err(StoreError::Held { holder, .. }) => Ok(Some(holder)),
                Err(error) => Err(error),
            };
        self.reader.call(holder).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        // A lease disappears with its file. Do not recreate the file just to release it.
        if file_state::is_missing(&self.reader.path) {
            return Ok(());
        }
        let lease = lease.clone();
        self.writer.call(move |connection| lease::release(connection, &lease)).await
    }

    async fn append(&self, lease: &Lease, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        // Do not recreate the file for a session whose log disappeared with it.
        if file_state::is_missing(&self.reader.path) {
            return Err(self.vanished.error(&lease.session));
        }
        let lease = lease.clone();
        let Prepared { rows, texts, contents, changes } = Prepared::of(events)?;
        let vanished = Arc::clone(&self.vanished);
        self.writer
            .call(move |connection| {
                vanished.check(&lease.session)?;
                let last = write::append(connection, &lease, &rows, &changes)
                    .map_err(|error| vanished.explain(error))?;
                contents::keep(connection, &lease.session, &contents)?;
                search::index_appended(connection, &lease.session, last - rows.len() as u64, &texts)?;
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
            // The events were read; failing to mark the damage for later readers is not an error.
            let marked =
                self.writer.call(move |connection| write::mark_damaged(connection, &of, &page.damaged)).await;
            if let Err(error) = marked {
                tracing::warn!(session = %id, %error, "damaged events could not be marked");
            }
        }
        Ok(page.events)
    }

    async fn event_times(&self, id: &SessionId) -> Result<Vec<(u64, i64)>, StoreError> {
        let of = id.clone();
        self.reader.call(move |connection| read::event_times(connection, &of)).await
    }

    async fn content(&self, id: &SessionId, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        let (id, hash) = (id.clone(), hash.clone());
        self.reader.call(move |connection| contents::get(connection, &id, &hash)).await
    }

    async fn set_directories(&self, lease: &Lease, directories: Vec<AbsPath>) -> Result<(), StoreError> {
        let lease = lease.clone();
        self.writer.call(move |connection| write::set_directories(connection, &lease, &directories)).await
    }

    async fn set_cwd(&self, lease: &Lease, cwd: AbsPath) -> Result<(), StoreError> {
        let lease = lease.clone();
        self.writer.call(move |connection| write::set_cwd(connection, &lease, &cwd)).await
    }

    async fn set_folder(&self, lease: &Lease, facts: FolderFacts) -> Result<(), StoreError> {
        let lease = lease.clone();
        let set = move |connection: &Connection| write::set_folder(connection, &lease, &facts);
        self.writer.call_with(Durability::WithNextFlush, set).await
    }

    async fn fork(&self, from: &SessionId, session: NewSession) -> Result<Lease, StoreError> {
        let (from, holder_lock) = (from.clone(), Arc::clone(&self.holder_lock));
        self.writer.call(move |connection| write::fork(connection, &from, &session, &holder_lock)).await
    }

    async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let (id, holder_lock) = (id.clone(), Arc::clone(&self.holder_lock));
        self.writer.call(move |connection| write::delete(connection, &id, &holder_lock)).await
    }

    async fn set_archived(&self, id: &SessionId, archived: bool) -> Result<(), StoreError> {
        let (id, holder_lock) = (id.clone(), Arc::clone(&self.holder_lock));
        self.writer.call(move |connection| write::set_archived(connection, &id, &holder_lock, archived)).await
    }

    async fn list(&self, query: ListQuery) -> Result<SessionPage, StoreError> {
        self.reader.call(move |connection| read::list(connection, &query)).await
    }

    async fn directories(&self, owner: Option<&Owner>) -> Result<Vec<KnownFolder>, StoreError> {
        let owner = owner.cloned();
        self.reader.call(move |connection| read::directories(connection, owner.as_ref())).await
    }

    async fn search(&self, query: SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        let hits = self.search_indexed(query.clone()).await?;
        // A file that was salvaged because of this search has no index yet.
        if hits.is_empty() && self.reader.call(search::is_behind).await? {
            return self.search_indexed(query).await;
        }
        Ok(hits)
    }

    async fn ids_with_prefix(
        &self,
        owner: Option<&Owner>,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<SessionId>, StoreError> {
        let (owner, prefix) = (owner.cloned(), prefix.to_owned());
        self.reader
            .call(move |connection| read::ids_with_prefix(connection, owner.as_ref(), &prefix, limit))
            .await
    }

    async fn ready(&self) -> Result<(), StoreError> {
        let version = |connection: &Connection| {
            connection
                .query_row("PRAGMA user_version", [], |_| Ok(()))
                .map_err(|error| failure::failed(&error))
        };
        self.reader.call(version).await
    }

    async fn spent(&self, tenant: &str, since: i64) -> Result<Vec<(Owner, Usage)>, StoreError> {
        let tenant = tenant.to_owned();
        self.reader.call(move |connection| read::spent(connection, &tenant, since)).await
    }

    async fn stored_contents(&self, tenant: &str) -> Result<Vec<(Owner, u64)>, StoreError> {
        let tenant = tenant.to_owned();
        self.reader.call(move |connection| contents::sums(connection, &tenant)).await
    }

    fn memories(&self) -> Option<Arc<dyn Memories>> {
        let (writer, reader) = (Arc::clone(&self.writer), Arc::clone(&self.reader));
        Some(Arc::new(SqliteMemories { writer, reader, user: MemoryUser::default() }))
    }

    fn memories_of(&self, owner: &Owner) -> Option<Arc<dyn Memories>> {
        let (writer, reader) = (Arc::clone(&self.writer), Arc::clone(&self.reader));
        Some(Arc::new(SqliteMemories { writer, reader, user: MemoryUser::of(Some(owner)) }))
    }
}

/// The reader thread. It is started at the first read, since most sessions are never read by the
/// process that created them.
struct LazyReader {
    path: PathBuf,
    worker: Mutex<Option<Arc<Worker>>>,
}

impl LazyReader {
    async fn call<T: Send + 'static>(
        &self,
        work: impl FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        self.worker()?.call(work).await
    }

    fn worker(&self) -> Result<Arc<Worker>, StoreError> {
        let mut worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(worker) = &*worker {
            return Ok(Arc::clone(worker));
        }
        let begun = Arc::new(Worker::spawn("store-reader", Reader { path: self.path.clone() })?);
        *worker = Some(Arc::clone(&begun));
        Ok(begun)
    }
}
