//! Appends whose answer, or request, is lost.

use super::{
    Server, connect, database,
    proxy::{Loss, Proxy},
};
use crate::{session, user_message};
use agent::{SessionStore as _, StoreError};
use store::PostgresStore;

#[tokio::test]
async fn an_append_of_unknown_outcome_is_settled() {
    let Some(server) = Server::start() else { return };
    let direct = database(&server, "outcomes").await;
    let proxy = Proxy::start(&server.socket());
    let store = PostgresStore::open(&proxy.url("outcomes")).await.unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    let mut expected = Vec::new();
    for (nth, loss) in [Loss::Answer, Loss::Request, Loss::Late].into_iter().cycle().take(12).enumerate() {
        // Two events, so that a part would show.
        let events = vec![user_message(&format!("lose this {nth}")), user_message("with this")];
        proxy.lose(loss);
        let appended = store.append(&lease, events.clone()).await;
        assert_eq!(proxy.lost(), nth + 1);
        expected.extend(events);
        assert_eq!(appended, Ok(expected.len() as u64), "{loss:?}");
        if loss == Loss::Late {
            // The first request arrives after the second one was acknowledged.
            proxy.release().await;
        }
        let stored = store.events(&lease.session, 0, usize::MAX).await.unwrap();
        let stored: Vec<_> = stored.into_iter().map(|(_, event)| event).collect();
        assert_eq!(stored, expected, "once, after {loss:?}");
    }
    let admin = connect(&direct).await;
    let row = admin.query_one("SELECT last_seq, lease_epoch FROM tiller.sessions", &[]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (24, 1), "the lease is the same");
}

#[tokio::test]
async fn a_takeover_after_a_lost_append_is_told_apart_from_it() {
    let Some(server) = Server::start() else { return };
    let direct = database(&server, "taken").await;
    let proxy = Proxy::start(&server.socket());
    let store = PostgresStore::open(&proxy.url("taken")).await.unwrap();
    let other = PostgresStore::open(&direct).await.unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    proxy.lose(Loss::Answer);
    assert_eq!(store.append(&lease, vec![user_message("lose this")]).await, Ok(1));
    let taken = other.acquire(&lease.session, true).await.unwrap();
    proxy.lose(Loss::Request);
    assert_eq!(
        store.append(&lease, vec![user_message("lose this")]).await,
        Err(StoreError::Fenced(lease.session.clone()))
    );
    assert_eq!(other.append(&taken, vec![user_message("on")]).await, Ok(2));
}

#[tokio::test]
async fn a_log_that_went_back_fences_the_session_and_says_so() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "behind").await;
    let store = PostgresStore::open(&url).await.unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    store.append(&lease, vec![user_message("1"), user_message("2")]).await.unwrap();
    // As a standby that did not have the last event.
    let admin = connect(&url).await;
    admin
        .batch_execute("DELETE FROM tiller.events WHERE seq = 2; UPDATE tiller.sessions SET last_seq = 1")
        .await
        .unwrap();
    let refused = store.append(&lease, vec![user_message("3")]).await.unwrap_err().to_string();
    assert!(refused.contains("1 events") && refused.contains("2 were acknowledged"), "{refused}");
    // Loaded again, it goes on with what is there.
    let lease = store.acquire(&lease.session, false).await.unwrap();
    assert_eq!(store.append(&lease, vec![user_message("3")]).await, Ok(2));
}

#[tokio::test]
async fn a_lease_whose_log_is_not_known_is_given_up() {
    let Some(mut server) = Server::start() else { return };
    let direct = database(&server, "given_up").await;
    let proxy = Proxy::start(&server.socket());
    let store = PostgresStore::open(&proxy.url("given_up")).await.unwrap();
    let lease = store.create(session("s1")).await.unwrap();
    proxy.lose(Loss::Late);
    let append = store.append(&lease, vec![user_message("lose this")]);
    // The server is away for longer than an append may take.
    server.stop();
    let error = append.await.unwrap_err();
    assert!(
        matches!(&error, StoreError::Io(text) if text.contains("session s1") && text.contains("not known")),
        "{error}"
    );
    server.run();
    assert_eq!(
        store.append(&lease, vec![user_message("after")]).await,
        Err(StoreError::Fenced(lease.session.clone())),
        "nothing is written with a lease that was given up"
    );
    // It is free for others without a takeover, once the server heard of it.
    let admin = connect(&direct).await;
    let free = "SELECT count(*) FROM tiller.sessions WHERE lease_node IS NULL";
    while admin.query_one(free, &[]).await.unwrap().get::<_, i64>(0) == 0 {
        tokio::task::yield_now().await;
    }
    let other = PostgresStore::open(&direct).await.unwrap();
    let taken = other.acquire(&lease.session, false).await.unwrap();
    assert_eq!(other.append(&taken, vec![user_message("on")]).await, Ok(1));
}
