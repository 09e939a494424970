//! Many sessions and memories, copied to a server and back.

use super::{
    Server, database,
    transfer::{open, rows},
};
use crate::{session, user_message};
use agent::{
    Expiry, MemoryClass, MemoryId, MemoryKind, MemoryNote, MemoryQuery, NewMemory, Owner, SessionStore as _,
};
use rusqlite::{Connection, types::Value};
use std::{
    cell::Cell,
    env,
    path::Path,
    pin::Pin,
    task::{Context, Poll},
};
use store::{
    Database, PostgresStore, SqliteStore,
    transfer::{MovedMemories, Outcome, Transfer, transfer, transfer_memories, verify},
};
use tempfile::TempDir;

/// How many sessions are copied; `TILLER_MIGRATE` sets another number, such as 1000.
const SESSIONS: usize = 60;
/// How often each direction is cut off: with a thousand sessions in the middle of every fiftieth.
const CUTS: usize = 20;

/// A future that is dropped in the middle of something, once that is due.
struct CutWhen<'a, F> {
    work: Pin<Box<F>>,
    copied: &'a Cell<usize>,
    /// After how many sessions it is due.
    every: usize,
    /// The polls of the next one.
    polls: usize,
}

impl<F: Future> Future for CutWhen<'_, F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.copied.get() >= self.every {
            match self.polls.checked_sub(1) {
                Some(left) => self.polls = left,
                None => return Poll::Ready(None),
            }
        }
        self.work.as_mut().poll(context).map(Some)
    }
}

/// Copies all sessions, cut off after so many of them each time. Returns how often it was cut.
async fn copy(from: &Database, to: &Database, every: usize) -> usize {
    let options = Transfer::default();
    for cuts in 0.. {
        let copied = Cell::new(0);
        let work = transfer(from, to, &options, |id, outcome| match outcome {
            Outcome::Copied { .. } => copied.set(copied.get() + 1),
            Outcome::Present => {}
            other => panic!("{id}: {other:?}"),
        });
        let work = CutWhen { work: Box::pin(work), copied: &copied, every, polls: cuts % 23 };
        if let Some(done) = work.await {
            done.unwrap();
            return cuts;
        }
    }
    unreachable!("it is complete at some time")
}

#[tokio::test]
async fn many_sessions_go_to_a_server_and_back_though_every_run_is_cut_off() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "many").await;
    let count = env::var("TILLER_MIGRATE").ok().and_then(|count| count.parse().ok()).unwrap_or(SESSIONS);
    let directory = TempDir::new().unwrap();
    let [first, second] = ["first.db", "second.db"].map(|name| directory.path().join(name));
    let store = SqliteStore::open(&first).unwrap();
    for nth in 0..count {
        let lease = store.create(session(&format!("s{nth:04}"))).await.unwrap();
        let large = if nth % 10 == 0 { 70_000 } else { 10 };
        let events = (0..3 + nth % 40).map(|n| user_message(&format!("{n} {}", "ü".repeat(large))));
        store.append(&lease, events.collect()).await.unwrap();
        store.release(&lease).await.unwrap();
    }
    drop(store);
    let before = rows(&first);
    let from = open(&format!("sqlite:{}", first.display())).await;
    let to = open(&url).await;
    let back = open(&format!("sqlite:{}", second.display())).await;
    for (from, to) in [(&from, &to), (&to, &back)] {
        let cuts = copy(from, to, count / CUTS).await;
        // A cut comes some steps later, and more than one session may be copied in these.
        assert!(cuts >= CUTS / 2, "cut {cuts} times");
        assert_eq!(verify(to).await.unwrap(), (count as u64, Vec::new()));
    }
    // Not `assert_eq`: its message would contain megabytes.
    assert!(rows(&second) == before);
}

fn memory(project: Option<&str>, title: &str, content: &str) -> NewMemory {
    NewMemory {
        note: MemoryNote {
            kind: MemoryKind::User,
            class: MemoryClass::Durable,
            title: title.to_owned(),
            content: content.to_owned(),
            pinned: title.len().is_multiple_of(2),
        },
        project: project.map(|path| system::AbsPath::new(path).unwrap()),
        session: Some("s1".into()),
        expiry: if title == "Soon" { Expiry::Days(3) } else { Expiry::Never },
    }
}

