//! Session stores: the append-only event log in SQLite or PostgreSQL.
//!
//! [`SqliteStore`] implements [`agent::SessionStore`] in one file that several processes may use at
//! the same time, and `PostgresStore` in a database that several machines use. [`Database`] is the
//! store at an address, [`transfer`] copies sessions between two. [`examine`] and [`repair`] check
//! a file and salvage what can be read of a damaged one. `contract` is the test suite for any
//! store, `exported` the JSON form of events for files outside the database.
//!
//! Architecture Invariant: this is the only crate that knows SQL, and the only one that knows the
//! stored form of an event (`stored`). It must never acknowledge an event that is not on disk, or
//! delete a damaged file. The SQLite database is the only file of the project that does not go
//! through [`system::System`]: it belongs to the program, not to the workspace, and no editor
//! buffer can stand in for it.

#[cfg(feature = "postgres")]
pub mod access;
mod changes;
mod clock;
pub mod contract;
mod cursor;
mod database;
pub mod exported;
pub mod janitor;
mod limits;
mod memory_rows;
mod moved_memories;
pub mod nodes;
pub mod password;
#[cfg(feature = "postgres")]
mod postgres;
mod raw;
pub mod server;
mod server_state;
mod spent;
#[expect(
    clippy::disallowed_methods,
    reason = "the database, its directory and its set-aside files belong to the program, not to the workspace"
)]
mod sqlite;
mod stored;
pub mod transfer;

pub use database::{Database, NotAStoreAddress, StoreAddress};
#[cfg(feature = "postgres")]
pub use postgres::{AccessTables, PostgresStore};
pub use sqlite::{
    CheckDepth, CutSession, Health, Holder, Machine, Remedy, Repaired, Salvaged, SessionLease, SqliteStore,
    examine, leases, repair,
};
