//! The janitor of a database: one at a time, and never in the way of those who use it.

use super::{Server, connect, database};
use crate::{
    janitor::{AGED, BEFORE, check_open, fill, kept, owner, sweep},
    session, user_message,
};
use agent::{NewSession, SessionStore as _, StoreError};
use std::collections::BTreeSet;
use store::PostgresStore;

#[tokio::test]
async fn a_database_is_swept_of_sessions_that_nobody_uses_by_one_process() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "swept").await;
    let (store, other) = (PostgresStore::open(&url).await.unwrap(), PostgresStore::open(&url).await.unwrap());
    let open = fill(&store, &other).await;
    // Of another tenant, which the store itself does not see; large, so that it has a blob.
    let eve = owner("other", "eve");
    let of_eve = store.scoped(&eve).unwrap();
    let lease = of_eve.create(NewSession { owner: Some(eve), ..session("of eve") }).await.unwrap();
    of_eve.append(&lease, vec![user_message(&"x".repeat(100_000))]).await.unwrap();
    of_eve.release(&lease).await.unwrap();
    // A node that died: its lease is in the row, and keeps nothing.
    let admin = connect(&url).await;
    admin.batch_execute("SET search_path = tiller").await.unwrap();
    admin.batch_execute(AGED).await.unwrap();
    admin
        .batch_execute(
            "UPDATE sessions SET lease_node = '00000000-0000-0000-0000-000000000001', lease_incarnation = 1 WHERE id = 'old 7'",
        )
        .await
        .unwrap();
    let (first, second) = (store.janitor(), other.janitor());
    let held = first.begin().await.unwrap().unwrap();
    assert!(second.begin().await.unwrap().is_none(), "one process sweeps");
    drop(held);
    // The server notices a moment later that the connection is gone.
    let mut begun = loop {
        match second.begin().await.unwrap() {
            Some(begun) => break begun,
            None => tokio::task::yield_now().await,
        }
    };
    assert_eq!(sweep(&mut *begun).await, [100, 23]);
    let rows = admin.query("SELECT id FROM sessions", &[]).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.get(0)).collect::<BTreeSet<String>>(), kept());
    let left = "SELECT (SELECT count(*) FROM blobs WHERE tenant_id NOT IN (SELECT id FROM tenants WHERE name = 'default')), \
                (SELECT count(*) FROM events WHERE session_id LIKE 'of%')";
    let row = admin.query_one(left, &[]).await.unwrap();
    assert_eq!((row.get::<_, i64>(0), row.get::<_, i64>(1)), (0, 0));
    check_open(&store, &open).await;
}

#[tokio::test]
async fn a_session_that_is_opened_while_it_is_to_be_deleted_is_one_or_the_other() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "opened").await;
    let (store, other) = (PostgresStore::open(&url).await.unwrap(), PostgresStore::open(&url).await.unwrap());
    let admin = connect(&url).await;
    let janitor = other.janitor();
    let mut begun = janitor.begin().await.unwrap().unwrap();
    let (mut kept, mut gone) = (0, 0);
    for nth in 0..40 {
        let lease = store.create(session(&format!("s{nth}"))).await.unwrap();
        store.release(&lease).await.unwrap();
        admin.batch_execute("UPDATE tiller.sessions SET updated_at = 1000").await.unwrap();
        let open = async {
            // In some rounds the other one has a head start.
            for _ in 0..nth {
                tokio::task::yield_now().await;
            }
            let lease = store.acquire(&lease.session, false).await?;
            store.append(&lease, vec![user_message("here")]).await.map(|_| lease)
        };
        let (opened, deleted) = futures::join!(open, begun.delete_unused(BEFORE));
        match (opened, deleted.unwrap()) {
            (Ok(lease), 0) => {
                assert_eq!(store.events(&lease.session, 0, 9).await.unwrap().len(), 1);
                store.delete(&lease.session).await.unwrap();
                kept += 1;
            }
            (Err(StoreError::NotFound(_)), 1) => gone += 1,
            (opened, deleted) => panic!("{nth}: {opened:?}, {deleted} deleted"),
        }
    }
    println!("{kept} were opened, {gone} deleted");
}

#[tokio::test]
async fn contents_that_nothing_refers_to_are_deleted_unless_an_append_is_about_to() {
    let Some(server) = Server::start() else { return };
    let url = database(&server, "orphans").await;
    let (store, other) = (PostgresStore::open(&url).await.unwrap(), PostgresStore::open(&url).await.unwrap());
    let admin = connect(&url).await;
    let janitor = other.janitor();
    let mut begun = janitor.begin().await.unwrap().unwrap();
    let large = user_message(&"z".repeat(1_500_000));
    // As an administrator leaves them who deletes rows.
    let orphan = "DELETE FROM tiller.events; DELETE FROM tiller.sessions";
    let count = "SELECT count(DISTINCT hash) FROM tiller.blobs";
    for nth in 0..40 {
        let first = store.create(session(&format!("a{nth}"))).await.unwrap();
        store
            .append(&first, vec![large.clone(), user_message(&format!("{nth}{}", "o".repeat(70_000)))])
            .await
            .unwrap();
        admin.batch_execute(orphan).await.unwrap();
        assert_eq!(admin.query_one(count, &[]).await.unwrap().get::<_, i64>(0), 2);
        let second = store.create(session(&format!("b{nth}"))).await.unwrap();
        let append = async {
            for _ in 0..nth % 20 {
                tokio::task::yield_now().await;
            }
            store.append(&second, vec![large.clone()]).await
        };
        let (appended, deleted) = futures::join!(append, begun.delete_orphans());
        assert_eq!(appended, Ok(1));
        assert!((1..=2).contains(&deleted.unwrap()), "the other one at least");
        assert!(store.events(&second.session, 0, 1).await.unwrap() == [(1, large.clone())], "{nth}");
        assert_eq!(begun.delete_orphans().await, Ok(0), "what is referred to stays");
        store.delete(&second.session).await.unwrap();
    }
    assert_eq!(admin.query_one(count, &[]).await.unwrap().get::<_, i64>(0), 0);
}
