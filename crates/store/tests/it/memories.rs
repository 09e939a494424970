//! Memories in the file: their limit, their numbers, and what damage leaves of them.

use crate::{database_path, session, user_message};
use agent::{
    Expiry, Memories, Memory, MemoryClass, MemoryKind, MemoryNote, MemoryQuery, NewMemory, SessionStore as _,
    Stored,
};
use rusqlite::Connection;
use std::{fs, path::Path, sync::Arc};
use store::SqliteStore;

const PAGE: usize = 4096;

fn new(title: &str, content: &str) -> NewMemory {
    let (kind, class) = (MemoryKind::Decision, MemoryClass::Priority);
    let note = MemoryNote { kind, class, title: title.to_owned(), content: content.to_owned(), pinned: true };
    let project = Some(system::AbsPath::new("/work").unwrap());
    NewMemory { note, project, session: Some("s".into()), expiry: Expiry::Days(3) }
}

fn memories(store: &SqliteStore) -> Arc<dyn Memories> {
    store.memories().unwrap()
}

async fn added(memories: &dyn Memories, new: NewMemory) -> Memory {
    match memories.add(new).await.unwrap() {
        Stored::Done(memory) => memory,
        other => panic!("{other:?}"),
    }
}

async fn all(memories: &dyn Memories) -> Vec<Memory> {
    let mut all = memories.find(MemoryQuery { limit: 9_999, ..MemoryQuery::default() }).await.unwrap();
    all.sort_by_key(|memory| memory.id);
    all
}

/// Fills a file with memories and a session, and returns the memories; `FORGOTTEN` is in none.
async fn sample(path: &Path) -> Vec<Memory> {
    let store = SqliteStore::open(path).unwrap();
    let memories = memories(&store);
    for number in 0..40 {
        added(&*memories, new(&format!("title {number}"), &format!("{number} ").repeat(300))).await;
    }
    let forgotten = added(&*memories, new("FORGOTTEN", "FORGOTTEN")).await;
    assert!(memories.forget(forgotten.id).await.unwrap());
    let lease = store.create(session("s")).await.unwrap();
    store.append(&lease, vec![user_message("hello")]).await.unwrap();
    let all = all(&*memories).await;
    drop((memories, store));
    let raw = Connection::open(path).unwrap();
    raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    all
}

#[tokio::test]
async fn a_lost_page_costs_only_the_memories_on_it() {
    let (_directory, path) = database_path();
    let before = sample(&path).await;
    let bytes = fs::read(&path).unwrap();
    let (mut salvaged, mut lost) = (0, 0);
    for page in 0..bytes.len() / PAGE {
        let (_directory, path) = database_path();
        let mut damaged = bytes.clone();
        damaged[page * PAGE..(page + 1) * PAGE].fill(0);
        fs::write(&path, damaged).unwrap();
        // Thorough, because a query finds only damage that it meets.
        salvaged += usize::from(store::repair(&path).unwrap() != store::Repaired::Nothing);
        let store = SqliteStore::open(&path).unwrap();
        let memories = memories(&store);
        let found = all(&*memories).await;
        let on_page = before.len() - found.len();
        assert!(on_page <= PAGE / 600 + 1, "page {page}: {on_page} are lost");
        assert!(found.iter().all(|memory| before.contains(memory)), "page {page}: one has changed");
        lost += on_page;
        for memory in found.iter().take(3) {
            let query = MemoryQuery { text: memory.note.title.clone(), limit: 99, ..MemoryQuery::default() };
            let hits = memories.find(query).await.unwrap();
            assert!(hits.contains(memory), "page {page}: {} is not found", memory.note.title);
        }
        let next = added(&*memories, new("next", "next")).await;
        assert!(found.iter().all(|memory| memory.id < next.id), "page {page}: a number is used again");
    }
    assert!(salvaged > 10 && lost >= before.len(), "{salvaged} repairs, {lost} memories lost");
}

#[tokio::test]
async fn one_scope_keeps_a_limited_number() {
    let (_directory, path) = database_path();
    let memories = memories(&SqliteStore::open(&path).unwrap());
    // Written directly, because a thousand flushes take long.
    let raw = Connection::open(&path).unwrap();
    raw.execute_batch(
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
         INSERT INTO memories (project, type, class, title, content, title_key, content_key, pinned, created_at, updated_at) \
         SELECT '/work', 'project', 'durable', 't' || i, 'c', 't' || i, 'k' || i, 0, 1, 1 FROM n",
    )
    .unwrap();
    assert_eq!(memories.add(new("one more", "one more")).await, Ok(Stored::Full(1_000)));
    let elsewhere = NewMemory { project: None, ..new("one more", "one more") };
    assert!(matches!(memories.add(elsewhere).await, Ok(Stored::Done(_))));
}

#[tokio::test]
async fn memories_that_expired_long_ago_are_deleted() {
    let (_directory, path) = database_path();
    let memories = memories(&SqliteStore::open(&path).unwrap());
    let old = added(&*memories, new("old", "old")).await;
    let raw = Connection::open(&path).unwrap();
    let expire = |days: i64| {
        let set = "UPDATE memories SET expires_at = unixepoch() * 1000 - ?1 WHERE id = 1";
        raw.execute(set, [days * 24 * 60 * 60 * 1000]).unwrap();
    };
    expire(29);
    added(&*memories, new("second", "second")).await;
    assert!(memories.get(old.id).await.unwrap().is_some());
    expire(31);
    added(&*memories, new("third", "third")).await;
    assert_eq!(memories.get(old.id).await, Ok(None));
}
