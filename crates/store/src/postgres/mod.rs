//! Sessions in PostgreSQL, for servers of several nodes.
//!
//! Each operation is a transaction of one [scope]: row-level security shows it the sessions
//! of its user only. An append is one statement in one round trip.

mod access;
mod address;
mod append;
mod blobs;
mod cluster;
mod column;
mod connections;
mod failure;
mod janitor;
mod lease;
mod leases;
mod life;
mod memories;
mod migrate;
mod node;
mod raw;
mod raw_memories;
mod read;
mod scope;
mod search;
mod shared;
mod status;
mod transaction;
mod words;
mod write;

use crate::janitor::Janitor;
use crate::nodes::{ANY_FOLDERS, Nodes};
use crate::{
    Holder,
    changes::Prepared,
    cursor::Cursor,
    moved_memories::{MovedMemories, RawMemory},
    raw::{Digest, RawSession},
    server_state::{Migrated, NodeState, ServerStatus},
};
pub use access::AccessTables;

use address::Address;
use agent::{
    ContentHash, FolderFacts, FolderIdentity, KnownFolder, Lease, LeaseHolder, LeaseLife, ListQuery,
    Memories, NewSession, Owner, SearchHit, SearchQuery, SessionEvent, SessionId, SessionPage, SessionRecord,
    SessionStore, StoreError, Usage,
};
use async_trait::async_trait;
use cluster::Cluster;
use connections::Connections;
use failure::cannot_connect;
use janitor::PostgresJanitor;
use leases::Leases;
use memories::PostgresMemories;
use node::{About, Node};
use raw::RawRows;
use scope::Scope;
use shared::Shared;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use system::AbsPath;
use transaction::Transaction;

/// A [`SessionStore`] in a PostgreSQL database, which many processes may use at the same time.
///
/// As it is opened, it is that of a server with one tenant: sessions of all its users can be read
/// and written by their ids. [`SessionStore::scoped`] is the store of one user, of any tenant.
///
/// Acknowledged events are on the server's disk. Dropping the last copy waits for at most half a
/// second, so that the server hears that the leases of this process are free.
pub struct PostgresStore {
    shared: Arc<Shared>,
    scope: Scope,
    /// Whether it is the store of one user, whatever a query names.
    is_scoped: bool,
}

impl PostgresStore {
    /// Connects to a database, checks that it keeps what it acknowledges and that this program can
    /// use its schema, and registers this process as a holder of leases.
    ///
    /// # Errors
    ///
    /// - [`StoreError::Format`] for a URL that is none, a database that was not migrated or that a
    ///   newer program migrated, a server that is too old, or `synchronous_commit = off`.
    /// - [`StoreError::Io`] if the server cannot be reached.
    pub async fn open(url: &str) -> Result<Self, StoreError> {
        let address = Address::parse(url)?;
        let client = address.connect().await.map_err(|error| cannot_connect(&error))?;
        status::check(&client).await?;
        migrate::check(&client).await?;
        drop(client);
        let holder = Holder::this_process();
        let about = About { host: holder.machine.host.clone(), pid: holder.pid };
        let node = Node::join(address.clone(), about).await?;
        let shared = Shared { pool: Connections::new(address.pool()?), node, leases: Leases::default() };
        Ok(Self { shared: Arc::new(shared), scope: Scope::of_server(), is_scoped: false })
    }

    /// Creates the tables in a database, or migrates those of an older program.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if a step fails: then nothing has changed.
    pub async fn migrate(url: &str) -> Result<Migrated, StoreError> {
        migrate::migrate(&Address::parse(url)?).await
    }

    /// Returns the state of a database, migrated or not.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the server cannot be reached.
    pub async fn status(url: &str) -> Result<ServerStatus, StoreError> {
        status::status(&Address::parse(url)?).await
    }

    /// Returns the processes that share a database and are alive, oldest first.
    ///
    /// # Errors
    ///
    /// [`StoreError::Io`] if the server cannot be reached; [`StoreError::Format`] if this program
    /// cannot use the schema.
    pub async fn nodes(url: &str) -> Result<Vec<NodeState>, StoreError> {
        status::nodes(&Address::parse(url)?).await
    }

