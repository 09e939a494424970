//! Checking a file, and repairing it.

use crate::{database_path, session, user_message};
use agent::{SearchQuery, SessionStore as _};
use rusqlite::Connection;
use std::path::Path;
use store::{CheckDepth, Remedy, Repaired, SqliteStore, examine, repair};

async fn two_sessions(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    for id in ["s1", "s2"] {
        let lease = store.create(session(id)).await.unwrap();
        store.append(&lease, (1..=9).map(|n| user_message(&format!("{n} {id}"))).collect()).await.unwrap();
    }
}

fn sql(path: &Path, sql: &str) {
    Connection::open(path).unwrap().execute_batch(sql).unwrap();
}

/// Returns how many messages of a session a search finds.
async fn found(path: &Path, text: &str) -> usize {
    let query = SearchQuery { text: text.to_owned(), limit: 99, ..SearchQuery::default() };
    SqliteStore::open(path).unwrap().search(query).await.unwrap().len()
}

#[tokio::test]
async fn a_healthy_file_is_unchanged() {
    let (_directory, path) = database_path();
    assert_eq!(examine(&path, CheckDepth::Quick), Ok(None), "there is none");
    assert_eq!(repair(&path), Ok(Repaired::Nothing));
    two_sessions(&path).await;
    for depth in [CheckDepth::Quick, CheckDepth::Thorough] {
        let health = examine(&path, depth).unwrap().unwrap();
        assert_eq!((health.problems.len(), health.remedy, health.sessions), (0, Remedy::Nothing, 2));
    }
    assert_eq!(repair(&path), Ok(Repaired::Nothing));
}

#[tokio::test]
async fn damaged_indexes_are_rebuilt_and_nothing_is_set_aside() {
    for damage in [
        // An index that lacks rows.
        "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = sql || ' WHERE 0' WHERE name = 'sessions_by_use'; \
         PRAGMA writable_schema = RESET; REINDEX sessions_by_use; PRAGMA writable_schema = ON; \
         UPDATE sqlite_schema SET sql = replace(sql, ' WHERE 0', '') WHERE name = 'sessions_by_use'",
        // A search index with words that are missing from its lists.
        "DELETE FROM words_data WHERE id > 10",
    ] {
        let (_directory, path) = database_path();
        two_sessions(&path).await;
        sql(&path, damage);
        let health = examine(&path, CheckDepth::Thorough).unwrap().unwrap();
        assert_eq!(health.remedy, Remedy::Indexes, "{damage}: {:?}", health.problems);
        assert_eq!(repair(&path), Ok(Repaired::Indexes), "{damage}");
        let health = examine(&path, CheckDepth::Thorough).unwrap().unwrap();
        assert_eq!((health.problems, health.sessions, health.set_aside.len()), (Vec::new(), 2, 0));
        assert_eq!(found(&path, "s1").await, 9, "the search takes all of it up again");
    }
}

#[tokio::test]
async fn a_gap_in_a_log_costs_the_events_after_it_and_is_reported() {
    let (_directory, path) = database_path();
    two_sessions(&path).await;
    sql(&path, "DELETE FROM events WHERE session_id = 's1' AND seq = 5");
    let health = examine(&path, CheckDepth::Quick).unwrap().unwrap();
    assert_eq!((health.remedy, health.problems.len()), (Remedy::Salvage, 1), "{:?}", health.problems);
    assert!(health.problems[0].contains("s1"));
    let Ok(Repaired::Salvaged(salvaged)) = repair(&path) else { panic!("not salvaged") };
    assert_eq!((salvaged.whole, salvaged.cut.len(), salvaged.cut[0].kept), (1, 1, 4));
    let health = examine(&path, CheckDepth::Thorough).unwrap().unwrap();
    assert_eq!((health.problems, health.remedy), (Vec::new(), Remedy::Nothing));
    assert_eq!(health.set_aside, std::slice::from_ref(&salvaged.aside));
    let name = salvaged.aside.file_name().unwrap().to_str().unwrap();
    assert!(
        health.cut[0].lost.contains("events 5 to 9") && health.cut[0].lost.contains(name),
        "{:?}",
        health.cut
    );
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(store.events(&"s1".into(), 0, 99).await.unwrap().len(), 4);
    assert_eq!(found(&path, "s2").await, 9);
    assert_eq!(found(&path, "s1").await, 4);
}

#[tokio::test]
async fn a_newer_or_foreign_file_is_not_repaired() {
    for (sql_text, advice) in
        [("CREATE TABLE t (x)", "another program"), ("CREATE TABLE t (x); PRAGMA user_version = 99", "newer")]
    {
        let (_directory, path) = database_path();
        sql(&path, sql_text);
        let health = examine(&path, CheckDepth::Quick).unwrap().unwrap();
        assert_eq!(health.remedy, Remedy::Refuse);
        assert!(repair(&path).is_err_and(|error| error.to_string().contains(advice)));
    }
}
