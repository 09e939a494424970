//! A prompt with an id is sent again: it has one turn, and each request the same answer.

use crate::stage::{Setting, Stage, stage};
use agent::fake::{FakeClient, FakeModel, FakeModels, Reply};
use agent::{
    Content, CreateSession, MessageId, ModelError, OpenSession, PermissionMode, Prompt, PromptId, Runtime,
    RuntimeOptions, SessionEvent, SessionHandle, StopReason, Surface, TurnError,
};
use serde_json::json;
use std::sync::{Arc, Mutex};
use system::{AbsPath, FakeSystem, fake::Script};

fn id(text: &str) -> PromptId {
    PromptId::new(text).unwrap()
}

fn once(session: &SessionHandle, prompt: &str, text: &str) -> Prompt {
    session.start_once(id(prompt), vec![Content::text(text)])
}

/// Opens the session in another runtime on the same store, as another process does.
async fn elsewhere(stage: &Stage, script: Vec<Reply>) -> (Arc<Runtime>, Arc<FakeModel>, SessionHandle) {
    let model = FakeModel::new(script);
    let models = Arc::new(FakeModels(model.clone()));
    let runtime = Runtime::new(stage.store.clone(), models, RuntimeOptions::default());
    let surface = Surface { client: FakeClient::new([]), system: Arc::new(FakeSystem::new()) };
    let handle = runtime.open(stage.session.id(), OpenSession::default(), |_| surface).await.unwrap();
    (runtime, model, handle)
}

/// Returns the ids of the prompts whose turns began, and the number of messages of the user.
async fn began(stage: &Stage) -> (Vec<Option<String>>, usize) {
    let stored = stage.stored().await;
    let turns = stored.iter().filter_map(|event| match event {
        SessionEvent::TurnStarted { prompt, .. } => Some(prompt.as_ref().map(|id| id.as_str().to_owned())),
        _ => None,
    });
    let messages = stored.iter().filter(|event| matches!(event, SessionEvent::UserMessage { .. })).count();
    (turns.collect(), messages)
}

#[tokio::test]
async fn a_prompt_that_is_sent_again_joins_its_turn_whether_that_waits_runs_or_has_ended() {
    let script = vec![
        Reply::calls(&[("bash", json!({"command": "first"}))]),
        Reply::text("First."),
        Reply::text("Second."),
    ];
    let permission_mode = PermissionMode::Prometheus;
    let stage = stage(Setting { script, permission_mode, ..Setting::default() }).await;
    let again = Arc::new(Mutex::new(Vec::new()));
    let (session, kept) = (stage.session.clone(), again.clone());
    stage.system.on_command("first", move |_| {
        // The first turn runs, and the second waits.
        kept.lock().unwrap().extend([once(&session, "a", "one"), once(&session, "b", "two")]);
        Script::exits(0)
    });
    let mut first = once(&stage.session, "a", "one");
    let mut second = once(&stage.session, "b", "two");
    let (first_end, second_end) = (first.settled().await, second.settled().await);
    assert_eq!(first_end.as_ref().unwrap().requests, 2);
    assert!(!first.is_joined() && !second.is_joined());
    let mut again = std::mem::take(&mut *again.lock().unwrap());
    assert!(again.iter().all(Prompt::is_joined));
    assert_eq!(again[0].settled().await, first_end);
    assert_eq!(again[1].settled().await, second_end);
    // Both have ended; the id decides, not the content.
    let mut late = once(&stage.session, "a", "something else");
    assert_eq!(late.inserted().await, Some(MessageId::from("msg_1")));
    assert_eq!(late.settled().await, first_end);
    let begun = vec![Some("a".to_owned()), Some("b".to_owned())];
    assert_eq!(began(&stage).await, (begun, 2), "each prompt has one turn and one message");
}

