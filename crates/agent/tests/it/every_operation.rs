//! One counter over all interfaces: the N-th operation of the store, the system with its processes,
//! the model with its stream, the client or a tool source fails, for every N of a session that uses
//! all of them. After each run the guarantees are checked.

use crate::faulty::{
    Fault, FaultyClient, FaultyModel, FaultyStore, FaultySystem, Plan, assert_complete, call,
};
use agent::fake::MemoryStore;
use agent::{
    Access, AnyCall, AnyTool, CompactionStep, Content, CreateSession, Description, Effect, ModelEvent,
    ModelStop, Offer, OpenSession, PermissionMode, Runtime, RuntimeOptions, SessionEvent, SessionHandle,
    SessionId, SessionScope, SessionStart, StopReason, Surface, ToolContent, ToolContext, ToolError,
    ToolKind, ToolOutput, ToolProvider, ToolSource, ToolSpec, TurnEnd, TurnError,
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::{
    borrow::Cow,
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
    time::Duration,
};
use system::{AbsPath, FakeSystem, fake::Script};

/// The longest time until anything has failed; a permission request has the longest timeout.
const DEADLINE: Duration = Duration::from_secs(7 * 60 * 60);
/// The longest time that a cancelled prompt may take: a store that hangs times out after 30 s,
/// twice if its end cannot be stored either.
const CANCELLED: Duration = Duration::from_secs(61);

/// The prompts that lead to a whole turn; the others lead only to its last call and text.
const WHOLE: [&str; 2] = ["1", "9"];

/// Two reads, a write, an edit, a command, a tool of a source, and text. What each of them changes
/// has the prompt's number in its name.
fn turn(number: &str, said: usize) -> Vec<ModelEvent> {
    let said = if WHOLE.contains(&number) { said } else { said + 4 };
    let one = |name: &str, arguments| vec![call(&format!("p{number}-{said}"), name, arguments)];
    let old = format!("old-{number}.txt");
    let mut events = match said {
        0 => vec![
            call(&format!("p{number}-a"), "file_read", json!({ "path": "a.txt" })),
            call(&format!("p{number}-b"), "file_read", json!({ "path": old })),
        ],
        1 => one("file_write", json!({ "path": format!("new-{number}.txt"), "content": "new" })),
        2 => one("file_edit", json!({ "path": old, "old_string": "one", "new_string": "two" })),
        3 => one("bash", json!({ "command": format!("cargo test {number}") })),
        4 => one(ACT, json!({ "number": number })),
        _ => {
            let words = ["All ", "is ", "done."].map(|word| ModelEvent::Text(word.to_owned()));
            return words.into_iter().chain([ModelEvent::Stop(ModelStop::EndTurn)]).collect();
        }
    };
    events.push(ModelEvent::Stop(ModelStop::ToolCalls));
    events
}

const ACT: &str = "mcp__far__act";

/// A tool of a remote server: its effects survive the process.
#[derive(Clone)]
struct Act {
    plan: Arc<Plan>,
    done: Arc<Mutex<Vec<String>>>,
    number: String,
}

impl AnyTool for Act {
    fn spec(&self) -> ToolSpec {
        let parameters = json!({ "type": "object" });
        ToolSpec { name: ACT.to_owned(), description: "Acts".to_owned(), parameters }
    }

    fn name(&self) -> Cow<'_, str> {
        Cow::Borrowed(ACT)
    }

    fn effect(&self) -> Effect {
        Effect::Writes
    }

    fn parse(&self, arguments: Value) -> Result<Box<dyn AnyCall>, ToolError> {
        let number = arguments["number"].as_str().unwrap_or_default().to_owned();
        Ok(Box::new(Self { number, ..self.clone() }))
    }
}

#[async_trait]
impl AnyCall for Act {
    fn describe(&self, _cwd: &AbsPath) -> Description {
        Description { title: ACT.to_owned(), kind: ToolKind::Other, locations: Vec::new() }
    }

    fn accesses(&self, _cwd: &AbsPath) -> Vec<Access> {
        vec![Access::Call { function: ACT.to_owned(), read_only: false }]
    }

