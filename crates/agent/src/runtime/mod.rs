//! The runtime shared by all surfaces: creates, opens and lists sessions.

mod children;
pub(crate) mod handle;
pub(crate) mod locks;
mod moving;
mod once;
mod orphans;
mod start;
pub(crate) mod task;

use crate::{
    AnswerPart, Checkpoint, ClientServer, ContentHash, Glance, Lease, LeaseHolder, ListQuery, Memories,
    Models, NewSession, NotAdmitted, Operator, PermissionMode, Place, RuntimeOptions, SearchHit, SearchQuery,
    SessionError, SessionEvent, SessionHandle, SessionId, SessionPage, SessionRecord, SessionState,
    SessionStore, StoreError, Surface, TakenOver, ToolProviders,
    checkpoint::Timeline,
    client::display,
    client::pages::{EventForm, EventPages},
    event::prefix::SharedPrefixes,
    files::editor::EditorFiles,
    history::death,
    history::glance::glance,
    history::memory::IdleSessions,
    history::reading::{LastTurn, LogEnd, before_turn, log_end},
    limits::{EVENTS_PAGE, ROOT_WAIT},
    log::leased::LeasedLog,
    model::get_in_time,
    session::controls::SettingsModes,
    settings::{FixedSettings, LiveSettings, Settings},
    shells::KeptShells,
    store::timed::TimedStore,
    swarm::Slots,
    text::sanitise::sanitise,
};
use locks::SessionLocks;
use start::Begin;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use system::{AbsPath, System};
use tokio::time::timeout;

/// The runtime behind every surface.
pub struct Runtime {
    store: Arc<dyn SessionStore>,
    models: Arc<dyn Models>,
    settings: Arc<dyn Settings>,
    tool_providers: ToolProviders,
    open: Mutex<HashMap<SessionId, SessionHandle>>,
    idle: Arc<IdleSessions>,
    /// Background commands that outlive their sessions.
    kept_shells: Arc<KeptShells>,
    /// Held while a stored session is opened, changed or removed.
    locks: SessionLocks,
    prefixes: Arc<SharedPrefixes>,
    /// What is known of editors' texts, from all sessions.
    editor_files: Arc<EditorFiles>,
    /// The slots of running subagents.
    slots: Arc<Slots>,
    /// Decides what sessions may begin; `None` lets everything begin.
    operator: Option<Arc<dyn Operator>>,
}

/// A session to be created.
#[derive(Debug, Clone)]
pub struct CreateSession {
    /// The session's directory.
    pub cwd: AbsPath,
    /// Additional directories that it may work in.
    pub additional_directories: Vec<AbsPath>,
    /// MCP servers provided by the client; they are not stored.
    pub servers: Vec<ClientServer>,
}

/// How a stored session is opened.
#[derive(Debug, Clone, Default)]
pub struct OpenSession {
    /// If given, must be the session's own directory, unless `rebind` is set.
    pub cwd: Option<AbsPath>,
    /// Whether the session moves to the given directory, if that is another one.
    pub rebind: bool,
    /// Additional directories that it may work in, replacing the stored ones; `None` keeps those.
    pub additional_directories: Option<Vec<AbsPath>>,
    /// MCP servers provided by the client, replacing those it provided before; `None` keeps those.
    pub servers: Option<Vec<ClientServer>>,
    /// Whether to take the session over from another process that holds it. That process is fenced
    /// before its next side effect.
    pub take_over: bool,
}

impl Runtime {
    /// Creates a runtime with settings that are the same in every directory and never change. A
    /// store that does not answer within its timeout has failed.
    pub fn new(store: Arc<dyn SessionStore>, models: Arc<dyn Models>, options: RuntimeOptions) -> Arc<Self> {
        let tool_providers = options.tool_providers.clone();
        Self::with_settings(store, models, Arc::new(FixedSettings(Arc::new(options))), tool_providers)
    }

