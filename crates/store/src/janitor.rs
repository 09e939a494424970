//! Deleting what is not needed any more: sessions that were not used for long, and contents that
//! nothing refers to.

use agent::StoreError;
use async_trait::async_trait;

/// Deletes from a store of sessions, those of all owners.
#[async_trait]
pub trait Janitor: Send + Sync {
    /// Begins a sweep; `None` while another process sweeps the same database. It ends when the
    /// result is dropped.
    async fn begin(&self) -> Result<Option<Box<dyn Sweep>>, StoreError>;
}

/// A sweep. Its steps are short, and can be cut off anywhere.
#[async_trait]
pub trait Sweep: Send + Sync {
    /// Deletes at most a hundred sessions that were last used before a time in milliseconds since
    /// the epoch, the least recently used first, with those of their subagents. A session that a
    /// living process holds stays. Returns how many were deleted; after 0, no more can be.
    async fn delete_unused(&mut self, before: i64) -> Result<u64, StoreError>;

    /// Deletes contents of files and large events that nothing refers to. Returns how many.
    async fn delete_orphans(&mut self) -> Result<u64, StoreError>;
}
