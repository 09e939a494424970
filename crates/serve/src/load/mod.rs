//! How much the node has to do. While it is too much, nothing new begins; what runs goes on.

mod judge;
mod ready;

pub(crate) use judge::Cause;
pub use ready::AskStore;

use crate::limits::{LAG_INTERVAL, LOOP_STANDS_STILL, MEMORY_INTERVAL, OVERLOAD_RETRY, TURNS_PER_CORE};
use agent::{NotAdmitted, OperatorLimit};
use futures::FutureExt as _;
use judge::{Judge, Sample, Verdict};
use ready::StoreState;
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use system::MemoryUse;
use tokio::time::Instant;

/// What a node measures of its surroundings.
pub struct Probes {
    /// Returns the memory of the control group, if it is limited. May block for some milliseconds.
    pub memory: Arc<dyn Fn() -> Option<MemoryUse> + Send + Sync>,
    /// Returns how long operations wait for the store now.
    pub store_wait: Arc<dyn Fn() -> Duration + Send + Sync>,
    /// Asks whether the store can be used.
    pub store: AskStore,
    /// The processor cores that it may use.
    pub cores: usize,
}

impl Default for Probes {
    /// Returns probes that find nothing.
    fn default() -> Self {
        Self {
            memory: Arc::new(|| None),
            store_wait: Arc::new(|| Duration::ZERO),
            store: Arc::new(|| std::future::ready(Ok(())).boxed()),
            cores: 1,
        }
    }
}

/// How much a node has to do.
#[derive(Clone)]
pub struct Load(Arc<Shared>);

struct Shared {
    probes: Probes,
    store: StoreState,
    turns: AtomicUsize,
    sessions: AtomicUsize,
    state: Mutex<State>,
}

struct State {
    judge: Judge,
    verdict: Verdict,
    memory: Option<MemoryUse>,
    /// When the loop of the monitor last turned; `None` before it is watched.
    turned: Option<Instant>,
}

/// A turn that runs until this is dropped.
#[derive(Debug)]
pub(crate) struct RunningTurn {
    load: Load,
    begun: Instant,
}

/// A session that is open until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenSession(Load);

impl Load {
    /// Creates the load of a node that is not watched yet.
    pub fn new(probes: Probes) -> Self {
        let most_turns = probes.cores.max(1).saturating_mul(TURNS_PER_CORE);
        let state =
            State { judge: Judge::new(most_turns), verdict: Verdict::default(), memory: None, turned: None };
        let store = StoreState::new(Arc::clone(&probes.store));
        Self(Arc::new(Shared {
            probes,
            store,
            turns: AtomicUsize::new(0),
            sessions: AtomicUsize::new(0),
            state: Mutex::new(state),
        }))
    }

    /// Counts a running turn until the result is dropped.
    pub(crate) fn turn(&self) -> RunningTurn {
        self.0.turns.fetch_add(1, Ordering::Relaxed);
        RunningTurn { load: self.clone(), begun: Instant::now() }
    }

    /// Counts an open session until the result is dropped.
    pub(crate) fn session(&self) -> OpenSession {
        self.0.sessions.fetch_add(1, Ordering::Relaxed);
        OpenSession(self.clone())
    }

    /// Returns the number of running turns.
    pub(crate) fn turns(&self) -> usize {
        self.0.turns.load(Ordering::Relaxed)
    }

    /// Returns the number of open sessions.
    pub(crate) fn sessions(&self) -> usize {
        self.0.sessions.load(Ordering::Relaxed)
    }

    /// Returns why nothing new begins, if so.
    pub(crate) fn overloaded(&self) -> Option<Cause> {
        self.lock().verdict.overloaded
    }

    /// Refuses something new while there is too much to do.
    pub(crate) fn admit(&self) -> Result<(), NotAdmitted> {
        match self.overloaded() {
            None => Ok(()),
            Some(_) => {
                metrics::counter!("tiller_overloaded_total", "what" => "prompt").increment(1);
                Err(NotAdmitted {
                    limit: OperatorLimit::Load,
                    message: format!(
                        "the server has too much to do; nothing was started, try again in {} s",
                        OVERLOAD_RETRY.as_secs()
                    ),
                    retry_after: Some(OVERLOAD_RETRY),
                })
            }
        }
    }

    /// Whether tasks run: that of the monitor has run within some seconds.
    pub(crate) fn is_alive(&self) -> bool {
        self.lock().turned.is_none_or(|turned| turned.elapsed() < LOOP_STANDS_STILL)
    }

    /// Returns why the node should get no further clients, if so.
    pub(crate) async fn ready(&self) -> Result<(), String> {
        match self.overloaded() {
            Some(cause) => Err(format!("overloaded: {}", cause.describe())),
            None => self.0.store.check().await,
        }
    }

    /// Measures as long as it is awaited. Calls `free` each second while memory must be given back.
    pub async fn watch(&self, free: impl Fn()) {
        tokio::join!(self.watch_loop(), self.watch_memory(free));
    }

    /// Measures how late tasks run.
    async fn watch_loop(&self) {
        self.lock().turned = Some(Instant::now());
        loop {
            let before = Instant::now();
            tokio::time::sleep(LAG_INTERVAL).await;
            let lag = before.elapsed().saturating_sub(LAG_INTERVAL);
            self.measured(lag);
        }
    }