    /// Returns the nodes that share the database, as this process sees them.
    pub fn cluster(&self) -> Arc<dyn Nodes> {
        Arc::new(Cluster(Arc::clone(&self.shared)))
    }

    /// Returns the janitor of the database.
    pub fn janitor(&self) -> Arc<dyn Janitor> {
        Arc::new(PostgresJanitor(Arc::clone(&self.shared)))
    }

    fn rows(&self) -> RawRows<'_> {
        RawRows { shared: &self.shared, scope: &self.scope }
    }

    /// Returns the ids of all sessions of an owner; of all owners of the tenant without one.
    pub(crate) async fn raw_ids(
        &self,
        owner: Option<Option<Owner>>,
    ) -> Result<Vec<(String, Option<String>)>, StoreError> {
        self.rows().ids(owner).await
    }

    /// Returns the digest of a session's events; `None` without the session.
    pub(crate) async fn raw_digest(&self, id: &str) -> Result<Option<Digest>, StoreError> {
        self.rows().digest(id).await
    }

    /// Returns a session with its rows.
    pub(crate) async fn raw_read(&self, id: &str) -> Result<RawSession, StoreError> {
        self.rows().read(id).await
    }

    /// Stores a session that does not exist, in one transaction, and acquires its lease.
    pub(crate) async fn raw_write(&self, session: RawSession) -> Result<Lease, StoreError> {
        self.rows().write(session).await
    }

    /// Returns the memories of an owner; of all owners of the tenant without one.
    pub(crate) async fn raw_memories(
        &self,
        owner: Option<Option<Owner>>,
    ) -> Result<Vec<RawMemory>, StoreError> {
        raw_memories::read(&self.shared, &self.scope, owner).await
    }

    /// Inserts memories that are not there.
    pub(crate) async fn raw_write_memories(&self, new: Vec<RawMemory>) -> Result<MovedMemories, StoreError> {
        raw_memories::write(&self.shared, new).await
    }

    /// Returns the scope of what an owner names.
    fn scope_of(&self, owner: Option<&Owner>) -> Scope {
        if self.is_scoped { self.scope.clone() } else { Scope::of(owner) }
    }

    /// Returns the scope of what this store sees of the users of a tenant; `None` for nothing.
    fn scope_in(&self, tenant: &str) -> Option<Scope> {
        match &self.scope.name {
            Some(own) if self.is_scoped && own.tenant != tenant => None,
            _ if self.is_scoped => Some(self.scope.clone()),
            _ => Some(Scope::of_tenant(tenant)),
        }
    }

    async fn begin(&self) -> Result<Transaction, StoreError> {
        Transaction::begin(&self.shared.pool, &self.scope).await
    }

    /// Refuses a session of another user than that of this store.
    fn check_owner(&self, session: &NewSession) -> Result<(), StoreError> {
        match &session.owner {
            Some(owner) if self.is_scoped && self.scope.name.as_ref() != Some(owner) => Err(StoreError::Io(
                format!("session {} was to belong to another user; create it as that user", session.id),
            )),
            _ => Ok(()),
        }
    }
}

/// Ends a transaction that read something.
async fn read<T>(transaction: Transaction, answer: Result<T, StoreError>) -> Result<T, StoreError> {
    // After an error of the database, the connection is closed instead.
    if !matches!(answer, Err(StoreError::Io(_))) {
        transaction.commit().await?;
    }
    answer
}

#[async_trait]
impl SessionStore for PostgresStore {
    async fn create(&self, session: NewSession) -> Result<Lease, StoreError> {
        self.check_owner(&session)?;
        let scope = self.scope_of(session.owner.as_ref());
        let transaction = Transaction::begin(&self.shared.pool, &scope).await?;
        let lease = write::create(&transaction, &self.shared, &scope, &session).await?;
        transaction.commit().await?;
        self.shared.leases.put(&lease, 0);
        Ok(lease)
    }

    async fn get(&self, id: &SessionId) -> Result<SessionRecord, StoreError> {
        let transaction = self.begin().await?;
        let record = read::get(&transaction, id).await;
        read(transaction, record).await
    }

