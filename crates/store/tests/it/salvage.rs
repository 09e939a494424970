//! Damage anywhere in the file: the file still opens, and only sessions whose events were hit lose
//! anything.

use crate::{database_path, session, user_message};
use agent::{ListQuery, SearchQuery, SessionEvent, SessionStore as _};
use rusqlite::Connection;
use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};
use store::{Repaired, SqliteStore};
use tempfile::TempDir;

const PAGE: usize = 4096;
const SESSIONS: [&str; 4] = ["<one>", "<two>", "<three>", "<four>"];

/// Returns events that contain the session's name throughout; some of them do not fit on a page.
fn events(id: &str) -> Vec<SessionEvent> {
    let text = |n: usize| format!("{n} {}", id.repeat(if n == 7 { 1500 } else { 40 }));
    (1..=30).map(|n| user_message(&text(n))).collect()
}

/// Creates a file with a few sessions and a deleted one, with an empty log. Returns for each page
/// the sessions that have events on it.
async fn sample(path: &Path) -> Vec<BTreeSet<&'static str>> {
    let store = SqliteStore::open(path).unwrap();
    for id in SESSIONS.into_iter().chain(["<gone>"]) {
        let lease = store.create(session(id)).await.unwrap();
        for events in events(id).chunks(9) {
            store.append(&lease, events.to_vec()).await.unwrap();
        }
        store.release(&lease).await.unwrap();
    }
    store.delete(&"<gone>".into()).await.unwrap();
    drop(store);
    let raw = Connection::open(path).unwrap();
    raw.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let bytes = read(path);
    let on = |page: &[u8]| {
        // Only the texts of events contain a name twice in a row.
        let advice = |id: &&str| page.windows(2 * id.len()).any(|part| part == id.repeat(2).as_bytes());
        SESSIONS.into_iter().filter(advice).collect()
    };
    bytes.chunks(PAGE).map(on).collect()
}

/// Opens a copy of the file with some bytes changed, and reads everything.
async fn check(bytes: &[u8], what: &str, hit: &BTreeSet<&str>) -> Vec<PathBuf> {
    // A text with a changed byte may still be valid.
    let may_change = what.starts_with("byte");
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("sessions.db");
    write(&path, bytes);
    let store = SqliteStore::open(&path).unwrap_or_else(|error| panic!("{what}: {error}"));
    let fresh = store.create(session("<new>")).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    store.append(&fresh, vec![user_message("<new>")]).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    for id in SESSIONS {
        let all: Vec<_> = (1..).zip(events(id)).collect();
        let found = read_all(&store, id, what).await;
        match hit.contains(id) {
            true => assert!(may_change || found.iter().all(|event| all.contains(event)), "{what}: {id}"),
            false => assert!(found == all, "{what}: {id} has {} events", found.len()),
        }
        let lease = store.acquire(&id.into(), false).await;
        if !hit.contains(id) {
            let lease = lease.unwrap_or_else(|error| panic!("{what}: {id}: {error}"));
            assert_eq!(store.append(&lease, vec![user_message("more")]).await, Ok(31), "{what}: {id}");
        }
    }
    let listed = store.list(ListQuery { limit: 99, ..ListQuery::default() }).await;
    let listed = listed.unwrap_or_else(|error| panic!("{what}: {error}")).sessions;
    let ids: BTreeSet<&str> = listed.iter().map(|record| record.id.as_str()).collect();
    let complete: BTreeSet<&str> =
        SESSIONS.into_iter().filter(|id| !hit.contains(id)).chain(["<new>"]).collect();
    assert!(ids.is_superset(&complete), "{what}: {ids:?}");
    assert!(!ids.contains("<gone>"), "{what}: what was deleted does not come back");
    let query = SearchQuery { text: "more".to_owned(), limit: 99, ..SearchQuery::default() };
    let hits = store.search(query).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(hits.len(), complete.len() - 1, "{what}: what was said since is found");
    set_aside(&path)
}

