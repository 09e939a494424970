//! What can be done with sessions, the same in every version: decoded from their parameters, handed to the runtime.

use super::{
    Connection, Outbox, Peer, Wire, errors, params,
    servers::servers,
    settings::{Settings, change},
};
use crate::{
    ClientTools,
    limits::{LIST_PAGE, SEED_LIST_PAGE, TITLE_CHARS},
    system::ToolSet,
};
use agent::{
    Archived, Client, CreateSession, ListQuery, OpenSession, SessionError, SessionEvent, SessionHandle,
    SessionId, SessionPage, Surface,
};
use agent_client_protocol::{Error, RequestCancellation};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use system::{AbsPath, FileKind, SystemError};
use tokio_util::sync::CancellationToken;

/// The parameters that everything which makes or opens a session shares.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Folders {
    cwd: Option<Value>,
    additional_directories: Option<Vec<Value>>,
    mcp_servers: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Named {
    session_id: String,
    #[serde(rename = "_meta", default)]
    meta: Value,
}

/// Keeps live updates of a session back while its past is told.
pub(crate) struct Held<'a, W: Wire> {
    outbox: &'a Outbox<W>,
    session: &'a SessionId,
}

impl<'a, W: Wire> Held<'a, W> {
    /// Takes over a session that [`Connection::hold`] holds.
    pub(crate) fn new(peer: &'a Peer<W>, handle: &'a SessionHandle) -> Self {
        Self { outbox: &peer.outbox, session: handle.id() }
    }
}

impl<W: Wire> Drop for Held<'_, W> {
    fn drop(&mut self) {
        self.outbox.release(self.session);
    }
}

impl<W: Wire> Connection<W> {
    /// Makes a session. Its updates wait for [`Outbox::release`]: some clients hang on one of a
    /// session that they have not been told of. Where the request is taken back meanwhile, nothing
    /// is left of the session.
    pub(crate) async fn create(
        &self,
        peer: &Peer<W>,
        given: Value,
        cancellation: &RequestCancellation,
    ) -> Result<SessionHandle, Error> {
        let folders: Folders = params("session/new", given)?;
        let servers = servers(&folders.mcp_servers)?.unwrap_or_default();
        let default = self.options.default_cwd.clone();
        let (cwd, additional_directories) = self.folders(peer, folders, Some(&default)).await?;
        let cwd = cwd.unwrap_or(default);
        self.may_begin(&cwd).await?;
        let new = CreateSession { cwd, additional_directories, servers };
        let attach = |id: &SessionId| {
            peer.outbox.hold(id);
            self.attach(peer, id)
        };
        let made = self.runtime.create(new, attach).await.map_err(|error| errors::session(&error))?;
        self.made(peer, made, cancellation).await
    }

    /// Opens the stored session that the parameters of `method` name, or joins those who have it
    /// open in this process. Its updates wait for [`Outbox::release`], unless this client is told
    /// of it already. Before the answer comes [`Connection::keep`], or [`Connection::take_back`]
    /// where that is an error.
    pub(crate) async fn open(
        &self,
        method: &str,
        peer: &Peer<W>,
        given: Value,
    ) -> Result<SessionHandle, Error> {
        let named: Named = params(method, given.clone())?;
        let folders: Folders = params(method, given)?;
        let servers = servers(&folders.mcp_servers)?;
        let (cwd, additional_directories) = self.folders(peer, folders, None).await?;
        let take_over = named.meta.pointer("/tiller/takeOver") == Some(&Value::Bool(true));
        // The list is the whole one each time: none means none.
        let how =
            OpenSession { cwd, additional_directories: Some(additional_directories), servers, take_over };
        let id = SessionId(named.session_id);
        self.claims.begin(&id);
        let opened = self.open_or_join(peer, &id, how).await;
        if opened.is_err() {
            self.take_back(peer, &id).await;
        }
        opened
    }

    async fn open_or_join(
        &self,
        peer: &Peer<W>,
        id: &SessionId,
        how: OpenSession,
    ) -> Result<SessionHandle, Error> {
        loop {
            let attach = |id: &SessionId| {
                peer.outbox.hold(id);
                self.attach(peer, id)
            };
            let handle =
                self.runtime.open(id, how.clone(), attach).await.map_err(|error| errors::session(&error))?;
            if self.watched(id).is_some_and(|client| handle.tells(&client)) || handle.join(attach(id)) {
                return Ok(handle);
            }
            // The last of the others has just gone.
            handle.close().await;
        }
    }

