//! What every surface starts from: it makes, opens and lists sessions.

pub(crate) mod handle;
pub(crate) mod locks;
mod start;
pub(crate) mod task;

use crate::{
    Checkpoint, ClientServer, Lease, ListQuery, Models, NewSession, PermissionMode, RuntimeOptions,
    SearchHit, SearchQuery, SessionError, SessionEvent, SessionHandle, SessionId, SessionPage, SessionRecord,
    SessionState, SessionStore, StoreError, Surface, ToolProviders,
    checkpoint::Timeline,
    client::display,
    client::pages::EventPages,
    event::prefix::SharedPrefixes,
    history::memory::IdleSessions,
    history::reading::missing_end,
    limits::EVENTS_PAGE,
    model::get_in_time,
    session::controls::Heeded,
    settings::{Fixed, Live, Settings},
    store::timed::TimedStore,
    text::sanitise::sanitise,
};
use locks::SessionLocks;
use start::Begin;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use system::AbsPath;

/// The runtime behind every surface.
pub struct Runtime {
    store: Arc<dyn SessionStore>,
    models: Arc<dyn Models>,
    settings: Arc<dyn Settings>,
    tool_providers: ToolProviders,
    open: Mutex<HashMap<SessionId, SessionHandle>>,
    idle: Arc<IdleSessions>,
    /// Held while a stored session is being opened, changed or removed.
    locks: SessionLocks,
    prefixes: Arc<SharedPrefixes>,
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

impl Runtime {
    /// A runtime over a store and models, with settings that are the same in every folder and never
    /// change. A store that does not answer in time has failed.
    pub fn new(store: Arc<dyn SessionStore>, models: Arc<dyn Models>, options: RuntimeOptions) -> Arc<Self> {
        let tool_providers = options.tool_providers.clone();
        Self::with_settings(store, models, Arc::new(Fixed(Arc::new(options))), tool_providers)
    }

    /// A runtime whose sessions follow the settings of their folders.
    pub fn with_settings(
        store: Arc<dyn SessionStore>,
        models: Arc<dyn Models>,
        settings: Arc<dyn Settings>,
        tool_providers: ToolProviders,
    ) -> Arc<Self> {
        Arc::new(Self {
            store: Arc::new(TimedStore(store)),
            models,
            settings,
            tool_providers,
            open: Mutex::default(),
            idle: Arc::default(),
            locks: SessionLocks::default(),
            prefixes: Arc::default(),
        })
    }

    /// The models to choose from.
    pub fn models(&self) -> &Arc<dyn Models> {
        &self.models
    }

    /// The model of new sessions in the folder that the process was started in.
    pub async fn default_model(&self) -> String {
        self.default_model_in(None).await
    }

    /// The model of new sessions in a folder. Settings that are wrong say nothing of it.
    pub async fn default_model_in(&self, folder: Option<&AbsPath>) -> String {
        match self.settings.of(folder).await.ok().and_then(|options| options.model.clone()) {
            Some(model) => model,
            None => self.models.default_id().await,
        }
    }

    /// What holds for a session that would begin in a folder now. The error says what is wrong with
    /// the settings.
    pub async fn settings_in(&self, folder: &AbsPath) -> Result<Arc<RuntimeOptions>, SessionError> {
        self.settings.of(Some(folder)).await.map_err(SessionError::Settings)
    }

    /// Whether no model is set up or named for new sessions in a folder, as the settings are now:
    /// they would get one that stands in for a language model.
    pub async fn is_unconfigured(&self, folder: &AbsPath) -> bool {
        if self.settings.of(Some(folder)).await.is_ok_and(|options| options.model.is_some()) {
            return false;
        }
        // Reads how the models of the process are reached now; what is wrong there says nothing of
        // them.
        let _ = self.settings.of(None).await;
        self.models.is_unconfigured().await
    }

    /// Has every open session look at its settings, which may have changed.
    pub fn settings_changed(&self) {
        self.sessions().values().for_each(SessionHandle::settings_changed);
    }

    async fn follow(&self, id: &SessionId, folder: &AbsPath) -> Result<Arc<Live>, SessionError> {
        let followed = self.settings.follow(id, folder).await.map_err(SessionError::Settings)?;
        Ok(Arc::new(Live::new(followed).await))
    }

