//! Tools that are added and removed while a session runs.

use agent::fake::{FakeClient, FakeModel, FakeModels, MemoryStore, Reply};
use agent::{
    Access, AnyCall, AnyTool, Content, CreateSession, Description, Effect, LanguageModel, Offer, OpenSession,
    PermissionMode, PermissionOutcome, Runtime, RuntimeOptions, SessionEvent, SessionScope, SessionStart,
    Severity, SourceNotice, Surface, ToolContent, ToolContext, ToolError, ToolKind, ToolOutput, ToolProvider,
    ToolSource, ToolSpec,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    collections::VecDeque,
    sync::{Arc, Mutex},
};
use system::{AbsPath, FakeSystem};

pub(crate) struct Echo(pub(crate) &'static str);

impl AnyTool for Echo {
    fn spec(&self) -> ToolSpec {
        let parameters = json!({ "type": "object" });
        ToolSpec { name: self.0.to_owned(), description: "Says its name".to_owned(), parameters }
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0)
    }

    fn effect(&self) -> Effect {
        Effect::Writes
    }

    fn parse(&self, _arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        Ok(Box::new(Self(self.0)))
    }
}

#[async_trait]
impl AnyCall for Echo {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        Description { title: self.0.to_owned(), kind: ToolKind::Other, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Call { function: self.0.to_owned(), read_only: false }]
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Ok(Vec::new())
    }

    async fn run(&mut self, _cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        Ok(ToolOutput::text(format!("I am {}", self.0)))
    }
}

/// Offers one set of tools per round, and the last set from then on.
#[derive(Default)]
struct Rounds {
    rounds: Mutex<VecDeque<Vec<&'static str>>>,
    closed: Mutex<u32>,
}

#[async_trait]
impl ToolSource for Rounds {
    async fn offer(&self) -> Offer {
        let mut rounds = self.rounds.lock().unwrap();
        let now = rounds.front().cloned().unwrap_or_default();
        if rounds.len() > 1 {
            rounds.pop_front();
        }
        let notice = SourceNotice {
            severity: Severity::Info,
            title: format!("{} tools", now.len()),
            description: None,
        };
        let tools = now.into_iter().map(|name| Arc::new(Echo(name)) as Arc<dyn AnyTool>);
        Offer { tools: tools.collect(), notices: vec![notice], ..Offer::default() }
    }

    async fn close(&self) {
        *self.closed.lock().unwrap() += 1;
    }
}

struct Broken;

#[async_trait]
impl ToolSource for Broken {
    async fn offer(&self) -> Offer {
        panic!("a defect");
    }
}

struct Provider(Arc<Rounds>);

impl ToolProvider for Provider {
    fn open(&self, session: &SessionScope) -> Arc<dyn ToolSource> {
        assert_eq!(session.cwd.as_str(), "/w");
        self.0.clone()
    }
}

struct Defect;

impl ToolProvider for Defect {
    fn open(&self, _session: &SessionScope) -> Arc<dyn ToolSource> {
        Arc::new(Broken)
    }
}

