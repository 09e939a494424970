//! What every surface starts from: it makes, opens and lists sessions.

use crate::{
    Checkpoint, Client, ClientServer, FileTracker, Hooks, Lease, Limits, ListQuery, Mode, Models, NewSession,
    PermissionMode, SearchHit, SearchQuery, SessionError, SessionEvent, SessionHandle, SessionId,
    SessionPage, SessionRecord, SessionScope, SessionState, SessionStore, StoreError, TaskList,
    ToolProviders,
    checkpoint::Timeline,
    context::ContextState,
    gate::Gate,
    limits::EVENTS_PAGE,
    log::SessionLog,
    policy::{Grants, PermissionRules, SandboxOptions},
    sampling::Spent,
    sanitise,
    session_task::{Controls, Session, SessionTask, missing_end},
    shown::{self, Cleaner},
    steering::Steering,
    timed_store::TimedStore,
    tool_specs::Told,
    tools,
    watchers::Watchers,
};
use futures::FutureExt as _;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    panic::AssertUnwindSafe,
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
    /// The user's commands around calls, prompts and turns.
    pub hooks: Hooks,
    /// What gives sessions further tools.
    pub tool_providers: ToolProviders,
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
    /// Servers that the client gives it; they are not stored.
    pub servers: Vec<ClientServer>,
}

/// How a stored session is opened.
#[derive(Debug, Clone, Default)]
pub struct OpenSession {
    /// Must be the session's own folder when given.
    pub cwd: Option<AbsPath>,
    /// Further folders it may work in, in place of those it had; those stay when `None`.
    pub additional_directories: Option<Vec<AbsPath>>,
    /// Servers that the client gives it, in place of those that it gave before; those stay when `None`.
    pub servers: Option<Vec<ClientServer>>,
    /// Whether to take it from another process that holds it. That process is fenced before its next side effect.
    pub take_over: bool,
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
    /// A runtime over a store and models. A store that does not answer in time has failed.
    pub fn new(store: Arc<dyn SessionStore>, models: Arc<dyn Models>, options: RuntimeOptions) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::new(TimedStore(store)),
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

    /// The model of new sessions.
    pub async fn default_model(&self) -> String {
        match &self.options.model {
            Some(model) => model.clone(),
            None => self.models.default_id().await,
        }
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
        let model = self.default_model().await;
        self.models.get(&model).await?;
        let id = SessionId::fresh();
        let state = SessionState {
            mode: self.options.mode,
            permission_mode: self.options.permission_mode,
            model,
            effort: None,
            title: None,
            additional_directories: new.additional_directories.clone(),
            sandbox: String::new(),
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
        Ok(self.start(new.cwd, state, lease, surface, 0, new.servers))
    }

    /// Opens a stored session and takes its lease; nothing is replayed (see [`Runtime::replay`]). A session that this runtime has open
    /// already is returned with its running turn and the surfaces it has (`attach` is not called; see [`SessionHandle::join`]), unless another process took it over since.
    pub async fn open(
        self: &Arc<Self>,
        id: &SessionId,
        how: OpenSession,
        attach: impl FnOnce(&SessionId) -> Surface + Send,
    ) -> Result<SessionHandle, SessionError> {
        let _one_at_a_time = self.opening.lock().await;
        let record = self.store.get(id).await?;
        if let Some(given) = how.cwd
            && given != record.cwd
        {
            let (session, actual) = (id.clone(), record.cwd);
            return Err(SessionError::OtherFolder { session, actual, given });
        }
        if let Some(handle) = self.find(id) {
            if !handle.is_lost() && !handle.is_closed() {
                if let Some(folders) = how.additional_directories {
                    handle.set_directories(folders).await?;
                }
                if let Some(servers) = how.servers {
                    handle.set_servers(&servers);
                }
                return Ok(handle);
            }
            handle.close().await;
        }
        let lease = self.store.acquire(id, how.take_over).await?;
        self.reopen(record, how.additional_directories, how.servers.unwrap_or_default(), lease, attach).await
    }

    /// Makes a session that begins with everything another has now, a running turn as far as it came included. `attach` gives the surface
    /// once the id is known.
    pub async fn fork(
        self: &Arc<Self>,
        from: &SessionId,
        new: CreateSession,
        attach: impl FnOnce(&SessionId) -> Surface + Send,
    ) -> Result<SessionHandle, SessionError> {
        let origin = self.store.get(from).await?;
        let id = SessionId::fresh();
        let record = NewSession {
            id: id.clone(),
            cwd: new.cwd,
            additional_directories: new.additional_directories,
            model: origin.model,
            mode: origin.mode,
            permission_mode: origin.permission_mode,
        };
        let lease = self.store.fork(from, record).await?;
        let record = self.store.get(&id).await?;
        self.reopen(record, None, new.servers, lease, attach).await
    }

    /// Starts a session whose lease was taken. Its log is read no further than that is needed, and the rest before its first turn: a long
    /// session opens as fast as a short one, and one that is only looked at is not held in memory.
    async fn reopen(
        self: &Arc<Self>,
        record: SessionRecord,
        folders: Option<Vec<AbsPath>>,
        servers: Vec<ClientServer>,
        lease: Lease,
        attach: impl FnOnce(&SessionId) -> Surface + Send,
    ) -> Result<SessionHandle, SessionError> {
        let missing = missing_end(self.store.as_ref(), &record).await?;
        // An append of nothing, too, says how far the log goes.
        let last = self.store.append(&lease, missing).await?;
        let additional_directories = match folders {
            Some(folders) if folders != record.additional_directories => {
                self.store.set_directories(&lease, folders.clone()).await?;
                folders
            }
            _ => record.additional_directories,
        };
        let state = SessionState {
            mode: record.mode,
            permission_mode: tighter(record.permission_mode, self.options.permission_mode),
            model: record.model,
            effort: record.effort,
            title: record.title,
            additional_directories,
            sandbox: String::new(),
            busy: false,
        };
        let surface = attach(&record.id);
        Ok(self.start(record.cwd, state, lease, surface, last, servers))
    }

    /// Removes a session for good, after it has settled if it is open here. One that does not exist is fine.
    pub async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let _one_at_a_time = self.opening.lock().await;
        if let Some(handle) = self.find(id) {
            handle.close().await;
        }
        self.store.delete(id).await
    }

