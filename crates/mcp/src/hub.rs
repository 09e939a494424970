//! The servers of one session, as a source of tools.

use crate::{
    attach,
    config::{Origin, ServerConfig},
    connect_error::ConnectError,
    files,
    limits::{FIRST_WAIT, HEAD_START, OFFERED_BYTES, OFFERED_TOOLS, SERVERS},
    locked::locked,
    names::server_name,
    options::McpOptions,
    search::{FoundTools, ToolSearch, tools_in_result},
    server::{Server, State},
    tool::McpTool,
    tool_definition::{ToolDefinition, read_resource},
};
use agent::{
    AnyTool, ClientServer, Content, Mention, Offer, ProjectPrograms, Refused, SessionScope, Severity,
    SlashCommand, SourceNotice, ToolSource,
};
use async_trait::async_trait;
use futures::future::join_all;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex},
};
use system::AbsPath;
use tokio::{
    sync::{Notify, watch},
    time::Instant,
};

/// The servers of one session, those of its client and those of files, kept running until it ends.
pub(crate) struct Hub {
    pub(crate) options: Arc<McpOptions>,
    cwd: AbsPath,
    programs: ProjectPrograms,
    first_deadline: Instant,
    /// Whether the files have been read.
    files_read: watch::Sender<bool>,
    /// Notified when tools are requested, so that the files are read without further delay.
    tools_requested: Arc<Notify>,
    state: Mutex<HubState>,
    found_tools: FoundTools,
    /// Notified when the prompts of a server change.
    prompts_changed: Arc<Notify>,
}

#[derive(Default)]
struct HubState {
    servers: Vec<Arc<Server>>,
    file_servers: Vec<ServerConfig>,
    client_servers: Vec<ServerConfig>,
    problems: Vec<String>,
    /// The notices already shown to the user, so that each is shown once.
    shown_notices: HashSet<String>,
    /// Hashes of the grants with which servers were restarted, by server name.
    tried_grants: HashMap<String, blake3::Hash>,
    closed: bool,
}

impl Hub {
    /// Starts the client's servers, and reads the files in the background.
    pub(crate) fn open(options: Arc<McpOptions>, session: &SessionScope) -> Arc<Self> {
        let hub = Arc::new(Self {
            options,
            cwd: session.cwd.clone(),
            programs: session.programs.clone(),
            first_deadline: Instant::now() + FIRST_WAIT,
            files_read: watch::channel(false).0,
            tools_requested: Arc::default(),
            state: Mutex::default(),
            found_tools: FoundTools::default(),
            prompts_changed: Arc::default(),
        });
        hub.set_servers(session.servers.clone());
        let reading = Arc::downgrade(&hub);
        let (options, cwd) = (Arc::clone(&hub.options), hub.cwd.clone());
        let tools_requested = Arc::clone(&hub.tools_requested);
        tokio::spawn(async move {
            // Let the session/new response go first. That no request comes in this time is normal.
            let _ = tokio::time::timeout(HEAD_START, tools_requested.notified()).await;
            let found = files::find(options.system.as_ref(), &options.files, &cwd).await;
            let Some(hub) = reading.upgrade() else { return };
            {
                let mut state = locked(&hub.state);
                state.problems.extend(found.problems);
                state.file_servers = found.servers.into_iter().filter(|server| server.enabled).collect();
                hub.reconcile(&mut state);
            }
            hub.files_read.send_replace(true);
        });
        hub
    }

    /// Starts and stops servers so that exactly the wanted ones run. A client's server takes
    /// precedence over one of a file with the same name.
    fn reconcile(&self, state: &mut HubState) {
        if state.closed {
            return;
        }
        let client = &state.client_servers;
        let hidden = |server: &ServerConfig| client.iter().any(|own| own.name == server.name);
        let mut wanted: Vec<_> = client.clone();
        wanted.extend(state.file_servers.iter().filter(|server| !hidden(server)).cloned());
        if wanted.len() > SERVERS {
            state.problems.push(format!("more than {SERVERS} MCP servers; the others are not started"));
            wanted.truncate(SERVERS);
        }
        let before = state.servers.len();
        state.servers.retain(|running| {
            let stays = wanted.contains(&running.config);
            // A dropped server stops by itself once none of its tools is held. A server of a
            // project is no longer trusted, so it stops now.
            if !stays && matches!(running.config.origin, Origin::Project(_)) {
                let server = Arc::clone(running);
                tokio::spawn(async move { server.close().await });
            }
            stays
        });
        if state.servers.len() < before {
            self.prompts_changed.notify_one();
        }
        for config in wanted {
            if !state.servers.iter().any(|running| running.config == config) {
                let (options, prompts_changed) =
                    (Arc::clone(&self.options), Arc::clone(&self.prompts_changed));
                state.servers.push(Server::start(config, options, self.programs.clone(), prompts_changed));
            }
        }
    }

