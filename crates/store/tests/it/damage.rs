//! Damaged files.

use crate::{database_path, session, user_message};
use agent::{ListQuery, SessionStore as _, StoreError};
use rusqlite::Connection;
use std::{
    fs::OpenOptions,
    io::{Read as _, Write as _},
    os::unix::fs::PermissionsExt as _,
};
use store::SqliteStore;
use tempfile::TempDir;

#[tokio::test]
async fn the_directory_is_created_and_private() {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("not/yet/there/sessions.db");
    let store = SqliteStore::open(&path).unwrap();
    store.create(session("s1")).await.unwrap();
    let mode = |path: &std::path::Path| path.symlink_metadata().unwrap().permissions().mode() & 0o777;
    for directory in [path.parent().unwrap(), &path.with_file_name("holders")] {
        assert_eq!(mode(directory), 0o700);
        let inside = directory.read_dir().unwrap().map(|entry| entry.unwrap().path());
        let files: Vec<_> = inside.filter(|path| path.extension().is_some()).collect();
        assert!(!files.is_empty() && files.iter().all(|file| mode(file) == 0o600), "{files:?}");
    }
}

#[tokio::test]
async fn a_damaged_event_is_skipped_and_its_row_kept() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    store.append(&lease, (1..=5).map(|n| user_message(&n.to_string())).collect()).await.unwrap();
    let raw = Connection::open(&path).unwrap();
    raw.execute("UPDATE events SET body = '{\"kind\":\"user_me' WHERE seq = 2", []).unwrap();
    raw.execute("UPDATE events SET body = CAST(x'7bff7d' AS TEXT) WHERE seq = 4", []).unwrap();

    for _ in 0..2 {
        // A full page in spite of the gap: a shorter one would look like the last page.
        let events = store.events(&lease.session, 0, 2).await.unwrap();
        assert_eq!(events, [(1, user_message("1")), (3, user_message("3"))]);
        assert_eq!(store.events(&lease.session, 3, 2).await.unwrap(), [(5, user_message("5"))]);
    }
    let mut noted = raw.prepare("SELECT seq FROM events WHERE damaged IS NOT NULL ORDER BY seq").unwrap();
    let noted: Vec<i64> = noted.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(noted, [2, 4]);
    assert_eq!(store.append(&lease, vec![user_message("6")]).await, Ok(6));
}

#[tokio::test]
async fn an_event_of_a_newer_format_is_refused() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    store.append(&lease, vec![user_message("1"), user_message("2")]).await.unwrap();
    let raw = Connection::open(&path).unwrap();
    raw.execute("UPDATE events SET format = 99 WHERE seq = 2", []).unwrap();
    let refused = store.events(&lease.session, 0, 10).await;
    assert!(
        matches!(&refused, Err(StoreError::Format(message)) if message.contains("format 99") && message.contains("upgrade")),
        "{refused:?}"
    );
    assert_eq!(store.events(&lease.session, 0, 1).await, Ok(vec![(1, user_message("1"))]));
}

#[tokio::test]
async fn a_damaged_session_does_not_hide_the_others() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    for id in ["s1", "s2", "s3"] {
        store.create(session(id)).await.unwrap();
    }
    let raw = Connection::open(&path).unwrap();
    raw.execute("UPDATE sessions SET additional_directories = '[' WHERE id = 's2'", []).unwrap();
    assert!(matches!(store.get(&"s2".into()).await, Err(StoreError::Format(_))));
    let page = store.list(ListQuery { limit: 2, ..ListQuery::default() }).await.unwrap();
    assert_eq!(page.sessions.len(), 2);
    assert_eq!(page.next_cursor, None);
}

