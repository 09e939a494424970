//! A server of a session: started in the background, asked for its tools, and restarted when it
//! ends.

use crate::{
    config::{Origin, ServerConfig},
    connection::{Client, ConnectError, locked},
    limits::{BACK_OFF, BACK_OFF_MAX, CLOSE, DEBOUNCE, RELIST_EVERY, STEADY, TOOLS, TRIES},
    pins::{Change, changes, definition_hash},
    prompts::{self, Prompts},
    provider::McpOptions,
    tool::{Definition, read_resource},
};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use system::AbsPath;
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
    Up(Arc<Live>),
    /// It ended or did not start, and will be retried; `had` are the tools from before.
    Trying { why: String, had: Vec<Arc<Definition>> },
    /// It was given up, for this reason.
    Down(String),
}

/// A connected server.
pub(crate) struct Live {
    pub(crate) client: Arc<Client>,
    pub(crate) tools: Vec<Arc<Definition>>,
    /// Messages for the user about its tools.
    pub(crate) notes: Vec<String>,
}

impl Server {
    /// Starts the server in the background; `news` is notified when its prompts change.
    pub(crate) fn start(
        config: ServerConfig,
        options: Arc<McpOptions>,
        cwd: AbsPath,
        news: Arc<Notify>,
    ) -> Arc<Self> {
        let prompts = Arc::new(Prompts::new(news));
        let (told, state) = watch::channel(State::Starting);
        let stop = CancellationToken::new();
        let keeper = Keeper {
            config: config.clone(),
            prompts: Arc::clone(&prompts),
            options,
            cwd,
            told,
            stop: stop.clone(),
            changed: Arc::default(),
            seen: None,
            had: Vec::new(),
        };
        let task = Mutex::new(Some(tokio::spawn(keeper.run())));
        Arc::new(Self { config, prompts, state, stop, task })
    }

    /// Returns the current state.
    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Waits until the first start has succeeded or failed.
    pub(crate) async fn settled(&self) {
        let mut state = self.state.clone();
        // An error means that the keeper has ended, so nothing will change.
        let _ = state.wait_for(|state| !matches!(state, State::Starting)).await;
    }