    /// Makes a session. `attach` gives the surface once the id is known.
    pub async fn create(
        self: &Arc<Self>,
        new: CreateSession,
        attach: impl FnOnce(&SessionId) -> Surface + Send,
    ) -> Result<SessionHandle, SessionError> {
        let id = SessionId::fresh();
        let settings = self.follow(&id, &new.cwd).await?;
        let options = settings.seen();
        let models = settings.models().unwrap_or_else(|| self.models.clone());
        let model = match &options.model {
            Some(model) => model.clone(),
            None => models.default_id().await,
        };
        get_in_time(models.as_ref(), &model).await?;
        let state = SessionState {
            mode: options.mode,
            permission_mode: options.permission_mode,
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
        let heeded = Heeded { mode: Some(state.mode), permission_mode: Some(state.permission_mode) };
        let begin = Begin { cwd: new.cwd, state, last: 0, servers: new.servers, settings, heeded };
        Ok(self.start(begin, lease, surface))
    }

    /// Opens a stored session and takes its lease; nothing is replayed (see [`Runtime::replay`]). A session that this runtime has open
    /// already is returned with its running turn and the surfaces it has (`attach` is not called; see [`SessionHandle::join`]), unless another process took it over since.
    pub async fn open(
        self: &Arc<Self>,
        id: &SessionId,
        how: OpenSession,
        attach: impl FnOnce(&SessionId) -> Surface + Send,
    ) -> Result<SessionHandle, SessionError> {
        let _one_at_a_time = self.locks.lock(id).await;
        let record = self.store.get(id).await?;
        if let Some(given) = &how.cwd
            && *given != record.cwd
        {
            let (session, actual, given) = (id.clone(), record.cwd, given.clone());
            return Err(SessionError::OtherFolder { session, actual, given });
        }
        if let Some(handle) = self.find(id) {
            if !handle.is_lost() {
                match adopt(&handle, &how).await {
                    // It is being closed, and can be opened anew once it is.
                    Err(SessionError::Closed) => {}
                    adopted => return adopted.map(|()| handle),
                }
            }
            handle.close().await;
        }
        let settings = self.follow(id, &record.cwd).await?;
        let lease = self.store.acquire(id, how.take_over).await?;
        let servers = how.servers.unwrap_or_default();
        self.reopen(record, how.additional_directories, servers, (lease, settings), attach).await
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
        let settings = self.follow(&id, &new.cwd).await?;
        let record = NewSession {
            id: id.clone(),
            cwd: new.cwd,
            additional_directories: new.additional_directories,
            model: origin.model,
            mode: origin.mode,
            permission_mode: origin.permission_mode,
        };
        let lease = self.store.fork(from, record).await?;
        match self.store.get(&id).await {
            Ok(record) => self.reopen(record, None, new.servers, (lease, settings), attach).await,
            Err(error) => {
                self.give_back(&lease).await;
                Err(error.into())
            }
        }
    }

    /// Gives a lease back after something else has failed, which is what is told.
    async fn give_back(&self, lease: &Lease) {
        if let Err(error) = self.store.release(lease).await {
            tracing::warn!(session = %lease.session, %error, "the lease of a session could not be given back");
        }
    }

    /// Starts a session whose lease was taken. Its log is read no further than that is needed, and the rest before its first turn: a long
    /// session opens as fast as a short one, and one that is only looked at is not held in memory.
    async fn reopen(
        self: &Arc<Self>,
        record: SessionRecord,
        folders: Option<Vec<AbsPath>>,
        servers: Vec<ClientServer>,
        (lease, settings): (Lease, Arc<Live>),
        attach: impl FnOnce(&SessionId) -> Surface + Send,
    ) -> Result<SessionHandle, SessionError> {
        let (last, additional_directories) = match self.ready(&record, folders, &lease).await {
            Ok(ready) => ready,
            Err(error) => {
                self.give_back(&lease).await;
                return Err(error.into());
            }
        };
        let state = SessionState {
            mode: record.mode,
            permission_mode: tighter(record.permission_mode, settings.seen().permission_mode),
            model: record.model,
            effort: record.effort,
            title: record.title,
            additional_directories,
            sandbox: String::new(),
            busy: false,
        };
        let surface = attach(&record.id);
        // Somebody may have chosen the modes that it comes back with.
        let heeded = Heeded::default();
        let begin = Begin { cwd: record.cwd, state, last, servers, settings, heeded };
        Ok(self.start(begin, lease, surface))
    }

    /// Ends what the log of a session left open, and stores its further folders: how far the log
    /// goes, and the folders.
    async fn ready(
        &self,
        record: &SessionRecord,
        folders: Option<Vec<AbsPath>>,
        lease: &Lease,
    ) -> Result<(u64, Vec<AbsPath>), StoreError> {
        let missing = missing_end(self.store.as_ref(), record).await?;
        // An append of nothing, too, says how far the log goes.
        let last = self.store.append(lease, missing).await?;
        match folders {
            Some(folders) if folders != record.additional_directories => {
                self.store.set_directories(lease, folders.clone()).await?;
                Ok((last, folders))
            }
            _ => Ok((last, record.additional_directories.clone())),
        }
    }

    /// Removes a session for good, after it has settled if it is open here. One that does not exist is fine.
    pub async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let _one_at_a_time = self.locks.lock(id).await;
        if let Some(handle) = self.find(id) {
            handle.close().await;
        }
        self.store.delete(id).await
    }