    /// Creates a runtime whose sessions follow the settings of their directories.
    pub fn with_settings(
        store: Arc<dyn SessionStore>,
        models: Arc<dyn Models>,
        settings: Arc<dyn Settings>,
        tool_providers: ToolProviders,
    ) -> Arc<Self> {
        Self::operated(store, models, settings, tool_providers, None)
    }

    /// Creates a runtime like [`Runtime::with_settings`], of which an operator decides what may
    /// begin in it.
    pub fn operated(
        store: Arc<dyn SessionStore>,
        models: Arc<dyn Models>,
        settings: Arc<dyn Settings>,
        tool_providers: ToolProviders,
        operator: Option<Arc<dyn Operator>>,
    ) -> Arc<Self> {
        Arc::new(Self {
            operator,
            store: Arc::new(TimedStore(store)),
            models,
            settings,
            tool_providers,
            open: Mutex::default(),
            idle: Arc::default(),
            kept_shells: Arc::default(),
            locks: SessionLocks::default(),
            prefixes: Arc::default(),
            editor_files: Arc::default(),
            slots: Arc::default(),
        })
    }

    /// Returns the models to choose from.
    pub fn models(&self) -> &Arc<dyn Models> {
        &self.models
    }

    /// Returns the model of new sessions in the directory that the process was started in.
    pub async fn default_model(&self) -> String {
        self.default_model_in(None).await
    }

    /// Returns the model of new sessions in a directory; invalid settings are ignored.
    pub async fn default_model_in(&self, folder: Option<&AbsPath>) -> String {
        match self.settings.of(folder).await.ok().and_then(|options| options.start.model.clone()) {
            Some(model) => model,
            None => self.models.default_id().await,
        }
    }

    /// Returns the settings of a session that would begin in a directory now.
    ///
    /// # Errors
    ///
    /// Fails with a message that says what is wrong with the settings.
    pub async fn settings_in(&self, folder: &AbsPath) -> Result<Arc<RuntimeOptions>, SessionError> {
        self.settings.of(Some(folder)).await.map_err(SessionError::Settings)
    }

    /// Whether the current settings configure and name no model for new sessions in a directory, so
    /// that they would get a stand-in for a language model.
    pub async fn is_unconfigured(&self, folder: &AbsPath) -> bool {
        if self.settings.of(Some(folder)).await.is_ok_and(|options| options.start.model.is_some()) {
            return false;
        }
        // Reloads how the process reaches its models; errors in other settings do not matter here.
        let _ = self.settings.of(None).await;
        self.models.is_unconfigured().await
    }

    /// Returns why images cannot be sent to a model that takes none. A model that cannot be reached
    /// says so itself when it is asked.
    pub async fn refuses_images(&self, id: &str) -> Option<String> {
        let model = self.models.get(id).await.ok()?;
        (!model.info().abilities.images).then(|| format!("the model {id} takes no images"))
    }

    /// Makes every open session reload its settings, which may have changed.
    pub fn settings_changed(&self) {
        self.sessions().values().for_each(SessionHandle::settings_changed);
    }

    async fn follow(&self, id: &SessionId, folder: &AbsPath) -> Result<Arc<LiveSettings>, SessionError> {
        let followed = self.settings.follow(id, folder).await.map_err(SessionError::Settings)?;
        Ok(Arc::new(LiveSettings::new(followed).await))
    }

    /// Creates a session. `attach` returns the surface once the id is known.
    pub async fn create(
        self: &Arc<Self>,
        new: CreateSession,
        attach: impl FnOnce(&SessionId) -> Surface + Send,
    ) -> Result<SessionHandle, SessionError> {
        let place = self.place()?;
        let id = SessionId::fresh();
        let settings = self.follow(&id, &new.cwd).await?;
        let options = settings.seen();
        let models = settings.models().unwrap_or_else(|| self.models.clone());
        let model = match &options.start.model {
            Some(model) => model.clone(),
            None => models.default_id().await,
        };
        get_in_time(models.as_ref(), &model).await?;
        let state = SessionState {
            mode: options.start.mode,
            permission_mode: options.start.permission_mode,
            model,
            effort: None,
            title: None,
            branch: None,
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
            parent: None,
            owner: None,
        };
        let log = self.log(self.store.create(record).await?);
        let surface = attach(&id);
        let settings_modes =
            SettingsModes { mode: Some(state.mode), permission_mode: Some(state.permission_mode) };
        let begin = Begin {
            cwd: new.cwd,
            state,
            last: 0,
            servers: new.servers,
            settings,
            settings_modes,
            child: None,
            place,
            elsewhere: None,
        };
        Ok(self.start(begin, log, surface))
    }