#[tokio::test]
async fn a_file_of_another_program_is_refused_and_unchanged() {
    let (directory, path) = database_path();
    drop(SqliteStore::open(&path).unwrap());
    Connection::open(&path).unwrap().execute_batch("PRAGMA user_version = 99").unwrap();
    let foreign = directory.path().join("foreign.db");
    Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE t (x)").unwrap();

    for (path, expected) in [(&path, "schema 99"), (&foreign, "another program")] {
        let Err(StoreError::Format(message)) = SqliteStore::open(path) else { panic!("{expected}") };
        assert!(message.contains(expected), "{message}");
        let background = SqliteStore::open_in_background(path).unwrap();
        assert_eq!(background.create(session("s1")).await, Err(StoreError::Format(message.clone())));
    }
    let newer = Connection::open(&path).unwrap();
    assert_eq!(newer.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0)), Ok(99));
    let foreign = Connection::open(&foreign).unwrap();
    assert_eq!(
        foreign.query_row("SELECT group_concat(name) FROM sqlite_schema", [], |row| row.get::<_, String>(0)),
        Ok("t".to_owned())
    );
    let below_a_file = directory.path().join("foreign.db/sessions.db");
    assert!(matches!(SqliteStore::open(below_a_file), Err(StoreError::Io(_))));
}

#[tokio::test]
async fn a_clock_set_back_does_not_move_a_session_down_the_list() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    let later = i64::MAX - 1;
    Connection::open(&path).unwrap().execute("UPDATE sessions SET updated_at = ?1", [later]).unwrap();
    store.append(&lease, vec![user_message("1")]).await.unwrap();
    assert_eq!(store.get(&lease.session).await.unwrap().times.updated_at, later);
}

#[tokio::test]
async fn a_newer_schema_is_read_but_not_written() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    store.append(&lease, vec![user_message("1")]).await.unwrap();
    drop(store);
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch(
        "CREATE TABLE later (x); ALTER TABLE sessions ADD COLUMN later TEXT; PRAGMA user_version = 99",
    )
    .unwrap();
    let store = SqliteStore::open_in_background(&path).unwrap();
    assert_eq!(store.list(ListQuery { limit: 9, ..ListQuery::default() }).await.unwrap().sessions.len(), 1);
    assert_eq!(store.get(&lease.session).await.unwrap().last_seq, 1);
    assert_eq!(store.events(&lease.session, 0, 9).await, Ok(vec![(1, user_message("1"))]));
    assert!(matches!(store.append(&lease, vec![user_message("2")]).await, Err(StoreError::Format(_))));
    assert!(matches!(store.acquire(&lease.session, true).await, Err(StoreError::Format(_))));
    assert!(matches!(store.delete(&lease.session).await, Err(StoreError::Format(_))));
    let rows = raw.query_row("SELECT count(*) FROM events", [], |row| row.get::<_, i64>(0));
    assert_eq!(rows, Ok(1));
}

#[tokio::test]
async fn a_completely_damaged_file_is_set_aside_and_a_new_one_created() {
    let (directory, path) = database_path();
    let damaged = b"no database at all\n".repeat(1000);
    let mut file = OpenOptions::new().write(true).create_new(true).open(&path).unwrap();
    file.write_all(&damaged).unwrap();
    let opened: Vec<_> = (0..4)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || SqliteStore::open(path).unwrap())
        })
        .collect();
    let stores: Vec<_> = opened.into_iter().map(|thread| thread.join().unwrap()).collect();
    let lease = stores[0].create(session("s1")).await.unwrap();
    stores[1].get(&lease.session).await.expect("all of them have the same fresh file");
    let names = directory.path().read_dir().unwrap().map(|entry| entry.unwrap().path());
    let aside: Vec<_> = names.filter(|path| path.to_string_lossy().contains(".damaged-")).collect();
    assert_eq!(aside.len(), 1, "once: {aside:?}");
    let mut kept = Vec::new();
    OpenOptions::new().read(true).open(&aside[0]).unwrap().read_to_end(&mut kept).unwrap();
    assert!(kept == damaged, "nothing is deleted");
}
