//! A runtime of which an operator decides what may begin.

use agent::fake::{FakeClient, FakeModel, FakeModels, MemoryStore, Reply};
use agent::{
    Content, CreateSession, LanguageModel, NotAdmitted, OpenSession, Operator, OperatorLimit, Place, Prompt,
    PromptOutcome, Runtime, RuntimeOptions, SessionError, SessionHandle, SessionId, Settings, StopReason,
    Surface, TakenOver, ToolProviders, TurnError,
};
use async_trait::async_trait;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};
use system::{AbsPath, FakeSystem};
use tokio::sync::Semaphore;

/// Lets a number of sessions, prompts and turns begin.
pub(crate) struct Limits {
    sessions: Arc<Semaphore>,
    prompts: AtomicUsize,
    turns: Arc<Semaphore>,
    /// The number of turns that are refused first.
    refused_turns: AtomicUsize,
    after_death: bool,
    /// How sessions came from other processes.
    pub(crate) taken_over: Mutex<Vec<TakenOver>>,
}

impl Limits {
    pub(crate) fn new(sessions: usize, prompts: usize, turns: usize) -> Arc<Self> {
        Arc::new(Self::of(sessions, prompts, turns))
    }

    fn of(sessions: usize, prompts: usize, turns: usize) -> Self {
        Self {
            sessions: Arc::new(Semaphore::new(sessions)),
            prompts: AtomicUsize::new(prompts),
            turns: Arc::new(Semaphore::new(turns)),
            refused_turns: AtomicUsize::new(0),
            after_death: false,
            taken_over: Mutex::default(),
        }
    }

    /// Has turns go on after the death of their process.
    pub(crate) fn after_death() -> Arc<Self> {
        Arc::new(Self { after_death: true, ..Self::of(10, 10, 10) })
    }

    /// Refuses so many turns, and then none.
    pub(crate) fn refusing_turns(number: usize) -> Arc<Self> {
        Arc::new(Self { refused_turns: AtomicUsize::new(number), ..Self::of(10, 10, 10) })
    }
}

fn refused(quota: &'static str) -> NotAdmitted {
    NotAdmitted { limit: OperatorLimit::Quota(quota), message: "not now".to_owned(), retry_after: None }
}

#[async_trait]
impl Operator for Limits {
    fn open_session(&self) -> Result<Place, NotAdmitted> {
        self.sessions.clone().try_acquire_owned().map(Place::new).map_err(|_| refused("sessions"))
    }

    fn prompt(&self) -> Result<(), NotAdmitted> {
        let less = |left: usize| left.checked_sub(1);
        let taken = self.prompts.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        taken.map(drop).map_err(|_| refused("prompts"))
    }

    async fn begin_turn(&self) -> Result<Place, NotAdmitted> {
        let less = |left: usize| left.checked_sub(1);
        if self.refused_turns.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok() {
            return Err(refused("turns"));
        }
        let place = self.turns.clone().acquire_owned().await;
        Ok(Place::new(place.expect("nothing closes it")))
    }

    fn goes_on_after_death(&self) -> bool {
        self.after_death
    }

    fn taken_over(&self, _session: &SessionId, how: TakenOver) {
        self.taken_over.lock().unwrap().push(how);
    }
}

/// Settings that are the defaults everywhere.
pub(crate) struct Defaults;

#[async_trait]
impl Settings for Defaults {
    async fn of(&self, _folder: Option<&AbsPath>) -> Result<Arc<RuntimeOptions>, String> {
        Ok(Arc::default())
    }

    async fn follow(
        &self,
        _session: &SessionId,
        _folder: &AbsPath,
    ) -> Result<Arc<dyn agent::FollowedSettings>, String> {
        Ok(Arc::new(Followed(Arc::default())))
    }
}

struct Followed(Arc<RuntimeOptions>);

#[async_trait]
impl agent::FollowedSettings for Followed {
    async fn now(&self) -> Arc<RuntimeOptions> {
        self.0.clone()
    }

    fn notices(&self) -> Vec<agent::SettingsNotice> {
        Vec::new()
    }
}

struct Operated {
    runtime: Arc<Runtime>,
    model: Arc<FakeModel>,
}

