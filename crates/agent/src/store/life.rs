//! How long the leases of this process are certain to be its own.

use async_trait::async_trait;

/// The certainty that no other process can have taken a lease of this one.
///
/// A store whose leases expire unless the process extends them has one. The session's runtime asks
/// it before each side effect, and ends what runs once the certainty is gone: the store itself
/// refuses the appends of an owner whose lease was taken, but not the effects outside of it.
#[async_trait]
pub trait LeaseLife: Send + Sync {
    /// Whether the leases are certainly those of this process now.
    fn is_live(&self) -> bool;

    /// Completes once they are no longer, also if that was the case while the machine slept.
    async fn ended(&self);
}
