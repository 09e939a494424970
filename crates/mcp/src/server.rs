//! A server of a session: started in the background, asked for its tools, and restarted when it
//! ends.

use crate::{
    config::{Origin, ServerConfig},
    connect_error::ConnectError,
    connection::Client,
    limits::{BACK_OFF, BACK_OFF_MAX, CLOSE, DEBOUNCE, RELIST_EVERY, STEADY, TOOLS, TRIES},
    locked::locked,
    options::McpOptions,
    pins::{Change, changes, definition_hash},
    prompts::{PromptDefinition, Prompts},
    tool_definition::{ToolDefinition, read_resource},
};
use agent::ProjectPrograms;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

/// A server of a session.
pub(crate) struct Server {
    pub(crate) config: ServerConfig,
    pub(crate) prompts: Arc<Prompts>,
    state: watch::Receiver<State>,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

/// The state of a server.
#[derive(Clone)]
pub(crate) enum State {
    /// The first start is in progress.
    Starting,
    /// It is connected.
    Up(Arc<ConnectedServer>),
    /// It ended or did not start, and will be retried; `previous_tools` are the tools from before.
    Retrying { why: String, previous_tools: Vec<Arc<ToolDefinition>> },
    /// It was given up, for this reason.
    Down(ConnectError),
}

impl State {
    /// Returns the connection. The error tells people why there is none.
    pub(crate) fn connected(self) -> Result<Arc<ConnectedServer>, String> {
        match self {
            Self::Up(connected) => Ok(connected),
            Self::Starting => Err("it is still starting; try again later".to_owned()),
            Self::Retrying { why, .. } => Err(format!("it is being restarted: {why}")),
            Self::Down(why) => Err(format!("it is not running: {why}")),
        }
    }
}

/// A connected server.
pub(crate) struct ConnectedServer {
    pub(crate) client: Arc<Client>,
    pub(crate) tools: Vec<Arc<ToolDefinition>>,
    /// Messages for the user about its tools.
    pub(crate) notes: Vec<String>,
}

impl Server {
    /// Starts the server in the background; `prompts_changed` is notified when its prompts change.
    pub(crate) fn start(
        config: ServerConfig,
        options: Arc<McpOptions>,
        programs: ProjectPrograms,
        prompts_changed: Arc<Notify>,
    ) -> Arc<Self> {
        let prompts = Arc::new(Prompts::new(prompts_changed));
        let (state_sender, state) = watch::channel(State::Starting);
        let stop = CancellationToken::new();
        let server_task = ServerTask {
            config: config.clone(),
            prompts: Arc::clone(&prompts),
            options,
            programs,
            state_sender,
            stop: stop.clone(),
            changed: Arc::default(),
            seen: None,
            previous_tools: Vec::new(),
        };
        let task = Mutex::new(Some(tokio::spawn(server_task.run())));
        Arc::new(Self { config, prompts, state, stop, task })
    }

    /// Returns the current state.
    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Waits until the first start has succeeded or failed.
    pub(crate) async fn settled(&self) {
        let mut state = self.state.clone();
        // An error means that the task has ended, so nothing will change.
        let _ = state.wait_for(|state| !matches!(state, State::Starting)).await;
    }

    /// Returns the connection, waiting for it up to `wait`. The error gives the reason if there is
    /// none.
    pub(crate) async fn ready(&self, wait: Duration) -> Result<Arc<Client>, String> {
        let mut state = self.state.clone();
        // The state remains `Up` until the task notices that the connection ended.
        let there = state.wait_for(|state| match state {
            State::Up(connected) => !connected.client.has_ended(),
            State::Down(_) => true,
            State::Starting | State::Retrying { .. } => false,
        });
        let now = match tokio::time::timeout(wait, there).await {
            Ok(Ok(state)) => state.clone(),
            _ => self.state(),
        };
        now.connected().map(|connected| Arc::clone(&connected.client))
    }

