//! Creating sessions and finding them again.

use super::{Fixture, path, session};
use agent::{Lease, Mode, NewSession, PermissionMode, SessionId, SessionRecord, StoreError};

pub(super) async fn creates_and_gets(Fixture { store, .. }: Fixture) {
    let new = NewSession {
        additional_directories: vec![path("/b"), path("/größe 🦀")],
        mode: Mode::Plan,
        permission_mode: PermissionMode::Argus,
        ..session("s1", "/a b")
    };
    let lease = store.create(new.clone()).await.expect("created");
    assert_eq!(lease.session, new.id);
    let found = store.get(&new.id).await.expect("found");
    assert_eq!(found.created_at, found.updated_at);
    assert_eq!(
        found,
        SessionRecord {
            id: new.id,
            cwd: new.cwd,
            additional_directories: new.additional_directories,
            model: new.model,
            mode: new.mode,
            permission_mode: new.permission_mode,
            title: None,
            created_at: found.created_at,
            updated_at: found.created_at,
            last_seq: 0,
        }
    );
}

pub(super) async fn creates_only_once(Fixture { store, .. }: Fixture) {
    let lease = store.create(session("s1", "/a")).await.expect("created");
    let before = store.get(&lease.session).await.expect("found");
    assert!(matches!(store.create(session("s1", "/b")).await, Err(StoreError::Io(_))));
    assert_eq!(store.get(&lease.session).await.expect("found"), before);
    assert_eq!(store.append(&lease, super::samples()).await, Ok(super::samples().len() as u64));
}

pub(super) async fn knows_nothing_of_others(Fixture { store, .. }: Fixture) {
    let id = SessionId::from("nobody's");
    let unknown = StoreError::NotFound(id.clone());
    let lease = Lease { session: id.clone(), epoch: 1 };
    assert_eq!(store.get(&id).await, Err(unknown.clone()));
    assert_eq!(store.acquire(&id, false).await, Err(unknown.clone()));
    assert_eq!(store.acquire(&id, true).await, Err(unknown.clone()));
    assert_eq!(store.events(&id, 0, 10).await, Err(unknown.clone()));
    assert_eq!(store.append(&lease, super::samples()).await, Err(unknown.clone()));
    assert_eq!(store.release(&lease).await, Ok(()));
    assert_eq!(store.get(&id).await, Err(unknown));
}
