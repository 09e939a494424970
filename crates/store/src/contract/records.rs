//! Creating sessions and finding them again.

use super::{Fixture, path, session};
use agent::{
    FolderFacts, FolderIdentity, KnownFolder, Lease, ListQuery, Mode, NewSession, PermissionMode,
    SearchQuery, SessionControls, SessionId, SessionListing, SessionRecord, SessionTimes, SessionTotals,
    StoreError,
};

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
    assert_eq!(found.times.created_at, found.times.updated_at);
    assert_eq!(
        found,
        SessionRecord {
            id: new.id,
            cwd: new.cwd,
            additional_directories: new.additional_directories,
            controls: SessionControls {
                model: new.model,
                mode: new.mode,
                permission_mode: new.permission_mode,
                effort: None,
            },
            title: None,
            branch: None,
            totals: SessionTotals::default(),
            times: SessionTimes { created_at: found.times.created_at, updated_at: found.times.created_at },
            last_seq: 0,
            listing: SessionListing::default(),
        }
    );
}

pub(super) async fn keeps_the_sessions_of_subagents_with_their_root(Fixture { store, .. }: Fixture) {
    let root = store.create(session("root", "/a")).await.expect("created");
    let of_root = NewSession { parent: Some(root.session.clone()), ..session("child", "/a") };
    let child = store.create(of_root).await.expect("created");
    for lease in [&root, &child] {
        store.append(lease, super::samples()).await.expect("appended");
    }
    assert_eq!(store.parent(&root.session).await, Ok(None));
    assert_eq!(store.parent(&child.session).await, Ok(Some(root.session.clone())));
    let listed = store.list(ListQuery { limit: 10, ..ListQuery::default() }).await.expect("listed");
    assert_eq!(listed.sessions.len(), 1, "a list has no sessions of subagents");
    let query = SearchQuery { text: "hi".to_owned(), limit: 10, ..SearchQuery::default() };
    let hits = store.search(query).await.expect("searched");
    assert!(hits.iter().all(|hit| hit.session.id == root.session), "nor has a search");
    for lease in [&root, &child] {
        store.release(lease).await.expect("released");
    }
    store.delete(&root.session).await.expect("deleted");
    assert_eq!(store.get(&child.session).await, Err(StoreError::NotFound(child.session)));
}

pub(super) async fn creates_only_once(Fixture { store, .. }: Fixture) {
    let lease = store.create(session("s1", "/a")).await.expect("created");
    let before = store.get(&lease.session).await.expect("found");
    assert!(matches!(store.create(session("s1", "/b")).await, Err(StoreError::Io(_))));
    assert_eq!(store.get(&lease.session).await.expect("found"), before);
    assert_eq!(store.append(&lease, super::samples()).await, Ok(super::samples().len() as u64));
}

