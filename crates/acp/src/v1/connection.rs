//! What the handlers of one connection share.

use super::{
    Outbox,
    client::AcpClient,
    errors,
    reply::InFlight,
    settings::Settings,
    tasks::Tasks,
    to_acp::{Projection, available_commands},
    update::Update,
};
use crate::{
    AcpOptions, ClientTools,
    system::{AcpSystem, Share, ToolSet, ide_tools},
    transport::Gauge,
};
use agent::{Client, Credentials, ModelInfo, Runtime, SessionError, SessionHandle, SessionId, Surface};
use agent_client_protocol::{Client as ClientRole, ConnectionTo, Error, v1::schema as acp};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use system::{AbsPath, FileKind, System, SystemError};
use tokio_util::sync::CancellationToken;

/// One client's connection.
pub(crate) struct Connection {
    /// The runtime behind it.
    pub(crate) runtime: Arc<Runtime>,
    /// How it behaves.
    pub(crate) options: AcpOptions,
    /// Its running work.
    pub(crate) tasks: Tasks,
    /// Cancelled when the client has gone.
    pub(crate) gone: CancellationToken,
    /// Its unanswered requests.
    pub(crate) in_flight: InFlight,
    /// Whether the client has logged out and not authenticated since.
    pub(crate) logged_out: AtomicBool,
    gauge: Arc<Gauge>,
    peer: OnceLock<Peer>,
    /// The sessions it opened, with who tells their events to the client.
    sessions: Mutex<HashMap<SessionId, Arc<AcpClient>>>,
}

/// The client, once it has introduced itself.
pub(crate) struct Peer {
    /// The way to it.
    pub(crate) connection: ConnectionTo<ClientRole>,
    /// The way out for updates.
    pub(crate) outbox: Arc<Outbox>,
    share: Share,
    notices: bool,
    forms: bool,
    /// Shows the output of commands that run here in terminals of its own.
    displays: bool,
    pump: tokio::task::AbortHandle,
}

impl Peer {
    /// Tells the slash commands of a session that the client has just been told of.
    pub(crate) fn tell_commands(&self, session: &SessionId) {
        self.outbox.push(session, vec![available_commands(agent::commands())]);
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

/// The parameters that new, load and resume share.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Folders {
    cwd: Option<Value>,
    additional_directories: Option<Vec<Value>>,
    /// Not supported yet, so whatever it holds is passed over; that it held something is logged.
    mcp_servers: Value,
}

impl Connection {
    /// A connection whose client has not introduced itself yet.
    pub(crate) fn new(runtime: Arc<Runtime>, options: AcpOptions, gauge: Arc<Gauge>) -> Arc<Self> {
        Arc::new(Self {
            runtime,
            options,
            tasks: Tasks::default(),
            in_flight: InFlight::default(),
            gone: CancellationToken::new(),
            logged_out: AtomicBool::new(false),
            gauge,
            peer: OnceLock::new(),
            sessions: Mutex::default(),
        })
    }

    /// The client; an error before `initialize`.
    pub(crate) fn peer(&self) -> Result<&Peer, Error> {
        self.peer.get().ok_or_else(|| errors::invalid_request("not initialized: send initialize first"))
    }

    /// The client introduces itself; false when it did already.
    pub(crate) fn introduce(
        &self,
        connection: ConnectionTo<ClientRole>,
        capabilities: &acp::ClientCapabilities,
    ) -> bool {
        if self.peer.get().is_some() {
            return false;
        }
        let outbox = Outbox::new(connection.clone(), self.gauge.clone());
        let pump = {
            let outbox = outbox.clone();
            tokio::spawn(async move { outbox.pump().await }).abort_handle()
        };
        let advertised = crate::system::Advertised {
            read: capabilities.fs.read_text_file,
            write: capabilities.fs.write_text_file,
            terminal: capabilities.terminal,
        };
        let share = Share {
            advertised,
            demoted: Arc::default(),
            place: self.options.terminal,
            tools: Arc::default(),
        };
        let meta = capabilities.meta.as_ref();
        let displays = meta.and_then(|meta| meta.get("terminal_output")) == Some(&Value::Bool(true));
        let notices = capabilities.session.as_ref().is_some_and(|session| session.notices.is_some());
        let forms =
            capabilities.elicitation.as_ref().is_some_and(acp::ElicitationCapabilities::supports_form);
        let peer = Peer { connection, outbox, share, notices, forms, displays, pump };
        self.peer.set(peer).is_ok()
    }

    /// The surface of a session that is being made or opened.
    pub(crate) fn attach(&self, peer: &Peer, id: &SessionId) -> Surface {
        let set = Arc::new(ToolSet::new(self.options.client_tools));
        let system = Arc::new(AcpSystem::new(
            self.options.local.clone(),
            id.clone(),
            peer.connection.clone(),
            peer.outbox.clone(),
            Share { tools: set.clone(), ..peer.share.clone() },
            self.options.client_timeout,
        ));
        let client = AcpClient::new(
            id.clone(),
            peer.connection.clone(),
            peer.outbox.clone(),
            Projection::live(peer.notices, peer.displays),
            self.runtime.models().clone(),
            peer.forms,
        );
        let choice = peer.share.advertised.anything().then_some(set);
        let client = Arc::new(client.with_tools(ide_tools(&system), choice));
        self.sessions().insert(id.clone(), client.clone());
        Surface { client: client as Arc<dyn Client>, system: system as Arc<dyn System> }
    }

