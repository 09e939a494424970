//! Subagents: their requests, order, failures, results and restarts.

mod changes;
mod crash;
mod failures;
mod large;
mod order;
mod permissions;
mod requests;
mod results;
mod together;

use agent::fake::{FakeClient, FakeModels, MemoryStore, Reply, said};
use agent::{
    Content, CreateSession, LanguageModel, Limits, Message, ModelAbilities, ModelError, ModelEvent,
    ModelInfo, ModelLimits, ModelRequest, OpenSession, PermissionMode, PermissionOutcome, PromptOutcome,
    Runtime, RuntimeOptions, SessionEvent, SessionHandle, SessionStart, SubagentState, SubagentStatus,
    Surface,
};
use futures::{StreamExt as _, stream::BoxStream};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use system::{AbsPath, FakeSystem, fake::Script};
use tokio::sync::Notify;

/// What a model sees of its conversation.
pub(super) struct Scene {
    /// The text of the first prompt. A subagent's ends with its task.
    pub(super) task: String,
    /// The number of answers given so far.
    pub(super) round: usize,
    /// The results of the last answer's calls, or the text of the last message.
    pub(super) last: Vec<String>,
    /// Whether one of those calls failed.
    pub(super) failed: bool,
    /// The names of the listed tools.
    pub(super) tools: Vec<String>,
    pub(super) system: String,
}

/// A model whose answers depend on the conversation, for many sessions at a time.
struct Actor {
    info: ModelInfo,
    act: Act,
    scenes: Arc<Mutex<Vec<Scene>>>,
    asked: Arc<Notify>,
}

type Act = Box<dyn Fn(&Scene) -> Reply + Send + Sync>;

impl LanguageModel for Actor {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        agent::fake::check_request(&request);
        let scene = scene(&request);
        let reply = (self.act)(&scene);
        self.scenes.lock().unwrap().push(scene);
        self.asked.notify_waiters();
        match reply {
            Reply::Events(events) => futures::stream::iter(events).boxed(),
            Reply::Hang(events) => {
                futures::stream::iter(events.into_iter().map(Ok)).chain(futures::stream::pending()).boxed()
            }
            Reply::Panic => panic!("the model panicked, as the test wanted"),
        }
    }
}

fn scene(request: &ModelRequest) -> Scene {
    let text = |content: &[Content]| {
        let texts = said(content).iter().map(|piece| match piece {
            Content::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        });
        texts.collect::<Vec<_>>().join("\n")
    };
    let Some(Message::User(first)) = request.messages.first() else { panic!() };
    let last = match request.messages.last() {
        Some(Message::User(content)) => vec![text(content)],
        Some(Message::Assistant(answer)) => answer.calls().map(|call| call.result.text.clone()).collect(),
        None => Vec::new(),
    };
    let failed = match request.messages.last() {
        Some(Message::Assistant(answer)) => answer.calls().any(|call| call.result.is_error),
        _ => false,
    };
    Scene {
        failed,
        task: text(first),
        round: request.messages.iter().filter(|message| matches!(message, Message::Assistant(_))).count(),
        last,
        tools: request.tools.iter().map(|tool| tool.name.clone()).collect(),
        system: request.system.clone(),
    }
}

/// A session whose model and subagents are played by a function.
pub(super) struct Play {
    pub(super) client: Arc<FakeClient>,
    pub(super) store: Arc<MemoryStore>,
    pub(super) runtime: Arc<Runtime>,
    pub(super) session: SessionHandle,
    pub(super) system: Arc<FakeSystem>,
    pub(super) scenes: Arc<Mutex<Vec<Scene>>>,
    asked: Arc<Notify>,
}

#[derive(Default)]
pub(super) struct Cast {
    pub(super) answers: Vec<Option<PermissionOutcome>>,
    pub(super) permission_mode: PermissionMode,
    pub(super) limits: Limits,
    pub(super) store: Arc<MemoryStore>,
}

fn runtime(
    store: &Arc<MemoryStore>,
    limits: Limits,
    permission_mode: PermissionMode,
    act: impl Fn(&Scene) -> Reply + Send + Sync + 'static,
) -> (Arc<Runtime>, Arc<Mutex<Vec<Scene>>>, Arc<Notify>) {
    let info = ModelInfo {
        id: "fake/model".to_owned(),
        name: "Fake".to_owned(),
        limits: ModelLimits { context_size: 100_000, max_output: 4_096, silence: None },
        abilities: ModelAbilities { images: true, ..ModelAbilities::default() },
        ..ModelInfo::default()
    };
    let (scenes, asked) = (Arc::new(Mutex::default()), Arc::new(Notify::new()));
    let actor = Actor { info, act: Box::new(act), scenes: Arc::clone(&scenes), asked: Arc::clone(&asked) };
    let options = RuntimeOptions {
        start: SessionStart { permission_mode, ..SessionStart::default() },
        limits,
        ..RuntimeOptions::default()
    };
    (Runtime::new(store.clone(), Arc::new(FakeModels(Arc::new(actor))), options), scenes, asked)
}