    /// Gives a session a title, open or not; none is ever made up after it.
    pub async fn set_title(&self, id: &SessionId, title: String) -> Result<(), SessionError> {
        let _one_at_a_time = self.opening.lock().await;
        if let Some(handle) = self.find(id) {
            return handle.set_title(title).await;
        }
        let lease = self.store.acquire(id, false).await?;
        self.store.append(&lease, vec![SessionEvent::TitleChanged(title)]).await?;
        Ok(self.store.release(&lease).await?)
    }

    /// Puts a session away, after it has settled and closed if it is open here, or takes it out again without opening it. Twice is fine.
    pub async fn set_archived(&self, id: &SessionId, archived: bool) -> Result<(), StoreError> {
        let _one_at_a_time = self.opening.lock().await;
        if let Some(handle) = self.find(id).filter(|_| archived) {
            handle.close().await;
        }
        self.store.set_archived(id, archived).await
    }

    /// What is stored of a session, without its events.
    pub async fn record(&self, id: &SessionId) -> Result<SessionRecord, StoreError> {
        self.store.get(id).await
    }

    /// An open session by id.
    pub fn find(&self, id: &SessionId) -> Option<SessionHandle> {
        self.sessions().get(id).cloned()
    }

    /// A page of a session's stored events after number `after`, in order, each with its number; none when there are no more.
    pub async fn events(&self, id: &SessionId, after: u64) -> Result<Vec<(u64, SessionEvent)>, StoreError> {
        self.store.events(id, after, EVENTS_PAGE).await
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

    /// The turns of a session in which tools changed files, in order; reads its whole log.
    pub async fn checkpoints(&self, id: &SessionId) -> Result<Vec<Checkpoint>, StoreError> {
        Ok(Timeline::read(self.store.as_ref(), id).await?.checkpoints())
    }

    /// Messages and titles in which words occur, the best first.
    pub async fn search(&self, query: SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        let mut hits = self.store.search(query).await?;
        for hit in &mut hits {
            shown::record(&mut hit.session);
            hit.excerpt = sanitise(&hit.excerpt);
        }
        Ok(hits)
    }

    /// Stores a session that was made elsewhere; it is not opened. All or nothing. What its tools did to files stays behind: the contents are not
    /// here, and nobody but this machine's own sessions may say what is restored on it.
    pub async fn import(&self, session: NewSession, events: Vec<SessionEvent>) -> Result<(), StoreError> {
        let lease = self.store.create(session).await?;
        let kept: Vec<_> = events
            .into_iter()
            .filter(|event| !matches!(event, SessionEvent::FileChanged(_) | SessionEvent::Rewound(_)))
            .collect();
        for page in kept.chunks(EVENTS_PAGE) {
            if let Err(error) = self.store.append(&lease, page.to_vec()).await {
                self.store.delete(&lease.session).await?;
                return Err(error);
            }
        }
        self.store.release(&lease).await
    }

    /// Lists stored sessions; needs no model and no open session.
    pub async fn list(&self, query: ListQuery) -> Result<SessionPage, StoreError> {
        let mut page = self.store.list(query).await?;
        page.sessions.iter_mut().for_each(shown::record);
        Ok(page)
    }

    /// Closes every open session: cancels turns, waits for them to settle, gives the leases back.
    pub async fn shutdown(&self) {
        let open: Vec<_> = self.sessions().drain().map(|(_, handle)| handle).collect();
        futures::future::join_all(open.iter().map(SessionHandle::close)).await;
    }

    /// Starts the task of a session in a folder whose client needs no news of events up to number `last`.
    fn start(
        self: &Arc<Self>,
        cwd: AbsPath,
        mut state: SessionState,
        lease: Lease,
        surface: Surface,
        last: u64,
        servers: Vec<ClientServer>,
    ) -> SessionHandle {
        let id = lease.session.clone();
        state.sandbox = crate::policy::expected(&self.options.sandbox, surface.system.routes().spawn);
        let mut tools = tools::offered(surface.client.takes_questions());
        tools.extend(surface.client.tools());
        let scope = SessionScope { id: id.clone(), cwd: cwd.clone(), servers };
        let sources = self.options.tool_providers.open(&scope);
        let watchers = Arc::new(Watchers::new(surface.clone()));
        let log = SessionLog::new(self.store.clone(), lease, watchers.clone(), last);
        let told = log.told().clone();
        let grants = Arc::new(Grants::default());
        let additional_directories = state.additional_directories.clone();
        let roots = std::iter::once(cwd.clone()).chain(additional_directories.clone()).collect();
        let session = Session {
            id: id.clone(),
            cwd: cwd.clone(),
            additional_directories,
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
                temp: self.options.sandbox.temp_of(&id),
                limits: self.options.limits.clone(),
            },
            hooks: self.options.hooks.clone(),
            log: log.clone(),
            watchers: watchers.clone(),
            store: self.store.clone(),
            history: crate::History::default(),
            own_tools: tools.clone(),
            told: Told::default(),
            tools,
            sources: sources.clone(),
            files: Arc::new(FileTracker::default()),
            tasks: Arc::new(TaskList::default()),
            models: self.models.clone(),
            current_model: None,
            disclosed: HashSet::new(),
            instructions: None,
            append_system_prompt: self.options.append_system_prompt.clone(),
            usage: crate::Usage::default(),
            context: ContextState::default(),
            sampled: Spent::default(),
            turns: 0,
            calls: 0,
            messages: 0,
            storing: None,
            unsure: last > 0,
        };
        let (inbox, messages) = mpsc::unbounded_channel();
        let (state, seen) = watch::channel(state);
        let queue = self.options.limits.queued_prompts;
        let controls = Controls { state, log, grants, steering: Steering::default(), queue };
        let task =
            SessionTask { session, controls, inbox: messages, waiting: VecDeque::new(), closing: Vec::new() };
        let handle = SessionHandle {
            id: id.clone(),
            cwd,
            inbox,
            state: seen,
            models: self.models.clone(),
            told,
            sources: sources.clone(),
            watchers,
            prompts: Arc::default(),
        };
        self.sessions().insert(id.clone(), handle.clone());
        let runtime = self.clone();
        let started = handle.clone();
        // It is large, with all that a turn may hold, and on its way into a task it would be moved a dozen times.
        let running = Box::pin(task.run());
        tokio::spawn(async move {
            let ended = AssertUnwindSafe(running).catch_unwind().await;
            sources.close().await;
            {
                let mut open = runtime.sessions();
                // It may have been opened anew since.
                if open.get(&id).is_some_and(|open| open.is(&started)) {
                    open.remove(&id);
                }
            }
            match ended {
                // Whoever closed it may have stopped waiting.
                Ok(closing) => closing.into_iter().for_each(|closed| {
                    let _ = closed.send(());
                }),
                Err(panic) => {
                    let text = crate::calls::panic_text(panic.as_ref());
                    tracing::error!(session = %id, text, "a session's task panicked; the session can be opened again");
                }
            }
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
