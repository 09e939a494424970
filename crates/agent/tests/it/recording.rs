//! Events are stored, applied and sent in one order, and the memory for idle sessions is limited.

use crate::faulty::{FaultyStore, Plan};
use crate::stage::{Setting, Stage, stage};
use agent::fake::{FakeClient, FakeModel, FakeModels, MemoryStore, Reply};
use agent::{
    Content, CreateSession, Runtime, RuntimeOptions, SessionEvent, SessionHandle, StoreError, Surface,
    TurnError,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use std::sync::{Arc, Mutex};
use system::{AbsPath, FakeSystem};

/// Returns the durable events that the client received.
fn notified(stage: &Stage) -> Vec<SessionEvent> {
    stage.client.events().into_iter().filter(SessionEvent::is_durable).collect()
}

#[tokio::test]
async fn events_that_are_recorded_at_the_same_time_are_told_in_the_order_of_their_numbers() {
    let stage = stage(Setting { script: vec![Reply::Hang(Vec::new())], ..Setting::default() }).await;
    stage.store.answer_late();
    let mut prompt = stage.session.start(vec![Content::text("go")]);
    while stage.runtime.record(stage.session.id()).await.unwrap().last_seq == 0 {
        tokio::task::yield_now().await;
    }
    // The prompt is stored by now, but the store has not acknowledged it.
    stage.session.set_title("Mine".to_owned()).await.unwrap();
    prompt.inserted().await.unwrap();
    assert_eq!(notified(&stage), stage.stored().await);
    let last = stage.runtime.record(stage.session.id()).await.unwrap().last_seq;
    assert_eq!(stage.session.at_rest(|_| {}).0, last, "the number of the last one never goes back");
    prompt.cancel();
    prompt.settled().await.unwrap();
    assert_eq!(notified(&stage), stage.stored().await);
}

#[tokio::test]
async fn what_was_stored_and_not_acknowledged_is_told_before_what_follows() {
    let stage =
        stage(Setting { script: vec![Reply::text("A."), Reply::text("B.")], ..Setting::default() }).await;
    stage.store.trip_after(0, true);
    let failed = stage.prompt("first").await;
    assert!(matches!(failed, Err(TurnError::Store(StoreError::Io(_)))), "{failed:?}");
    assert_eq!((notified(&stage), stage.session.state().title), (Vec::new(), None));
    stage.prompt("second").await.unwrap();
    assert_eq!(notified(&stage), stage.stored().await);
    assert_eq!(stage.session.state().title.as_deref(), Some("first"));
    assert_eq!(stage.model.requests()[1].messages.len(), 2, "both prompts");
}

#[tokio::test]
async fn a_mode_that_could_not_be_recorded_is_not_in_force() {
    let stage = stage(Setting { script: vec![Reply::text("A.")], ..Setting::default() }).await;
    stage.store.trip_after(0, false);
    stage.session.set_mode(agent::Mode::Plan).await.unwrap_err();
    assert_eq!(stage.session.state().mode, agent::Mode::Edit);
    stage.prompt("go").await.unwrap();
    let request = format!("{:?}", stage.model.requests()[0]);
    assert!(request.contains("Mode: Edit") && !request.contains("Mode: Plan"), "{request}");
}

/// Sessions in one runtime, over a store that counts its operations.
struct Many {
    store: Arc<FaultyStore>,
    model: Arc<FakeModel>,
    runtime: Arc<Runtime>,
}

impl Many {
    fn new(prompts: usize) -> Self {
        let store = Arc::new(FaultyStore { inner: Arc::<MemoryStore>::default(), victim: Mutex::default() });
        let model = FakeModel::new((0..prompts).map(|_| Reply::text("A.")));
        let models = Arc::new(FakeModels(model.clone()));
        let runtime = Runtime::new(store.clone(), models, RuntimeOptions::default());
        Self { store, model, runtime }
    }

    async fn session(&self) -> SessionHandle {
        let surface = Surface { client: FakeClient::new([]), system: Arc::new(FakeSystem::new()) };
        let new = CreateSession {
            cwd: AbsPath::new("/w").unwrap(),
            additional_directories: Vec::new(),
            servers: Vec::new(),
        };
        self.runtime.create(new, |_| surface).await.unwrap()
    }

    /// Runs a turn; returns the number of store operations and the number of messages sent to the
    /// model.
    async fn turn(&self, session: &SessionHandle, content: Vec<Content>) -> (usize, usize) {
        let counted = Plan::none();
        *self.store.victim.lock().unwrap() = Some((Some(session.id().clone()), counted.clone()));
        session.prompt(content).await.unwrap();
        (counted.count(), self.model.requests().last().unwrap().messages.len())
    }
}

#[tokio::test]
async fn the_conversation_of_a_session_that_was_idle_longest_is_dropped_and_read_again() {
    let image = [b"\x89PNG\r\n\x1a\n".as_slice(), &vec![0; 3_700_000], b"\0\0\0\0IEND\xaeB`\x82"].concat();
    let image = Content::Image { mime_type: "image/png".to_owned(), data: STANDARD.encode(image) };
    let large = || vec![image.clone(); 4];
    let many = Many::new(6);
    let (first, second, third) = (many.session().await, many.session().await, many.session().await);
    let warm = many.turn(&first, large()).await.0;
    assert_eq!(many.turn(&second, large()).await, (warm, 1));
    assert_eq!(many.turn(&third, vec![Content::text("small")]).await, (warm, 1));
    // The two large conversations exceed the memory limit for idle sessions; the one that was idle
    // longest was dropped.
    let (asked, sent) = many.turn(&first, vec![Content::text("and?")]).await;
    assert!(asked > warm && sent == 3, "the log is read again: {asked} {warm} {sent}");
    assert_eq!(
        many.turn(&first, vec![Content::text("and now?")]).await,
        (warm - 1, 5),
        "what is in use is not read again, and how requests begin is stored once"
    );
    assert_eq!(many.turn(&third, vec![Content::text("more")]).await, (warm - 1, 3));
}
