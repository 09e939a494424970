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
/// How many sessions a janitor deletes before it looks for the next ones.
pub(crate) const SWEPT_SESSIONS: i32 = 100;
/// How many stored contents a janitor looks at in one transaction.
#[cfg(feature = "postgres")]
pub(crate) const SWEPT_BLOBS: i64 = 1_000;
/// The maximum number of connections of a process to a session database.
#[cfg(feature = "postgres")]
pub(crate) const POSTGRES_POOL: usize = 16;
/// The maximum number of connections of a process for tokens and the audit.
#[cfg(feature = "postgres")]
pub(crate) const POSTGRES_ACCESS_POOL: usize = 2;
/// How long a request waits for a free connection.
#[cfg(feature = "postgres")]
pub(crate) const POSTGRES_POOL_WAIT: Duration = Duration::from_secs(5);
/// How long a connection may take to be made.
#[cfg(feature = "postgres")]
pub(crate) const POSTGRES_CONNECT: Duration = Duration::from_secs(5);
/// How long a statement may take, a transaction may be idle, and sent bytes may be unacknowledged.
#[cfg(feature = "postgres")]
pub(crate) const POSTGRES_STATEMENT: Duration = Duration::from_secs(10);
/// How long a server that starts again is waited for.
#[cfg(feature = "postgres")]
pub(crate) const POSTGRES_RECONNECT: Duration = Duration::from_secs(5);
/// The pause between two attempts to connect.
#[cfg(feature = "postgres")]
pub(crate) const POSTGRES_RECONNECT_STEP: Duration = Duration::from_millis(50);
/// How often a node extends its life.
#[cfg(feature = "postgres")]
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long one heartbeat may take.
#[cfg(feature = "postgres")]
pub(crate) const HEARTBEAT_WAIT: Duration = Duration::from_secs(4);
/// How long a node lives after a heartbeat, by the clock of the database.
#[cfg(feature = "postgres")]
pub(crate) const NODE_LIFE: Duration = Duration::from_secs(20);
/// How long a node trusts its own leases after it sent a heartbeat, by its own clock. Shorter than
/// [`NODE_LIFE`], so that it stops before another one may begin.
#[cfg(feature = "postgres")]
pub(crate) const NODE_SELF_LIFE: Duration = Duration::from_secs(17);
/// How often a node that was not certain of its leases looks before its heartbeats count again:
/// each look is a tenth of a second in which its tasks run.
#[cfg(feature = "postgres")]
pub(crate) const LAPSE_LOOKS: u32 = 20;
/// The longest pause between two looks at whether a node is still certain of its leases.
#[cfg(feature = "postgres")]
pub(crate) const LIFE_STEP: Duration = Duration::from_millis(500);
/// How long the end of a process waits for the database to hear of it.
#[cfg(feature = "postgres")]
pub(crate) const FAREWELL_WAIT: Duration = Duration::from_millis(500);
/// The size in bytes beyond which the body of an event is stored apart from its row.
#[cfg(feature = "postgres")]
pub(crate) const BODY_INLINE: usize = 64 * 1024;
/// The size in bytes of a part of a stored body or content.
#[cfg(feature = "postgres")]
pub(crate) const BLOB_PART: usize = 1024 * 1024;
/// The number of events that are read in one statement.
#[cfg(feature = "postgres")]
pub(crate) const EVENTS_READ: i64 = 128;
/// The longest indexed word, in bytes; a longer one is cut.
#[cfg(feature = "postgres")]
pub(crate) const WORD_BYTES: usize = 200;
/// The number of different words of a message that are indexed. Together they stay below the
/// server's limit of 1 MiB for a message.
#[cfg(feature = "postgres")]
pub(crate) const WORDS_INDEXED: usize = 3_000;
/// How long an append may take with all its repetitions. Shorter than the runtime's timeout of one,
/// so that it knows the outcome, or gives the lease up, before the runtime stops waiting.
#[cfg(feature = "postgres")]
pub(crate) const POSTGRES_APPEND: Duration = Duration::from_secs(25);
/// How long one sending of an append may take.
#[cfg(feature = "postgres")]
pub(crate) const POSTGRES_ATTEMPT: Duration = Duration::from_secs(11);
/// How long a lease that was given up is released in the background.
#[cfg(feature = "postgres")]
pub(crate) const ABANDONED_WAIT: Duration = Duration::from_secs(600);
