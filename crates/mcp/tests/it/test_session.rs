//! A session with servers, and a model that plays a script.

use crate::fake_machine::FakeMachine;
use agent::fake::{FakeClient, FakeModel, FakeModels, MemoryStore, Reply};
use agent::{
    Client, ClientServer, ClientServerKind, Content, CreateSession, FolderTrust, LanguageModel, Message,
    PermissionMode, PermissionOptions, PromptOutcome, Redactor, Runtime, RuntimeOptions, SessionEvent,
    SessionHandle, SessionStart, Surface, ToolProvider, TrustRecord, TrustRecords,
};
use async_trait::async_trait;
use mcp::{Grants, McpOptions, McpProvider, Pins, ServerFiles, ServerStores, Values};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};
use system::AbsPath;

pub(crate) struct TestSession {
    pub(crate) machine: Arc<FakeMachine>,
    pub(crate) model: Arc<FakeModel>,
    pub(crate) client: Arc<FakeClient>,
    pub(crate) session: SessionHandle,
}

/// A store of hashes in memory that holds no secrets and no grants.
#[derive(Default)]
pub(crate) struct MemoryStores(Mutex<BTreeMap<String, BTreeMap<String, String>>>);

#[async_trait]
impl Pins for MemoryStores {
    async fn seen(&self, server: &str) -> Option<BTreeMap<String, String>> {
        self.0.lock().unwrap().get(server).cloned()
    }

    async fn keep(&self, server: &str, tools: BTreeMap<String, String>) {
        self.0.lock().unwrap().insert(server.to_owned(), tools);
    }
}

#[async_trait]
impl Values for MemoryStores {
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    async fn secret(&self, _key: &str) -> Option<String> {
        None
    }
}

#[async_trait]
impl Grants for MemoryStores {
    async fn load(&self, _server: &str) -> Option<String> {
        None
    }

    async fn keep(&self, _server: &str, _grant: Option<String>) -> Result<(), String> {
        Err("nothing is kept here".to_owned())
    }

    fn now(&self) -> u64 {
        0
    }
}

#[async_trait]
impl TrustRecords for MemoryStores {
    async fn trusted(&self, _directory: &AbsPath) -> Result<TrustRecord, String> {
        Ok(TrustRecord::default())
    }
}

/// Returns the options of servers on this system.
pub(crate) fn options(machine: &Arc<FakeMachine>) -> Arc<McpOptions> {
    let known = Arc::new(MemoryStores::default());
    Arc::new(McpOptions {
        system: machine.clone(),
        stores: ServerStores { values: known.clone(), grants: known.clone(), pins: known.clone() },
        redactor: Redactor::default(),
        http: Arc::new(|_| Err("there is no network".to_owned())),
        directory: AbsPath::new("/data/servers").unwrap(),
        files: ServerFiles {
            user: AbsPath::new("/home/mcp.json").unwrap(),
            trust: FolderTrust::new(machine.clone(), known),
        },
        offers: BTreeMap::default(),
        variables: Vec::new(),
        no_programs: None,
        version: "0".to_owned(),
    })
}

impl TestSession {
    /// Opens a session whose client sent these programs as servers, each with its own name.
    pub(crate) async fn open(machine: Arc<FakeMachine>, servers: &[&str], script: Vec<Reply>) -> Self {
        let client = FakeClient::new([]);
        Self::start(machine, servers, script, PermissionMode::Prometheus, &[], client.clone(), client).await
    }

    /// Like [`TestSession::open`], with settings that deny these tools.
    pub(crate) async fn open_denying(
        machine: Arc<FakeMachine>,
        servers: &[&str],
        script: Vec<Reply>,
        denied: &[&str],
    ) -> Self {
        let client = FakeClient::new([]);
        Self::start(machine, servers, script, PermissionMode::Prometheus, denied, client.clone(), client)
            .await
    }

    /// Opens a session with the servers of files. `driver` replaces the client, and forwards to
    /// `client` what it receives.
    pub(crate) async fn open_for(
        machine: Arc<FakeMachine>,
        mode: PermissionMode,
        script: Vec<Reply>,
        client: Arc<FakeClient>,
        driver: Arc<dyn Client>,
    ) -> Self {
        Self::start(machine, &[], script, mode, &[], client, driver).await
    }

    async fn start(
        machine: Arc<FakeMachine>,
        servers: &[&str],
        script: Vec<Reply>,
        permission_mode: PermissionMode,
        denied: &[&str],
        client: Arc<FakeClient>,
        driver: Arc<dyn Client>,
    ) -> Self {
        let model = FakeModel::new(script);
        let provider: Arc<dyn ToolProvider> = Arc::new(McpProvider::new(options(&machine)));
        let options = RuntimeOptions {
            start: SessionStart { permission_mode, ..SessionStart::default() },
            tool_providers: [provider].into_iter().collect(),
            permissions: PermissionOptions {
                denied_tools: denied.iter().map(|tool| (*tool).to_owned()).collect(),
                ..PermissionOptions::default()
            },
            ..RuntimeOptions::default()
        };
        let models = Arc::new(FakeModels(model.clone() as Arc<dyn LanguageModel>));
        let runtime = Runtime::new(Arc::new(MemoryStore::default()), models, options);
        let server = |name: &&str| ClientServer {
            name: (*name).to_owned(),
            how: ClientServerKind::Stdio { command: (*name).to_owned(), args: Vec::new(), env: Vec::new() },
        };
        let new = CreateSession {
            cwd: AbsPath::new("/w").unwrap(),
            additional_directories: Vec::new(),
            servers: servers.iter().map(server).collect(),
        };
        let surface = Surface { client: driver, system: machine.clone() };
        let session = runtime.create(new, |_| surface).await.unwrap();
        Self { machine, model, client, session }
    }

    pub(crate) async fn prompt(&self, text: &str) -> PromptOutcome {
        self.session.prompt(vec![Content::text(text)]).await.unwrap()
    }

    /// Returns the names of the servers' tools in a request to the model.
    pub(crate) fn offered_tools(&self, request: usize) -> Vec<String> {
        let tools = &self.model.requests()[request].tools;
        let own = |name: &str| name.starts_with("mcp__") || name == "tool_search";
        tools.iter().map(|tool| tool.name.clone()).filter(|name| own(name)).collect()
    }

    /// Returns the results of all calls that the model received, in order.
    pub(crate) fn results(&self) -> Vec<String> {
        let last = self.model.requests().pop().unwrap();
        let calls = last.messages.into_iter().filter_map(|message| match message {
            Message::Assistant(message) => {
                Some(message.calls().map(|call| call.result.text.clone()).collect::<Vec<_>>())
            }
            Message::User(_) => None,
        });
        calls.flatten().collect()
    }

    /// Returns the notices to the user, one per line.
    pub(crate) fn notices(&self) -> String {
        let titles = self.client.events().into_iter().filter_map(|event| match event {
            SessionEvent::Notice { title, .. } => Some(title + "\n"),
            _ => None,
        });
        titles.collect()
    }
}
