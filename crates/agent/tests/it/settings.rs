//! Settings that change while a session runs.

use agent::fake::{FakeClient, FakeModel, FakeModels, MemoryStore, Reply};
use agent::{
    Client, Content, CreateSession, FollowedSettings, LanguageModel, PermissionMode, PermissionOutcome,
    PermissionRequest, Runtime, RuntimeOptions, SessionEvent, SessionHandle, SessionId, Settings,
    SettingsNotice, Severity, StopReason, Surface,
};
use async_trait::async_trait;
use serde_json::json;
use std::sync::{Arc, Mutex};
use system::{AbsPath, FakeSystem, fake::Script};

/// Settings that a test changes.
#[derive(Clone, Default)]
struct Changing(Arc<Mutex<Arc<RuntimeOptions>>>, Arc<Mutex<Vec<SettingsNotice>>>);

impl Changing {
    fn set(&self, change: impl FnOnce(&mut RuntimeOptions)) {
        change(Arc::make_mut(&mut self.0.lock().unwrap()));
        let title = "changed".to_owned();
        self.1.lock().unwrap().push(SettingsNotice { severity: Severity::Info, title, description: None });
    }
}

#[async_trait]
impl Settings for Changing {
    async fn of(&self, _folder: Option<&AbsPath>) -> Result<Arc<RuntimeOptions>, String> {
        Ok(self.0.lock().unwrap().clone())
    }

    async fn follow(
        &self,
        _session: &SessionId,
        folder: &AbsPath,
    ) -> Result<Arc<dyn FollowedSettings>, String> {
        match folder.as_str() {
            "/wrong" => Err("/wrong/config.toml:1: unknown setting".to_owned()),
            _ => Ok(Arc::new(self.clone())),
        }
    }
}

#[async_trait]
impl FollowedSettings for Changing {
    async fn now(&self) -> Arc<RuntimeOptions> {
        self.0.lock().unwrap().clone()
    }

    fn notices(&self) -> Vec<SettingsNotice> {
        std::mem::take(&mut *self.1.lock().unwrap())
    }
}

/// A client that changes the settings while it is asked, and then allows.
struct Distracted {
    inner: Arc<FakeClient>,
    settings: Changing,
    change: fn(&mut RuntimeOptions),
}

#[async_trait]
impl Client for Distracted {
    fn notify(&self, event: &SessionEvent) {
        self.inner.notify(event);
    }

    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome {
        let outcome = self.inner.request_permission(request).await;
        self.settings.set(self.change);
        outcome
    }
}

struct Stage {
    settings: Changing,
    model: Arc<FakeModel>,
    client: Arc<FakeClient>,
    runtime: Arc<Runtime>,
    session: SessionHandle,
}

async fn stage(script: Vec<Reply>, answers: usize, change: fn(&mut RuntimeOptions)) -> Stage {
    let settings = Changing::default();
    let system = Arc::new(FakeSystem::new());
    system.add_file("/w/a.txt", "one\n");
    system.on_command("cargo test", |_| Script::exits(0).prints("ok\n"));
    let client = FakeClient::new(vec![Some(PermissionOutcome::AllowOnce); answers]);
    let model = FakeModel::new(script);
    let models = Arc::new(FakeModels(model.clone() as Arc<dyn LanguageModel>));
    let store = Arc::new(MemoryStore::default());
    let runtime =
        Runtime::with_settings(store, models, Arc::new(settings.clone()), agent::ToolProviders::default());
    let watching = Arc::new(Distracted { inner: client.clone(), settings: settings.clone(), change });
    let session = runtime.create(new("/w"), |_| Surface { client: watching, system }).await.unwrap();
    Stage { settings, model, client, runtime, session }
}

fn new(folder: &str) -> CreateSession {
    let cwd = AbsPath::new(folder).unwrap();
    CreateSession { cwd, additional_directories: Vec::new(), servers: Vec::new() }
}

impl Stage {
    async fn prompt(&self) -> StopReason {
        self.session.prompt(vec![Content::text("go")]).await.unwrap().stop_reason
    }

