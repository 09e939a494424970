//! The stores conform to the model of leases: paths through the model are replayed against each of
//! them, and every result is compared.

use crate::{
    protocol::{Action, Event, LeaseState, Outcome, Protocol},
    session, user_message,
};
use agent::{Lease, SessionId, SessionStore, StoreError, fake::MemoryStore};
use proptest::{collection::vec, prelude::*, test_runner::TestRunner};
use rusqlite::Connection;
use stateright::{Checker as _, Model as _, Path};
use std::{
    cell::Cell,
    collections::HashSet,
    mem::discriminant,
    os::unix::fs::symlink,
    path::PathBuf,
    sync::{Arc, Mutex},
};
use store::{Holder, Machine, SqliteStore};
use system::ProcessTable;
use tempfile::TempDir;

/// The stores that a path is replayed against.
trait Stores {
    /// Returns the store of a newly started process. The process ends when the store is dropped.
    fn process(&self, elsewhere: bool) -> Arc<dyn SessionStore>;

    /// Simulates this many seconds without a write.
    fn pass(&self, id: &SessionId, seconds: i64);

    /// Sets the last write of the session's holder this many seconds ahead of the clock.
    fn set_clock(&self, id: &SessionId, seconds: i64);
}

/// One file accessed from two machines: each finds it in its own directory, so that neither sees
/// the other's locks.
struct InFile {
    here: PathBuf,
    elsewhere: PathBuf,
    raw: Connection,
    _directory: TempDir,
}

impl InFile {
    fn new() -> Self {
        // In memory if possible: durability is not tested here.
        let directory = TempDir::new_in("/dev/shm").or_else(|_| TempDir::new()).unwrap();
        let [here, elsewhere] = ["here", "elsewhere"].map(|name| {
            std::fs::DirBuilder::new().create(directory.path().join(name)).unwrap();
            directory.path().join(name).join("sessions.db")
        });
        drop(SqliteStore::open(&here).unwrap());
        symlink(&here, &elsewhere).unwrap();
        let raw = Connection::open(&here).unwrap();
        Self { here, elsewhere, raw, _directory: directory }
    }
}

impl Stores for InFile {
    fn process(&self, elsewhere: bool) -> Arc<dyn SessionStore> {
        let here = Holder::like_this_process();
        if !elsewhere {
            return Arc::new(SqliteStore::open_as(&self.here, here).unwrap());
        }
        let machine = Machine {
            host: "elsewhere".to_owned(),
            marks: vec!["0123456789abcdef".to_owned()],
            processes: ProcessTable::Directory("/nowhere".into()),
            locks: true,
        };
        let there = Holder { pid: 1, start: 0, machine, ..here };
        Arc::new(SqliteStore::open_as(&self.elsewhere, there).unwrap())
    }

    fn pass(&self, id: &SessionId, seconds: i64) {
        let put = "UPDATE sessions SET lease_seen = lease_seen - ?2 * 1000 WHERE id = ?1";
        self.raw.execute(put, (id.as_str(), seconds)).unwrap();
    }

    fn set_clock(&self, id: &SessionId, seconds: i64) {
        let put = "UPDATE sessions SET lease_seen = CAST((unixepoch('subsec') + ?2) * 1000 AS INTEGER) WHERE id = ?1";
        self.raw.execute(put, (id.as_str(), seconds)).unwrap();
    }
}

impl Stores for MemoryStore {
    fn process(&self, _elsewhere: bool) -> Arc<dyn SessionStore> {
        Arc::new(self.as_another_process())
    }

    // No process that uses it is elsewhere, so clocks do not matter.
    fn pass(&self, _id: &SessionId, _seconds: i64) {}
    fn set_clock(&self, _id: &SessionId, _seconds: i64) {}
}