    /// Reads the files again, starts added servers and stops removed ones. Returns what the files
    /// contain.
    pub(crate) async fn reload(&self) -> files::FoundServers {
        let McpOptions { system, files, .. } = &*self.options;
        let found = files::find(system.as_ref(), files, &self.cwd).await;
        let mut state = locked(&self.state);
        state.file_servers = found.servers.iter().filter(|server| server.enabled).cloned().collect();
        self.reconcile(&mut state);
        found
    }

    /// Reads the files again and waits for newly started servers, up to `FIRST_WAIT`.
    async fn start_trusted_servers(&self) {
        if !*self.files_read.borrow() {
            return;
        }
        let before = self.servers();
        self.reload().await;
        let mut started = self.servers();
        started.retain(|server| !before.iter().any(|known| Arc::ptr_eq(known, server)));
        let settled = join_all(started.iter().map(|server| server.settled()));
        // Slower servers join later.
        let _ = tokio::time::timeout(FIRST_WAIT, settled).await;
    }

    /// Returns the servers that the client sent.
    pub(crate) fn client_servers(&self) -> Vec<ServerConfig> {
        locked(&self.state).client_servers.clone()
    }

    pub(crate) fn servers(&self) -> Vec<Arc<Server>> {
        locked(&self.state).servers.clone()
    }

    /// Restarts servers that required a sign-in once there is a new grant, and waits for them, up
    /// to `FIRST_WAIT`.
    async fn restart_signed_in_servers(&self) {
        let mut started = Vec::new();
        for server in self.servers() {
            let State::Down(ConnectError::SignInRequired(_)) = server.state() else { continue };
            let name = &server.config.name;
            let Some(grant) = self.options.stores.grants.load(name).await else { continue };
            let grant = blake3::hash(grant.as_bytes());
            let mut state = locked(&self.state);
            // A grant that did not help is tried only once.
            if state.closed || state.tried_grants.insert(name.clone(), grant) == Some(grant) {
                continue;
            }
            if let Some(running) = state.servers.iter_mut().find(|running| Arc::ptr_eq(running, &server)) {
                let (options, prompts_changed) =
                    (Arc::clone(&self.options), Arc::clone(&self.prompts_changed));
                *running =
                    Server::start(server.config.clone(), options, self.programs.clone(), prompts_changed);
                started.push(Arc::clone(running));
            }
        }
        let settled = join_all(started.iter().map(|server| server.settled()));
        // Slower servers join later.
        let _ = tokio::time::timeout(FIRST_WAIT, settled).await;
    }

    /// Waits until the files have been read, so that all servers are known.
    async fn wait_for_files(&self) {
        self.tools_requested.notify_one();
        let mut files_read = self.files_read.subscribe();
        // `self` holds the sender, so this cannot fail; after the timeout the files are given up
        // on.
        let _ = tokio::time::timeout_at(self.first_deadline, files_read.wait_for(|read| *read)).await;
    }

    /// Waits until every server has started or failed, but no longer than the first wait.
    pub(crate) async fn settled(&self) {
        self.tools_requested.notify_one();
        let settled = async {
            let mut files_read = self.files_read.subscribe();
            // `self` holds the sender, so this cannot fail.
            let _ = files_read.wait_for(|read| *read).await;
            join_all(self.servers().iter().map(async |server| server.settled().await)).await;
        };
        let _ = tokio::time::timeout_at(self.first_deadline, settled).await;
    }
}

#[async_trait]
impl ToolSource for Hub {
    fn grows(&self) -> bool {
        !self.servers().is_empty()
    }

