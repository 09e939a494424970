//! The interface to session storage: an append-only event log per session.

pub(crate) mod life;
pub(crate) mod memories;
pub(crate) mod scoped;
pub(crate) mod search;
pub(crate) mod timed;

use crate::{
    ContentHash, Cost, Effort, FolderFacts, FolderIdentity, LeaseLife, Memories, Mode, Owner, PermissionMode,
    SearchHit, SearchQuery, SessionEvent, SessionId, Usage,
};
use async_trait::async_trait;
use std::{fmt, sync::Arc, time::Duration};
use system::AbsPath;

/// The storage of sessions.
///
/// Contract: events acknowledged by [`SessionStore::append`] are on disk. Events of a session are
/// numbered from 1 without gaps. Every append carries the lease's epoch; an owner whose lease was
/// taken over is fenced ([`StoreError::Fenced`]) and writes nothing.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Creates a session and acquires its lease.
    async fn create(&self, session: NewSession) -> Result<Lease, StoreError>;

    /// Returns the record of a session, without its events.
    async fn get(&self, id: &SessionId) -> Result<SessionRecord, StoreError>;

    /// Returns the session whose subagent a session belongs to; `None` for an ordinary session.
    async fn parent(&self, id: &SessionId) -> Result<Option<SessionId>, StoreError>;

    /// Returns the name of the folders that a session works in, if this process has others: files
    /// of one machine are not those of another.
    async fn folders_elsewhere(&self, _id: &SessionId) -> Result<Option<String>, StoreError> {
        Ok(None)
    }

    /// Acquires the lease of a session if it is free or its holder is gone. A live holder in
    /// another process is [`StoreError::Held`] unless `take_over` is set.
    async fn acquire(&self, id: &SessionId, take_over: bool) -> Result<Lease, StoreError>;

    /// Returns the live process that holds a session, if it is another one; `None` also if the
    /// store does not know.
    async fn holder(&self, _id: &SessionId) -> Result<Option<LeaseHolder>, StoreError> {
        Ok(None)
    }

    /// Releases a lease. Releasing a lost lease is not an error.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Appends events and the file contents they carry, all or none, and returns the number of the
    /// last event.
    async fn append(&self, lease: &Lease, events: Vec<SessionEvent>) -> Result<u64, StoreError>;

    /// Returns at most `limit` events after number `after`, in order; fewer if they are large. Only
    /// an empty page means that there are no more.
    async fn events(
        &self,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, SessionEvent)>, StoreError>;

    /// Returns when each event of a session was stored, by event number, in milliseconds since the
    /// epoch. Empty if the store does not record it.
    async fn event_times(&self, _id: &SessionId) -> Result<Vec<(u64, i64)>, StoreError> {
        Ok(Vec::new())
    }

    /// Returns the content of a file that an event of the session refers to; `None` if it is not
    /// stored, or not any more.
    async fn content(&self, id: &SessionId, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError>;

    /// Replaces the additional directories of a session. They are not recorded as an event: each
    /// opening of the session sets them again.
    async fn set_directories(&self, lease: &Lease, folders: Vec<AbsPath>) -> Result<(), StoreError>;

    /// Replaces the directory of a session that has moved with its project. It is not recorded as
    /// an event.
    async fn set_cwd(&self, lease: &Lease, cwd: AbsPath) -> Result<(), StoreError>;

    /// Replaces what is known of a session's directory: what git has checked out in it, and by what
    /// it is recognized elsewhere. It is not recorded as an event, and does not count as a use of
    /// the session; a power failure may lose it.
    async fn set_folder(&self, lease: &Lease, facts: FolderFacts) -> Result<(), StoreError>;

    /// Creates a session that begins with all current events and the title of another, and acquires
    /// its lease. All or nothing; the other session is not changed, and its lease does not matter.
    async fn fork(&self, from: &SessionId, session: NewSession) -> Result<Lease, StoreError>;

    /// Deletes a session and its events permanently. A missing session is not an error. A live
    /// holder in another process is [`StoreError::Held`]; a holder in this process is fenced.
    async fn delete(&self, id: &SessionId) -> Result<(), StoreError>;

    /// Archives or unarchives a session; idempotent. Its events, its position in the list and its
    /// lease do not change. A live holder in another process is [`StoreError::Held`].
    async fn set_archived(&self, id: &SessionId, archived: bool) -> Result<(), StoreError>;

    /// Returns a page of sessions after a cursor, the last used first, optionally of one directory.
    async fn list(&self, query: ListQuery) -> Result<SessionPage, StoreError>;

    /// Returns the directories of a user's sessions, in any order; `None` is the user of this
    /// machine. A path is there once for each identity that it had.
    async fn directories(&self, owner: Option<&Owner>) -> Result<Vec<KnownFolder>, StoreError>;

    /// Returns messages and titles that contain the words, the best match first.
    async fn search(&self, query: SearchQuery) -> Result<Vec<SearchHit>, StoreError>;

    /// Returns the ids of an owner's sessions that begin with a prefix, in order, at most `limit`.
    async fn ids_with_prefix(
        &self,
        owner: Option<&Owner>,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<SessionId>, StoreError>;

    /// Returns what the users of a tenant have spent on models since a time in milliseconds since
    /// the epoch, an entry for each session that has counted since then. Empty if the store does
    /// not record times.
    async fn spent(&self, _tenant: &str, _since: i64) -> Result<Vec<(Owner, Usage)>, StoreError> {
        Ok(Vec::new())
    }

    /// Returns the bytes of stored file contents of each user of a tenant: what undoing the changes
    /// of their sessions needs. Empty if the store does not know.
    async fn stored_contents(&self, _tenant: &str) -> Result<Vec<(Owner, u64)>, StoreError> {
        Ok(Vec::new())
    }

    /// Returns how long operations wait now before the store begins them: the longest wait of one
    /// that waits, or of one that began within the last second. Zero if the store does not know.
    fn wait(&self) -> Duration {
        Duration::ZERO
    }

    /// Fails if the store cannot be used now, or is about to lose its leases.
    async fn ready(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Returns the storage of memories beside the sessions; `None` if this store keeps none.
    fn memories(&self) -> Option<Arc<dyn Memories>> {
        None
    }

    /// Returns the storage of the memories of a user of a server; `None` if this store keeps none.
    fn memories_of(&self, _owner: &Owner) -> Option<Arc<dyn Memories>> {
        None
    }

    /// Returns how long the leases of this process last; `None` if they last until they are
    /// released or taken over.
    fn lease_life(&self) -> Option<Arc<dyn LeaseLife>> {
        None
    }

    /// Returns the store as one user sees it, if this store separates its users by itself. Callers
    /// use [`scoped`](crate::scoped()), which does it for every store.
    fn scoped(&self, _owner: &Owner) -> Option<Arc<dyn SessionStore>> {
        None
    }
}

/// A session to be created.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// Its working directory.
    pub cwd: AbsPath,
    /// Further directories it may work in.
    pub additional_directories: Vec<AbsPath>,
    /// The model's full id.
    pub model: String,
    /// The agent mode.
    pub mode: Mode,
    /// The permission mode.
    pub permission_mode: PermissionMode,
    /// The session whose subagent it belongs to. Lists and searches omit such a session, and it is
    /// deleted together with that one.
    pub parent: Option<SessionId>,
    /// The user whom it belongs to; `None` for the user of this machine.
    pub owner: Option<Owner>,
}

/// The record of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecord {
    /// Its id.
    pub id: SessionId,
    /// Its working directory.
    pub cwd: AbsPath,
    /// Further directories it may work in.
    pub additional_directories: Vec<AbsPath>,
    /// What was last chosen for it.
    pub controls: SessionControls,
    /// Its title, once it has one.
    pub title: Option<String>,
    /// What git had checked out in its directory when it was last used: a branch, or the beginning
    /// of a commit in parentheses; `None` outside of a repository, or if it is not known.
    pub branch: Option<String>,
    /// What it has come to so far.
    pub totals: SessionTotals,
    /// When it was created and last changed.
    pub times: SessionTimes,
    /// The number of its last event; 0 when it has none.
    pub last_seq: u64,
    /// In which lists it is.
    pub listing: SessionListing,
}

