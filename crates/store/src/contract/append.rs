//! Appending events and reading them back.

use super::{Fixture, samples, samples::change, session};
use agent::{
    Content, ContentHash, Cost, Effort, Mode, PermissionMode, SessionEvent, SessionTotals, Usage, UsageUpdate,
};
use futures::future::join_all;

pub(super) async fn numbers_events_without_gaps(Fixture { store, .. }: Fixture) {
    let lease = store.create(session("s1", "/a")).await.expect("created");
    assert_eq!(store.append(&lease, Vec::new()).await, Ok(0));
    assert_eq!(store.append(&lease, vec![user_message("1")]).await, Ok(1));
    assert_eq!(store.append(&lease, vec![user_message("2"), user_message("3")]).await, Ok(3));
    assert_eq!(store.append(&lease, Vec::new()).await, Ok(3));
    let events = store.events(&lease.session, 0, 10).await.expect("read");
    assert_eq!(events, [(1, user_message("1")), (2, user_message("2")), (3, user_message("3"))]);
    assert_eq!(store.get(&lease.session).await.expect("found").last_seq, 3);
}

pub(super) async fn pages_events(Fixture { store, .. }: Fixture) {
    let lease = store.create(session("s1", "/a")).await.expect("created");
    store.append(&lease, (1..=25).map(|n| user_message(&n.to_string())).collect()).await.expect("appended");
    let read = |after, limit| {
        let (store, id) = (store.clone(), lease.session.clone());
        async move {
            let events = store.events(&id, after, limit).await.expect("read");
            events.into_iter().map(|(seq, _)| seq).collect::<Vec<_>>()
        }
    };
    assert_eq!(read(0, 10).await, (1..=10).collect::<Vec<_>>());
    assert_eq!(read(10, 10).await, (11..=20).collect::<Vec<_>>());
    assert_eq!(read(20, 10).await, (21..=25).collect::<Vec<_>>());
    for (after, limit) in [(25, 10), (26, 10), (u64::MAX, 10), (0, 0)] {
        assert_eq!(read(after, limit).await, [0u64; 0], "after {after}, at most {limit}");
    }
    assert_eq!(read(0, usize::MAX).await.len(), 25);
}

pub(super) async fn keeps_every_kind_of_event(Fixture { store, .. }: Fixture) {
    let lease = store.create(session("s1", "/a")).await.expect("created");
    let events = samples();
    assert_eq!(store.append(&lease, events.clone()).await, Ok(events.len() as u64));
    let numbered: Vec<_> = (1..).zip(events).collect();
    let kept = store.events(&lease.session, 0, usize::MAX).await.expect("read");
    for (kept, given) in kept.iter().zip(&numbered) {
        assert_eq!(kept, given);
    }
    assert_eq!(kept.len(), numbered.len());
}

pub(super) async fn keeps_a_large_text(Fixture { store, .. }: Fixture) {
    let lease = store.create(session("s1", "/a")).await.expect("created");
    let large = user_message(&"0123456789 ä 🦀\n".repeat(60_000));
    assert_eq!(store.append(&lease, vec![large.clone()]).await, Ok(1));
    // Not `assert_eq`: its message would contain a megabyte of text.
    assert!(store.events(&lease.session, 0, 1).await.expect("read") == [(1, large)]);
}

pub(super) async fn keeps_sessions_separate(Fixture { store, .. }: Fixture) {
    let one = store.create(session("s1", "/a")).await.expect("created");
    let two = store.create(session("s10", "/a")).await.expect("created");
    store.append(&one, vec![user_message("one")]).await.expect("appended");
    store.append(&two, vec![user_message("two"), user_message("three")]).await.expect("appended");
    assert_eq!(store.events(&one.session, 0, 10).await, Ok(vec![(1, user_message("one"))]));
    assert_eq!(
        store.events(&two.session, 0, 10).await,
        Ok(vec![(1, user_message("two")), (2, user_message("three"))])
    );
}

pub(super) async fn keeps_contents_with_their_events(Fixture { store, .. }: Fixture) {
    let lease = store.create(session("s1", "/a")).await.expect("created");
    let change = change(Some("before"), Some("after \0 größe"));
    let event = SessionEvent::FileChanged(change.clone());
    store.append(&lease, vec![event.clone(), event]).await.expect("appended");
    let fork = store.fork(&lease.session, session("s2", "/a")).await.expect("forked");
    store.delete(&lease.session).await.expect("deleted");
    for snapshot in [change.before, change.after].into_iter().flatten() {
        let bytes = snapshot.bytes.as_deref().map(<[u8]>::to_vec);
        assert_eq!(store.content(&fork.session, &snapshot.hash).await, Ok(bytes));
        assert!(!matches!(store.content(&lease.session, &snapshot.hash).await, Ok(Some(_))));
    }
    let unknown = ContentHash::of(b"never seen");
    assert_eq!(store.content(&fork.session, &unknown).await, Ok(None));
}

