//! The owners of sessions.

use super::{Fixture, append::user_message, samples::change, session};
use agent::{
    ListQuery, NewSession, Owner, SearchQuery, SessionEvent, SessionId, SessionRecord, StoreError, scoped,
};

/// Returns a user of a tenant.
fn owner(tenant: &str, user: &str) -> Owner {
    Owner { tenant: tenant.to_owned(), user: user.to_owned() }
}

/// The same names in two tenants, and a name that contains another.
fn owners() -> Vec<Option<Owner>> {
    vec![
        None,
        Some(owner("default", "anna")),
        Some(owner("default", "ann")),
        Some(owner("default", "größe 🦀")),
    ]
}

pub(super) async fn lists_and_searches_one_owner(Fixture { store, .. }: Fixture) {
    for (nth, owner) in owners().into_iter().enumerate() {
        for which in ["a", "b"] {
            let new = NewSession { owner: owner.clone(), ..session(&format!("{which}{nth}"), "/w") };
            let lease = store.create(new).await.expect("created");
            store.append(&lease, vec![user_message("needle")]).await.expect("appended");
            assert_eq!(store.get(&lease.session).await.expect("found").listing.owner, owner);
        }
    }
    for (nth, owner) in owners().into_iter().enumerate() {
        let expected = [format!("a{nth}"), format!("b{nth}")];
        for cwd in [None, Some(super::path("/w"))] {
            let query =
                ListQuery { owner: owner.clone(), cwd: cwd.clone(), limit: 1, ..ListQuery::default() };
            let first = store.list(query.clone()).await.expect("listed");
            let cursor = first.next_cursor.clone();
            let second = store.list(ListQuery { cursor, ..query }).await.expect("listed");
            assert_eq!(second.next_cursor, None, "the page ends with the sessions of the owner");
            let mut ids: Vec<_> = [first.sessions, second.sessions].concat().iter().map(id).collect();
            ids.sort();
            assert_eq!(ids, expected, "{owner:?} in {cwd:?}");
            for (except, expected) in
                [(None, &expected[..]), (Some("a0".into()), &expected[usize::from(nth == 0)..])]
            {
                let query = SearchQuery {
                    owner: owner.clone(),
                    text: "needle".to_owned(),
                    cwd: cwd.clone(),
                    except,
                    limit: 9,
                    ..SearchQuery::default()
                };
                let hits = store.search(query).await.expect("searched");
                let mut found: Vec<_> = hits.iter().map(|hit| id(&hit.session)).collect();
                found.sort();
                assert_eq!(found, expected, "{owner:?} in {cwd:?}");
            }
        }
        let ids = store.ids_with_prefix(owner.as_ref(), "a", 9).await.expect("found");
        assert_eq!(ids, [expected[0].as_str().into()], "{owner:?}");
    }
    let nobody = Some(owner("default", "nobody"));
    let none =
        store.list(ListQuery { owner: nobody, limit: 9, ..ListQuery::default() }).await.expect("listed");
    assert!(none.sessions.is_empty());
    // An id belongs to one session, no matter who has it.
    let taken = NewSession { owner: Some(owner("default", "anna")), ..session("a0", "/w") };
    assert!(matches!(store.create(taken).await, Err(StoreError::Io(_))));
    let new = NewSession { owner: Some(owner("default", "ann")), ..session("fork", "/w") };
    let fork = store.fork(&"a2".into(), new).await.expect("forked");
    assert_eq!(store.get(&fork.session).await.expect("found").listing.owner, Some(owner("default", "ann")));
}

pub(super) async fn hides_the_sessions_of_others(Fixture { store, .. }: Fixture) {
    let [anna, ben] = ["anna", "ben"].map(|user| owner("default", user));
    let other_tenant = owner("other", "anna");
    let of = |owner: &Owner| scoped(&store, owner);
    let change = change(None, Some("content"));
    let hash = change.after.as_ref().expect("it has one").hash.clone();
    let id: SessionId = "s1".into();
    let lease = of(&anna).create(session("s1", "/w")).await.expect("created");
    let events = vec![user_message("needle"), SessionEvent::FileChanged(change)];
    assert_eq!(of(&anna).append(&lease, events.clone()).await, Ok(2));
    assert_eq!(of(&anna).get(&id).await.expect("found").listing.owner, Some(anna.clone()));
    for stranger in [&ben, &other_tenant].map(of) {
        let unknown = StoreError::NotFound(id.clone());
        assert_eq!(stranger.get(&id).await, Err(unknown.clone()));
        assert_eq!(stranger.parent(&id).await, Err(unknown.clone()));
        assert_eq!(stranger.holder(&id).await, Err(unknown.clone()));
        assert_eq!(stranger.acquire(&id, true).await, Err(unknown.clone()));
        assert_eq!(stranger.events(&id, 0, 9).await, Err(unknown.clone()));
        assert_eq!(stranger.set_archived(&id, true).await, Err(unknown.clone()));
        assert_eq!(stranger.fork(&id, session("s2", "/w")).await, Err(unknown.clone()));
        assert!(!matches!(stranger.content(&id, &hash).await, Ok(Some(_))));
        assert!(!matches!(stranger.event_times(&id).await, Ok(times) if !times.is_empty()));
        assert_eq!(stranger.delete(&id).await, Ok(()), "as for an unknown session");
        // The owner that a query names does not widen what is seen.
        let owner = Some(anna.clone());
        let query = ListQuery { owner: owner.clone(), limit: 9, ..ListQuery::default() };
        assert!(stranger.list(query).await.expect("listed").sessions.is_empty());
        let text = "needle".to_owned();
        let query = SearchQuery { owner: owner.clone(), text, limit: 9, ..SearchQuery::default() };
        assert!(stranger.search(query).await.expect("searched").is_empty());
        assert!(stranger.ids_with_prefix(owner.as_ref(), "s", 9).await.expect("found").is_empty());
        let for_another = NewSession { owner, ..session("s3", "/w") };
        assert!(stranger.create(for_another).await.is_err());
    }
    // It is as before, and its lease is valid.
    assert_eq!(of(&anna).append(&lease, vec![user_message("more")]).await, Ok(3));
    assert_eq!(of(&anna).events(&id, 0, 9).await.expect("read").len(), 3);
    assert!(!of(&anna).get(&id).await.expect("found").listing.archived);
    let fork = of(&anna).fork(&id, session("s4", "/w")).await.expect("forked");
    assert_eq!(of(&anna).get(&fork.session).await.expect("found").listing.owner, Some(anna.clone()));
    let listed = of(&anna).list(ListQuery { limit: 9, ..ListQuery::default() }).await.expect("listed");
    assert_eq!(listed.sessions.len(), 2);
}

fn id(record: &SessionRecord) -> String {
    record.id.to_string()
}
