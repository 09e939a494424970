//! An opening that failed says why, and the next one is tried: a process outlives the causes.

use crate::{place, said, session};
use agent::{ListQuery, SessionStore as _, StoreError};
use rusqlite::Connection;
use std::{
    fs,
    path::{Path, PathBuf},
};
use store::SqliteStore;

/// Something that keeps a file from being opened, for as long as it is there.
struct Cause {
    name: &'static str,
    begin: fn(&Path) -> Box<dyn std::any::Any>,
    end: fn(&Path, Box<dyn std::any::Any>),
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the test puts a folder in the way of the store's own file")]
fn directory_at(path: &Path) -> Box<dyn std::any::Any> {
    fs::create_dir_all(path.join("in the way")).unwrap();
    Box::new(())
}

#[expect(clippy::disallowed_methods, reason = "the test makes the store's own file")]
fn directory_beside(path: &Path, suffix: &str) -> Box<dyn std::any::Any> {
    fs::create_dir_all(folder(path)).unwrap();
    fs::write(path, "").unwrap();
    directory_at(&beside(path, suffix))
}

/// One for each of the files and folders that an opening touches, and for locks.
#[expect(clippy::disallowed_methods, reason = "the test puts things in the way of the store's own file")]
fn causes() -> Vec<Cause> {
    vec![
        Cause {
            name: "a file in the place of the folder",
            begin: |path| Box::new(fs::write(folder(path), "no folder").unwrap()),
            end: |path, _| fs::remove_file(folder(path)).unwrap(),
        },
        Cause {
            name: "a link that leads nowhere in the place of the folder",
            begin: |path| Box::new(std::os::unix::fs::symlink("/nowhere/at/all", folder(path)).unwrap()),
            end: |path, _| fs::remove_file(folder(path)).unwrap(),
        },
        Cause {
            name: "a folder in the place of the file",
            begin: directory_at,
            end: |path, _| fs::remove_dir_all(path).unwrap(),
        },
        Cause {
            name: "a folder in the place of the log",
            begin: |path| directory_beside(path, "-wal"),
            end: |path, _| fs::remove_dir_all(beside(path, "-wal")).unwrap(),
        },
        Cause {
            name: "a folder in the place of the shared memory",
            begin: |path| directory_beside(path, "-shm"),
            end: |path, _| fs::remove_dir_all(beside(path, "-shm")).unwrap(),
        },
        Cause {
            name: "another program's file",
            begin: |path| {
                fs::create_dir_all(folder(path)).unwrap();
                Box::new(Connection::open(path).unwrap().execute_batch("CREATE TABLE t (x)").unwrap())
            },
            end: |path, _| fs::remove_file(path).unwrap(),
        },
        Cause {
            name: "a newer program's file",
            begin: |path| {
                drop(SqliteStore::open(path).unwrap());
                Box::new(Connection::open(path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap())
            },
            end: |path, _| fs::remove_file(path).unwrap(),
        },
        Cause {
            name: "a lock of another process",
            begin: |path| {
                fs::create_dir_all(folder(path)).unwrap();
                let other = Connection::open(path).unwrap();
                other.execute_batch("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE").unwrap();
                Box::new(other)
            },
            end: |_, other| drop(other),
        },
    ]
}

#[tokio::test]
async fn what_could_not_be_opened_is_opened_once_the_cause_is_gone() {
    for Cause { name, begin, end } in causes() {
        let (_folder, path) = place();
        let path = folder(&path).join("data/sessions.db");
        let kept = begin(&path);
        let store = SqliteStore::open_in_background(&path).unwrap();
        for _ in 0..2 {
            let refused = store.create(session("s1")).await;
            let Err(StoreError::Io(message) | StoreError::Format(message)) = &refused else {
                panic!("{name}: {refused:?}")
            };
            let data = folder(&path).to_str().unwrap();
            assert!(message.contains(data), "{name}: the file is named: {message}");
            if name.contains("lock") {
                break;
            }
            let unread = store.list(ListQuery { limit: 9, ..ListQuery::default() }).await;
            assert!(unread.is_err() || name.contains("newer"), "{name}: {unread:?}");
        }
        end(&path, kept);
        let lease = store.create(session("s1")).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        store.append(&lease, vec![said("1")]).await.unwrap();
        let listed = store.list(ListQuery { limit: 9, ..ListQuery::default() }).await;
        let listed = listed.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(listed.sessions.len(), 1, "{name}: what reads tries again too");
    }
}

#[tokio::test]
async fn an_empty_file_is_begun_afresh_and_a_log_beside_it_is_kept() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    store.append(&lease, vec![said("1"), said("2")]).await.unwrap();
    // As after a crash of the machine that took the file and left its log.
    let copy = folder(&path).join("copy.db");
    #[expect(clippy::disallowed_methods, reason = "the test stands for what a crash leaves")]
    for (from, to) in [("", ""), ("-wal", "-wal")] {
        fs::copy(beside(&path, from), beside(&copy, to)).unwrap();
    }
    drop(store);
    fs::OpenOptions::new().write(true).truncate(true).open(&copy).unwrap();
    let store = SqliteStore::open(&copy).unwrap();
    assert_eq!(store.events(&"s1".into(), 0, 9).await.unwrap().len(), 2, "the log had all of it");

    let empty = folder(&path).join("empty.db");
    fs::OpenOptions::new().write(true).create_new(true).open(&empty).unwrap();
    let store = SqliteStore::open(&empty).unwrap();
    store.create(session("s1")).await.unwrap();
}