    /// Makes a session that begins with everything another has. Its updates wait for [`Outbox::release`].
    pub(crate) async fn fork(
        &self,
        peer: &Peer<W>,
        given: Value,
        cancellation: &RequestCancellation,
    ) -> Result<SessionHandle, Error> {
        let origin: Named = params("session/fork", given.clone())?;
        let folders: Folders = params("session/fork", given)?;
        let servers = servers(&folders.mcp_servers)?.unwrap_or_default();
        let origin = SessionId(origin.session_id);
        let record = self.runtime.record(&origin).await.map_err(|error| errors::store(&error))?;
        let (cwd, additional_directories) = self.folders(peer, folders, Some(&record.cwd)).await?;
        let new = CreateSession { cwd: cwd.unwrap_or(record.cwd), additional_directories, servers };
        let attach = |id: &SessionId| {
            peer.outbox.hold(id);
            self.attach(peer, id)
        };
        let made = self.runtime.fork(&origin, new, attach).await.map_err(|error| errors::session(&error))?;
        self.made(peer, made, cancellation).await
    }

    /// A page of the stored sessions, the last used first.
    pub(crate) async fn list(&self, given: Value) -> Result<SessionPage, Error> {
        #[derive(Debug, Default, Deserialize)]
        #[serde(default)]
        struct Params {
            cwd: Option<String>,
            cursor: Option<String>,
            archived: Value,
        }
        let given: Params = params("session/list", given)?;
        // A folder that is gone still has its sessions: only the form is checked.
        let cwd = match given.cwd {
            Some(cwd) => Some(AbsPath::new(&cwd).map_err(|_wrong| {
                errors::invalid_params(format!("cwd must be an absolute path, not {cwd:?}"))
            })?),
            None => None,
        };
        let archived = match &given.archived {
            Value::Null => Archived::Exclude,
            Value::String(word) if word == "exclude" => Archived::Exclude,
            Value::String(word) if word == "include" => Archived::Include,
            Value::String(word) if word == "only" => Archived::Only,
            other => {
                return Err(errors::invalid_params(format!(
                    "archived must be exclude, include or only, not {other}"
                )));
            }
        };
        let limit = if self.native.is_seed() { SEED_LIST_PAGE } else { LIST_PAGE };
        let query = ListQuery { cwd, archived, cursor: given.cursor, limit, ..ListQuery::default() };
        self.runtime.list(query).await.map_err(|error| errors::store(&error))
    }

    /// Takes back this client's prompts and leaves the session. Where others have it open it stays
    /// open, and what they asked for goes on; where none has, what runs is cancelled, and the
    /// session is freed once that has settled.
    pub(crate) async fn close(&self, peer: &Peer<W>, given: Value) -> Result<(), Error> {
        let handle = self.session("session/close", given)?;
        let id = handle.id();
        // First, so that a request that opens it anew meanwhile has a client of its own.
        let client = self.sessions().remove(id).ok_or_else(|| errors::unknown_session(id))?;
        self.claims.closed(id);
        client.left().cancel();
        let client: Arc<dyn Client> = client;
        if !(handle.tells(&client) && handle.leave(&client)) {
            handle.cancel();
            handle.close().await;
        }
        peer.outbox.flush(id);
        if !self.sessions().contains_key(id) {
            peer.outbox.forget(id);
        }
        Ok(())
    }

    /// Removes a session for good, once what ran has settled; one that is not there is fine.
    pub(crate) async fn delete(&self, given: Value) -> Result<(), Error> {
        let id = named("session/delete", given)?;
        self.runtime.delete(&id).await.map_err(|error| errors::store(&error))?;
        self.forget(&id);
        Ok(())
    }

    /// Puts the session that the parameters of `method` name away, once what ran has settled and it is closed; or takes it out again.
    pub(crate) async fn archive(
        &self,
        method: &str,
        peer: &Peer<W>,
        given: Value,
        archived: bool,
    ) -> Result<(), Error> {
        let id = named(method, given)?;
        self.runtime.set_archived(&id, archived).await.map_err(|error| errors::store(&error))?;
        if archived {
            peer.outbox.flush(&id);
            self.forget(&id);
        }
        Ok(())
    }

