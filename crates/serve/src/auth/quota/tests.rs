use super::*;
use futures::FutureExt as _;
use jiff::Timestamp;
use proptest::prelude::*;
use tokio::time::Instant;

fn owner(tenant: &str, user: &str) -> Owner {
    Owner { tenant: tenant.to_owned(), user: user.to_owned() }
}

fn ada() -> Owner {
    owner("a", "ada")
}

#[test]
fn the_defaults_are_those_of_the_documents() {
    let limits = QuotaLimits::default();
    assert_eq!((limits.connections, limits.open_sessions), (32, 64));
    assert_eq!((limits.running_turns, limits.queued_turns, limits.prompts_per_minute), (8, 32, 20));
}

#[test]
fn connections_and_sessions_are_counted_while_they_exist_by_user_and_tenant() {
    let user = QuotaLimits { connections: 2, open_sessions: 1, ..QuotaLimits::unlimited() };
    let tenant = QuotaLimits { connections: 3, ..QuotaLimits::unlimited() };
    let quotas = Quotas::new(user, tenant);
    let (one, two) = (quotas.connection(&ada()).unwrap(), quotas.connection(&ada()).unwrap());
    let exceeded = quotas.connection(&ada()).unwrap_err();
    assert_eq!((exceeded.quota, exceeded.level, exceeded.limit), (Quota::Connections, Level::User, 2));
    assert!(exceeded.to_string().contains("the limit connections of the user is reached (2)"), "{exceeded}");
    let _session = quotas.open_session(&ada()).unwrap();
    assert_eq!(quotas.open_session(&ada()).unwrap_err().quota, Quota::OpenSessions);

    let _bob = quotas.connection(&owner("a", "bob")).unwrap();
    let exceeded = quotas.connection(&owner("a", "eve")).unwrap_err();
    assert_eq!((exceeded.level, exceeded.limit), (Level::Tenant, 3));
    let _elsewhere = quotas.connection(&owner("b", "ada")).unwrap();
    drop(one);
    let _eve = quotas.connection(&owner("a", "eve")).unwrap();
    drop(two);
}

#[test]
fn stored_contents_are_those_of_the_last_reading() {
    let user = QuotaLimits { contents_mib: Some(2), ..QuotaLimits::unlimited() };
    let tenant = QuotaLimits { contents_mib: Some(3), ..QuotaLimits::unlimited() };
    let quotas = Quotas::new(user, tenant);
    let read = |sizes: &[(&str, u64)]| {
        let sizes = sizes.iter().map(|(user, bytes)| ((*user).to_owned(), *bytes));
        quotas.store_contents("a", &sizes.collect());
    };
    assert!(quotas.limits_contents());
    quotas.may_store(&ada()).unwrap();
    read(&[("ada", 2 * MIB - 1), ("bob", 1)]);
    quotas.may_store(&ada()).unwrap();
    read(&[("ada", 2 * MIB)]);
    quotas.sweep(Instant::now(), Timestamp::UNIX_EPOCH);
    let exceeded = quotas.may_store(&ada()).unwrap_err();
    assert_eq!((exceeded.quota.name(), exceeded.level, exceeded.limit), ("contents_mib", Level::User, 2));
    assert!(exceeded.to_string().contains("delete sessions"), "{exceeded}");
    quotas.may_store(&owner("a", "bob")).unwrap();
    quotas.may_store(&owner("b", "ada")).unwrap();
    read(&[("bob", 3 * MIB / 2), ("eve", 3 * MIB / 2)]);
    assert_eq!(quotas.may_store(&ada()).unwrap_err().level, Level::Tenant);
    read(&[]);
    quotas.may_store(&ada()).unwrap();
}

#[test]
fn prompts_are_a_bucket_that_fills_within_a_minute() {
    let quotas = Quotas::new(QuotaLimits::default(), QuotaLimits::unlimited());
    let start = Instant::now();
    for _ in 0..20 {
        quotas.prompt(&ada(), start).unwrap();
    }
    let exceeded = quotas.prompt(&ada(), start).unwrap_err();
    assert_eq!((exceeded.quota, exceeded.retry_after), (Quota::Prompts, Some(Duration::from_secs(3))));
    quotas.prompt(&owner("a", "bob"), start).unwrap();
    let later = start + Duration::from_secs(3);
    quotas.prompt(&ada(), later).unwrap();
    quotas.prompt(&ada(), later).unwrap_err();
    let full = later + Duration::from_secs(60);
    for _ in 0..20 {
        quotas.prompt(&ada(), full).unwrap();
    }
    quotas.prompt(&ada(), full).unwrap_err();
}

