//! Seams that fail once: the N-th operation, with an error before or after it was done, by never ending, or by a panic.

use agent::fake::{MemoryStore, check_request};
use agent::{
    Client, Content, ContentHash, LanguageModel, Lease, ListQuery, Message, ModelError, ModelEvent,
    ModelInfo, ModelRequest, ModelStop, Models, NewSession, PermissionOutcome, PermissionRequest, SearchHit,
    SearchQuery, SessionEvent, SessionId, SessionPage, SessionRecord, SessionStore, StoreError, ToolStatus,
};
use async_trait::async_trait;
use futures::{StreamExt as _, stream::BoxStream};
use serde_json::json;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};
use system::{
    AbsPath, Command, Entry, ExitStatus, FakeSystem, Metadata, Output, Process, Routes, System, SystemError,
    TerminalId, TextRange, WalkOptions,
};
use tokio::sync::Notify;

/// How an operation goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// An error, and nothing was done.
    Error,
    /// It was done, and all that comes back is an error.
    Late,
    Hang,
    Panic,
}

/// What goes wrong, and when: the operation with this number, counted from 1 over all seams that share the plan.
#[derive(Debug)]
pub(crate) struct Plan {
    fault: Fault,
    at: usize,
    seen: AtomicUsize,
    reached: Notify,
}

impl Plan {
    pub(crate) fn new(fault: Fault, at: usize) -> Arc<Self> {
        Arc::new(Self { fault, at, seen: AtomicUsize::new(0), reached: Notify::new() })
    }

    /// One that never comes.
    pub(crate) fn none() -> Arc<Self> {
        Self::new(Fault::Error, usize::MAX)
    }

    /// Whether it has come.
    pub(crate) fn came(&self) -> bool {
        self.seen.load(Ordering::SeqCst) >= self.at
    }

    /// Completes when it comes; for one waiter.
    pub(crate) async fn coming(&self) {
        self.reached.notified().await;
    }

    /// How many operations there were.
    pub(crate) fn count(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }

    /// Before an operation: the error that it is to end with, if it is. Hangs and panics happen here.
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

    /// One operation: done, or failed before it began, or done and reported as failed.
    pub(crate) async fn through<T, E>(
        &self,
        operation: impl Future<Output = Result<T, E>>,
        error: impl FnOnce() -> E,
    ) -> Result<T, E> {
        match self.step().await {
            None => operation.await,
            Some(Fault::Late) => operation.await.and_then(|_| Err(error())),
            Some(_) => Err(error()),
        }
    }
}

/// The session that a fault is for, or all of them, with the fault.
pub(crate) type Target = Option<(Option<SessionId>, Arc<Plan>)>;
type Victim = Mutex<Target>;

fn plan_of(victim: &Victim, session: Option<&str>) -> Option<Arc<Plan>> {
    let victim = victim.lock().unwrap();
    let (id, plan) = victim.as_ref()?;
    id.as_ref().is_none_or(|id| Some(id.as_str()) == session).then(|| plan.clone())
}

/// A store that fails for one session, or for all.
pub(crate) struct FaultyStore {
    pub(crate) inner: Arc<MemoryStore>,
    pub(crate) victim: Victim,
}

impl FaultyStore {
    async fn through<T>(
        &self,
        id: &SessionId,
        operation: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        match plan_of(&self.victim, Some(id.as_str())) {
            Some(plan) => plan.through(operation, || StoreError::Io("as the test wanted".to_owned())).await,
            None => operation.await,
        }
    }
}

#[async_trait]
impl SessionStore for FaultyStore {
    async fn create(&self, session: NewSession) -> Result<Lease, StoreError> {
        let id = session.id.clone();
        self.through(&id, self.inner.create(session)).await
    }

    async fn get(&self, id: &SessionId) -> Result<SessionRecord, StoreError> {
        self.through(id, self.inner.get(id)).await
    }

    async fn acquire(&self, id: &SessionId, take_over: bool) -> Result<Lease, StoreError> {
        self.through(id, self.inner.acquire(id, take_over)).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.through(&lease.session, self.inner.release(lease)).await
    }

    async fn append(&self, lease: &Lease, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        self.through(&lease.session, self.inner.append(lease, events)).await
    }

    async fn events(
        &self,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, SessionEvent)>, StoreError> {
        self.through(id, self.inner.events(id, after, limit)).await
    }

    async fn content(&self, id: &SessionId, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.through(id, self.inner.content(id, hash)).await
    }

