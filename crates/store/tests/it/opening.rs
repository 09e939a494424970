//! A failed opening reports why, and the next call tries again: a process outlives the causes.

use crate::{database_path, session, user_message};
use agent::{ListQuery, SessionStore as _, StoreError};
use rusqlite::Connection;
use std::{
    fs,
    path::{Path, PathBuf},
    sync::Barrier,
    thread,
};
use store::SqliteStore;

/// Something that prevents a file from being opened while it is present; possibly a connection of
/// another process.
struct Cause {
    name: &'static str,
    begin: fn(&Path) -> Option<Connection>,
    end: fn(&Path),
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the test puts a directory in the way of the store's own file")]
fn directory_at(path: &Path) -> Option<Connection> {
    fs::create_dir_all(path.join("in the way")).unwrap();
    None
}

#[expect(clippy::disallowed_methods, reason = "the test makes the store's own file")]
fn directory_beside(path: &Path, suffix: &str) -> Option<Connection> {
    fs::create_dir_all(parent(path)).unwrap();
    fs::write(path, "").unwrap();
    directory_at(&beside(path, suffix))
}

/// One cause for each file and directory that opening accesses, and for locks.
#[expect(clippy::disallowed_methods, reason = "the test puts things in the way of the store's own file")]
fn causes() -> Vec<Cause> {
    vec![
        Cause {
            name: "a file in the place of the directory",
            begin: |path| {
                fs::write(parent(path), "no folder").unwrap();
                None
            },
            end: |path| fs::remove_file(parent(path)).unwrap(),
        },
        Cause {
            name: "a link that leads nowhere in the place of the directory",
            begin: |path| {
                std::os::unix::fs::symlink("/nowhere/at/all", parent(path)).unwrap();
                None
            },
            end: |path| fs::remove_file(parent(path)).unwrap(),
        },
        Cause {
            name: "a directory in the place of the file",
            begin: directory_at,
            end: |path| fs::remove_dir_all(path).unwrap(),
        },
        Cause {
            name: "a directory in the place of the log",
            begin: |path| directory_beside(path, "-wal"),
            end: |path| fs::remove_dir_all(beside(path, "-wal")).unwrap(),
        },
        Cause {
            name: "a directory in the place of the shared memory",
            begin: |path| directory_beside(path, "-shm"),
            end: |path| fs::remove_dir_all(beside(path, "-shm")).unwrap(),
        },
        Cause {
            name: "another program's file",
            begin: |path| {
                fs::create_dir_all(parent(path)).unwrap();
                Connection::open(path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();
                None
            },
            end: |path| fs::remove_file(path).unwrap(),
        },
        Cause {
            name: "a newer program's file",
            begin: |path| {
                drop(SqliteStore::open(path).unwrap());
                Connection::open(path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
                None
            },
            end: |path| fs::remove_file(path).unwrap(),
        },
        Cause {
            name: "a lock of another process",
            begin: |path| {
                fs::create_dir_all(parent(path)).unwrap();
                let other = Connection::open(path).unwrap();
                other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
                Some(other)
            },
            end: |_| (),
        },
    ]
}

#[tokio::test]
async fn opening_succeeds_once_the_cause_of_its_failure_is_gone() {
    for Cause { name, begin, end } in causes() {
        let (_directory, path) = database_path();
        let path = parent(&path).join("data/sessions.db");
        let kept = begin(&path);
        let store = SqliteStore::open_in_background(&path).unwrap();
        for _ in 0..2 {
            let refused = store.create(session("s1")).await;
            let Err(StoreError::Io(message) | StoreError::Format(message)) = &refused else {
                panic!("{name}: {refused:?}")
            };
            let data = parent(&path).to_str().unwrap();
            assert!(message.contains(data), "{name}: the file is named: {message}");
            if name.contains("lock") {
                break;
            }
            let unread = store.list(ListQuery { limit: 9, ..ListQuery::default() }).await;
            assert!(unread.is_err() || name.contains("newer"), "{name}: {unread:?}");
        }
        drop(kept);
        end(&path);
        let lease = store.create(session("s1")).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        store.append(&lease, vec![user_message("1")]).await.unwrap();
        let listed = store.list(ListQuery { limit: 9, ..ListQuery::default() }).await;
        let listed = listed.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(listed.sessions.len(), 1, "{name}: what reads tries again too");
    }
}

#[tokio::test]
async fn an_empty_file_is_recreated_and_its_log_is_salvaged() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    store.append(&lease, vec![user_message("1"), user_message("2")]).await.unwrap();
    // As after a machine crash that destroyed the file and left its log, and a rollback journal
    // that says that the file was never complete.
    let copies = ["copy.db", "unfinished.db"].map(|name| parent(&path).join(name));
    for copy in &copies {
        fs::copy(beside(&path, "-wal"), beside(copy, "-wal")).unwrap();
        fs::write(copy, "").unwrap();
    }
    fs::write(beside(&copies[1], "-journal"), [0; 512]).unwrap();
    drop(store);
    for copy in &copies {
        let store = SqliteStore::open(copy).unwrap();
        let events = store.events(&"s1".into(), 0, 9).await.unwrap();
        assert_eq!(events.len(), 2, "the log had all of it: {}", copy.display());
    }

    let empty = parent(&path).join("empty.db");
    fs::OpenOptions::new().write(true).create_new(true).open(&empty).unwrap();
    let store = SqliteStore::open(&empty).unwrap();
    store.create(session("s1")).await.unwrap();
}

#[tokio::test]
async fn an_empty_file_with_a_log_is_opened_by_several_at_once() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    store.create(session("s1")).await.unwrap();
    let log = fs::read(beside(&path, "-wal")).unwrap();
    for round in 0..100 {
        let copy = parent(&path).join(format!("{round}.db"));
        fs::write(beside(&copy, "-wal"), &log).unwrap();
        fs::write(beside(&copy, "-journal"), [0; 512]).unwrap();
        fs::write(&copy, "").unwrap();
        let all_ready = Barrier::new(4);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    all_ready.wait();
                    drop(SqliteStore::open(&copy).unwrap());
                });
            }
        });
    }
}