    /// Names a session, open or not; the title as it is stored: one line, not too long.
    pub(crate) async fn set_title(&self, given: Value) -> Result<String, Error> {
        #[derive(Debug, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            session_id: String,
            title: String,
        }
        let given: Params = params("session/set_title", given)?;
        let title = agent::label(&given.title, TITLE_CHARS);
        if title.is_empty() {
            return Err(errors::invalid_params("title has no text that can be shown; send some"));
        }
        let id = SessionId(given.session_id);
        self.runtime.set_title(&id, title.clone()).await.map_err(|error| errors::session(&error))?;
        Ok(title)
    }

    /// Whether a session is in memory, or only stored. Opens nothing.
    pub(crate) async fn is_open(&self, given: Value) -> Result<bool, Error> {
        let id = named("session/status", given)?;
        if self.runtime.find(&id).is_some() {
            return Ok(true);
        }
        self.runtime.record(&id).await.map_err(|error| errors::store(&error))?;
        Ok(false)
    }

    /// Changes an option; the session, once the change is in force and recorded.
    pub(crate) async fn set_option(&self, given: Value) -> Result<SessionHandle, Error> {
        #[derive(Debug, Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Params {
            config_id: String,
            value: Value,
        }
        let handle = self.session("session/set_config_option", given.clone())?;
        let given: Params = params("session/set_config_option", given)?;
        change(self, &handle, &given.config_id, &given.value).await?;
        Ok(handle)
    }

    /// Cancels the running turn of the session that the parameters name, and the prompts that wait. A notification has no answer: what cannot
    /// be cancelled is logged.
    pub(crate) fn cancel_turn(&self, given: Value) {
        match self.session("session/cancel", given) {
            Ok(handle) => handle.cancel(),
            Err(error) => tracing::debug!(%error, "nothing to cancel"),
        }
    }

    /// The open session that the parameters of `method` name, or the error that names it.
    fn session(&self, method: &str, given: Value) -> Result<SessionHandle, Error> {
        self.find(named(method, given)?.as_str())
    }

    /// An open session, or the error that names it.
    pub(crate) fn find(&self, id: &str) -> Result<SessionHandle, Error> {
        let id = SessionId(id.to_owned());
        self.runtime.find(&id).ok_or_else(|| errors::unknown_session(&id))
    }

    /// Cancelled when this client closes a session, or is gone.
    pub(crate) fn left(&self, handle: &SessionHandle) -> CancellationToken {
        self.client(handle).map_or_else(|| self.gone.clone(), |client| client.left().clone())
    }

    /// Who tells of a session's events.
    pub(crate) fn client(&self, handle: &SessionHandle) -> Option<Arc<super::AcpClient<W>>> {
        self.sessions().get(handle.id()).cloned()
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

    /// Changes which tools act where. False where there is nothing to choose from.
    pub(super) async fn set_client_tools(
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

    /// Stops telling of a session's events, and returns the number of the last stored one that the client was told of, and what is going on
    /// beside the stored ones. What happens from here on waits for [`Outbox::release`].
    pub(crate) fn hold(&self, peer: &Peer<W>, handle: &SessionHandle) -> (u64, Vec<SessionEvent>) {
        handle.at_rest(|| peer.outbox.hold_anew(handle.id()))
    }

    /// Forgets a session that was closed.
    pub(crate) fn forget(&self, id: &SessionId) {
        self.claims.closed(id);
        self.sessions().remove(id);
        if let Ok(peer) = self.peer() {
            peer.outbox.forget(id);
        }
    }

    /// Who tells this client of a session's events.
    pub(super) fn watched(&self, id: &SessionId) -> Option<Arc<dyn Client>> {
        self.sessions().get(id).map(|client| client.clone() as Arc<dyn Client>)
    }

    /// The surface of a session that is being made, opened or joined.
    fn attach(&self, peer: &Peer<W>, id: &SessionId) -> Surface {
        let outfit = W::outfit(self, peer, id);
        let client = Arc::new(outfit.client);
        self.sessions().insert(id.clone(), client.clone());
        Surface { client: client as Arc<dyn Client>, system: outfit.system }
    }

    /// Checks folders: absolute without asking anybody, then there and folders on the local
    /// machine; where the project is on the editor's machine, one that is only there will do.
    /// `default` stands in for a missing cwd.
    async fn folders(
        &self,
        peer: &Peer<W>,
        folders: Folders,
        default: Option<&AbsPath>,
    ) -> Result<(Option<AbsPath>, Vec<AbsPath>), Error> {
        let cwd = match folders.cwd {
            Some(cwd) => Some(self.folder(peer, "cwd", &cwd).await?),
            None => default.cloned(),
        };
        let mut additional = Vec::new();
        for (at, folder) in folders.additional_directories.unwrap_or_default().iter().enumerate() {
            additional.push(self.folder(peer, &format!("additionalDirectories[{at}]"), folder).await?);
        }
        Ok((cwd, additional))
    }

    async fn folder(&self, peer: &Peer<W>, name: &str, given: &Value) -> Result<AbsPath, Error> {
        let wrong = |message: String| errors::invalid_params(message).data(json!({ name: given }));
        let path = given
            .as_str()
            .and_then(|given| AbsPath::new(given).ok())
            .ok_or_else(|| wrong(format!("{name} must be an absolute path, not {given}")))?;
        match self.options.local.metadata(&path).await {
            Ok(metadata) if metadata.kind == FileKind::Directory => Ok(path),
            Ok(_) => Err(wrong(format!("{name} is not a folder: {path}"))),
            // It is on the editor's machine, which is another one.
            Err(SystemError::NotFound(_))
                if self.options.client_tools == ClientTools::Ide && W::has_workspace(&peer.traits) =>
            {
                Ok(path)
            }
            Err(SystemError::NotFound(_)) => Err(wrong(format!("{name} does not exist: {path}"))),
            Err(error) => Err(wrong(format!("{name} cannot be used: {error}"))),
        }
    }
}

fn named(method: &str, given: Value) -> Result<SessionId, Error> {
    Ok(SessionId(params::<Named>(method, given)?.session_id))
}
