//! A session with two models whose answers name the number of the request.

use super::{
    script::{Act, Answer},
    shortens,
};
use crate::sources::Echo;
use agent::fake::{FakeClient, MemoryStore};
use agent::{
    AnyTool, Content, ContextLimits, CreateSession, LanguageModel, Limits, ModelCall, ModelError, ModelEvent,
    ModelInfo, ModelLimits, ModelRequest, ModelStop, Models, Offer, OpenSession, PermissionMode, Runtime,
    RuntimeOptions, SessionHandle, SessionScope, SessionStart, Surface, ToolProvider, ToolSource,
};
use async_trait::async_trait;
use futures::{StreamExt as _, stream::BoxStream};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};
use system::{AbsPath, FakeSystem};

/// A request, and how often something was left out before it.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) model: String,
    pub(super) request: ModelRequest,
    pub(super) shortened: usize,
}

/// The answers that the models have yet to give, and the requests so far.
#[derive(Default)]
struct Play {
    answers: VecDeque<Answer>,
    asked: Vec<Asked>,
    session: Option<SessionHandle>,
    clients: Vec<Arc<FakeClient>>,
}

pub(super) struct Stage {
    play: Arc<Mutex<Play>>,
    tools: Arc<Mutex<Vec<&'static str>>>,
    store: Arc<MemoryStore>,
    system: Arc<FakeSystem>,
    runtime: Arc<Runtime>,
}

impl Stage {
    pub(super) async fn new() -> Self {
        let system = Arc::new(FakeSystem::new());
        system.add_file("/w/a.txt", "one\n");
        system.add_dir("/elsewhere");
        let (play, tools, store) = (Arc::default(), Arc::default(), Arc::default());
        let runtime = runtime(&play, &tools, &store);
        let stage = Self { play, tools, store, system, runtime };
        stage.create("/w").await;
        stage
    }

    pub(super) fn asked(&self) -> Vec<Asked> {
        self.play.lock().unwrap().asked.clone()
    }

    async fn create(&self, cwd: &str) {
        let new = CreateSession {
            cwd: AbsPath::new(cwd).unwrap(),
            additional_directories: Vec::new(),
            servers: Vec::new(),
        };
        let session = self.runtime.create(new, |_| self.surface()).await.unwrap();
        self.play.lock().unwrap().session = Some(session);
    }

    fn surface(&self) -> Surface {
        let client = FakeClient::new([]);
        self.play.lock().unwrap().clients.push(client.clone());
        Surface { client, system: self.system.clone() }
    }

    fn session(&self) -> SessionHandle {
        self.play.lock().unwrap().session.clone().unwrap()
    }

    pub(super) async fn play(&mut self, act: Act) {
        match act {
            Act::Prompt(answers) => {
                self.play.lock().unwrap().answers = answers.into();
                // The outcome of a cancelled or failed prompt is not part of this test.
                let _ = self.session().prompt(vec![Content::text("prompt")]).await;
            }
            Act::Mode(mode) => self.session().set_mode(mode).await.unwrap(),
            Act::Day(day) => self.system.set_today(day),
            Act::Tools(tools) => *self.tools.lock().unwrap() = tools,
            Act::Instructions(text) => self.system.add_file("/w/AGENTS.md", text),
            Act::Model(other) => {
                let id = if other { "fake/other" } else { "fake/model" };
                self.session().set_model(id).await.unwrap();
            }
            Act::Further(any) => {
                let folders = any.then(|| AbsPath::new("/elsewhere").unwrap());
                self.session().set_directories(folders.into_iter().collect()).await.unwrap();
            }
            Act::Compact => drop(self.session().prompt(vec![Content::text("/compact")]).await),
            Act::Restart => {
                let id = self.session().id().clone();
                self.runtime.shutdown().await;
                self.runtime = runtime(&self.play, &self.tools, &self.store);
                let session =
                    self.runtime.open(&id, OpenSession::default(), |_| self.surface()).await.unwrap();
                self.play.lock().unwrap().session = Some(session);
            }
            Act::Folder(cwd) => {
                let mode = self.session().state().mode;
                self.create(&cwd).await;
                self.session().set_mode(mode).await.unwrap();
            }
        }
    }
}

