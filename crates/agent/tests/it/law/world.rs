//! Plays a script on a session, across the processes that open it.

use super::{
    model::{Cast, Play},
    script::{Act, Course, Script},
};
use agent::fake::MemoryStore;
use agent::{
    Access, AnyCall, AnyTool, Client, Content, ContextLimits, CreateSession, Description, Effect, Limits,
    ModelRequest, OpenSession, PermissionOutcome, PermissionRequest, Runtime, RuntimeOptions, SampleRequest,
    SessionEvent, SessionHandle, SessionId, SubagentState, SubagentTimes, Surface, SwarmEvent, ToolContent,
    ToolContext, ToolError, ToolKind, ToolOutput, ToolSpec, Usage,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use system::{AbsPath, FakeSystem, fake};
use tokio::sync::Notify;

/// A user who answers permission requests with these outcomes in a cycle.
struct User {
    outcomes: Vec<PermissionOutcome>,
    asked: AtomicUsize,
    /// Notified when a subagent has ended.
    ended: Arc<Notify>,
}

#[async_trait]
impl Client for User {
    fn notify(&self, event: &SessionEvent) {
        if let SessionEvent::Swarm(SwarmEvent::Completed(_)) = event {
            self.ended.notify_one();
        }
    }

    async fn request_permission(&self, _request: PermissionRequest) -> PermissionOutcome {
        self.outcomes[self.asked.fetch_add(1, Ordering::Relaxed) % self.outcomes.len()]
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        vec![Arc::new(AskModel)]
    }
}

/// A tool that sends a request to the session's model.
#[derive(Clone)]
struct AskModel;

impl AnyTool for AskModel {
    fn spec(&self) -> ToolSpec {
        let parameters = json!({ "type": "object" });
        ToolSpec { name: "ask_model".to_owned(), description: "Asks the model".to_owned(), parameters }
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed("ask_model")
    }

    fn effect(&self) -> Effect {
        Effect::Session
    }

    fn parse(&self, _arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        Ok(Box::new(self.clone()))
    }
}

#[async_trait]
impl AnyCall for AskModel {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        Description { title: "Ask".to_owned(), kind: ToolKind::Think, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        Vec::new()
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Ok(Vec::new())
    }

    async fn run(&mut self, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let request = SampleRequest {
            server: "helper".to_owned(),
            system: "sample".to_owned(),
            messages: vec![agent::Message::User(vec![Content::text("what?")])],
            max_output: 100,
        };
        match cx.nested_calls.sample(request).await {
            Ok(sampled) => Ok(ToolOutput::text(sampled.text)),
            Err(error) => Err(ToolError::message(error.to_string())),
        }
    }
}

/// A process with its open session.
struct Process {
    runtime: Arc<Runtime>,
    session: SessionHandle,
    play: Arc<Mutex<Play>>,
}

pub(super) struct World {
    script: Script,
    store: Arc<MemoryStore>,
    system: Arc<FakeSystem>,
    /// Includes processes that crashed: their tasks still run, and must have no effect.
    processes: Vec<Process>,
    /// Notified when a subagent has ended.
    ended: Arc<Notify>,
}

/// How a session reacts to one more prompt.
#[derive(Debug, PartialEq)]
pub(super) struct Next {
    pub(super) requests: Vec<ModelRequest>,
    pub(super) total: Usage,
    pub(super) events: Vec<SessionEvent>,
    /// The subagents as clients are shown them, without times.
    pub(super) agents: Vec<SubagentState>,
}

impl World {
    pub(super) async fn new(script: Script) -> Self {
        let system = Arc::new(FakeSystem::new());
        system.add_file("/w/a.txt", "one\ntwo\n");
        system.add_file("/w/long.txt", "a line of text of some length\n".repeat(200));
        system.on_command("cargo test", |_| fake::Script::exits(0).prints("ok\n"));
        let mut world =
            Self { script, store: Arc::default(), system, processes: Vec::new(), ended: Arc::default() };
        let (runtime, play) = world.runtime(world.store.clone());
        let new = CreateSession {
            cwd: AbsPath::new("/w").unwrap(),
            additional_directories: Vec::new(),
            servers: Vec::new(),
        };
        let session = runtime.create(new, |_| world.surface()).await.unwrap();
        world.processes.push(Process { runtime, session, play });
        world
    }

    fn runtime(&self, store: Arc<MemoryStore>) -> (Arc<Runtime>, Arc<Mutex<Play>>) {
        let context = ContextLimits {
            auto_compact: self.script.auto_compact,
            prune_protect: 1_000,
            prune_min_savings: 500,
            ..ContextLimits::default()
        };
        let limits = Limits { context, turn_requests: 8, ..Limits::default() };
        let play = Arc::default();
        let options = RuntimeOptions { limits, ..RuntimeOptions::default() };
        (Runtime::new(store, Arc::new(Cast::new(&play)), options), play)
    }

    fn surface(&self) -> Surface {
        let (outcomes, ended) = (self.script.outcomes.clone(), self.ended.clone());
        let user = User { outcomes, asked: AtomicUsize::new(0), ended };
        Surface { client: Arc::new(user), system: self.system.clone() }
    }

    async fn open(&self, store: Arc<MemoryStore>, id: &SessionId) -> Process {
        let (runtime, play) = self.runtime(store);
        let how = OpenSession { take_over: true, ..OpenSession::default() };
        let session = runtime.open(id, how, |_| self.surface()).await.unwrap();
        Process { runtime, session, play }
    }

    fn now(&self) -> &Process {
        self.processes.last().unwrap()
    }

    /// Another process takes the session over.
    async fn reopen(&mut self) {
        let id = self.now().session.id().clone();
        let process = self.open(self.store.clone(), &id).await;
        self.processes.push(process);
    }

    /// Plays the script to its end.
    pub(super) async fn play(&mut self) {
        for (number, act) in self.script.acts.clone().into_iter().enumerate() {
            // Errors of a failing store and refusals are ignored here; the law is checked at the
            // end.
            match act {
                Act::Prompt(course) => self.prompt(number, &course).await,
                Act::Command(text, summaries) => {
                    let course = Course { tokens: 0, steps: Vec::new(), summaries };
                    self.say(text, &course).await;
                }
                Act::Mode(mode) => drop(self.now().session.set_mode(mode).await),
                Act::Effort(effort) => drop(self.now().session.set_effort(effort).await),
                Act::Title => drop(self.now().session.set_title("Mine".to_owned()).await),
                Act::Model(other) => {
                    let id = if other { "fake/other" } else { "fake/model" };
                    drop(self.now().session.set_model(id).await);
                }
                Act::Rewind(target) => drop(self.now().session.rewind(target).await),
                Act::Restart => {
                    self.now().runtime.shutdown().await;
                    self.reopen().await;
                }
                Act::Fork => self.fork().await,
                Act::Crash(appends, course) => {
                    self.store.fail_after(appends);
                    self.prompt(number, &course).await;
                    self.store.heal();
                    self.reopen().await;
                }
                Act::Trip(append, stored, course) => {
                    self.store.trip_after(append, stored);
                    self.prompt(number, &course).await;
                    self.store.heal();
                }
            }
        }
    }

    async fn prompt(&self, number: usize, course: &Course) {
        self.say(&format!("prompt {number} {}", "word".repeat(course.tokens)), course).await;
    }

    /// Sends a prompt and waits until all its effects are done.
    async fn say(&self, text: &str, course: &Course) {
        let Process { session, play, .. } = self.now();
        play.lock().unwrap().begin(session, course);
        let _ = session.prompt(vec![Content::text(text)]).await;
        loop {
            let said = play.lock().unwrap().said.pop();
            let set = play.lock().unwrap().set.pop();
            match (said, set) {
                (None, None) => return,
                (said, set) => {
                    if let Some(mut said) = said {
                        let _ = said.settled().await;
                    }
                    if let Some(set) = set {
                        set.await.unwrap();
                    }
                }
            }
        }
    }

    /// Waits until no subagent is at work: a turn that failed leaves those in the background.
    async fn wait_for_subagents(&self) {
        let Process { runtime, session, .. } = self.now();
        loop {
            let agents = runtime.subagents(session.id()).await.unwrap().agents;
            if agents.iter().all(|agent| agent.progress.status.is_final()) {
                return;
            }
            // The clock is paused: longer than every limit of a subagent, and over at once.
            let ended = tokio::time::timeout(Duration::from_secs(3_600), self.ended.notified()).await;
            ended.expect("a subagent that is at work ends");
        }
    }

    async fn fork(&mut self) {
        let new = CreateSession {
            cwd: AbsPath::new("/w").unwrap(),
            additional_directories: Vec::new(),
            servers: Vec::new(),
        };
        let Process { runtime, session, play } = self.now();
        let (runtime, play) = (runtime.clone(), play.clone());
        let session = runtime.fork(session.id(), new, |_| self.surface()).await.unwrap();
        self.processes.push(Process { runtime, session, play });
    }

    /// Returns how the running session reacts to one more prompt, and how a session does that
    /// another process opens over a copy of the log.
    pub(super) async fn next(&mut self) -> (Next, Next) {
        self.wait_for_subagents().await;
        let copy = Arc::new(self.store.copy());
        let id = self.now().session.id().clone();
        let resumed = self.open(copy, &id).await;
        (next(self.now()).await, next(&resumed).await)
    }
}

async fn next(process: &Process) -> Next {
    let Process { runtime, session, play } = process;
    {
        let course = Course { tokens: 0, steps: Vec::new(), summaries: Vec::new() };
        let mut play = play.lock().unwrap();
        play.begin(session, &course);
        play.requests.clear();
    }
    let outcome = session.prompt(vec![Content::text("next")]).await;
    let mut events = Vec::new();
    runtime.replay(session.id(), &mut |event| events.push(event.clone())).await.unwrap();
    let mut agents = runtime.subagents(session.id()).await.unwrap().agents;
    // Those that were interrupted end when each process finds them.
    let states = events.iter_mut().filter_map(|event| match event {
        SessionEvent::Subagent(state) => Some(state.as_mut()),
        _ => None,
    });
    for agent in states.chain(&mut agents) {
        agent.times = SubagentTimes::default();
        // What a subagent has received is in its own log.
        agent.progress.delivered &= agent.place.parent.is_none();
    }
    let requests = play.lock().unwrap().requests.clone();
    Next { requests, total: outcome.map(|outcome| outcome.total).unwrap_or_default(), events, agents }
}
