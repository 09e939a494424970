//! The database of a server: its schema and its state.

use agent::StoreError;

#[cfg(feature = "postgres")]
use crate::PostgresStore;

/// The versions before and after a migration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Migrated {
    /// The version before; 0 for a new database.
    pub from: i32,
    /// The version now.
    pub to: i32,
}

/// The state of a session database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerStatus {
    /// The version of the server.
    pub server: String,
    /// The schema version; `None` before the first migration.
    pub schema: Option<i32>,
    /// The schema versions that this program can use.
    pub supported: (i32, i32),
    /// The settings that matter for durability.
    pub settings: Vec<Setting>,
    /// The processes that are registered and alive.
    pub nodes: Vec<String>,
    /// What keeps this program from using the database, in words.
    pub problems: Vec<String>,
}

/// A setting of the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What is wrong with it, and what to do; `None` if it is fine.
    pub problem: Option<String>,
}

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

/// Returns the error of a program that was built without PostgreSQL.
#[cfg(not(feature = "postgres"))]
pub(crate) fn missing(_url: &str) -> StoreError {
    StoreError::Format("this program was built without PostgreSQL; use a file, or another build".to_owned())
}