    async fn parent(&self, id: &SessionId) -> Result<Option<SessionId>, StoreError> {
        let transaction = self.begin().await?;
        let parent = read::parent(&transaction, id).await;
        read(transaction, parent).await
    }

    async fn folders_elsewhere(&self, id: &SessionId) -> Result<Option<String>, StoreError> {
        let transaction = self.begin().await?;
        let folders = read::folders(&transaction, id).await;
        let own = self.shared.node.folders();
        let folders = read(transaction, folders).await?.filter(|(folders, _)| *folders != own);
        Ok(folders.filter(|_| own != ANY_FOLDERS).map(|(folders, host)| format!("{folders} (of {host})")))
    }

    async fn acquire(&self, id: &SessionId, take_over: bool) -> Result<Lease, StoreError> {
        lease::acquire(&self.shared, &self.scope, id, take_over).await
    }

    async fn holder(&self, id: &SessionId) -> Result<Option<LeaseHolder>, StoreError> {
        lease::holder(&self.shared, &self.scope, id).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        lease::release(&self.shared, &self.scope, lease).await
    }

    async fn append(&self, lease: &Lease, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        append::append(&self.shared, &self.scope, lease, Prepared::of(events)?).await
    }

    async fn events(
        &self,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, SessionEvent)>, StoreError> {
        let transaction = self.begin().await?;
        let page = read::events(&transaction, id, after, limit).await;
        let page = read(transaction, page).await?;
        if !page.damaged.is_empty() {
            let mark = async {
                let transaction = self.begin().await?;
                write::mark_damaged(&transaction, id, &page.damaged).await?;
                transaction.commit().await
            };
            // The events were read; failing to mark the damage for later readers is not an error.
            if let Err(error) = mark.await {
                tracing::warn!(session = %id, %error, "damaged events could not be marked");
            }
        }
        Ok(page.events)
    }

    async fn event_times(&self, id: &SessionId) -> Result<Vec<(u64, i64)>, StoreError> {
        let transaction = self.begin().await?;
        let times = read::event_times(&transaction, id).await;
        read(transaction, times).await
    }

    async fn content(&self, id: &SessionId, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        let transaction = self.begin().await?;
        let content = blobs::content(&transaction, id, hash).await;
        read(transaction, content).await
    }

    async fn set_directories(&self, lease: &Lease, directories: Vec<AbsPath>) -> Result<(), StoreError> {
        let directories = write::to_json(&directories);
        write::set(&self.shared, &self.scope, lease, &[("additional_directories", &directories)]).await
    }

    async fn set_cwd(&self, lease: &Lease, cwd: AbsPath) -> Result<(), StoreError> {
        write::set(&self.shared, &self.scope, lease, &[("cwd", &column::text(cwd.as_str()))]).await
    }

    async fn set_folder(&self, lease: &Lease, facts: FolderFacts) -> Result<(), StoreError> {
        let branch = facts.branch.as_deref().map(column::text);
        let identity = facts.identity.as_ref().map(FolderIdentity::to_json);
        let columns: [write::Column<'_>; 2] = [("branch", &branch), ("identity", &identity)];
        write::set(&self.shared, &self.scope, lease, &columns).await
    }

    async fn fork(&self, from: &SessionId, session: NewSession) -> Result<Lease, StoreError> {
        self.check_owner(&session)?;
        let scope = self.scope_of(session.owner.as_ref());
        if scope.tenant != self.scope.tenant {
            return Err(StoreError::Io(format!("session {from} cannot be copied to another tenant")));
        }
        // A server copies between its users.
        let acting = Scope { is_admin: self.scope.is_admin, ..scope };
        let transaction = Transaction::begin(&self.shared.pool, &acting).await?;
        let forked = write::fork(&transaction, &self.shared, &acting, from, &session).await;
        let (lease, last) = match forked {
            Ok(forked) => forked,
            Err(error) => return Err(error),
        };
        transaction.commit().await?;
        self.shared.leases.put(&lease, last);
        Ok(lease)
    }

    async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let transaction = self.begin().await?;
        let deleted = write::delete(&transaction, &self.shared, id).await;
        for id in read(transaction, deleted).await? {
            self.shared.leases.forget(&SessionId(id));
        }
        Ok(())
    }