    async fn set_directories(&self, lease: &Lease, folders: Vec<AbsPath>) -> Result<(), StoreError> {
        self.through(&lease.session, self.inner.set_directories(lease, folders)).await
    }

    async fn fork(&self, from: &SessionId, session: NewSession) -> Result<Lease, StoreError> {
        self.through(from, self.inner.fork(from, session)).await
    }

    async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        self.inner.delete(id).await
    }

    async fn set_archived(&self, id: &SessionId, archived: bool) -> Result<(), StoreError> {
        self.inner.set_archived(id, archived).await
    }

    async fn list(&self, query: ListQuery) -> Result<SessionPage, StoreError> {
        self.inner.list(query).await
    }

    async fn search(&self, query: SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        self.inner.search(query).await
    }
}

/// What the model does: by the number that the prompt `go NUMBER` has, and how many answers followed that prompt.
pub(crate) type ModelScript = fn(&str, usize) -> Vec<ModelEvent>;

pub(crate) fn call(id: &str, name: &str, arguments: serde_json::Value) -> ModelEvent {
    ModelEvent::ToolCall { provider_id: id.to_owned(), name: name.to_owned(), arguments: Ok(arguments) }
}

/// Reads, writes, runs a command and says so.
pub(crate) fn short_turn(_: &str, said: usize) -> Vec<ModelEvent> {
    let id = format!("p{said}");
    let call = match said {
        0 => call(&id, "file_read", json!({"path": "a.txt"})),
        1 => call(&id, "file_write", json!({"path": "new.txt", "content": "new"})),
        2 => call(&id, "bash", json!({"command": "cargo test"})),
        _ => return vec![ModelEvent::Text("done".to_owned()), ModelEvent::Stop(ModelStop::EndTurn)],
    };
    vec![call, ModelEvent::Stop(ModelStop::ToolCalls)]
}

/// A model that goes on from wherever the conversation is, and fails for one session, or for all. It holds the test to conversations
/// that providers take.
#[derive(Clone)]
pub(crate) struct FaultyModel {
    pub(crate) info: ModelInfo,
    pub(crate) script: ModelScript,
    pub(crate) victim: Arc<Victim>,
}

impl FaultyModel {
    pub(crate) fn new(script: ModelScript) -> Self {
        let info = ModelInfo {
            id: "fake/model".to_owned(),
            name: "Fake".to_owned(),
            description: None,
            context_size: 40_000,
            max_output: 4_096,
            images: false,
            disclosure: None,
        };
        Self { info, script, victim: Arc::default() }
    }

    fn events(&self, request: &ModelRequest) -> Vec<ModelEvent> {
        if request.tools.is_empty() {
            let summary = ModelEvent::Text("The goal was to go on.".to_owned());
            return vec![summary, ModelEvent::Stop(ModelStop::EndTurn)];
        }
        let mut said = 0;
        for message in request.messages.iter().rev() {
            match message {
                Message::Assistant(_) => said += 1,
                Message::User(content) => {
                    let Some(Content::Text(text)) = content.first() else { continue };
                    if let Some(number) = text.strip_prefix("go") {
                        let number = number.split_whitespace().next().unwrap_or_default();
                        return (self.script)(number, said);
                    }
                }
            }
        }
        vec![ModelEvent::Text("Yes?".to_owned()), ModelEvent::Stop(ModelStop::EndTurn)]
    }
}

impl LanguageModel for FaultyModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        check_request(&request);
        let plan = plan_of(&self.victim, request.cache_key.as_deref());
        let failing = move |event| {
            let plan = plan.clone();
            async move {
                let error = || Err(ModelError::Transport("as the test wanted".to_owned()));
                let fault = match plan {
                    Some(plan) => plan.step().await,
                    None => None,
                };
                futures::stream::iter(match fault {
                    None => vec![Ok(event)],
                    Some(Fault::Late) => vec![Ok(event), error()],
                    Some(_) => vec![error()],
                })
            }
        };
        futures::stream::iter(self.events(&request)).then(failing).flatten().boxed()
    }
}

#[async_trait]
impl Models for FaultyModel {
    fn list(&self) -> Vec<ModelInfo> {
        vec![self.info.clone()]
    }

    async fn default_id(&self) -> String {
        self.info.id.clone()
    }

    async fn get(&self, _id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let model: Arc<dyn LanguageModel> = Arc::new(self.clone());
        match plan_of(&self.victim, None) {
            Some(plan) => {
                let gone = || ModelError::Transport("as the test wanted".to_owned());
                plan.through(async { Ok(model) }, gone).await
            }
            None => Ok(model),
        }
    }
}

