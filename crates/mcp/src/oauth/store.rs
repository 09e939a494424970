//! Where grants are stored.

use async_trait::async_trait;

/// The store of grants, among the user's secrets.
#[async_trait]
pub trait Grants: Send + Sync {
    /// Returns the stored grant for a server's name.
    async fn load(&self, server: &str) -> Option<String>;

    /// Stores a grant in place of the previous one; `None` deletes it. The error is text for
    /// people.
    async fn keep(&self, server: &str, grant: Option<String>) -> Result<(), String>;

    /// Returns the current time, in seconds since 1970.
    fn now(&self) -> u64;
}
