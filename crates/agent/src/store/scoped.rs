//! A store as one user sees it.

use crate::{
    ContentHash, FolderFacts, KnownFolder, Lease, LeaseHolder, LeaseLife, ListQuery, Memories, NewSession,
    Owner, SearchHit, SearchQuery, SessionEvent, SessionId, SessionPage, SessionRecord, SessionStore,
    StoreError, Usage,
};
use async_trait::async_trait;
use std::{sync::Arc, time::Duration};
use system::AbsPath;

/// Returns a store as one user sees it: sessions of others do not exist there, what is created
/// belongs to the user, and the owner that a query names does not matter.
///
/// Leases are taken as proof, since a lease is acquired only of a session that exists.
pub fn scoped(store: &Arc<dyn SessionStore>, owner: &Owner) -> Arc<dyn SessionStore> {
    let owned = || Arc::new(ScopedStore { inner: Arc::clone(store), owner: owner.clone() });
    store.scoped(owner).unwrap_or_else(|| owned())
}

/// The scope of a store that does not separate its users by itself.
struct ScopedStore {
    inner: Arc<dyn SessionStore>,
    owner: Owner,
}

impl ScopedStore {
    /// Returns a session's record, if the session is this user's.
    async fn own(&self, id: &SessionId) -> Result<SessionRecord, StoreError> {
        let record = self.inner.get(id).await?;
        match record.listing.owner.as_ref() == Some(&self.owner) {
            true => Ok(record),
            false => Err(StoreError::NotFound(id.clone())),
        }
    }

    fn owned(&self, session: NewSession) -> Result<NewSession, StoreError> {
        match &session.owner {
            Some(owner) if *owner != self.owner => {
                let id = session.id;
                Err(StoreError::Io(format!(
                    "session {id} was to belong to another user; create it as that user"
                )))
            }
            _ => Ok(NewSession { owner: Some(self.owner.clone()), ..session }),
        }
    }
}

#[async_trait]
impl SessionStore for ScopedStore {
    fn memories(&self) -> Option<Arc<dyn Memories>> {
        self.inner.memories_of(&self.owner)
    }

    async fn create(&self, session: NewSession) -> Result<Lease, StoreError> {
        self.inner.create(self.owned(session)?).await
    }

    async fn get(&self, id: &SessionId) -> Result<SessionRecord, StoreError> {
        self.own(id).await
    }

    async fn parent(&self, id: &SessionId) -> Result<Option<SessionId>, StoreError> {
        self.own(id).await?;
        self.inner.parent(id).await
    }

    async fn folders_elsewhere(&self, id: &SessionId) -> Result<Option<String>, StoreError> {
        self.own(id).await?;
        self.inner.folders_elsewhere(id).await
    }

    async fn acquire(&self, id: &SessionId, take_over: bool) -> Result<Lease, StoreError> {
        self.own(id).await?;
        self.inner.acquire(id, take_over).await
    }

    async fn holder(&self, id: &SessionId) -> Result<Option<LeaseHolder>, StoreError> {
        self.own(id).await?;
        self.inner.holder(id).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.inner.release(lease).await
    }

    async fn append(&self, lease: &Lease, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        self.inner.append(lease, events).await
    }

    async fn events(
        &self,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, SessionEvent)>, StoreError> {
        self.own(id).await?;
        self.inner.events(id, after, limit).await
    }

    async fn event_times(&self, id: &SessionId) -> Result<Vec<(u64, i64)>, StoreError> {
        self.own(id).await?;
        self.inner.event_times(id).await
    }

    async fn content(&self, id: &SessionId, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.own(id).await?;
        self.inner.content(id, hash).await
    }

    async fn set_directories(&self, lease: &Lease, folders: Vec<AbsPath>) -> Result<(), StoreError> {
        self.inner.set_directories(lease, folders).await
    }

    async fn set_cwd(&self, lease: &Lease, cwd: AbsPath) -> Result<(), StoreError> {
        self.inner.set_cwd(lease, cwd).await
    }

    async fn set_folder(&self, lease: &Lease, facts: FolderFacts) -> Result<(), StoreError> {
        self.inner.set_folder(lease, facts).await
    }

    async fn fork(&self, from: &SessionId, session: NewSession) -> Result<Lease, StoreError> {
        self.own(from).await?;
        self.inner.fork(from, self.owned(session)?).await
    }

    async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        match self.own(id).await {
            Err(StoreError::NotFound(_)) => Ok(()),
            Ok(_) => self.inner.delete(id).await,
            Err(error) => Err(error),
        }
    }

    async fn set_archived(&self, id: &SessionId, archived: bool) -> Result<(), StoreError> {
        self.own(id).await?;
        self.inner.set_archived(id, archived).await
    }

    fn lease_life(&self) -> Option<Arc<dyn LeaseLife>> {
        self.inner.lease_life()
    }

    async fn list(&self, query: ListQuery) -> Result<SessionPage, StoreError> {
        self.inner.list(ListQuery { owner: Some(self.owner.clone()), ..query }).await
    }

    async fn directories(&self, _owner: Option<&Owner>) -> Result<Vec<KnownFolder>, StoreError> {
        self.inner.directories(Some(&self.owner)).await
    }

    async fn search(&self, query: SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        self.inner.search(SearchQuery { owner: Some(self.owner.clone()), ..query }).await
    }

    async fn ids_with_prefix(
        &self,
        _owner: Option<&Owner>,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<SessionId>, StoreError> {
        self.inner.ids_with_prefix(Some(&self.owner), prefix, limit).await
    }

    fn wait(&self) -> Duration {
        self.inner.wait()
    }

    async fn ready(&self) -> Result<(), StoreError> {
        self.inner.ready().await
    }

    async fn spent(&self, tenant: &str, since: i64) -> Result<Vec<(Owner, Usage)>, StoreError> {
        let mut spent = self.inner.spent(tenant, since).await?;
        spent.retain(|(owner, _)| *owner == self.owner);
        Ok(spent)
    }

    async fn stored_contents(&self, tenant: &str) -> Result<Vec<(Owner, u64)>, StoreError> {
        let mut stored = self.inner.stored_contents(tenant).await?;
        stored.retain(|(owner, _)| *owner == self.owner);
        Ok(stored)
    }
}