#[tokio::test]
async fn tools_join_and_leave_between_rounds_and_a_broken_source_harms_nobody() {
    let call = |name| Reply::calls(&[(name, json!({}))]);
    let model = FakeModel::new([
        call("mcp__a__late"),
        call("mcp__a__late"),
        call("mcp__a__gone"),
        Reply::text("done"),
    ]);
    let rounds = Arc::new(Rounds::default());
    rounds.rounds.lock().unwrap().extend([
        // A name that is taken stays with the tool that has it.
        vec!["mcp__a__gone", "bash"],
        vec!["mcp__a__late"],
    ]);
    let client = FakeClient::new([]);
    let system = Arc::new(FakeSystem::new());
    system.add_dir("/w");
    let providers: [Arc<dyn ToolProvider>; 2] = [Arc::new(Defect), Arc::new(Provider(rounds.clone()))];
    let options = RuntimeOptions {
        start: SessionStart { permission_mode: PermissionMode::Prometheus, ..SessionStart::default() },
        tool_providers: providers.into_iter().collect(),
        ..RuntimeOptions::default()
    };
    let models = Arc::new(FakeModels(model.clone() as Arc<dyn LanguageModel>));
    let runtime = Runtime::new(Arc::new(MemoryStore::default()), models, options);
    let new = CreateSession {
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let surface = Surface { client: client.clone(), system };
    let session = runtime.create(new, |_| surface).await.unwrap();
    session.prompt(vec![Content::text("go")]).await.unwrap();

    let requests = model.requests();
    let listed = |name: &str| requests[0].tools.iter().filter(|tool| tool.name == name).count();
    assert_eq!(["mcp__a__gone", "mcp__a__late", "bash"].map(listed), [1, 0, 1]);
    assert!(requests.iter().all(|request| request.tools == requests[0].tools), "the list is frozen");
    let messages = format!("{:?}", requests[1].messages.last());
    assert!(
        messages.contains("mcp__a__late") && messages.contains("No longer there: mcp__a__gone"),
        "{messages}"
    );
    let ends: Vec<_> = client
        .events()
        .into_iter()
        .filter_map(|event| match event {
            SessionEvent::ToolCall(update) => Some(update.result?.text),
            _ => None,
        })
        .collect();
    let expected = ["Tool 'mcp__a__late' not found.", "I am mcp__a__late", "Tool 'mcp__a__gone' not found."];
    assert_eq!(ends.len(), expected.len());
    for (end, expected) in ends.iter().zip(expected) {
        assert!(end.starts_with(expected), "{end}");
    }
    let noticed = |event: &&SessionEvent| matches!(event, SessionEvent::Notice { .. });
    let events = client.events();
    assert_eq!(events.iter().filter(noticed).count(), 4, "one a round");
    let begun = events.iter().position(|event| matches!(event, SessionEvent::TurnStarted { .. }));
    let first = events.iter().position(|event| noticed(&event));
    assert!(begun.is_some() && begun < first, "what is told of a turn follows its beginning: {events:?}");
    session.close().await;
    assert_eq!(*rounds.closed.lock().unwrap(), 1);
}

/// Offers a second tool once the first was called, in this process or an earlier one.
#[derive(Default)]
struct Reveals {
    called: Mutex<bool>,
}

#[async_trait]
impl ToolSource for Reveals {
    async fn offer(&self) -> Offer {
        let names: &[_] = if *self.called.lock().unwrap() {
            &["mcp__s__first", "mcp__s__second"]
        } else {
            &["mcp__s__first"]
        };
        let tools = names.iter().map(|name| Arc::new(Echo(name)) as Arc<dyn AnyTool>);
        Offer { tools: tools.collect(), ..Offer::default() }
    }

    fn recall(&self, tool: &str, result: &str) {
        *self.called.lock().unwrap() |= tool == "mcp__s__first" && result == "I am mcp__s__first";
    }
}

impl ToolProvider for Reveals {
    fn open(&self, _session: &SessionScope) -> Arc<dyn ToolSource> {
        Arc::new(Self::default())
    }
}

#[tokio::test]
async fn what_a_source_offers_because_of_a_call_it_offers_in_the_next_process_too() {
    let store = Arc::new(MemoryStore::default());
    let runtime = |script| {
        let model = FakeModel::new(script);
        let models = Arc::new(FakeModels(model.clone() as Arc<dyn LanguageModel>));
        let reveals: Arc<dyn ToolProvider> = Arc::new(Reveals::default());
        let options = RuntimeOptions {
            start: SessionStart { permission_mode: PermissionMode::Prometheus, ..SessionStart::default() },
            tool_providers: [reveals].into_iter().collect(),
            ..RuntimeOptions::default()
        };
        (Runtime::new(store.clone(), models, options), model)
    };
    let surface = || Surface { client: FakeClient::new([]), system: Arc::new(FakeSystem::new()) };
    let (first, asked) = runtime(vec![Reply::calls(&[("mcp__s__first", json!({}))]), Reply::text("Done.")]);
    let new = CreateSession {
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let session = first.create(new, |_| surface()).await.unwrap();
    session.prompt(vec![Content::text("go")]).await.unwrap();
    let Some(agent::Message::Assistant(answer)) = asked.requests()[1].messages.last().cloned() else {
        panic!()
    };
    assert_eq!(answer.calls().next().unwrap().result.text, "I am mcp__s__first");
    first.shutdown().await;

    let (second, model) = runtime(vec![Reply::text("On.")]);
    let session = second.open(session.id(), OpenSession::default(), |_| surface()).await.unwrap();
    session.prompt(vec![Content::text("and?")]).await.unwrap();
    let request = &model.requests()[0];
    assert_eq!(request.tools, asked.requests()[0].tools, "the next process lists the same");
    let messages = format!("{:?}", request.messages);
    assert_eq!(messages.matches("mcp__s__second").count(), 1, "and says once what came since: {messages}");
}

#[tokio::test]
async fn a_tool_that_came_later_is_called_through_the_listed_one_and_shown_as_itself() {
    let through = |name: &str| Reply::calls(&[("call_tool", json!({ "name": name, "arguments": {} }))]);
    let model = FakeModel::new([
        Reply::text("hello"),
        through("mcp__s__late"),
        through("mcp__s__nobody"),
        Reply::text("done"),
    ]);
    let rounds = Arc::new(Rounds::default());
    rounds.rounds.lock().unwrap().extend([vec![], vec!["mcp__s__late"]]);
    let providers: [Arc<dyn ToolProvider>; 1] = [Arc::new(Provider(rounds))];
    let options =
        RuntimeOptions { tool_providers: providers.into_iter().collect(), ..RuntimeOptions::default() };
    let models = Arc::new(FakeModels(model.clone() as Arc<dyn LanguageModel>));
    let runtime = Runtime::new(Arc::new(MemoryStore::default()), models, options);
    let new = CreateSession {
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let client = FakeClient::new([Some(PermissionOutcome::AllowOnce)]);
    let surface = Surface { client: client.clone(), system: Arc::new(FakeSystem::new()) };
    let session = runtime.create(new, |_| surface).await.unwrap();
    session.prompt(vec![Content::text("hi")]).await.unwrap();
    session.prompt(vec![Content::text("go")]).await.unwrap();

    let asked = client.requests();
    assert_eq!(asked.len(), 1, "the gate asks about the call that is meant");
    assert_eq!(
        (asked[0].name.as_str(), asked[0].description.title.as_str()),
        ("mcp__s__late", "mcp__s__late")
    );
    let calls: Vec<_> = client
        .events()
        .into_iter()
        .filter_map(|event| match event {
            SessionEvent::ToolCall(update) => Some((update.name, update.result?.text)),
            _ => None,
        })
        .collect();
    let [late, nobody] = &calls[..] else { panic!("{calls:?}") };
    assert_eq!((late.0.as_str(), late.1.as_str()), ("mcp__s__late", "I am mcp__s__late"));
    assert!(nobody.0 == "mcp__s__nobody" && nobody.1.contains("not found"), "{nobody:?}");
    assert!(nobody.1.contains("mcp__s__late"), "what came later can be called: {nobody:?}");
    let requests = model.requests();
    assert!(requests[0].tools.iter().any(|tool| tool.name == "call_tool"));
    let Some(agent::Message::Assistant(answer)) = requests[2].messages.last() else { panic!() };
    assert_eq!(
        answer.calls().next().unwrap().written.name,
        "call_tool",
        "what the model said is sent back as it said it"
    );
}
