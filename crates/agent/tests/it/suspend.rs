//! A session is suspended here, and goes on in another process.

use crate::operator::{Defaults, Limits};
use crate::stage::{Setting, Stage, stage};
use agent::{
    Content, CreateSession, Message, OpenSession, PermissionMode, PromptId, Runtime, RuntimeOptions,
    SessionEvent, SessionHandle, StopReason, Surface, TakenOver, ToolProviders, ToolStatus, TurnEnd,
    TurnError,
    fake::{FakeClient, FakeModel, FakeModels, Reply},
};
use futures::FutureExt as _;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use system::{AbsPath, FakeSystem, fake::Script};

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

/// Opens the session after the death of its process, in one whose operator has turns go on.
async fn open_after_death(stage: &Stage, script: Vec<Reply>) -> Successor {
    let model = FakeModel::new(script);
    let limits = Limits::after_death();
    let runtime = Runtime::operated(
        stage.store.clone(),
        Arc::new(FakeModels(model.clone())),
        Arc::new(Defaults),
        ToolProviders::default(),
        Some(limits.clone()),
    );
    let client = FakeClient::new([]);
    let surface = Surface { client: client.clone(), system: Arc::new(FakeSystem::new()) };
    let session = runtime.open(stage.session.id(), OpenSession::default(), |_| surface).await.unwrap();
    Successor { model, limits, client, session, _runtime: runtime }
}

struct Successor {
    model: Arc<FakeModel>,
    limits: Arc<Limits>,
    client: Arc<FakeClient>,
    session: SessionHandle,
    _runtime: Arc<Runtime>,
}

/// A turn with an id whose process dies while its command runs.
async fn cut_off() -> (Stage, PromptId) {
    let stage = with_command(|_| Script::hangs()).await;
    let id = PromptId::new("p-1").unwrap();
    let _prompt = stage.session.start_once(id.clone(), vec![Content::text("test it")]);
    let runs =
        |e: &SessionEvent| matches!(e, SessionEvent::ToolCall(u) if u.status == Some(ToolStatus::InProgress));
    stage.client.until(|client| client.events().iter().any(runs)).await;
    (stage, id)
}

#[tokio::test(start_paused = true)]
async fn after_a_death_the_turn_goes_on_once_and_the_model_is_informed_of_what_was_interrupted() {
    let (stage, id) = cut_off().await;
    let next = open_after_death(&stage, vec![Reply::text("Done after all.")]).await;
    let outcome = next.session.start_once(id, vec![Content::text("test it")]).settled().await.unwrap();
    assert_eq!(outcome.stop_reason, StopReason::EndTurn, "the prompt is answered by the turn that goes on");
    assert_eq!((next.client.text().as_str(), next.model.requests().len()), ("Done after all.", 1));
    let sent = format!("{:?}", next.model.requests()[0].messages);
    assert!(sent.contains("These calls were interrupted") && sent.contains("bash (tool_0)"), "{sent}");
    assert!(sent.contains("It may have had an effect or not; it was not run again"), "{sent}");
    assert_eq!(*next.limits.taken_over.lock().unwrap(), [TakenOver::AfterDeath]);
    stage.session.cancel();
}

#[tokio::test(start_paused = true)]
async fn a_turn_that_its_second_process_dies_of_as_well_ends() {
    let (stage, id) = cut_off().await;
    let second = open_after_death(&stage, vec![Reply::Hang(Vec::new())]).await;
    second.client.until(|_| second.model.requests().len() == 1).await;
    let third = open_after_death(&stage, vec![Reply::text("Hello.")]).await;
    let error = third.session.start_once(id, vec![Content::text("test it")]).settled().await.unwrap_err();
    assert_eq!(error, TurnError::OwnerLost);
    assert!(third.model.requests().is_empty());
    third.session.prompt(vec![Content::text("and now?")]).await.unwrap();
    stage.session.cancel();
    second.session.cancel();
}

#[tokio::test(start_paused = true)]
async fn what_a_dead_process_left_is_given_back_unless_its_turn_goes_on() {
    let (stage, _id) = cut_off().await;
    let model = FakeModel::new([]);
    let runtime = |limits| {
        let models = Arc::new(FakeModels(model.clone()));
        Runtime::operated(
            stage.store.clone(),
            models,
            Arc::new(Defaults),
            ToolProviders::default(),
            Some(limits),
        )
    };
    let goes_on = runtime(Limits::after_death());
    assert_eq!(goes_on.settle_orphan(stage.session.id()).await.unwrap(), Some(AbsPath::new("/w").unwrap()));
    let stops = runtime(Limits::new(1, 1, 1));
    assert_eq!(stops.settle_orphan(stage.session.id()).await.unwrap(), None);
    assert!(model.requests().is_empty());
    stage.session.cancel();
}

