//! Requests from servers whose descriptions offer them these capabilities.

use crate::{
    fake_machine::{FakeMachine, Reaction, default_reactions, text, tool},
    test_session::{TestSession, options},
};
use agent::fake::{FakeClient, Reply};
use agent::{
    Client, ClientServer, ClientServerKind, Content, Message, PermissionMode, PermissionOutcome,
    PermissionRequest, Question, QuestionOutcome, SessionEvent, SessionId, SessionScope, ToolContent,
    ToolProvider as _,
};
use async_trait::async_trait;
use mcp::{McpOptions, McpProvider, Offered};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
    time::Duration,
};
use system::AbsPath;

/// The user's time for an answer; the clock is paused otherwise.
const THINKING: Duration = Duration::from_secs(200);

/// A client whose user answers questions.
struct AnsweringClient {
    inner: Arc<FakeClient>,
    answers: Mutex<VecDeque<QuestionOutcome>>,
    questions: Mutex<Vec<Question>>,
}

#[async_trait]
impl Client for AnsweringClient {
    fn notify(&self, event: &SessionEvent) {
        self.inner.notify(event);
    }

    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome {
        self.inner.request_permission(request).await
    }

    async fn ask(&self, question: Question) -> QuestionOutcome {
        self.questions.lock().unwrap().push(question);
        // Yield so that the timer of the server's deadline notices the open question first.
        tokio::task::yield_now().await;
        // Longer than the server's deadline, which must not run while it waits for the user.
        tokio::time::advance(THINKING).await;
        self.answers.lock().unwrap().pop_front().expect("the test has an answer to each question")
    }
}

