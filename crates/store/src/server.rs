//! The database of a server: its schema and its state.

pub use crate::server_state::{Migrated, NodeState, ServerStatus, Setting};

use agent::StoreError;

#[cfg(feature = "postgres")]
use crate::PostgresStore;

/// Creates the tables in the database at a URL, or migrates those of an older program.
///
/// # Errors
///
/// The same as for `PostgresStore::migrate`; [`StoreError::Format`] if this program was built
/// without it.
pub async fn migrate(url: &str) -> Result<Migrated, StoreError> {
    #[cfg(feature = "postgres")]
    return PostgresStore::migrate(url).await;
    #[cfg(not(feature = "postgres"))]
    Err(missing(url))
}

/// Returns the state of the database at a URL, migrated or not.
///
/// # Errors
///
/// The same as for `PostgresStore::status`; [`StoreError::Format`] if this program was built
/// without it.
pub async fn status(url: &str) -> Result<ServerStatus, StoreError> {
    #[cfg(feature = "postgres")]
    return PostgresStore::status(url).await;
    #[cfg(not(feature = "postgres"))]
    Err(missing(url))
}

/// Returns the processes that share the database at a URL and are alive, oldest first.
///
/// # Errors
///
/// [`StoreError::Io`] if the database cannot be reached; [`StoreError::Format`] if it has no tables
/// of ours, or this program was built without it.
pub async fn nodes(url: &str) -> Result<Vec<NodeState>, StoreError> {
    #[cfg(feature = "postgres")]
    return PostgresStore::nodes(url).await;
    #[cfg(not(feature = "postgres"))]
    Err(missing(url))
}

/// Returns the error of a program that was built without PostgreSQL.
#[cfg(not(feature = "postgres"))]
pub(crate) fn missing(_url: &str) -> StoreError {
    StoreError::Format("this program was built without PostgreSQL; use a file, or another build".to_owned())
}
