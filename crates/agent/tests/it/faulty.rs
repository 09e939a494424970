//! Seams that fail once: the N-th operation of a kind, with an error, by never ending, or by a panic.

use agent::fake::MemoryStore;
use agent::{
    Client, ContentHash, LanguageModel, Lease, ListQuery, Message, ModelError, ModelEvent, ModelInfo,
    ModelRequest, ModelStop, Models, NewSession, PermissionOutcome, PermissionRequest, SearchHit,
    SearchQuery, SessionEvent, SessionId, SessionPage, SessionRecord, SessionStore, StoreError,
};
use async_trait::async_trait;
use futures::{StreamExt as _, stream::BoxStream};
use serde_json::json;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};
use system::{
    AbsPath, Command, Entry, FakeSystem, Metadata, Process, Routes, System, SystemError, TextRange,
    WalkOptions,
};

/// How an operation goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Error,
    Hang,
    Panic,
}

/// What goes wrong, and when: the operation with this number, counted from 1.
#[derive(Debug)]
pub(crate) struct Plan {
    fault: Fault,
    at: usize,
    seen: AtomicUsize,
}

impl Plan {
    pub(crate) fn new(fault: Fault, at: usize) -> Arc<Self> {
        Arc::new(Self { fault, at, seen: AtomicUsize::new(0) })
    }

    /// One that never comes.
    pub(crate) fn none() -> Arc<Self> {
        Self::new(Fault::Error, usize::MAX)
    }

    /// Whether it has come.
    pub(crate) fn came(&self) -> bool {
        self.seen.load(Ordering::SeqCst) >= self.at
    }

    /// How many operations there were.
    pub(crate) fn count(&self) -> usize {
        self.seen.load(Ordering::SeqCst)
    }

    /// Before an operation; whether it is to fail.
    async fn step(&self) -> bool {
        if self.seen.fetch_add(1, Ordering::SeqCst) + 1 != self.at {
            return false;
        }
        match self.fault {
            Fault::Error => true,
            Fault::Hang => std::future::pending().await,
            Fault::Panic => panic!("as the test wanted"),
        }
    }
}

/// The session that a fault is for, with the fault.
type Victim = Mutex<Option<(SessionId, Arc<Plan>)>>;

/// A store that fails for one session.
pub(crate) struct FaultyStore {
    pub(crate) inner: MemoryStore,
    pub(crate) victim: Victim,
}

impl FaultyStore {
    async fn step(&self, id: &SessionId) -> Result<(), StoreError> {
        let plan = self
            .victim
            .lock()
            .unwrap()
            .as_ref()
            .filter(|(victim, _)| victim == id)
            .map(|(_, plan)| plan.clone());
        match plan {
            Some(plan) if plan.step().await => Err(StoreError::Io("as the test wanted".to_owned())),
            _ => Ok(()),
        }
    }
}

#[async_trait]
impl SessionStore for FaultyStore {
    async fn create(&self, session: NewSession) -> Result<Lease, StoreError> {
        self.inner.create(session).await
    }

    async fn get(&self, id: &SessionId) -> Result<SessionRecord, StoreError> {
        self.step(id).await?;
        self.inner.get(id).await
    }

    async fn acquire(&self, id: &SessionId, take_over: bool) -> Result<Lease, StoreError> {
        self.step(id).await?;
        self.inner.acquire(id, take_over).await
    }

    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.step(&lease.session).await?;
        self.inner.release(lease).await
    }

    async fn append(&self, lease: &Lease, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        self.step(&lease.session).await?;
        self.inner.append(lease, events).await
    }

    async fn events(
        &self,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, SessionEvent)>, StoreError> {
        self.step(id).await?;
        self.inner.events(id, after, limit).await
    }

    async fn content(&self, id: &SessionId, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.step(id).await?;
        self.inner.content(id, hash).await
    }

    async fn set_directories(&self, lease: &Lease, folders: Vec<AbsPath>) -> Result<(), StoreError> {
        self.inner.set_directories(lease, folders).await
    }

    async fn fork(&self, from: &SessionId, session: NewSession) -> Result<Lease, StoreError> {
        self.inner.fork(from, session).await
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

/// A model that reads, edits, runs a command and says so, as far as the conversation has come, and fails for one session.
#[derive(Clone)]
pub(crate) struct FaultyModel {
    pub(crate) info: ModelInfo,
    pub(crate) victim: Arc<Victim>,
}

impl FaultyModel {
    fn plan(&self, session: Option<&str>) -> Option<Arc<Plan>> {
        let victim = self.victim.lock().unwrap();
        victim.as_ref().filter(|(id, _)| Some(id.as_str()) == session).map(|(_, plan)| plan.clone())
    }
}

impl LanguageModel for FaultyModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let said = request.messages.iter().rev().take_while(|m| matches!(m, Message::Assistant(_))).count();
        let call = |name: &str, arguments| ModelEvent::ToolCall {
            provider_id: format!("p{said}"),
            name: name.to_owned(),
            arguments: Ok(arguments),
        };
        let events = match said {
            0 => vec![call("file_read", json!({"path": "a.txt"})), ModelEvent::Stop(ModelStop::ToolCalls)],
            1 => vec![
                call("file_write", json!({"path": "new.txt", "content": "new"})),
                ModelEvent::Stop(ModelStop::ToolCalls),
            ],
            2 => vec![call("bash", json!({"command": "cargo test"})), ModelEvent::Stop(ModelStop::ToolCalls)],
            _ => vec![ModelEvent::Text("done".to_owned()), ModelEvent::Stop(ModelStop::EndTurn)],
        };
        let plan = self.plan(request.cache_key.as_deref());
        let failing = move |event| {
            let plan = plan.clone();
            async move {
                match plan {
                    Some(plan) if plan.step().await => {
                        Err(ModelError::Transport("as the test wanted".to_owned()))
                    }
                    _ => Ok(event),
                }
            }
        };
        futures::stream::iter(events).then(failing).boxed()
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
        Ok(Arc::new(self.clone()))
    }
}

/// A client that allows everything and remembers what it was told; it fails when it is asked.
pub(crate) struct FaultyClient {
    pub(crate) plan: Arc<Plan>,
    pub(crate) events: Mutex<Vec<SessionEvent>>,
}

#[async_trait]
impl Client for FaultyClient {
    fn notify(&self, event: &SessionEvent) {
        self.events.lock().unwrap().push(event.clone());
    }

    async fn request_permission(&self, _request: PermissionRequest) -> PermissionOutcome {
        match self.plan.step().await {
            true => PermissionOutcome::RejectOnce,
            false => PermissionOutcome::AllowOnce,
        }
    }
}

/// A system that fails.
pub(crate) struct FaultySystem {
    pub(crate) inner: Arc<FakeSystem>,
    pub(crate) plan: Arc<Plan>,
}

macro_rules! failing {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        #[async_trait]
        impl System for FaultySystem {
            $(async fn $name(&self, $($argument: $type),*) -> Result<$result, SystemError> {
                if self.plan.step().await {
                    return Err(SystemError::NotFound(AbsPath::new("/as/the/test/wanted").unwrap()));
                }
                self.inner.$name($($argument),*).await
            })*

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
    spawn(command: Command) -> Box<dyn Process>;
    read_text_on_disk(path: &AbsPath) -> Option<String>;
}