#[test]
fn a_refused_prompt_of_the_tenant_costs_the_user_nothing() {
    let tenant = QuotaLimits { prompts_per_minute: 1, ..QuotaLimits::unlimited() };
    let user = QuotaLimits { prompts_per_minute: 2, ..QuotaLimits::unlimited() };
    let (quotas, start) = (Quotas::new(user, tenant), Instant::now());
    quotas.prompt(&owner("a", "bob"), start).unwrap();
    for _ in 0..5 {
        assert_eq!(quotas.prompt(&ada(), start).unwrap_err().level, Level::Tenant);
    }
    quotas.prompt(&ada(), start + Duration::from_secs(60)).unwrap();
    let none = QuotaLimits { prompts_per_minute: 0, ..QuotaLimits::unlimited() };
    Quotas::new(none, QuotaLimits::unlimited()).prompt(&ada(), start).unwrap_err();
}

#[test]
fn tokens_and_cost_of_a_day_are_used_up_until_the_next() {
    let user = QuotaLimits {
        tokens_per_day: Some(1_000),
        microdollars_per_day: Some(500),
        ..QuotaLimits::unlimited()
    };
    let quotas = Quotas::new(user, QuotaLimits { tokens_per_day: Some(1_500), ..QuotaLimits::unlimited() });
    let at = |text: &str| text.parse::<Timestamp>().unwrap();
    let (evening, midnight) = (at("2026-11-25T23:59:00Z"), at("2026-11-26T00:00:00Z"));
    quotas.may_spend(&ada(), evening).unwrap();
    quotas.spend(&ada(), 999, 499, evening);
    quotas.may_spend(&ada(), evening).unwrap();
    quotas.spend(&ada(), 1, 0, evening);
    let exceeded = quotas.may_spend(&ada(), evening).unwrap_err();
    assert_eq!((exceeded.quota, exceeded.retry_after), (Quota::Tokens, Some(Duration::from_secs(60))));
    let bob = owner("a", "bob");
    quotas.spend(&bob, 0, 500, evening);
    assert_eq!(quotas.may_spend(&bob, evening).unwrap_err().quota, Quota::Cost);
    let eve = owner("a", "eve");
    quotas.spend(&eve, 500, 0, evening);
    assert_eq!(quotas.may_spend(&eve, evening).unwrap_err().level, Level::Tenant);
    for user in [ada(), bob, eve] {
        quotas.may_spend(&user, midnight).unwrap();
    }
}

#[tokio::test]
async fn turns_wait_in_order_and_one_user_does_not_hold_up_another() {
    let user = QuotaLimits { running_turns: 1, queued_turns: 2, ..QuotaLimits::unlimited() };
    let quotas = Quotas::new(user, QuotaLimits { running_turns: 2, ..QuotaLimits::unlimited() });
    let first = quotas.turn(&ada()).unwrap().start().now_or_never().unwrap();
    let second = quotas.turn(&ada()).unwrap();
    let third = quotas.turn(&ada()).unwrap();
    assert!(second.waits() && third.waits());
    let exceeded = quotas.turn(&ada()).unwrap_err();
    assert_eq!((exceeded.quota, exceeded.level), (Quota::QueuedTurns, Level::User));

    let bob = quotas.turn(&owner("a", "bob")).unwrap();
    assert!(!bob.waits(), "he has no turn, and the tenant has room");
    let bob = bob.start().await;
    let eve = quotas.turn(&owner("a", "eve")).unwrap();
    assert!(eve.waits(), "the tenant has two");
    drop(bob);
    let eve = eve.start().now_or_never().expect("the next one that may run, although others wait longer");
    let (mut second, third) = (Box::pin(second.start()), third.start());
    assert!(second.as_mut().now_or_never().is_none());
    drop(first);
    let second = second.now_or_never().expect("the first of those that wait");
    drop(eve);
    let mut third = Box::pin(third);
    assert!(third.as_mut().now_or_never().is_none(), "one turn a user");
    drop(second);
    assert!(third.now_or_never().is_some());
}

