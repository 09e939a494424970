//! Copies of sessions from a file to a server and back.

use super::{Server, database};
use crate::{session, user_message};
use agent::{
    FolderFacts, FolderIdentity, ListQuery, NewSession, Owner, SearchQuery, SessionEvent, SessionId,
    SessionStore as _,
};
use rusqlite::{Connection, types::Value};
use std::{
    collections::BTreeMap,
    path::Path,
    pin::Pin,
    task::{Context, Poll},
};
use store::{
    Database, PostgresStore, SqliteStore, StoreAddress,
    contract::samples,
    transfer::{Outcome, Transfer, transfer, verify},
};
use tempfile::TempDir;

/// A future that is dropped after some polls, as a process that ends anywhere would end it.
struct Cut<F> {
    work: Pin<Box<F>>,
    polls: usize,
}

impl<F: Future> Future for Cut<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        if self.polls == 0 {
            return Poll::Ready(None);
        }
        self.polls -= 1;
        self.work.as_mut().poll(context).map(Some)
    }
}

/// Copies, cut off at ever later points, until it is complete. Returns how often it was cut.
async fn copy_with_cuts(from: &Database, to: &Database, options: &Transfer) -> usize {
    for cuts in 0.. {
        let work = Box::pin(transfer(from, to, options, |id, outcome| {
            assert!(matches!(outcome, Outcome::Copied { .. } | Outcome::Present), "{id}: {outcome:?}");
        }));
        if let Some(done) = (Cut { work, polls: 1 + 7 * cuts }).await {
            done.unwrap();
            return cuts;
        }
    }
    unreachable!("it is complete at some time")
}

async fn outcomes(from: &Database, to: &Database, options: &Transfer) -> BTreeMap<String, Outcome> {
    let mut outcomes = BTreeMap::new();
    transfer(from, to, options, |id, outcome| {
        outcomes.insert(id.to_string(), outcome.clone());
    })
    .await
    .unwrap();
    outcomes
}

pub(super) async fn open(address: &str) -> Database {
    Database::open(&address.parse::<StoreAddress>().unwrap()).await.unwrap()
}

/// Returns every column that is copied, of every row.
pub(super) fn rows(path: &Path) -> Vec<Vec<Value>> {
    let file = Connection::open(path).unwrap();
    let mut all = Vec::new();
    for sql in [
        "SELECT id, parent_id, tenant, owner, cwd, additional_directories, branch, model, mode, permission_mode, effort, title, \
         archived, created_at, updated_at, last_seq, turns, cost FROM sessions ORDER BY id",
        "SELECT session_id, seq, format, kind, body, at, damaged FROM events ORDER BY session_id, seq",
        "SELECT session_id, hash, size, bytes FROM contents ORDER BY session_id, id",
    ] {
        let mut statement = file.prepare(sql).unwrap();
        let columns = statement.column_count();
        let rows = statement.query_map([], |row| (0..columns).map(|nth| row.get(nth)).collect()).unwrap();
        all.extend(rows.map(Result::unwrap));
    }
    all
}

