//! The owners of sessions.

use super::{Fixture, append::user_message, path, samples::change, session};
use agent::{
    Cost, FileChange, ListQuery, NewSession, Owner, SearchQuery, SessionEvent, SessionId, SessionRecord,
    SessionStore, Snapshot, StoreError, Usage, UsageUpdate, scoped,
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
        for cwd in [None, Some(path("/w"))] {
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

/// A count of a session, in tokens and picodollars.
fn count(tokens: u64, cost: Option<u64>) -> SessionEvent {
    let total = Usage { input: tokens, output: 1, cost: cost.map(Cost), ..Usage::default() };
    SessionEvent::Usage(UsageUpdate {
        model: "m".to_owned(),
        context_used: 1,
        context_size: 2,
        total,
        // Subagents have sessions of their own, which count for themselves.
        subagents: Usage { input: 1_000_000, ..Usage::default() },
        turn: Usage::default(),
        counted: None,
    })
}

/// Returns the tokens and the cost of each user of a tenant since a time, by name.
async fn spent(store: &dyn SessionStore, tenant: &str, since: i64) -> Vec<(String, u64, Option<u64>)> {
    let mut sums: std::collections::BTreeMap<String, Usage> = std::collections::BTreeMap::new();
    for (owner, used) in store.spent(tenant, since).await.expect("read") {
        assert_eq!(owner.tenant, tenant);
        *sums.entry(owner.user).or_default() += used;
    }
    sums.into_iter().map(|(user, used)| (user, used.input, used.cost.map(|cost| cost.0))).collect()
}

pub(super) async fn adds_up_what_users_of_a_tenant_spent(Fixture { store, .. }: Fixture) {
    let [ann, ben] = ["ann", "ben"].map(|user| owner("default", user));
    let of = |owner: &Owner, id: &str| NewSession { owner: Some(owner.clone()), ..session(id, "/w") };
    let first = store.create(of(&ann, "a1")).await.expect("created");
    store.append(&first, vec![user_message("hi"), count(10, None)]).await.expect("appended");
    let times = store.event_times(&first.session).await.expect("read");
    let Some((_, yesterday)) = times.last().copied() else {
        assert_eq!(store.spent("default", 0).await, Ok(Vec::new()), "it keeps no times");
        return;
    };
    // The clock has milliseconds, and what follows is later.
    while crate::clock::now() <= yesterday {
        std::thread::yield_now();
    }
    let today = yesterday + 1;
    assert_eq!(spent(&*store, "default", today).await, [], "nothing since then");
    store
        .append(&first, vec![count(15, Some(3)), user_message("and"), count(17, Some(7))])
        .await
        .expect("appended");
    let child = NewSession { parent: Some("a1".into()), ..of(&ann, "a2") };
    let child = store.create(child).await.expect("created");
    store.append(&child, vec![count(100, Some(1))]).await.expect("appended");
    let third = store.create(of(&ben, "b1")).await.expect("created");
    store.append(&third, vec![count(1, None), count(5, None)]).await.expect("appended");
    for stranger in [None, Some(owner("other", "ann"))] {
        let id = format!("s{}", stranger.is_some());
        let lease = match &stranger {
            Some(owner) => scoped(&store, owner).create(session(&id, "/w")).await.expect("created"),
            None => store.create(session(&id, "/w")).await.expect("created"),
        };
        let store = stranger.as_ref().map_or_else(|| store.clone(), |owner| scoped(&store, owner));
        store.append(&lease, vec![count(1000, None)]).await.expect("appended");
    }
    let ann_and_ben = |ann| [("ann".to_owned(), ann, Some(8)), ("ben".to_owned(), 5, None)];
    assert_eq!(spent(&*store, "default", 0).await, ann_and_ben(117));
    assert_eq!(spent(&*store, "default", today).await, ann_and_ben(107));
    assert_eq!(spent(&*store, "other", today).await, [("ann".to_owned(), 1000, None)]);
    assert_eq!(spent(&*store, "none", 0).await, []);
    assert_eq!(spent(&*scoped(&store, &ben), "default", 0).await, [("ben".to_owned(), 5, None)]);
    // A fork has the counts of its origin, which were not spent again.
    let now = crate::clock::now();
    while crate::clock::now() <= now {
        std::thread::yield_now();
    }
    let fork = store.fork(&first.session, of(&ann, "a3")).await.expect("forked");
    assert_eq!(spent(&*store, "default", 0).await, ann_and_ben(117));
    store.append(&fork, vec![count(20, Some(7))]).await.expect("appended");
    assert_eq!(spent(&*store, "default", 0).await, ann_and_ben(120));
}

pub(super) async fn adds_up_the_contents_of_users_of_a_tenant(Fixture { store, .. }: Fixture) {
    let [ann, ben, stranger] =
        [("default", "ann"), ("default", "ben"), ("other", "ann")].map(|(tenant, user)| owner(tenant, user));
    let content = |bytes: usize, of: &str| {
        SessionEvent::FileChanged(FileChange {
            path: path("/w/a"),
            real: path("/w/a"),
            before: None,
            after: Some(Snapshot::of(of.repeat(bytes).as_bytes())),
            agent: None,
        })
    };
    let contents = async |store: &dyn SessionStore, tenant: &str| {
        let mut sums = std::collections::BTreeMap::new();
        for (owner, bytes) in store.stored_contents(tenant).await.expect("read") {
            *sums.entry(owner.user).or_insert(0) += bytes;
        }
        sums.into_iter().collect::<Vec<(String, u64)>>()
    };
    let mut first = None;
    for (id, owner, events) in [
        ("c1", Some(&ann), vec![content(1_000, "a"), content(50, "b"), content(1_000, "a")]),
        ("c2", Some(&ann), vec![content(1_000, "a")]),
        ("c3", Some(&ben), vec![user_message("nothing"), content(7, "c")]),
        ("c4", Some(&stranger), vec![content(9, "d")]),
        ("c5", None, vec![content(5_000, "e")]),
    ] {
        let seen = owner.map_or_else(|| store.clone(), |owner| scoped(&store, owner));
        let lease = seen.create(session(id, "/w")).await.expect("created");
        seen.append(&lease, events).await.expect("appended");
        first.get_or_insert(lease.session);
    }
    let found = contents(&*store, "default").await;
    if found.is_empty() {
        // It does not know.
        return;
    }
    let [of_ann, of_ben] = [("ann".to_owned(), 2_050), ("ben".to_owned(), 7)];
    assert_eq!(found, [of_ann, of_ben.clone()]);
    assert_eq!(contents(&*store, "other").await, [("ann".to_owned(), 9)]);
    assert_eq!(contents(&*store, "none").await, []);
    assert_eq!(contents(&*scoped(&store, &ben), "default").await, std::slice::from_ref(&of_ben));
    scoped(&store, &ann).delete(&first.expect("created")).await.expect("deleted");
    assert_eq!(contents(&*store, "default").await, [("ann".to_owned(), 1_000), of_ben]);
}

fn id(record: &SessionRecord) -> String {
    record.id.to_string()
}
