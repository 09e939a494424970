//! Tests of requests that open a session and are cancelled, at each step of the store: nothing
//! stays open, and no lease is held.

use acp::{
    AcpOptions,
    testing::{Editor, EditorScript},
};
use agent::{
    ContentHash, FolderFacts, KnownFolder, Lease, ListQuery, Memories, NewSession, Owner, PermissionMode,
    Runtime, RuntimeOptions, SearchHit, SearchQuery, SessionEvent, SessionId, SessionPage, SessionRecord,
    SessionStart, SessionStore, StoreError,
    fake::{FakeModel, FakeModels, MemoryStore, Reply},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};
use system::{AbsPath, FakeSystem};
use tokio::sync::{Notify, Semaphore};

/// A store that counts leases, and blocks before one of its operations until released, or fails it.
struct BlockingStore {
    inner: MemoryStore,
    leases: Mutex<BTreeMap<String, i64>>,
    left: AtomicUsize,
    fails: AtomicBool,
    reached: Notify,
    go: Semaphore,
}

const NEVER: usize = usize::MAX / 2;

impl BlockingStore {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            inner: MemoryStore::default(),
            leases: Mutex::default(),
            left: AtomicUsize::new(NEVER),
            fails: AtomicBool::new(false),
            reached: Notify::new(),
            go: Semaphore::new(0),
        })
    }

    /// Blocks before the operation with this number, counted from 0 from now on.
    fn stop_at(&self, number: usize) {
        self.left.store(number, Ordering::SeqCst);
    }

    fn unblock(&self) {
        self.stop_at(NEVER);
        self.go.add_permits(1);
    }

    async fn step(&self) -> Result<(), StoreError> {
        if self.left.fetch_sub(1, Ordering::SeqCst) > 0 {
            return Ok(());
        }
        self.stop_at(NEVER);
        if self.fails.load(Ordering::SeqCst) {
            return Err(StoreError::Io("no space left on device".to_owned()));
        }
        self.reached.notify_one();
        self.go.acquire().await.unwrap().forget();
        Ok(())
    }

    fn count(&self, id: &SessionId, change: i64) {
        *self.leases.lock().unwrap().entry(id.to_string()).or_default() += change;
    }

    /// Returns the sessions whose lease is held.
    fn held(&self) -> Vec<String> {
        let leases = self.leases.lock().unwrap();
        leases.iter().filter(|(_, count)| **count > 0).map(|(id, _)| id.clone()).collect()
    }
}

