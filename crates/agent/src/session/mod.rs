//! The state of a session, which its turns work on.
//!
//! Architecture Invariant: a session's state is private to this module. It changes by recorded events
//! ([`SessionLog`]) and by the methods below, each of which says what law it keeps. The module knows
//! neither the loop of a turn nor the task that runs turns; both stand on it.

pub(crate) mod controls;
pub(crate) mod message;
pub(crate) mod models;
pub(crate) mod outcome;
pub(crate) mod steering;
pub(crate) mod toolbox;

use crate::{
    FileTracker, InnerCalls, LanguageModel, ModelError, Outputs, RuntimeOptions, SessionEvent, SessionId,
    Shells, StoreError, Surface, TaskList, ToolCallId, ToolCallUpdate, ToolContext,
    client::User,
    gate::{Gate, Ruling},
    history::{conversation::Conversation, reading::read_log},
    log::{Recording, SessionLog, recorded},
    tools,
};
use models::SessionModels;
use std::{collections::HashSet, sync::Arc};
use system::{AbsPath, System};
use tokio_util::sync::CancellationToken;
use toolbox::Toolbox;

/// What a turn works on. It is owned by the session's task.
pub(crate) struct Session {
    id: SessionId,
    cwd: AbsPath,
    log: SessionLog,
    /// Stores the beginning of the running turn while the model is being asked.
    storing: Option<Recording>,
    gate: Gate,
    toolbox: Toolbox,
    models: SessionModels,
    files: Arc<FileTracker>,
    tasks: Arc<TaskList>,
    /// The commands that run in the background.
    shells: Arc<Shells>,
    /// Where long results are kept whole.
    outputs: Arc<Outputs>,
    /// The problems that the user was told of.
    reported: HashSet<String>,
    /// Whether the user was told that the end of the context is near.
    warned: bool,
}

impl Session {
    /// A session in which nothing has happened yet. `gate` bounds it to its folders.
    pub(crate) fn new(
        id: SessionId,
        cwd: AbsPath,
        log: SessionLog,
        gate: Gate,
        toolbox: Toolbox,
        models: SessionModels,
    ) -> Self {
        let outputs = Arc::new(Outputs::new(gate.outputs().cloned()));
        Self {
            id,
            cwd,
            log,
            storing: None,
            gate,
            toolbox,
            models,
            files: Arc::default(),
            tasks: Arc::default(),
            shells: Arc::default(),
            outputs,
            reported: HashSet::new(),
            warned: false,
        }
    }

    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    /// The session's folder.
    pub(crate) fn cwd(&self) -> &AbsPath {
        &self.cwd
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Where tools act, before anything was decided about a call.
    pub(crate) fn system(&self) -> &Arc<dyn System> {
        self.gate.system()
    }

    pub(crate) fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    pub(crate) fn toolbox_mut(&mut self) -> &mut Toolbox {
        &mut self.toolbox
    }

    /// What the model has seen of which file.
    pub(crate) fn files(&self) -> &FileTracker {
        &self.files
    }

    /// The commands that run in the background.
    pub(crate) fn shells(&self) -> &Shells {
        &self.shells
    }

    pub(crate) fn models(&self) -> &SessionModels {
        &self.models
    }

    /// The model with an id, which is the current one from now on.
    pub(crate) async fn model(&mut self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        self.models.get(id).await
    }

    /// The settings as they were at the last look.
    pub(crate) fn settings(&self) -> Arc<RuntimeOptions> {
        self.gate.settings().seen()
    }

    /// Looks at the settings again.
    pub(crate) async fn look_at_settings(&self) -> Arc<RuntimeOptions> {
        self.gate.settings().look().await
    }

    pub(crate) fn log(&self) -> &SessionLog {
        &self.log
    }

    /// What the session's events come to.
    pub(crate) fn conversation(&self) -> Arc<Conversation> {
        self.log.conversation()
    }

    /// Stores events, then applies them, then tells the client of them. See [`SessionLog::record`].
    pub(crate) async fn record(&self, events: Vec<SessionEvent>) -> Result<(), StoreError> {
        self.log.record(events).await
    }

    /// Tells the client of something that is not stored.
    pub(crate) fn tell(&self, event: SessionEvent) {
        self.log.tell(event);
    }

    /// Waits until the client has room for more, or the turn is cancelled.
    pub(crate) async fn room(&self, cancel: &CancellationToken) {
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = self.log.client().room() => {}
        }
    }