#[tokio::test]
async fn a_suspended_prompt_before_which_another_one_came_is_not_run_again() {
    let stage = with_command(|session| {
        assert!(session.suspend(PATIENCE).now_or_never().is_none());
        Script::exits(0)
    })
    .await;
    let id = PromptId::new("p-1").unwrap();
    let mut first = stage.session.start_once(id.clone(), vec![Content::text("test it")]);
    assert_eq!(first.settled().await.unwrap().stop_reason, StopReason::Suspended);
    stage.session.suspend(PATIENCE).await;

    // The first turn that begins is refused, so the suspended one does not go on by itself.
    let limits = Limits::refusing_turns(1);
    let model = FakeModel::new([Reply::text("Other."), Reply::text("Never.")]);
    let models = Arc::new(FakeModels(model.clone()));
    let runtime = Runtime::operated(
        Arc::new(stage.store.as_another_process()),
        models,
        Arc::new(Defaults),
        ToolProviders::default(),
        Some(limits),
    );
    let surface = Surface { client: FakeClient::new([]), system: Arc::new(FakeSystem::new()) };
    let session = runtime.open(stage.session.id(), OpenSession::default(), |_| surface).await.unwrap();
    session.prompt(vec![Content::text("something else")]).await.unwrap();
    let again = session.start_once(id, vec![Content::text("test it")]).settled().await.unwrap_err();
    assert_eq!(again, TurnError::OwnerLost);
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn a_suspended_turn_that_was_refused_goes_on_when_its_prompt_is_sent_again() {
    let stage = with_command(|session| {
        assert!(session.suspend(PATIENCE).now_or_never().is_none());
        Script::exits(0).prints("ok\n")
    })
    .await;
    let id = PromptId::new("p-1").unwrap();
    let mut first = stage.session.start_once(id.clone(), vec![Content::text("test it")]);
    assert_eq!(first.settled().await.unwrap().stop_reason, StopReason::Suspended);
    stage.session.suspend(PATIENCE).await;
    let model = FakeModel::new([Reply::text("Done.")]);
    let models = Arc::new(FakeModels(model.clone()));
    let store = Arc::new(stage.store.as_another_process());
    let runtime = Runtime::operated(
        store,
        models,
        Arc::new(Defaults),
        ToolProviders::default(),
        Some(Limits::refusing_turns(1)),
    );
    let surface = Surface { client: FakeClient::new([]), system: Arc::new(FakeSystem::new()) };
    let session = runtime.open(stage.session.id(), OpenSession::default(), |_| surface).await.unwrap();
    let mut again = session.start_once(id, vec![Content::text("test it")]);
    assert_eq!(again.settled().await.unwrap().stop_reason, StopReason::EndTurn);
    assert_eq!(model.requests().len(), 1);
    let stored = stage.stored().await;
    let messages = stored.iter().filter(|event| matches!(event, SessionEvent::UserMessage { .. })).count();
    assert_eq!(messages, 1, "the prompt is in the conversation once");
}

#[tokio::test]
async fn a_copy_of_a_suspended_session_does_not_go_on_with_its_turn() {
    let stage = with_command(|session| {
        assert!(session.suspend(PATIENCE).now_or_never().is_none());
        Script::exits(0)
    })
    .await;
    let mut first = stage.session.start(vec![Content::text("test it")]);
    assert_eq!(first.settled().await.unwrap().stop_reason, StopReason::Suspended);
    stage.session.suspend(PATIENCE).await;
    let model = FakeModel::new([Reply::text("In the copy.")]);
    let models = Arc::new(FakeModels(model.clone()));
    let store = Arc::new(stage.store.as_another_process());
    let runtime = Runtime::new(store, models, RuntimeOptions::default());
    let surface = Surface { client: FakeClient::new([]), system: Arc::new(FakeSystem::new()) };
    let new = CreateSession {
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let copy = runtime.fork(stage.session.id(), new, |_| surface).await.unwrap();
    copy.prompt(vec![Content::text("on")]).await.unwrap();
    assert_eq!(model.requests().len(), 1, "only the new prompt asks the model");
}