/// Returns all events of a session, read page by page; empty if it does not exist.
async fn read_all(store: &SqliteStore, id: &str, what: &str) -> Vec<(u64, SessionEvent)> {
    let mut all = Vec::new();
    loop {
        let after = all.last().map_or(0, |(seq, _)| *seq);
        match store.events(&id.into(), after, 7).await {
            Ok(page) if page.is_empty() => return all,
            Ok(page) => all.extend(page),
            Err(agent::StoreError::NotFound(_)) => return all,
            Err(error) => panic!("{what}: {id}: {error}"),
        }
    }
}

#[tokio::test]
async fn a_lost_page_damages_only_the_sessions_on_it() {
    let (_directory, path) = database_path();
    let pages = sample(&path).await;
    let bytes = read(&path);
    let with_events = pages.iter().filter(|hit| !hit.is_empty()).count();
    assert!(with_events > 12 && pages.len() > with_events + 15, "{with_events} of {} pages", pages.len());
    let mut salvaged = 0;
    for (number, hit) in (1..).zip(&pages) {
        for (way, byte) in [("zeroed", None), ("inverted", Some(0xff))] {
            let mut damaged = bytes.clone();
            for at in &mut damaged[(number - 1) * PAGE..number * PAGE] {
                *at = byte.map_or(0, |mask: u8| *at ^ mask);
            }
            let aside = check(&damaged, &format!("page {number} of {hit:?} {way}"), hit).await;
            salvaged += aside.len();
        }
    }
    assert!(salvaged > with_events, "{salvaged} files were set aside");
}

#[tokio::test]
async fn a_session_that_lost_its_row_or_its_end_counts_the_turns_that_are_left() {
    let (_directory, path) = database_path();
    let store = SqliteStore::open(&path).unwrap();
    for id in SESSIONS {
        let lease = store.create(session(id)).await.unwrap();
        for event in events(id) {
            let turn = SessionEvent::TurnStarted { turn: "t".into(), prompt: None };
            store.append(&lease, vec![turn, event]).await.unwrap();
        }
        store.release(&lease).await.unwrap();
    }
    drop(store);
    Connection::open(&path).unwrap().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let bytes = read(&path);
    let mut cut = 0;
    for page in 1..bytes.len() / PAGE {
        let mut damaged = bytes.clone();
        damaged[page * PAGE..(page + 1) * PAGE].fill(0);
        write(&path, &damaged);
        let store = SqliteStore::open(&path).unwrap();
        for id in SESSIONS {
            let found = read_all(&store, id, &format!("page {page}")).await;
            let turns = found.iter().filter(|(_, event)| matches!(event, SessionEvent::TurnStarted { .. }));
            let turns = turns.count() as u64;
            let Ok(record) = store.get(&id.into()).await else { continue };
            assert_eq!(record.totals.turns, turns, "{id} after page {page} was lost");
            cut += u64::from(turns < 30);
        }
    }
    assert!(cut > 0, "no session lost a turn");
}

#[tokio::test]
async fn a_changed_byte_damages_only_the_sessions_on_its_page() {
    let (_directory, path) = database_path();
    let pages = sample(&path).await;
    let bytes = read(&path);
    for (number, hit) in (1..).zip(&pages).skip(1) {
        // The page header, the offsets of its rows, and the middle of the rows.
        for at in [0, 3, 5, 9, 13, PAGE / 2, PAGE - 9] {
            let mut damaged = bytes.clone();
            damaged[(number - 1) * PAGE + at] ^= 0x15;
            let what = format!("byte {at} of page {number} of {hit:?}");
            match hit.is_empty() {
                true => check_opens(&damaged, &what).await,
                false => drop(check(&damaged, &what, hit).await),
            }
        }
    }
}

