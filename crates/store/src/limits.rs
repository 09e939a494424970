//! The named limits of this crate, with their units and reasons.

use std::time::Duration;

/// How long SQLite waits for another process's lock.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How many times opening is attempted while another process replaces the file.
pub(crate) const OPENINGS: usize = 3;
/// The delay between two attempts to switch a new file to write-ahead logging. SQLite's own busy
/// timeout does not apply there.
pub(crate) const BUSY_STEP: Duration = Duration::from_millis(5);
/// The page cache per connection, in KiB. Small, since the log is written once and read
/// sequentially.
pub(crate) const CACHE_KIB: i64 = 512;
/// The number of pages in the write-ahead log before a checkpoint. The next process to open the
/// file after a kill reads what is left in the log, so a short log means a fast start.
pub(crate) const CHECKPOINT_PAGES: i64 = 256;
/// The capacity of a thread's request queue. Callers wait when it is full.
pub(crate) const QUEUED_REQUESTS: usize = 256;
/// The maximum number of writes that share one commit.
pub(crate) const WRITES_PER_COMMIT: usize = 64;
/// The size in bytes after which a page of events ends, regardless of the number of events, so that
/// a reader's memory does not grow with the length of a session.
pub(crate) const EVENTS_PAGE_BYTES: usize = 1024 * 1024;
/// The largest stored event, in bytes: the size of the longest client message. A longer one would
/// be written, and read again at each opening, in one piece.
pub(crate) const EVENT_BYTES: usize = 64 * 1024 * 1024;
/// The total size in bytes of the file contents stored per session, for undoing changes; the oldest
/// are deleted first.
pub(crate) const CONTENTS_BYTES: i64 = 256 * 1024 * 1024;
/// How many messages a search ranks: the newest matches. Must be at least [`SEARCH_HITS_MAX`].
pub(crate) const SEARCH_RANKED: i64 = 2_000;
/// How many events are added to the search index in one transaction.
pub(crate) const INDEXED_EVENTS: i64 = 500;
/// How many sessions are added to the search index in one transaction.
pub(crate) const INDEXED_SESSIONS: i64 = 500;
/// The maximum number of messages that a search returns.
pub(crate) const SEARCH_HITS_MAX: usize = 1_000;
/// The maximum number of sessions on a page of a list, regardless of the requested limit.
pub(crate) const LIST_PAGE_MAX: usize = 1_000;
/// How long a holder on another host counts as alive after its last write, in milliseconds. Its
/// process cannot be inspected from here.
pub(crate) const REMOTE_HOLDER_MS: i64 = 60_000;
/// The maximum number of memories that are kept for the user, and of each project.
pub(crate) const MEMORIES_PER_SCOPE: usize = 1_000;
/// The maximum number of memories that a query returns: all that one project can see.
pub(crate) const MEMORIES_FOUND_MAX: usize = 2 * MEMORIES_PER_SCOPE;
/// How long expired memories are kept before they are deleted, in milliseconds: 30 days, in which
/// the user can still list and renew them.
pub(crate) const EXPIRED_KEPT_MS: i64 = 30 * 24 * 60 * 60 * 1000;
