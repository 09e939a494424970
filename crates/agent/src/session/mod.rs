//! The state of a session, which its turns work on.
//!
//! Architecture Invariant: a session's state is private to this module. It changes by recorded
//! events ([`SessionLog`]) and by the methods below, each of which documents the rule that it
//! keeps. The module depends neither on the turn loop nor on the task that runs turns; both build
//! on it.

pub(crate) mod controls;
pub(crate) mod goal_requests;
pub(crate) mod message;
pub(crate) mod models;
pub(crate) mod outcome;
pub(crate) mod steering;
pub(crate) mod suspension;
pub(crate) mod toolbox;

use crate::{
    FileChange, FileTracker, Goal, GoalChange, GoalError, LanguageModel, Mode, ModelError, NestedCalls,
    Outputs, ProjectPrograms, Recall, RuntimeOptions, SessionEvent, SessionId, SessionResources, Shells,
    StoreError, Surface, ToolCallContext, ToolCallId, ToolCallUpdate, ToolContext, Usage,
    client::User,
    gate::{Gate, Ruling, project_programs},
    goal,
    history::{conversation::Conversation, reading::read_log},
    log::{Recording, SessionLog, recorded},
    tool::subagents::Subagents,
    tools,
};
use models::SessionModels;
use std::{collections::HashSet, sync::Arc};
use system::{AbsPath, System};
use tokio_util::sync::CancellationToken;
use toolbox::Toolbox;

/// The state that a turn works on, owned by the session's task.
pub(crate) struct Session {
    id: SessionId,
    cwd: AbsPath,
    log: SessionLog,
    /// The write of the running turn's first events, which overlaps the model request.
    storing: Option<Recording>,
    gate: Gate,
    toolbox: Toolbox,
    models: SessionModels,
    resources: SessionResources,
    /// The problems already reported to the user.
    reported: HashSet<String>,
    /// Whether the user was warned that the context is nearly full.
    warned: bool,
}