    async fn prepare(&mut self, _cx: &ToolContext) -> Result<Vec<ToolContent>, ToolError> {
        Ok(Vec::new())
    }

    async fn run(&mut self, _cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let act = async {
            self.done.lock().unwrap().push(format!("act {}", self.number));
            Ok(ToolOutput::text("acted"))
        };
        self.plan.through(act, || ToolError::message("as the test wanted")).await
    }
}

#[async_trait]
impl ToolSource for Act {
    async fn offer(&self) -> Offer {
        // A source that fails here has no tools for now, or times out.
        let there = self.plan.through(async { Ok(()) }, || ()).await.is_ok();
        let tools = if there { vec![Arc::new(self.clone()) as Arc<dyn AnyTool>] } else { Vec::new() };
        Offer { tools, ..Offer::default() }
    }
}

impl ToolProvider for Act {
    fn open(&self, _session: &SessionScope) -> Arc<dyn ToolSource> {
        Arc::new(self.clone())
    }
}

/// The environment of one run. A second runtime over the same store and files is a second process.
struct World {
    plan: Arc<Plan>,
    stored: Arc<MemoryStore>,
    files: Arc<FakeSystem>,
    notified: Arc<Mutex<Vec<SessionEvent>>>,
    acts: Arc<Mutex<Vec<String>>>,
}

impl World {
    fn new(plan: Arc<Plan>) -> Self {
        let files = FakeSystem::new();
        files.add_file("/w/a.txt", "one\n");
        for number in 1..=9 {
            files.add_file(&format!("/w/old-{number}.txt"), "one\n");
        }
        files.on_command("cargo test", |_| Script::exits(0).prints("running\n").prints("ok\n"));
        Self {
            plan,
            stored: Arc::default(),
            files: Arc::new(files),
            notified: Arc::default(),
            acts: Arc::default(),
        }
    }

    /// Creates a process over the stored sessions, with the plan in all its interfaces.
    fn runtime(&self, plan: &Arc<Plan>) -> Arc<Runtime> {
        let target = Some((None, plan.clone()));
        let store = Arc::new(FaultyStore { inner: self.stored.clone(), victim: Mutex::new(target.clone()) });
        let model = FaultyModel { victim: Arc::new(Mutex::new(target)), ..FaultyModel::new(turn) };
        let act = Act { plan: plan.clone(), done: self.acts.clone(), number: String::new() };
        let provider: Arc<dyn ToolProvider> = Arc::new(act);
        let options = RuntimeOptions {
            start: SessionStart { permission_mode: PermissionMode::Argus, ..SessionStart::default() },
            tool_providers: [provider].into_iter().collect(),
            ..RuntimeOptions::default()
        };
        Runtime::new(store, Arc::new(model), options)
    }

    fn surface(&self, plan: &Arc<Plan>) -> Surface {
        let system = FaultySystem { inner: self.files.clone(), plan: plan.clone() };
        let client = FaultyClient { plan: plan.clone(), events: self.notified.clone() };
        Surface { client: Arc::new(client), system: Arc::new(system) }
    }

    /// Returns the effects on the world, each with its count.
    fn effects(&self) -> BTreeMap<String, usize> {
        let changes = ["write", "replace_text", "remove", "rename", "spawn"];
        let calls = self.files.calls().into_iter().filter(|call| changes.contains(&call.operation));
        let mut effects = BTreeMap::new();
        for effect in calls.map(|call| call.to_string()).chain(self.acts.lock().unwrap().clone()) {
            *effects.entry(effect).or_default() += 1;
        }
        effects
    }

    fn notified(&self) -> Vec<SessionEvent> {
        self.notified.lock().unwrap().clone()
    }
}

async fn settled(session: &SessionHandle, text: &str) -> Result<StopReason, TurnError> {
    let turn = session.prompt(vec![Content::text(text)]);
    let settled = tokio::time::timeout(DEADLINE, turn).await.expect("a prompt settles in time");
    settled.map(|outcome| outcome.stop_reason)
}

