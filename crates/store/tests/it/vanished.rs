//! A file that is deleted, moved or replaced while it is in use.

use crate::{database_path, session, user_message};
use agent::{Lease, ListQuery, SessionStore as _, StoreError};
use std::{fs, path::Path};
use store::SqliteStore;

fn events(count: usize) -> Vec<agent::SessionEvent> {
    (1..=count).map(|n| user_message(&n.to_string())).collect()
}

/// Checks that an append reports that the session's log is gone, and names the file.
async fn assert_log_is_gone(store: &SqliteStore, lease: &Lease, path: &Path) {
    for _ in 0..2 {
        let refused = store.append(lease, events(1)).await;
        let Err(StoreError::Io(message)) = &refused else { panic!("{refused:?}") };
        assert!(message.contains("is gone") && message.contains(path.to_str().unwrap()), "{message}");
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test takes the store's own file away")]
async fn a_vanished_file_is_detected_at_the_next_append() {
    type Vanish = fn(&Path);
    let ways: [(&str, Vanish); 4] = [
        ("deleted", |path| fs::remove_file(path).unwrap()),
        ("deleted with its directory", |path| fs::remove_dir_all(path.parent().unwrap()).unwrap()),
        ("moved with its directory", |path| {
            let directory = path.parent().unwrap();
            fs::rename(directory, directory.with_extension("moved")).unwrap();
        }),
        ("replaced", |path| {
            let other = path.with_extension("other");
            drop(SqliteStore::open(&other).unwrap());
            let copy = path.with_extension("copy");
            let raw = rusqlite::Connection::open(&other).unwrap();
            raw.execute("VACUUM INTO ?1", [copy.to_str().unwrap()]).unwrap();
            fs::rename(copy, path).unwrap();
        }),
    ];
    for (name, vanish) in ways {
        let (_directory, path) = database_path();
        let path = path.parent().unwrap().join("data/sessions.db");
        let store = SqliteStore::open(&path).unwrap();
        let lease = store.create(session("s1")).await.unwrap();
        store.append(&lease, events(3)).await.unwrap();
        assert_eq!(store.events(&lease.session, 0, 9).await.unwrap().len(), 3);
        vanish(&path);
        assert_log_is_gone(&store, &lease, &path).await;
        // The process continues: a new session is stored in the file that is at the path now, and
        // both threads of the store see it.
        let fresh = store.create(session("s2")).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(store.append(&fresh, events(2)).await, Ok(2), "{name}");
        assert_eq!(store.events(&fresh.session, 0, 9).await.unwrap().len(), 2, "{name}");
        let listed = store.list(ListQuery { limit: 9, ..ListQuery::default() }).await.unwrap();
        assert_eq!(listed.sessions.len(), 1, "{name}");
        let elsewhere = SqliteStore::open(&path).unwrap();
        assert_eq!(elsewhere.events(&fresh.session, 0, 9).await.unwrap().len(), 2, "{name}");
        assert_log_is_gone(&store, &lease, &path).await;
    }
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test puts a backup in the place of the store's own file")]
async fn a_restored_backup_is_not_continued_by_sessions_it_does_not_contain() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    store.append(&lease, events(2)).await.unwrap();
    let other = store.create(session("s2")).await.unwrap();
    store.append(&other, events(2)).await.unwrap();
    let backup = path.with_extension("backup");
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.execute("VACUUM INTO ?1", [backup.to_str().unwrap()]).unwrap();
    drop(raw);
    store.append(&lease, events(1)).await.unwrap();
    fs::rename(&backup, &path).unwrap();
    assert_log_is_gone(&store, &lease, &path).await;
    assert_eq!(store.append(&other, events(1)).await, Ok(3), "nothing of this one is missing");
    let again = store.acquire(&lease.session, false).await.unwrap();
    assert_eq!(store.append(&again, events(1)).await, Ok(3), "loaded again, it goes on from what is there");
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test takes the store's own log away")]
async fn deleting_the_write_ahead_log_loses_nothing() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    store.append(&lease, events(3)).await.unwrap();
    fs::remove_file(format!("{}-wal", path.display())).unwrap();
    assert_eq!(store.append(&lease, events(1)).await, Ok(4));
    let elsewhere = SqliteStore::open(&path).unwrap();
    assert_eq!(elsewhere.events(&lease.session, 0, 9).await.unwrap().len(), 4);
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test takes the store's directory away")]
async fn releasing_a_lease_does_not_recreate_a_deleted_directory() {
    let (directory, path) = database_path();
    let inside = directory.path().join("data");
    fs::create_dir(&inside).unwrap();
    let store = SqliteStore::open(inside.join(path.file_name().unwrap())).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    store.append(&lease, events(2)).await.unwrap();
    fs::remove_dir_all(&inside).unwrap();
    assert_log_is_gone(&store, &lease, &inside).await;
    assert_eq!(store.release(&lease).await, Ok(()));
    assert!(!inside.exists());
}
