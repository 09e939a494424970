//! Memories, if the store keeps them.

use super::{Fixture, path};
use agent::{
    Expiry, Memories, Memory, MemoryChange, MemoryClass, MemoryId, MemoryKind, MemoryNote, MemoryQuery,
    MemoryScope, NewMemory, Owner, Stored, scoped,
};
use std::sync::Arc;

fn memories(fixture: &Fixture) -> Arc<dyn Memories> {
    fixture.store.memories().expect("the store keeps memories")
}

pub(crate) fn note(kind: MemoryKind, title: &str, content: &str) -> MemoryNote {
    let (title, content) = (title.to_owned(), content.to_owned());
    MemoryNote { kind, class: MemoryClass::Durable, title, content, pinned: false }
}

/// Returns a memory of the project in a directory, or of the user.
fn new(project: Option<&str>, title: &str, content: &str) -> NewMemory {
    let kind = if project.is_some() { MemoryKind::Project } else { MemoryKind::User };
    let (note, project) = (note(kind, title, content), project.map(path));
    NewMemory { note, project, session: Some("s".into()), expiry: Expiry::Never }
}

fn done(stored: Stored) -> Memory {
    match stored {
        Stored::Done(memory) => memory,
        other => panic!("not stored: {other:?}"),
    }
}

async fn added(memories: &dyn Memories, new: NewMemory) -> Memory {
    done(memories.add(new).await.expect("added"))
}

async fn titles(memories: &dyn Memories, query: MemoryQuery) -> Vec<String> {
    let found = memories.find(MemoryQuery { limit: 9, ..query }).await.expect("found");
    found.into_iter().map(|memory| memory.note.title).collect()
}

pub(super) async fn keeps_memories(fixture: Fixture) {
    let memories = memories(&fixture);
    let memory = added(&*memories, new(Some("/w"), "Tabs", "Use tabs.\nNever spaces.")).await;
    assert_eq!(memories.get(memory.id).await, Ok(Some(memory.clone())));
    assert_eq!((memory.project.clone(), memory.session.clone()), (Some(path("/w")), Some("s".into())));
    assert_eq!((memory.times.expires_at, memory.times.surfaced_at), (None, None));
    let pinned = MemoryNote { pinned: true, class: MemoryClass::Priority, ..memory.note.clone() };
    let change = MemoryChange { note: Some(pinned.clone()), ..MemoryChange::default() };
    let changed = done(memories.change(memory.id, change).await.expect("changed").expect("it is there"));
    assert_eq!((changed.id, &changed.note, &changed.project), (memory.id, &pinned, &memory.project));
    memories.surfaced(vec![memory.id]).await.expect("recorded");
    let surfaced = memories.get(memory.id).await.expect("read").expect("it is there");
    assert!(surfaced.times.surfaced_at.is_some());
    assert_eq!(memories.forget(memory.id).await, Ok(true));
    assert_eq!(memories.forget(memory.id).await, Ok(false));
    assert_eq!(memories.get(memory.id).await, Ok(None));
    assert_eq!(memories.change(memory.id, MemoryChange::default()).await, Ok(None));
    assert_eq!(
        titles(&*memories, MemoryQuery { text: "tabs".into(), ..MemoryQuery::default() }).await,
        [""; 0]
    );
    let next = added(&*memories, new(Some("/w"), "Tabs", "Use tabs.")).await;
    assert!(next.id > memory.id, "a number is not used again");
    assert_eq!(memories.get(MemoryId(u64::MAX)).await, Ok(None));
}

pub(super) async fn refuses_equal_memories(fixture: Fixture) {
    let memories = memories(&fixture);
    let first = added(&*memories, new(Some("/w"), "Use tabs", "In all files.")).await;
    for (title, content) in [("use  TABS!", "Elsewhere."), ("Other", "in all files")] {
        let refused = memories.add(new(Some("/w"), title, content)).await;
        assert_eq!(refused, Ok(Stored::Duplicate(first.clone())), "{title}");
    }
    let elsewhere = added(&*memories, new(Some("/v"), "Use tabs", "In all files.")).await;
    let second = added(&*memories, new(Some("/w"), "Other", "Other.")).await;
    let change = MemoryChange { note: Some(first.note.clone()), ..MemoryChange::default() };
    let refused = memories.change(second.id, change.clone()).await;
    assert_eq!(refused, Ok(Some(Stored::Duplicate(first.clone()))));
    assert!(
        matches!(memories.change(first.id, change).await, Ok(Some(Stored::Done(_)))),
        "itself is no other"
    );
    let moved = MemoryChange { project: Some(Some(path("/w"))), ..MemoryChange::default() };
    let refused = memories.change(elsewhere.id, moved).await;
    assert!(matches!(refused, Ok(Some(Stored::Duplicate(_)))), "{refused:?}");
}

