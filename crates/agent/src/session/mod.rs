//! What a session's turns work on.

pub(crate) mod controls;
pub(crate) mod message;
pub(crate) mod outcome;
pub(crate) mod steering;

use crate::{
    AnyTool, FileTracker, InnerCalls, LanguageModel, Models, Outputs, RewindError, RewindReport,
    RewindTarget, RuntimeOptions, SessionEvent, SessionId, SessionState, SessionStore, Shells, StoreError,
    TaskList, ToolCallId, ToolCallUpdate, ToolContext, Usage,
    checkpoint::restore,
    client::User,
    client::watchers::Watchers,
    event::prefix::SharedPrefixes,
    gate::{Gate, Ruling},
    history::conversation::Conversation,
    history::memory::IdleSessions,
    history::reading::read_log,
    log::{Recording, SessionLog, recorded},
    policy,
    prompt::Surroundings,
    prompt::listing::Told,
    sources::Sources,
    tools,
    turn::sampling::Spent,
};
use controls::Controls;
use std::{
    collections::HashSet,
    sync::{Arc, PoisonError},
};
use system::AbsPath;
use tokio_util::sync::CancellationToken;

/// What a turn works on.
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) cwd: AbsPath,
    pub(crate) additional_directories: Vec<AbsPath>,
    pub(crate) gate: Gate,
    pub(crate) log: SessionLog,
    pub(crate) watchers: Arc<Watchers>,
    pub(crate) store: Arc<dyn SessionStore>,
    /// The tools of the running round: its own and those of its sources.
    pub(crate) tools: Vec<Arc<dyn AnyTool>>,
    pub(crate) own_tools: Vec<Arc<dyn AnyTool>>,
    pub(crate) told: Told,
    pub(crate) sources: Sources,
    pub(crate) files: Arc<FileTracker>,
    pub(crate) tasks: Arc<TaskList>,
    /// Its commands in the background.
    pub(crate) shells: Arc<Shells>,
    /// Where its long results are kept whole.
    pub(crate) outputs: Arc<Outputs>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) current_model: Option<(String, Arc<dyn LanguageModel>)>,
    /// The settings that the current model was made by.
    pub(crate) model_of: Option<Arc<RuntimeOptions>>,
    /// What lies around the folder, as it was when the running turn began.
    pub(crate) surroundings: Surroundings,
    /// What the user was told of files that cannot be used, each once.
    pub(crate) problems_told: HashSet<String>,
    /// What requests begin with, in common with the other sessions of the runtime.
    pub(crate) prefixes: Arc<SharedPrefixes>,
    /// Tokens that servers used of the running round, not recorded yet.
    pub(crate) sampled: Spent,
    /// Whether the user was told that the end of the context is near.
    pub(crate) warned: bool,
    /// Stores the running turn's prompt, while the model is being asked.
    pub(crate) storing: Option<Recording>,
    /// The sessions of the runtime in which no turn runs.
    pub(crate) idle: Arc<IdleSessions>,
}

impl Session {
    /// The settings as they were at the last look.
    pub(crate) fn settings(&self) -> Arc<RuntimeOptions> {
        self.gate.settings.seen()
    }

    /// Looks at the settings again.
    pub(crate) async fn look_at_settings(&self) -> Arc<RuntimeOptions> {
        self.gate.settings.look().await
    }

    /// What the session's events come to.
    pub(crate) fn conversation(&self) -> Arc<Conversation> {
        self.log.conversation()
    }

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
            cwd: self.cwd.clone(),
            files: self.files.clone(),
            tasks: self.tasks.clone(),
            shells: self.shells.clone(),
            outputs: self.outputs.clone(),
            user: Arc::new(User(self.log.client().clone())),
            call: call.clone(),
            progress: Arc::new(move |update: ToolCallUpdate| {
                debug_assert!(
                    update.status.is_none(),
                    "a tool shows progress; its status is the turn's to change"
                );
                log.tell(SessionEvent::ToolCall(update));
            }),
            cancel: cancel.clone(),
            asked,
            confined: ruling.is_confined(),
            limits: self.settings().limits.tools.clone(),
            inner: InnerCalls::default(),
        }
    }

    /// The context of what the user does by himself, outside of any call.
    pub(crate) fn own_context(&self, cancel: &CancellationToken) -> ToolContext {
        ToolContext {
            system: self.gate.system.clone(),
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

    /// Takes changes of files back, between turns.
    pub(crate) async fn rewind(
        &mut self,
        state: &SessionState,
        target: RewindTarget,
    ) -> Result<RewindReport, RewindError> {
        let (report, rewound) = restore(self, state, target, &CancellationToken::new()).await?;
        if let Some(rewound) = rewound {
            self.log.record(vec![SessionEvent::Rewound(rewound)]).await?;
        }
        Ok(report)
    }

    /// A model that was made before the settings changed is made anew.
    pub(crate) fn renew_model(&mut self) {
        let now = self.settings();
        if !self.model_of.as_ref().is_some_and(|then| Arc::ptr_eq(then, &now)) {
            self.current_model = None;
            self.model_of = Some(now);
        }
    }

    /// Bounds the session to its folder and these further ones.
    pub(crate) fn work_in(&mut self, additional: Vec<AbsPath>) {
        if self.additional_directories != additional {
            self.gate.roots = std::iter::once(self.cwd.clone()).chain(additional.clone()).collect();
            self.additional_directories = additional;
        }
    }

    /// What servers used since this was last asked for.
    pub(crate) fn take_sampled(&self) -> Usage {
        std::mem::take(&mut *self.sampled.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Moves tools to the next surface if theirs has gone. What was allowed was allowed where it
    /// ran then.
    pub(crate) fn move_on(&mut self, controls: &Controls) {
        let Some(surface) = self.watchers.moved() else { return };
        let place = policy::expected(&self.settings().sandbox, surface.system.routes().spawn);
        controls.update(|state| state.sandbox = place);
        controls.grants.clear();
        self.own_tools = tools::offered(self.log.client().takes_questions());
        self.own_tools.extend(surface.client.tools());
        self.tools.clone_from(&self.own_tools);
        self.gate.system = surface.system;
    }

    /// Stores events after those that are being stored, if any are. The conversation has them at
    /// once; whoever needs them stored awaits [`Session::stored`].
    pub(crate) fn store_also(&mut self, events: Vec<SessionEvent>) {
        self.storing = Some(match self.storing.take() {
            Some(before) => self.log.record_after(before, events),
            None => self.log.record_ahead(events, || {}),
        });
    }

    /// Completes when the prompt is stored and told of; at once from then on.
    pub(crate) async fn stored(&mut self) -> Result<(), StoreError> {
        let Some(storing) = &mut self.storing else { return Ok(()) };
        let stored = storing.await;
        self.storing = None;
        recorded(stored)
    }

    /// Reads the log, so that the next turn starts from what is really stored. Given up half-way,
    /// it is done again.
    pub(crate) async fn recover(&mut self) -> Result<(), StoreError> {
        self.stored().await?;
        let mut conversation =
            read_log(self.store.as_ref(), &self.id, |event| self.sources.recall(event)).await?;
        let repairs = conversation.repairs();
        repairs.iter().for_each(|repair| conversation.apply(repair));
        self.log.record(repairs).await?;
        conversation.files().for_each(|path| self.files.named(path));
        conversation.share_prefixes(&self.prefixes);
        // What was recorded meanwhile were modes, titles and the like: no part of it.
        self.log.memory().hold(conversation);
        Ok(())
    }
}
