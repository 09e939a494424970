//! Every limit of the crate, named, with its unit and why it is what it is.

use std::time::Duration;

/// How long SQLite waits for another process's lock before it gives up.
pub(crate) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);
/// How often an opening is tried while somebody replaces the file.
pub(crate) const OPENINGS: usize = 3;
/// How long to wait between two tries to switch a new file to write-ahead logging, which SQLite
/// does not wait for itself.
pub(crate) const BUSY_STEP: Duration = Duration::from_millis(5);
/// KiB of page cache per connection. Small on purpose: the log is written once and read in order.
pub(crate) const CACHE_KIB: i64 = 512;
/// Pages in the write-ahead log before it is moved into the database. What a killed process left in
/// it is read when the next one opens the file, so a short log is a fast start.
pub(crate) const CHECKPOINT_PAGES: i64 = 256;
/// Requests that wait for a thread; more make their callers wait.
pub(crate) const QUEUED_REQUESTS: usize = 256;
/// Writes that share one commit at the most.
pub(crate) const WRITES_PER_COMMIT: usize = 64;
/// Bytes of events after which a page of them ends, however few they are: what a reader holds at a
/// time does not grow with what was said.
pub(crate) const EVENTS_PAGE_BYTES: usize = 1024 * 1024;
/// Bytes of one stored event: as much as the longest message of a client. A longer one would be
/// written, and read again at each opening, in one piece.
pub(crate) const EVENT_BYTES: usize = 64 * 1024 * 1024;
/// Bytes of files that are kept for one session, so that changes can be taken back; the oldest go
/// first.
pub(crate) const CONTENTS_BYTES: i64 = 256 * 1024 * 1024;
/// Messages that a search ranks: the newest that match. Must be no fewer than it may return.
pub(crate) const SEARCH_RANKED: i64 = 2_000;
/// Events whose words are taken up in one transaction.
pub(crate) const INDEXED_EVENTS: i64 = 500;
/// Sessions whose words are taken up in one transaction.
pub(crate) const INDEXED_SESSIONS: i64 = 500;
/// Messages that a search returns at the most.
pub(crate) const SEARCH_HITS_MAX: usize = 1_000;
/// Sessions on one page of a list, whatever was asked for.
pub(crate) const LIST_PAGE_MAX: usize = 1_000;
/// How long a holder on another host counts as alive after its last write, in milliseconds. Its
/// process cannot be looked at from here.
pub(crate) const REMOTE_HOLDER_MS: i64 = 60_000;