    /// Opens a stored session and takes its lease; nothing is replayed (see [`Runtime::replay`]).
    ///
    /// A session that this runtime already has open is returned with its running turn and its
    /// surfaces (`attach` is not called; see [`SessionHandle::join`]), unless another process has
    /// taken it over.
    pub async fn open(
        self: &Arc<Self>,
        id: &SessionId,
        how: OpenSession,
        attach: impl FnOnce(&SessionId) -> Surface + Send,
    ) -> Result<SessionHandle, SessionError> {
        let _one_at_a_time = self.locks.lock(id).await;
        let record = self.store.get(id).await?;
        if let Some(root) = self.store.parent(id).await? {
            return Err(SessionError::Subagent { session: id.clone(), root });
        }
        let to = how.cwd.clone().filter(|given| *given != record.cwd);
        if let Some(given) = &to
            && !how.rebind
        {
            let (session, actual, given) = (id.clone(), record.cwd, given.clone());
            return Err(SessionError::OtherFolder { session, actual, given });
        }
        if let Some(handle) = self.find(id).filter(|_| to.is_some()) {
            if handle.state().busy {
                return Err(SessionError::AtWork(id.clone()));
            }
            handle.close().await;
        }
        if let Some(handle) = self.find(id) {
            if !handle.is_lost() {
                match adopt(&handle, &how).await {
                    // The session is being closed, and can be opened again after that.
                    Err(SessionError::Closed) => {}
                    adopted => return adopted.map(|()| handle),
                }
            }
            handle.close().await;
        }
        let place = self.place()?;
        let settings = self.follow(id, to.as_ref().unwrap_or(&record.cwd)).await?;
        let holder = if how.take_over { self.store.holder(id).await? } else { None };
        let log = self.log(self.store.acquire(id, how.take_over).await?);
        let servers = how.servers.unwrap_or_default();
        let origin = if holder.is_some() { Origin::Taken } else { Origin::Own };
        let (record, folders) = match to {
            None => (record, how.additional_directories),
            Some(to) => {
                let moved = moving::moved(&record, &to);
                let folders = how.additional_directories.or(Some(moved.additional_directories.clone()));
                if let Err(error) = log.set_cwd(to).await {
                    log.give_back().await;
                    return Err(error.into());
                }
                (SessionRecord { cwd: moved.cwd, ..record }, folders)
            }
        };
        let stored = Stored { record, folders, origin };
        self.reopen(stored, servers, (log, settings, place), attach).await
    }

    /// Creates a session that begins with the whole history of another, including a running turn as
    /// far as it has come. `attach` returns the surface once the id is known.
    pub async fn fork(
        self: &Arc<Self>,
        from: &SessionId,
        new: CreateSession,
        attach: impl FnOnce(&SessionId) -> Surface + Send,
    ) -> Result<SessionHandle, SessionError> {
        let origin = self.store.get(from).await?;
        let place = self.place()?;
        let id = SessionId::fresh();
        let settings = self.follow(&id, &new.cwd).await?;
        let record = NewSession {
            id: id.clone(),
            cwd: new.cwd,
            additional_directories: new.additional_directories,
            model: origin.controls.model,
            mode: origin.controls.mode,
            permission_mode: origin.controls.permission_mode,
            parent: None,
            owner: origin.listing.owner,
        };
        let log = self.log(self.store.fork(from, record).await?);
        match self.store.get(&id).await {
            Ok(record) => {
                let stored = Stored { record, folders: None, origin: Origin::Fork };
                self.reopen(stored, new.servers, (log, settings, place), attach).await
            }
            Err(error) => {
                log.give_back().await;
                Err(error.into())
            }
        }
    }