pub(super) async fn finds_memories(fixture: Fixture) {
    let memories = memories(&fixture);
    let low = added(&*memories, new(Some("/w"), "Größe", "The size of a page.")).await;
    added(&*memories, new(Some("/v"), "Page", "Of another project.")).await;
    let user = new(None, "Tea", "The user drinks tea at a page's end.");
    added(&*memories, user).await;
    let top = added(&*memories, new(Some("/w"), "Top", "Comes first.")).await;
    let pinned = MemoryNote { pinned: true, ..top.note };
    let pin = MemoryChange { note: Some(pinned), ..MemoryChange::default() };
    memories.change(top.id, pin).await.expect("changed");
    let here = MemoryQuery { scope: MemoryScope::Project(path("/w")), ..MemoryQuery::default() };
    let with = |text: &str| MemoryQuery { text: text.to_owned(), ..here.clone() };
    assert_eq!(titles(&*memories, here.clone()).await, ["Top", "Größe", "Tea"]);
    assert_eq!(titles(&*memories, MemoryQuery::default()).await.len(), 4);
    let of_user = MemoryQuery { scope: MemoryScope::User, ..MemoryQuery::default() };
    assert_eq!(titles(&*memories, of_user).await, ["Tea"]);
    assert_eq!(titles(&*memories, with("größe")).await, ["Größe"]);
    assert_eq!(titles(&*memories, with("page siz")).await, ["Größe"], "all words, also their beginnings");
    assert_eq!(titles(&*memories, with("tea size")).await, [""; 0]);
    let any = MemoryQuery { any_word: true, ..with("tea size nothing") };
    let mut found = titles(&*memories, any).await;
    found.sort();
    assert_eq!(found, ["Größe", "Tea"]);
    assert_eq!(titles(&*memories, with("\" OR title:*")).await, [""; 0], "no syntax");
    let kind = MemoryQuery { kind: Some(MemoryKind::User), ..here.clone() };
    assert_eq!(titles(&*memories, kind).await, ["Tea"]);
    let class = MemoryQuery { class: Some(MemoryClass::Working), ..here.clone() };
    assert_eq!(titles(&*memories, class).await, [""; 0]);
    let first = memories.find(MemoryQuery { limit: 1, ..here.clone() }).await.expect("found");
    assert_eq!(first.len(), 1);
    let changed = note(MemoryKind::Project, "Size", "Changed.");
    let change = MemoryChange { note: Some(changed), ..MemoryChange::default() };
    memories.change(low.id, change).await.expect("changed");
    assert_eq!(titles(&*memories, with("größe")).await, [""; 0], "the old words are gone");
    assert_eq!(titles(&*memories, with("changed")).await, ["Size"]);
}

pub(super) async fn hides_expired_memories(fixture: Fixture) {
    let memories = memories(&fixture);
    let ended = NewMemory { expiry: Expiry::Days(0), ..new(Some("/w"), "Ended", "It is over.") };
    let ended = added(&*memories, ended).await;
    let later = NewMemory { expiry: Expiry::Days(14), ..new(Some("/w"), "Later", "Not yet.") };
    let later = added(&*memories, later).await;
    let end = later.times.expires_at.expect("it ends");
    assert_eq!(end - later.times.created_at, 14 * 24 * 60 * 60 * 1000);
    for text in ["", "it not"] {
        let query = MemoryQuery { text: text.to_owned(), any_word: true, ..MemoryQuery::default() };
        assert_eq!(titles(&*memories, query.clone()).await, ["Later"], "{text}");
        let all = titles(&*memories, MemoryQuery { expired: true, ..query }).await;
        assert_eq!(all.len(), 2, "{text}");
    }
    assert!(memories.get(ended.id).await.expect("read").is_some());
    let again = added(&*memories, new(Some("/w"), "Ended", "It is over.")).await;
    assert!(again.id > ended.id, "an expired memory is no duplicate");
    let renewed = MemoryChange { expiry: Some(Expiry::Never), ..MemoryChange::default() };
    let renewed = done(memories.change(later.id, renewed).await.expect("changed").expect("it is there"));
    assert_eq!(renewed.times.expires_at, None);
}

pub(super) async fn shares_memories_with_other_processes(fixture: Fixture) {
    let Some(other) = &fixture.other else { return };
    let memory = added(&*memories(&fixture), new(None, "Shared", "By all.")).await;
    let there = other.memories().expect("the store keeps memories");
    assert_eq!(there.get(memory.id).await, Ok(Some(memory)));
}

pub(super) async fn gives_each_user_their_own(fixture: Fixture) {
    let user = |name: &str| Owner { tenant: "acme".to_owned(), user: name.to_owned() };
    let of = |owner: &Owner| scoped(&fixture.store, owner).memories().expect("users have memories");
    let (ada, bob) = (of(&user("ada")), of(&user("bob")));
    let elsewhere = of(&Owner { tenant: "other".to_owned(), user: "ada".to_owned() });
    let own = memories(&fixture);
    let all = || MemoryQuery { scope: MemoryScope::All, ..MemoryQuery::default() };
    let memory = added(&*ada, new(None, "Tabs", "Use tabs.")).await;
    for others in [&bob, &elsewhere, &own] {
        assert_eq!(titles(&**others, all()).await, Vec::<String>::new());
        assert_eq!(
            titles(&**others, MemoryQuery { text: "tabs".into(), ..all() }).await,
            Vec::<String>::new()
        );
        assert_eq!(others.get(memory.id).await, Ok(None));
        assert_eq!(others.change(memory.id, MemoryChange::default()).await, Ok(None));
        assert_eq!(others.forget(memory.id).await, Ok(false));
        others.surfaced(vec![memory.id]).await.expect("what is another's is left out");
    }
    // An equal memory of another user is no duplicate.
    added(&*bob, new(None, "Tabs", "Use tabs.")).await;
    let kept = ada.get(memory.id).await.expect("read").expect("it is there");
    assert_eq!(kept.times.surfaced_at, None);
    assert_eq!(titles(&*ada, all()).await, ["Tabs"]);
}
