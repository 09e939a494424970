//! The servers of one session, as a source of tools.

use crate::{
    config::{Origin, ServerConfig},
    connection::locked,
    files,
    limits::{FIRST_WAIT, HEAD_START, OFFERED_BYTES, OFFERED_TOOLS, SERVERS},
    names::server_name,
    oauth,
    provider::McpOptions,
    search::{Revealed, ToolSearch, revealed_by},
    server::{Server, State},
    tool::{Definition, McpTool, read_resource},
};
use agent::{
    AnyTool, ClientServer, Content, Mention, Offer, Refused, SessionScope, Severity, SlashCommand,
    SourceNotice, ToolSource,
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
    first: Instant,
    /// Whether the files have been read.
    read: watch::Sender<bool>,
    /// Notified when tools are requested, so that the files are read without further delay.
    asked: Arc<Notify>,
    inner: Mutex<Inner>,
    revealed: Revealed,
    /// Notified when the prompts of a server change.
    news: Arc<Notify>,
}

#[derive(Default)]
struct Inner {
    servers: Vec<Arc<Server>>,
    of_files: Vec<ServerConfig>,
    of_client: Vec<ServerConfig>,
    problems: Vec<String>,
    /// The notices already shown to the user, so that each is shown once.
    told: HashSet<String>,
    /// Hashes of the grants with which servers were restarted, by server name.
    tried: HashMap<String, blake3::Hash>,
    closed: bool,
}

impl Hub {
    /// Starts the client's servers, and reads the files in the background.
    pub(crate) fn open(options: Arc<McpOptions>, session: &SessionScope) -> Arc<Self> {
        let hub = Arc::new(Self {
            options,
            cwd: session.cwd.clone(),
            first: Instant::now() + FIRST_WAIT,
            read: watch::channel(false).0,
            asked: Arc::default(),
            inner: Mutex::default(),
            revealed: Revealed::default(),
            news: Arc::default(),
        });
        hub.set_servers(session.servers.clone());
        let reading = Arc::downgrade(&hub);
        let (options, cwd) = (Arc::clone(&hub.options), hub.cwd.clone());
        let asked = Arc::clone(&hub.asked);
        tokio::spawn(async move {
            // Let the session/new response go first. That no request comes in this time is normal.
            let _ = tokio::time::timeout(HEAD_START, asked.notified()).await;
            let found = files::find(options.system.as_ref(), &options.user_file, &options.trust, &cwd).await;
            let Some(hub) = reading.upgrade() else { return };
            {
                let mut inner = locked(&hub.inner);
                inner.problems.extend(found.problems);
                inner.of_files = found.servers.into_iter().filter(|server| server.enabled).collect();
                hub.bring_about(&mut inner);
            }
            hub.read.send_replace(true);
        });
        hub
    }

    /// Starts and stops servers so that exactly the wanted ones run. A client's server takes
    /// precedence over one of a file with the same name.
    fn bring_about(&self, inner: &mut Inner) {
        if inner.closed {
            return;
        }
        let client = &inner.of_client;
        let hidden = |server: &ServerConfig| client.iter().any(|own| own.name == server.name);
        let mut wanted: Vec<_> = client.clone();
        wanted.extend(inner.of_files.iter().filter(|server| !hidden(server)).cloned());
        if wanted.len() > SERVERS {
            inner.problems.push(format!("more than {SERVERS} MCP servers; the rest is not started"));
            wanted.truncate(SERVERS);
        }
        let before = inner.servers.len();
        inner.servers.retain(|running| {
            let stays = wanted.contains(&running.config);
            // A dropped server stops by itself once none of its tools is held. A server of a
            // project is no longer trusted, so it stops now.
            if !stays && matches!(running.config.origin, Origin::Project(_)) {
                let server = Arc::clone(running);
                tokio::spawn(async move { server.close().await });
            }
            stays
        });
        if inner.servers.len() < before {
            self.news.notify_one();
        }
        for config in wanted {
            if !inner.servers.iter().any(|running| running.config == config) {
                let (options, news) = (Arc::clone(&self.options), Arc::clone(&self.news));
                inner.servers.push(Server::start(config, options, self.cwd.clone(), news));
            }
        }
    }