    fn measured(&self, lag: Duration) {
        metrics::histogram!("tiller_loop_lag_seconds").record(lag);
        let (store_wait, turns) = ((self.0.probes.store_wait)(), self.0.turns.load(Ordering::Relaxed));
        let mut state = self.lock();
        let now = Instant::now();
        state.turned = Some(now);
        let sample = Sample { lag, memory: state.memory, store_wait, turns };
        let verdict = state.judge.judge(now, &sample);
        let before = std::mem::replace(&mut state.verdict, verdict).overloaded;
        drop(state);
        match (before, verdict.overloaded) {
            (None, Some(cause)) => {
                tracing::warn!(
                    cause = cause.describe(),
                    ?sample,
                    "the server has too much to do; nothing new begins"
                );
            }
            (Some(_), None) => tracing::info!("the server accepts new connections and prompts again"),
            _ => {}
        }
    }

    async fn watch_memory(&self, free: impl Fn()) {
        loop {
            let probe = Arc::clone(&self.0.probes.memory);
            let memory = tokio::task::spawn_blocking(move || probe()).await.unwrap_or_default();
            self.lock().memory = memory;
            tokio::time::sleep(MEMORY_INTERVAL).await;
            if self.lock().verdict.must_free_memory {
                free();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Load {
    fn default() -> Self {
        Self::new(Probes::default())
    }
}

impl std::fmt::Debug for Load {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Load").field("verdict", &self.lock().verdict).finish_non_exhaustive()
    }
}

impl Drop for RunningTurn {
    fn drop(&mut self) {
        self.load.0.turns.fetch_sub(1, Ordering::Relaxed);
        metrics::histogram!("tiller_turn_seconds").record(self.begun.elapsed());
    }
}

impl Drop for OpenSession {
    fn drop(&mut self) {
        self.0.0.sessions.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::sleep;

    /// A node whose measurements the test sets: the percentage of memory, and the wait in ms.
    struct Node {
        load: Load,
        memory: Arc<AtomicUsize>,
        wait: Arc<AtomicUsize>,
    }

    fn node() -> Node {
        let (memory, wait) = (Arc::new(AtomicUsize::new(50)), Arc::new(AtomicUsize::new(0)));
        let (of_memory, of_wait) = (memory.clone(), wait.clone());
        let probes = Probes {
            memory: Arc::new(move || {
                Some(MemoryUse { used: of_memory.load(Ordering::Relaxed) as u64, limit: 100 })
            }),
            store_wait: Arc::new(move || Duration::from_millis(of_wait.load(Ordering::Relaxed) as u64)),
            cores: 1,
            ..Probes::default()
        };
        Node { load: Load::new(probes), memory, wait }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_does_not_keep_up_refuses_new_prompts_until_it_does_again() {
        let recorder = crate::Metrics::default();
        let _recorded = metrics::set_default_local_recorder(&recorder);
        let Node { load, wait, .. } = node();
        let watching = tokio::spawn({
            let load = load.clone();
            async move { load.watch(|| {}).await }
        });
        sleep(Duration::from_secs(1)).await;
        assert_eq!(load.admit(), Ok(()));
        wait.store(1_500, Ordering::Relaxed);
        sleep(Duration::from_secs(1)).await;
        let refused = load.admit().unwrap_err();
        assert_eq!((refused.limit, refused.retry_after), (OperatorLimit::Load, Some(Duration::from_secs(5))));
        wait.store(0, Ordering::Relaxed);
        sleep(Duration::from_secs(4)).await;
        assert!(load.admit().is_err(), "it has not been calm for long enough");
        assert!(recorder.text().contains("tiller_overloaded_total{what=\"prompt\"} 2\n"));
        sleep(Duration::from_secs(2)).await;
        assert_eq!(load.admit(), Ok(()));
        watching.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn more_than_300_turns_a_core_refuse_the_next() {
        let Node { load, .. } = node();
        let watching = tokio::spawn({
            let load = load.clone();
            async move { load.watch(|| {}).await }
        });
        let mut turns: Vec<_> = (0..300).map(|_| load.turn()).collect();
        sleep(Duration::from_secs(1)).await;
        assert_eq!(load.admit(), Ok(()));
        turns.push(load.turn());
        sleep(Duration::from_secs(1)).await;
        assert!(load.admit().is_err());
        drop(turns);
        sleep(Duration::from_secs(6)).await;
        assert_eq!(load.admit(), Ok(()));
        watching.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_freed_each_second_while_it_is_nearly_gone() {
        let Node { load, memory, .. } = node();
        let freed = Arc::new(AtomicUsize::new(0));
        let watching = tokio::spawn({
            let (load, freed) = (load.clone(), freed.clone());
            async move {
                let free = || {
                    freed.fetch_add(1, Ordering::Relaxed);
                };
                load.watch(free).await;
            }
        });
        sleep(Duration::from_secs(3)).await;
        assert_eq!(freed.load(Ordering::Relaxed), 0);
        memory.store(96, Ordering::Relaxed);
        sleep(Duration::from_secs(5)).await;
        let times = freed.load(Ordering::Relaxed);
        assert!((3..=5).contains(&times), "{times}");
        memory.store(50, Ordering::Relaxed);
        sleep(Duration::from_secs(3)).await;
        let after = freed.load(Ordering::Relaxed);
        sleep(Duration::from_secs(5)).await;
        assert_eq!(freed.load(Ordering::Relaxed), after);
        watching.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_loop_that_has_not_turned_for_five_seconds_is_not_alive() {
        let load = Load::default();
        let watched = load.clone();
        let watching = tokio::spawn(async move { watched.watch(|| {}).await });
        sleep(Duration::from_secs(20)).await;
        assert!(load.is_alive());
        watching.abort();
        sleep(Duration::from_secs(4)).await;
        assert!(load.is_alive());
        sleep(Duration::from_secs(2)).await;
        assert!(!load.is_alive());
    }
}
