//! The SQLite store against its contract, and against crashes, other processes and damage.

#![expect(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "the tests damage and kill from outside of the store, and a helper that fails fails its test"
)]

mod conformance;
mod crash;
mod damage;
mod faults;
mod holders;
mod janitor;
mod locks;
mod many;
mod memories;
mod migrate;
mod opening;
#[cfg(feature = "postgres")]
mod postgres;
mod processes;
mod protocol;
mod repair;
mod salvage;
mod vanished;

use agent::{Content, NewSession, SessionEvent};
use std::{path::PathBuf, sync::Arc};
use store::{
    Holder, SqliteStore,
    contract::{self, Fixture},
};
use tempfile::TempDir;

#[tokio::test]
async fn keeps_the_contract() {
    let directory = TempDir::new().unwrap();
    let count = std::cell::Cell::new(0);
    contract::check(|| {
        count.set(count.get() + 1);
        let path = directory.path().join(format!("{}.db", count.get()));
        async move {
            Fixture {
                store: Arc::new(SqliteStore::open(&path).unwrap()),
                other: Some(Arc::new(SqliteStore::open_as(&path, Holder::like_this_process()).unwrap())),
            }
        }
    })
    .await;
}

#[tokio::test]
async fn the_memory_store_keeps_the_contract() {
    contract::check(|| async {
        let store = agent::fake::MemoryStore::default();
        let other = store.as_another_process();
        Fixture { store: Arc::new(store), other: Some(Arc::new(other)) }
    })
    .await;
}

/// Returns a fresh directory and the path of a database in it.
fn database_path() -> (TempDir, PathBuf) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("sessions.db");
    (directory, path)
}

fn session(id: &str) -> NewSession {
    NewSession {
        id: id.into(),
        cwd: system::AbsPath::new("/work").unwrap(),
        additional_directories: Vec::new(),
        model: "offline/pilot".to_owned(),
        mode: agent::Mode::Edit,
        permission_mode: agent::PermissionMode::Guardian,
        parent: None,
        owner: None,
    }
}

fn user_message(text: &str) -> SessionEvent {
    SessionEvent::UserMessage { id: "m".into(), content: vec![Content::text(text)] }
}
