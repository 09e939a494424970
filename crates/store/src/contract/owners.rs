//! The owners of sessions.

use super::{Fixture, append::user_message, session};
use agent::{ListQuery, NewSession, Owner, SearchQuery, SessionRecord, StoreError};

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

fn id(record: &SessionRecord) -> String {
    record.id.to_string()
}