    /// Asks the operator for the place of one more open session.
    fn place(&self) -> Result<Option<Place>, NotAdmitted> {
        self.operator.as_ref().map(|operator| operator.open_session()).transpose()
    }

    fn log(&self, lease: Lease) -> LeasedLog {
        LeasedLog::new(self.store.clone(), lease)
    }

    /// Starts a session whose lease was taken. Its log is read only as far as needed, and the rest
    /// before its first turn: a long session opens as fast as a short one, and one that is only
    /// viewed is not held in memory.
    async fn reopen(
        self: &Arc<Self>,
        stored: Stored,
        servers: Vec<ClientServer>,
        (log, settings, place): (LeasedLog, Arc<LiveSettings>, Option<Place>),
        attach: impl FnOnce(&SessionId) -> Surface + Send,
    ) -> Result<SessionHandle, SessionError> {
        let Stored { record, folders, origin } = stored;
        let after_death = origin == Origin::Own && self.goes_on_after_death();
        let ready = match ready(&log, &record, folders, after_death).await {
            Ok(ready) => ready,
            Err(error) => {
                log.give_back().await;
                return Err(error.into());
            }
        };
        let Ready { last, additional_directories, last_turn, missing, elsewhere } = ready;
        let state = SessionState {
            permission_mode: tighter(record.controls.permission_mode, settings.seen().start.permission_mode),
            additional_directories,
            ..SessionState::of(&record)
        };
        let surface = attach(&record.id);
        // The user may have chosen the stored modes, so they do not follow the settings.
        let settings_modes = SettingsModes::default();
        let cwd = record.cwd;
        let is_here = elsewhere.is_none();
        let begin =
            Begin { cwd, state, last, servers, settings, settings_modes, child: None, place, elsewhere };
        let handle = self.start(begin, log, surface);
        match (origin, last_turn) {
            // What a fork has of a turn is the past.
            (Origin::Fork, _) | (Origin::Own, LastTurn::Ended) => {}
            (Origin::Taken, _) => self.taken_over(handle.id(), TakenOver::ByRequest),
            (Origin::Own, LastTurn::Suspended) => self.taken_over(handle.id(), TakenOver::Suspended),
            (Origin::Own, LastTurn::CutOff { .. }) => self.taken_over(handle.id(), TakenOver::AfterDeath),
        }
        match last_turn {
            LastTurn::Suspended if origin != Origin::Fork && is_here => handle.go_on(None),
            LastTurn::CutOff { goes_on: true } => handle.go_on(Some(death::briefing(&missing))),
            _ => {}
        }
        Ok(handle)
    }

    /// Removes a session permanently, after closing it if it is open here. Succeeds if it does not
    /// exist.
    pub async fn delete(&self, id: &SessionId) -> Result<(), StoreError> {
        let _one_at_a_time = self.locks.lock(id).await;
        if let Some(handle) = self.find(id) {
            handle.close().await;
        }
        self.kept_shells.end_of(id).await;
        self.store.delete(id).await
    }

    /// Sets the title of a session, open or not; no title is generated after that. Control
    /// characters and misleading characters are removed.
    pub async fn set_title(&self, id: &SessionId, title: String) -> Result<(), SessionError> {
        let title = sanitise(&title);
        let _one_at_a_time = self.locks.lock(id).await;
        if let Some(handle) = self.find(id) {
            return handle.set_title(title).await;
        }
        let log = self.log(self.store.acquire(id, false).await?);
        if let Err(error) = log.append(vec![SessionEvent::TitleChanged(title)]).await {
            log.give_back().await;
            return Err(error.into());
        }
        Ok(log.release().await?)
    }

    /// Archives a session, after closing it if it is open here, or unarchives it without opening
    /// it. Idempotent.
    pub async fn set_archived(&self, id: &SessionId, archived: bool) -> Result<(), StoreError> {
        let _one_at_a_time = self.locks.lock(id).await;
        if let Some(handle) = self.find(id).filter(|_| archived) {
            handle.close().await;
        }
        self.store.set_archived(id, archived).await
    }