/// Returns a text that identifies a stored event.
fn mark(event: &SessionEvent) -> Option<String> {
    Some(match event {
        SessionEvent::TurnStarted { turn, .. } => format!("{turn} began"),
        SessionEvent::TurnEnded { turn, .. } => format!("{turn} ended"),
        SessionEvent::UserMessage { id, .. } => format!("the user said {id}"),
        SessionEvent::ModelResponse(response) => {
            format!("the model said {}: {}", response.id, response.text())
        }
        SessionEvent::ToolCall(update) => format!("{} is {:?}", update.id, update.status?),
        SessionEvent::Compaction(compaction) if compaction.step.is_final() => "summed up".to_owned(),
        _ => return None,
    })
}

/// Checks that every call of every answer has exactly one result.
fn one_result_each(events: &[SessionEvent], when: &str) {
    let mut results: HashMap<String, usize> = HashMap::new();
    for event in events {
        if let SessionEvent::ToolCall(update) = event
            && update.result.is_some()
        {
            *results.entry(update.id.to_string()).or_default() += 1;
        }
    }
    for event in events {
        let SessionEvent::ModelResponse(response) = event else { continue };
        for call in response.calls() {
            let count = results.get(&call.id.to_string()).copied().unwrap_or_default();
            assert_eq!(count, 1, "{when}: results of {} ({})", call.id, call.name);
        }
    }
}

/// Checks that everything acknowledged is stored, in order: all durable events that the client
/// received, and each prompt that was answered.
fn kept(world: &World, events: &[SessionEvent], answered: &[String], when: &str) {
    let stored: Vec<_> = events.iter().filter_map(mark).collect();
    let mut rest = stored.iter();
    for sent in world.notified().iter().filter_map(mark) {
        assert!(rest.any(|stored| *stored == sent), "{when}: `{sent}` was sent and is lost: {stored:#?}");
    }
    for text in answered {
        let said = |event: &&SessionEvent| matches!(event, SessionEvent::UserMessage { content, .. } if content == &[Content::text(text)]);
        assert_eq!(events.iter().filter(said).count(), 1, "{when}: {text:?} was answered");
    }
}