pub(super) async fn updates_the_session_record(Fixture { store, .. }: Fixture) {
    let lease = store.create(session("s1", "/a")).await.expect("created");
    let before = store.get(&lease.session).await.expect("found");
    store.append(&lease, vec![SessionEvent::TitleChanged("first".to_owned())]).await.expect("appended");
    let changes = vec![
        SessionEvent::ModelChanged("x/passed-by".to_owned()),
        SessionEvent::ModelChanged("x/y".to_owned()),
        SessionEvent::ModeChanged(Mode::Ask),
        SessionEvent::PermissionModeChanged(PermissionMode::Prometheus),
        SessionEvent::EffortChanged(Some(Effort::High)),
    ];
    store.append(&lease, changes).await.expect("appended");
    let after = store.get(&lease.session).await.expect("found");
    assert_eq!(after.title.as_deref(), Some("first"));
    assert_eq!(after.controls.model, "x/y");
    assert_eq!(after.controls.mode, Mode::Ask);
    assert_eq!(after.controls.permission_mode, PermissionMode::Prometheus);
    assert_eq!(after.controls.effort, Some(Effort::High));
    assert_eq!(after.last_seq, 6);
    assert_eq!(after.times.created_at, before.times.created_at);
    assert!(after.times.updated_at >= before.times.updated_at);
    store.append(&lease, vec![SessionEvent::EffortChanged(None)]).await.expect("appended");
    assert_eq!(store.get(&lease.session).await.expect("found").controls.effort, None);
}

pub(super) async fn counts_turns_and_cost(Fixture { store, .. }: Fixture) {
    let lease = store.create(session("s1", "/a")).await.expect("created");
    let turn = || SessionEvent::TurnStarted { turn: "t".into(), prompt: None };
    let used = |own: Option<u64>, subagents: Option<u64>| {
        let usage = |cost: Option<u64>| Usage { input: 1, cost: cost.map(Cost), ..Usage::default() };
        SessionEvent::Usage(UsageUpdate {
            model: "m".to_owned(),
            context_used: 1,
            context_size: 2,
            total: usage(own),
            subagents: usage(subagents),
            turn: Usage::default(),
            counted: None,
        })
    };
    let mut expected = SessionTotals::default();
    for (events, turns, cost) in [
        (vec![user_message("a")], 0, None),
        (vec![turn(), used(None, None)], 1, None),
        (vec![turn(), used(Some(2), Some(3)), turn()], 3, Some(5)),
        // A count without a price keeps what is known.
        (vec![used(None, None)], 3, Some(5)),
        (vec![used(Some(u64::from(u32::MAX)), None)], 3, Some(u64::from(u32::MAX))),
    ] {
        store.append(&lease, events).await.expect("appended");
        expected = SessionTotals { turns, cost: cost.map(Cost) };
        assert_eq!(store.get(&lease.session).await.expect("found").totals, expected);
    }
    let fork = store.fork(&lease.session, session("s2", "/a")).await.expect("forked");
    assert_eq!(store.get(&fork.session).await.expect("found").totals, expected);
}

pub(super) async fn accepts_concurrent_appends(Fixture { store, .. }: Fixture) {
    let mut leases = Vec::new();
    for n in 0..8 {
        leases.push(store.create(session(&format!("s{n}"), "/a")).await.expect("created"));
    }
    let appends = (0..200).map(|n| store.append(&leases[n % 8], vec![user_message(&n.to_string()); 2]));
    let mut answers = join_all(appends).await;
    answers.sort_unstable_by_key(|answer| answer.clone().ok());
    let expected: Vec<_> = (1..=25).flat_map(|nth| vec![Ok(2 * nth); 8]).collect();
    assert_eq!(answers, expected);
    for lease in &leases {
        let events = store.events(&lease.session, 0, 100).await.expect("read");
        assert!(events.iter().map(|(seq, _)| *seq).eq(1..=50));
        assert!(events.chunks(2).all(|pair| pair[0].1 == pair[1].1), "an append was torn apart");
    }
}

pub(super) fn user_message(text: &str) -> SessionEvent {
    SessionEvent::UserMessage { id: "m".into(), content: vec![Content::text(text)] }
}
