//! Files of older programs: every earlier schema is migrated to the current one, once, without
//! loss.

use crate::{database_path, user_message};
use agent::{Cost, Effort, ListQuery, SessionStore as _, SessionTotals};
use rusqlite::{Connection, TransactionBehavior};
use std::path::Path;
use store::SqliteStore;

/// Each migration step, as released.
const MIGRATIONS: [&str; 13] = [
    include_str!("../../src/sqlite/schema/1.sql"),
    include_str!("../../src/sqlite/schema/2.sql"),
    include_str!("../../src/sqlite/schema/3.sql"),
    include_str!("../../src/sqlite/schema/4.sql"),
    include_str!("../../src/sqlite/schema/5.sql"),
    include_str!("../../src/sqlite/schema/6.sql"),
    include_str!("../../src/sqlite/schema/7.sql"),
    include_str!("../../src/sqlite/schema/8.sql"),
    include_str!("../../src/sqlite/schema/9.sql"),
    include_str!("../../src/sqlite/schema/10.sql"),
    include_str!("../../src/sqlite/schema/11.sql"),
    include_str!("../../src/sqlite/schema/12.sql"),
    include_str!("../../src/sqlite/schema/13.sql"),
];

/// The rows that a program with the first schema wrote: two sessions, one of which was released,
/// with damage in both.
const SESSION_ROWS: &str = r#"
INSERT INTO sessions (id, cwd, additional_directories, model, mode, permission_mode, title, created_at, updated_at, last_seq, lease_epoch)
VALUES ('s1', '/work', '[]', 'offline/pilot', 'edit', 'guardian', 'One', 1000, 2000, 5, 3),
       ('s2', '/work', '["/more"]', 'openai/x', 'plan', 'argus', NULL, 1500, 1600, 1, 1);
INSERT INTO events (session_id, seq, format, kind, body, at, damaged) VALUES
('s1', 1, 1, 'user_message', '{"kind":"user_message","id":"m","content":[{"type":"text","text":"one"}]}', 1000, NULL),
('s1', 2, 2, 'effort_changed', '{"kind":"effort_changed","effort":"low"}', 1000, NULL),
('s1', 3, 2, 'effort_changed', '{"kind":"effort_changed","effort":"high"}', 1000, NULL),
('s1', 4, 2, 'effort_changed', '{"kind":"effort_changed","eff', 1000, 'cut off'),
('s1', 5, 1, 'user_message', '{"kind":"user_message","id":"m","content":[{"type":"text","text":"two"}]}', 2000, NULL),
('s2', 1, 2, 'effort_changed', '{"kind":"effort_cha', 1600, NULL);
"#;

/// What they had used: the last count of the first one is damaged, and the second one has no price.
const USAGE_ROWS: &str = r#"
UPDATE sessions SET last_seq = last_seq + 5 WHERE id = 's1';
UPDATE sessions SET last_seq = last_seq + 2 WHERE id = 's2';
INSERT INTO events (session_id, seq, format, kind, body, at, damaged) VALUES
('s1', 6, 1, 'turn_started', '{"kind":"turn_started","turn":"a"}', 2000, NULL),
('s1', 7, 1, 'usage', '{"kind":"usage","total":{"cost":7}}', 2000, NULL),
('s1', 8, 1, 'turn_started', '{"kind":"turn_started","turn":"b"}', 2000, NULL),
('s1', 9, 1, 'usage', '{"kind":"usage","total":{"cost":9},"subagents":{"cost":2}}', 2000, NULL),
('s1', 10, 1, 'usage', '{"kind":"usage","total":{"cost":99', 2000, 'cut off'),
('s2', 2, 1, 'turn_started', '{"kind":"turn_started","turn":"a"}', 1600, NULL),
('s2', 3, 1, 'usage', '{"kind":"usage","total":{"input":5}}', 1600, NULL);
"#;

/// Creates a file as a program with this schema leaves it.
fn file_with_schema(version: usize, path: &Path) -> Connection {
    let file = Connection::open(path).unwrap();
    file.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    file.execute_batch(MIGRATIONS[0]).unwrap();
    file.execute_batch(SESSION_ROWS).unwrap();
    MIGRATIONS[1..version].iter().for_each(|step| file.execute_batch(step).unwrap());
    file
}

fn schema(path: &Path) -> (i64, Vec<String>) {
    let file = Connection::open(path).unwrap();
    let version = file.query_row("PRAGMA user_version", [], |row| row.get(0)).unwrap();
    let mut sql = file.prepare("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name").unwrap();
    (version, sql.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect())
}

