//! Many sessions and long ones.

use crate::{place, said, session};
use agent::{ListQuery, SessionStore as _};
use rusqlite::Connection;
use store::SqliteStore;

/// The two statements of a list, as SQLite means to run them.
#[tokio::test]
async fn a_list_reads_an_index_in_its_order() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    store.create(session("s1")).await.unwrap();
    let raw = Connection::open(&path).unwrap();
    for (filter, index) in [("", "sessions_by_use"), ("cwd = '/work' AND", "sessions_by_folder")] {
        let sql = format!(
            "EXPLAIN QUERY PLAN SELECT id, title FROM sessions WHERE {filter} (updated_at, id) < (9, 'x') AND archived BETWEEN 0 AND 0 \
             ORDER BY updated_at DESC, id DESC"
        );
        let mut statement = raw.prepare(&sql).unwrap();
        let plan: Vec<String> =
            statement.query_map([], |row| row.get(3)).unwrap().map(Result::unwrap).collect();
        assert!(plan.iter().all(|step| step.contains(index)), "no scan and no sorting: {plan:?}");
    }
}

#[tokio::test]
async fn ten_thousand_sessions_list_as_fast_as_ten() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    store.create(session("s0")).await.unwrap();
    Connection::open(&path)
        .unwrap()
        .execute_batch(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 9999) \
             INSERT INTO sessions SELECT 's' || n, cwd, additional_directories, model, mode, permission_mode, 'title', created_at, \
             created_at + n, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0 FROM sessions, n WHERE id = 's0'",
        )
        .unwrap();
    let (mut query, mut pages, mut slowest) = (ListQuery { limit: 50, ..ListQuery::default() }, 0, 0);
    loop {
        let begun = std::time::Instant::now();
        let page = store.list(query.clone()).await.unwrap();
        slowest = slowest.max(begun.elapsed().as_millis());
        pages += 1;
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            break;
        }
    }
    assert_eq!(pages, 200);
    // An unoptimised build on a busy machine is given ten times what a page may take; a scan would take more.
    assert!(slowest < 500, "the slowest page took {slowest} ms");
}

#[tokio::test]
async fn a_long_session_is_read_a_page_at_a_time() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    store.append(&lease, (0..10_000).map(|n| said(&n.to_string())).collect()).await.unwrap();
    let (mut after, mut pages) = (0, 0);
    loop {
        let page = store.events(&lease.session, after, 500).await.unwrap();
        let Some((last, _)) = page.last() else { break };
        assert_eq!((page.len(), page[0].0), (500, after + 1));
        after = *last;
        pages += 1;
    }
    assert_eq!((pages, after), (20, 10_000));
}

#[tokio::test]
async fn a_page_of_large_events_is_a_short_one() {
    let (_folder, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    store.append(&lease, (0..10).map(|_| said(&"x".repeat(400_000))).collect()).await.unwrap();
    let (mut after, mut sizes) = (0, Vec::new());
    loop {
        let page = store.events(&lease.session, after, 500).await.unwrap();
        let Some((last, _)) = page.last() else { break };
        after = *last;
        sizes.push(page.len());
    }
    assert_eq!((sizes, after), (vec![3, 3, 3, 1], 10));
}