    /// Reads the files again, starts added servers and stops removed ones. Returns what the files
    /// contain.
    pub(crate) async fn look_again(&self) -> files::Found {
        let McpOptions { system, user_file, trust, .. } = &*self.options;
        let found = files::find(system.as_ref(), user_file, trust, &self.cwd).await;
        let mut inner = locked(&self.inner);
        inner.of_files = found.servers.iter().filter(|server| server.enabled).cloned().collect();
        self.bring_about(&mut inner);
        found
    }

    /// Reads the files again and waits for newly started servers, up to `FIRST_WAIT`.
    async fn notice_trust(&self) {
        if !*self.read.borrow() {
            return;
        }
        let before = self.servers();
        self.look_again().await;
        let mut started = self.servers();
        started.retain(|server| !before.iter().any(|known| Arc::ptr_eq(known, server)));
        let settled = join_all(started.iter().map(|server| server.settled()));
        // Slower servers join later.
        let _ = tokio::time::timeout(FIRST_WAIT, settled).await;
    }

    /// Returns the servers that the client sent.
    pub(crate) fn of_client(&self) -> Vec<ServerConfig> {
        locked(&self.inner).of_client.clone()
    }

    pub(crate) fn servers(&self) -> Vec<Arc<Server>> {
        locked(&self.inner).servers.clone()
    }

    /// Restarts servers that required a sign-in once there is a new grant, and waits for them, up
    /// to `FIRST_WAIT`.
    async fn let_in(&self) {
        let mut started = Vec::new();
        for server in self.servers() {
            let State::Down(why) = server.state() else { continue };
            let name = &server.config.name;
            if !oauth::wants_sign_in(&why) {
                continue;
            }
            let Some(grant) = self.options.grants.load(name).await else { continue };
            let grant = blake3::hash(grant.as_bytes());
            let mut inner = locked(&self.inner);
            // A grant that did not help is tried only once.
            if inner.closed || inner.tried.insert(name.clone(), grant) == Some(grant) {
                continue;
            }
            if let Some(running) = inner.servers.iter_mut().find(|running| Arc::ptr_eq(running, &server)) {
                let (options, news) = (Arc::clone(&self.options), Arc::clone(&self.news));
                *running = Server::start(server.config.clone(), options, self.cwd.clone(), news);
                started.push(Arc::clone(running));
            }
        }
        let settled = join_all(started.iter().map(|server| server.settled()));
        // Slower servers join later.
        let _ = tokio::time::timeout(FIRST_WAIT, settled).await;
    }

    /// Waits until the files have been read, so that all servers are known.
    async fn files_read(&self) {
        self.asked.notify_one();
        let mut read = self.read.subscribe();
        // `self` holds the sender, so this cannot fail; after the timeout the files are given up
        // on.
        let _ = tokio::time::timeout_at(self.first, read.wait_for(|read| *read)).await;
    }