/// Adds a server of the user's file that is offered everything. During a call of its tool it sends
/// this request, and the tool returns the response.
fn server(machine: &FakeMachine, asks: (&'static str, Value)) {
    let described =
        json!({ "mcpServers": { "s": { "command": "s", "offer": ["roots", "elicitation", "sampling"] } } });
    machine.files().add_file("/home/mcp.json", described.to_string());
    let (method, params) = asks;
    machine.program("s", move |mut streams, _| {
        let params = params.clone();
        async move {
            let mut call = Value::Null;
            while let Some(message) = streams.next().await {
                let acts = match message["method"].as_str() {
                    Some("tools/call") => {
                        call = message.clone();
                        let ask =
                            json!({ "jsonrpc": "2.0", "id": "ask", "method": method, "params": params });
                        vec![Reaction::Line(ask.to_string())]
                    }
                    None => {
                        let response =
                            if message["error"].is_null() { &message["result"] } else { &message["error"] };
                        let answer = text(&response.to_string());
                        streams.act(&call, answer).await;
                        Vec::new()
                    }
                    _ => default_reactions(&message, &json!([tool("ask")])),
                };
                for act in acts {
                    streams.act(&message, act).await;
                }
            }
        }
    });
}

/// Returns the response to the server's request, the questions to the user, and the capabilities
/// that the server was offered.
async fn answered(
    asks: (&'static str, Value),
    answers: impl IntoIterator<Item = QuestionOutcome>,
) -> (Value, Vec<Question>, Value) {
    let machine = FakeMachine::new();
    server(&machine, asks);
    let inner = FakeClient::new([]);
    let answers = Mutex::new(answers.into_iter().collect());
    let client = Arc::new(AnsweringClient { inner: inner.clone(), answers, questions: Mutex::default() });
    let script = vec![Reply::calls(&[("mcp__s__ask", json!({}))]), Reply::text("done")];
    let stage =
        TestSession::open_for(machine, PermissionMode::Prometheus, script, inner, client.clone()).await;
    stage.prompt("go").await;
    let answer = serde_json::from_str(&stage.results()[0]).unwrap();
    let questions = client.questions.lock().unwrap().clone();
    let offered = stage.machine.received().with_method("s", "initialize").remove(0);
    (answer, questions, offered["params"]["capabilities"].clone())
}

fn form() -> Value {
    json!({
        "message": "Which one?\u{1b}[2J",
        "requestedSchema": { "type": "object", "properties": {
            "colour": { "type": "string", "enum": ["red", "green"] },
            "count": { "type": "integer", "title": "How many" },
        } },
    })
}

#[tokio::test(start_paused = true)]
async fn f106_roots_are_sent_where_they_are_offered() {
    let (answer, questions, capabilities) = answered(("roots/list", json!({})), []).await;
    assert_eq!(answer["roots"], json!([{ "uri": "file:///w" }]));
    assert!(questions.is_empty());
    assert!(capabilities["roots"].is_object() && capabilities["elicitation"].is_object(), "{capabilities}");
    assert_eq!(capabilities["sampling"], json!({}));
}

#[tokio::test(start_paused = true)]
async fn f106_a_clients_server_is_offered_what_the_users_settings_give_its_name() {
    let machine = FakeMachine::new();
    for name in ["s", "other"] {
        machine.answers(name, |message| default_reactions(message, &json!([tool("ask")])));
    }
    let mut options = McpOptions::clone(&options(&machine));
    options.offers.insert("s".to_owned(), vec![Offered::Roots]);
    let provider = McpProvider::new(Arc::new(options));
    let server = |name: &str| ClientServer {
        name: name.to_owned(),
        how: ClientServerKind::Stdio { command: name.to_owned(), args: Vec::new(), env: Vec::new() },
    };
    let servers = vec![server("s"), server("other")];
    let source = provider.open(&SessionScope {
        programs: agent::ProjectPrograms::unconfined(AbsPath::new("/w").unwrap()),
        id: SessionId::fresh(),
        cwd: AbsPath::new("/w").unwrap(),
        servers,
        readable: Default::default(),
    });
    assert_eq!(source.offer().await.tools.len(), 2);
    let capabilities =
        |name: &str| machine.received().with_method(name, "initialize")[0]["params"]["capabilities"].clone();
    assert_eq!((capabilities("s"), capabilities("other")), (json!({ "roots": {} }), json!({})));
    source.close().await;
}

#[tokio::test(start_paused = true)]
async fn f106_a_servers_question_goes_to_the_user_field_by_field() {
    let answer = |text: &str| QuestionOutcome::Answered(text.to_owned());
    let (answer, questions, _) =
        answered(("elicitation/create", form()), [answer("green"), answer("3")]).await;
    assert_eq!(answer, json!({ "action": "accept", "content": { "colour": "green", "count": 3 } }));
    let [colour, count] = questions.as_slice() else { panic!("{questions:?}") };
    assert_eq!(colour.text, "MCP server 's' asks: Which one?\ncolour");
    assert_eq!(colour.choices.len(), 2);
    assert_eq!(count.text, "MCP server 's' asks: Which one?\nHow many");
}

#[tokio::test(start_paused = true)]
async fn f106_an_unanswered_question_is_no_consent() {
    let answer = |text: &str| QuestionOutcome::Answered(text.to_owned());
    for (answers, action) in [
        (vec![QuestionOutcome::Unavailable], "decline"),
        (vec![QuestionOutcome::Dismissed], "cancel"),
        (vec![answer("green"), answer("many")], "decline"),
    ] {
        let (answer, _, _) = answered(("elicitation/create", form()), answers).await;
        assert_eq!(answer, json!({ "action": action }));
    }
    let yes = json!({ "message": "Really?", "requestedSchema": { "type": "object", "properties": {} } });
    for (choice, action) in [("Accept", "accept"), ("Decline", "decline")] {
        let (answer, _, _) = answered(("elicitation/create", yes.clone()), [answer(choice)]).await;
        assert_eq!(answer["action"], action);
    }
    let url = json!({ "mode": "url", "message": "Look", "url": "https://x/", "elicitationId": "1" });
    let (answer, questions, _) = answered(("elicitation/create", url), []).await;
    assert_eq!((answer["action"].as_str(), questions.len()), (Some("decline"), 0));
}

/// Returns the response to a server that samples during a call of its tool, with this answer of the
/// user.
async fn sampled(
    mode: PermissionMode,
    params: Value,
    user: Option<PermissionOutcome>,
    model: Option<Reply>,
) -> (Value, TestSession) {
    let machine = FakeMachine::new();
    server(&machine, ("sampling/createMessage", params));
    // The permission request for the tool call itself comes first.
    let guarded = mode == PermissionMode::Guardian;
    let inner = FakeClient::new(
        guarded.then_some(Some(PermissionOutcome::AllowOnce)).into_iter().chain(user.map(Some)),
    );
    let mut script = vec![Reply::calls(&[("mcp__s__ask", json!({}))])];
    script.extend(model);
    script.push(Reply::text("done"));
    let stage = TestSession::open_for(machine, mode, script, inner.clone(), inner).await;
    stage.prompt("go").await;
    let answer = serde_json::from_str(&stage.results()[0]).unwrap();
    (answer, stage)
}

fn question() -> Value {
    let message =
        |role: &str, text: &str| json!({ "role": role, "content": { "type": "text", "text": text } });
    let image = json!({ "type": "image", "mimeType": "image/png", "data": crate::PNG });
    json!({
        "systemPrompt": "Be brief.\u{1b}[2J",
        "messages": [
            message("user", "Is it red?"),
            message("assistant", "Yes."),
            { "role": "user", "content": [{ "type": "text", "text": "Why?" }, image] },
        ],
        "maxTokens": 100_000, "temperature": 0.5, "stopSequences": ["STOP"], "includeContext": "allServers",
    })
}

#[tokio::test(start_paused = true)]
async fn f106_a_server_samples_the_model_when_the_user_approves() {
    let allow = Some(PermissionOutcome::AllowOnce);
    let reply = Reply::text("Because. STOP it");
    let (answer, stage) = sampled(PermissionMode::Guardian, question(), allow, Some(reply)).await;
    let expected = json!({
        "model": "fake/model", "role": "assistant", "content": { "type": "text", "text": "Because. " }, "stopReason": "stopSequence",
    });
    assert_eq!(answer, expected);
    // The user saw who asks, and the complete request.
    let request = stage.client.requests().pop().unwrap();
    assert_eq!(request.question, "Let the MCP server 's' ask your model this?");
    assert_eq!(
        (request.description.title.as_str(), request.name.as_str()),
        ("s asks the model: Why?⏎[image, image/png]", "mcp__s__sampling_createMessage")
    );
    let [ToolContent::Content(Content::Text(shown))] = request.content.as_slice() else {
        panic!("{request:?}")
    };
    assert_eq!(
        shown,
        "[instructions] Be brief.\n\nIs it red?\n\n[as the assistant] Yes.\n\nWhy?\n[image, image/png]"
    );
    // The model received that and nothing else.
    let asked = stage.model.requests().remove(1);
    assert_eq!((asked.system.as_str(), asked.max_output, asked.tools.len()), ("Be brief.", Some(4_096), 0));
    let [Message::User(_), Message::Assistant(yes), Message::User(why)] = asked.messages.as_slice() else {
        panic!("{asked:?}")
    };
    assert_eq!((yes.text().as_str(), why.len()), ("Yes.", 2));
    // Three requests of 10 input and 5 output tokens each.
    let usage = stage.client.events().into_iter().rev().find_map(|event| match event {
        SessionEvent::Usage(usage) => Some(usage.total),
        _ => None,
    });
    let usage = usage.unwrap();
    assert_eq!((usage.input, usage.output), (30, 15));
}

#[tokio::test(start_paused = true)]
async fn f106_sampling_without_approval_or_with_a_bad_request_is_refused() {
    let refuse = Some(PermissionOutcome::RejectOnce);
    let (answer, _) = sampled(PermissionMode::Guardian, question(), refuse, None).await;
    assert_eq!(answer["code"], -1, "{answer}");
    let (answer, _) =
        sampled(PermissionMode::Guardian, question(), Some(PermissionOutcome::Cancelled), None).await;
    assert_eq!(answer["code"], -1, "{answer}");
    let broken = Reply::error(agent::ModelError::Overloaded("busy".to_owned()));
    let (answer, _) = sampled(PermissionMode::Prometheus, question(), None, Some(broken)).await;
    assert_eq!((answer["code"].as_i64(), answer["message"].as_str()), (Some(-1), Some("busy")), "{answer}");
    let text = |role: &str| json!({ "role": role, "content": { "type": "text", "text": "x" } });
    for (params, expected) in [
        (json!({ "messages": [], "maxTokens": 1 }), "begin and end with the user"),
        (
            json!({ "messages": [text("assistant"), text("user")], "maxTokens": 1 }),
            "begin and end with the user",
        ),
        (
            json!({ "messages": [text("user"), text("assistant")], "maxTokens": 1 }),
            "begin and end with the user",
        ),
        (json!({ "messages": vec![text("user"); 65], "maxTokens": 1 }), "more than 64 messages"),
        (
            json!({ "messages": [text("user")], "maxTokens": 1, "tools": [{ "name": "t", "inputSchema": {} }] }),
            "tools are not offered",
        ),
        (
            json!({ "messages": [{ "role": "user", "content": { "type": "audio", "mimeType": "audio/wav", "data": "AAAA" } }], "maxTokens": 1 }),
            "only text, and images of the user",
        ),
        (
            json!({ "messages": [{ "role": "user", "content": { "type": "text", "text": "x".repeat(200_001) } }], "maxTokens": 1 }),
            "bytes of text",
        ),
    ] {
        let (answer, _) = sampled(PermissionMode::Prometheus, params, None, None).await;
        assert_eq!(answer["code"], -32602, "{answer}");
        assert!(answer["message"].as_str().unwrap().contains(expected), "{answer}");
    }
}