    /// Changes which tools act where. False where there is nothing to choose from.
    pub(crate) async fn set_client_tools(
        &self,
        handle: &SessionHandle,
        tools: ClientTools,
    ) -> Result<bool, SessionError> {
        let client = self.sessions().get(handle.id()).cloned();
        let Some(set) = client.as_ref().and_then(|client| client.tool_set()) else { return Ok(false) };
        set.change(tools);
        // So that the update which follows tells the new one.
        self.settings(handle);
        // What was allowed was allowed where it ran then: changing the mode, even to itself, forgets it.
        handle.set_permission_mode(handle.state().permission_mode).await?;
        Ok(true)
    }

    /// An open session, or the error that names it.
    pub(crate) fn session(&self, id: &acp::SessionId) -> Result<SessionHandle, Error> {
        let id = SessionId(id.0.to_string());
        self.runtime.find(&id).ok_or_else(|| errors::unknown_session(&id))
    }

    /// An error while the client is logged out and the model's provider wants credentials.
    pub(crate) fn may_use(&self, model: &str) -> Result<(), Error> {
        let open = !self.logged_out.load(Ordering::Relaxed)
            || self.runtime.models().credentials(model) == Credentials::NotNeeded;
        if open { Ok(()) } else { Err(errors::logged_out()) }
    }

    /// Settings of an open session, remembered for the updates that show them in full.
    pub(crate) fn settings(&self, handle: &SessionHandle) -> Settings {
        let mut settings = Settings::from(handle.state());
        if let Some(client) = self.sessions().get(handle.id()) {
            settings.client_tools = client.tool_set().map(ToolSet::get);
            client.set_settings(settings.clone());
        }
        settings
    }

    /// Stops telling of a session's events, and returns the number of the last stored one that the client was told of, and what it was told
    /// beside the stored ones. What happens from here on waits for [`Outbox::release`].
    pub(crate) fn hold(&self, peer: &Peer, handle: &SessionHandle) -> (u64, Vec<Update>) {
        let mut unstored = Vec::new();
        let last = handle.at_rest(|| {
            peer.outbox.flush(handle.id());
            peer.outbox.hold(handle.id());
            unstored = self.sessions().get(handle.id()).map(|client| client.unstored()).unwrap_or_default();
        });
        (last, unstored)
    }

    /// The models to choose from.
    pub(crate) fn models(&self) -> Vec<ModelInfo> {
        self.runtime.models().list()
    }

    /// Forgets a session that was closed.
    pub(crate) fn forget(&self, id: &SessionId) {
        self.sessions().remove(id);
        if let Some(peer) = self.peer.get() {
            peer.outbox.forget(id);
        }
    }

    /// Cancels the turns of every session this connection opened.
    pub(crate) fn cancel(&self) {
        self.gone.cancel();
        self.open_sessions().iter().for_each(SessionHandle::cancel);
    }

    /// Cancels and closes every session this connection opened, and waits until every request is answered.
    pub(crate) async fn settle(&self) {
        self.gone.cancel();
        let handles = self.open_sessions();
        handles.iter().for_each(SessionHandle::cancel);
        futures::future::join_all(handles.iter().map(SessionHandle::close)).await;
        self.tasks.settled().await;
        for handle in &handles {
            if let Some(peer) = self.peer.get() {
                peer.outbox.flush(handle.id());
            }
            self.forget(handle.id());
        }
    }

    fn open_sessions(&self) -> Vec<SessionHandle> {
        self.sessions().keys().filter_map(|id| self.runtime.find(id)).collect()
    }

    /// Checks folders: absolute without asking anybody, then there and folders on the local machine. `default` stands in for a missing cwd.
    pub(crate) async fn folders(
        &self,
        folders: Folders,
        default: Option<&AbsPath>,
    ) -> Result<(Option<AbsPath>, Vec<AbsPath>), Error> {
        if folders.mcp_servers.as_array().is_some_and(|servers| !servers.is_empty()) {
            tracing::warn!("the client gave MCP servers, which are not supported yet; they are passed over");
        }
        let cwd = match folders.cwd {
            Some(cwd) => Some(self.folder("cwd", &cwd).await?),
            None => default.cloned(),
        };
        let mut additional = Vec::new();
        for (at, folder) in folders.additional_directories.unwrap_or_default().iter().enumerate() {
            additional.push(self.folder(&format!("additionalDirectories[{at}]"), folder).await?);
        }
        Ok((cwd, additional))
    }

    async fn folder(&self, name: &str, given: &Value) -> Result<AbsPath, Error> {
        let wrong = |message: String| errors::invalid_params(message).data(json!({ name: given }));
        let path = given
            .as_str()
            .and_then(|given| AbsPath::new(given).ok())
            .ok_or_else(|| wrong(format!("{name} must be an absolute path, not {given}")))?;
        match self.options.local.metadata(&path).await {
            Ok(metadata) if metadata.kind == FileKind::Directory => Ok(path),
            Ok(_) => Err(wrong(format!("{name} is not a folder: {path}"))),
            Err(SystemError::NotFound(_)) => Err(wrong(format!("{name} does not exist: {path}"))),
            Err(error) => Err(wrong(format!("{name} cannot be used: {error}"))),
        }
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<AcpClient>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
