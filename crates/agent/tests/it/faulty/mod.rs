//! Interfaces that fail once: the N-th operation returns an error before or after its effect, never
//! completes, or panics.

mod client;
mod model;
mod store;
mod system;

pub(crate) use client::{FaultyClient, assert_complete};
pub(crate) use model::{FaultyModel, call, short_turn};
pub(crate) use store::FaultyStore;
pub(crate) use system::FaultySystem;

use agent::SessionId;
use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use tokio::sync::Notify;

/// How an operation fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An error without an effect.
    Error,
    /// The operation takes effect, but returns an error.
    Late,
    Hang,
    Panic,
}

/// The fault and its time: the operation with this number, counted from 1 over all interfaces that
/// share the plan.
#[derive(Debug)]
pub(crate) struct Plan {
    fault: Fault,
    at: usize,
    seen: AtomicUsize,
    reached: Notify,
    /// Determines how often other tasks run before and after each operation.
    pace: Option<u64>,
}

impl Plan {
    pub(crate) fn new(fault: Fault, at: usize) -> Arc<Self> {
        Arc::new(Self { fault, at, seen: AtomicUsize::new(0), reached: Notify::new(), pace: None })
    }

    /// Creates a plan without a fault.
    pub(crate) fn none() -> Arc<Self> {
        Self::new(Fault::Error, usize::MAX)
    }

    /// Creates a plan without a fault, in which other tasks run before and after each operation.
    pub(crate) fn slow(seed: u64) -> Arc<Self> {
        let mut plan = Self::none();
        Arc::get_mut(&mut plan).expect("it is new").pace = Some(seed);
        plan
    }

    /// Lets other tasks run.
    async fn pause(&self, number: usize) {
        let Some(seed) = self.pace else { return };
        let mut hasher = DefaultHasher::new();
        (seed, number).hash(&mut hasher);
        for _ in 0..hasher.finish() % 40 {
            tokio::task::yield_now().await;
        }
    }

    /// Returns whether the fault was reached.
    pub(crate) fn came(&self) -> bool {
        self.seen.load(Ordering::SeqCst) >= self.at
    }

    /// Completes when the fault is reached; supports one waiter.
    pub(crate) async fn coming(&self) {
        self.reached.notified().await;
    }

    /// Returns the number of operations so far.
    pub(crate) fn count(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }

    /// Counts an operation and returns its fault, if it is the one that fails. Hangs and panics
    /// happen here.
    async fn step(&self) -> Option<Fault> {
        if self.seen.fetch_add(1, Ordering::SeqCst) + 1 != self.at {
            return None;
        }
        self.reached.notify_one();
        match self.fault {
            Fault::Error | Fault::Late => Some(self.fault),
            Fault::Hang => std::future::pending().await,
            Fault::Panic => panic!("as the test wanted"),
        }
    }

    /// Runs one operation: normally, failed before it began, or run and reported as failed.
    pub(crate) async fn through<T, E>(
        &self,
        operation: impl Future<Output = Result<T, E>>,
        error: impl FnOnce() -> E,
    ) -> Result<T, E> {
        match self.step().await {
            None => {
                self.pause(self.count()).await;
                let result = operation.await;
                self.pause(self.count()).await;
                result
            }
            Some(Fault::Late) => operation.await.and_then(|_| Err(error())),
            Some(_) => Err(error()),
        }
    }
}

/// A fault and the session that it is for; `None` means all sessions.
pub(crate) type Target = Option<(Option<SessionId>, Arc<Plan>)>;
type Victim = Mutex<Target>;

fn plan_of(victim: &Victim, session: Option<&str>) -> Option<Arc<Plan>> {
    let victim = victim.lock().unwrap();
    let (id, plan) = victim.as_ref()?;
    id.as_ref().is_none_or(|id| Some(id.as_str()) == session).then(|| plan.clone())
}
