//! A model's answer is sent back to it unchanged: through a session, its log, and the session of
//! the next process.

mod chat;
mod messages;
mod responses;

use crate::{
    faker::{Faker, Seen, Step},
    support::{catalog, options, vendor},
};
use agent::fake::{FakeClient, MemoryStore};
use agent::{
    Content, CreateSession, Limits, OpenSession, Runtime, RuntimeOptions, SessionEvent, SessionHandle,
    SessionStart, Surface,
};
use proptest::prelude::*;
use providers::Wire;
use std::sync::Arc;
use system::{AbsPath, FakeSystem};

/// One part of a generated answer. Each wire encodes it in its own form.
#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Thinking(String),
    /// Encrypted thinking.
    Hidden,
    /// The text of a call's arguments.
    Call(&'static str),
    /// A part that Tiller does not know.
    Unknown,
}

/// Generates answers of any parts in any order, most of them with calls.
fn answers() -> impl Strategy<Value = Vec<Part>> {
    let text = prop_oneof!["[ \n]{0,2}", "[a-z€\"\\\\ \n]{1,12}"];
    let arguments = prop_oneof![
        Just(r#"{"path": "a.txt"}"#),
        Just(r#"{"z":1.00,"a":1e3,"path":"\u00e9"}"#),
        Just("{\"path\":\n\"a.txt\" }"),
        Just(r#"{"path":"#),
        Just("[1]"),
        Just(""),
    ];
    let part = prop_oneof![
        3 => text.prop_map(Part::Text),
        2 => "[a-z \n]{0,9}".prop_map(Part::Thinking),
        1 => Just(Part::Hidden),
        4 => arguments.prop_map(Part::Call),
        1 => Just(Part::Unknown),
    ];
    prop::collection::vec(part, 1..8)
}

/// Formats events as a stream.
fn stream(events: &[serde_json::Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// Formats a text as JSON.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A conversation with a model whose server sends these answers; the last one is repeated.
struct Conversation {
    faker: Faker,
    store: Arc<MemoryStore>,
    session: SessionHandle,
    client: Arc<FakeClient>,
    model: &'static str,
    wire: Wire,
    limits: Limits,
    _runtime: Arc<Runtime>,
}

impl Conversation {
    async fn new(model: &'static str, wire: Wire, answers: &[String]) -> Self {
        Self::with_limits(model, wire, answers, Limits::default()).await
    }

    async fn with_limits(model: &'static str, wire: Wire, answers: &[String], limits: Limits) -> Self {
        let steps = answers.iter().map(|answer| Faker::events(answer)).collect();
        Self::playing(model, wire, steps, limits).await
    }

    /// Starts a conversation with a server that plays one step per request.
    async fn with_steps(model: &'static str, wire: Wire, steps: Vec<Step>) -> Self {
        Self::playing(model, wire, steps, Limits::default()).await
    }

    async fn playing(model: &'static str, wire: Wire, steps: Vec<Step>, limits: Limits) -> Self {
        let faker = Faker::start(steps.into_iter().map(|step| vec![step]).collect()).await;
        let store = Arc::new(MemoryStore::default());
        let runtime = runtime(model, wire, &faker, store.clone(), limits.clone());
        let client = FakeClient::new([]);
        let new = CreateSession {
            cwd: AbsPath::new("/w").unwrap(),
            additional_directories: Vec::new(),
            servers: Vec::new(),
        };
        let session = runtime.create(new, |_| surface(client.clone())).await.unwrap();
        Self { faker, store, session, client, model, wire, limits, _runtime: runtime }
    }

    async fn prompt(&self, text: &str) {
        self.session.prompt(vec![Content::text(text)]).await.unwrap();
    }

    /// Continues with another prompt, in this process and then in a new one. Returns the last
    /// request of each.
    async fn go_on(&self) -> [Seen; 2] {
        let store = Arc::new(self.store.copy());
        self.prompt("go on").await;
        let here = self.last();
        let runtime = runtime(self.model, self.wire, &self.faker, store, self.limits.clone());
        let client = FakeClient::new([]);
        let opening = runtime.open(self.session.id(), OpenSession::default(), |_| surface(client));
        opening.await.unwrap().prompt(vec![Content::text("go on")]).await.unwrap();
        [here, self.last()]
    }

    fn last(&self) -> Seen {
        self.faker.seen().pop().unwrap()
    }

    /// Returns the whole text of the first answer, as stored.
    fn stored_text(&self) -> String {
        let answer = self.client.events().into_iter().find_map(|event| match event {
            SessionEvent::ModelResponse(response) => Some(response.text()),
            _ => None,
        });
        answer.unwrap()
    }
}

fn surface(client: Arc<FakeClient>) -> Surface {
    let system = Arc::new(FakeSystem::new());
    system.add_file("/w/a.txt", "one\n");
    system.add_file("/w/long.txt", "word\n".repeat(1_500));
    Surface { client, system }
}

fn runtime(model: &str, wire: Wire, faker: &Faker, store: Arc<MemoryStore>, limits: Limits) -> Arc<Runtime> {
    let mut options = options();
    options.vendors.openai = vendor(faker.url(), wire);
    options.vendors.anthropic = vendor(faker.url(), Wire::Anthropic);
    let options = (Arc::new(catalog(options)), model.to_owned());
    let settings = RuntimeOptions {
        start: SessionStart { model: Some(options.1), ..SessionStart::default() },
        limits,
        ..RuntimeOptions::default()
    };
    Runtime::new(store, options.0, settings)
}

/// Runs a check over many generated answers.
fn for_many(check: impl AsyncFn(Vec<Part>)) {
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(96));
    let io = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runner
        .run(&answers(), |parts| {
            io.block_on(check(parts));
            Ok(())
        })
        .unwrap();
}
