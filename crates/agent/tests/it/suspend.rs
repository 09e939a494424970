//! A session is suspended here, and goes on in another process.

use crate::stage::{Setting, Stage, stage};
use agent::{
    Content, Message, OpenSession, PermissionMode, PromptId, Runtime, RuntimeOptions, SessionEvent,
    SessionHandle, StopReason, Surface, ToolStatus, TurnEnd,
    fake::{FakeClient, FakeModel, FakeModels, Reply},
};
use futures::FutureExt as _;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use system::{FakeSystem, fake::Script};

const PATIENCE: Duration = Duration::from_secs(60);

/// Opens the session in another process, whose model answers with a text.
async fn open_elsewhere(stage: &Stage) -> (Arc<Runtime>, Arc<FakeModel>, Arc<FakeClient>, SessionHandle) {
    let model = FakeModel::new([Reply::text("Done elsewhere.")]);
    let models = Arc::new(FakeModels(model.clone()));
    let store = Arc::new(stage.store.as_another_process());
    let runtime = Runtime::new(store, models, RuntimeOptions::default());
    let client = FakeClient::new([]);
    let surface = Surface { client: client.clone(), system: Arc::new(FakeSystem::new()) };
    let handle = runtime.open(stage.session.id(), OpenSession::default(), |_| surface).await.unwrap();
    (runtime, model, client, handle)
}

fn ended(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::TurnEnded { .. })
}

async fn with_command(script: impl Fn(&SessionHandle) -> Script + Send + Sync + 'static) -> Stage {
    let calls = Reply::calls(&[("bash", json!({ "command": "cargo test" }))]);
    let setting =
        Setting { script: vec![calls], permission_mode: PermissionMode::Prometheus, ..Setting::default() };
    let stage = stage(setting).await;
    let session = stage.session.clone();
    stage.system.on_command("cargo test", move |_| script(&session));
    stage
}

#[tokio::test(start_paused = true)]
async fn a_turn_stops_between_two_requests_and_the_next_owner_goes_on_with_it() {
    let stage = with_command(|session| {
        // While the command runs.
        assert!(session.suspend(PATIENCE).now_or_never().is_none());
        Script::exits(0).prints("ok\n")
    })
    .await;
    let id = PromptId::new("p-1").unwrap();
    let mut first = stage.session.start_once(id.clone(), vec![Content::text("test it")]);
    let mut queued = stage.session.start(vec![Content::text("and then?")]);
    for prompt in [&mut first, &mut queued] {
        assert_eq!(prompt.settled().await.unwrap().stop_reason, StopReason::Suspended);
    }
    stage.session.suspend(PATIENCE).await;
    let mut late = stage.session.start(vec![Content::text("late")]);
    assert_eq!(late.settled().await.unwrap().stop_reason, StopReason::Suspended);
    assert_eq!(stage.statuses()[0].1, ToolStatus::Completed, "the call was not cut off");
    assert_eq!(stage.model.requests().len(), 1);

    let (_runtime, model, client, session) = open_elsewhere(&stage).await;
    let outcome = session.start_once(id, vec![Content::text("test it")]).settled().await.unwrap();
    assert_eq!(outcome.stop_reason, StopReason::EndTurn, "the prompt that is sent again joins the turn");
    assert_eq!(outcome.requests, 2, "requests of both owners");
    assert_eq!(client.text(), "Done elsewhere.");
    let requests = model.requests();
    assert_eq!(requests.len(), 1);
    let Some(Message::Assistant(last)) = requests[0].messages.last() else { panic!("{requests:?}") };
    assert!(last.calls().next().unwrap().result.text.contains("ok"), "{last:?}");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_takes_too_long_is_cut_off_and_its_turn_goes_on_all_the_same() {
    let stage = with_command(|_| Script::hangs()).await;
    let mut prompt = stage.session.start(vec![Content::text("test it")]);
    let runs =
        |e: &SessionEvent| matches!(e, SessionEvent::ToolCall(u) if u.status == Some(ToolStatus::InProgress));
    stage.client.until(|client| client.events().iter().any(runs)).await;
    stage.session.suspend(PATIENCE).await;
    assert_eq!(prompt.settled().await.unwrap().stop_reason, StopReason::Suspended);
    assert_eq!(stage.statuses()[0].1, ToolStatus::Cancelled);
    let end = stage.client.events().into_iter().find(ended);
    assert!(matches!(
        end,
        Some(SessionEvent::TurnEnded { end: TurnEnd::Stopped(StopReason::Suspended), .. })
    ));
    let (_runtime, _model, client, _session) = open_elsewhere(&stage).await;
    client.until(|client| client.events().iter().any(ended)).await;
    assert_eq!(client.text(), "Done elsewhere.", "without a prompt of a client");
}

#[tokio::test]
async fn an_idle_session_is_closed_and_nothing_goes_on_elsewhere() {
    let stage = stage(Setting { script: vec![Reply::text("Hello.")], ..Setting::default() }).await;
    stage.prompt("hi").await.unwrap();
    stage.session.suspend(PATIENCE).await;
    let (_runtime, model, _client, session) = open_elsewhere(&stage).await;
    session.prompt(vec![Content::text("on")]).await.unwrap();
    assert_eq!(model.requests().len(), 1);
}