#[tokio::test]
async fn another_process_answers_a_repeated_prompt_from_the_log() {
    let script = vec![Reply::text("First."), Reply::text("Second.")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.prompt("zero").await.unwrap();
    let end = once(&stage.session, "a", "one").settled().await;
    stage.runtime.shutdown().await;

    let (_runtime, model, session) = elsewhere(&stage, vec![Reply::Hang(Vec::new())]).await;
    let mut again = once(&session, "a", "one");
    assert_eq!(again.inserted().await, Some(MessageId::from("msg_4")));
    assert_eq!(again.settled().await, end, "with its tokens and requests");
    let mut running = session.start(vec![Content::text("three")]);
    running.inserted().await.unwrap();
    // A turn runs; a repeated prompt does not wait for it.
    let mut late = session.start_once(id("a"), vec![Content::text("one")]);
    assert_eq!(late.settled().await, end);
    session.cancel();
    assert_eq!(running.settled().await.unwrap().stop_reason, StopReason::Cancelled);
    assert_eq!(model.requests().len(), 1, "the repeated prompt asks no model");
}

#[tokio::test]
async fn a_prompt_whose_process_died_in_mid_turn_says_so_when_it_is_sent_again() {
    let script = vec![Reply::calls(&[("bash", json!({"command": "first"}))])];
    let permission_mode = PermissionMode::Prometheus;
    let stage = stage(Setting { script, permission_mode, ..Setting::default() }).await;
    stage.system.on_command("first", |_| Script::hangs());
    let mut cut_off = once(&stage.session, "a", "one");
    cut_off.inserted().await.unwrap();

    let (_runtime, model, session) = elsewhere(&stage, vec![Reply::text("On.")]).await;
    let error = once(&session, "a", "one").settled().await.unwrap_err();
    assert_eq!(error, TurnError::OwnerLost);
    assert!(error.to_string().contains("the session goes on"), "{error}");
    assert!(model.requests().is_empty(), "it is not run again");
    assert_eq!(once(&session, "b", "and?").settled().await.unwrap().stop_reason, StopReason::EndTurn);
    stage.session.cancel();
    drop(cut_off.settled().await);
}

#[tokio::test]
async fn a_prompt_whose_turn_failed_fails_again_with_the_same_message() {
    let why = ModelError::BadRequest("no such model".into());
    let stage = stage(Setting { script: vec![Reply::error(why)], ..Setting::default() }).await;
    let failed = once(&stage.session, "a", "one").settled().await.unwrap_err();
    assert_eq!(once(&stage.session, "a", "one").settled().await.unwrap_err(), failed);
    stage.runtime.shutdown().await;

    let (_runtime, _model, session) = elsewhere(&stage, Vec::new()).await;
    let stored = once(&session, "a", "one").settled().await.unwrap_err();
    assert_eq!(stored, TurnError::Earlier(failed.to_string()));
    assert_eq!(stored.to_string(), failed.to_string());
}

#[tokio::test]
async fn a_prompt_that_was_refused_before_its_turn_is_tried_again() {
    let stage = stage(Setting { script: vec![Reply::text("Yes.")], ..Setting::default() }).await;
    let refused = once(&stage.session, "a", " ").settled().await;
    assert!(matches!(refused, Err(TurnError::BadPrompt(_))), "{refused:?}");
    assert_eq!(once(&stage.session, "a", "one").settled().await.unwrap().requests, 1);
    assert_eq!(began(&stage).await, (vec![Some("a".to_owned())], 1));
}

#[tokio::test]
async fn a_prompt_cancelled_while_it_waited_stays_cancelled() {
    let stage = stage(Setting { script: vec![Reply::Hang(Vec::new())], ..Setting::default() }).await;
    let mut running = stage.session.start(vec![Content::text("zero")]);
    running.inserted().await.unwrap();
    let mut waiting = once(&stage.session, "a", "one");
    stage.session.cancel();
    assert_eq!(waiting.settled().await.unwrap().stop_reason, StopReason::Cancelled);
    running.settled().await.unwrap();
    let again = once(&stage.session, "a", "one").settled().await;
    assert_eq!(again.unwrap().stop_reason, StopReason::Cancelled);
    assert_eq!(began(&stage).await, (vec![None], 1));
}

#[tokio::test]
async fn steering_that_is_sent_again_reaches_the_model_once() {
    let script = vec![Reply::calls(&[("bash", json!({"command": "first"}))]), Reply::text("Done.")];
    let permission_mode = PermissionMode::Prometheus;
    let stage = stage(Setting { script, permission_mode, ..Setting::default() }).await;
    let session = stage.session.clone();
    let sent = Arc::new(Mutex::new(Vec::new()));
    let kept = sent.clone();
    stage.system.on_command("first", move |_| {
        let mut sent = kept.lock().unwrap();
        sent.extend([once(&session, "s", "/steer use tabs"), once(&session, "s", "/steer use tabs")]);
        Script::exits(0)
    });
    stage.prompt("go").await.unwrap();
    let mut sent = std::mem::take(&mut *sent.lock().unwrap());
    sent.push(once(&stage.session, "s", "/steer use tabs"));
    for prompt in &mut sent {
        assert_eq!(prompt.settled().await.unwrap().stop_reason, StopReason::EndTurn);
    }
    assert_eq!(began(&stage).await, (vec![None], 2));
}

#[tokio::test]
async fn a_retry_with_an_id_is_made_once() {
    let script = vec![Reply::error(ModelError::BadRequest("busy".into())), Reply::text("Now.")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.prompt("go").await.unwrap_err();
    let end = once(&stage.session, "r", "/retry").settled().await;
    assert_eq!(end.as_ref().unwrap().requests, 1);
    stage.runtime.shutdown().await;
    let (_runtime, _model, session) = elsewhere(&stage, Vec::new()).await;
    assert_eq!(once(&session, "r", "/retry").settled().await, end);
}

#[tokio::test]
async fn a_fork_knows_the_prompts_that_it_began_with() {
    let script = vec![Reply::text("One."), Reply::text("Two.")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    let end = once(&stage.session, "a", "one").settled().await;
    let new = CreateSession {
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let surface = Surface { client: FakeClient::new([]), system: Arc::new(FakeSystem::new()) };
    let fork = stage.runtime.fork(stage.session.id(), new, |_| surface).await.unwrap();
    assert_eq!(once(&fork, "a", "one").settled().await, end);
    assert_eq!(once(&fork, "b", "two").settled().await.unwrap().requests, 1);
}