    async fn set_archived(&self, id: &SessionId, archived: bool) -> Result<(), StoreError> {
        let transaction = self.begin().await?;
        let set = write::set_archived(&transaction, &self.shared, id, archived).await;
        read(transaction, set).await
    }

    async fn list(&self, query: ListQuery) -> Result<SessionPage, StoreError> {
        let after = query.cursor.as_deref().map_or_else(|| Ok(Cursor::start()), Cursor::parse)?;
        if query.limit == 0 {
            return Ok(SessionPage::default());
        }
        let scope = self.scope_of(query.owner.as_ref());
        let transaction = Transaction::begin(&self.shared.pool, &scope).await?;
        let page = read::list(&transaction, &scope, &query, &after).await;
        read(transaction, page).await
    }

    async fn directories(&self, owner: Option<&Owner>) -> Result<Vec<KnownFolder>, StoreError> {
        let scope = self.scope_of(owner);
        let transaction = Transaction::begin(&self.shared.pool, &scope).await?;
        let directories = read::directories(&transaction, &scope).await;
        read(transaction, directories).await
    }

    async fn search(&self, query: SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        let scope = self.scope_of(query.owner.as_ref());
        search::index_pending(&self.shared, &scope).await?;
        let transaction = Transaction::begin(&self.shared.pool, &scope).await?;
        let hits = search::find(&transaction, &scope, &query).await;
        read(transaction, hits).await
    }

    async fn ids_with_prefix(
        &self,
        owner: Option<&Owner>,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<SessionId>, StoreError> {
        if prefix.contains('\0') {
            return Ok(Vec::new());
        }
        let scope = self.scope_of(owner);
        let transaction = Transaction::begin(&self.shared.pool, &scope).await?;
        let ids = read::ids_with_prefix(&transaction, &scope, prefix, limit).await;
        read(transaction, ids).await
    }

    fn wait(&self) -> Duration {
        self.shared.pool.wait()
    }

    async fn ready(&self) -> Result<(), StoreError> {
        if !self.shared.node.is_live() {
            return Err(StoreError::Io("the last heartbeat of this process is too old".to_owned()));
        }
        let connection = transaction::connect(&self.shared.pool, Instant::now()).await?;
        migrate::check(&connection).await
    }

    async fn spent(&self, tenant: &str, since: i64) -> Result<Vec<(Owner, Usage)>, StoreError> {
        let Some(scope) = self.scope_in(tenant) else { return Ok(Vec::new()) };
        let transaction = Transaction::begin(&self.shared.pool, &scope).await?;
        let spent = read::spent(&transaction, &scope, tenant, since).await;
        read(transaction, spent).await
    }

    async fn stored_contents(&self, tenant: &str) -> Result<Vec<(Owner, u64)>, StoreError> {
        let Some(scope) = self.scope_in(tenant) else { return Ok(Vec::new()) };
        let transaction = Transaction::begin(&self.shared.pool, &scope).await?;
        let sums = blobs::sums(&transaction, &scope, tenant).await;
        read(transaction, sums).await
    }

    fn memories(&self) -> Option<Arc<dyn Memories>> {
        let shared = Arc::clone(&self.shared);
        Some(Arc::new(PostgresMemories { shared, scope: Scope { is_admin: false, ..self.scope.clone() } }))
    }

    fn lease_life(&self) -> Option<Arc<dyn LeaseLife>> {
        Some(Arc::new(NodeLife(Arc::clone(&self.shared))))
    }

    fn scoped(&self, owner: &Owner) -> Option<Arc<dyn SessionStore>> {
        let scope = Scope::of(Some(owner));
        Some(Arc::new(Self { shared: Arc::clone(&self.shared), scope, is_scoped: true }))
    }
}

/// The life of all leases of this process: that of its node.
struct NodeLife(Arc<Shared>);

#[async_trait]
impl LeaseLife for NodeLife {
    fn is_live(&self) -> bool {
        self.0.node.is_live()
    }

    async fn ended(&self) {
        self.0.node.ended().await;
    }
}
