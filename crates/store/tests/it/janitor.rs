//! What a janitor deletes, and what it leaves.

use crate::{database_path, session, user_message};
use agent::{Lease, NewSession, Owner, SessionStore, Snapshot};
use std::{collections::BTreeSet, sync::Arc};
use store::{Holder, SqliteStore, janitor::Sweep};

/// Everything but what these sessions hold was last used before this time.
pub(crate) const AGED: &str =
    "UPDATE sessions SET updated_at = 1000 WHERE id NOT IN ('fresh', 'fresh child')";
/// The time before which sessions are not used any more.
pub(crate) const BEFORE: i64 = 1_000_000;

pub(crate) fn owner(tenant: &str, user: &str) -> Owner {
    Owner { tenant: tenant.to_owned(), user: user.to_owned() }
}

/// Fills a store with sessions that are to be kept and 122 that are not. `other` is the same store
/// in another process. Returns the leases of the sessions that are open.
pub(crate) async fn fill(store: &dyn SessionStore, other: &dyn SessionStore) -> Vec<Lease> {
    let parent = |id: &str, parent: &str| NewSession { parent: Some(parent.into()), ..session(id) };
    for nth in 0..120 {
        let owner = (nth % 3 == 0).then(|| owner("default", "ada"));
        let lease = store.create(NewSession { owner, ..session(&format!("old {nth}")) }).await.unwrap();
        store.release(&lease).await.unwrap();
    }
    for new in [
        session("fresh"),
        session("old with a fresh child"),
        parent("fresh child", "old with a fresh child"),
        session("old with an old child"),
        parent("old child", "old with an old child"),
        session("old with an open child"),
        parent("child of none", "gone"),
    ] {
        let lease = store.create(new).await.unwrap();
        store.release(&lease).await.unwrap();
    }
    let content = agent::SessionEvent::FileChanged(agent::FileChange {
        path: system::AbsPath::new("/work/a").unwrap(),
        real: system::AbsPath::new("/work/a").unwrap(),
        before: None,
        after: Some(Snapshot::of(b"kept")),
        agent: None,
    });
    let mut open = Vec::new();
    for new in [session("open here"), parent("open child", "old with an open child")] {
        open.push(store.create(new).await.unwrap());
    }
    store.append(&open[0], vec![user_message("kept"), content]).await.unwrap();
    let of_other = NewSession { owner: Some(owner("default", "ben")), ..session("open elsewhere") };
    other.create(of_other).await.unwrap();
    open
}

/// The sessions that a janitor leaves of those.
pub(crate) fn kept() -> BTreeSet<String> {
    let kept = [
        "fresh",
        "old with a fresh child",
        "fresh child",
        "old with an open child",
        "open child",
        "open here",
        "open elsewhere",
    ];
    kept.into_iter().map(str::to_owned).collect()
}

/// Deletes sessions until none is left to delete, and returns how many each step deleted.
pub(crate) async fn sweep(sweep: &mut dyn Sweep) -> Vec<u64> {
    let mut deleted = Vec::new();
    loop {
        match sweep.delete_unused(BEFORE).await.unwrap() {
            0 => return deleted,
            count => deleted.push(count),
        }
    }
}

/// The sessions that are still open can be written to.
pub(crate) async fn check_open(store: &dyn SessionStore, open: &[Lease]) {
    for lease in open {
        store.append(lease, vec![user_message("on")]).await.unwrap();
    }
    let content = Snapshot::of(b"kept");
    assert_eq!(store.content(&open[0].session, &content.hash).await, Ok(Some(b"kept".to_vec())));
}

#[tokio::test]
async fn a_file_is_swept_of_sessions_that_nobody_uses() {
    let (_directory, path) = database_path();
    let store = Arc::new(SqliteStore::open(&path).unwrap());
    let other = SqliteStore::open_as(&path, Holder::like_this_process()).unwrap();
    let open = fill(&*store, &other).await;
    let file = rusqlite::Connection::open(&path).unwrap();
    file.execute_batch(AGED).unwrap();
    let mut begun = store.janitor().begin().await.unwrap().unwrap();
    assert_eq!(sweep(&mut *begun).await, [100, 22]);
    let mut ids = file.prepare("SELECT id FROM sessions").unwrap();
    let ids: BTreeSet<String> = ids.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect();
    assert_eq!(ids, kept());
    assert_eq!(sweep(&mut *begun).await, Vec::<u64>::new());
    check_open(&*store, &open).await;
    // What a repair by other means has left.
    file.execute_batch(
        "PRAGMA foreign_keys = OFF; INSERT INTO contents (session_id, hash, size, bytes) VALUES ('gone', 'h', 1, x'00')",
    )
    .unwrap();
    assert_eq!(begun.delete_orphans().await, Ok(1));
    assert_eq!(begun.delete_orphans().await, Ok(0));
    check_open(&*store, &open).await;
}