/// A client that allows everything and remembers what it was told; it fails when it is asked.
pub(crate) struct FaultyClient {
    pub(crate) plan: Arc<Plan>,
    pub(crate) events: Arc<Mutex<Vec<SessionEvent>>>,
}

impl FaultyClient {
    pub(crate) fn told(&self) -> Vec<SessionEvent> {
        self.events.lock().unwrap().clone()
    }
}

/// Every call that was announced ended once, and every turn that began ended once.
pub(crate) fn told_whole(events: &[SessionEvent], when: &str) {
    let mut calls: HashMap<String, ToolStatus> = HashMap::new();
    let mut turn = None;
    for event in events {
        match event {
            SessionEvent::ToolCall(update) => {
                let Some(status) = update.status else { continue };
                let before = calls.insert(update.id.to_string(), status);
                assert!(before.is_none_or(|before| !before.is_final()), "{when}: {} ended twice", update.id);
            }
            SessionEvent::TurnStarted { turn: began } => {
                assert_eq!(turn.replace(began), None, "{when}: a turn began inside another");
            }
            SessionEvent::TurnEnded { turn: ended, .. } => {
                assert_eq!(turn.take(), Some(ended), "{when}: {ended} ended and had not begun");
            }
            _ => {}
        }
    }
    assert_eq!(turn, None, "{when}: a turn never ended");
    assert!(calls.values().all(|status| status.is_final()), "{when}: {calls:?}");
}

#[async_trait]
impl Client for FaultyClient {
    fn notify(&self, event: &SessionEvent) {
        self.events.lock().unwrap().push(event.clone());
    }

    async fn request_permission(&self, _request: PermissionRequest) -> PermissionOutcome {
        match self.plan.step().await {
            Some(Fault::Late) => PermissionOutcome::Cancelled,
            Some(_) => PermissionOutcome::RejectOnce,
            None => PermissionOutcome::AllowOnce,
        }
    }
}

/// A system that fails, and whose processes do.
pub(crate) struct FaultySystem {
    pub(crate) inner: Arc<FakeSystem>,
    pub(crate) plan: Arc<Plan>,
}

fn broken(path: &AbsPath) -> SystemError {
    SystemError::from_io("use", path, std::io::Error::other("as the test wanted"))
}

fn any_path() -> AbsPath {
    AbsPath::new("/as/the/test/wanted").unwrap()
}

macro_rules! failing {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        #[async_trait]
        impl System for FaultySystem {
            $(async fn $name(&self, $($argument: $type),*) -> Result<$result, SystemError> {
                self.plan.through(self.inner.$name($($argument),*), || broken(&any_path())).await
            })*

            async fn spawn(&self, command: Command) -> Result<Box<dyn Process>, SystemError> {
                let started = self.plan.through(self.inner.spawn(command), || broken(&any_path())).await?;
                Ok(Box::new(FaultyProcess { inner: started, plan: self.plan.clone() }))
            }

            fn routes(&self) -> Routes {
                self.inner.routes()
            }
        }
    };
}

failing! {
    read(path: &AbsPath) -> Vec<u8>;
    read_text(path: &AbsPath, range: Option<TextRange>) -> String;
    write(path: &AbsPath, bytes: &[u8]) -> ();
    write_text(path: &AbsPath, text: &str) -> ();
    metadata(path: &AbsPath) -> Metadata;
    read_dir(path: &AbsPath) -> Vec<Entry>;
    create_dir_all(path: &AbsPath) -> ();
    remove(path: &AbsPath) -> ();
    rename(from: &AbsPath, to: &AbsPath) -> ();
    resolve(path: &AbsPath) -> AbsPath;
    walk(root: &AbsPath, options: WalkOptions) -> Vec<AbsPath>;
    read_text_on_disk(path: &AbsPath) -> Option<String>;
}

/// A process whose output ends early, or whose end is not told.
struct FaultyProcess {
    inner: Box<dyn Process>,
    plan: Arc<Plan>,
}

#[async_trait]
impl Process for FaultyProcess {
    fn terminal(&self) -> Option<&TerminalId> {
        self.inner.terminal()
    }

    async fn next_output(&mut self) -> Option<Output> {
        let lost = || ();
        let next = async { self.inner.next_output().await.ok_or(()) };
        self.plan.through(next, lost).await.ok()
    }

    async fn wait(&mut self) -> Result<ExitStatus, SystemError> {
        self.plan.through(self.inner.wait(), || broken(&any_path())).await
    }

    /// Returns in any case, as is promised of it.
    async fn kill(&mut self) {
        self.inner.kill().await;
    }
}
