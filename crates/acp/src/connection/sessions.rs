//! Operations on existing sessions, shared by all protocol versions: they decode parameters and
//! call the runtime.

use super::{Connection, Peer, ToolSet, Wire, errors, params, set_option::change, settings::Settings};
use crate::{
    ClientTools,
    limits::{KOSMOKRATOR_LIST_PAGE, LIST_PAGE, TITLE_CHARS},
};
use agent::{Archived, Client, ListQuery, SessionError, SessionHandle, SessionId, SessionPage};
use agent_client_protocol::Error;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use system::AbsPath;
use tokio_util::sync::CancellationToken;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SessionParam {
    pub(super) session_id: String,
    #[serde(rename = "_meta", default)]
    pub(super) meta: Value,
}

impl<W: Wire> Connection<W> {
    /// Returns a page of the stored sessions, most recently used first.
    pub(crate) async fn list(&self, given: Value) -> Result<SessionPage, Error> {
        #[derive(Debug, Default, Deserialize)]
        #[serde(default)]
        struct Params {
            cwd: Option<String>,
            cursor: Option<String>,
            archived: Value,
        }
        let given: Params = params("session/list", given)?;
        // A deleted directory still has its sessions, so only the path's form is checked.
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
        let limit = if self.native.is_kosmokrator() { KOSMOKRATOR_LIST_PAGE } else { LIST_PAGE };
        let query = ListQuery { cwd, archived, cursor: given.cursor, limit, ..ListQuery::default() };
        let local = self.options.machines.local.as_ref();
        self.runtime.list_of_folder(local, query).await.map_err(|error| errors::store(&error))
    }

    /// Cancels this client's prompts and leaves the session.
    ///
    /// If it has other subscribers, it stays open and their prompts continue; otherwise the running
    /// turn is cancelled, and the session is released once it has settled.
    pub(crate) async fn close(&self, peer: &Peer<W>, given: Value) -> Result<(), Error> {
        let handle = self.session("session/close", given)?;
        let id = handle.id();
        // Remove first, so that a concurrent request that reopens the session gets its own client.
        let client = self.sessions().remove(id).ok_or_else(|| errors::unknown_session(id))?;
        self.claims.mark_closed(id);
        client.leave_token().cancel();
        let client: Arc<dyn Client> = client;
        if !(handle.notifies(&client) && handle.leave(&client)) {
            handle.cancel();
            handle.close().await;
        }
        peer.outbox.flush(id);
        if !self.sessions().contains_key(id) {
            peer.outbox.forget(id);
        }
        Ok(())
    }

    /// Deletes a session once its running work has settled. A missing session is no error.
    pub(crate) async fn delete(&self, given: Value) -> Result<(), Error> {
        let id = session_id("session/delete", given)?;
        self.runtime.delete(&id).await.map_err(|error| errors::store(&error))?;
        self.forget(&id);
        Ok(())
    }

    /// Archives the session named in the parameters of `method`, once its running work has settled
    /// and it is closed; or unarchives it.
    pub(crate) async fn archive(
        &self,
        method: &str,
        peer: &Peer<W>,
        given: Value,
        archived: bool,
    ) -> Result<(), Error> {
        let id = session_id(method, given)?;
        self.runtime.set_archived(&id, archived).await.map_err(|error| errors::store(&error))?;
        if archived {
            peer.outbox.flush(&id);
            self.forget(&id);
        }
        Ok(())
    }

    /// Sets a session's title, whether or not it is open. Returns the title as stored: one line, at
    /// most [`TITLE_CHARS`].
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
            return Err(errors::invalid_params("title contains no visible text"));
        }
        let id = SessionId(given.session_id);
        self.runtime.set_title(&id, title.clone()).await.map_err(|error| errors::session(&error))?;
        Ok(title)
    }

    /// Returns whether a session is in memory, or only stored. Opens nothing.
    pub(crate) async fn is_open(&self, given: Value) -> Result<bool, Error> {
        let id = session_id("session/status", given)?;
        if self.runtime.find(&id).is_some() {
            return Ok(true);
        }
        self.runtime.record(&id).await.map_err(|error| errors::store(&error))?;
        Ok(false)
    }

    /// Changes an option; returns the session once the change is in force and recorded.
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

    /// Cancels the running turn and the queued prompts of the session named in the parameters. A
    /// notification has no response, so failures are logged.
    pub(crate) fn cancel_turn(&self, given: Value) {
        match self.session("session/cancel", given) {
            Ok(handle) => handle.cancel(),
            Err(error) => tracing::debug!(%error, "nothing to cancel"),
        }
    }

    /// Returns the open session named in the parameters of `method`, or an error that names it.
    fn session(&self, method: &str, given: Value) -> Result<SessionHandle, Error> {
        self.find(session_id(method, given)?.as_str())
    }

    /// Returns an open session, or an error that names it.
    pub(crate) fn find(&self, id: &str) -> Result<SessionHandle, Error> {
        let id = SessionId(id.to_owned());
        self.runtime.find(&id).ok_or_else(|| errors::unknown_session(&id))
    }

    /// Returns the token that is cancelled when this client closes the session or disconnects.
    pub(crate) fn leave_token(&self, handle: &SessionHandle) -> CancellationToken {
        self.client(handle).map_or_else(|| self.gone.clone(), |client| client.leave_token().clone())
    }

    /// Returns this client's subscriber to a session.
    pub(crate) fn client(&self, handle: &SessionHandle) -> Option<Arc<super::AcpClient<W>>> {
        self.sessions().get(handle.id()).cloned()
    }

    /// Returns the settings of an open session, and stores them for updates that report them in
    /// full.
    pub(crate) fn settings(&self, handle: &SessionHandle) -> Settings {
        let mut settings = Settings::from(handle.state());
        if let Some(client) = self.sessions().get(handle.id()) {
            settings.client_tools = client.tool_set().map(ToolSet::get);
            client.set_settings(settings.clone());
        }
        settings
    }

    /// Changes which tools act on which machine. Returns false if the client offers neither files
    /// nor terminals.
    pub(super) async fn set_client_tools(
        &self,
        handle: &SessionHandle,
        tools: ClientTools,
    ) -> Result<bool, SessionError> {
        let client = self.sessions().get(handle.id()).cloned();
        let Some(set) = client.as_ref().and_then(|client| client.tool_set()) else { return Ok(false) };
        set.change(tools);
        // Store the settings, so that the next update reports the new value.
        self.settings(handle);
        // Permissions were granted for the previous machine: setting the permission mode, even to
        // the same value, drops them.
        handle.set_permission_mode(handle.state().permission_mode).await?;
        Ok(true)
    }

    /// Drops the state of a closed session.
    pub(crate) fn forget(&self, id: &SessionId) {
        self.claims.mark_closed(id);
        self.sessions().remove(id);
        if let Ok(peer) = self.peer() {
            peer.outbox.forget(id);
        }
    }

    /// Returns this client's subscriber to a session, as a trait object.
    pub(super) fn subscriber(&self, id: &SessionId) -> Option<Arc<dyn Client>> {
        self.sessions().get(id).map(|client| client.clone() as Arc<dyn Client>)
    }
}

fn session_id(method: &str, given: Value) -> Result<SessionId, Error> {
    Ok(SessionId(params::<SessionParam>(method, given)?.session_id))
}