fn operated(limits: Arc<Limits>, script: Vec<Reply>) -> Operated {
    let model = FakeModel::new(script);
    let models = Arc::new(FakeModels(model.clone() as Arc<dyn LanguageModel>));
    let store = Arc::new(MemoryStore::default());
    let runtime =
        Runtime::operated(store, models, Arc::new(Defaults), ToolProviders::default(), Some(limits));
    Operated { runtime, model }
}

fn surface() -> Surface {
    Surface { client: FakeClient::new(Vec::new()), system: Arc::new(FakeSystem::new()) }
}

impl Operated {
    async fn create(&self) -> Result<SessionHandle, SessionError> {
        let new = CreateSession {
            cwd: AbsPath::new("/w").unwrap(),
            additional_directories: Vec::new(),
            servers: Vec::new(),
        };
        self.runtime.create(new, |_| surface()).await
    }
}

fn start(session: &SessionHandle) -> Prompt {
    session.start(vec![Content::text("hello")])
}

fn stop(ended: Result<PromptOutcome, TurnError>) -> StopReason {
    ended.unwrap().stop_reason
}

#[tokio::test]
async fn a_session_beyond_the_limit_is_not_opened_until_another_is_closed() {
    let stage = operated(Limits::new(1, 0, 0), Vec::new());
    let first = stage.create().await.unwrap();
    let id = first.id().clone();
    assert_eq!(stage.create().await.unwrap_err(), SessionError::NotAdmitted(refused("sessions")));
    // To join an open session is not to open one.
    stage.runtime.open(&id, OpenSession::default(), |_| surface()).await.unwrap();
    first.close().await;
    let second = stage.create().await.unwrap();
    let reopened = stage.runtime.open(&id, OpenSession::default(), |_| surface()).await;
    assert_eq!(reopened.unwrap_err(), SessionError::NotAdmitted(refused("sessions")));
    second.close().await;
    stage.runtime.open(&id, OpenSession::default(), |_| surface()).await.unwrap();
}

#[tokio::test]
async fn a_refused_prompt_settles_at_once_and_reaches_neither_the_log_nor_the_model() {
    let stage = operated(Limits::new(1, 1, 1), vec![Reply::text("hi")]);
    let session = stage.create().await.unwrap();
    assert_eq!(stop(start(&session).settled().await), StopReason::EndTurn);
    let before = stage.runtime.events(session.id(), 0).await.unwrap();
    assert_eq!(start(&session).settled().await, Err(refused("prompts").into()));
    assert_eq!(session.steer(vec![Content::text("and")]).settled().await, Err(refused("prompts").into()));
    assert_eq!(stage.runtime.events(session.id(), 0).await.unwrap(), before);
    assert_eq!(stage.model.requests().len(), 1);
}

#[tokio::test]
async fn a_turn_waits_for_the_end_of_another_sessions_turn() {
    let limits = Limits::new(2, 9, 0);
    let stage = operated(limits.clone(), vec![Reply::text("one"), Reply::text("two")]);
    let (a, b) = (stage.create().await.unwrap(), stage.create().await.unwrap());
    let (mut first, mut second) = (start(&a), start(&b));
    tokio::task::yield_now().await;
    assert_eq!(stage.model.requests().len(), 0, "no turn may run");
    limits.turns.add_permits(1);
    assert_eq!(stop(first.settled().await), StopReason::EndTurn);
    assert_eq!(stop(second.settled().await), StopReason::EndTurn);
    assert_eq!(limits.turns.available_permits(), 1, "both have given their place back");
}

#[tokio::test]
async fn a_prompt_that_is_cancelled_while_it_waits_gives_up_its_place_in_the_queue() {
    let limits = Limits::new(2, 9, 0);
    let stage = operated(limits.clone(), vec![Reply::text("two")]);
    let (a, b) = (stage.create().await.unwrap(), stage.create().await.unwrap());
    let mut first = start(&a);
    tokio::task::yield_now().await;
    let mut second = start(&b);
    tokio::task::yield_now().await;
    a.cancel();
    assert_eq!(stop(first.settled().await), StopReason::Cancelled);
    limits.turns.add_permits(1);
    assert_eq!(stop(second.settled().await), StopReason::EndTurn);
    assert!(stage.runtime.events(a.id(), 0).await.unwrap().is_empty(), "it never began");
}