/// Replays a path through the model with real stores; then each running process acquires the
/// session, waits, and acquires it again. Fails at the first result that differs from the model's,
/// or if the log differs.
async fn replay(protocol: &Protocol, stores: &dyn Stores, id: &str, path: &[Action]) {
    let id = SessionId::from(id);
    let start = |process| stores.process(protocol.is_elsewhere(process));
    let mut processes: Vec<_> = (0..protocol.processes).map(|process| Some(start(process))).collect();
    // Late calls are served by the store of an uninvolved process, since their sender may be dead.
    let network = stores.process(false);
    let of = |processes: &[Option<Arc<dyn SessionStore>>], process: usize| {
        processes[process].clone().expect("the model lets only those act that run")
    };
    let created = of(&processes, 0).create(session(id.as_str())).await.unwrap();
    assert_eq!(created.epoch, 1);

    let mut state = protocol.init_states().remove(0);
    let reached = path.iter().fold(state.clone(), |state, action| protocol.step(&state, *action).0);
    let running = (0..protocol.processes).filter(|process| reached.runs(*process));
    let acquisitions =
        running.flat_map(|process| [Action::Acquire(process), Action::Silence, Action::Acquire(process)]);
    let path: Vec<Action> = path.iter().copied().chain(acquisitions).collect();
    for (at, action) in path.iter().copied().enumerate() {
        let (next, expected) = protocol.step(&state, action);
        let outcome = match action {
            Action::Acquire(process) | Action::AcquireUnanswered(process) => {
                taken(of(&processes, process).acquire(&id, false).await)
            }
            Action::TakeOver(process) => taken(of(&processes, process).acquire(&id, true).await),
            Action::Serve(process) => {
                append(&*of(&processes, process), &id, state.sent_by(process).expect("it was sent")).await
            }
            Action::ServeInFlight => append(&*network, &id, state.in_flight.expect("it is late")).await,
            Action::Release(process) => {
                let epoch = state.lease_of(process).expect("it has a lease").into();
                let lease = Lease { session: id.clone(), epoch };
                outcome(of(&processes, process).release(&lease).await, |()| Outcome::Done)
            }
            Action::Archive(process) => {
                outcome(of(&processes, process).set_archived(&id, true).await, |()| Outcome::Done)
            }
            Action::Crash(process) => {
                processes[process] = None;
                Outcome::None
            }
            Action::Start(process) => {
                processes[process] = Some(start(process));
                Outcome::None
            }
            Action::Silence => {
                stores.pass(&id, 61);
                Outcome::None
            }
            Action::ClockAhead => {
                stores.set_clock(&id, -3600);
                Outcome::None
            }
            Action::ClockBack => {
                stores.set_clock(&id, 3600);
                Outcome::None
            }
            Action::Send(_) | Action::ReceiveResponse(_) | Action::StopWaiting(_) => Outcome::None,
        };
        assert_eq!(outcome, expected, "the store's answer, and the model's, after {:?}", &path[..=at]);
        state = next;
    }
    let kept = network.events(&id, 0, usize::MAX).await.unwrap();
    let expected: Vec<_> = (1..).zip(state.log.iter().map(|event| user_message(&text(*event)))).collect();
    assert_eq!(kept, expected, "the log after {path:?}");
}

async fn append(store: &dyn SessionStore, id: &SessionId, event: Event) -> Outcome {
    let lease = Lease { session: id.clone(), epoch: event.epoch.into() };
    outcome(store.append(&lease, vec![user_message(&text(event))]).await, Outcome::Appended)
}

fn text(event: Event) -> String {
    format!("event {} of epoch {}", event.nth, event.epoch)
}

fn taken(answer: Result<Lease, StoreError>) -> Outcome {
    outcome(answer, |lease| Outcome::Taken(lease.epoch.try_into().expect("epochs of the model are small")))
}

fn outcome<T>(answer: Result<T, StoreError>, to_outcome: impl FnOnce(T) -> Outcome) -> Outcome {
    match answer {
        Ok(value) => to_outcome(value),
        Err(StoreError::Held { .. }) => Outcome::Held,
        Err(StoreError::Fenced(_)) => Outcome::Fenced,
        Err(error) => panic!("{error}"),
    }
}