#[async_trait]
impl SessionStore for BlockingStore {
    async fn create(&self, session: NewSession) -> Result<Lease, StoreError> {
        self.step().await?;
        let lease = self.inner.create(session).await?;
        self.count(&lease.session, 1);
        Ok(lease)
    }
    async fn get(&self, id: &SessionId) -> Result<SessionRecord, StoreError> {
        self.step().await?;
        self.inner.get(id).await
    }
    async fn parent(&self, id: &SessionId) -> Result<Option<SessionId>, StoreError> {
        self.step().await?;
        self.inner.parent(id).await
    }
    async fn acquire(&self, id: &SessionId, take_over: bool) -> Result<Lease, StoreError> {
        self.step().await?;
        let lease = self.inner.acquire(id, take_over).await?;
        self.count(id, 1);
        Ok(lease)
    }
    async fn release(&self, lease: &Lease) -> Result<(), StoreError> {
        self.count(&lease.session, -1);
        self.inner.release(lease).await
    }
    async fn append(&self, lease: &Lease, events: Vec<SessionEvent>) -> Result<u64, StoreError> {
        self.step().await?;
        self.inner.append(lease, events).await
    }
    async fn events(
        &self,
        id: &SessionId,
        after: u64,
        limit: usize,
    ) -> Result<Vec<(u64, SessionEvent)>, StoreError> {
        self.step().await?;
        self.inner.events(id, after, limit).await
    }
    async fn content(&self, id: &SessionId, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.inner.content(id, hash).await
    }
    async fn set_directories(&self, lease: &Lease, directories: Vec<AbsPath>) -> Result<(), StoreError> {
        self.step().await?;
        self.inner.set_directories(lease, directories).await
    }
    async fn set_cwd(&self, lease: &Lease, cwd: AbsPath) -> Result<(), StoreError> {
        self.inner.set_cwd(lease, cwd).await
    }
    async fn set_folder(&self, lease: &Lease, facts: FolderFacts) -> Result<(), StoreError> {
        self.inner.set_folder(lease, facts).await
    }
    async fn fork(&self, from: &SessionId, session: NewSession) -> Result<Lease, StoreError> {
        self.step().await?;
        let lease = self.inner.fork(from, session).await?;
        self.count(&lease.session, 1);
        Ok(lease)
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
    async fn directories(&self, owner: Option<&Owner>) -> Result<Vec<KnownFolder>, StoreError> {
        self.inner.directories(owner).await
    }
    async fn search(&self, query: SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        self.inner.search(query).await
    }
    async fn ids_with_prefix(
        &self,
        owner: Option<&Owner>,
        prefix: &str,
        limit: usize,
    ) -> Result<Vec<SessionId>, StoreError> {
        self.inner.ids_with_prefix(owner, prefix, limit).await
    }
    fn memories(&self) -> Option<Arc<dyn Memories>> {
        self.inner.memories()
    }
}

struct Fixture {
    store: Arc<BlockingStore>,
    runtime: Arc<Runtime>,
    options: AcpOptions,
    disk: Arc<FakeSystem>,
    script: EditorScript,
    /// A stored session with one turn, not open.
    session: String,
}

impl Fixture {
    async fn new(script: EditorScript) -> Self {
        let disk = FakeSystem::new();
        disk.add_file("/w/a.txt", "");
        disk.add_file("/lib/l.txt", "");
        let disk = Arc::new(disk);
        let store = BlockingStore::new();
        let models = Arc::new(FakeModels(FakeModel::new([Reply::text("hi")])));
        let options = RuntimeOptions {
            start: SessionStart { permission_mode: PermissionMode::Argus, ..SessionStart::default() },
            ..RuntimeOptions::default()
        };
        let runtime = Runtime::new(store.clone() as Arc<dyn SessionStore>, models, options);
        let options = AcpOptions::new(disk.clone(), "0.1.0", AbsPath::new("/w").unwrap());
        let mut fixture = Self { store, runtime, options, disk, script, session: String::new() };
        let editor = fixture.editor();
        fixture.session = editor.session("/w").await;
        match fixture.script.is_version_2() {
            true => drop(editor.turn(&fixture.session, "say hi").await),
            false => drop(editor.prompt(&fixture.session, "say hi").await.unwrap()),
        }
        editor.close().await.unwrap();
        assert_eq!(fixture.store.held(), Vec::<String>::new());
        fixture
    }

    fn editor(&self) -> Editor {
        let script = self.script.clone().over(self.disk.clone());
        crate::transport::connect(self.runtime.clone(), self.options.clone(), script)
    }

    fn params(&self, method: &str) -> Value {
        let directories = json!(["/lib"]);
        match method {
            "session/new" => json!({"cwd": "/w", "mcpServers": []}),
            "session/resume" if self.script.is_version_2() => json!({
                "sessionId": self.session, "cwd": "/w", "mcpServers": [], "replayFrom": {"type": "start"},
                "additionalDirectories": directories,
            }),
            _ => json!({
                "sessionId": self.session, "cwd": "/w", "mcpServers": [], "additionalDirectories": directories,
            }),
        }
    }

