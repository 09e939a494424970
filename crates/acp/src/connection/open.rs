//! Creating, opening and forking sessions.

use super::{Attach, Connection, Peer, Version, errors, params, servers::servers, sessions::SessionParam};
use crate::ClientTools;
use agent::{Client, CreateSession, OpenSession, SessionHandle, SessionId, Surface};
use agent_client_protocol::{Error, RequestCancellation};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use system::{AbsPath, FileKind, SystemError};

/// The parameters shared by all methods that create or open a session.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SessionParams {
    cwd: Option<Value>,
    additional_directories: Option<Vec<Value>>,
    mcp_servers: Value,
}

impl<W: Version> Connection<W> {
    /// Creates a session.
    ///
    /// Its updates are held until `Outbox::release`: some clients hang on an update of a session
    /// that they do not know yet. If the request is cancelled meanwhile, the session is deleted.
    pub(crate) async fn create(
        &self,
        peer: &Peer<W>,
        given: Value,
        cancellation: &RequestCancellation,
    ) -> Result<SessionHandle, Error> {
        let numbered = self.numbers(Attach::of(&given)?);
        let session_params: SessionParams = params("session/new", given)?;
        let servers = servers(&session_params.mcp_servers)?.unwrap_or_default();
        let default = self.options.default_cwd.clone();
        let (cwd, additional_directories) =
            self.check_directories(peer, session_params, Some(&default)).await?;
        let cwd = cwd.unwrap_or(default);
        self.check_may_start(&cwd).await?;
        let new = CreateSession { cwd, additional_directories, servers };
        let attach = |id: &SessionId| {
            peer.outbox.hold(id);
            self.attach(peer, id, numbered)
        };
        let made = self.runtime.create(new, attach).await.map_err(|error| errors::session(&error))?;
        self.created_unless_cancelled(peer, made, cancellation).await
    }

    /// Opens the stored session named in the parameters of `method`, or joins its subscribers in
    /// this process.
    ///
    /// Its updates are held until `Outbox::release`, unless this client is subscribed already.
    /// Before responding, call [`Connection::mark_open`], or [`Connection::leave_cancelled`] if the
    /// response is an error.
    pub(crate) async fn open(
        &self,
        method: &str,
        peer: &Peer<W>,
        given: Value,
    ) -> Result<SessionHandle, Error> {
        let named: SessionParam = params(method, given.clone())?;
        let numbered = self.numbers(Attach::of(&given)?);
        let session_params: SessionParams = params(method, given)?;
        let servers = servers(&session_params.mcp_servers)?;
        let (cwd, additional_directories) = self.check_directories(peer, session_params, None).await?;
        let id = SessionId(named.session_id);
        let cwd = match cwd {
            Some(cwd) => Some(self.own_spelling(&id, cwd).await?),
            None => None,
        };
        let rebind = named.meta.pointer("/tiller/rebind") == Some(&Value::Bool(true));
        if let Some(cwd) = cwd.as_ref().filter(|_| rebind) {
            self.check_may_start(cwd).await?;
        }
        let take_over = named.meta.pointer("/tiller/takeOver") == Some(&Value::Bool(true));
        // The list is complete each time: a missing list means no directories.
        let additional_directories = Some(additional_directories);
        let how = OpenSession { cwd, rebind, additional_directories, servers, take_over };
        self.claims.begin_opening(&id);
        let opened = self.open_or_join(peer, &id, how, numbered).await;
        if opened.is_err() {
            self.leave_cancelled(peer, &id).await;
        }
        opened
    }

    /// Returns the directory of a session as the session spells it, if the given one is the same.
    async fn own_spelling(&self, id: &SessionId, given: AbsPath) -> Result<AbsPath, Error> {
        let record = self.runtime.record(id).await.map_err(|error| errors::store(&error))?;
        if record.cwd == given {
            return Ok(given);
        }
        let local = &self.options.machines.local;
        Ok(match (local.resolve(&record.cwd).await, local.resolve(&given).await) {
            (Ok(own), Ok(real)) if own == real => record.cwd,
            _ => given,
        })
    }