/// Returns every column of the memories of a file but their numbers and when they were sent.
fn memories(path: &Path) -> Vec<Vec<Value>> {
    let file = Connection::open(path).unwrap();
    let mut statement = file
        .prepare(
            "SELECT tenant, owner, project, session_id, type, class, title, content, title_key, content_key, pinned, \
             expires_at, surfaced_at, created_at, updated_at FROM memories ORDER BY id",
        )
        .unwrap();
    let columns = statement.column_count();
    let rows = statement.query_map([], |row| (0..columns).map(|nth| row.get(nth)).collect()).unwrap();
    rows.map(Result::unwrap).collect()
}

#[tokio::test]
async fn memories_go_along_to_a_server_and_back_unchanged() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "remembered").await;
    let directory = TempDir::new().unwrap();
    let [first, second] = ["first.db", "second.db"].map(|name| directory.path().join(name));
    let store = SqliteStore::open(&first).unwrap();
    let own = store.memories().unwrap();
    for new in [
        memory(Some("/w"), "Tabs", "Use tabs.\nNever spaces. ü🦀 ' \\"),
        memory(None, "Soon", "It expires."),
        memory(None, "Tabs", "Of every project."),
    ] {
        own.add(new).await.unwrap();
    }
    own.surfaced(vec![MemoryId(1)]).await.unwrap();
    drop((own, store));
    let before = memories(&first);
    let [from, to, back] = [
        open(&format!("sqlite:{}", first.display())).await,
        open(&url).await,
        open(&format!("sqlite:{}", second.display())).await,
    ];
    let of_anna = |dry_run| Transfer { user: Some("anna".to_owned()), dry_run, ..Transfer::default() };
    let none = MovedMemories::default();
    for (dry_run, expected) in [
        (true, MovedMemories { copied: 3, ..none }),
        (false, MovedMemories { copied: 3, ..none }),
        (true, MovedMemories { present: 3, ..none }),
        (false, MovedMemories { present: 3, ..none }),
    ] {
        assert_eq!(
            transfer_memories(&from, &to, &of_anna(dry_run)).await,
            Ok(expected),
            "dry run: {dry_run}"
        );
    }
    // They are Anna's there, are found by their words, and of no other user.
    let there = PostgresStore::open(&url).await.unwrap();
    let anna = there.scoped(&Owner { tenant: "default".to_owned(), user: "anna".to_owned() }).unwrap();
    let anna = anna.memories().unwrap();
    let query =
        || MemoryQuery { text: "spaces".to_owned(), limit: 9, expired: true, ..MemoryQuery::default() };
    assert_eq!(anna.find(query()).await.unwrap().len(), 1);
    assert!(there.memories().unwrap().find(query()).await.unwrap().is_empty());

    assert_eq!(transfer_memories(&to, &back, &of_anna(false)).await, Ok(MovedMemories { copied: 3, ..none }));
    assert_eq!(memories(&second), before);
    // One that was saved there meanwhile with the same title stays as it is.
    let store = SqliteStore::open(&first).unwrap();
    store.memories().unwrap().add(memory(Some("/v"), "Quotes", "Use single quotes.")).await.unwrap();
    anna.add(memory(Some("/v"), "quotes", "Use double quotes.")).await.unwrap();
    assert_eq!(
        transfer_memories(&from, &to, &of_anna(false)).await,
        Ok(MovedMemories { present: 3, different: 1, ..none })
    );
    // Without a user, each owner keeps their own.
    let third = directory.path().join("third.db");
    let all = open(&format!("sqlite:{}", third.display())).await;
    let moved = transfer_memories(&to, &all, &Transfer::default()).await;
    assert_eq!(moved, Ok(MovedMemories { copied: 4, ..none }));
    let owners = memories(&third);
    assert!(owners.iter().all(|row| row[1] == Value::Text("anna".to_owned())), "{owners:?}");
}