/// Checks that everything that was in the file is present and writable.
async fn check_complete(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    let record = store.get(&"s1".into()).await.unwrap();
    assert_eq!((record.title.as_deref(), record.controls.effort), (Some("One"), Some(Effort::High)));
    assert_eq!(store.get(&"s2".into()).await.unwrap().controls.effort, None);
    let events = store.events(&"s1".into(), 0, 10).await.unwrap();
    let seqs: Vec<u64> = events.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(seqs, [1, 2, 3, 5]);
    assert_eq!((&events[0].1, &events[3].1), (&user_message("one"), &user_message("two")));
    let listed = store.list(ListQuery { limit: 10, ..ListQuery::default() }).await.unwrap();
    assert_eq!(listed.sessions.len(), 2);
    let query = agent::SearchQuery { text: "two".to_owned(), limit: 10, ..agent::SearchQuery::default() };
    let hits = store.search(query).await.unwrap();
    assert_eq!(hits.iter().map(|hit| hit.seq).collect::<Vec<_>>(), [5]);
    let lease = store.acquire(&"s2".into(), false).await.unwrap();
    store.append(&lease, vec![user_message("on")]).await.unwrap();
}

#[tokio::test]
async fn every_released_schema_is_migrated_without_loss() {
    let (_directory, fresh) = database_path();
    drop(SqliteStore::open(&fresh).unwrap());
    let today = schema(&fresh);
    assert_eq!(today.0, MIGRATIONS.len() as i64, "the steps of this test are those of the program");
    for version in 1..=MIGRATIONS.len() {
        let (_directory, path) = database_path();
        drop(file_with_schema(version, &path));
        check_complete(&path).await;
        assert_eq!(schema(&path), today, "from {version}");
        // The second time, no migration is left to do.
        check_complete(&path).await;
        assert_eq!(schema(&path), today, "from {version}, again");
    }
}

#[tokio::test]
async fn a_migration_reports_the_schema_before_and_after() {
    let newest = i32::try_from(MIGRATIONS.len()).unwrap();
    let (_directory, path) = database_path();
    for from in [0, newest] {
        assert_eq!(SqliteStore::migrate(&path), Ok(store::server::Migrated { from, to: newest }));
    }
    let (_directory, path) = database_path();
    drop(file_with_schema(3, &path));
    assert_eq!(SqliteStore::migrate(&path), Ok(store::server::Migrated { from: 3, to: newest }));
    check_complete(&path).await;
    let file = Connection::open(&path).unwrap();
    file.execute_batch(&format!("PRAGMA user_version = {}", newest + 1)).unwrap();
    let refused = SqliteStore::migrate(&path).unwrap_err().to_string();
    assert!(refused.contains("upgrade"), "{refused}");
}

#[tokio::test]
async fn turns_and_cost_of_older_sessions_are_counted() {
    // From the tenth schema on, appends count.
    for version in 1..10 {
        let (_directory, path) = database_path();
        let file = file_with_schema(version, &path);
        file.execute_batch(USAGE_ROWS).unwrap();
        drop(file);
        let store = SqliteStore::open(&path).unwrap();
        for (id, turns, cost) in [("s1", 2, Some(11)), ("s2", 1, None)] {
            let totals = store.get(&id.into()).await.unwrap().totals;
            assert_eq!(totals, SessionTotals { turns, cost: cost.map(Cost) }, "{id} from {version}");
        }
    }
}

#[tokio::test]
async fn an_interrupted_migration_is_repeated() {
    for version in 1..MIGRATIONS.len() {
        let (_directory, path) = database_path();
        let mut file = file_with_schema(version, &path);
        let before = schema(&path);
        let unfinished = file.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        MIGRATIONS[version..].iter().for_each(|step| unfinished.execute_batch(step).unwrap());
        // Dropped before the commit, as at the end of the process.
        drop(unfinished);
        assert_eq!(schema(&path), before);
        check_complete(&path).await;
    }
}

#[tokio::test]
async fn several_processes_can_migrate_the_file_concurrently() {
    let (_directory, path) = database_path();
    drop(file_with_schema(1, &path));
    let opened: Vec<_> = (0..4)
        .map(|_| {
            let path = path.clone();
            std::thread::spawn(move || SqliteStore::open(path).map(drop))
        })
        .collect();
    opened.into_iter().for_each(|thread| thread.join().unwrap().unwrap());
    check_complete(&path).await;
}
