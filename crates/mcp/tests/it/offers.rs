//! What a server may ask of us where its description offers it.

use crate::{
    machine::{Act, Machine, ordinary, text, tool},
    stage::Stage,
};
use agent::fake::{FakeClient, Reply};
use agent::{Client, PermissionOutcome, PermissionRequest, Question, QuestionOutcome, SessionEvent};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

/// A client whose user answers questions.
struct Asked {
    told: Arc<FakeClient>,
    answers: Mutex<VecDeque<QuestionOutcome>>,
    questions: Mutex<Vec<Question>>,
}

#[async_trait]
impl Client for Asked {
    fn notify(&self, event: &SessionEvent) {
        self.told.notify(event);
    }

    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome {
        self.told.request_permission(request).await
    }

    async fn ask(&self, question: Question) -> QuestionOutcome {
        self.questions.lock().unwrap().push(question);
        self.answers.lock().unwrap().pop_front().expect("the test has an answer to each question")
    }
}

/// A server of the user's file that is offered everything; it asks this while its tool is being called, and the tool returns what it was answered.
fn server(machine: &Machine, asks: (&'static str, Value)) {
    let described = json!({ "mcpServers": { "s": { "command": "s", "offer": ["roots", "elicitation"] } } });
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
                        vec![Act::Say(ask.to_string())]
                    }
                    None => {
                        let answer = text(&message["result"].to_string());
                        streams.act(&call, answer).await;
                        Vec::new()
                    }
                    _ => ordinary(&message, &json!([tool("ask")])),
                };
                for act in acts {
                    streams.act(&message, act).await;
                }
            }
        }
    });
}

/// What a server was answered, and what the user was asked.
async fn answered(
    asks: (&'static str, Value),
    answers: impl IntoIterator<Item = QuestionOutcome>,
) -> (Value, Vec<Question>, Value) {
    let machine = Machine::new();
    server(&machine, asks);
    let told = FakeClient::new([]);
    let answers = Mutex::new(answers.into_iter().collect());
    let client = Arc::new(Asked { told: told.clone(), answers, questions: Mutex::default() });
    let script = vec![Reply::calls(&[("mcp__s__ask", json!({}))]), Reply::text("done")];
    let stage = Stage::open_for(machine, &[], script, told, client.clone()).await;
    stage.prompt("go").await;
    let answer = serde_json::from_str(&stage.results()[0]).unwrap();
    let questions = client.questions.lock().unwrap().clone();
    let offered = stage.machine.heard().of("s", "initialize").remove(0);
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
async fn f106_roots_are_told_where_they_are_offered() {
    let (answer, questions, capabilities) = answered(("roots/list", json!({})), []).await;
    assert_eq!(answer["roots"], json!([{ "uri": "file:///w" }]));
    assert!(questions.is_empty());
    assert!(capabilities["roots"].is_object() && capabilities["elicitation"].is_object(), "{capabilities}");
    assert_eq!(capabilities.get("sampling"), None);
}

#[tokio::test(start_paused = true)]
async fn f106_a_servers_question_goes_to_the_user_field_by_field() {
    let say = |text: &str| QuestionOutcome::Answered(text.to_owned());
    let (answer, questions, _) = answered(("elicitation/create", form()), [say("green"), say("3")]).await;
    assert_eq!(answer, json!({ "action": "accept", "content": { "colour": "green", "count": 3 } }));
    let [colour, count] = questions.as_slice() else { panic!("{questions:?}") };
    assert_eq!(colour.text, "MCP server 's' asks: Which one?\ncolour");
    assert_eq!(colour.choices.len(), 2);
    assert_eq!(count.text, "MCP server 's' asks: Which one?\nHow many");
}

#[tokio::test(start_paused = true)]
async fn f106_a_question_that_nobody_answers_is_no_consent() {
    let say = |text: &str| QuestionOutcome::Answered(text.to_owned());
    for (answers, action) in [
        (vec![QuestionOutcome::Unavailable], "decline"),
        (vec![QuestionOutcome::Dismissed], "cancel"),
        (vec![say("green"), say("many")], "decline"),
    ] {
        let (answer, _, _) = answered(("elicitation/create", form()), answers).await;
        assert_eq!(answer, json!({ "action": action }));
    }
    let yes = json!({ "message": "Really?", "requestedSchema": { "type": "object", "properties": {} } });
    for (said, action) in [("Accept", "accept"), ("Decline", "decline")] {
        let (answer, _, _) = answered(("elicitation/create", yes.clone()), [say(said)]).await;
        assert_eq!(answer["action"], action);
    }
    let url = json!({ "mode": "url", "message": "Look", "url": "https://x/", "elicitationId": "1" });
    let (answer, questions, _) = answered(("elicitation/create", url), []).await;
    assert_eq!((answer["action"].as_str(), questions.len()), (Some("decline"), 0));
}
