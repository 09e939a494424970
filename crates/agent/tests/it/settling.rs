//! After any fault, each prompt settles once and in time, the next one works, and other sessions
//! are not affected.

use crate::faulty::{
    Fault, FaultyClient, FaultyModel, FaultyStore, FaultySystem, Plan, assert_complete, short_turn,
};
use agent::{
    Content, CreateSession, PermissionMode, Runtime, RuntimeOptions, SessionEvent, SessionHandle,
    SessionStart, StopReason, Surface,
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use system::{AbsPath, FakeSystem, System, fake::Script};

/// The longest time until anything has failed, with a margin; a permission request has the longest
/// timeout.
const DEADLINE: Duration = Duration::from_secs(7 * 60 * 60);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Seam {
    Store,
    Model,
    Client,
    System,
}

struct World {
    runtime: Arc<Runtime>,
    store: Arc<FaultyStore>,
    model: FaultyModel,
}

impl World {
    fn new() -> Self {
        let store = Arc::new(FaultyStore {
            inner: Arc::<agent::fake::MemoryStore>::default(),
            victim: Mutex::default(),
        });
        let model = FaultyModel::new(short_turn);
        let options = RuntimeOptions {
            start: SessionStart { permission_mode: PermissionMode::Argus, ..SessionStart::default() },
            ..RuntimeOptions::default()
        };
        let runtime = Runtime::new(store.clone(), Arc::new(model.clone()), options);
        Self { runtime, store, model }
    }

    /// A session in its own directory whose client and system follow these plans.
    async fn session(&self, client: Arc<Plan>, system: Arc<Plan>) -> (SessionHandle, Arc<FaultyClient>) {
        let inner = FakeSystem::new();
        inner.add_file("/w/a.txt", "one\n");
        inner.on_command("cargo test", |_| Script::exits(0).prints("ok\n"));
        self.session_on(client, Arc::new(FaultySystem { inner: Arc::new(inner), plan: system })).await
    }

    async fn session_on(
        &self,
        client: Arc<Plan>,
        system: Arc<dyn System>,
    ) -> (SessionHandle, Arc<FaultyClient>) {
        let client = Arc::new(FaultyClient { plan: client, events: Arc::default() });
        let surface = Surface { client: client.clone(), system };
        let new = CreateSession {
            cwd: AbsPath::new("/w").unwrap(),
            additional_directories: Vec::new(),
            servers: Vec::new(),
        };
        (self.runtime.create(new, |_| surface).await.unwrap(), client)
    }
}

async fn prompt(session: &SessionHandle) -> Result<StopReason, agent::TurnError> {
    let turn = session.prompt(vec![Content::text("go")]);
    let settled = tokio::time::timeout(DEADLINE, turn).await.expect("a prompt settles in time");
    settled.map(|outcome| outcome.stop_reason)
}

/// Runs once with a fault; returns whether the fault was reached.
async fn run(seam: Seam, fault: Fault, at: usize) -> bool {
    let world = World::new();
    let plan = Plan::new(fault, at);
    let of = |one: Seam| if one == seam { plan.clone() } else { Plan::none() };
    let (victim, client) = world.session(of(Seam::Client), Plan::none()).await;
    let (victim, client) = match seam {
        // Creating a session inspects its directory as well: that may fail too, and must end.
        Seam::System => {
            let making = tokio::time::timeout(DEADLINE, world.session(Plan::none(), of(Seam::System)));
            if fault == Fault::Panic && at <= 2 {
                return true;
            }
            making.await.expect("a session is made in time")
        }
        _ => (victim, client),
    };
    let (other, _) = world.session(Plan::none(), Plan::none()).await;
    let target = Some((Some(victim.id().clone()), plan.clone()));
    match seam {
        Seam::Store => *world.store.victim.lock().unwrap() = target,
        Seam::Model => *world.model.victim.lock().unwrap() = target,
        Seam::Client | Seam::System => {}
    }
    let unnoticed = async {
        let begun = tokio::time::Instant::now();
        assert_eq!(prompt(&other).await, Ok(StopReason::EndTurn));
        assert!(begun.elapsed() < Duration::from_secs(1), "another session waited {:?}", begun.elapsed());
    };
    let (faulted, ()) = tokio::join!(prompt(&victim), unnoticed);
    if !plan.came() {
        assert_eq!(faulted, Ok(StopReason::EndTurn));
        return false;
    }
    // At most a second prompt fails, while the log is read again; after that all work.
    let again = prompt(&victim).await;
    if again.is_err() {
        assert_eq!(seam, Seam::Store);
    }
    assert_eq!(
        prompt(&victim).await,
        Ok(StopReason::EndTurn),
        "{seam:?} {fault:?} {at}: {faulted:?} {again:?}"
    );
    assert_complete(&client.events(), "");
    tokio::time::timeout(DEADLINE, world.runtime.shutdown()).await.expect("it closes in time");
    true
}

#[tokio::test(start_paused = true)]
async fn every_prompt_settles_whatever_fails() {
    for seam in [Seam::Store, Seam::Model, Seam::Client, Seam::System] {
        for fault in [Fault::Error, Fault::Late, Fault::Hang, Fault::Panic] {
            let mut at = 1;
            while run(seam, fault, at).await {
                at += 1;
            }
            assert!(at > 2, "{seam:?}: {at} operations are not a turn");
        }
    }
}

/// The disk that stores the answer and the disk that holds the file are accessed in parallel, but
/// nothing is executed before the answer is stored.
#[tokio::test(start_paused = true)]
async fn what_a_call_is_about_is_looked_at_while_the_answer_is_stored() {
    let world = World::new();
    // The prompt, the prefix, and then the answer.
    let storing = Plan::new(Fault::Hang, 3);
    let system = Arc::new(FakeSystem::new());
    system.add_file("/w/a.txt", "one\n");
    let (session, client) = world.session_on(Plan::none(), system.clone()).await;
    *world.store.victim.lock().unwrap() = Some((Some(session.id().clone()), storing.clone()));
    let mut turn = session.start(vec![Content::text("go")]);
    let of_the_file = || -> Vec<_> {
        let calls = system.calls().into_iter().filter(|call| call.subject == "/w/a.txt");
        calls.map(|call| call.operation).collect()
    };
    let looked = async {
        while !storing.came() || of_the_file().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(DEADLINE, looked).await.expect("the file is looked at though nothing is stored");
    assert_eq!(of_the_file(), ["resolve"]);
    let announced = client.events().iter().any(|event| matches!(event, SessionEvent::ToolCall(_)));
    assert!(!announced, "the call is announced when it is stored");
    turn.cancel();
    let _ = turn.settled().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_that_waits_for_its_user_delays_nobody() {
    let world = World::new();
    let (waiting, _) = world.session(Plan::new(Fault::Hang, 1), Plan::none()).await;
    let stuck = waiting.start(vec![Content::text("go")]);
    let begun = tokio::time::Instant::now();
    let mut sessions = Vec::new();
    for _ in 0..100 {
        sessions.push(world.session(Plan::none(), Plan::none()).await.0);
    }
    for outcome in futures::future::join_all(sessions.iter().map(prompt)).await {
        assert_eq!(outcome, Ok(StopReason::EndTurn));
    }
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    let mut stuck = stuck;
    stuck.cancel();
    assert_eq!(stuck.settled().await.unwrap().stop_reason, StopReason::Cancelled);
}

/// Cancels a turn once an operation hangs; returns whether one did.
async fn cancel_in(seam: Seam, at: usize) -> bool {
    let world = World::new();
    let plan = Plan::new(Fault::Hang, at);
    let of = |one: Seam| if one == seam { plan.clone() } else { Plan::none() };
    let (session, client) = world.session(of(Seam::Client), of(Seam::System)).await;
    if seam == Seam::Model {
        *world.model.victim.lock().unwrap() = Some((Some(session.id().clone()), plan.clone()));
    }
    let mut turn = session.start(vec![Content::text("go")]);
    let hung = async {
        while !plan.came() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        ended = turn.settled() => {
            assert_eq!(ended.unwrap().stop_reason, StopReason::EndTurn);
            // An inspection that runs while the answer is stored is repeated if it takes too long.
            return plan.came();
        }
        () = hung => {}
    }
    let begun = tokio::time::Instant::now();
    session.cancel();
    assert_eq!(turn.settled().await.unwrap().stop_reason, StopReason::Cancelled, "{seam:?} {at}");
    assert!(begun.elapsed() < Duration::from_millis(500), "{seam:?} {at}: {:?}", begun.elapsed());
    assert_eq!(prompt(&session).await, Ok(StopReason::EndTurn));
    assert_complete(&client.events(), "");
    true
}

#[tokio::test(start_paused = true)]
async fn a_cancel_ends_the_turn_whatever_it_waits_for() {
    for (seam, first) in [(Seam::Model, 1), (Seam::Client, 1), (Seam::System, 3)] {
        let mut at = first;
        while cancel_in(seam, at).await {
            at += 1;
        }
        assert!(at > first + 1, "{seam:?}: {at} operations are not a turn");
    }
}