    /// Waits until every server has started or failed, but no longer than the first wait.
    pub(crate) async fn settled(&self) {
        self.asked.notify_one();
        let settled = async {
            let mut read = self.read.subscribe();
            // `self` holds the sender, so this cannot fail.
            let _ = read.wait_for(|read| *read).await;
            join_all(self.servers().iter().map(async |server| server.settled().await)).await;
        };
        let _ = tokio::time::timeout_at(self.first, settled).await;
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
        self.notice_trust().await;
        self.let_in().await;
        let mut notices = Notices::default();
        let mut found: Vec<(Arc<Server>, Arc<Definition>)> = Vec::new();
        for server in self.servers() {
            let config = &server.config;
            let name = &config.name;
            if config.origin == Origin::Client {
                notices.info(format!("MCP server '{name}' of the editor: {}", config.summary()));
            }
            match server.state() {
                State::Starting => {
                    notices.info(format!(
                        "MCP server '{name}' is still starting; its tools join when it is there"
                    ));
                }
                State::Up(live) => {
                    live.notes.iter().for_each(|note| notices.warning(note.clone()));
                    found.extend(live.tools.iter().map(|tool| (Arc::clone(&server), Arc::clone(tool))));
                }
                State::Trying { why, had } => {
                    notices.warning(format!("MCP server '{name}' is not there and is tried again: {why}"));
                    found.extend(had.into_iter().map(|tool| (Arc::clone(&server), tool)));
                }
                State::Down(why) => notices.warning(format!("MCP server '{name}' is not there: {why}")),
            }
        }
        let bytes: usize = found.iter().map(|(_, tool)| tool.bytes).sum();
        let deferred = found.len() > OFFERED_TOOLS || bytes > OFFERED_BYTES;
        let mut tools: Vec<Arc<dyn AnyTool>> = Vec::with_capacity(found.len() + 1);
        if deferred {
            let all = found.iter().map(|(_, tool)| Arc::clone(tool)).collect();
            tools.push(Arc::new(ToolSearch { all, revealed: Arc::clone(&self.revealed) }));
        }
        let revealed = locked(&self.revealed).clone();
        tools.extend(found.into_iter().map(|(server, definition)| {
            let offered = !deferred || revealed.contains(&definition.function);
            let redactor = self.options.redactor.clone();
            Arc::new(McpTool { server, definition, redactor, offered }) as Arc<dyn AnyTool>
        }));
        let mut inner = locked(&self.inner);
        inner.problems.drain(..).for_each(|problem| notices.warning(problem));
        let mut notices = notices.0;
        notices.retain(|notice| inner.told.insert(notice.title.clone()));
        let redact = |notice: &mut SourceNotice| notice.title = self.options.redactor.redact(&notice.title);
        notices.iter_mut().for_each(redact);
        Offer { tools, notices }
    }

    fn commands(&self) -> Vec<SlashCommand> {
        let prompts = self.servers().into_iter().flat_map(|server| server.prompts.all());
        prompts.map(|prompt| prompt.slash_command()).collect()
    }

    async fn commands_changed(&self) {
        self.news.notified().await;
    }

    async fn say(
        &self,
        command: &str,
        arguments: &str,
        refused: &Refused<'_>,
    ) -> Option<Result<Vec<Content>, String>> {
        // Commands without the name of a server of this session belong to other sources.
        let named = command.strip_prefix("mcp__")?.split("__").next()?;
        self.settled().await;
        let server = self.servers().into_iter().find(|server| server.config.name == named)?;
        let said = match refused(command) {
            Some(reason) => return Some(Err(reason)),
            None => server.say(command, arguments, &self.options.redactor).await,
        };
        Some(said.map_err(|why| self.options.redactor.redact(&format!("MCP server '{named}': {why}"))))
    }

    async fn attach(&self, mention: &Mention, refused: &Refused<'_>) -> Option<Result<Vec<Content>, String>> {
        let named = mention.of.as_deref().map(server_name);
        // `file:` and web addresses belong to no server in particular.
        let everybodys = ["file:", "http:", "https:"].iter().any(|scheme| mention.uri.starts_with(scheme));
        if named.is_none() && everybodys {
            return None;
        }
        self.files_read().await;
        let mut servers = self.servers();
        servers.retain(|server| named.as_ref().is_none_or(|name| *name == server.config.name));
        if servers.is_empty() {
            return None;
        }
        self.settled().await;
        for server in servers {
            let name = &server.config.name;
            if named.is_none() && !server.has_resource(&mention.uri).await {
                continue;
            }
            let attached = match refused(&read_resource(name).function) {
                Some(reason) => Err(reason),
                None => server.attach(&mention.uri, &self.options.redactor).await,
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
        locked(&self.revealed).extend(revealed_by(tool, result));
    }

    fn set_servers(&self, servers: Vec<ClientServer>) {
        let mut inner = locked(&self.inner);
        inner.of_client.clear();
        for given in servers {
            match ServerConfig::of_client(given) {
                Ok(mut config) => {
                    config.offered = self.options.offers.get(&config.name).cloned().unwrap_or_default();
                    inner.of_client.retain(|known| known.name != config.name);
                    inner.of_client.push(config);
                }
                Err(error) => inner.problems.push(error.to_string()),
            }
        }
        self.bring_about(&mut inner);
    }

    async fn close(&self) {
        let servers = {
            let mut inner = locked(&self.inner);
            inner.closed = true;
            std::mem::take(&mut inner.servers)
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
