//! Two nodes at one session, and how many appends a second they make.

use super::{Server, connect, database};
use crate::{session, user_message};
use agent::{SessionId, SessionStore as _, StoreError};
use futures::future::join_all;
use std::time::Instant;
use store::PostgresStore;

#[tokio::test]
async fn an_append_and_a_takeover_never_both_win() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "takeover").await;
    let nodes = [PostgresStore::open(&url).await.unwrap(), PostgresStore::open(&url).await.unwrap()];
    let id = SessionId::from("s1");
    let mut lease = nodes[0].create(session("s1")).await.unwrap();
    let mut expected = Vec::new();
    for round in 0..100 {
        let (holder, other) = (&nodes[round % 2], &nodes[(round + 1) % 2]);
        let append = async |nth: usize| {
            let text = format!("{round} {nth}");
            (text.clone(), holder.append(&lease, vec![user_message(&text)]).await)
        };
        // The appends are under way when the takeover arrives, each time at another moment.
        let before = round % 5;
        for nth in 0..before {
            expected.push(append(nth).await.0);
        }
        let (answers, taken) =
            futures::join!(join_all((before..before + 6).map(append)), other.acquire(&id, true));
        let mut is_lost = false;
        for (text, answer) in answers {
            match answer {
                Ok(last) => {
                    assert!(!is_lost, "nothing is stored after the takeover");
                    expected.push(text);
                    assert_eq!(last, expected.len() as u64);
                }
                Err(error) => {
                    assert_eq!(error, StoreError::Fenced(id.clone()));
                    is_lost = true;
                }
            }
        }
        lease = taken.unwrap();
        assert!(matches!(other.append(&lease, Vec::new()).await, Ok(last) if last == expected.len() as u64));
    }
    let events = nodes[0].events(&id, 0, usize::MAX).await.unwrap();
    let texts: Vec<_> = expected.iter().map(|text| user_message(text)).collect();
    assert_eq!(events.into_iter().map(|(_, event)| event).collect::<Vec<_>>(), texts);
}

#[tokio::test]
async fn the_lease_of_a_node_without_a_heartbeat_is_free() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "silent").await;
    let nodes = [PostgresStore::open(&url).await.unwrap(), PostgresStore::open(&url).await.unwrap()];
    let lease = nodes[0].create(session("s1")).await.unwrap();
    assert!(nodes[0].lease_life().unwrap().is_live());
    assert!(matches!(nodes[1].acquire(&lease.session, false).await, Err(StoreError::Held { .. })));
    let admin = connect(&url).await;
    // Its time is over by the clock of the server, as if its heartbeats had not arrived.
    let expire = "UPDATE tiller.nodes SET expires_at = clock_timestamp() WHERE id = \
                  (SELECT lease_node FROM tiller.sessions)";
    assert_eq!(admin.execute(expire, &[]).await.unwrap(), 1);
    let orphans = admin.query("SELECT id FROM tiller.orphans(9)", &[]).await.unwrap();
    assert_eq!(orphans.len(), 1);
    let taken = nodes[1].acquire(&lease.session, false).await.unwrap();
    assert_eq!(
        nodes[0].append(&lease, vec![user_message("late")]).await,
        Err(StoreError::Fenced(lease.session.clone()))
    );
    assert_eq!(nodes[1].append(&taken, vec![user_message("on")]).await, Ok(1));
}

#[tokio::test]
async fn many_sessions_append_at_once() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "many").await;
    let store = PostgresStore::open(&url).await.unwrap();
    let text = "x".repeat(1_400);
    for sessions in [1, 16] {
        let create = (0..sessions).map(|n| store.create(session(&format!("{sessions}-{n}"))));
        let leases: Vec<_> = join_all(create).await.into_iter().map(Result::unwrap).collect();
        let begun = Instant::now();
        let fill = leases.iter().map(async |lease| {
            for nth in 1..=(600 / sessions as u64) {
                assert_eq!(store.append(lease, vec![user_message(&text)]).await, Ok(nth));
            }
        });
        join_all(fill).await;
        let rate = 600.0 / begun.elapsed().as_secs_f64();
        println!("{rate:.0} appends a second of 1.5 KB by {sessions} sessions");
    }
    let admin = connect(&url).await;
    let gaps = "SELECT count(*) FROM tiller.sessions s WHERE last_seq <> (SELECT count(*) FROM tiller.events WHERE session_id = s.id)";
    assert_eq!(admin.query_one(gaps, &[]).await.unwrap().get::<_, i64>(0), 0);
}
