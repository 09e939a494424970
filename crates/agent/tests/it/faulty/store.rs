//! A store that fails.

use super::{Victim, plan_of};
use agent::{
    ContentHash, FolderFacts, KnownFolder, Lease, ListQuery, Memories, NewSession, Owner, SearchHit,
    SearchQuery, SessionEvent, SessionId, SessionPage, SessionRecord, SessionStore, StoreError,
};
use async_trait::async_trait;
use std::sync::Arc;
use system::AbsPath;

/// A store that fails for one session or for all.
pub(crate) struct FaultyStore {
    pub(crate) inner: Arc<dyn SessionStore>,
    pub(crate) victim: Victim,
}

impl FaultyStore {
    async fn through<T>(
        &self,
        id: &SessionId,
        operation: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match plan_of(&self.victim, Some(id.as_str())) {
            Some(plan) => plan.through(operation, || StoreError::Io("as the test wanted".to_owned())).await,
            None => operation.await,
        }
    }
}

#[async_trait]
impl SessionStore for FaultyStore {
    async fn create(&self, session: NewSession) -> Result<Lease, StoreError> {
        let id = session.id.clone();
        self.through(&id, self.inner.create(session)).await
    }

    async fn get(&self, id: &SessionId) -> Result<SessionRecord, StoreError> {
        self.through(id, self.inner.get(id)).await
    }

    async fn parent(&self, id: &SessionId) -> Result<Option<SessionId>, StoreError> {
        self.through(id, self.inner.parent(id)).await
    }

    async fn acquire(&self, id: &SessionId, take_over: bool) -> Result<Lease, StoreError> {
        self.through(id, self.inner.acquire(id, take_over)).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.through(&lease.session, self.inner.release(lease)).await
    }

    async fn append(&self, lease: &Lease, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        self.through(&lease.session, self.inner.append(lease, events)).await
    }

    async fn events(
        &self,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, SessionEvent)>, StoreError> {
        self.through(id, self.inner.events(id, after, limit)).await
    }

    async fn content(&self, id: &SessionId, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.through(id, self.inner.content(id, hash)).await
    }

    async fn set_directories(&self, lease: &Lease, folders: Vec<AbsPath>) -> Result<(), StoreError> {
        self.through(&lease.session, self.inner.set_directories(lease, folders)).await
    }

    async fn set_cwd(&self, lease: &Lease, cwd: AbsPath) -> Result<(), StoreError> {
        self.inner.set_cwd(lease, cwd).await
    }

    async fn set_folder(&self, lease: &Lease, facts: FolderFacts) -> Result<(), StoreError> {
        self.inner.set_folder(lease, facts).await
    }

    async fn fork(&self, from: &SessionId, session: NewSession) -> Result<Lease, StoreError> {
        self.through(from, self.inner.fork(from, session)).await
    }

    async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        self.inner.delete(id).await
    }

    async fn set_archived(&self, id: &SessionId, archived: bool) -> Result<(), StoreError> {
        self.inner.set_archived(id, archived).await
    }

    async fn list(&self, query: ListQuery) -> Result<SessionPage, StoreError> {
        self.inner.list(query).await
    }

    async fn directories(&self, owner: Option<&Owner>) -> Result<Vec<KnownFolder>, StoreError> {
        self.inner.directories(owner).await
    }

    async fn search(&self, query: SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        self.inner.search(query).await
    }

    async fn ids_with_prefix(
        &self,
        owner: Option<&Owner>,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<SessionId>, StoreError> {
        self.inner.ids_with_prefix(owner, prefix, limit).await
    }

    fn memories(&self) -> Option<Arc<dyn Memories>> {
        self.inner.memories()
    }
}