    /// Returns the storage of memories; `None` if the store keeps none.
    pub fn memories(&self) -> Option<Arc<dyn Memories>> {
        self.store.memories()
    }

    /// Returns the stored record of a session, without its events.
    pub async fn record(&self, id: &SessionId) -> Result<SessionRecord, StoreError> {
        self.store.get(id).await
    }

    /// Returns the end of a stored session at a glance: its last prompt, the answer, and how the
    /// turn ended. Reads only the last events.
    pub async fn glance(&self, id: &SessionId) -> Result<Glance, StoreError> {
        glance(self.store.as_ref(), id).await
    }

    /// Returns the open sessions, those of subagents not included.
    pub fn open_sessions(&self) -> Vec<SessionHandle> {
        self.sessions()
            .values()
            .filter(|handle| !handle.is_closed() && !handle.is_subagent())
            .cloned()
            .collect()
    }

    /// Returns an open session by id.
    pub fn find(&self, id: &SessionId) -> Option<SessionHandle> {
        self.sessions().get(id).cloned()
    }

    /// Returns a page of a session's stored events after number `after`, in order, each with its
    /// number; empty at the end.
    pub async fn events(&self, id: &SessionId, after: u64) -> Result<Vec<(u64, SessionEvent)>, StoreError> {
        self.store.events(id, after, EVENTS_PAGE).await
    }

    /// Returns the content of a file that an event of a session refers to; `None` if it is not
    /// stored, or not any more.
    pub async fn content(&self, id: &SessionId, hash: &ContentHash) -> Result<Option<Vec<u8>>, StoreError> {
        self.store.content(id, hash).await
    }

    /// Returns a session's stored events up to number `until`, sanitised for display, in pages.
    pub fn shown_events(&self, id: &SessionId, until: u64) -> EventPages {
        EventPages::new(self.store.clone(), id.clone(), 0, until, EventForm::Shown)
    }

    /// Like [`Runtime::shown_events`], from the beginning of the turn that event number `after`
    /// belongs to, or follows: what is needed to understand the events after that one.
    ///
    /// # Errors
    ///
    /// Fails if the store cannot be read.
    pub async fn shown_events_around(
        &self,
        id: &SessionId,
        after: u64,
        until: u64,
    ) -> Result<EventPages, StoreError> {
        let from = before_turn(self.store.as_ref(), id, after).await?;
        Ok(EventPages::new(self.store.clone(), id.clone(), from, until, EventForm::Shown))
    }

    /// Returns a page of a session's stored events after number `after`, sanitised for display, and
    /// the number of its last event; an empty page and `after` if there are no more. Another
    /// process may be writing them.
    pub async fn shown_after(
        &self,
        id: &SessionId,
        after: u64,
    ) -> Result<(Vec<SessionEvent>, u64), StoreError> {
        let stored = self.events(id, after).await?;
        let last = stored.last().map_or(after, |(number, _)| *number);
        let cleaner = display::Cleaner::default();
        Ok((stored.into_iter().map(|(_, event)| cleaner.event(event)).collect(), last))
    }

    /// Returns the live process that holds a session, if it is another one.
    pub async fn holder(&self, id: &SessionId) -> Result<Option<LeaseHolder>, StoreError> {
        self.store.holder(id).await
    }

    /// Calls `each` with every stored event of a session, in order, sanitised for display.
    pub async fn replay(
        &self,
        id: &SessionId,
        each: &mut (dyn FnMut(&SessionEvent) + Send),
    ) -> Result<(), StoreError> {
        self.replay_numbered(id, EventForm::Shown, &mut |_, event| each(event)).await
    }

    /// Like [`Runtime::replay`], with the events as data: what the model and the user wrote is
    /// complete.
    pub async fn replay_written(
        &self,
        id: &SessionId,
        each: &mut (dyn FnMut(&SessionEvent) + Send),
    ) -> Result<(), StoreError> {
        self.replay_numbered(id, EventForm::Written, &mut |_, event| each(event)).await
    }

