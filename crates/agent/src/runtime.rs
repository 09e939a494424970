//! What every surface starts from: it makes, opens and lists sessions.

use crate::{
    Client, Limits, ListQuery, Mode, Models, PermissionMode, SessionError, SessionEvent, SessionHandle,
    SessionId, SessionPage, SessionStore, StoreError,
};
use std::sync::Arc;
use system::{AbsPath, System};

/// The runtime behind every surface.
pub struct Runtime {
    store: Arc<dyn SessionStore>,
    models: Arc<dyn Models>,
    options: RuntimeOptions,
}

/// How sessions behave unless they say otherwise; resolved once, at the edge.
#[derive(Debug, Clone, Default)]
pub struct RuntimeOptions {
    /// The agent mode of new sessions.
    pub mode: Mode,
    /// The permission mode of new sessions, and the loosest that a loaded session may come back with.
    pub permission_mode: PermissionMode,
    /// The model of new sessions; the default of [`Models`] when `None`.
    pub model: Option<String>,
    /// Text added to the system prompt.
    pub append_system_prompt: Option<String>,
    /// Paths outside the project that are not asked about (temporary and configuration folders).
    pub allowed_paths: Vec<AbsPath>,
    /// Path patterns that are denied in every mode, beside the built-in ones.
    pub blocked_paths: Vec<String>,
    /// Tools that are denied in every mode.
    pub denied_tools: Vec<String>,
    /// The limits.
    pub limits: Limits,
}

/// A session to be made.
#[derive(Debug, Clone)]
pub struct CreateSession {
    /// Its folder.
    pub cwd: AbsPath,
    /// Further folders it may work in.
    pub additional_directories: Vec<AbsPath>,
}

/// Whoever drives a session, and where its effects happen.
#[derive(Clone)]
pub struct Surface {
    /// Who is told and asked.
    pub client: Arc<dyn Client>,
    /// Where tools act.
    pub system: Arc<dyn System>,
}

impl Runtime {
    /// A runtime over a store and models.
    pub fn new(store: Arc<dyn SessionStore>, models: Arc<dyn Models>, options: RuntimeOptions) -> Arc<Self> {
        Arc::new(Self { store, models, options })
    }

    /// The models to choose from.
    pub fn models(&self) -> &Arc<dyn Models> {
        &self.models
    }

    /// The options it was made with.
    pub fn options(&self) -> &RuntimeOptions {
        &self.options
    }

    /// Makes a session. `attach` gives the surface once the id is known.
    pub async fn create(
        self: &Arc<Self>,
        _new: CreateSession,
        _attach: impl FnOnce(&SessionId) -> Surface + Send,
    ) -> Result<SessionHandle, SessionError> {
        unimplemented!()
    }

    /// Opens a stored session and takes its lease; nothing is replayed (see [`Runtime::replay`]). A session that this runtime has open already is
    /// returned as it is, with its running turn and the surface it had (`attach` is not called). `cwd` must be the session's own when given.
    pub async fn open(
        self: &Arc<Self>,
        _id: &SessionId,
        _cwd: Option<&AbsPath>,
        _attach: impl FnOnce(&SessionId) -> Surface + Send,
    ) -> Result<SessionHandle, SessionError> {
        unimplemented!()
    }

    /// An open session by id.
    pub fn find(&self, _id: &SessionId) -> Option<SessionHandle> {
        unimplemented!()
    }

    /// Every stored event of a session, in order, a page at a time.
    pub async fn replay(
        &self,
        _id: &SessionId,
        _each: &mut (dyn FnMut(&SessionEvent) + Send),
    ) -> Result<(), StoreError> {
        unimplemented!()
    }

    /// Lists stored sessions; needs no model and no open session.
    pub async fn list(&self, query: ListQuery) -> Result<SessionPage, StoreError> {
        self.store.list(query).await
    }

    /// Closes every open session: cancels turns, waits for them to settle, gives the leases back.
    pub async fn shutdown(&self) {
        unimplemented!()
    }
}