/// Returns shortest paths through the model that cover all pairs of successive steps, by the same
/// process and by two, with every possible result.
fn paths(protocol: &Protocol) -> Vec<Vec<Action>> {
    let found = Arc::new(Mutex::new((HashSet::new(), Vec::new())));
    let (of, seen) = (protocol.clone(), Arc::clone(&found));
    let visit = move |path: Path<LeaseState, Action>| {
        let here = path.last_state().clone();
        let steps = path.into_vec();
        let kind =
            |state: &LeaseState, action| (discriminant(&action), discriminant(&of.step(state, action).1));
        let before = steps.iter().rev().find_map(|(state, action)| Some((state, (*action)?)));
        let actions: Vec<Action> = steps.iter().filter_map(|(_, action)| *action).collect();
        let mut next = Vec::new();
        of.actions(&here, &mut next);
        for action in next {
            let last = before.map(|(state, last)| (kind(state, last), process(last) == process(action)));
            let mut found = seen.lock().unwrap();
            if found.0.insert((last, kind(&here, action))) {
                found.1.push(actions.iter().copied().chain([action]).collect());
            }
        }
    };
    protocol.clone().checker().target_max_depth(12).visitor(visit).spawn_bfs().join();
    found.lock().unwrap().1.clone()
}

fn process(action: Action) -> Option<usize> {
    match action {
        Action::Acquire(process)
        | Action::TakeOver(process)
        | Action::AcquireUnanswered(process)
        | Action::Send(process)
        | Action::Serve(process)
        | Action::ReceiveResponse(process)
        | Action::StopWaiting(process)
        | Action::Release(process)
        | Action::Archive(process)
        | Action::Crash(process)
        | Action::Start(process) => Some(process),
        Action::ServeInFlight | Action::Silence | Action::ClockAhead | Action::ClockBack => None,
    }
}

async fn replay_all(protocol: &Protocol, stores: &dyn Stores) {
    let paths = paths(protocol);
    assert!(paths.len() > 300, "{} paths", paths.len());
    for (nth, path) in paths.iter().enumerate() {
        replay(protocol, stores, &format!("s{nth}"), path).await;
    }
}

#[tokio::test]
async fn the_sqlite_store_conforms_to_the_lease_model() {
    let small = Protocol { crashes: 1, ..Protocol::of(2, 0) };
    replay_all(&small, &InFile::new()).await;
    replay_all(&Protocol { elsewhere: 1, ..small }, &InFile::new()).await;
}

#[tokio::test]
async fn the_memory_store_conforms_to_the_lease_model() {
    replay_all(&Protocol { crashes: 1, ..Protocol::of(2, 0) }, &MemoryStore::default()).await;
}

/// Replays long random paths through a model with wide bounds. A failure reports the shortest path
/// that still fails.
fn replay_random_paths(protocol: &Protocol, stores: &dyn Stores) {
    let config = ProptestConfig { cases: 100, failure_persistence: None, ..ProptestConfig::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let walked = Cell::new(0);
    let choices = vec(any::<prop::sample::Index>(), 1..60);
    let outcome = TestRunner::new(config).run(&choices, |choices| {
        let mut state = protocol.init_states().remove(0);
        let mut path = Vec::new();
        for choice in choices {
            let mut possible = Vec::new();
            protocol.actions(&state, &mut possible);
            let action = *choice.get(&possible);
            state = protocol.step(&state, action).0;
            path.push(action);
        }
        walked.set(walked.get() + 1);
        runtime.block_on(replay(protocol, stores, &format!("s{}", walked.get()), &path));
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

#[test]
fn the_stores_conform_to_the_lease_model_on_long_random_paths() {
    let wide = Protocol { epochs: 20, events: 20, crashes: 10, ..Protocol::of(3, 0) };
    replay_random_paths(&wide, &MemoryStore::default());
    replay_random_paths(&wide, &InFile::new());
    replay_random_paths(&Protocol { elsewhere: 1, ..wide }, &InFile::new());
}