fn runtime(
    play: &Arc<Mutex<Play>>,
    tools: &Arc<Mutex<Vec<&'static str>>>,
    store: &Arc<MemoryStore>,
) -> Arc<Runtime> {
    let context = ContextLimits { prune_protect: 100, prune_min_savings: 100, ..ContextLimits::default() };
    let provider: Arc<dyn ToolProvider> = Arc::new(Server(tools.clone()));
    let options = RuntimeOptions {
        start: SessionStart { permission_mode: PermissionMode::Prometheus, ..SessionStart::default() },
        limits: Limits { context, ..Limits::default() },
        tool_providers: [provider].into_iter().collect(),
        ..RuntimeOptions::default()
    };
    let actor = |id: &str| {
        let info = ModelInfo {
            id: id.to_owned(),
            name: id.to_owned(),
            limits: ModelLimits { context_size: 60_000, max_output: 4_096, silence: None },
            ..ModelInfo::default()
        };
        Arc::new(Actor { info, play: play.clone() })
    };
    let models = Arc::new(Cast([actor("fake/model"), actor("fake/other")]));
    Runtime::new(store.clone(), models, options)
}

/// A server whose tools change.
struct Server(Arc<Mutex<Vec<&'static str>>>);

impl ToolProvider for Server {
    fn open(&self, _session: &SessionScope) -> Arc<dyn ToolSource> {
        Arc::new(Self(self.0.clone()))
    }
}

#[async_trait]
impl ToolSource for Server {
    async fn offer(&self) -> Offer {
        let tools = self.0.lock().unwrap().clone();
        let tools = tools.into_iter().map(|name| Arc::new(Echo(name)) as Arc<dyn AnyTool>);
        Offer { tools: tools.collect(), ..Offer::default() }
    }
}

struct Cast([Arc<Actor>; 2]);

#[async_trait]
impl Models for Cast {
    fn list(&self) -> Vec<ModelInfo> {
        self.0.iter().map(|actor| actor.info.clone()).collect()
    }

    async fn default_id(&self) -> String {
        self.0[0].info.id.clone()
    }

    async fn get(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let found = self.0.iter().find(|actor| actor.info.id == id);
        Ok(found.expect("there are two models").clone())
    }
}

struct Actor {
    info: ModelInfo,
    play: Arc<Mutex<Play>>,
}

impl LanguageModel for Actor {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let stop = |stop| Ok(ModelEvent::Stop(stop));
        if request.system.starts_with("You sum up") {
            let summary = Ok(ModelEvent::Text("## Goal\nTo go on.".to_owned()));
            return futures::stream::iter([summary, stop(ModelStop::EndTurn)]).boxed();
        }
        let mut play = self.play.lock().unwrap();
        let shortened =
            play.clients.iter().map(|client| client.events().iter().filter(|e| shortens(e)).count());
        let shortened = shortened.sum();
        let number = play.asked.len();
        play.asked.push(Asked { model: self.info.id.clone(), request, shortened });
        let answer = play.answers.pop_front().unwrap_or(Answer::Says);
        let session = play.session.clone().unwrap();
        drop(play);
        let says = || Ok(ModelEvent::Text(format!("answer {number} {}", "word ".repeat(400))));
        let events = match answer {
            Answer::Says => vec![says(), stop(ModelStop::EndTurn)],
            Answer::Reads => calls(says(), &[("file_read", json!({ "path": "a.txt" }))]),
            Answer::Calls => calls(
                says(),
                &[
                    ("mcp__s__one", json!({})),
                    ("call_tool", json!({ "name": "mcp__s__two", "arguments": {} })),
                ],
            ),
            Answer::Misspelt => {
                let mut events =
                    calls(says(), &[("no_such_tool", json!({ "x": 0.1 })), ("call_tool", json!({}))]);
                let (provider_id, name) = ("malformed".to_owned(), "file_read".to_owned());
                let arguments = "{\"path\":".to_owned();
                let call = ModelCall { provider_id, name, arguments, opaque: None };
                events.insert(1, Ok(ModelEvent::ToolCall(call)));
                events
            }
            Answer::Breaks => vec![says(), Err(ModelError::Transport("cut".to_owned()))],
            Answer::Overflows => vec![Err(ModelError::ContextOverflow("too long".to_owned()))],
            Answer::Switches(mode) => {
                tokio::spawn(async move { session.set_mode(mode).await });
                calls(says(), &[("file_read", json!({ "path": "a.txt" }))])
            }
            Answer::Cancelled => {
                let then = futures::stream::once(async move {
                    session.cancel();
                    std::future::pending().await
                });
                return futures::stream::iter([says()]).chain(then).boxed();
            }
        };
        futures::stream::iter(events).boxed()
    }
}

type Event = Result<ModelEvent, ModelError>;

fn calls(says: Event, calls: &[(&str, Value)]) -> Vec<Event> {
    let call = |(at, (name, arguments)): (usize, &(&str, Value))| {
        Ok(ModelEvent::call(format!("call_{at}"), *name, arguments))
    };
    let mut events = vec![says];
    events.extend(calls.iter().enumerate().map(call));
    events.push(Ok(ModelEvent::Stop(ModelStop::ToolCalls)));
    events
}
