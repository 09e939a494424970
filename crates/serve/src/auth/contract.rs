//! What every store of tokens and every audit must do: the test suite for any implementation.
//!
//! Each function takes two openings of one new store, as two processes have them.
#![expect(clippy::unwrap_used, reason = "it is a test suite, which fails by panicking")]

use super::{
    Audit, AuditEvent, AuditRecord, Digest, NewToken, Revocation, Source, Token, TokenRow, TokenStore,
    wall_clock,
};
use agent::{Principal, Scope};
use jiff::Timestamp;
use std::time::Duration;
use tokio::time::Instant;

/// How long a store may answer with what it read before. Live sockets look every 2 seconds, and are
/// closed within 5.
const SEEN_WITHIN: Duration = Duration::from_secs(3);
const STEP: Duration = Duration::from_millis(100);

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn now() -> Timestamp {
    second(wall_clock()().as_second())
}

fn new(name: &str) -> (Token, TokenRow) {
    let new = NewToken {
        name: name.to_owned(),
        tenant: "one".to_owned(),
        user: "ada".to_owned(),
        scopes: [Scope::Connect, Scope::SessionRead].into_iter().collect(),
        expires: Some(second(now().as_second() + 3_600)),
    };
    new.make(now()).unwrap()
}

/// Checks a store of tokens.
///
/// # Panics
/// If it breaks the contract.
pub async fn tokens(server: &dyn TokenStore, command: &dyn TokenStore) {
    // A token is found as soon as it was created, by its digest alone.
    let (first, row) = new("first");
    assert_eq!(server.find(&row.digest).await.unwrap(), None);
    command.insert(row.clone()).await.unwrap();
    assert_eq!(server.find(&first.digest()).await.unwrap(), Some(row.clone()));
    assert_eq!(server.row(&row.id).await.unwrap(), Some(row.clone()));
    assert_eq!(server.find(&Digest::of(b"another")).await.unwrap(), None);
    assert_eq!(server.row("tok_absent").await.unwrap(), None);
    let (_, second_row) = new("second");
    command.insert(second_row.clone()).await.unwrap();
    let mut listed = server.list().await.unwrap();
    listed.sort_by(|a, b| a.name.cmp(&b.name));
    assert_eq!(listed, [row.clone(), second_row.clone()]);

    // A use is noted to the hour, and never goes back.
    for (hour, expected) in [(7_200, 7_200), (3_600, 7_200), (10_800, 10_800)] {
        server.note_use(&row.id, second(hour)).await.unwrap();
        let listed = server.list().await.unwrap();
        let noted = listed.iter().find(|listed| listed.id == row.id).unwrap();
        assert_eq!(noted.last_used, Some(second(expected)));
    }

    // A revocation stays as it was first, but for the turns, and is seen in time.
    let revocation = |at, stop_turns| Revocation { at: second(at), stop_turns };
    for (asked, expected) in [
        (revocation(1, false), revocation(1, false)),
        (revocation(2, true), revocation(1, true)),
        (revocation(3, false), revocation(1, true)),
    ] {
        let revoked = command.revoke(&row.id, asked).await.unwrap().unwrap();
        assert_eq!(revoked.revoked, Some(expected));
    }
    assert_eq!(command.revoke("tok_absent", revocation(1, false)).await.unwrap(), None);
    let (since, mut steps) = (Instant::now(), tokio::time::interval(STEP));
    while server.row(&row.id).await.unwrap().unwrap().revoked != Some(revocation(1, true)) {
        assert!(since.elapsed() < SEEN_WITHIN, "a revocation is seen too late");
        steps.tick().await;
    }
    assert!(!server.find(&row.digest).await.unwrap().unwrap().is_valid_at(now()));

    // It ended long ago, so the next token takes its place.
    command.insert(new("third").1).await.unwrap();
    let mut names: Vec<_> = server.list().await.unwrap().into_iter().map(|row| row.name).collect();
    names.sort();
    assert_eq!(names, ["second", "third"]);
}

/// Checks an audit.
///
/// # Panics
/// If it breaks the contract.
pub async fn audit(server: &dyn Audit, command: &dyn Audit) {
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let principal = Principal { tenant: "one".to_owned(), ..Principal::local("ada") };
    let records = [
        AuditRecord {
            source: Some(Source::Address([192, 0, 2, 1].into())),
            session: Some("s1".to_owned()),
            request: Some("r1\n\u{1b}[2J".to_owned()),
            about: Some("connections".to_owned()),
            ..AuditRecord::new(at("2026-10-31T23:59:59Z"), AuditEvent::Attached, Some(&principal))
        },
        AuditRecord::new(at("2026-11-01T00:00:00Z"), AuditEvent::Refused, None),
        AuditRecord {
            source: Some(Source::Unix(1000)),
            ..AuditRecord::new(at("2026-11-01T00:00:00Z"), AuditEvent::Administered, Some(&principal))
        },
        AuditRecord::new(at("2027-02-01T00:00:00Z"), AuditEvent::TokenCreated, Some(&principal)),
    ];
    assert_eq!(command.since(at("2020-01-01T00:00:00Z")).await.unwrap().records, []);
    for record in records.clone() {
        server.record(record).await.unwrap();
    }
    for (since, expected) in [
        ("2020-01-01T00:00:00Z", &records[..]),
        ("2026-11-01T00:00:00Z", &records[1..]),
        ("2026-11-01T00:00:01Z", &records[3..]),
        ("2027-02-01T00:00:01Z", &[]),
    ] {
        let report = command.since(at(since)).await.unwrap();
        assert_eq!(
            (&report.records[..], report.unreadable, report.has_more),
            (expected, 0, false),
            "{since}"
        );
    }
    // Every event can be stored, and what a client chose is cut.
    for (hour, what) in AuditEvent::ALL.into_iter().enumerate() {
        let at = second(1_900_000_000 + 3_600 * i64::try_from(hour).unwrap());
        let about = Some("ä".repeat(5_000));
        server.record(AuditRecord { about, ..AuditRecord::new(at, what, None) }).await.unwrap();
    }
    let report = command.since(second(1_900_000_000)).await.unwrap();
    assert_eq!(report.records.iter().map(|record| record.what).collect::<Vec<_>>(), AuditEvent::ALL);
    assert!(
        report.records.iter().all(|record| record.about.as_ref().is_some_and(|about| about.len() <= 256))
    );
}