    /// Replays a session's events with their numbers. An answer whose process has ended is shown as
    /// it will be stored once the session is opened, with the number 0.
    async fn replay_numbered(
        &self,
        id: &SessionId,
        form: EventForm,
        each: &mut (dyn FnMut(u64, &SessionEvent) + Send),
    ) -> Result<(), StoreError> {
        let mut pages = EventPages::new(self.store.clone(), id.clone(), 0, u64::MAX, form);
        let mut unfinished = None;
        loop {
            let page = pages.next_numbered().await?;
            if page.is_empty() {
                break;
            }
            for (number, event) in &page {
                AnswerPart::collect(&mut unfinished, event);
                each(*number, event);
            }
        }
        let is_open = self.sessions().contains_key(id);
        if let Some(part) = unfinished
            && !is_open
            && self.holder(id).await?.is_none()
        {
            each(0, &SessionEvent::ModelResponse(part.cut_off()));
        }
        Ok(())
    }

    /// Like [`Runtime::replay_written`], with the time at which each event was stored, in
    /// milliseconds since the epoch; 0 if the store does not keep it.
    pub async fn replay_timed(
        &self,
        id: &SessionId,
        each: &mut (dyn FnMut(i64, &SessionEvent) + Send),
    ) -> Result<(), StoreError> {
        let times: HashMap<u64, i64> = self.store.event_times(id).await?.into_iter().collect();
        self.replay_numbered(id, EventForm::Written, &mut |number, event| {
            each(times.get(&number).copied().unwrap_or_default(), event);
        })
        .await
    }

    /// Returns the turns of a session in which tools changed files, in order. Reads the whole log.
    pub async fn checkpoints(&self, id: &SessionId) -> Result<Vec<Checkpoint>, StoreError> {
        Ok(Timeline::read(self.store.as_ref(), id).await?.checkpoints())
    }

    /// Searches messages and titles for words; the best matches come first.
    pub async fn search(&self, query: SearchQuery) -> Result<Vec<SearchHit>, StoreError> {
        let mut hits = self.store.search(query).await?;
        for hit in &mut hits {
            display::record(&mut hit.session);
            hit.excerpt = sanitise(&hit.excerpt);
        }
        Ok(hits)
    }

    /// Stores a session that was created elsewhere, all or nothing; it is not opened.
    ///
    /// Changes to files are dropped: their contents are not here, and only this machine's own
    /// sessions may determine what is restored on it. Prefixes and briefings are dropped as well:
    /// they describe another machine, and must not come from outside.
    pub async fn import(&self, session: NewSession, events: Vec<SessionEvent>) -> Result<(), StoreError> {
        let log = self.log(self.store.create(session).await?);
        let kept: Vec<_> = events.into_iter().filter(|event| !belongs_to_its_machine(event)).collect();
        for page in kept.chunks(EVENTS_PAGE) {
            if let Err(error) = log.append(page.to_vec()).await {
                self.store.delete(log.session()).await?;
                return Err(error);
            }
        }
        log.release().await
    }

    /// Lists stored sessions; needs no model and no open session. Sessions with neither prompt nor
    /// title are omitted, unless they are open here or, if the query names sessions, among those.
    pub async fn list(&self, mut query: ListQuery) -> Result<SessionPage, StoreError> {
        query.begun_or.get_or_insert_with(|| self.sessions().keys().cloned().collect());
        let mut page = self.store.list(query).await?;
        page.sessions.iter_mut().for_each(display::record);
        Ok(page)
    }

    /// Lists stored sessions, as [`Runtime::list`] does; those of the query's directory in each of
    /// its spellings, and those of its former paths that do not exist any more. The system resolves
    /// links.
    pub async fn list_of_folder(
        &self,
        system: &dyn System,
        mut query: ListQuery,
    ) -> Result<SessionPage, StoreError> {
        if let Some(cwd) = query.cwd.clone() {
            let known = self.store.directories(query.owner.as_ref()).await?;
            let spellings = self.add_spellings(system, &cwd, known, &mut query.spellings);
            // A directory of another session may be on a file server that does not respond.
            if timeout(ROOT_WAIT, spellings).await.is_err() {
                tracing::warn!(%cwd, "sessions are listed by the given spelling of their directory only");
            }
        }
        self.list(query).await
    }