    /// Gives a session a title, open or not; none is ever made up after it. What could repaint a
    /// screen or mislead is left out.
    pub async fn set_title(&self, id: &SessionId, title: String) -> Result<(), SessionError> {
        let title = sanitise(&title);
        let _one_at_a_time = self.locks.lock(id).await;
        if let Some(handle) = self.find(id) {
            return handle.set_title(title).await;
        }
        let lease = self.store.acquire(id, false).await?;
        if let Err(error) = self.store.append(&lease, vec![SessionEvent::TitleChanged(title)]).await {
            self.give_back(&lease).await;
            return Err(error.into());
        }
        Ok(self.store.release(&lease).await?)
    }

    /// Puts a session away, after it has settled and closed if it is open here, or takes it out again without opening it. Twice is fine.
    pub async fn set_archived(&self, id: &SessionId, archived: bool) -> Result<(), StoreError> {
        let _one_at_a_time = self.locks.lock(id).await;
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

    /// A session's stored events up to number `until`, cleaned for display, a page at a time.
    pub fn shown_events(&self, id: &SessionId, until: u64) -> EventPages {
        EventPages::new(self.store.clone(), id.clone(), until)
    }

    /// Every stored event of a session, in order, cleaned for display.
    pub async fn replay(
        &self,
        id: &SessionId,
        each: &mut (dyn FnMut(&SessionEvent) + Send),
    ) -> Result<(), StoreError> {
        let mut pages = self.shown_events(id, u64::MAX);
        loop {
            let page = pages.next().await?;
            if page.is_empty() {
                return Ok(());
            }
            page.iter().for_each(&mut *each);
        }
    }

    /// The same, each with the time at which it was stored, in milliseconds since the epoch: 0 where
    /// the store does not keep it.
    pub async fn replay_timed(
        &self,
        id: &SessionId,
        each: &mut (dyn FnMut(i64, &SessionEvent) + Send),
    ) -> Result<(), StoreError> {
        let times: HashMap<u64, i64> = self.store.event_times(id).await?.into_iter().collect();
        let mut pages = self.shown_events(id, u64::MAX);
        loop {
            let page = pages.next_numbered().await?;
            if page.is_empty() {
                return Ok(());
            }
            page.iter()
                .for_each(|(number, event)| each(times.get(number).copied().unwrap_or_default(), event));
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
            display::record(&mut hit.session);
            hit.excerpt = sanitise(&hit.excerpt);
        }
        Ok(hits)
    }

    /// Stores a session that was made elsewhere; it is not opened. All or nothing. What its tools did to files stays behind: the contents are not
    /// here, and nobody but this machine's own sessions may say what is restored on it. What requests began with, and what the model was told of where it
    /// worked, is left out as well: neither holds here, and nobody else may say it.
    pub async fn import(&self, session: NewSession, events: Vec<SessionEvent>) -> Result<(), StoreError> {
        let lease = self.store.create(session).await?;
        let kept: Vec<_> = events.into_iter().filter(|event| !belongs_to_its_machine(event)).collect();
        for page in kept.chunks(EVENTS_PAGE) {
            if let Err(error) = self.store.append(&lease, page.to_vec()).await {
                self.store.delete(&lease.session).await?;
                return Err(error);
            }
        }
        self.store.release(&lease).await
    }

    /// Lists stored sessions; needs no model and no open session. Those that were neither prompted
    /// nor named are left out, unless they are open here.
    pub async fn list(&self, mut query: ListQuery) -> Result<SessionPage, StoreError> {
        query.begun_or = Some(self.sessions().keys().cloned().collect());
        let mut page = self.store.list(query).await?;
        page.sessions.iter_mut().for_each(display::record);
        Ok(page)
    }

    /// Closes every open session: cancels turns, waits for them to settle, gives the leases back.
    pub async fn shutdown(&self) {
        let open: Vec<_> = self.sessions().drain().map(|(_, handle)| handle).collect();
        futures::future::join_all(open.iter().map(SessionHandle::close)).await;
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, SessionHandle>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives an open session the folders and servers that a further client brings.
async fn adopt(handle: &SessionHandle, how: &OpenSession) -> Result<(), SessionError> {
    if handle.is_closed() {
        return Err(SessionError::Closed);
    }
    if let Some(folders) = &how.additional_directories {
        handle.set_directories(folders.clone()).await?;
    }
    if let Some(servers) = &how.servers {
        handle.set_servers(servers);
    }
    Ok(())
}

/// Whether an event means something on the machine alone that it happened on.
fn belongs_to_its_machine(event: &SessionEvent) -> bool {
    matches!(
        event,
        SessionEvent::FileChanged(_)
            | SessionEvent::Rewound(_)
            | SessionEvent::Prefix(_)
            | SessionEvent::Briefing(_)
    )
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
