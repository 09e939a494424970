//! Leases.

use super::{Fixture, append::user_message, session};
use agent::{Lease, StoreError};
use futures::future::join;

pub(super) async fn fences_a_lost_lease(Fixture { store, .. }: Fixture) {
    let lost = store.create(session("s1", "/a")).await.expect("created");
    store.append(&lost, vec![user_message("before")]).await.expect("appended");
    // The same process can always acquire the lease again.
    let lease = store.acquire(&lost.session, false).await.expect("acquired");
    assert!(lease.epoch > lost.epoch);
    let before = store.get(&lost.session).await;
    for nothing_or_something in [vec![], vec![user_message("lost")]] {
        assert_eq!(
            store.append(&lost, nothing_or_something).await,
            Err(StoreError::Fenced(lost.session.clone()))
        );
    }
    assert_eq!(store.get(&lost.session).await, before);
    store.release(&lost).await.expect("giving back what was lost is fine");
    assert_eq!(store.append(&lease, vec![user_message("after")]).await, Ok(2));
    let never = Lease { epoch: lease.epoch + 1, ..lease };
    assert_eq!(store.append(&never, vec![user_message("?")]).await, Err(StoreError::Fenced(lost.session)));
}

pub(super) async fn fences_concurrent_appends(Fixture { store, .. }: Fixture) {
    let lost = store.create(session("s1", "/a")).await.expect("created");
    let lease = store.acquire(&lost.session, false).await.expect("acquired");
    for nth in 1..=20 {
        let (fenced, fine) = join(
            store.append(&lost, vec![user_message("no")]),
            store.append(&lease, vec![user_message("yes")]),
        )
        .await;
        assert_eq!(fenced, Err(StoreError::Fenced(lost.session.clone())));
        assert_eq!(fine, Ok(nth));
    }
}

pub(super) async fn releases(Fixture { store, other }: Fixture) {
    let lease = store.create(session("s1", "/a")).await.expect("created");
    store.release(&lease).await.expect("released");
    store.release(&lease).await.expect("released again");
    assert_eq!(
        store.append(&lease, vec![user_message("after")]).await,
        Err(StoreError::Fenced(lease.session.clone()))
    );
    let next = other.unwrap_or(store).acquire(&lease.session, false).await.expect("nobody holds it");
    assert!(next.epoch > lease.epoch);
}

pub(super) async fn refuses_while_another_holds(Fixture { store, other }: Fixture) {
    let Some(other) = other else { return };
    let held = other.create(session("s1", "/a")).await.expect("created");
    other.append(&held, vec![user_message("1")]).await.expect("appended");
    let refused = store.acquire(&held.session, false).await;
    assert!(
        matches!(&refused, Err(StoreError::Held { session, holder }) if *session == held.session && holder.pid > 0 && !holder.host.is_empty() && holder.since.ends_with('Z')),
        "{refused:?}"
    );
    let holder = store.holder(&held.session).await.expect("told").expect("another one holds it");
    assert!(matches!(&refused, Err(StoreError::Held { holder: named, .. }) if *named == holder));
    assert_eq!(other.holder(&held.session).await, Ok(None), "it is no other one");
    // Reading needs no lease, and the refusal changed nothing.
    assert_eq!(store.events(&held.session, 0, 10).await, Ok(vec![(1, user_message("1"))]));
    assert_eq!(other.append(&held, vec![user_message("2")]).await, Ok(2));

    let taken = store.acquire(&held.session, true).await.expect("taken over");
    assert_eq!(
        other.append(&held, vec![user_message("3")]).await,
        Err(StoreError::Fenced(held.session.clone()))
    );
    assert_eq!(store.append(&taken, vec![user_message("3")]).await, Ok(3));
    assert_eq!(other.get(&held.session).await.expect("found").last_seq, 3);
}

pub(super) async fn refuses_to_delete_what_another_holds(Fixture { store, other }: Fixture) {
    let Some(other) = other else { return };
    let held = other.create(session("s1", "/a")).await.expect("created");
    assert!(matches!(store.delete(&held.session).await, Err(StoreError::Held { .. })));
    assert_eq!(other.append(&held, vec![user_message("1")]).await, Ok(1));
    other.release(&held).await.expect("released");
    assert_eq!(store.delete(&held.session).await, Ok(()));
}

pub(super) async fn refuses_to_archive_what_another_holds(Fixture { store, other }: Fixture) {
    let Some(other) = other else { return };
    let held = other.create(session("s1", "/a")).await.expect("created");
    assert!(matches!(store.set_archived(&held.session, true).await, Err(StoreError::Held { .. })));
    assert!(!store.get(&held.session).await.expect("found").listing.archived);
    assert_eq!(other.set_archived(&held.session, true).await, Ok(()));
}

pub(super) async fn acquires_the_lease_of_an_ended_process(Fixture { store, other }: Fixture) {
    let Some(other) = other else { return };
    let held = other.create(session("s1", "/a")).await.expect("created");
    other.append(&held, vec![user_message("1")]).await.expect("appended");
    drop(other);
    let lease = store.acquire(&held.session, false).await.expect("nobody holds it");
    // An append that was in flight when the process ended.
    assert_eq!(store.append(&held, vec![user_message("late")]).await, Err(StoreError::Fenced(held.session)));
    assert_eq!(store.append(&lease, vec![user_message("2")]).await, Ok(2));
}
