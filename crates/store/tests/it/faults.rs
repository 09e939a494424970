//! Sessions over a database of which one operation fails: for every operation, before and after its
//! effect.

// The interfaces that fail of the tests of `agent`, of which the store is used here.
#[expect(dead_code, unused_imports, reason = "the other interfaces do not fail here")]
#[path = "../../../agent/tests/it/faulty/mod.rs"]
mod faulty;

use agent::{
    Content, CreateSession, OpenSession, PermissionMode, Runtime, RuntimeOptions, SessionEvent,
    SessionHandle, SessionId, SessionStart, SessionStore, StopReason, Surface, TurnError,
};
use faulty::{Fault, FaultyClient, FaultyModel, FaultyStore, Plan, assert_complete, short_turn};
use std::sync::{Arc, Mutex};
use store::SqliteStore;
use system::{AbsPath, FakeSystem, fake::Script};

/// The files and commands of a run, and what its client received.
struct World {
    files: Arc<FakeSystem>,
    notified: Arc<Mutex<Vec<SessionEvent>>>,
}

impl World {
    fn new() -> Self {
        let files = FakeSystem::new();
        files.add_file("/w/a.txt", "one\n");
        files.on_command("cargo test", |_| Script::exits(0).prints("ok\n"));
        Self { files: Arc::new(files), notified: Arc::default() }
    }

    fn surface(&self) -> Surface {
        let client = FaultyClient { plan: Plan::none(), events: self.notified.clone() };
        Surface { client: Arc::new(client), system: self.files.clone() }
    }
}

fn runtime(store: Arc<dyn SessionStore>, plan: &Arc<Plan>) -> Arc<Runtime> {
    let victim = Mutex::new(Some((None, plan.clone())));
    let start = SessionStart { permission_mode: PermissionMode::Prometheus, ..SessionStart::default() };
    let options = RuntimeOptions { start, ..RuntimeOptions::default() };
    let store = Arc::new(FaultyStore { inner: store, victim });
    Runtime::new(store, Arc::new(FaultyModel::new(short_turn)), options)
}

async fn prompt(session: &SessionHandle, text: &str) -> Result<StopReason, TurnError> {
    session.prompt(vec![Content::text(text)]).await.map(|outcome| outcome.stop_reason)
}

/// Runs a session whose store fails at an operation, and then the next process. `open` opens the
/// store as a newly started process does. Returns whether the operation was reached.
async fn run(open: &impl AsyncFn() -> Arc<dyn SessionStore>, fault: Fault, at: usize) -> bool {
    let when = format!("{fault:?} at operation {at}");
    let (plan, world) = (Plan::new(fault, at), World::new());
    let first = runtime(open().await, &plan);
    let new = || CreateSession {
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let session = match first.create(new(), |_| world.surface()).await {
        Ok(session) => session,
        Err(_) => first.create(new(), |_| world.surface()).await.expect("the next one is created"),
    };
    let mut answered = Vec::new();
    for text in ["go 1", "go 2", "go 3"] {
        if prompt(&session, text).await.is_ok() {
            answered.push(text);
        }
    }
    // One more prompt repairs what failed in the last one.
    if plan.came() {
        assert_eq!(prompt(&session, "go 4").await, Ok(StopReason::EndTurn), "{when}");
        answered.push("go 4");
    }
    let id = session.id().clone();
    first.shutdown().await;
    assert_complete(&world.notified.lock().unwrap(), &when);

    let next = runtime(open().await, &Plan::none());
    // Where the release failed, the lease is still held.
    let open = OpenSession { take_over: true, ..OpenSession::default() };
    let session = next.open(&id, open, |_| world.surface()).await.expect(&when);
    check(&stored(&next, &id).await, &answered, &world, &when);
    assert_eq!(prompt(&session, "go 5").await, Ok(StopReason::EndTurn), "{when}: the next process");
    next.shutdown().await;
    plan.came()
}

async fn stored(runtime: &Runtime, id: &SessionId) -> Vec<SessionEvent> {
    let mut events = Vec::new();
    runtime.replay(id, &mut |event| events.push(event.clone())).await.unwrap();
    events
}

/// Checks that each answered prompt is stored once, and that each call has one result, which is the
/// one that the client received.
fn check(stored: &[SessionEvent], answered: &[&str], world: &World, when: &str) {
    for text in answered {
        let is_prompt = |event: &&SessionEvent| matches!(event, SessionEvent::UserMessage { content, .. } if *content == [Content::text(*text)]);
        assert_eq!(stored.iter().filter(is_prompt).count(), 1, "{when}: {text}");
    }
    let results = |events: &[SessionEvent]| -> Vec<(String, String)> {
        let result = |event: &SessionEvent| match event {
            SessionEvent::ToolCall(update) => {
                let result = update.result.as_ref()?;
                Some((update.id.to_string(), result.text.clone()))
            }
            _ => None,
        };
        events.iter().filter_map(result).collect()
    };
    let stored = results(stored);
    for (id, text) in results(&world.notified.lock().unwrap()) {
        assert_eq!(stored.iter().filter(|(of, _)| *of == id).count(), 1, "{when}: results of {id}");
        assert!(stored.contains(&(id.clone(), text)), "{when}: another result of {id}");
    }
}

/// Runs sessions until none reaches the operation any more; returns how many operations there were.
async fn every_operation(open: impl AsyncFn() -> Arc<dyn SessionStore>) -> usize {
    let mut operations = 0;
    for fault in [Fault::Error, Fault::Late] {
        let mut at = 1;
        while run(&open, fault, at).await {
            at += 1;
        }
        operations = operations.max(at - 1);
    }
    operations
}

#[tokio::test]
async fn every_operation_of_a_file_may_fail_once() {
    let directory = tempfile::TempDir::new_in("/dev/shm").or_else(|_| tempfile::TempDir::new()).unwrap();
    let path = directory.path().join("sessions.db");
    let operations =
        every_operation(async || Arc::new(SqliteStore::open(&path).unwrap()) as Arc<dyn SessionStore>).await;
    assert!(operations > 20, "{operations} operations");
}

#[cfg(feature = "postgres")]
#[tokio::test]
async fn every_operation_of_postgresql_may_fail_once() {
    use crate::postgres::{Server, database};
    let Some(server) = Server::start() else { return };
    let url = database(&server, "faults").await;
    let operations = every_operation(async || {
        let store: Arc<dyn SessionStore> = Arc::new(store::PostgresStore::open(&url).await.unwrap());
        store
    })
    .await;
    assert!(operations > 20, "{operations} operations");
}