impl Session {
    /// Creates a session without events. `gate` confines it to its directories.
    pub(crate) fn new(
        id: SessionId,
        cwd: AbsPath,
        log: SessionLog,
        gate: Gate,
        toolbox: Toolbox,
        models: SessionModels,
        resources: SessionResources,
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
            resources: SessionResources { outputs, ..resources },
            reported: HashSet::new(),
            warned: false,
        }
    }

    pub(crate) fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns the place in which the session's own programs run.
    pub(crate) fn programs(&self) -> ProjectPrograms {
        project_programs(&self.settings(), &self.id, &self.cwd, self.gate.additional_directories())
    }

    /// Returns the session's directory.
    pub(crate) fn cwd(&self) -> &AbsPath {
        &self.cwd
    }

    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Returns the system that tools act on, before any ruling confines it.
    pub(crate) fn system(&self) -> &Arc<dyn System> {
        self.gate.system()
    }

    pub(crate) fn toolbox(&self) -> &Toolbox {
        &self.toolbox
    }

    pub(crate) fn toolbox_mut(&mut self) -> &mut Toolbox {
        &mut self.toolbox
    }

    /// Returns which version of which file the model has seen.
    pub(crate) fn files(&self) -> &FileTracker {
        &self.resources.files
    }

    /// Returns the background commands.
    pub(crate) fn shells(&self) -> &Arc<Shells> {
        &self.resources.shells
    }

    /// Returns the access to subagents, if the session can have any.
    pub(crate) fn subagents(&self) -> Option<&Arc<dyn Subagents>> {
        self.resources.subagents.0.as_ref()
    }

    /// Whether the session is that of a subagent.
    pub(crate) fn is_subagent(&self) -> bool {
        self.subagents().is_some_and(|subagents| subagents.is_of_subagent())
    }

    /// Returns the store of long results.
    pub(crate) fn outputs(&self) -> &Arc<Outputs> {
        &self.resources.outputs
    }

    pub(crate) fn models(&self) -> &SessionModels {
        &self.models
    }

    /// Returns the model with an id and makes it the current one.
    pub(crate) async fn model(&mut self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        self.models.get(id).await
    }

    /// Returns the settings as last loaded.
    pub(crate) fn settings(&self) -> Arc<RuntimeOptions> {
        self.gate.settings().seen()
    }

    /// Reloads the settings.
    pub(crate) async fn reload_settings(&self) -> Arc<RuntimeOptions> {
        self.gate.settings().reload().await
    }

    pub(crate) fn log(&self) -> &SessionLog {
        &self.log
    }

    /// Returns the conversation built from the session's events.
    pub(crate) fn conversation(&self) -> Arc<Conversation> {
        self.log.conversation()
    }

    /// Stores events, then applies them, then emits them to the client. See [`SessionLog::record`].
    pub(crate) async fn record(&self, events: Vec<SessionEvent>) -> Result<(), StoreError> {
        self.log.record(events).await
    }

    /// Returns the events with which the session records changes of files. Those of a subagent are
    /// its root session's, whose log has them when this returns.
    pub(crate) async fn keep_changes(
        &self,
        changes: Vec<FileChange>,
    ) -> Result<Vec<SessionEvent>, StoreError> {
        let own = match self.subagents() {
            Some(subagents) if !changes.is_empty() => subagents.keep_changes(changes).await?,
            _ => changes,
        };
        Ok(own.into_iter().map(SessionEvent::FileChanged).collect())
    }

    /// Emits an event to the client that is not stored.
    pub(crate) fn notify(&self, event: SessionEvent) {
        self.log.notify(event);
    }

    /// Waits until the client can take more events or the turn is cancelled (backpressure).
    pub(crate) async fn room(&self, cancel: &CancellationToken) {
        tokio::select! {
            biased;
            () = cancel.cancelled() => {}
            () = self.log.client().room() => {}
        }
    }

    /// Starts to store the first events of a turn; `then` runs once they are stored. The
    /// conversation contains the events immediately. Code that needs them stored must await
    /// [`Session::stored`]; nothing may be recorded before that. From then on until the turn ends
    /// or is cancelled, the user can be asked about servers.
    pub(crate) fn begin_storing(
        &mut self,
        events: Vec<SessionEvent>,
        cancel: &CancellationToken,
        then: impl FnOnce() + Send + 'static,
    ) {
        let begin = self.gate.network().map(|network| network.turn(cancel));
        self.storing = Some(self.log.record_ahead(events, move || {
            then();
            if let Some(begin) = begin {
                begin();
            }
        }));
    }

    /// Stores events after any write in progress. The conversation contains them immediately; code
    /// that needs them stored must await [`Session::stored`].
    pub(crate) fn store_also(&mut self, events: Vec<SessionEvent>) {
        self.storing = Some(match self.storing.take() {
            Some(before) => self.log.record_after(before, events),
            None => self.log.record_ahead(events, || {}),
        });
    }

    /// Returns whether a write is in progress.
    pub(crate) fn is_storing(&self) -> bool {
        self.storing.as_ref().is_some_and(|storing| !storing.is_finished())
    }

    /// Waits until the write in progress, if any, is stored and emitted.
    pub(crate) async fn stored(&mut self) -> Result<(), StoreError> {
        let Some(storing) = &mut self.storing else { return Ok(()) };
        let stored = storing.await;
        self.storing = None;
        recorded(stored)
    }

    /// Rebuilds the conversation from the stored log, and ends what the log left open. Cancel-safe:
    /// if the future is dropped, the next call starts again.
    pub(crate) async fn recover(&mut self) -> Result<(), StoreError> {
        self.stored().await?;
        let (sources, subagents) = (self.toolbox.sources(), self.subagents());
        let recall = |event: &SessionEvent| {
            sources.recall(event);
            if let Some(subagents) = subagents {
                subagents.recall(event);
            }
        };
        let mut conversation = read_log(self.log.store(), &self.id, recall).await?;
        let mut repairs = conversation.repairs();
        repairs.extend(subagents.iter().flat_map(|subagents| subagents.interrupted()));
        repairs.iter().for_each(|repair| conversation.apply(repair));
        self.log.record(repairs).await?;
        conversation.files().for_each(|path| self.resources.files.named(path));
        conversation.share_prefixes(self.toolbox.shared());
        // Events recorded meanwhile (modes, titles and the like) are not part of the conversation.
        self.log.memory().hold(conversation);
        Ok(())
    }

    /// Returns the context of a call with a ruling; its system permits only what the ruling allows.
    pub(crate) fn tool_context(
        &self,
        call: &ToolCallId,
        cancel: &CancellationToken,
        asked: bool,
        ruling: &Ruling,
    ) -> ToolContext {
        let log = self.log.clone();
        let call = ToolCallContext {
            id: call.clone(),
            progress: Arc::new(move |update: ToolCallUpdate| {
                debug_assert!(
                    update.status.is_none(),
                    "a tool shows progress; its status is the turn's to change"
                );
                log.notify(SessionEvent::ToolCall(update));
            }),
            asked,
            confined: ruling.is_confined(),
            asks_for_hosts: ruling.asks_for_hosts(),
            may_leave: self.settings().permissions.folder.is_none(),
        };
        ToolContext { system: self.gate.confined(ruling), call, ..self.own_context(cancel) }
    }

    /// Returns the context of the user's own actions, outside any call.
    pub(crate) fn own_context(&self, cancel: &CancellationToken) -> ToolContext {
        ToolContext {
            system: self.system().clone(),
            cwd: self.cwd.clone(),
            session: self.resources(),
            user: Arc::new(User(self.log.client().clone())),
            call: ToolCallContext::outside(),
            cancel: cancel.clone(),
            limits: self.settings().limits.tools.clone(),
            nested_calls: NestedCalls::default(),
        }
    }

    /// Returns what the session can recall under the settings as last loaded.
    pub(crate) fn recall(&self) -> Recall {
        Recall::new(self.log.shared_store(), &self.id, &self.cwd, &self.settings().prompt.memories)
    }

    /// Changes the goal for the user or a program; returns the goal after that. `works` is whether
    /// a turn takes the goal up now.
    ///
    /// # Panics
    /// If the log was not read.
    pub(crate) async fn change_goal(
        &self,
        mode: Mode,
        change: GoalChange,
        works: bool,
    ) -> Result<Option<Goal>, GoalError> {
        if matches!(change, GoalChange::Set { .. } | GoalChange::Resume { .. }) && mode != Mode::Edit {
            return Err(GoalError::Mode(mode.label()));
        }
        let conversation = self.conversation();
        let goal = goal::changed(conversation.goal(), change, used(&conversation), works)?;
        self.record(vec![SessionEvent::Goal(goal.clone())]).await?;
        Ok(goal)
    }

    /// Returns what the session keeps for its tools, with the state that follows from its events.
    fn resources(&self) -> SessionResources {
        let mut resources = SessionResources { recall: Some(self.recall()), ..self.resources.clone() };
        if let Some(conversation) = self.log.memory().conversation() {
            resources.tasks = conversation.tasks().clone();
            resources.goal = conversation.goal().cloned();
            resources.usage = used(&conversation);
        }
        resources
    }

    /// Begins a turn: drops a model created under other settings, and confines the session to its
    /// directory and the additional ones. Both hold for the whole turn.
    pub(crate) async fn begin_turn(&mut self, additional_directories: Vec<AbsPath>) {
        self.models.follow(self.settings());
        self.gate.work_in(&self.cwd, additional_directories).await;
    }

    /// Moves tools to another surface. The caller must clear the grants, which apply to the old
    /// one.
    pub(crate) fn move_to(&mut self, surface: Surface) {
        let memories = self.settings().prompt.memories.enabled;
        let apart = surface.system.editor_is_remote();
        let mut own = tools::offered(self.log.client().takes_questions(), memories, apart);
        own.extend(surface.client.tools());
        self.toolbox.replace_own(own);
        self.gate.move_to(surface.system);
    }

    /// Marks a problem as reported; returns whether this is the first time.
    pub(crate) fn reports(&mut self, problem: &str) -> bool {
        self.reported.insert(problem.to_owned())
    }

    /// Updates whether the context is nearly full; returns whether to warn the user. The warning is
    /// repeated only after the context has shrunk in between.
    pub(crate) fn warns(&mut self, is_near: bool) -> bool {
        let was_near = std::mem::replace(&mut self.warned, is_near);
        is_near && !was_near
    }

    /// Cancels the subagents at every level.
    pub(crate) async fn cancel_subagents(&self) {
        if let Some(subagents) = self.subagents() {
            subagents.cancel().await;
        }
    }

    /// Ends the subagents and the background commands, and releases the lease.
    pub(crate) async fn end(&self) {
        self.cancel_subagents().await;
        self.resources.shells.end().await;
        if let Err(error) = self.log.release().await {
            tracing::warn!(session = %self.id, %error, "the lease could not be given back");
        }
    }
}

/// Returns the tokens used by a session and its subagents.
fn used(conversation: &Conversation) -> Usage {
    let mut used = conversation.usage();
    used += conversation.subagent_usage();
    used
}
