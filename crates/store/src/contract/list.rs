//! Listing sessions.

use super::{Fixture, append::user_message, path, session};
use agent::{
    Archived, ListQuery, Mode, SearchQuery, SessionEvent, SessionListing, SessionPage, SessionRecord,
    SessionStore, StoreError,
};

pub(super) async fn lists_the_last_used_first(Fixture { store, .. }: Fixture) {
    assert_eq!(store.list(query(10)).await, Ok(SessionPage::default()));
    fill(&*store, 6).await;
    let page = store.list(query(10)).await.expect("listed");
    assert_eq!(page.next_cursor, None);
    assert_eq!(page.sessions.len(), 6);
    assert!(page.sessions.is_sorted_by(|a, b| sort_key(a) > sort_key(b)), "{:?}", page.sessions);
    for listed in &page.sessions {
        assert_eq!(store.get(&listed.id).await.as_ref(), Ok(listed));
    }
    assert_eq!(store.list(query(0)).await, Ok(SessionPage::default()));
}

pub(super) async fn pages_through_all(Fixture { store, .. }: Fixture) {
    fill(&*store, 7).await;
    let whole = store.list(query(7)).await.expect("listed");
    assert_eq!(whole.next_cursor, None, "a full page that is the last one");
    for limit in 1..=8 {
        let pages = all(&*store, query(limit)).await;
        assert!(pages.iter().rev().skip(1).all(|page| page.len() == limit));
        assert_eq!(pages.concat(), whole.sessions, "by {limit}");
    }
}

pub(super) async fn lists_one_directory(Fixture { store, .. }: Fixture) {
    fill(&*store, 9).await;
    for (cwd, expected) in [("/w/0", 3), ("/w/1", 3), ("/w", 0), ("/w/0/x", 0)] {
        let query = ListQuery { cwd: Some(path(cwd)), ..query(2) };
        let sessions = all(&*store, query).await.concat();
        assert_eq!(sessions.len(), expected, "{cwd}");
        assert!(sessions.iter().all(|session| session.cwd == path(cwd)));
        assert!(sessions.is_sorted_by(|a, b| sort_key(a) > sort_key(b)));
    }
}

pub(super) async fn survives_changes_between_pages(Fixture { store, .. }: Fixture) {
    fill(&*store, 6).await;
    let before = store.list(query(6)).await.expect("listed").sessions;
    let first = store.list(query(3)).await.expect("listed");
    // A session of the first page is used again, and a new one is created: neither may appear
    // behind the cursor or displace another.
    let lease = store.acquire(&first.sessions[2].id, true).await.expect("acquired");
    store.append(&lease, vec![user_message("again")]).await.expect("appended");
    store.create(session("zz-new", "/w/0")).await.expect("created");
    let second = store.list(ListQuery { cursor: first.next_cursor, ..query(10) }).await.expect("listed");
    assert_eq!(second.sessions, before[3..]);
}

pub(super) async fn omits_sessions_without_a_prompt(Fixture { store, .. }: Fixture) {
    let prompt = SessionEvent::UserMessage { id: "m".into(), content: vec![agent::Content::text("hi")] };
    let named = SessionEvent::TitleChanged("a name".to_owned());
    for (id, events) in [
        ("prompted", vec![prompt]),
        ("named", vec![named]),
        ("changed", vec![SessionEvent::ModeChanged(Mode::Ask)]),
        ("open", vec![]),
        ("untouched", vec![]),
    ] {
        let lease = store.create(session(id, "/w")).await.expect("created");
        store.append(&lease, events).await.expect("appended");
    }
    for (open, expected) in [
        (None, vec!["changed", "named", "open", "prompted", "untouched"]),
        (Some(vec![]), vec!["named", "prompted"]),
        (Some(vec!["open".into()]), vec!["named", "open", "prompted"]),
    ] {
        for cwd in [None, Some(path("/w"))] {
            let query = ListQuery { begun_or: open.clone(), cwd, ..query(9) };
            let listed = store.list(query).await.expect("listed").sessions;
            let mut ids: Vec<_> = listed.iter().map(|session| session.id.as_str()).collect();
            ids.sort_unstable();
            assert_eq!(ids, expected);
        }
    }
}

