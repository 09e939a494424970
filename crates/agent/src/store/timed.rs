//! A store with timeouts: an operation that takes too long fails.

use crate::{
    ContentHash, FolderFacts, KnownFolder, Lease, LeaseHolder, LeaseLife, ListQuery, Memories, Memory,
    MemoryChange, MemoryId, MemoryQuery, NewMemory, NewSession, Owner, SearchHit, SearchQuery, SessionEvent,
    SessionId, SessionPage, SessionRecord, SessionStore, StoreError, Stored, Usage, limits::STORE_WAIT,
};
use async_trait::async_trait;
use std::{sync::Arc, time::Duration};
use system::AbsPath;
use tokio::time::Instant;

/// Adds a timeout to each operation of a store. An operation that timed out may still take effect.
pub(crate) struct TimedStore(pub(crate) Arc<dyn SessionStore>);

async fn timed<T>(operation: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    tokio::time::timeout(STORE_WAIT, operation).await.unwrap_or_else(|_| {
        let seconds = STORE_WAIT.as_secs();
        Err(StoreError::Io(format!("no answer within {seconds} s; check the disk it is on and try again")))
    })
}

#[async_trait]
impl SessionStore for TimedStore {
    async fn create(&self, session: NewSession) -> Result<Lease, StoreError> {
        timed(self.0.create(session)).await
    }

    async fn get(&self, id: &SessionId) -> Result<SessionRecord, StoreError> {
        timed(self.0.get(id)).await
    }

    async fn parent(&self, id: &SessionId) -> Result<Option<SessionId>, StoreError> {
        timed(self.0.parent(id)).await
    }

    async fn folders_elsewhere(&self, id: &SessionId) -> Result<Option<String>, StoreError> {
        timed(self.0.folders_elsewhere(id)).await
    }

    async fn acquire(&self, id: &SessionId, take_over: bool) -> Result<Lease, StoreError> {
        timed(self.0.acquire(id, take_over)).await
    }

    async fn holder(&self, id: &SessionId) -> Result<Option<LeaseHolder>, StoreError> {
        timed(self.0.holder(id)).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        timed(self.0.release(lease)).await
    }

    async fn append(&self, lease: &Lease, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        let begun = Instant::now();
        let appended = timed(self.0.append(lease, events)).await;
        metrics::histogram!("tiller_append_seconds").record(begun.elapsed());
        appended
    }

    async fn events(
        &self,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, SessionEvent)>, StoreError> {
        timed(self.0.events(id, after, limit)).await
    }

    async fn event_times(&self, id: &SessionId) -> Result<Vec<(u64, i64)>, StoreError> {
        timed(self.0.event_times(id)).await
    }

    async fn content(&self, id: &SessionId, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        timed(self.0.content(id, hash)).await
    }

    async fn set_directories(&self, lease: &Lease, folders: Vec<AbsPath>) -> Result<(), StoreError> {
        timed(self.0.set_directories(lease, folders)).await
    }

    async fn set_cwd(&self, lease: &Lease, cwd: AbsPath) -> Result<(), StoreError> {
        timed(self.0.set_cwd(lease, cwd)).await
    }

    async fn set_folder(&self, lease: &Lease, facts: FolderFacts) -> Result<(), StoreError> {
        timed(self.0.set_folder(lease, facts)).await
    }

    async fn fork(&self, from: &SessionId, session: NewSession) -> Result<Lease, StoreError> {
        timed(self.0.fork(from, session)).await
    }

    async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        timed(self.0.delete(id)).await
    }

    async fn set_archived(&self, id: &SessionId, archived: bool) -> Result<(), StoreError> {
        timed(self.0.set_archived(id, archived)).await
    }

    async fn list(&self, query: ListQuery) -> Result<SessionPage, StoreError> {
        timed(self.0.list(query)).await
    }

    async fn directories(&self, owner: Option<&Owner>) -> Result<Vec<KnownFolder>, StoreError> {
        timed(self.0.directories(owner)).await
    }

    async fn search(&self, query: SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        timed(self.0.search(query)).await
    }

    async fn ids_with_prefix(
        &self,
        owner: Option<&Owner>,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<SessionId>, StoreError> {
        timed(self.0.ids_with_prefix(owner, prefix, limit)).await
    }

    fn wait(&self) -> Duration {
        self.0.wait()
    }

    async fn ready(&self) -> Result<(), StoreError> {
        timed(self.0.ready()).await
    }

    async fn spent(&self, tenant: &str, since: i64) -> Result<Vec<(Owner, Usage)>, StoreError> {
        timed(self.0.spent(tenant, since)).await
    }

    async fn stored_contents(&self, tenant: &str) -> Result<Vec<(Owner, u64)>, StoreError> {
        timed(self.0.stored_contents(tenant)).await
    }

    fn memories(&self) -> Option<Arc<dyn Memories>> {
        Some(Arc::new(TimedMemories(self.0.memories()?)))
    }

    fn memories_of(&self, owner: &Owner) -> Option<Arc<dyn Memories>> {
        Some(Arc::new(TimedMemories(self.0.memories_of(owner)?)))
    }

    fn lease_life(&self) -> Option<Arc<dyn LeaseLife>> {
        self.0.lease_life()
    }

    fn scoped(&self, owner: &Owner) -> Option<Arc<dyn SessionStore>> {
        Some(Arc::new(Self(self.0.scoped(owner)?)))
    }
}

/// Adds a timeout to each operation on memories.
struct TimedMemories(Arc<dyn Memories>);

#[async_trait]
impl Memories for TimedMemories {
    async fn add(&self, memory: NewMemory) -> Result<Stored, StoreError> {
        timed(self.0.add(memory)).await
    }

    async fn change(&self, id: MemoryId, change: MemoryChange) -> Result<Option<Stored>, StoreError> {
        timed(self.0.change(id, change)).await
    }

    async fn get(&self, id: MemoryId) -> Result<Option<Memory>, StoreError> {
        timed(self.0.get(id)).await
    }

    async fn forget(&self, id: MemoryId) -> Result<bool, StoreError> {
        timed(self.0.forget(id)).await
    }

    async fn find(&self, query: MemoryQuery) -> Result<Vec<Memory>, StoreError> {
        timed(self.0.find(query)).await
    }

    async fn surfaced(&self, ids: Vec<MemoryId>) -> Result<(), StoreError> {
        timed(self.0.surfaced(ids)).await
    }
}