    /// Returns the connection, waiting for it up to `wait`. The error gives the reason if there is
    /// none.
    pub(crate) async fn ready(&self, wait: Duration) -> Result<Arc<Client>, String> {
        let mut state = self.state.clone();
        // The state remains `Up` until the keeper notices that the connection ended.
        let there = state.wait_for(|state| match state {
            State::Up(live) => !live.client.is_gone(),
            State::Down(_) => true,
            State::Starting | State::Trying { .. } => false,
        });
        let now = match tokio::time::timeout(wait, there).await {
            Ok(Ok(state)) => state.clone(),
            _ => self.state(),
        };
        match now {
            State::Up(live) => Ok(Arc::clone(&live.client)),
            State::Starting => Err("it is still starting; try again later".to_owned()),
            State::Trying { why, .. } => Err(format!("it is being started again: {why}")),
            State::Down(why) => Err(format!("it is not running: {why}")),
        }
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
struct Keeper {
    config: ServerConfig,
    prompts: Arc<Prompts>,
    options: Arc<McpOptions>,
    cwd: AbsPath,
    told: watch::Sender<State>,
    stop: CancellationToken,
    changed: Arc<Notify>,
    /// The first seen tool hashes of a client's server, which are not stored on disk.
    seen: Option<BTreeMap<String, String>>,
    had: Vec<Arc<Definition>>,
}

impl Keeper {
    async fn run(mut self) {
        let stop = self.stop.clone();
        tokio::select! {
            biased;
            () = stop.cancelled() => {}
            () = self.keep() => stop.cancelled().await,
        }
        let up = match &*self.told.borrow() {
            State::Up(live) => Some(Arc::clone(&live.client)),
            _ => None,
        };
        self.told.send_replace(State::Down("it was stopped".to_owned()));
        if let Some(client) = up {
            client.close().await;
        }
    }

    /// Connects again and again; returns when the server is given up.
    async fn keep(&mut self) {
        let mut failures = 0;
        loop {
            let began = Instant::now();
            let why = match self.once().await {
                Ok(why) => why,
                Err(ConnectError::Hopeless(why)) => return self.give_up(why),
                Err(ConnectError::Failed(why)) => why,
            };
            failures = if began.elapsed() > STEADY { 1 } else { failures + 1 };
            tracing::info!(server = self.config.name, why, failures, "an MCP server is not running");
            if failures >= TRIES {
                return self.give_up(why);
            }
            self.told.send_replace(State::Trying { why, had: self.had.clone() });
            let wait = BACK_OFF * 2_u32.pow(failures - 1);
            tokio::time::sleep(wait.min(BACK_OFF_MAX)).await;
        }
    }

    fn give_up(&self, why: String) {
        tracing::info!(server = self.config.name, why, "an MCP server was given up");
        self.prompts.set(Vec::new());
        self.told.send_replace(State::Down(why));
    }

    /// Connects and serves until the connection ends; returns the reason.
    async fn once(&mut self) -> Result<String, ConnectError> {
        let client = Client::connect(&self.config, &self.options, &self.cwd, Arc::clone(&self.changed));
        let client = Arc::new(client.await?);
        loop {
            let live = match self.look(&client).await {
                Ok(live) => live,
                Err(why) => {
                    client.close().await;
                    return Err(ConnectError::Failed(why));
                }
            };
            self.had.clone_from(&live.tools);
            self.told.send_replace(State::Up(Arc::new(live)));
            let looked = Instant::now();
            if client.has("prompts") {
                match client.prompts().await {
                    Ok(prompts) => self.prompts.set(self.prompts_of(&prompts)),
                    Err(why) => tracing::info!(server = self.config.name, why, "its prompts cannot be had"),
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
            let next = (looked + RELIST_EVERY).max(Instant::now() + DEBOUNCE);
            tokio::time::sleep_until(next).await;
        }
    }

    fn prompts_of(&self, given: &[rmcp::model::Prompt]) -> Vec<Arc<prompts::Definition>> {
        given.iter().map(|prompt| Arc::new(prompts::Definition::new(&self.config.name, prompt))).collect()
    }

    /// Lists the tools and compares them with the stored hashes.
    async fn look(&mut self, client: &Arc<Client>) -> Result<Live, String> {
        let given = if client.has("tools") { client.tools().await? } else { Vec::new() };
        let name = &self.config.name;
        let mut notes = Vec::new();
        if given.len() >= TOOLS {
            notes.push(format!("MCP server '{name}' has more than {TOOLS} tools; the rest is left out"));
        }
        let hashes: Vec<_> = given.iter().map(|tool| (tool.name.clone(), definition_hash(tool))).collect();
        let key = format!("{name} {}", self.config.fingerprint());
        let own = self.config.origin == Origin::Client;
        let seen = if own { self.seen.take() } else { self.options.pins.seen(&key).await };
        let (changes, keep) = changes(seen.as_ref(), &hashes);
        match own {
            true => self.seen = Some(keep),
            false if seen.as_ref() != Some(&keep) => self.options.pins.keep(&key, keep).await,
            false => {}
        }
        let mut tools = Vec::with_capacity(given.len());
        for (tool, change) in given.into_iter().zip(changes) {
            let shown = agent::one_line(&tool.name);
            match change {
                Change::Changed => {
                    notes.push(format!(
                        "MCP server '{name}' changed what its tool '{shown}' says of itself; the tool is left out until you approve (`tiller mcp trust {name}`)"
                    ));
                    continue;
                }
                Change::Added => notes.push(format!("MCP server '{name}' has a new tool '{shown}'")),
                Change::None => {}
            }
            match Definition::new(name, tool) {
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
        Ok(Live { client: Arc::clone(client), tools, notes })
    }
}