/// Fills a file with sessions of all kinds.
async fn fill(path: &Path) {
    let store = SqliteStore::open(path).unwrap();
    for nth in 0..25 {
        let id = format!("s{nth:02}");
        let owner = (nth % 5 == 4).then(|| Owner { tenant: "default".to_owned(), user: "ben".to_owned() });
        let parent = (nth % 6 == 5).then(|| SessionId(format!("s{:02}", nth - 1)));
        let lease = store.create(NewSession { owner, parent, ..session(&id) }).await.unwrap();
        match nth % 4 {
            0 => store.append(&lease, samples()).await.unwrap(),
            1 => store.append(&lease, vec![user_message(&"\0 large ü".repeat(20_000))]).await.unwrap(),
            2 => store
                .append(&lease, (0..300).map(|n| user_message(&format!("word{n}"))).collect())
                .await
                .unwrap(),
            _ => 0,
        };
        let identity = FolderIdentity::from_json(r#"{"remote":"host/a"}"#);
        store.set_folder(&lease, FolderFacts { branch: Some("main".to_owned()), identity }).await.unwrap();
        store.append(&lease, vec![SessionEvent::TitleChanged(format!("Title {nth}"))]).await.unwrap();
        store.release(&lease).await.unwrap();
        store.set_archived(&lease.session, nth % 7 == 3).await.unwrap();
    }
    drop(store);
    let raw = Connection::open(path).unwrap();
    raw.execute_batch(
        "UPDATE events SET damaged = 'as the test wanted' WHERE session_id = 's02' AND seq = 9",
    )
    .unwrap();
}

#[tokio::test]
async fn sessions_go_to_a_server_and_back_unchanged_wherever_it_is_cut() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "there").await;
    let directory = TempDir::new().unwrap();
    let [first, second] = ["first.db", "second.db"].map(|name| directory.path().join(name));
    fill(&first).await;
    let before = rows(&first);
    let from = open(&format!("sqlite:{}", first.display())).await;
    let to = open(&url).await;

    let dry = Transfer { dry_run: true, ..Transfer::default() };
    let planned = outcomes(&from, &to, &dry).await;
    assert_eq!(planned.len(), 25);
    assert!(planned.values().all(|outcome| matches!(outcome, Outcome::Copied { .. })));
    assert!(outcomes(&to, &from, &dry).await.is_empty(), "nothing was written");

    let cuts = copy_with_cuts(&from, &to, &Transfer::default()).await;
    assert!(cuts > 10, "cut {cuts} times");
    let again = outcomes(&from, &to, &Transfer::default()).await;
    assert!(again.len() == 25 && again.values().all(|outcome| *outcome == Outcome::Present), "{again:?}");
    assert_eq!(verify(&to).await.unwrap(), (25, Vec::new()));

    let back = open(&format!("sqlite:{}", second.display())).await;
    assert!(copy_with_cuts(&to, &back, &Transfer::default()).await > 10);
    assert_eq!(verify(&back).await.unwrap().0, 25);
    // Not `assert_eq`: its message would contain megabytes.
    assert!(rows(&second) == before);

    // The copies are searched, listed and continued like any session.
    let store = PostgresStore::open(&url).await.unwrap();
    let query = SearchQuery { text: "word299".to_owned(), limit: 99, ..SearchQuery::default() };
    assert_eq!(store.search(query).await.unwrap().len(), 5);
    drop(to);
    let lease = store.acquire(&"s02".into(), false).await.unwrap();
    assert_eq!(store.append(&lease, vec![user_message("more")]).await, Ok(302));

    // What differs is reported and left alone, and what is open in another process is not copied.
    let to = open(&url).await;
    let reported =
        outcomes(&from, &to, &Transfer { sessions: vec!["s02".into()], ..Transfer::default() }).await;
    assert_eq!(reported["s02"], Outcome::Different { events: (301, 302) });
    assert_eq!(store.get(&lease.session).await.unwrap().last_seq, 302);
    let third = open(&format!("sqlite:{}", directory.path().join("third.db").display())).await;
    let reported =
        outcomes(&to, &third, &Transfer { sessions: vec!["s02".into()], ..Transfer::default() }).await;
    assert!(
        matches!(&reported["s02"], Outcome::Failed { why } if why.contains("open in another process")),
        "{reported:?}"
    );
}

#[tokio::test]
async fn sessions_of_a_machine_become_those_of_a_user() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "users").await;
    let directory = TempDir::new().unwrap();
    let [first, second] = ["first.db", "second.db"].map(|name| directory.path().join(name));
    fill(&first).await;
    let from = open(&format!("sqlite:{}", first.display())).await;
    let to = open(&url).await;
    let of_anna = Transfer { user: Some("anna".to_owned()), archive: true, ..Transfer::default() };
    let copied = outcomes(&from, &to, &of_anna).await;
    assert_eq!(copied.len(), 20, "not those that have an owner");
    let store = PostgresStore::open(&url).await.unwrap();
    let anna = Some(Owner { tenant: "default".to_owned(), user: "anna".to_owned() });
    let query = ListQuery { owner: anna, limit: 99, ..ListQuery::default() };
    let listed = store.list(query).await.unwrap().sessions;
    assert!(
        listed.len() > 10
            && listed.iter().all(|record| record
                .listing
                .owner
                .as_ref()
                .is_some_and(|owner| owner.user == "anna"))
    );
    let file = SqliteStore::open(&first).unwrap();
    assert!(
        file.list(ListQuery { limit: 99, ..ListQuery::default() }).await.unwrap().sessions.is_empty(),
        "archived"
    );

    let back = open(&format!("sqlite:{}", second.display())).await;
    assert_eq!(outcomes(&to, &back, &of_anna).await.len(), 20);
    let own = SqliteStore::open(&second).unwrap();
    let listed = own.list(ListQuery { limit: 99, ..ListQuery::default() }).await.unwrap().sessions;
    assert!(listed.iter().all(|record| record.listing.owner.is_none()) && listed.len() > 10);
    let unknown = Transfer { sessions: vec!["nobody".into()], ..Transfer::default() };
    assert!(transfer(&from, &to, &unknown, |_, _| {}).await.is_err());
}