pub(super) async fn does_not_find_unknown_sessions(Fixture { store, .. }: Fixture) {
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

pub(super) async fn forks_with_all_events(Fixture { store, other }: Fixture) {
    let origin = store.create(session("s1", "/a")).await.expect("created");
    let events = super::samples();
    let last = store.append(&origin, events.clone()).await.expect("appended");
    // Forking does not require the lease of the original.
    let forking = other.as_ref().unwrap_or(&store);
    let new = NewSession { additional_directories: vec![path("/c")], ..session("s2", "/b") };
    let fork = forking.fork(&origin.session, new).await.expect("forked");
    let (before, after) =
        (store.get(&origin.session).await.expect("found"), store.get(&fork.session).await.expect("found"));
    let kept = |record: &SessionRecord| (record.last_seq, record.title.clone(), record.controls.effort);
    assert_eq!(kept(&after), kept(&before));
    assert_eq!((after.cwd.as_str(), after.additional_directories.as_slice()), ("/b", &[path("/c")][..]));
    let copied = store.events(&fork.session, 0, usize::MAX).await.expect("read");
    assert_eq!(copied.into_iter().map(|(_, event)| event).collect::<Vec<_>>(), events);
    assert_eq!(forking.append(&fork, vec![super::append::user_message("fork")]).await, Ok(last + 1));
    assert_eq!(store.append(&origin, vec![super::append::user_message("origin")]).await, Ok(last + 1));
    let unknown = SessionId::from("nobody");
    assert_eq!(store.fork(&unknown, session("s3", "/a")).await, Err(StoreError::NotFound(unknown)));
    assert!(store.get(&"s3".into()).await.is_err(), "nothing is left of it");
    assert!(matches!(store.fork(&origin.session, session("s2", "/a")).await, Err(StoreError::Io(_))));
}

pub(super) async fn deletes_permanently(Fixture { store, .. }: Fixture) {
    let kept = store.create(session("s1", "/a")).await.expect("created");
    let lease = store.create(session("s2", "/a")).await.expect("created");
    for lease in [&kept, &lease] {
        store.append(lease, super::samples()).await.expect("appended");
    }
    for _ in 0..2 {
        assert_eq!(store.delete(&lease.session).await, Ok(()));
    }
    let gone = StoreError::NotFound(lease.session.clone());
    assert_eq!(store.get(&lease.session).await, Err(gone.clone()));
    assert_eq!(store.events(&lease.session, 0, 1).await, Err(gone.clone()));
    assert_eq!(store.append(&lease, super::samples()).await, Err(gone));
    // A session created again with the same id has no history.
    let again = store.create(session("s2", "/a")).await.expect("created");
    assert_eq!(store.events(&again.session, 0, 1).await, Ok(Vec::new()));
    assert_eq!(store.events(&kept.session, 0, usize::MAX).await.expect("read").len(), super::samples().len());
}

pub(super) async fn replaces_additional_directories(Fixture { store, .. }: Fixture) {
    let lease = store.create(session("s1", "/a")).await.expect("created");
    for directories in [vec![path("/b"), path("/c d")], Vec::new()] {
        store.set_directories(&lease, directories.clone()).await.expect("set");
        assert_eq!(store.get(&lease.session).await.expect("found").additional_directories, directories);
    }
    store.acquire(&lease.session, true).await.expect("acquired");
    let fenced = Err(StoreError::Fenced(lease.session.clone()));
    assert_eq!(store.set_directories(&lease, vec![path("/b")]).await, fenced);
}

pub(super) async fn replaces_the_directory(Fixture { store, .. }: Fixture) {
    let lease = store.create(session("s1", "/a")).await.expect("created");
    store.set_cwd(&lease, path("/b c")).await.expect("set");
    assert_eq!(store.get(&lease.session).await.expect("found").cwd, path("/b c"));
    let of = async |cwd: &str| {
        let query = ListQuery { cwd: Some(path(cwd)), limit: 9, ..ListQuery::default() };
        store.list(query).await.expect("listed").sessions.len()
    };
    assert_eq!((of("/a").await, of("/b c").await), (0, 1));
    store.acquire(&lease.session, true).await.expect("acquired");
    let fenced = Err(StoreError::Fenced(lease.session.clone()));
    assert_eq!(store.set_cwd(&lease, path("/d")).await, fenced);
}

fn facts(branch: Option<&str>, identity: Option<FolderIdentity>) -> FolderFacts {
    FolderFacts { branch: branch.map(str::to_owned), identity }
}

pub(super) async fn replaces_what_is_known_of_the_folder(Fixture { store, .. }: Fixture) {
    let lease = store.create(session("s1", "/a")).await.expect("created");
    let before = store.get(&lease.session).await.expect("found");
    for branch in [Some("main".to_owned()), Some("(0123456)".to_owned()), None] {
        store.set_folder(&lease, facts(branch.as_deref(), None)).await.expect("set");
        let after = store.get(&lease.session).await.expect("found");
        assert_eq!(after, SessionRecord { branch, ..before.clone() }, "it does not count as a use");
    }
    let identity = FolderIdentity::from_json(r#"{"below":"a b","remote":"host/c"}"#);
    assert!(identity.is_some());
    store.set_folder(&lease, facts(Some("main"), identity.clone())).await.expect("set");
    let fork = store.fork(&lease.session, session("s2", "/b")).await.expect("forked");
    let of_fork = store.get(&fork.session).await.expect("found").branch;
    assert_eq!(of_fork, None, "another directory may have another branch");
    let mut known = store.directories(None).await.expect("read");
    known.sort_by(|one, other| one.path.cmp(&other.path));
    let folder = |cwd, identity| KnownFolder { path: path(cwd), identity };
    assert_eq!(known, [folder("/a", identity), folder("/b", None)]);
    store.acquire(&lease.session, true).await.expect("acquired");
    let fenced = Err(StoreError::Fenced(lease.session.clone()));
    assert_eq!(store.set_folder(&lease, facts(None, None)).await, fenced);
}