    /// Begins to store what begins a turn; `then` runs once it is stored. The conversation has the events at once;
    /// whoever needs them stored awaits [`Session::stored`], and nothing is recorded before that.
    pub(crate) fn begin_storing(&mut self, events: Vec<SessionEvent>, then: impl FnOnce() + Send + 'static) {
        self.storing = Some(self.log.record_ahead(events, then));
    }

    /// Stores events after those that are being stored, if any are. The conversation has them at
    /// once; whoever needs them stored awaits [`Session::stored`].
    pub(crate) fn store_also(&mut self, events: Vec<SessionEvent>) {
        self.storing = Some(match self.storing.take() {
            Some(before) => self.log.record_after(before, events),
            None => self.log.record_ahead(events, || {}),
        });
    }

    /// Completes when what is being stored is stored and told of; at once where nothing is.
    pub(crate) async fn stored(&mut self) -> Result<(), StoreError> {
        let Some(storing) = &mut self.storing else { return Ok(()) };
        let stored = storing.await;
        self.storing = None;
        recorded(stored)
    }

    /// Reads the log, so that the next turn starts from what is really stored, and ends what the log left open. Given
    /// up half-way, it is done again.
    pub(crate) async fn recover(&mut self) -> Result<(), StoreError> {
        self.stored().await?;
        let sources = self.toolbox.sources();
        let mut conversation = read_log(self.log.store(), &self.id, |event| sources.recall(event)).await?;
        let repairs = conversation.repairs();
        repairs.iter().for_each(|repair| conversation.apply(repair));
        self.log.record(repairs).await?;
        conversation.files().for_each(|path| self.files.named(path));
        conversation.share_prefixes(self.toolbox.shared());
        // What was recorded meanwhile were modes, titles and the like: no part of it.
        self.log.memory().hold(conversation);
        Ok(())
    }

    /// The context of a call that was ruled on: it acts through a system that does what the ruling allows.
    pub(crate) fn tool_context(
        &self,
        call: &ToolCallId,
        cancel: &CancellationToken,
        asked: bool,
        ruling: &Ruling,
    ) -> ToolContext {
        let log = self.log.clone();
        ToolContext {
            system: self.gate.confined(ruling),
            call: call.clone(),
            progress: Arc::new(move |update: ToolCallUpdate| {
                debug_assert!(
                    update.status.is_none(),
                    "a tool shows progress; its status is the turn's to change"
                );
                log.tell(SessionEvent::ToolCall(update));
            }),
            asked,
            confined: ruling.is_confined(),
            ..self.own_context(cancel)
        }
    }

    /// The context of what the user does by himself, outside of any call.
    pub(crate) fn own_context(&self, cancel: &CancellationToken) -> ToolContext {
        ToolContext {
            system: self.system().clone(),
            cwd: self.cwd.clone(),
            files: self.files.clone(),
            tasks: self.tasks.clone(),
            shells: self.shells.clone(),
            outputs: self.outputs.clone(),
            user: Arc::new(User(self.log.client().clone())),
            call: ToolCallId(String::new()),
            progress: Arc::new(|_| {}),
            cancel: cancel.clone(),
            asked: false,
            confined: false,
            limits: self.settings().limits.tools.clone(),
            inner: InnerCalls::default(),
        }
    }

    /// Begins a turn: forgets a model that was made by other settings, and bounds the session to its folder and these
    /// further ones. Both hold for the whole turn.
    pub(crate) fn begin_turn(&mut self, additional_directories: Vec<AbsPath>) {
        self.models.follow(self.settings());
        self.gate.work_in(&self.cwd, additional_directories);
    }

    /// Moves tools to another surface. Whoever calls this forgets what was allowed: it was allowed where tools ran
    /// then.
    pub(crate) fn move_to(&mut self, surface: Surface) {
        let mut own = tools::offered(self.log.client().takes_questions());
        own.extend(surface.client.tools());
        self.toolbox.replace_own(own);
        self.gate.move_to(surface.system);
    }

    /// Notes that the user is told of a problem; whether that is the first time. Each is told once.
    pub(crate) fn reports(&mut self, problem: &str) -> bool {
        self.reported.insert(problem.to_owned())
    }

    /// Notes whether the end of the context is near; whether the user is to be told so. That is told once until it is
    /// no longer near.
    pub(crate) fn warns(&mut self, is_near: bool) -> bool {
        let was_near = std::mem::replace(&mut self.warned, is_near);
        is_near && !was_near
    }

    /// Ends the commands in the background and gives the lease back.
    pub(crate) async fn end(&self) {
        self.shells.end().await;
        if let Err(error) = self.log.release().await {
            tracing::warn!(session = %self.id, %error, "the lease could not be given back");
        }
    }
}
