//! Session stores: the append-only event log in SQLite.
//!
//! Architecture Invariant: this is the only crate that knows SQL, and the only one that knows the stored form of an event (`stored`).
//! Its own database file is the one file of the project that does not go through [`system::System`]: it belongs to the
//! program, not to the workspace, and no editor stands in for it.

pub mod contract;
pub mod exported;
mod limits;
#[expect(
    clippy::disallowed_methods,
    reason = "the database, its folder and what is set aside of it are the program's own, and no editor stands in for them"
)]
mod sqlite;
mod stored;

pub use sqlite::{
    CutSession, Health, Holder, Look, Machine, Remedy, Repaired, Salvaged, SqliteStore, examine, repair,
};
