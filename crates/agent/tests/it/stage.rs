//! A session with a fake for every interface.

use agent::fake::{FakeClient, FakeModel, FakeModels, MemoryStore, Reply};
use agent::{
    Content, CreateSession, LanguageModel, Limits, Message, PermissionMode, PermissionOptions,
    PermissionOutcome, PermissionRules, PromptOutcome, Runtime, RuntimeOptions, SandboxOptions, SessionEvent,
    SessionHandle, SessionStart, Surface, ToolStatus, TurnError,
};
use std::sync::Arc;
use system::{AbsPath, FakeSystem, fake::Script};

pub(crate) struct Stage {
    pub(crate) model: Arc<FakeModel>,
    pub(crate) client: Arc<FakeClient>,
    pub(crate) system: Arc<FakeSystem>,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) runtime: Arc<Runtime>,
    pub(crate) session: SessionHandle,
}

#[derive(Default)]
pub(crate) struct Setting {
    pub(crate) script: Vec<Reply>,
    pub(crate) answers: Vec<Option<PermissionOutcome>>,
    pub(crate) permission_mode: PermissionMode,
    pub(crate) limits: Limits,
    pub(crate) store: Arc<MemoryStore>,
    pub(crate) rules: PermissionRules,
    pub(crate) sandbox: SandboxOptions,
}

pub(crate) async fn stage(setting: Setting) -> Stage {
    let Setting { script, answers, permission_mode, limits, store, rules, sandbox } = setting;
    let permissions = PermissionOptions { rules, ..PermissionOptions::default() };
    let options = RuntimeOptions { permissions, sandbox, ..options(permission_mode, limits) };
    stage_with(FakeModel::new(script), answers, options, store).await
}

pub(crate) async fn stage_on(
    model: Arc<FakeModel>,
    answers: Vec<Option<PermissionOutcome>>,
    permission_mode: PermissionMode,
    limits: Limits,
    store: Arc<MemoryStore>,
) -> Stage {
    stage_with(model, answers, options(permission_mode, limits), store).await
}

fn options(permission_mode: PermissionMode, limits: Limits) -> RuntimeOptions {
    let start = SessionStart { permission_mode, ..SessionStart::default() };
    RuntimeOptions { start, limits, ..RuntimeOptions::default() }
}

async fn stage_with(
    model: Arc<FakeModel>,
    answers: Vec<Option<PermissionOutcome>>,
    options: RuntimeOptions,
    store: Arc<MemoryStore>,
) -> Stage {
    let system = Arc::new(FakeSystem::new());
    system.add_file("/w/a.txt", "one\ntwo\n");
    system.add_file("/w/b.txt", "three\n");
    system.on_command("cargo test", |_| Script::exits(0).prints("running 1 test\nok\n"));
    let client = FakeClient::new(answers);
    let models = Arc::new(FakeModels(model.clone() as Arc<dyn LanguageModel>));
    let runtime = Runtime::new(store.clone(), models, options);
    let surface = Surface { client: client.clone(), system: system.clone() };
    let new = CreateSession {
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        servers: Vec::new(),
    };
    let session = runtime.create(new, |_| surface).await.unwrap();
    Stage { model, client, system, store, runtime, session }
}

impl Stage {
    pub(crate) async fn prompt(&self, text: &str) -> Result<PromptOutcome, TurnError> {
        self.session.prompt(vec![Content::text(text)]).await
    }

    /// Returns the last status of each call, in the order they were announced.
    pub(crate) fn statuses(&self) -> Vec<(String, ToolStatus)> {
        let mut calls: Vec<(String, ToolStatus)> = Vec::new();
        for event in self.client.events() {
            if let SessionEvent::ToolCall(update) = event
                && let Some(status) = update.status
            {
                let id = update.id.to_string();
                match calls.iter_mut().find(|(known, _)| *known == id) {
                    Some(call) => call.1 = status,
                    None => calls.push((id, status)),
                }
            }
        }
        calls
    }

    /// Returns the call results in the model's last request.
    pub(crate) fn results(&self) -> Vec<String> {
        let requests = self.model.requests();
        match requests.last().and_then(|request| request.messages.last()) {
            Some(Message::Assistant(message)) => {
                message.calls().map(|call| call.result.text.clone()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the stored events.
    pub(crate) async fn stored(&self) -> Vec<SessionEvent> {
        let mut events = Vec::new();
        self.runtime.replay(self.session.id(), &mut |event| events.push(event.clone())).await.unwrap();
        events
    }
}
