//! What every surface starts from: it makes, opens and lists sessions.

use crate::{
    Client, FileTracker, Lease, Limits, ListQuery, Mode, Models, NewSession, PermissionMode, SessionError,
    SessionEvent, SessionHandle, SessionId, SessionPage, SessionState, SessionStore, StoreError, TaskList,
    gate::Gate,
    history::Restored,
    limits::{EVENTS_PAGE, INSTRUCTIONS_BYTES},
    log::SessionLog,
    policy::{Grants, PermissionRules, SandboxOptions},
    session_task::{Controls, Session, SessionTask, read_log},
    shown::Cleaner,
    tools,
};
use std::{
    collections::{HashMap, HashSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use system::{AbsPath, System};
use tokio::sync::{mpsc, watch};

/// The runtime behind every surface.
pub struct Runtime {
    store: Arc<dyn SessionStore>,
    models: Arc<dyn Models>,
    options: RuntimeOptions,
    open: Mutex<HashMap<SessionId, SessionHandle>>,
    /// Held while a stored session is being opened, so that two requests for it do not fence each other.
    opening: tokio::sync::Mutex<()>,
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
    /// Rules from the settings, of all layers.
    pub rules: PermissionRules,
    /// How commands are confined.
    pub sandbox: SandboxOptions,
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
        Arc::new(Self {
            store,
            models,
            options,
            open: Mutex::default(),
            opening: tokio::sync::Mutex::default(),
        })
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
        new: CreateSession,
        attach: impl FnOnce(&SessionId) -> Surface + Send,
    ) -> Result<SessionHandle, SessionError> {
        let model = match &self.options.model {
            Some(model) => model.clone(),
            None => self.models.default_id().await,
        };
        self.models.get(&model).await?;
        let id = SessionId::fresh();
        let state = SessionState {
            mode: self.options.mode,
            permission_mode: self.options.permission_mode,
            model,
            title: None,
            busy: false,
        };
        let record = NewSession {
            id: id.clone(),
            cwd: new.cwd.clone(),
            additional_directories: new.additional_directories.clone(),
            model: state.model.clone(),
            mode: state.mode,
            permission_mode: state.permission_mode,
        };
        let lease = self.store.create(record).await?;
        let surface = attach(&id);
        Ok(self.start(new, state, lease, surface, Restored::default()).await)
    }

    /// Opens a stored session and takes its lease; nothing is replayed (see [`Runtime::replay`]). A session that this runtime has open
    /// already is returned as it is, with its running turn and the surface it had (`attach` is not called). `cwd` must be the session's
    /// own when given.
    pub async fn open(
        self: &Arc<Self>,
        id: &SessionId,
        cwd: Option<&AbsPath>,
        attach: impl FnOnce(&SessionId) -> Surface + Send,
    ) -> Result<SessionHandle, SessionError> {
        let _one_at_a_time = self.opening.lock().await;
        let record = self.store.get(id).await?;
        if let Some(given) = cwd
            && *given != record.cwd
        {
            let (session, actual, given) = (id.clone(), record.cwd, given.clone());
            return Err(SessionError::OtherFolder { session, actual, given });
        }
        if let Some(handle) = self.find(id) {
            return Ok(handle);
        }
        let lease = self.store.acquire(id, false).await?;
        let restored = read_log(self.store.as_ref(), id).await?;
        if !restored.repairs.is_empty() {
            self.store.append(&lease, restored.repairs.clone()).await?;
        }
        let state = SessionState {
            mode: record.mode,
            permission_mode: tighter(record.permission_mode, self.options.permission_mode),
            model: record.model,
            title: restored.title.clone(),
            busy: false,
        };
        let new = CreateSession { cwd: record.cwd, additional_directories: record.additional_directories };
        Ok(self.start(new, state, lease, attach(id), restored).await)
    }

    /// An open session by id.
    pub fn find(&self, id: &SessionId) -> Option<SessionHandle> {
        self.sessions().get(id).cloned()
    }

    /// Every stored event of a session, in order, a page at a time.
    pub async fn replay(
        &self,
        id: &SessionId,
        each: &mut (dyn FnMut(&SessionEvent) + Send),
    ) -> Result<(), StoreError> {
        let mut after = 0;
        let cleaner = Cleaner::default();
        loop {
            let page = self.store.events(id, after, EVENTS_PAGE).await?;
            let Some((last, _)) = page.last() else { return Ok(()) };
            after = *last;
            page.iter().for_each(|(_, event)| each(&cleaner.event(event)));
        }
    }

    /// Lists stored sessions; needs no model and no open session.
    pub async fn list(&self, query: ListQuery) -> Result<SessionPage, StoreError> {
        self.store.list(query).await
    }

    /// Closes every open session: cancels turns, waits for them to settle, gives the leases back.
    pub async fn shutdown(&self) {
        let open: Vec<_> = self.sessions().drain().map(|(_, handle)| handle).collect();
        futures::future::join_all(open.iter().map(SessionHandle::close)).await;
    }

    async fn start(
        self: &Arc<Self>,
        new: CreateSession,
        state: SessionState,
        lease: Lease,
        surface: Surface,
        restored: Restored,
    ) -> SessionHandle {
        let id = lease.session.clone();
        let log = SessionLog::new(self.store.clone(), lease, surface.client);
        let grants = Arc::new(Grants::default());
        let instructions = instructions(surface.system.as_ref(), &new.cwd).await;
        let roots = std::iter::once(new.cwd.clone()).chain(new.additional_directories.clone()).collect();
        let mut session = Session {
            id: id.clone(),
            cwd: new.cwd.clone(),
            additional_directories: new.additional_directories,
            gate: Gate {
                system: surface.system,
                log: log.clone(),
                grants: grants.clone(),
                roots,
                allowed_paths: self.options.allowed_paths.clone(),
                blocked_paths: self.options.blocked_paths.clone(),
                denied_tools: self.options.denied_tools.clone(),
                rules: self.options.rules.clone(),
                sandbox: self.options.sandbox.clone(),
                limits: self.options.limits.clone(),
            },
            log: log.clone(),
            store: self.store.clone(),
            history: crate::History::default(),
            tools: tools::builtin(),
            files: Arc::new(FileTracker::default()),
            tasks: Arc::new(TaskList::default()),
            models: self.models.clone(),
            current_model: None,
            disclosed: HashSet::new(),
            instructions,
            append_system_prompt: self.options.append_system_prompt.clone(),
            usage: crate::Usage::default(),
            turns: 0,
            calls: 0,
            messages: 0,
        };
        session.restore(restored);
        let (inbox, messages) = mpsc::unbounded_channel();
        let (state, seen) = watch::channel(state);
        let controls = Controls { state, log, grants, queue: self.options.limits.queued_prompts };
        let task =
            SessionTask { session, controls, inbox: messages, waiting: VecDeque::new(), closing: Vec::new() };
        let handle = SessionHandle::new(id.clone(), new.cwd, inbox, seen, self.models.clone());
        self.sessions().insert(id.clone(), handle.clone());
        let runtime = self.clone();
        tokio::spawn(async move {
            task.run().await;
            runtime.sessions().remove(&id);
        });
        handle
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, SessionHandle>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The stricter of two permission modes: a stored session never comes back looser than the policy of today.
fn tighter(stored: PermissionMode, now: PermissionMode) -> PermissionMode {
    let strictness = |mode| match mode {
        PermissionMode::Argus => 0,
        PermissionMode::Guardian => 1,
        PermissionMode::Prometheus => 2,
    };
    std::cmp::min_by_key(stored, now, |mode| strictness(*mode))
}

/// The project's `AGENTS.md`, from disk: it is read before anybody asked for anything, so no editor is bothered with it.
async fn instructions(system: &dyn System, cwd: &AbsPath) -> Option<String> {
    let bytes = system.read(&cwd.join("AGENTS.md")).await.ok()?;
    let end = bytes.len().min(INSTRUCTIONS_BYTES);
    Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
}