/// Runs a session from its creation to its closing while an operation fails. Returns its id and the
/// texts of the prompts that were answered.
async fn live(world: &World, cancels: bool, when: &str) -> (SessionId, Vec<String>) {
    let plan = &world.plan;
    let runtime = world.runtime(plan);
    let new = || CreateSession {
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let making = tokio::time::timeout(DEADLINE, runtime.create(new(), |_| world.surface(plan)));
    let session = match making.await.expect("a session is made, or not, in time") {
        Ok(session) => session,
        Err(error) => {
            assert!(plan.came(), "{when}: {error}");
            runtime.create(new(), |_| world.surface(plan)).await.expect("the next one is made")
        }
    };
    let mut answered = Vec::new();
    let long = format!("go 1 {}", "word".repeat(12_000));
    let healthy = plan.came();
    let mut first = session.start(vec![Content::text(&long)]);
    let mut steered = session.steer(vec![Content::text("also this")]);
    let both = async {
        let first = tokio::time::timeout(DEADLINE, first.settled()).await.expect("a prompt settles in time");
        let steered =
            tokio::time::timeout(DEADLINE, steered.settled()).await.expect("so does what is steered");
        (first, steered)
    };
    tokio::pin!(both);
    let cancelled = async {
        plan.coming().await;
        session.cancel();
    };
    let (first, steered) = tokio::select! {
        both = &mut both => both,
        () = cancelled, if cancels && !healthy => {
            tokio::time::timeout(CANCELLED, both).await.expect("what is cancelled ends")
        }
    };
    if first.is_ok() && steered.is_ok() && !plan.came() {
        answered.extend([long, "also this".to_owned()]);
    }
    if healthy {
        assert_eq!(first.map(|outcome| outcome.stop_reason), Ok(StopReason::EndTurn), "{when}");
    }
    for text in ["/compact", "go 2", "go 3", "go 4"] {
        let healthy = plan.came();
        // One more prompt repairs what failed in the last one.
        if text == "go 4" && !(healthy && answered.last().is_none_or(|last| last != "go 3")) {
            continue;
        }
        let outcome = settled(&session, text).await;
        if healthy {
            assert_eq!(outcome, Ok(StopReason::EndTurn), "{when}: {text} after the fault");
        }
        if outcome.is_ok() && text != "/compact" {
            answered.push(text.to_owned());
        }
    }
    let id = session.id().clone();
    tokio::time::timeout(DEADLINE, runtime.shutdown()).await.expect("it closes in time");
    (id, answered)
}

/// Runs one session with a fault, and the next process; returns whether the fault was reached.
async fn run(fault: Fault, cancels: bool, at: usize) -> bool {
    let plan = Plan::new(fault, at);
    let world = World::new(plan.clone());
    let when = format!("{fault:?} at operation {at}{}", if cancels { ", cancelled" } else { "" });
    let (id, answered) = live(&world, cancels, &when).await;
    assert_complete(&world.notified(), &when);
    let reached = plan.came();

    let none = Plan::none();
    let runtime = world.runtime(&none);
    let session = runtime.open(&id, OpenSession::default(), |_| world.surface(&none)).await.unwrap();
    let mut events = Vec::new();
    runtime.replay(&id, &mut |event| events.push(event.clone())).await.unwrap();
    kept(&world, &events, &answered, &when);
    one_result_each(&events, &when);
    assert_eq!(settled(&session, "go 9").await, Ok(StopReason::EndTurn), "{when}: the next process");
    runtime.shutdown().await;

    let effects = world.effects();
    let twice: Vec<_> = effects.iter().filter(|(_, count)| **count > 1).collect();
    assert!(twice.is_empty(), "{when}: done twice: {twice:?}");
    for effect in ["spawn cargo test 9", "replace_text /w/new-9.txt", "replace_text /w/old-9.txt", "act 9"] {
        assert_eq!(effects.get(effect), Some(&1), "{when}: {effect}: {effects:?}");
    }
    if !reached {
        whole_session(&events, &effects);
    }
    reached
}

/// Checks that the session uses every interface if nothing fails.
fn whole_session(events: &[SessionEvent], effects: &BTreeMap<String, usize>) {
    assert_eq!(effects.len(), 10, "four of each whole turn and one of the others: {effects:?}");
    let summed = |event: &SessionEvent| {
        matches!(event, SessionEvent::Compaction(compaction)
            if matches!(compaction.step, CompactionStep::Completed { .. }))
    };
    assert!(events.iter().any(summed), "it was summed up");
    let ended = |event: &&SessionEvent| {
        matches!(event, SessionEvent::TurnEnded { end: TurnEnd::Stopped(StopReason::EndTurn), .. })
    };
    assert_eq!(events.iter().filter(ended).count(), 4, "what was steered was part of the first turn");
}

/// Runs the session with the fault at every operation and prints how many there were.
async fn at_every_operation(fault: Fault, cancels: bool) {
    let mut at = 1;
    while run(fault, cancels, at).await {
        at += 1;
    }
    assert!(at > 80, "{fault:?}: {at} operations are not such a session");
    println!("faults: {fault:?}{}: {} operations", if cancels { " and cancel" } else { "" }, at - 1);
}

#[tokio::test(start_paused = true)]
async fn every_operation_that_fails_before_it_began_costs_one_turn_at_the_most() {
    at_every_operation(Fault::Error, false).await;
}

#[tokio::test(start_paused = true)]
async fn every_operation_that_is_done_and_reported_as_failed_costs_one_turn_at_the_most() {
    at_every_operation(Fault::Late, false).await;
}

#[tokio::test(start_paused = true)]
async fn every_operation_that_never_ends_is_given_up_on() {
    at_every_operation(Fault::Hang, false).await;
}

#[tokio::test(start_paused = true)]
async fn every_operation_that_never_ends_can_be_cancelled() {
    at_every_operation(Fault::Hang, true).await;
}