    /// Closes every open session: cancels turns, waits for them to settle, releases the leases.
    /// Stops the background commands that outlived their sessions.
    pub async fn shutdown(&self) {
        let open: Vec<_> = self.sessions().drain().map(|(_, handle)| handle).collect();
        futures::future::join_all(open.iter().map(SessionHandle::close)).await;
        self.kept_shells.end().await;
    }

    /// Ends every open session so that other processes can go on with them
    /// ([`SessionHandle::suspend`]). Returns the sessions that a turn goes on in and that have no
    /// client, with their directories.
    pub async fn suspend(&self, patience: Duration) -> Vec<(SessionId, AbsPath)> {
        let open: Vec<_> = self.sessions().values().filter(|handle| !handle.is_subagent()).cloned().collect();
        let left = open.iter().filter(|handle| handle.is_busy() && !handle.is_watched());
        let left = left.map(|handle| (handle.id().clone(), handle.cwd().clone())).collect();
        futures::future::join_all(open.iter().map(|handle| handle.suspend(patience))).await;
        left
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, SessionHandle>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Applies the directories and servers of an additional client to an open session.
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

/// Whether an event is valid only on the machine where it happened. A goal is one: no file from
/// elsewhere makes a session work by itself.
fn belongs_to_its_machine(event: &SessionEvent) -> bool {
    matches!(
        event,
        SessionEvent::FileChanged(_)
            | SessionEvent::Rewound(_)
            | SessionEvent::Prefix(_)
            | SessionEvent::Briefing(_)
            | SessionEvent::Goal(_)
            | SessionEvent::Subagent(_)
    )
}

/// A stored session that can be started.
struct Ready {
    /// The number of its last event.
    last: u64,
    additional_directories: Vec<AbsPath>,
    last_turn: LastTurn,
    /// The events that ended what was left open.
    missing: Vec<SessionEvent>,
    /// The name of its folders, if this process has others.
    elsewhere: Option<String>,
}

/// A session that is opened from its log.
struct Stored {
    record: SessionRecord,
    /// Its additional directories from now on; the stored ones without them.
    folders: Option<Vec<AbsPath>>,
    origin: Origin,
}

/// Where the log of a session that is opened comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// It is free, or its holder is gone.
    Own,
    /// It was taken from a process that lives.
    Taken,
    /// It is the copy of another session's.
    Fork,
}

/// Ends what the log of a session left open, and stores its additional directories.
async fn ready(
    log: &LeasedLog,
    record: &SessionRecord,
    folders: Option<Vec<AbsPath>>,
    after_death: bool,
) -> Result<Ready, StoreError> {
    let elsewhere = log.store().folders_elsewhere(log.session()).await?;
    let after_death = after_death && elsewhere.is_none();
    let LogEnd { missing, last_turn } = log_end(log.store(), record, after_death).await?;
    // Even an empty append returns the number of the last event.
    let last = log.append(missing.clone()).await?;
    let additional_directories = match folders {
        Some(folders) if folders != record.additional_directories => {
            log.set_directories(folders.clone()).await?;
            folders
        }
        _ => record.additional_directories.clone(),
    };
    Ok(Ready { last, additional_directories, last_turn, missing, elsewhere })
}

/// Returns the stricter of two permission modes: a stored session never reopens with a looser mode
/// than the current settings have.
fn tighter(stored: PermissionMode, now: PermissionMode) -> PermissionMode {
    let strictness = |mode| match mode {
        PermissionMode::Argus => 0,
        PermissionMode::Guardian => 1,
        PermissionMode::Prometheus => 2,
    };
    std::cmp::min_by_key(stored, now, |mode| strictness(*mode))
}
