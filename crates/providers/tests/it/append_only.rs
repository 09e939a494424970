//! Whatever a wire has sent once, it sends again byte for byte: a growing conversation produces
//! bodies that only grow at the end. Prompt cache breakpoints move and are ignored here.

use crate::{
    faker::{Faker, Step},
    support::{catalog, options, vendor},
};
use agent::{
    AnsweredCall, AssistantMessage, Content, Message, ModelCall, ModelRequest, Models as _, ToolCallRequest,
    ToolResult, ToolSpec,
};
use futures::StreamExt as _;
use proptest::{
    collection::vec,
    prelude::*,
    sample::select,
    test_runner::{Config, TestRunner},
};
use providers::Wire;
use serde_json::{Value, json};

const WIRES: [Wire; 4] = [Wire::Chat, Wire::Responses, Wire::Anthropic, Wire::Gemini];

/// A round of a conversation.
#[derive(Debug, Clone)]
struct Round {
    /// A message from Tiller itself before the prompt.
    briefing: Option<&'static str>,
    /// The answers before the last one, each with its text and the arguments of its calls.
    answers: Vec<(&'static str, Vec<&'static str>)>,
    /// Whether Tiller sends a message between two answers.
    is_updated: bool,
}

fn rounds() -> impl Strategy<Value = Vec<Round>> {
    let briefing = prop::option::of(select(vec!["<environment>\nMode: Plan\n</environment>"]));
    let arguments = select(vec!["{\"path\": \"a\"}", "{ \"path\":\"a\" }", "{\"path\":", "", "[1]"]);
    let answer = (select(vec!["", "Looking.", " "]), vec(arguments, 1..3));
    let round = (briefing, vec(answer, 0..3), any::<bool>())
        .prop_map(|(briefing, answers, is_updated)| Round { briefing, answers, is_updated });
    vec(round, 1..4)
}

fn call(number: usize, arguments: &str) -> AnsweredCall {
    let (provider_id, name) = (format!("call_{number}"), "read".to_owned());
    let call = ModelCall { provider_id, name, arguments: arguments.to_owned(), opaque: None };
    AnsweredCall::new(ToolCallRequest::new("tool_0".into(), call), ToolResult::ok("seen"))
}

/// Returns the requests of a conversation, each with everything before it.
fn requests(rounds: &[Round]) -> Vec<ModelRequest> {
    let (mut messages, mut requests) = (Vec::new(), Vec::new());
    let ask = |messages: &Vec<Message>, requests: &mut Vec<ModelRequest>| {
        let parameters = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
        let (name, description) = ("read".to_owned(), "Reads.".to_owned());
        let tools = [ToolSpec { name, description, parameters }].into_iter().collect();
        let (system, messages) = ("Be brief.".to_owned(), messages.clone());
        requests.push(ModelRequest { system, messages, tools, ..ModelRequest::default() });
    };
    for round in rounds {
        let mut content: Vec<_> = round.briefing.into_iter().map(Content::text).collect();
        content.push(Content::text("prompt"));
        messages.push(Message::User(content));
        ask(&messages, &mut requests);
        for (text, calls) in &round.answers {
            let calls = calls.iter().enumerate().map(|(number, arguments)| call(number, arguments));
            let mut answer = AssistantMessage::called("openai/gpt-test", calls);
            answer.items.splice(0..0, AssistantMessage::from_text("", *text).items);
            messages.push(Message::Assistant(answer));
            if round.is_updated {
                messages
                    .push(Message::User(vec![Content::text("<environment_update>\n</environment_update>")]));
            }
            ask(&messages, &mut requests);
        }
        messages.push(Message::Assistant(AssistantMessage::from_text("openai/gpt-test", "Done.")));
    }
    requests
}

/// Returns the prefix of a body, and its messages part by part, since adjacent messages of one role
/// may be merged into one.
fn split_body(body: &Value) -> (Vec<Value>, Vec<Value>) {
    let body = unmarked(body);
    let names = ["system", "instructions", "systemInstruction", "system_instruction", "tools"];
    let begins = names.iter().map(|name| body[name].clone()).collect();
    let list = ["messages", "input", "contents"].into_iter().find_map(|name| body[name].as_array());
    let mut pieces = Vec::new();
    for message in list.expect("a conversation") {
        let role = &message["role"];
        match message["content"].as_array().or(message["parts"].as_array()) {
            Some(parts) => pieces.extend(parts.iter().map(|part| json!([role, part]))),
            None => pieces.push(message.clone()),
        }
    }
    (begins, pieces)
}

/// Removes the prompt cache breakpoints.
fn unmarked(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(unmarked).collect(),
        Value::Object(members) => {
            let kept = members.iter().filter(|(name, _)| *name != "cache_control");
            kept.map(|(name, value)| (name.clone(), unmarked(value))).collect()
        }
        other => other.clone(),
    }
}

async fn bodies(wire: Wire, requests: Vec<ModelRequest>) -> Vec<Value> {
    let faker = Faker::start(vec![vec![Faker::status("404 X", "", "no")] as Vec<Step>]).await;
    let mut options = options();
    options.vendors.openai = vendor(faker.url(), wire);
    let model = catalog(options).get("openai/gpt-test").await.unwrap();
    let asked = requests.len();
    for request in requests {
        let _: Vec<_> = model.stream(request).collect().await;
    }
    let seen: Vec<_> = faker.seen().into_iter().map(|seen| seen.body).collect();
    assert_eq!(seen.len(), asked, "each request is sent once: {wire:?}");
    seen
}

#[test]
fn each_request_body_extends_the_previous_one_on_every_wire() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let config = Config { cases: 40, failure_persistence: None, ..Config::default() };
    let checked = TestRunner::new(config).run(&rounds(), |rounds| {
        for wire in WIRES {
            let bodies = runtime.block_on(bodies(wire, requests(&rounds)));
            let split_bodies: Vec<_> = bodies.iter().map(split_body).collect();
            for pair in split_bodies.windows(2) {
                let [(begins, before), (again, after)] = pair else { unreachable!("two of them") };
                prop_assert_eq!(begins, again, "{:?}", wire);
                prop_assert!(begins.iter().any(|value| !value.is_null()), "{:?}", wire);
                prop_assert!(after.starts_with(before), "{:?}:\n{:#?}\n{:#?}", wire, before, after);
            }
        }
        Ok(())
    });
    checked.unwrap_or_else(|error| panic!("{error}"));
}