    /// The results that the model was given in its last request.
    fn results(&self) -> Vec<String> {
        match self.model.requests().last().and_then(|request| request.messages.last()) {
            Some(agent::Message::Assistant(message)) => {
                message.calls().map(|call| call.result.text.clone()).collect()
            }
            _ => Vec::new(),
        }
    }
}

fn read() -> Reply {
    Reply::calls(&[("file_read", json!({ "path": "a.txt" }))])
}

fn test() -> Reply {
    Reply::calls(&[("bash", json!({ "command": "cargo test" }))])
}

#[tokio::test]
async fn a_setting_counts_at_the_next_decision_and_its_change_is_told_once() {
    let script = vec![read(), Reply::text("1"), read(), Reply::text("2"), read(), Reply::text("3")];
    let stage = stage(script, 0, |_| {}).await;
    stage.prompt().await;
    assert!(stage.results()[0].contains("one"));
    stage.settings.set(|options| options.permissions.denied_tools = vec!["file_read".to_owned()]);
    stage.prompt().await;
    assert!(stage.results()[0].contains("denied by the setting tools.denied_tools"), "{:?}", stage.results());
    stage.settings.set(|options| options.permissions.denied_tools.clear());
    stage.prompt().await;
    assert!(stage.results()[0].contains("one"));
    let notices = stage
        .client
        .events()
        .iter()
        .filter(|event| matches!(event, SessionEvent::Notice { title, .. } if title == "changed"))
        .count();
    assert_eq!(notices, 2);
}

#[tokio::test]
async fn what_is_denied_while_its_question_is_open_is_not_run_whatever_the_answer() {
    let deny: fn(&mut RuntimeOptions) = |options| options.permissions.denied_tools = vec!["bash".to_owned()];
    let stage = stage(vec![test(), Reply::text("ok")], 1, deny).await;
    stage.prompt().await;
    assert_eq!(stage.client.requests().len(), 1);
    assert!(stage.results()[0].contains("denied by the setting tools.denied_tools"), "{:?}", stage.results());
}

#[tokio::test]
async fn an_open_question_is_not_answered_by_settings_that_loosen() {
    let loosen: fn(&mut RuntimeOptions) =
        |options| options.start.permission_mode = PermissionMode::Prometheus;
    let stage = stage(vec![test(), test(), Reply::text("ok")], 1, loosen).await;
    stage.prompt().await;
    assert_eq!(stage.client.requests().len(), 1, "the first was asked, and the second came after");
    assert!(stage.results()[0].contains("ok"), "{:?}", stage.results());
}

#[tokio::test]
async fn a_mode_follows_the_settings_until_somebody_chooses_one() {
    let stage = stage(Vec::new(), 0, |_| {}).await;
    let modes = || stage.session.state().permission_mode;
    assert_eq!(modes(), PermissionMode::Guardian);
    stage.settings.set(|options| options.start.permission_mode = PermissionMode::Argus);
    stage.runtime.settings_changed();
    // Messages are taken in order: once this is done, the change was heeded.
    stage.session.set_title("s".to_owned()).await.unwrap();
    assert_eq!(modes(), PermissionMode::Argus);
    let was_notified = |mode| stage.client.events().contains(&SessionEvent::PermissionModeChanged(mode));
    assert!(was_notified(PermissionMode::Argus));
    stage.session.set_permission_mode(PermissionMode::Guardian).await.unwrap();
    stage.settings.set(|options| options.start.permission_mode = PermissionMode::Prometheus);
    stage.runtime.settings_changed();
    stage.session.set_title("t".to_owned()).await.unwrap();
    assert_eq!(modes(), PermissionMode::Guardian);
    assert!(!was_notified(PermissionMode::Prometheus));
}

#[tokio::test]
async fn a_session_whose_settings_are_wrong_is_not_opened() {
    let stage = stage(Vec::new(), 0, |_| {}).await;
    let surface = Surface { client: stage.client.clone(), system: Arc::new(FakeSystem::new()) };
    let error = stage.runtime.create(new("/wrong"), |_| surface).await.err().unwrap();
    assert_eq!(error.to_string(), "the session cannot be opened: /wrong/config.toml:1: unknown setting");
}