fn system() -> Arc<FakeSystem> {
    let system = Arc::new(FakeSystem::new());
    system.add_file("/w/a.txt", "one\ntwo\n");
    system.on_command("cargo test", |_| Script::exits(0).prints("ok\n"));
    system
}

pub(super) async fn play(cast: Cast, act: impl Fn(&Scene) -> Reply + Send + Sync + 'static) -> Play {
    let Cast { answers, permission_mode, limits, store } = cast;
    let (runtime, scenes, asked) = runtime(&store, limits, permission_mode, act);
    let (client, system) = (FakeClient::new(answers), system());
    let surface = Surface { client: client.clone(), system: system.clone() };
    let new = CreateSession {
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let session = runtime.create(new, |_| surface).await.unwrap();
    Play { client, store, runtime, session, system, scenes, asked }
}

impl Play {
    pub(super) async fn prompt(&self, text: &str) -> PromptOutcome {
        self.session.prompt(vec![Content::text(text)]).await.unwrap()
    }

    /// Opens the session in another process, with a model that acts like this.
    pub(super) async fn reopen(&self, act: impl Fn(&Scene) -> Reply + Send + Sync + 'static) -> Play {
        let store = Arc::new(self.store.as_another_process());
        let (runtime, scenes, asked) = runtime(&store, Limits::default(), PermissionMode::default(), act);
        let (client, system) = (FakeClient::new([]), system());
        let surface = Surface { client: client.clone(), system: system.clone() };
        let how = OpenSession { take_over: true, ..OpenSession::default() };
        let session = runtime.open(self.session.id(), how, |_| surface).await.unwrap();
        Play { client, store, runtime, session, system, scenes, asked }
    }

    /// Returns the last recorded state of each subagent, in the order they were requested.
    pub(super) async fn agents(&self) -> Vec<SubagentState> {
        let mut agents: Vec<SubagentState> = Vec::new();
        let mut each = |event: &SessionEvent| {
            if let SessionEvent::Subagent(state) = event {
                match agents.iter_mut().find(|known| known.id == state.id) {
                    Some(known) => *known = SubagentState::clone(state),
                    None => agents.push(SubagentState::clone(state)),
                }
            }
        };
        self.runtime.replay(self.session.id(), &mut each).await.unwrap();
        agents
    }

    /// Returns the status of each subagent.
    pub(super) async fn statuses(&self) -> Vec<(String, SubagentStatus)> {
        self.agents().await.into_iter().map(|agent| (agent.id, agent.progress.status)).collect()
    }

    /// Returns the texts that the session's own model received after its last answer.
    pub(super) fn received(&self) -> Vec<String> {
        let scenes = self.scenes.lock().unwrap();
        let mut own = scenes.iter().filter(|scene| !scene.is_subagent());
        own.next_back().map(|scene| scene.last.clone()).unwrap_or_default()
    }

    /// Waits until the model was asked about this task.
    pub(super) async fn until_asked(&self, task: &str) {
        self.until(|scene| scene.task.ends_with(task)).await;
    }

    /// Waits until the model was asked in such a scene.
    pub(super) async fn until(&self, fits: impl Fn(&Scene) -> bool) {
        loop {
            let mut asked = std::pin::pin!(self.asked.notified());
            asked.as_mut().enable();
            if self.scenes.lock().unwrap().iter().any(&fits) {
                return;
            }
            asked.await;
        }
    }
}

impl Scene {
    pub(super) fn is_subagent(&self) -> bool {
        self.task.starts_with("You are a subagent")
    }

    /// Whether this is the conversation of the subagent with this task.
    pub(super) fn is(&self, task: &str) -> bool {
        self.is_subagent() && self.task.ends_with(&format!("\n\n{task}"))
    }
}

/// An answer that calls the `subagent` tool.
pub(super) fn subagent(arguments: Value) -> Reply {
    Reply::calls(&[("subagent", arguments)])
}

/// An answer that requests these subagents as a batch.
pub(super) fn batch(agents: Value) -> Reply {
    subagent(json!({ "agents": agents }))
}
