//! Tests of login and logout with models that need credentials.

use acp::{
    AcpOptions,
    testing::{ClientName, Editor, EditorScript},
};
use agent::{
    Credentials, LanguageModel, ModelError, ModelInfo, Models, Runtime, RuntimeOptions,
    fake::{FakeModel, FakeModels, MemoryStore},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};
use system::{AbsPath, FakeSystem};

/// Models with a given state of credentials.
struct ModelsWithCredentials(FakeModels, Credentials);

#[async_trait]
impl Models for ModelsWithCredentials {
    fn list(&self) -> Vec<ModelInfo> {
        self.0.list()
    }

    async fn default_id(&self) -> String {
        self.0.default_id().await
    }

    async fn get(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        self.0.get(id).await
    }

    fn credentials(&self, _id: &str) -> Credentials {
        self.1
    }
}

/// Logs out twice and in twice; returns the states that the client was notified of.
async fn status_updates(script: EditorScript, credentials: Credentials) -> Vec<Value> {
    let (login, logout) =
        if script.is_version_2() { ("auth/login", "auth/logout") } else { ("authenticate", "logout") };
    let disk = FakeSystem::new();
    disk.add_file("/w/a.txt", "");
    let disk = Arc::new(disk);
    let models = Arc::new(ModelsWithCredentials(FakeModels(FakeModel::new([])), credentials));
    let runtime = Runtime::new(Arc::new(MemoryStore::default()), models, RuntimeOptions::default());
    let options = AcpOptions::new(disk.clone(), "0.1.0", AbsPath::new("/w").unwrap());
    let editor = crate::transport::connect(runtime, options, script.over(disk));
    editor.initialize().await;
    let method = json!({"methodId": "tiller-provider"});
    for method in [(logout, json!({})), (login, method.clone())].iter().flat_map(|step| [step, step]) {
        editor.ok(method.0, method.1.clone()).await;
        // The notification follows the response, and precedes this response.
        let status = editor.ok("auth/status", json!({})).await;
        if let Some(update) = editor.calls("auth/status_update").last() {
            assert_eq!(update["state"], status["state"]);
        }
    }
    let status_updates =
        editor.calls("auth/status_update").into_iter().map(|mut update| update["state"].take()).collect();
    editor.close().await.unwrap();
    status_updates
}

#[tokio::test]
async fn a_changed_login_state_is_reported_once() {
    let scripts = [EditorScript::default(), EditorScript::v2()];
    for script in scripts {
        let status_updates = async |credentials| status_updates(script.clone(), credentials).await;
        assert_eq!(
            status_updates(Credentials::Present).await,
            [json!("unauthenticated"), json!("authenticated")]
        );
        for unchanged in [Credentials::NotNeeded, Credentials::Missing] {
            assert_eq!(status_updates(unchanged).await, Vec::<Value>::new());
        }
    }
}

/// Models without configuration until one is set.
struct UnconfiguredModels(FakeModels, Arc<AtomicBool>);

#[async_trait]
impl Models for UnconfiguredModels {
    fn list(&self) -> Vec<ModelInfo> {
        self.0.list()
    }

    async fn default_id(&self) -> String {
        self.0.default_id().await
    }

    async fn is_unconfigured(&self) -> bool {
        !self.1.load(Ordering::Relaxed)
    }

    async fn get(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        self.0.get(id).await
    }
}

/// Creates an editor of an agent without a configured model, and the flag that configures one.
fn unset(script: EditorScript) -> (Editor, Arc<AtomicBool>) {
    let disk = FakeSystem::new();
    disk.add_file("/w/a.txt", "");
    let disk = Arc::new(disk);
    let set_up = Arc::new(AtomicBool::new(false));
    let models = Arc::new(UnconfiguredModels(FakeModels(FakeModel::new([])), set_up.clone()));
    let runtime = Runtime::new(Arc::new(MemoryStore::default()), models, RuntimeOptions::default());
    let options = AcpOptions::new(disk.clone(), "0.1.0", AbsPath::new("/w").unwrap());
    (crate::transport::connect(runtime, options, script.over(disk)), set_up)
}

fn new() -> Value {
    json!({"cwd": "/w", "mcpServers": []})
}

/// Returns an editor that lets its user authenticate in a terminal.
fn with_login() -> EditorScript {
    EditorScript::default().login()
}

#[tokio::test]
async fn the_first_session_is_refused_if_the_client_can_log_in() {
    let (editor, set_up) = unset(with_login());
    let methods = editor.initialize().await["authMethods"].take();
    let ids: Vec<_> = methods.as_array().unwrap().iter().map(|m| m["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["tiller-provider", "tiller-setup", "tiller-pilot"]);
    assert_eq!(editor.error("session/new", new()).await.0, -32000);
    let provider = json!({"methodId": "tiller-provider"});
    assert_eq!(editor.error("authenticate", provider.clone()).await.0, -32000, "nothing is set up yet");
    // A configuration stored by the setup in the terminal takes effect without a restart.
    set_up.store(true, Ordering::Relaxed);
    editor.ok("authenticate", provider).await;
    editor.ok("session/new", new()).await;
    editor.close().await.unwrap();
}

#[tokio::test]
async fn a_setup_in_the_terminal_applies_to_the_next_session() {
    let (editor, set_up) = unset(with_login());
    editor.initialize().await;
    assert_eq!(editor.error("session/new", new()).await.0, -32000);
    set_up.store(true, Ordering::Relaxed);
    editor.ok("session/new", new()).await;
    editor.close().await.unwrap();
}

#[tokio::test]
async fn a_user_without_a_model_can_continue_with_the_pilot() {
    let (editor, _) = unset(with_login());
    editor.initialize().await;
    assert_eq!(editor.error("session/new", new()).await.0, -32000);
    editor.ok("authenticate", json!({"methodId": "tiller-pilot"})).await;
    for _ in 0..2 {
        editor.ok("session/new", new()).await;
    }
    editor.close().await.unwrap();
}

#[tokio::test]
async fn a_client_without_a_login_is_never_stuck() {
    for name in [ClientName::Known, ClientName::Not, ClientName::As("obsidian-agent-client", "0.10.6")] {
        let (editor, _) = unset(EditorScript::default().named(name));
        let methods = editor.initialize().await["authMethods"].take();
        assert_eq!(methods.as_array().unwrap().len(), 1);
        editor.ok("authenticate", json!({"methodId": "tiller-provider"})).await;
        editor.ok("session/new", new()).await;
        editor.close().await.unwrap();
    }
}