pub(super) async fn refuses_a_bad_cursor(Fixture { store, .. }: Fixture) {
    fill(&*store, 3).await;
    for bad in ["", "nonsense", "\0", "9999999999999999999999", "💥"] {
        let answer = store.list(ListQuery { cursor: Some(bad.to_owned()), ..query(2) }).await;
        assert_eq!(answer, Err(StoreError::BadCursor(bad.to_owned())));
    }
}

pub(super) async fn omits_archived_sessions(Fixture { store, .. }: Fixture) {
    fill(&*store, 9).await;
    let before = store.list(query(9)).await.expect("listed").sessions;
    let is_archived_here = |session: &SessionRecord| ["s1", "s4", "s5"].contains(&session.id.as_str());
    // Both are idempotent: archiving twice, and unarchiving a session that was not archived.
    for _ in 0..2 {
        for session in before.iter().filter(|session| is_archived_here(session)) {
            store.set_archived(&session.id, true).await.expect("put away");
        }
        store.set_archived(&before[0].id, false).await.expect("taken out");
    }
    let now = |session: &SessionRecord| SessionRecord {
        listing: SessionListing { archived: is_archived_here(session), ..SessionListing::default() },
        ..session.clone()
    };
    for (archived, expected) in [
        (
            Archived::Exclude,
            before.iter().filter(|session| !is_archived_here(session)).map(now).collect::<Vec<_>>(),
        ),
        (Archived::Include, before.iter().map(now).collect()),
        (Archived::Only, before.iter().filter(|session| is_archived_here(session)).map(now).collect()),
    ] {
        for limit in [1, 2, 9] {
            let listed = all(&*store, ListQuery { archived, ..query(limit) }).await.concat();
            assert_eq!(
                listed, expected,
                "{archived:?} by {limit}: in the same order, filtered before it is paged"
            );
        }
        let query_of_directory = ListQuery { archived, cwd: Some(path("/w/1")), ..query(2) };
        let listed = all(&*store, query_of_directory).await.concat();
        assert!(
            listed
                .iter()
                .all(|session| session.cwd == path("/w/1") && archived.lists(session.listing.archived))
        );
        assert_eq!(listed.len(), expected.iter().filter(|session| session.cwd == path("/w/1")).count());
    }
    store.set_archived(&"s4".into(), false).await.expect("taken out");
    assert!(!store.get(&"s4".into()).await.expect("there").listing.archived);
    let unknown = "nobody".into();
    assert_eq!(store.set_archived(&unknown, true).await, Err(StoreError::NotFound(unknown)));
    // A copy of an archived session is not archived.
    let fork = store.fork(&"s1".into(), session("fork", "/w")).await.expect("forked");
    assert!(!store.get(&fork.session).await.expect("there").listing.archived);
}

/// Creates sessions in three directories; every second one is used after its creation.
async fn fill(store: &dyn SessionStore, count: usize) {
    for n in 0..count {
        let lease = store.create(session(&format!("s{n}"), &format!("/w/{}", n % 3))).await.expect("created");
        if n % 2 == 0 {
            store.append(&lease, vec![user_message("used")]).await.expect("appended");
        }
    }
}

async fn all(store: &dyn SessionStore, mut query: ListQuery) -> Vec<Vec<SessionRecord>> {
    let mut pages = Vec::new();
    loop {
        let page = store.list(query.clone()).await.expect("listed");
        pages.push(page.sessions);
        match page.next_cursor {
            Some(cursor) => query.cursor = Some(cursor),
            None => return pages,
        }
    }
}

fn query(limit: usize) -> ListQuery {
    ListQuery { limit, ..ListQuery::default() }
}

fn sort_key(session: &SessionRecord) -> (i64, &str) {
    (session.times.updated_at, session.id.as_str())
}

