//! A process ends, cleanly or not, and another one opens the session.

use crate::faulty::{Fault, FaultyStore, Plan};
use crate::stage::{Setting, Stage, stage};
use agent::fake::{FakeClient, FakeModel, FakeModels, MemoryStore, Reply};
use agent::{
    CreateSession, Effort, Message, Mode, NewSession, OpenSession, PermissionMode, Runtime, RuntimeOptions,
    SessionError, SessionEvent, SessionHandle, SessionStore, StopReason, StoreError, Surface, ToolStatus,
    TurnEnd,
};
use serde_json::json;
use std::sync::{Arc, Mutex};
use system::{AbsPath, FakeSystem};

async fn reopen(
    stage: &Stage,
    script: Vec<Reply>,
    options: RuntimeOptions,
) -> (Arc<Runtime>, Arc<FakeModel>, SessionHandle) {
    let model = FakeModel::new(script);
    let runtime = Runtime::new(stage.store.clone(), Arc::new(FakeModels(model.clone())), options);
    let surface = Surface { client: FakeClient::new([]), system: Arc::new(FakeSystem::new()) };
    let handle = runtime.open(stage.session.id(), OpenSession::default(), |_| surface).await.unwrap();
    (runtime, model, handle)
}

#[tokio::test]
async fn a_session_goes_on_where_it_was() {
    let script = vec![Reply::calls(&[("file_read", json!({"path": "a.txt"}))]), Reply::text("Read.")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.prompt("read").await.unwrap();
    stage.session.set_mode(Mode::Plan).await.unwrap();
    stage.runtime.shutdown().await;

    let (_runtime, model, session) =
        reopen(&stage, vec![Reply::text("On.")], RuntimeOptions::default()).await;
    assert_eq!(session.state().mode, Mode::Plan);
    assert_eq!(session.state().title.as_deref(), Some("read"));
    session.prompt(vec![agent::Content::text("and?")]).await.unwrap();
    let messages = &model.requests()[0].messages;
    assert_eq!(messages.len(), 4, "{messages:?}");
    assert!(
        matches!(&messages[1], Message::Assistant(m) if m.calls().next().unwrap().result.text.contains("1\tone"))
    );
}

#[tokio::test]
async fn a_call_that_was_running_is_interrupted_and_never_run_again() {
    let script = vec![Reply::calls(&[("bash", json!({"command": "cargo test"}))])];
    let stage =
        stage(Setting { script, permission_mode: PermissionMode::Prometheus, ..Setting::default() }).await;
    stage.system.on_command("cargo test", |_| system::fake::Script::hangs());
    let crash = async {
        let running = |e: &SessionEvent| matches!(e, SessionEvent::ToolCall(u) if u.status == Some(ToolStatus::InProgress));
        stage.client.until(|client| client.events().iter().any(running)).await;
        let (_runtime, model, session) =
            reopen(&stage, vec![Reply::text("On.")], RuntimeOptions::default()).await;
        session.prompt(vec![agent::Content::text("and?")]).await.unwrap();
        let Message::Assistant(message) = model.requests()[0].messages[1].clone() else { panic!() };
        assert!(message.calls().next().unwrap().result.text.contains("not run again"), "{message:?}");
        stage.session.cancel();
    };
    let (fenced, ()) = tokio::join!(stage.prompt("go"), crash);
    let fence = StoreError::Fenced(stage.session.id().clone());
    assert_eq!(fenced, Err(agent::TurnError::Store(fence)), "the first owner writes no more");
    let commands = stage.system.calls().iter().filter(|call| call.operation == "spawn").count();
    assert_eq!(commands, 1);
}

#[tokio::test]
async fn a_session_never_comes_back_looser_and_belongs_to_its_folder() {
    let stage = stage(Setting { permission_mode: PermissionMode::Prometheus, ..Setting::default() }).await;
    stage.runtime.shutdown().await;
    let (runtime, _, session) = reopen(&stage, vec![], RuntimeOptions::default()).await;
    assert_eq!(session.state().permission_mode, PermissionMode::Guardian);
    let cwd = Some(AbsPath::new("/elsewhere").unwrap());
    let elsewhere = OpenSession { cwd, ..OpenSession::default() };
    let surface = || Surface { client: FakeClient::new([]), system: Arc::new(FakeSystem::new()) };
    let error = runtime.open(session.id(), elsewhere, |_| surface()).await.unwrap_err();
    assert!(matches!(error, SessionError::OtherFolder { .. }), "{error}");
    let unknown = agent::SessionId::from("nobody");
    let error = runtime.open(&unknown, OpenSession::default(), |_| surface()).await.unwrap_err();
    assert_eq!(error, SessionError::Store(StoreError::NotFound(unknown)));
}

#[tokio::test]
async fn a_moved_session_works_in_its_new_folder() {
    let path = |text: &str| AbsPath::new(text).unwrap();
    let stage = stage(Setting::default()).await;
    stage.session.set_directories(vec![path("/w/sub"), path("/else")]).await.unwrap();
    let id = stage.session.id().clone();
    let open = stage.runtime.move_session(&id, &path("/new")).await.unwrap_err();
    assert_eq!(open, SessionError::AtWork(id.clone()));
    stage.session.close().await;
    stage.runtime.move_session(&id, &path("/new")).await.unwrap();
    let record = stage.runtime.record(&id).await.unwrap();
    assert_eq!(
        (record.cwd, record.additional_directories),
        (path("/new"), vec![path("/new/sub"), path("/else")])
    );
    let surface = || Surface { client: FakeClient::new([]), system: Arc::new(FakeSystem::new()) };
    let how = OpenSession { cwd: Some(path("/newer")), rebind: true, ..OpenSession::default() };
    let session = stage.runtime.open(&id, how, |_| surface()).await.unwrap();
    assert_eq!(
        (session.cwd(), stage.runtime.record(&id).await.unwrap().cwd),
        (&path("/newer"), path("/newer"))
    );
    assert_eq!(session.state().additional_directories, [path("/newer/sub"), path("/else")]);
}

#[tokio::test]
async fn opening_an_open_session_attaches_to_it() {
    let stage = stage(Setting::default()).await;
    let handle = stage
        .runtime
        .open(stage.session.id(), OpenSession::default(), |_| panic!("the session has a surface already"))
        .await
        .unwrap();
    assert_eq!(handle.id(), stage.session.id());
}

#[tokio::test]
async fn a_fork_goes_on_by_itself() {
    let script = vec![Reply::text("One."), Reply::text("Two."), Reply::text("Three.")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.prompt("first").await.unwrap();
    stage.session.set_effort(Some(Effort::High)).await.unwrap();
    let new = CreateSession {
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let surface = Surface { client: FakeClient::new([]), system: Arc::new(FakeSystem::new()) };
    let fork = stage.runtime.fork(stage.session.id(), new, |_| surface).await.unwrap();
    assert_ne!(fork.id(), stage.session.id());
    assert_eq!((fork.state().title.as_deref(), fork.state().effort), (Some("first"), Some(Effort::High)));
    fork.prompt(vec![agent::Content::text("second")]).await.unwrap();
    stage.prompt("third").await.unwrap();
    let requests = stage.model.requests();
    assert_eq!(requests[1].messages.len(), 3, "the fork knows what was said before it");
    assert_eq!(requests[2].messages.len(), 3, "and the other nothing of what came after");
    assert_eq!(requests[1].reasoning_effort.as_deref(), Some("high"));
}

#[tokio::test]
async fn a_title_that_was_given_stays() {
    let script = vec![Reply::text("One.")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    stage.session.set_title("Mine".to_owned()).await.unwrap();
    stage.prompt("a prompt of another title").await.unwrap();
    assert_eq!(stage.session.state().title.as_deref(), Some("Mine"));
    let id = stage.session.id().clone();
    stage.session.close().await;
    stage.runtime.set_title(&id, "Other".to_owned()).await.unwrap();
    assert_eq!(stage.runtime.record(&id).await.unwrap().title.as_deref(), Some("Other"));
    stage.runtime.delete(&id).await.unwrap();
    stage.runtime.delete(&id).await.unwrap();
    let gone = stage.runtime.set_title(&id, "x".to_owned()).await;
    assert_eq!(gone, Err(SessionError::Store(StoreError::NotFound(id))));
}

#[tokio::test]
async fn a_session_that_was_taken_over_can_be_opened_again() {
    let script = vec![Reply::text("Not to be heard."), Reply::text("Back.")];
    let stage = stage(Setting { script, ..Setting::default() }).await;
    let id = stage.session.id().clone();
    SessionStore::acquire(stage.store.as_ref(), &id, true).await.unwrap();
    let error = stage.prompt("x").await.unwrap_err();
    assert_eq!(error, agent::TurnError::Store(StoreError::Fenced(id.clone())));
    assert!(stage.session.is_lost());
    assert!(stage.client.text().is_empty(), "the answer to a prompt that was not stored is not shown");
    let surface = Surface { client: stage.client.clone(), system: stage.system.clone() };
    let again = stage.runtime.open(&id, OpenSession::default(), |_| surface).await.unwrap();
    again.prompt(vec![agent::Content::text("x")]).await.unwrap();
}

/// A store with one session of this many turns, followed by these events, and a counter of the
/// operations on it.
async fn long(turns: usize, end: Vec<SessionEvent>) -> (Arc<FaultyStore>, Arc<Plan>) {
    let inner = MemoryStore::default();
    let new = NewSession {
        id: "long".into(),
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        model: "fake/model".to_owned(),
        mode: Mode::Edit,
        permission_mode: PermissionMode::Guardian,
        parent: None,
        owner: None,
    };
    let lease = inner.create(new).await.unwrap();
    for n in 0..turns {
        let turn = agent::TurnId(format!("run_{}", n + 1));
        let said = agent::Content::text(n.to_string());
        let events = vec![
            SessionEvent::TurnStarted { turn: turn.clone(), prompt: None },
            SessionEvent::UserMessage { id: format!("msg_{}", n + 1).as_str().into(), content: vec![said] },
            SessionEvent::TurnEnded { turn, end: TurnEnd::Stopped(StopReason::EndTurn) },
        ];
        inner.append(&lease, events).await.unwrap();
    }
    inner.append(&lease, end).await.unwrap();
    let counted = Plan::none();
    let victim = Mutex::new(Some((Some("long".into()), counted.clone())));
    (Arc::new(FaultyStore { inner: Arc::new(inner), victim }), counted)
}

async fn open_long(
    store: Arc<FaultyStore>,
    replies: Vec<Reply>,
) -> (Arc<Runtime>, Arc<FakeModel>, SessionHandle) {
    let model = FakeModel::new(replies);
    let runtime = Runtime::new(store, Arc::new(FakeModels(model.clone())), RuntimeOptions::default());
    let surface = Surface { client: FakeClient::new([]), system: Arc::new(FakeSystem::new()) };
    let handle = runtime.open(&"long".into(), OpenSession::default(), |_| surface).await.unwrap();
    (runtime, model, handle)
}

#[tokio::test]
async fn a_long_session_opens_by_its_end_and_is_read_before_its_first_turn() {
    let (store, counted) = long(4000, Vec::new()).await;
    let (_runtime, model, session) = open_long(store, vec![Reply::text("On.")]).await;
    // The record, whether it is a subagent's, the lease, the last page, the empty page after it,
    // and the empty append that returns the number of the last event.
    assert_eq!(counted.count(), 6);
    session.prompt(vec![agent::Content::text("and?")]).await.unwrap();
    assert_eq!(model.requests()[0].messages.len(), 4001);
    assert!(counted.count() > 24, "the whole log");
}

#[tokio::test]
async fn a_long_turn_that_was_cut_off_is_closed_when_its_session_opens() {
    let mut end = vec![SessionEvent::TurnStarted { turn: "run_2".into(), prompt: None }];
    end.extend((0..1000).map(|_| SessionEvent::ModeChanged(Mode::Plan)));
    let (store, _) = long(1, end).await;
    let (runtime, _, session) = open_long(store.clone(), Vec::new()).await;
    let last = runtime.events(session.id(), 1004).await.unwrap();
    assert!(
        matches!(&last[..], [(1005, SessionEvent::TurnEnded { turn, .. })] if turn.0 == "run_2"),
        "{last:?}"
    );
    session.close().await;
    let (_runtime, _, session) = open_long(store, Vec::new()).await;
    assert_eq!(runtime.record(session.id()).await.unwrap().last_seq, 1005, "once");
}

#[tokio::test]
async fn a_cancel_right_after_an_opening_settles_the_prompt() {
    let (store, _) = long(4000, Vec::new()).await;
    let (_runtime, model, session) = open_long(store, vec![Reply::text("On.")]).await;
    let mut prompt = session.start(vec![agent::Content::text("and?")]);
    session.cancel();
    assert_eq!(prompt.settled().await.unwrap().stop_reason, StopReason::Cancelled);
    assert!(model.requests().is_empty());
    session.prompt(vec![agent::Content::text("and now?")]).await.unwrap();
    assert_eq!(model.requests()[0].messages.len(), 4001);
}

#[tokio::test]
async fn a_session_that_cannot_be_opened_does_not_hold_up_the_opening_of_another() {
    let (store, _) = long(1, Vec::new()).await;
    *store.victim.lock().unwrap() = Some((Some("long".into()), Plan::new(Fault::Hang, 1)));
    let models = Arc::new(FakeModels(FakeModel::new([])));
    let runtime = Runtime::new(store, models, RuntimeOptions::default());
    let surface = || Surface { client: FakeClient::new([]), system: Arc::new(FakeSystem::new()) };
    let new = CreateSession {
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let other = runtime.create(new, |_| surface()).await.unwrap();
    other.close().await;
    let (hangs, other_id) = ("long".into(), other.id().clone());
    tokio::select! {
        biased;
        _ = runtime.open(&hangs, OpenSession::default(), |_| surface()) => panic!("its store does not answer"),
        opened = runtime.open(&other_id, OpenSession::default(), |_| surface()) => drop(opened.unwrap()),
    }
}