    /// Ends the server and everything started for it.
    pub(crate) async fn close(&self) {
        self.stop.cancel();
        let task = locked(&self.task).take();
        if let Some(task) = task {
            let abort = task.abort_handle();
            if tokio::time::timeout(CLOSE + CLOSE, task).await.is_err() {
                abort.abort();
            }
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// The task that keeps a server running.
struct ServerTask {
    config: ServerConfig,
    prompts: Arc<Prompts>,
    options: Arc<McpOptions>,
    programs: ProjectPrograms,
    state_sender: watch::Sender<State>,
    stop: CancellationToken,
    changed: Arc<Notify>,
    /// The first seen tool hashes of a client's server, which are not stored on disk.
    seen: Option<BTreeMap<String, String>>,
    previous_tools: Vec<Arc<ToolDefinition>>,
}

impl ServerTask {
    async fn run(mut self) {
        let stop = self.stop.clone();
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.run_with_restarts() => stop.cancelled().await,
        }
        let up = match &*self.state_sender.borrow() {
            State::Up(connected) => Some(Arc::clone(&connected.client)),
            _ => None,
        };
        self.state_sender.send_replace(State::Down(ConnectError::Permanent("it was stopped".to_owned())));
        if let Some(client) = up {
            client.close().await;
        }
    }

    /// Connects again and again; returns when the server is given up.
    async fn run_with_restarts(&mut self) {
        let mut failures = 0;
        loop {
            let began = Instant::now();
            let why = match self.connect_and_serve().await {
                Ok(why) | Err(ConnectError::Transient(why)) => why,
                Err(error) => return self.give_up(error),
            };
            failures = if began.elapsed() > STEADY { 1 } else { failures + 1 };
            tracing::info!(server = self.config.name, why, failures, "an MCP server is not running");
            if failures >= TRIES {
                return self.give_up(ConnectError::Transient(why));
            }
            self.state_sender
                .send_replace(State::Retrying { why, previous_tools: self.previous_tools.clone() });
            let wait = BACK_OFF * 2_u32.pow(failures - 1);
            tokio::time::sleep(wait.min(BACK_OFF_MAX)).await;
        }
    }

    fn give_up(&self, why: ConnectError) {
        tracing::info!(server = self.config.name, why = why.to_string(), "an MCP server was given up");
        self.prompts.set(Vec::new());
        self.state_sender.send_replace(State::Down(why));
    }

    /// Connects and serves until the connection ends; returns the reason.
    async fn connect_and_serve(&mut self) -> Result<String, ConnectError> {
        let client = Client::connect(&self.config, &self.options, &self.programs, Arc::clone(&self.changed));
        let client = Arc::new(client.await?);
        loop {
            let connected = match self.list_tools(&client).await {
                Ok(connected) => connected,
                Err(why) => {
                    client.close().await;
                    return Err(ConnectError::Transient(why));
                }
            };
            self.previous_tools.clone_from(&connected.tools);
            self.state_sender.send_replace(State::Up(Arc::new(connected)));
            let listed_at = Instant::now();
            if client.has("prompts") {
                match client.prompts().await {
                    Ok(prompts) => self.prompts.set(self.prompts_of(&prompts)),
                    Err(why) => {
                        tracing::info!(server = self.config.name, why, "its prompts cannot be listed")
                    }
                }
            }
            tokio::select! {
                () = client.ended() => {
                    let why = self.options.redactor.redact(&client.why().await);
                    client.close().await;
                    return Ok(why);
                }
                () = self.changed.notified() => {}
            }
            // Coalesces a burst of notifications into one.
            let next = (listed_at + RELIST_EVERY).max(Instant::now() + DEBOUNCE);
            tokio::time::sleep_until(next).await;
        }
    }

    fn prompts_of(&self, given: &[rmcp::model::Prompt]) -> Vec<Arc<PromptDefinition>> {
        given.iter().map(|prompt| Arc::new(PromptDefinition::new(&self.config.name, prompt))).collect()
    }

    /// Lists the tools and compares them with the stored hashes.
    async fn list_tools(&mut self, client: &Arc<Client>) -> Result<ConnectedServer, String> {
        let given = if client.has("tools") { client.tools().await? } else { Vec::new() };
        let name = &self.config.name;
        let mut notes = Vec::new();
        if given.len() >= TOOLS {
            notes.push(format!("MCP server '{name}' has more than {TOOLS} tools; the others are left out"));
        }
        let hashes: Vec<_> = given.iter().map(|tool| (tool.name.clone(), definition_hash(tool))).collect();
        let key = format!("{name} {}", self.config.fingerprint());
        let own = self.config.origin == Origin::Client;
        let seen = if own { self.seen.take() } else { self.options.stores.pins.seen(&key).await };
        let (changes, keep) = changes(seen.as_ref(), &hashes);
        match own {
            true => self.seen = Some(keep),
            false if seen.as_ref() != Some(&keep) => self.options.stores.pins.keep(&key, keep).await,
            false => {}
        }
        let mut tools = Vec::with_capacity(given.len());
        for (tool, change) in given.into_iter().zip(changes) {
            let shown = agent::one_line(&tool.name);
            match change {
                Change::Changed => {
                    notes.push(format!(
                        "MCP server '{name}' changed the definition of its tool '{shown}'; the tool is left out until you approve it (`tiller mcp trust {name}`)"
                    ));
                    continue;
                }
                Change::Added => notes.push(format!("MCP server '{name}' has a new tool '{shown}'")),
                Change::None => {}
            }
            match ToolDefinition::new(name, tool) {
                Ok(definition) => tools.push(Arc::new(definition)),
                Err(why) => notes.push(format!("MCP server '{name}': the tool '{shown}' is left out: {why}")),
            }
        }
        if client.has("resources") {
            let reader = read_resource(name);
            if !tools.iter().any(|tool| tool.function == reader.function) {
                tools.push(Arc::new(reader));
            }
        }
        Ok(ConnectedServer { client: Arc::clone(client), tools, notes })
    }
}