/// The directory of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFolder {
    /// The path.
    pub path: AbsPath,
    /// By what it is recognized after a move.
    pub identity: Option<FolderIdentity>,
}

/// In which lists a session is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionListing {
    /// The user whom it belongs to; `None` for the user of this machine.
    pub owner: Option<Owner>,
    /// Whether it is archived.
    pub archived: bool,
}

/// What can be chosen for a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionControls {
    /// The model's full id.
    pub model: String,
    /// The agent mode.
    pub mode: Mode,
    /// The permission mode.
    pub permission_mode: PermissionMode,
    /// The reasoning effort; `None` leaves it to the model.
    pub effort: Option<Effort>,
}

/// What a session has come to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SessionTotals {
    /// The turns it has begun.
    pub turns: u64,
    /// The cost of its tokens and those of its subagents, as far as their price is known; `None` if
    /// no price is known.
    pub cost: Option<Cost>,
}

impl SessionTotals {
    /// Adds an event.
    pub fn add(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::TurnStarted { .. } => self.turns += 1,
            SessionEvent::Usage(usage) => self.cost = usage.sum().cost.or(self.cost),
            _ => {}
        }
    }
}

/// When a session was created and last changed, in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionTimes {
    /// When it was created.
    pub created_at: i64,
    /// When it last changed.
    pub updated_at: i64,
}

