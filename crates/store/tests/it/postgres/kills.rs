//! The server is killed while sessions append.

use super::{Server, connect, database};
use crate::{session, user_message};
use agent::{SessionStore as _, StoreError};
use std::{
    env,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};
use store::PostgresStore;
use tokio::sync::mpsc;

/// How often it is killed; `TILLER_POSTGRES_KILLS` sets another number.
const KILLS: usize = 10;
const SESSIONS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_acknowledged_event_is_lost_by_kills_of_the_server() {
    let Some(mut server) = Server::start() else { return };
    let url = database(&server, "kills").await;
    let store = Arc::new(PostgresStore::open(&url).await.unwrap());
    let is_over = Arc::new(AtomicBool::new(false));
    let (acknowledge, mut acknowledged) = mpsc::unbounded_channel();
    let mut sessions = Vec::new();
    for nth in 0..SESSIONS {
        let mut lease = store.create(session(&format!("s{nth}"))).await.unwrap();
        let (store, is_over, acknowledge) = (Arc::clone(&store), Arc::clone(&is_over), acknowledge.clone());
        sessions.push(tokio::spawn(async move {
            // The text of each acknowledged event, and its number.
            let (mut reported, mut count) = (Vec::new(), 0);
            while !is_over.load(Ordering::SeqCst) {
                count += 1;
                let text = format!("{nth} {count}");
                match store.append(&lease, vec![user_message(&text), user_message("and more")]).await {
                    Ok(last) => {
                        reported.push((last - 1, text));
                        let _ = acknowledge.send(());
                    }
                    // The lease was given up, or the server was away for long.
                    Err(StoreError::Fenced(_) | StoreError::Io(_)) => {
                        if let Ok(again) = store.acquire(&lease.session, false).await {
                            lease = again;
                        }
                    }
                    Err(error) => panic!("{error}"),
                }
            }
            (lease.session, reported)
        }));
    }
    let kills = env::var("TILLER_POSTGRES_KILLS").ok().and_then(|kills| kills.parse().ok()).unwrap_or(KILLS);
    for kill in 0..kills {
        for _ in 0..10 + 7 * (kill % 5) {
            acknowledged.recv().await.unwrap();
        }
        // The events acknowledged before this moment.
        while acknowledged.try_recv().is_ok() {}
        tokio::task::block_in_place(|| server.kill_and_start());
    }
    for _ in 0..20 {
        acknowledged.recv().await.unwrap();
    }
    is_over.store(true, Ordering::SeqCst);
    let mut events = 0;
    for task in sessions {
        let (id, reported) = task.await.unwrap();
        let stored = store.events(&id, 0, usize::MAX).await.unwrap();
        assert!(stored.iter().map(|(seq, _)| *seq).eq(1..=stored.len() as u64), "no gap");
        for (seq, text) in reported {
            assert_eq!(stored[usize::try_from(seq).unwrap() - 1].1, user_message(&text), "session {id}");
        }
        // Nothing is stored in part or twice.
        for pair in stored.chunks(2) {
            assert_eq!(pair[1].1, user_message("and more"));
        }
        let mut texts: Vec<_> = stored.iter().step_by(2).map(|(_, event)| format!("{event:?}")).collect();
        let count = texts.len();
        texts.dedup();
        assert_eq!(texts.len(), count);
        events += stored.len();
    }
    println!("{events} events through {kills} kills");
    let admin = connect(&url).await;
    let wrong = "SELECT count(*) FROM tiller.sessions s WHERE last_seq <> (SELECT count(*) FROM tiller.events WHERE session_id = s.id)";
    assert_eq!(admin.query_one(wrong, &[]).await.unwrap().get::<_, i64>(0), 0);
}
