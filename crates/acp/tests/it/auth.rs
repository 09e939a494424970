//! Logging in and out, with a model whose provider wants credentials.

use acp::{
    AcpOptions,
    testing::{Editor, EditorScript},
};
use agent::{
    Credentials, LanguageModel, ModelError, ModelInfo, Models, Runtime, RuntimeOptions,
    fake::{FakeModel, FakeModels, MemoryStore},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::sync::Arc;
use system::{AbsPath, FakeSystem};

/// A model that stands with its provider like this.
struct Wanting(FakeModels, Credentials);

#[async_trait]
impl Models for Wanting {
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

/// Logs out twice, and in twice; the states that the client was told of without asking.
async fn told(script: EditorScript, credentials: Credentials) -> Vec<Value> {
    let (login, logout) =
        if script.second { ("auth/login", "auth/logout") } else { ("authenticate", "logout") };
    let disk = FakeSystem::new();
    disk.add_file("/w/a.txt", "");
    let disk = Arc::new(disk);
    let models = Arc::new(Wanting(FakeModels(FakeModel::new([])), credentials));
    let runtime = Runtime::new(Arc::new(MemoryStore::default()), models, RuntimeOptions::default());
    let options = AcpOptions::new(disk.clone(), "0.1.0", AbsPath::new("/w").unwrap());
    let editor = Editor::connect(runtime, options, script.over(disk));
    editor.initialize().await;
    let method = json!({"methodId": "tiller-provider"});
    for method in [(logout, json!({})), (login, method.clone())].iter().flat_map(|step| [step, step]) {
        editor.ok(method.0, method.1.clone()).await;
        // What is told follows the answer, and this answer follows that.
        let status = editor.ok("auth/status", json!({})).await;
        if let Some(told) = editor.calls("auth/status_update").last() {
            assert_eq!(told["state"], status["state"]);
        }
    }
    let told = editor.calls("auth/status_update").into_iter().map(|mut told| told["state"].take()).collect();
    editor.close().await.unwrap();
    told
}

#[tokio::test]
async fn logging_in_or_out_is_told_where_it_changes_something_and_once() {
    let scripts = [
        EditorScript::default(),
        #[cfg(feature = "v2")]
        EditorScript::second(),
    ];
    for script in scripts {
        let told = async |credentials| told(script.clone(), credentials).await;
        assert_eq!(told(Credentials::Present).await, [json!("unauthenticated"), json!("authenticated")]);
        for unchanged in [Credentials::NotNeeded, Credentials::Missing] {
            assert_eq!(told(unchanged).await, Vec::<Value>::new());
        }
    }
}