/// Opens a copy and reads everything. The result is unpredictable if rows of other tables can still
/// be read, but with wrong values.
async fn check_opens(bytes: &[u8], what: &str) {
    let directory = TempDir::new().unwrap();
    let path = directory.path().join("sessions.db");
    write(&path, bytes);
    let store = SqliteStore::open(&path).unwrap_or_else(|error| panic!("{what}: {error}"));
    let fresh = store.create(session("<new>")).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    store.append(&fresh, vec![user_message("<new>")]).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    let listed = store.list(ListQuery { limit: 99, ..ListQuery::default() }).await;
    assert!(listed.is_ok(), "{what}: {listed:?}");
}

#[tokio::test]
async fn an_open_session_continues_after_damage_or_reports_that_its_log_is_gone() {
    let (_directory, path) = database_path();
    let pages = sample(&path).await;
    let (number, hit) = (1..).zip(&pages).find(|(_, hit)| hit.len() == 1).expect("such a page");
    let cut = *hit.first().unwrap();
    let complete = *SESSIONS.iter().find(|id| **id != cut).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let cut_lease = store.acquire(&cut.into(), false).await.unwrap();
    let whole_lease = store.acquire(&complete.into(), false).await.unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&file, &[0; PAGE], ((number - 1) * PAGE) as u64).unwrap();
    read_all(&store, cut, "in use").await;
    assert_eq!(set_aside(&path).len(), 1);
    assert_eq!(store.append(&whole_lease, vec![user_message("more")]).await, Ok(31));
    let refused = store.append(&cut_lease, vec![user_message("more")]).await;
    let message = refused.unwrap_err().to_string();
    assert!(message.contains("is gone") && message.contains(path.to_str().unwrap()), "{message}");
    let lease = store.acquire(&cut.into(), false).await.unwrap();
    store.append(&lease, vec![user_message("more")]).await.unwrap();
}

#[tokio::test]
async fn a_completely_lost_session_is_named() {
    let (_directory, path) = database_path();
    sample(&path).await;
    let mut bytes = read(&path);
    // The pages that name it, except the index of directories: its row, and all of its events.
    for page in bytes.chunks_mut(PAGE) {
        let has = |text: &str| page.windows(text.len()).any(|part| part == text.as_bytes());
        if has("<one>") && (has("offline/pilot") || has("<one><one>")) {
            page.fill(0);
        }
    }
    write(&path, &bytes);
    let Ok(Repaired::Salvaged(salvaged)) = store::repair(&path) else { panic!("not salvaged") };
    let one = salvaged.cut.iter().find(|cut| cut.id == "<one>").expect("it is named");
    assert_eq!((one.kept, one.lost.contains("lost")), (0, true), "{salvaged:?}");
}

#[tokio::test]
async fn an_interrupted_replacement_is_finished_by_the_next_process() {
    let (_directory, path) = database_path();
    sample(&path).await;
    let at = |suffix: &str| PathBuf::from(format!("{}{suffix}", path.display()));
    // The damaged file was set aside, its log is still in place, and the salvaged file is ready.
    rename(&path, &at(".salvaged-17"));
    write(&at("-wal"), b"the log of the damaged file");
    write(&at(".damaged-17"), b"the damaged file");
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(read_all(&store, SESSIONS[0], "finished").await.len(), 30);
    assert_eq!(read(&at(".damaged-17-wal")), b"the log of the damaged file");
}

/// Returns the files that were set aside.
#[expect(clippy::disallowed_methods, reason = "the test looks beside the store's own file")]
fn set_aside(path: &Path) -> Vec<PathBuf> {
    let names = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let is_file =
        |name: &str| name.contains(".damaged-") && !name.ends_with("-wal") && !name.ends_with("-shm");
    names.filter(|path| is_file(&path.to_string_lossy())).collect()
}

#[expect(clippy::disallowed_methods, reason = "the test damages the store's own file")]
fn read(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the test damages the store's own file")]
fn write(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
}

#[expect(clippy::disallowed_methods, reason = "the test moves the store's own file")]
fn rename(from: &Path, to: &Path) {
    fs::rename(from, to).unwrap();
}