    async fn nothing_is_open(&self, editor: &Editor, when: &str) {
        assert_eq!(self.store.held(), Vec::<String>::new(), "{when}");
        let status = editor.ok("session/status", json!({"sessionId": self.session})).await;
        assert_eq!(status["status"], "saved", "{when}");
        let listed = editor.ok("session/list", json!({})).await;
        assert_eq!(listed["sessions"].as_array().unwrap().len(), 1, "{when}: no session was left behind");
    }
}

const METHODS: [(bool, &str); 6] = [
    (false, "session/load"),
    (false, "session/resume"),
    (false, "session/new"),
    (false, "session/fork"),
    (true, "session/resume"),
    (true, "session/fork"),
];

fn script(v2: bool) -> EditorScript {
    EditorScript::default().version_2(v2)
}

#[tokio::test]
async fn a_request_cancelled_at_any_step_leaves_nothing_open() {
    for (v2, method) in METHODS {
        let fixture = Fixture::new(script(v2)).await;
        let editor = fixture.editor();
        editor.initialize().await;
        let mut steps = 0;
        loop {
            let when = format!("{method} taken back at step {steps}");
            fixture.store.stop_at(steps);
            let (id, answer) = editor.start(method, fixture.params(method));
            let answer = tokio::spawn(answer);
            let reached = tokio::select! {
                () = fixture.store.reached.notified() => true,
                () = finished(&answer) => false,
            };
            fixture.store.stop_at(NEVER);
            if !reached {
                let answer = answer.await.unwrap().unwrap();
                let open = answer["sessionId"].as_str().unwrap_or(&fixture.session).to_owned();
                assert_eq!(fixture.store.held(), [open], "one that is answered stays open");
                break;
            }
            editor.notify("$/cancel_request", json!({"requestId": id}));
            // This response shows that the cancellation before it was processed.
            let unknown = editor.start("x/unknown", json!({})).1;
            unknown.await.unwrap_err();
            fixture.store.unblock();
            assert_eq!(answer.await.unwrap().unwrap_err()["code"], -32800, "{when}");
            fixture.nothing_is_open(&editor, &when).await;
            steps += 1;
        }
        assert!(steps > 0, "{method}");
        editor.close().await.unwrap();
    }
}

async fn finished<T>(task: &tokio::task::JoinHandle<T>) {
    while !task.is_finished() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_request_that_fails_at_any_step_leaves_nothing_open() {
    for (v2, method) in METHODS {
        let fixture = Fixture::new(script(v2)).await;
        let editor = fixture.editor();
        editor.initialize().await;
        let mut steps = 0;
        loop {
            fixture.store.fails.store(true, Ordering::SeqCst);
            fixture.store.stop_at(steps);
            let answer = editor.request(method, fixture.params(method)).await;
            fixture.store.stop_at(NEVER);
            let Err(error) = answer else { break };
            assert_eq!(error["data"]["reason"], "store", "{error}");
            assert_eq!(fixture.store.held(), Vec::<String>::new(), "{method} failed at step {steps}");
            steps += 1;
        }
        assert!(steps > 0, "{method}");
        editor.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_connection_that_ends_at_any_step_leaves_nothing_open() {
    if crate::transport::is_http() {
        return;
    }
    for (v2, method) in METHODS {
        for steps in 0.. {
            let fixture = Fixture::new(script(v2)).await;
            let editor = fixture.editor();
            editor.initialize().await;
            fixture.store.stop_at(steps);
            let (_, answer) = editor.start(method, fixture.params(method));
            let answer = tokio::spawn(answer);
            let reached = tokio::select! {
                () = fixture.store.reached.notified() => true,
                () = finished(&answer) => false,
            };
            if !reached {
                break;
            }
            let closing = tokio::spawn(editor.close());
            for _ in 0..100 {
                tokio::task::yield_now().await;
            }
            fixture.store.unblock();
            closing.await.unwrap().unwrap();
            assert_eq!(fixture.store.held(), Vec::<String>::new(), "{method} at step {steps}");
        }
    }
}

#[tokio::test]
async fn a_cancelled_load_keeps_a_session_that_the_client_has_open() {
    let fixture = Fixture::new(EditorScript::default()).await;
    let editor = fixture.editor();
    editor.initialize().await;
    editor.ok("session/resume", fixture.params("session/resume")).await;
    for steps in 0.. {
        fixture.store.stop_at(steps);
        let (id, answer) = editor.start("session/load", fixture.params("session/load"));
        let answer = tokio::spawn(answer);
        let reached = tokio::select! {
            () = fixture.store.reached.notified() => true,
            () = finished(&answer) => false,
        };
        if !reached {
            fixture.store.stop_at(NEVER);
            break;
        }
        editor.notify("$/cancel_request", json!({"requestId": id}));
        editor.start("x/unknown", json!({})).1.await.unwrap_err();
        fixture.store.unblock();
        answer.await.unwrap().unwrap_err();
        assert_eq!(fixture.store.held(), [fixture.session.as_str()]);
    }
    editor.close().await.unwrap();
    assert_eq!(fixture.store.held(), Vec::<String>::new());
}

#[tokio::test]
async fn cancelling_one_of_two_loads_keeps_the_session_open() {
    for taken_back in [0, 1] {
        let fixture = Fixture::new(EditorScript::default()).await;
        let editor = fixture.editor();
        editor.initialize().await;
        fixture.store.stop_at(3);
        let loads = [(); 2].map(|()| editor.start("session/load", fixture.params("session/load")));
        fixture.store.reached.notified().await;
        editor.notify("$/cancel_request", json!({"requestId": loads[taken_back].0}));
        editor.start("x/unknown", json!({})).1.await.unwrap_err();
        fixture.store.unblock();
        for (at, (_, answer)) in loads.into_iter().enumerate() {
            assert_eq!(answer.await.is_err(), at == taken_back);
        }
        assert_eq!(fixture.store.held(), [fixture.session.as_str()]);
        editor.ok("session/set_mode", json!({"sessionId": fixture.session, "modeId": "plan"})).await;
        editor.close().await.unwrap();
        assert_eq!(fixture.store.held(), Vec::<String>::new());
    }
}
