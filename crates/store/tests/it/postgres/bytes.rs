//! What is stored is what was appended, byte for byte, and nothing is kept without a reference.

use super::{Server, connect, database};
use crate::{database_path, session, user_message};
use agent::{SessionEvent, SessionStore, Snapshot};
use std::sync::Arc;
use store::{PostgresStore, SqliteStore, contract::samples};

/// Events of every kind, and texts around the length from which they are stored apart.
fn events() -> Vec<SessionEvent> {
    let mut events = samples();
    for length in [65_000, 65_536, 70_000, 3_000_000] {
        events.push(user_message(&"\0\u{1} ü🦀\"\\".repeat(length / 10)));
    }
    events
}

#[tokio::test]
async fn bodies_are_stored_byte_for_byte() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "bytes").await;
    let (_directory, path) = database_path();
    let (postgres, sqlite) = (PostgresStore::open(&url).await.unwrap(), SqliteStore::open(&path).unwrap());
    let events = events();
    for store in [&postgres as &dyn SessionStore, &sqlite] {
        let lease = store.create(session("s1")).await.unwrap();
        assert_eq!(store.append(&lease, events.clone()).await, Ok(events.len() as u64));
    }
    let file = rusqlite::Connection::open(&path).unwrap();
    let mut statement = file.prepare("SELECT seq, format, kind, body FROM events ORDER BY seq").unwrap();
    let expected: Vec<(i64, i64, String, String)> = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .unwrap()
        .map(Result::unwrap)
        .collect();
    let raw = connect(&url).await;
    let rows = raw
        .query(
            "SELECT seq, format::int8, kind, coalesce(body, convert_from((SELECT string_agg(bytes, '' ORDER BY part) \
             FROM tiller.blobs WHERE hash = e.blob), 'UTF8')), body IS NULL FROM tiller.events e ORDER BY seq",
            &[],
        )
        .await
        .unwrap();
    let stored: Vec<(i64, i64, String, String)> =
        rows.iter().map(|row| (row.get(0), row.get(1), row.get(2), row.get(3))).collect();
    // Not `assert_eq`: its message would contain megabytes.
    assert!(stored == expected);
    assert!(rows.iter().filter(|row| row.get::<_, bool>(4)).count() >= 3, "the large ones are apart");
    assert!(stored.iter().any(|(_, _, _, body)| body.contains("\\u0000")));

    let mut read = Vec::new();
    loop {
        let after = read.last().map_or(0, |(seq, _)| *seq);
        let page = postgres.events(&"s1".into(), after, 500).await.unwrap();
        if page.is_empty() {
            break;
        }
        read.extend(page);
    }
    assert!(read.into_iter().map(|(_, event)| event).eq(events));
}

#[tokio::test]
async fn shared_bytes_are_kept_until_the_last_session_is_deleted() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "shared").await;
    let store = PostgresStore::open(&url).await.unwrap();
    let raw = connect(&url).await;
    let large = user_message(&"x".repeat(2_500_000));
    let content: Arc<[u8]> = b"a file \0".as_slice().into();
    let hash = agent::ContentHash::of(&content);
    let change = |event: &SessionEvent| match event.clone() {
        SessionEvent::FileChanged(mut change) => {
            change.after = Some(Snapshot { hash: hash.clone(), size: 8, bytes: Some(content.clone()) });
            change.before = None;
            Some(SessionEvent::FileChanged(change))
        }
        _ => None,
    };
    let changed = samples().iter().find_map(change).unwrap();
    let mut ids = Vec::new();
    for id in ["s1", "s2"] {
        let lease = store.create(session(id)).await.unwrap();
        store.append(&lease, vec![large.clone(), changed.clone()]).await.unwrap();
        ids.push(lease.session);
    }
    ids.push(store.fork(&ids[0], session("s3")).await.unwrap().session);
    for (nth, id) in ids.iter().enumerate() {
        let blobs =
            raw.query_one("SELECT count(*), count(DISTINCT hash) FROM tiller.blobs", &[]).await.unwrap();
        assert_eq!((blobs.get::<_, i64>(0), blobs.get::<_, i64>(1)), (4, 2), "each content once, in parts");
        for kept in &ids[nth..] {
            assert!(store.events(kept, 0, 1).await.unwrap() == [(1, large.clone())]);
            assert_eq!(store.content(kept, &hash).await, Ok(Some(content.to_vec())));
        }
        store.delete(id).await.unwrap();
    }
    for table in ["blobs", "contents", "events", "words", "sessions"] {
        let count = raw.query_one(&format!("SELECT count(*) FROM tiller.{table}"), &[]).await.unwrap();
        assert_eq!(count.get::<_, i64>(0), 0, "{table}");
    }
}

#[tokio::test]
async fn bytes_that_are_deleted_and_appended_at_once_are_kept() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "races").await;
    let store = PostgresStore::open(&url).await.unwrap();
    let large = user_message(&"y".repeat(100_000));
    let mut last = store.create(session("s0")).await.unwrap();
    store.append(&last, vec![large.clone()]).await.unwrap();
    for nth in 1..40 {
        let next = store.create(session(&format!("s{nth}"))).await.unwrap();
        let (deleted, appended) =
            futures::join!(store.delete(&last.session), store.append(&next, vec![large.clone()]));
        assert_eq!((deleted, appended), (Ok(()), Ok(1)));
        assert!(store.events(&next.session, 0, 1).await.unwrap() == [(1, large.clone())], "{nth}");
        last = next;
    }
}
