//! The next model request depends on the stored events alone: the running session and one that
//! another process opens over the same log send the same request.

use crate::stage::{Setting, Stage, stage_on};
use agent::fake::{FakeClient, FakeModel, FakeModels, Reply, said};
use agent::{
    Content, ContextLimits, Limits, Message, ModelEvent, ModelInfo, ModelLimits, ModelRequest, ModelStop,
    OpenSession, Runtime, RuntimeOptions, Surface,
};
use std::sync::Arc;

const CONTEXT: u64 = 40_000;

fn info() -> ModelInfo {
    ModelInfo {
        id: "fake/model".to_owned(),
        name: "Fake".to_owned(),
        description: None,
        limits: ModelLimits { context_size: CONTEXT, max_output: 4_096, silence: None },
        disclosure: None,
        ..ModelInfo::default()
    }
}

/// An answer of one text; the provider counts no tokens, so the context size is estimated.
fn says(text: &str) -> Reply {
    Reply::ok(vec![ModelEvent::Text(text.to_owned()), ModelEvent::Stop(ModelStop::EndTurn)])
}

/// A text of about this many tokens.
fn long(tokens: usize) -> String {
    "word".repeat(tokens)
}

/// Limits with which results are left out early.
fn limits() -> Limits {
    let context = ContextLimits { prune_protect: 1, prune_min_savings: 5_000, ..ContextLimits::default() };
    Limits { context, ..Limits::default() }
}

async fn on(script: Vec<Reply>) -> Stage {
    let Setting { answers, permission_mode, store, .. } = Setting::default();
    stage_on(FakeModel::with_info(info(), script), answers, permission_mode, limits(), store).await
}

/// Returns the next model request of the running session, and of a session that is opened over a
/// copy of the log.
async fn next_requests(stage: &Stage) -> (ModelRequest, ModelRequest) {
    let model = FakeModel::with_info(info(), vec![says("Next.")]);
    let store = Arc::new(stage.store.copy());
    let options = RuntimeOptions { limits: limits(), ..RuntimeOptions::default() };
    let runtime = Runtime::new(store, Arc::new(FakeModels(model.clone())), options);
    let surface = Surface { client: FakeClient::new([]), system: stage.system.clone() };
    let session = runtime.open(stage.session.id(), OpenSession::default(), |_| surface).await.unwrap();
    session.prompt(vec![Content::text("next")]).await.unwrap();
    stage.prompt("next").await.unwrap();
    (stage.model.requests().last().unwrap().clone(), model.requests().last().unwrap().clone())
}

fn texts(request: &ModelRequest) -> Vec<String> {
    let text = |message: &Message| match message {
        Message::Assistant(answer) => answer.text(),
        Message::User(content) => match said(content).first() {
            Some(Content::Text(text)) => text.clone(),
            other => panic!("{other:?}"),
        },
    };
    request.messages.iter().map(text).collect()
}

#[tokio::test]
async fn what_compact_kept_is_sent_by_the_next_process_too() {
    let script =
        vec![says(&long(6_000)), says("A2."), says("A3."), says("A4."), says("Summary."), says("Next.")];
    let stage = on(script).await;
    for prompt in ["P1", "P2", "P3", "P4", "/compact"] {
        stage.prompt(prompt).await.unwrap();
    }
    let (running, resumed) = next_requests(&stage).await;
    assert_eq!(texts(&running)[1..], ["P2", "A2.", "P3", "A3.", "P4", "A4.", "next"]);
    assert_eq!(resumed, running);
}

#[tokio::test]
async fn a_summary_before_an_answer_longer_than_the_tail_is_sent_by_the_next_process_too() {
    let script = vec![says("A1."), says(&long(15_000)), says("Summary."), says("Next.")];
    let stage = on(script).await;
    for prompt in ["P1", "P2", "/compact"] {
        stage.prompt(prompt).await.unwrap();
    }
    let (running, resumed) = next_requests(&stage).await;
    assert!(texts(&running)[0].contains("Summary."), "{running:?}");
    assert_eq!(texts(&running).len(), 2, "{running:?}");
    assert_eq!(resumed, running);
}

#[tokio::test]
async fn results_that_were_left_out_are_left_out_by_the_next_process_too() {
    let read = |path: &str| {
        let call = ModelEvent::call("p", "file_read", &serde_json::json!({ "path": path }));
        Reply::ok(vec![call, ModelEvent::Stop(ModelStop::ToolCalls)])
    };
    let long = || read("long.txt");
    // The last long result stays: it was the newest when room was made. It is no longer the newest
    // when the next process begins.
    let stage = on(vec![long(), long(), long(), read("a.txt"), says("Done."), says("Next.")]).await;
    stage.system.add_file("/w/long.txt", "a line of text of some length\n".repeat(1_600));
    stage.prompt("look at long.txt").await.unwrap();
    let (running, resumed) = next_requests(&stage).await;
    assert!(format!("{running:?}").contains("Left out to make room"), "{running:?}");
    assert_eq!(resumed, running);
}

#[tokio::test]
async fn a_command_that_was_cancelled_is_no_part_of_the_conversation_afterwards() {
    let stage = on(vec![says(&long(15_000)), says("A2."), Reply::Hang(Vec::new()), says("Next.")]).await;
    stage.prompt("P1").await.unwrap();
    stage.prompt("P2").await.unwrap();
    let (ended, ()) = tokio::join!(stage.prompt("/compact"), async {
        let summing = |event: &agent::SessionEvent| matches!(event, agent::SessionEvent::Compaction(_));
        stage.client.until(|client| client.events().iter().any(summing)).await;
        stage.session.cancel();
    });
    ended.unwrap();
    let (running, resumed) = next_requests(&stage).await;
    assert_eq!(texts(&running).len(), 5);
    assert_eq!(resumed, running);
}

#[tokio::test]
async fn a_disclosure_is_made_once_a_session_and_not_once_a_process() {
    let disclosing = || ModelInfo { disclosure: Some("No language model.".to_owned()), ..info() };
    let Setting { answers, permission_mode, limits, store, .. } = Setting::default();
    let model = FakeModel::with_info(disclosing(), vec![says("A.")]);
    let stage = stage_on(model, answers, permission_mode, limits, store).await;
    stage.prompt("P1").await.unwrap();
    stage.runtime.shutdown().await;
    let model = FakeModel::with_info(disclosing(), vec![says("B.")]);
    let runtime = Runtime::new(stage.store.clone(), Arc::new(FakeModels(model)), RuntimeOptions::default());
    let client = FakeClient::new([]);
    let surface = Surface { client: client.clone(), system: stage.system.clone() };
    let session = runtime.open(stage.session.id(), OpenSession::default(), |_| surface).await.unwrap();
    session.prompt(vec![Content::text("P2")]).await.unwrap();
    assert_eq!(client.text(), "B.");
}