/// The right to append to a session, held by one owner at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The session.
    pub session: SessionId,
    /// Increases with every change of owner.
    pub epoch: u64,
}

/// The process that holds a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseHolder {
    /// The process id.
    pub pid: u32,
    /// The host it runs on.
    pub host: String,
    /// When it acquired the lease, as RFC 3339 in UTC.
    pub since: String,
}

impl fmt::Display for LeaseHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {} since {}", self.pid, self.host, self.since)
    }
}

/// The filter and the page of a session list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListQuery {
    /// Only sessions of this user; `None` for those of the user of this machine.
    pub owner: Option<Owner>,
    /// Only sessions of this directory.
    pub cwd: Option<AbsPath>,
    /// Other spellings of `cwd`, whose sessions are listed too.
    pub spellings: Vec<AbsPath>,
    /// Only sessions of this directory or one below it.
    pub project: Option<AbsPath>,
    /// Whether archived sessions are listed.
    pub archived: Archived,
    /// Only sessions that were prompted or have a title, and these; `None` lists all.
    pub begun_or: Option<Vec<SessionId>>,
    /// The end of the previous page, from [`SessionPage::next_cursor`].
    pub cursor: Option<String>,
    /// The maximum number of sessions.
    pub limit: usize,
}

/// How a list treats archived sessions. All pages of one listing must use the same value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Archived {
    /// Archived sessions are left out.
    #[default]
    Exclude,
    /// Archived sessions are included.
    Include,
    /// Only archived sessions are listed.
    Only,
}

impl Archived {
    /// Returns whether to list a session, given whether it is archived.
    pub fn lists(self, archived: bool) -> bool {
        match self {
            Self::Exclude => !archived,
            Self::Include => true,
            Self::Only => archived,
        }
    }
}

/// A page of sessions.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionPage {
    /// The sessions.
    pub sessions: Vec<SessionRecord>,
    /// The cursor of the next page, if there is one.
    pub next_cursor: Option<String>,
}

/// Why a store operation failed. Nothing is partially written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// There is no such session.
    #[error("no session {0}")]
    NotFound(SessionId),
    /// Another live process holds the session.
    #[error("session {session} is open in another process ({holder}); close it there, or take it over")]
    Held {
        /// The session.
        session: SessionId,
        /// The process that holds it.
        holder: LeaseHolder,
    },
    /// The lease was taken over; this owner must not write any more.
    #[error("session {0} was taken over by another process; this one no longer writes to it")]
    Fenced(SessionId),
    /// The lease may have expired: this owner does nothing more until it is confirmed again.
    #[error(
        "the session database has not confirmed for too long that session {0} is open here, so that another \
         process may have taken it over; nothing more was done: prompt again once the database answers"
    )]
    Unconfirmed(SessionId),
    /// A cursor that this store did not issue.
    #[error("bad cursor {0:?}: pass the nextCursor of the page before, unchanged")]
    BadCursor(String),
    /// The file's format is newer than this program supports, or not the format of a session store.
    #[error("{0}")]
    Format(String),
    /// The file is damaged. The readable part is recovered when it is opened again.
    #[error("{0}")]
    Damaged(String),
    /// An I/O failure, such as a full disk or a file that stays locked.
    #[error("the session store failed: {0}")]
    Io(String),
}
