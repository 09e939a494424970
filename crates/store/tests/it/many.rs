//! Many sessions and long ones.

use crate::{database_path, session, user_message};
use agent::{ListQuery, SearchQuery, SessionStore as _};
use rusqlite::Connection;
use store::SqliteStore;

/// The query plans of the two list statements.
#[tokio::test]
async fn lists_are_read_from_an_index_in_order() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    store.create(session("s1")).await.unwrap();
    let raw = Connection::open(&path).unwrap();
    for (filter, index) in [
        ("owner IS NULL AND", "sessions_by_use"),
        ("cwd = '/work' AND owner IS NULL AND", "sessions_by_folder"),
        ("tenant = 'default' AND owner = 'anna' AND", "sessions_by_owner"),
    ] {
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
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    store.create(session("s0")).await.unwrap();
    Connection::open(&path)
        .unwrap()
        .execute_batch(
            "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 9999) \
             INSERT INTO sessions SELECT 's' || n, cwd, additional_directories, model, mode, permission_mode, 'title', created_at, \
             created_at + n, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, \
             NULL, NULL, NULL, NULL, NULL, 0, NULL, NULL, NULL, NULL FROM sessions, n WHERE id = 's0'",
        )
        .unwrap();
    let (mut query, mut pages, mut slowest) = (ListQuery { limit: 50, ..ListQuery::default() }, 0, 0);
    loop {
        let started = std::time::Instant::now();
        let page = store.list(query.clone()).await.unwrap();
        slowest = slowest.max(started.elapsed().as_millis());
        pages += 1;
        query.cursor = page.next_cursor;
        if query.cursor.is_none() {
            break;
        }
    }
    assert_eq!(pages, 200);
    // An unoptimised build on a busy machine is allowed ten times the budget of a page; a scan
    // would take longer.
    assert!(slowest < 500, "the slowest page took {slowest} ms");
}

/// Returns the messages of one of many sessions, with words that occur in all of them, in some of
/// them, and only in this one.
fn messages(n: usize) -> Vec<agent::SessionEvent> {
    let topic = ["parser", "socket", "renderer", "ledger"][n % 4];
    (0..6)
        .map(|turn| user_message(&format!("please look at the {topic} in module{n} once more, turn {turn}")))
        .collect()
}

/// Runs a few searches, checks the number of hits, and returns the times in milliseconds.
async fn search_times(store: &SqliteStore) -> Vec<u128> {
    let mut times = Vec::new();
    let path = |path: &str| Some(system::AbsPath::new(path).unwrap());
    for (text, cwd, project, found) in [
        ("module7777", None, None, 6),
        ("module7777", path("/work"), None, 6),
        ("renderer turn", None, None, 20),
        ("please", None, None, 20),
        ("please", path("/work"), None, 20),
        ("please", None, path("/work"), 20),
        // The oldest sessions, while all others match too.
        ("please", path("/elsewhere"), None, 12),
        ("please", None, path("/elsewhere"), 12),
    ] {
        let started = std::time::Instant::now();
        let except = project.is_some().then(|| "s5000".into());
        let query = SearchQuery { owner: None, text: text.to_owned(), cwd, project, except, limit: 20 };
        assert_eq!(store.search(query).await.unwrap().len(), found, "{text}");
        times.push(started.elapsed().as_millis());
    }
    times
}

#[tokio::test]
async fn the_first_search_of_ten_thousand_sessions_is_fast() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    let make = |n: usize| {
        let store = &store;
        async move {
            let cwd = if n < 2 { "/elsewhere" } else { "/work" };
            let cwd = system::AbsPath::new(cwd).unwrap();
            let new = agent::NewSession { cwd, ..session(&format!("s{n}")) };
            let lease = store.create(new).await.unwrap();
            store.append(&lease, messages(n)).await.unwrap();
        }
    };
    futures::future::join_all((0..10_000).map(make)).await;
    drop(store);
    let raw = Connection::open(&path).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let times = search_times(&store).await;
    println!("the first searches of 10,000 sessions took {times:?} ms");
    // An unoptimised build on a busy machine is allowed ten times the budget of a search; indexing
    // everything would take longer.
    assert!(times.iter().all(|time| *time < 1_000), "{times:?} ms");

    // Events stored by an older program are indexed once, in the background or by the first search.
    raw.execute_batch("DELETE FROM searchable; UPDATE sessions SET searched = 0").unwrap();
    let started = std::time::Instant::now();
    search_times(&store).await;
    println!("indexing all of it took {} ms", started.elapsed().as_millis());
}

#[tokio::test]
async fn a_long_session_is_read_a_page_at_a_time() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    store.append(&lease, (0..10_000).map(|n| user_message(&n.to_string())).collect()).await.unwrap();
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
async fn a_page_of_large_events_has_fewer_events() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    store.append(&lease, (0..10).map(|_| user_message(&"x".repeat(400_000))).collect()).await.unwrap();
    let (mut after, mut sizes) = (0, Vec::new());
    loop {
        let page = store.events(&lease.session, after, 500).await.unwrap();
        let Some((last, _)) = page.last() else { break };
        after = *last;
        sizes.push(page.len());
    }
    assert_eq!((sizes, after), (vec![3, 3, 3, 1], 10));
}

#[tokio::test]
async fn an_event_over_the_size_limit_is_refused() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    let long = user_message(&"x".repeat(64 * 1024 * 1024));
    let refused = store.append(&lease, vec![user_message("1"), long]).await.unwrap_err().to_string();
    assert!(refused.contains("65 MiB") && refused.contains("64 MiB"), "{refused}");
    assert_eq!(
        store.append(&lease, vec![user_message("2")]).await,
        Ok(1),
        "nothing of the refused append is there"
    );
}