    async fn open_or_join(
        &self,
        peer: &Peer<W>,
        id: &SessionId,
        how: OpenSession,
        numbered: bool,
    ) -> Result<SessionHandle, Error> {
        loop {
            let attach = |id: &SessionId| {
                peer.outbox.hold(id);
                self.attach(peer, id, numbered)
            };
            let handle =
                self.runtime.open(id, how.clone(), attach).await.map_err(|error| errors::session(&error))?;
            if self.subscriber(id).is_some_and(|client| handle.notifies(&client)) {
                if numbered {
                    handle.at_rest(|last| peer.outbox.number(id, last));
                }
                return Ok(handle);
            }
            if handle.join(attach(id)) {
                return Ok(handle);
            }
            // The last other subscriber has just left.
            handle.close().await;
        }
    }

    /// Creates a session that starts with a copy of another session's history. Its updates are held
    /// until `Outbox::release`.
    pub(crate) async fn fork(
        &self,
        peer: &Peer<W>,
        given: Value,
        cancellation: &RequestCancellation,
    ) -> Result<SessionHandle, Error> {
        let origin: SessionParam = params("session/fork", given.clone())?;
        let numbered = self.numbers(Attach::of(&given)?);
        let session_params: SessionParams = params("session/fork", given)?;
        let servers = servers(&session_params.mcp_servers)?.unwrap_or_default();
        let origin = SessionId(origin.session_id);
        let record = self.runtime.record(&origin).await.map_err(|error| errors::store(&error))?;
        let (cwd, additional_directories) =
            self.check_directories(peer, session_params, Some(&record.cwd)).await?;
        let new = CreateSession { cwd: cwd.unwrap_or(record.cwd), additional_directories, servers };
        let attach = |id: &SessionId| {
            peer.outbox.hold(id);
            self.attach(peer, id, numbered)
        };
        let made = self.runtime.fork(&origin, new, attach).await.map_err(|error| errors::session(&error))?;
        self.created_unless_cancelled(peer, made, cancellation).await
    }

    /// Creates the client and the system of a session that is created, opened or joined.
    fn attach(&self, peer: &Peer<W>, id: &SessionId, numbered: bool) -> Surface {
        if numbered {
            // The client learns the number of the last event before any update.
            peer.outbox.number(id, 0);
        }
        let session_parts = W::session_parts(self, peer, id);
        let client = Arc::new(session_parts.client);
        self.sessions().insert(id.clone(), client.clone());
        Surface { client: client as Arc<dyn Client>, system: session_parts.system }
    }

    /// Checks the directories of a request.
    ///
    /// Each path must be absolute (checked without I/O) and a directory on the local machine; if
    /// the project is on the editor's machine, a path that is missing locally is accepted.
    /// `default` replaces a missing `cwd`.
    async fn check_directories(
        &self,
        peer: &Peer<W>,
        session_params: SessionParams,
        default: Option<&AbsPath>,
    ) -> Result<(Option<AbsPath>, Vec<AbsPath>), Error> {
        let cwd = match session_params.cwd {
            Some(cwd) => Some(self.check_directory(peer, "cwd", &cwd).await?),
            None => default.cloned(),
        };
        let mut additional = Vec::new();
        for (at, directory) in session_params.additional_directories.unwrap_or_default().iter().enumerate() {
            additional
                .push(self.check_directory(peer, &format!("additionalDirectories[{at}]"), directory).await?);
        }
        Ok((cwd, additional))
    }

    async fn check_directory(&self, peer: &Peer<W>, name: &str, given: &Value) -> Result<AbsPath, Error> {
        let wrong = |message: String| errors::invalid_params(message).data(json!({ name: given }));
        let path = given
            .as_str()
            .and_then(|given| AbsPath::new(given).ok())
            .ok_or_else(|| wrong(format!("{name} must be an absolute path, not {given}")))?;
        let found = self.options.machines.local.metadata(&path).await;
        // The directory is on the editor's machine, which is a different one.
        if matches!(found, Err(SystemError::NotFound(_)))
            && self.options.machines.client_tools == ClientTools::Ide
            && W::has_workspace(&peer.traits)
        {
            return Ok(path);
        }
        // First: what is outside of the folder may not be found out by the other answers.
        if let Some(folder) = self.options.machines.folder_left_by(&path).await {
            let message =
                format!("{name} must lie below {folder}, your folder on this server, not at {path}");
            return Err(wrong(message));
        }
        match found {
            Ok(metadata) if metadata.kind == FileKind::Directory => Ok(path),
            Ok(_) => Err(wrong(format!("{name} is not a directory: {path}"))),
            Err(SystemError::NotFound(_)) => Err(wrong(format!("{name} does not exist: {path}"))),
            Err(error) => Err(wrong(format!("{name} cannot be used: {error}"))),
        }
    }
}
