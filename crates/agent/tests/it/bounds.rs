//! Everything that grows with a model's output has a limit, and a cancel never waits for it.

use crate::stage::{Setting, Stage, stage};
use agent::fake::{FakeClient, FakeModels, MemoryStore, Reply, WatchedModel};
use agent::{
    ANSWER_BYTES, Client, Content, CreateSession, Mode, ModelEvent, ModelStop, PermissionOutcome,
    PermissionRequest, Runtime, RuntimeOptions, SessionEvent, SessionHandle, StopReason, Surface,
};
use async_trait::async_trait;
use serde_json::json;
use std::{sync::Arc, time::Duration};
use system::{AbsPath, FakeSystem};
use tokio::sync::Semaphore;

const MIB: usize = 1024 * 1024;

/// Returns the stored answers of a session: text, reasoning and the number of calls.
async fn answers(stage: &Stage) -> Vec<(String, String, usize)> {
    let events = stage.stored().await.into_iter().filter_map(|event| match event {
        SessionEvent::ModelResponse(response) => {
            Some((response.text(), response.thoughts(), response.calls().count()))
        }
        _ => None,
    });
    events.collect()
}

#[tokio::test]
async fn a_runaway_answer_is_cut_off_kept_and_marked() {
    let text = || ModelEvent::Text("x".repeat(MIB));
    let thought = || ModelEvent::Reasoning("y".repeat(MIB));
    let call = |bytes: usize| ModelEvent::call("c", "bash", &json!({ "command": "z".repeat(bytes) }));
    let runaways = [
        ((0..12).map(|_| text()).collect::<Vec<_>>(), ANSWER_BYTES, 0),
        ((0..12).map(|_| thought()).collect(), 0, ANSWER_BYTES),
        (vec![text(), thought(), call(100), call(10 * MIB), text()], MIB, MIB),
    ];
    for (events, texts, thoughts) in runaways {
        let stage = stage(Setting { script: vec![Reply::ok(events)], ..Setting::default() }).await;
        assert_eq!(stage.prompt("go").await.unwrap().stop_reason, StopReason::MaxTokens);
        let [(text, reasoning, calls)] = &answers(&stage).await[..] else { panic!("one answer") };
        assert!(text.ends_with("[cut off here: an answer may have 8 MiB]"));
        assert_eq!((text.matches('x').count(), reasoning.len(), *calls), (texts, thoughts, 0));
        assert_eq!(stage.client.text(), *text, "the client was told of the same");
        assert_eq!(stage.model.requests().len(), 1, "it is not asked again");
        assert!(stage.client.events().iter().any(|event| matches!(event,
            SessionEvent::Notice { title, .. } if title.contains("cut off: it is longer than 8 MiB"))));
    }
}

/// A client that accepts only as many events as it has permits for.
struct Slow {
    inner: Arc<FakeClient>,
    room: Semaphore,
}

#[async_trait]
impl Client for Slow {
    fn notify(&self, event: &SessionEvent) {
        self.inner.notify(event);
    }

    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome {
        self.inner.request_permission(request).await
    }

    async fn room(&self) {
        self.room.acquire().await.unwrap().forget();
    }
}

struct Scene {
    client: Arc<Slow>,
    model: Arc<WatchedModel>,
    store: Arc<MemoryStore>,
    session: SessionHandle,
}

/// A session whose client has this many permits.
async fn scene(reply: Reply, room: usize) -> Scene {
    let client = Arc::new(Slow { inner: FakeClient::new([]), room: Semaphore::new(room) });
    let model = WatchedModel::new([reply]);
    let store = Arc::new(MemoryStore::default());
    let models = Arc::new(FakeModels(model.clone()));
    let runtime = Runtime::new(store.clone(), models, RuntimeOptions::default());
    let surface = Surface { client: client.clone(), system: Arc::new(FakeSystem::new()) };
    let cwd = AbsPath::new("/w").unwrap();
    let new = CreateSession { cwd, additional_directories: Vec::new(), servers: Vec::new() };
    let session = runtime.create(new, |_| surface).await.unwrap();
    Scene { client, model, store, session }
}

fn letters() -> Vec<ModelEvent> {
    (0..100).map(|_| ModelEvent::Text("x".to_owned())).collect()
}

#[tokio::test]
async fn a_model_is_not_read_while_the_client_has_no_room() {
    let reply = Reply::ok([letters(), vec![ModelEvent::Stop(ModelStop::EndTurn)]].concat());
    let Scene { client, model, session, .. } = scene(reply, 0).await;
    let mut prompt = session.start(vec![Content::text("go")]);
    let mut taken = model.taken.subscribe();
    client.inner.until(|client| !client.events().is_empty()).await;
    assert_eq!(*taken.borrow_and_update(), 0, "not even asked");
    // The first event comes with the answer; each permit is for one more.
    for room in 1..10 {
        client.room.add_permits(1);
        taken.wait_for(|taken| *taken == room).await.unwrap();
        client.inner.until(|client| client.text().len() == room).await;
        tokio::task::yield_now().await;
        assert_eq!(*taken.borrow_and_update(), room);
    }
    client.room.add_permits(1000);
    assert_eq!(prompt.settled().await.unwrap().stop_reason, StopReason::EndTurn);
    assert_eq!(client.inner.text().len(), 100);
}

#[tokio::test]
async fn a_cancel_does_not_wait_for_room() {
    let Scene { client, model, session, .. } = scene(Reply::ok(letters()), 5).await;
    let mut prompt = session.start(vec![Content::text("go")]);
    client.inner.until(|client| client.text().len() == 5).await;
    session.cancel();
    assert_eq!(prompt.settled().await.unwrap().stop_reason, StopReason::Cancelled);
    assert!(model.dropped.is_cancelled());
    assert_eq!(client.inner.text().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_cancel_overtakes_what_the_session_was_sent_before() {
    let Scene { client, model, store, session } =
        scene(Reply::Hang(vec![ModelEvent::Text("x".to_owned())]), 1000).await;
    let mut prompt = session.start(vec![Content::text("go")]);
    client.inner.until(|client| client.text() == "x").await;
    store.pause(true);
    let changes = futures::future::join_all([Mode::Ask, Mode::Plan].map(|mode| session.set_mode(mode)));
    let checked = async {
        // By now the first change waits for the store, and the second for the first.
        tokio::task::yield_now().await;
        session.cancel();
        // The answer is dropped although neither change has ended.
        tokio::time::timeout(Duration::from_secs(1), model.dropped.cancelled()).await.unwrap();
        store.pause(false);
    };
    let (changes, ()) = tokio::join!(changes, checked);
    assert!(changes.iter().all(Result::is_ok));
    assert_eq!(prompt.settled().await.unwrap().stop_reason, StopReason::Cancelled);
}
