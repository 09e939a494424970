//! The seam to where sessions are kept: an append-only log of events for each.

pub(crate) mod search;
pub(crate) mod timed;

use crate::{ContentHash, Effort, Mode, PermissionMode, SearchHit, SearchQuery, SessionEvent, SessionId};
use async_trait::async_trait;
use std::fmt;
use system::AbsPath;

/// Where sessions are kept.
///
/// Contract: what [`SessionStore::append`] acknowledged is on disk. Events of a session are numbered from 1 without gaps. Every append carries the
/// lease's epoch; an owner whose lease was taken over is fenced ([`StoreError::Fenced`]) and writes nothing.
#[async_trait]
pub trait SessionStore: Send + Sync {
    /// Creates a session and takes its lease.
    async fn create(&self, session: NewSession) -> Result<Lease, StoreError>;

    /// What is known of a session, without its events.
    async fn get(&self, id: &SessionId) -> Result<SessionRecord, StoreError>;

    /// Takes the lease of a session that nobody holds, or whose holder is gone. A live holder elsewhere is
    /// [`StoreError::Held`] unless `take_over` is set.
    async fn acquire(&self, id: &SessionId, take_over: bool) -> Result<Lease, StoreError>;

    /// Gives the lease back; one that was lost already is fine.
    async fn release(&self, lease: &Lease) -> Result<(), StoreError>;

    /// Appends events with the contents of files that they bring along, all or none, and returns the number of the last one.
    async fn append(&self, lease: &Lease, events: Vec<SessionEvent>) -> Result<u64, StoreError>;

    /// The events after number `after`, at most `limit`, in order; fewer where they are large. There are no more only when there are none.
    async fn events(
        &self,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, SessionEvent)>, StoreError>;

    /// When each event of a session was stored, by its number, in milliseconds since the epoch. Empty
    /// where the store does not keep it.
    async fn event_times(&self, _id: &SessionId) -> Result<Vec<(u64, i64)>, StoreError> {
        Ok(Vec::new())
    }

    /// The content of a file that an event of the session names; `None` when it is not kept (any more).
    async fn content(&self, id: &SessionId, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError>;

    /// Replaces the further folders of a session. They are no event: each opening names them anew.
    async fn set_directories(&self, lease: &Lease, folders: Vec<AbsPath>) -> Result<(), StoreError>;

    /// Creates a session that begins with all events that another has now, and with its title, and takes its lease. All or nothing; the other
    /// stays as it is, whoever holds it.
    async fn fork(&self, from: &SessionId, session: NewSession) -> Result<Lease, StoreError>;

    /// Removes a session and its events for good. One that does not exist is fine. A live holder elsewhere is [`StoreError::Held`]; a holder in this
    /// process is fenced.
    async fn delete(&self, id: &SessionId) -> Result<(), StoreError>;

    /// Puts a session away, or takes it out again; twice is fine. Its events, its place in the list and its lease stay as they are. A live holder
    /// elsewhere is [`StoreError::Held`].
    async fn set_archived(&self, id: &SessionId, archived: bool) -> Result<(), StoreError>;

    /// Sessions, the last used first, optionally of one folder, after a cursor.
    async fn list(&self, query: ListQuery) -> Result<SessionPage, StoreError>;

    /// Messages and titles in which words occur, the best first.
    async fn search(&self, query: SearchQuery) -> Result<Vec<SearchHit>, StoreError>;
}

/// A session to be created.
#[derive(Debug, Clone, PartialEq)]
pub struct NewSession {
    /// Its id.
    pub id: SessionId,
    /// Its folder.
    pub cwd: AbsPath,
    /// Further folders it may work in.
    pub additional_directories: Vec<AbsPath>,
    /// The model's full id.
    pub model: String,
    /// The agent mode.
    pub mode: Mode,
    /// The permission mode.
    pub permission_mode: PermissionMode,
}

/// What is known of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRecord {
    /// Its id.
    pub id: SessionId,
    /// Its folder.
    pub cwd: AbsPath,
    /// Further folders it may work in.
    pub additional_directories: Vec<AbsPath>,
    /// The model it was last on.
    pub model: String,
    /// The agent mode it was last in.
    pub mode: Mode,
    /// The permission mode it was last in.
    pub permission_mode: PermissionMode,
    /// How much the model was last to think; `None` leaves it to the model.
    pub effort: Option<Effort>,
    /// Its title, once it has one.
    pub title: Option<String>,
    /// When it was created, in milliseconds since the epoch.
    pub created_at: i64,
    /// When it last changed, in milliseconds since the epoch.
    pub updated_at: i64,
    /// The number of its last event; 0 when it has none.
    pub last_seq: u64,
    /// Whether it was put away.
    pub archived: bool,
}

/// The right to append to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The session.
    pub session: SessionId,
    /// Grows with every change of owner.
    pub epoch: u64,
}

/// Who holds a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseHolder {
    /// The process's id.
    pub pid: u32,
    /// The host it runs on.
    pub host: String,
    /// Since when, as RFC 3339 in UTC.
    pub since: String,
}

impl fmt::Display for LeaseHolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {} since {}", self.pid, self.host, self.since)
    }
}

/// Which sessions to list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ListQuery {
    /// Only those of this folder.
    pub cwd: Option<AbsPath>,
    /// Whether those that were put away are among them.
    pub archived: Archived,
    /// Only those that were prompted or named, and these; `None`: all.
    pub begun_or: Option<Vec<SessionId>>,
    /// Where the last page ended.
    pub cursor: Option<String>,
    /// The most to return.
    pub limit: usize,
}

/// What becomes of sessions that were put away. The page after a cursor is asked for with the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Archived {
    /// They are left out.
    #[default]
    Exclude,
    /// They are among the others.
    Include,
    /// Nothing but them.
    Only,
}

impl Archived {
    /// Whether a session that was put away, or was not, is to be listed.
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
    /// Where the next page begins, if there is one.
    pub next_cursor: Option<String>,
}

/// Why the store did not do it. Nothing is half written.
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
        /// Who holds it.
        holder: LeaseHolder,
    },
    /// The lease was taken over; this owner must not write any more.
    #[error("session {0} was taken over by another process; this one no longer writes to it")]
    Fenced(SessionId),
    /// A cursor that is none of ours.
    #[error("bad cursor {0:?}: pass the nextCursor of the page before, unchanged")]
    BadCursor(String),
    /// The file's format is newer than this program, or it is none of ours.
    #[error("{0}")]
    Format(String),
    /// The file is damaged. What can be read of it is kept when it is opened anew.
    #[error("{0}")]
    Damaged(String),
    /// The disk is full, the file is locked for too long, and the like.
    #[error("the session store failed: {0}")]
    Io(String),
}