#[tokio::test]
async fn a_turn_that_leaves_the_queue_makes_room_and_is_passed_over() {
    let user = QuotaLimits { running_turns: 1, queued_turns: 2, ..QuotaLimits::unlimited() };
    let quotas = Quotas::new(user, QuotaLimits::unlimited());
    let first = quotas.turn(&ada()).unwrap().start().await;
    let (left, stays) = (quotas.turn(&ada()).unwrap(), quotas.turn(&ada()).unwrap());
    quotas.turn(&ada()).unwrap_err();
    drop(left);
    let last = quotas.turn(&ada()).unwrap();
    drop(first);
    let stays = stays.start().now_or_never().expect("the one before it has left");
    // `last` is started now. It is dropped without having been awaited, and gives its place back.
    drop(stays);
    drop(last);
    assert!(!quotas.turn(&ada()).unwrap().waits());
}

#[test]
fn what_nobody_uses_is_forgotten_and_what_counts_is_not() {
    let quotas = Quotas::new(QuotaLimits::default(), QuotaLimits::default());
    let (start, now) = (Instant::now(), "2026-11-25T12:00:00Z".parse::<Timestamp>().unwrap());
    let users = |quotas: &Quotas| {
        let tenants = quotas.0.tenants();
        tenants.values().map(|tenant| tenant.users.len()).sum::<usize>()
    };
    for number in 0..100 {
        let owner = owner(&format!("t{number}"), "ada");
        drop(quotas.connection(&owner).unwrap());
        quotas.prompt(&owner, start).unwrap();
    }
    let held = quotas.connection(&owner("held", "ada")).unwrap();
    quotas.spend(&owner("spent", "ada"), 1, 0, now);
    quotas.sweep(start, now);
    assert_eq!(users(&quotas), 102, "their buckets are not full");
    let later = start + Duration::from_secs(60);
    quotas.sweep(later, now);
    assert_eq!(users(&quotas), 2);
    drop(held);
    quotas.sweep(later, "2026-11-26T00:00:00Z".parse().unwrap());
    assert_eq!(quotas.0.tenants().len(), 0);
}

proptest! {
    /// Turns that are requested, started, left and ended in any order: the limits hold at every
    /// moment, and no place is lost.
    #[test]
    fn no_order_of_turns_exceeds_a_limit_or_loses_a_place(steps in prop::collection::vec((0..3u8, 0..3u8), 1..120)) {
        let user = QuotaLimits { running_turns: 2, queued_turns: 4, ..QuotaLimits::unlimited() };
        let tenant = QuotaLimits { running_turns: 3, queued_turns: 6, ..QuotaLimits::unlimited() };
        let quotas = Quotas::new(user, tenant);
        let mut waiting: Vec<(u8, futures::future::LocalBoxFuture<'_, TurnPermit>)> = Vec::new();
        let mut running: Vec<(u8, TurnPermit)> = Vec::new();
        for (step, who) in steps {
            let owner = owner("a", &format!("user{who}"));
            match step {
                0 => if let Ok(turn) = quotas.turn(&owner) {
                    waiting.push((who, Box::pin(turn.start())));
                },
                1 => drop(running.iter().position(|(user, _)| *user == who).map(|at| running.remove(at))),
                _ => drop(waiting.iter().position(|(user, _)| *user == who).map(|at| waiting.remove(at))),
            }
            let mut still = Vec::new();
            for (who, mut turn) in waiting {
                match turn.as_mut().now_or_never() {
                    Some(permit) => running.push((who, permit)),
                    None => still.push((who, turn)),
                }
            }
            waiting = still;
            let of = |who: u8| running.iter().filter(|(user, _)| *user == who).count();
            prop_assert!(running.len() <= 3 && (0..3).all(|who| of(who) <= 2));
            let free = |who: &u8| running.len() < 3 && of(*who) < 2;
            prop_assert!(!waiting.iter().any(|(who, _)| free(who)), "a turn waits although it may run");
        }
        drop(waiting);
        drop(running);
        let mut tenants = quotas.0.tenants();
        if let Some(tenant) = tenants.get_mut("a") {
            prop_assert!(tenant.usage.counts.is_zero() && tenant.users.values().all(|user| user.counts.is_zero()));
        }
    }
}
