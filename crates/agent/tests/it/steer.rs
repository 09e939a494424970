//! Messages of the user to a running turn.

use crate::stage::{Setting, Stage, stage};
use agent::fake::{Reply, said};
use agent::{Content, Message, ModelEvent, PermissionMode, Prompt, SessionEvent, StopReason};
use serde_json::json;
use std::sync::{Arc, Mutex};
use system::fake::Script;

/// A stage during whose first command the user sends these messages to the running turn.
async fn steered(script: Vec<Reply>, said: &'static [&'static str]) -> (Stage, Arc<Mutex<Vec<Prompt>>>) {
    let permission_mode = PermissionMode::Prometheus;
    let stage = stage(Setting { script, permission_mode, ..Setting::default() }).await;
    let prompts = Arc::new(Mutex::new(Vec::new()));
    let (session, kept) = (stage.session.clone(), prompts.clone());
    stage.system.on_command("first", move |_| {
        let mut kept = kept.lock().unwrap();
        kept.extend(said.iter().map(|text| session.start(vec![Content::text(*text)])));
        Script::exits(0)
    });
    (stage, prompts)
}

fn last_user_texts(messages: &[Message]) -> Vec<&str> {
    let texts = messages.iter().rev().map_while(|message| match message {
        Message::User(content) => match said(content) {
            [Content::Text(text)] => Some(text.as_str()),
            _ => None,
        },
        Message::Assistant(_) => None,
    });
    let mut texts: Vec<_> = texts.collect();
    texts.reverse();
    texts
}

fn command() -> Reply {
    Reply::calls(&[("bash", json!({"command": "first"}))])
}

#[tokio::test]
async fn steering_reaches_the_model_between_rounds_and_is_settled_then() {
    let script = vec![command(), Reply::text("Tabs, then."), Reply::text("After.")];
    let (stage, prompts) = steered(script, &["/steer use tabs", "later", "/steer and\nno spaces"]).await;
    assert_eq!(stage.prompt("go").await.unwrap().requests, 2);
    let mut prompts = std::mem::take(&mut *prompts.lock().unwrap());
    for prompt in &mut prompts {
        assert_eq!(prompt.settled().await.unwrap().stop_reason, StopReason::EndTurn);
    }
    let requests = stage.model.requests();
    assert_eq!(last_user_texts(&requests[1].messages), ["use tabs", "and\nno spaces"]);
    assert_eq!(last_user_texts(&requests[2].messages), ["later"], "a prompt waits for the turn's end");
    let turns = |event: &&SessionEvent| matches!(event, SessionEvent::TurnStarted { .. });
    let stored = stage.stored().await;
    assert_eq!(stored.iter().filter(turns).count(), 2, "steering is no turn of its own");
    let said = stored.iter().filter(|event| matches!(event, SessionEvent::UserMessage { .. }));
    assert_eq!(said.count(), 4, "and is kept");
}

#[tokio::test]
async fn steering_that_comes_with_the_last_word_is_answered_too() {
    let script = vec![Reply::text("Done."), Reply::text("With tabs.")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    let mut first = stage.session.start(vec![Content::text("go")]);
    // Sent before the turn has begun to run: it is delivered while the turn runs.
    let mut steering = stage.session.steer(vec![Content::text("use tabs")]);
    assert_eq!(steering.settled().await.unwrap().requests, 0);
    let outcome = first.settled().await.unwrap();
    assert!(outcome.requests <= 2 && stage.client.text().ends_with('.'));
    let messages = stage.model.requests().last().unwrap().messages.clone();
    let prompts = messages.iter().filter(|message| matches!(message, Message::User(_)));
    assert_eq!(prompts.count(), 2);
    if outcome.requests == 1 {
        stage.prompt("again").await.unwrap();
    }
}

#[tokio::test]
async fn steering_without_a_turn_is_a_prompt() {
    let stage = stage(Setting { script: vec![Reply::text("Tabs.")], ..Setting::default() }).await;
    assert_eq!(stage.prompt("/steer use tabs").await.unwrap().requests, 1);
    assert_eq!(last_user_texts(&stage.model.requests()[0].messages), ["use tabs"]);
}

#[tokio::test]
async fn steering_that_is_cancelled_or_comes_too_late_is_settled_all_the_same() {
    // The turn fails before the next model request; the message to it then becomes a prompt.
    let script =
        vec![command(), Reply::error(agent::ModelError::Overloaded("x".into())), Reply::text("Tabs.")];
    let (stage, prompts) = steered(script, &[]).await;
    let session = stage.session.clone();
    let kept = prompts.clone();
    let hear = async {
        stage
            .client
            .until(|client| {
                client.events().iter().any(|event| matches!(event, SessionEvent::ModelResponse(_)))
            })
            .await;
        kept.lock().unwrap().push(session.steer(vec![Content::text("use tabs")]));
    };
    let (failed, ()) = tokio::join!(stage.prompt("go"), hear);
    assert!(failed.is_err());
    let mut steering = prompts.lock().unwrap().pop().unwrap();
    assert_eq!(steering.settled().await.unwrap().stop_reason, StopReason::EndTurn);

    let script = vec![Reply::Hang(vec![ModelEvent::Text("Half".to_owned())])];
    let stage = stage_of(script).await;
    let cancel = async {
        stage.client.until(|client| client.text() == "Half").await;
        let mut all = stage.session.steer(vec![Content::text("a")]);
        let mut one = stage.session.steer(vec![Content::text("b")]);
        one.cancel();
        assert_eq!(one.settled().await.unwrap().stop_reason, StopReason::Cancelled);
        stage.session.cancel();
        assert_eq!(all.settled().await.unwrap().stop_reason, StopReason::Cancelled);
    };
    let (outcome, ()) = tokio::join!(stage.prompt("go"), cancel);
    assert_eq!(outcome.unwrap().stop_reason, StopReason::Cancelled);
}

async fn stage_of(script: Vec<Reply>) -> Stage {
    stage(Setting { script, ..Setting::default() }).await
}