    async fn offer(&self) -> Offer {
        self.settled().await;
        // Applies trust that was given or withdrawn since, by any process.
        self.start_trusted_servers().await;
        self.restart_signed_in_servers().await;
        let mut notices = Notices::default();
        let mut found: Vec<(Arc<Server>, Arc<ToolDefinition>)> = Vec::new();
        for server in self.servers() {
            let config = &server.config;
            let name = &config.name;
            if config.origin == Origin::Client {
                notices.info(format!("MCP server '{name}' of the editor: {}", config.summary()));
            }
            match server.state() {
                State::Starting => {
                    notices.info(format!(
                        "MCP server '{name}' is still starting; its tools are added once it is ready"
                    ));
                }
                State::Up(connected) => {
                    connected.notes.iter().for_each(|note| notices.warning(note.clone()));
                    found.extend(connected.tools.iter().map(|tool| (Arc::clone(&server), Arc::clone(tool))));
                }
                State::Retrying { why, previous_tools } => {
                    notices.warning(format!("MCP server '{name}' is not running and will be retried: {why}"));
                    found.extend(previous_tools.into_iter().map(|tool| (Arc::clone(&server), tool)));
                }
                State::Down(why) => notices.warning(format!("MCP server '{name}' is not running: {why}")),
            }
        }
        let bytes: usize = found.iter().map(|(_, tool)| tool.bytes).sum();
        let deferred = found.len() > OFFERED_TOOLS || bytes > OFFERED_BYTES;
        let mut tools: Vec<Arc<dyn AnyTool>> = Vec::with_capacity(found.len() + 1);
        if deferred {
            let all = found.iter().map(|(_, tool)| Arc::clone(tool)).collect();
            tools.push(Arc::new(ToolSearch { all, found_tools: Arc::clone(&self.found_tools) }));
        }
        let found_tools = locked(&self.found_tools).clone();
        tools.extend(found.into_iter().map(|(server, definition)| {
            let offered = !deferred || found_tools.contains(&definition.function);
            let redactor = self.options.redactor.clone();
            Arc::new(McpTool { server, definition, redactor, offered }) as Arc<dyn AnyTool>
        }));
        let mut state = locked(&self.state);
        state.problems.drain(..).for_each(|problem| notices.warning(problem));
        let mut notices = notices.0;
        notices.retain(|notice| state.shown_notices.insert(notice.title.clone()));
        let redact = |notice: &mut SourceNotice| notice.title = self.options.redactor.redact(&notice.title);
        notices.iter_mut().for_each(redact);
        Offer { tools, notices, ..Offer::default() }
    }

    fn commands(&self) -> Vec<SlashCommand> {
        let prompts = self.servers().into_iter().flat_map(|server| server.prompts.all());
        prompts.map(|prompt| prompt.slash_command()).collect()
    }

    async fn commands_changed(&self) {
        self.prompts_changed.notified().await;
    }

    async fn expand_command(
        &self,
        command: &str,
        arguments: &str,
        refused: &Refused<'_>,
    ) -> Option<Result<Vec<Content>, String>> {
        // Commands without the name of a server of this session belong to other sources.
        let named = command.strip_prefix("mcp__")?.split("__").next()?;
        self.settled().await;
        let server = self.servers().into_iter().find(|server| server.config.name == named)?;
        let content = match refused(command) {
            Some(reason) => return Some(Err(reason)),
            None => attach::prompt_content(&server, command, arguments, &self.options.redactor).await,
        };
        Some(content.map_err(|why| self.options.redactor.redact(&format!("MCP server '{named}': {why}"))))
    }

    async fn attach(&self, mention: &Mention, refused: &Refused<'_>) -> Option<Result<Vec<Content>, String>> {
        let named = mention.of.as_deref().map(server_name);
        // `file:` and web addresses belong to no server in particular.
        let is_shared_scheme =
            ["file:", "http:", "https:"].iter().any(|scheme| mention.uri.starts_with(scheme));
        if named.is_none() && is_shared_scheme {
            return None;
        }
        self.wait_for_files().await;
        let mut servers = self.servers();
        servers.retain(|server| named.as_ref().is_none_or(|name| *name == server.config.name));
        if servers.is_empty() {
            return None;
        }
        self.settled().await;
        for server in servers {
            let name = &server.config.name;
            if named.is_none() && !attach::has_resource(&server, &mention.uri).await {
                continue;
            }
            let attached = match refused(&read_resource(name).function) {
                Some(reason) => Err(reason),
                None => attach::resource_content(&server, &mention.uri, &self.options.redactor).await,
            };
            let uri = agent::one_line(&mention.uri);
            return Some(attached.map_err(|why| {
                self.options
                    .redactor
                    .redact(&format!("{uri} of the MCP server '{name}' is not attached: {why}"))
            }));
        }
        None
    }

    fn recall(&self, tool: &str, result: &str) {
        locked(&self.found_tools).extend(tools_in_result(tool, result));
    }

    fn set_servers(&self, servers: Vec<ClientServer>) {
        let mut state = locked(&self.state);
        state.client_servers.clear();
        for given in servers {
            match ServerConfig::from_client(given) {
                Ok(mut config) => {
                    config.offered = self.options.offers.get(&config.name).cloned().unwrap_or_default();
                    state.client_servers.retain(|known| known.name != config.name);
                    state.client_servers.push(config);
                }
                Err(error) => state.problems.push(error.to_string()),
            }
        }
        self.reconcile(&mut state);
    }

    async fn close(&self) {
        let servers = {
            let mut state = locked(&self.state);
            state.closed = true;
            std::mem::take(&mut state.servers)
        };
        join_all(servers.iter().map(async |server| server.close().await)).await;
    }
}

#[derive(Default)]
struct Notices(Vec<SourceNotice>);

impl Notices {
    fn info(&mut self, title: String) {
        self.0.push(SourceNotice { severity: Severity::Info, title, description: None });
    }

    fn warning(&mut self, title: String) {
        self.0.push(SourceNotice { severity: Severity::Warning, title, description: None });
    }
}