pub(super) async fn finds_messages(Fixture { store, .. }: Fixture) {
    let mut leases = Vec::new();
    for (id, cwd, text) in [("s1", "/a", "Größe and \"quotes\" - x*"), ("s2", "/b", "other words, größer")]
    {
        let lease = store.create(session(id, cwd)).await.expect("created");
        store.append(&lease, vec![user_message(text)]).await.expect("appended");
        leases.push(lease);
    }
    let search = async |text: &str, cwd: Option<&str>| {
        let query =
            SearchQuery { text: text.to_owned(), cwd: cwd.map(path), limit: 10, ..SearchQuery::default() };
        let hits = store.search(query).await.expect("searched");
        let mut found: Vec<_> =
            hits.into_iter().map(|hit| format!("{} {}", hit.session.id, hit.seq)).collect();
        found.sort();
        found
    };
    assert_eq!(search("größe", None).await, ["s1 1", "s2 1"]);
    assert_eq!(search("größe", Some("/b")).await, ["s2 1"]);
    assert_eq!(search("quo größe", None).await, ["s1 1"]);
    for nothing in ["quotes words", "", "\"", "unheard", "AND OR"] {
        assert_eq!(search(nothing, None).await, Vec::<String>::new(), "{nothing:?}");
    }
    // Later messages are found too; those of deleted sessions are not.
    let events = vec![user_message("nothing"), SessionEvent::TitleChanged("A title".to_owned())];
    store.append(&leases[0], events).await.expect("appended");
    assert_eq!(search("title", None).await, ["s1 3"]);
    store.fork(&leases[0].session, session("s3", "/c")).await.expect("forked");
    assert_eq!(search("title", None).await, ["s1 3", "s3 3"]);
    store.delete(&leases[0].session).await.expect("deleted");
    assert_eq!(search("größe", None).await, ["s2 1", "s3 1"]);
}

pub(super) async fn bounds_lists_and_searches_to_a_project(Fixture { store, .. }: Fixture) {
    for (id, cwd) in [("s1", "/p"), ("s2", "/p/deep/er"), ("s3", "/pq"), ("s4", "/")] {
        let lease = store.create(session(id, cwd)).await.expect("created");
        store.append(&lease, vec![user_message("needle")]).await.expect("appended");
    }
    for (root, except, expected) in [
        ("/p", None, "s1 s2"),
        ("/p", Some("s1"), "s2"),
        ("/p/deep", None, "s2"),
        ("/q", None, ""),
        ("/", None, "s1 s2 s3 s4"),
    ] {
        let project = Some(path(root));
        let search = SearchQuery {
            text: "needle".to_owned(),
            project: project.clone(),
            except: except.map(Into::into),
            limit: 9,
            ..SearchQuery::default()
        };
        let hits = store.search(search).await.expect("searched");
        let mut found: Vec<_> = hits.into_iter().map(|hit| hit.session.id.to_string()).collect();
        found.sort();
        assert_eq!(found.join(" "), expected, "{root} {except:?}");
        let listed = store.list(ListQuery { project, ..query(9) }).await.expect("listed").sessions;
        let mut ids: Vec<_> = listed.into_iter().map(|session| session.id.to_string()).collect();
        ids.retain(|id| except != Some(id));
        ids.sort();
        assert_eq!(ids.join(" "), expected, "{root}");
    }
}

pub(super) async fn finds_ids_by_their_beginning(Fixture { store, .. }: Fixture) {
    for id in ["abc-1", "abc-2", "abd", "ABC", "ab%", "ü1"] {
        store.create(session(id, "/w")).await.expect("created");
    }
    for (prefix, limit, expected) in [
        ("abc", 9, "abc-1 abc-2"),
        ("abc", 1, "abc-1"),
        ("abc-2", 9, "abc-2"),
        ("ab%", 9, "ab%"),
        ("ü", 9, "ü1"),
        ("x", 9, ""),
    ] {
        let ids = store.ids_with_prefix(None, prefix, limit).await.expect("found");
        let ids: Vec<_> = ids.iter().map(agent::SessionId::as_str).collect();
        assert_eq!(ids.join(" "), expected, "{prefix}");
    }
}

pub(super) async fn lists_every_spelling_of_a_directory(Fixture { store, .. }: Fixture) {
    for (id, cwd) in [("s1", "/link"), ("s2", "/real"), ("s3", "/else"), ("s4", "/link")] {
        store.create(session(id, cwd)).await.expect("created");
    }
    let known = store.directories(None).await.expect("read").into_iter();
    let mut directories: Vec<_> = known.map(|known| known.path).collect();
    directories.sort();
    assert_eq!(directories, [path("/else"), path("/link"), path("/real")]);
    let query = ListQuery { cwd: Some(path("/real")), spellings: vec![path("/link")], ..query(2) };
    let first = store.list(query.clone()).await.expect("listed");
    let second = store.list(ListQuery { cursor: first.next_cursor, ..query }).await.expect("listed");
    let ids = |page: Vec<SessionRecord>| page.into_iter().map(|one| one.id.to_string());
    let all: Vec<_> = ids(first.sessions).chain(ids(second.sessions)).collect();
    assert_eq!(all, ["s4", "s2", "s1"]);
}
