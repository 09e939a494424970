//! The parts of a session that can change at any time.

use crate::{
    Effort, Mode, Operator, PermissionMode, RuntimeOptions, SessionEvent, SessionState, SettingsNotice,
    StoreError, TurnError,
    log::SessionLog,
    policy::Grants,
    session::{goal_requests::GoalRequests, steering::Steering, suspension::Suspension},
    settings::LiveSettings,
};
use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};
use system::AbsPath;
use tokio::sync::{Notify, watch};
use tokio_util::sync::CancellationToken;

/// Cancels the running turn directly, ahead of the messages queued in the session's inbox.
#[derive(Debug, Default)]
pub(crate) struct Running {
    cancel: Mutex<Option<CancellationToken>>,
    suspension: Suspension,
}

impl Running {
    /// Cancels the running turn, if any. Queued prompts are cancelled through the inbox.
    pub(crate) fn cancel(&self) {
        if let Some(cancel) = &*self.lock() {
            cancel.cancel();
        }
    }

    /// Returns whether the session is to be suspended.
    pub(crate) fn suspension(&self) -> &Suspension {
        &self.suspension
    }

    /// Begins a turn; returns its cancellation token.
    fn begin(&self) -> CancellationToken {
        self.lock().insert(CancellationToken::new()).clone()
    }

    fn end(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<CancellationToken>> {
        self.cancel.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The modes that a session takes from the settings; `None` once the user has chosen one for it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SettingsModes {
    pub(crate) mode: Option<Mode>,
    pub(crate) permission_mode: Option<PermissionMode>,
}

impl SettingsModes {
    /// Returns the modes that have changed in the settings.
    fn changes(self, now: &RuntimeOptions) -> (Option<Mode>, Option<PermissionMode>) {
        fn other<T: PartialEq>(had: Option<T>, now: T) -> Option<T> {
            had.is_some_and(|had| had != now).then_some(now)
        }
        (other(self.mode, now.start.mode), other(self.permission_mode, now.start.permission_mode))
    }
}

/// The state of a session, bounded by the sessions above it: the mode of a subagent is never looser
/// than that of the agent that requested it, and its permission mode is always that one's.
pub(crate) struct StateBound {
    own: watch::Receiver<SessionState>,
    above: Option<Arc<StateBound>>,
}

impl StateBound {
    pub(crate) fn new(own: watch::Receiver<SessionState>, above: Option<Arc<Self>>) -> Self {
        Self { own, above }
    }

    pub(crate) fn state(&self) -> SessionState {
        let own = self.own.borrow().clone();
        match &self.above {
            None => own,
            Some(above) => {
                let above = above.state();
                let mode = std::cmp::max_by_key(own.mode, above.mode, |mode| strictness(*mode));
                SessionState { mode, permission_mode: above.permission_mode, ..own }
            }
        }
    }
}

fn strictness(mode: Mode) -> u8 {
    match mode {
        Mode::Edit => 0,
        Mode::Plan => 1,
        Mode::Ask => 2,
    }
}

/// The parts of a session that can change at any time, even while a turn runs.
///
/// Modes, model, effort and title change by recorded events. The other fields of [`SessionState`]
/// change here.
pub(crate) struct Controls {
    state: watch::Sender<SessionState>,
    log: SessionLog,
    grants: Arc<Grants>,
    /// Steering messages that the running turn has not taken yet.
    steering: Steering,
    /// Changes of the goal that the running turn has not applied yet.
    goal_requests: GoalRequests,

    settings: Arc<LiveSettings>,
    /// The settings values from which the session's modes were taken.
    settings_modes: Mutex<SettingsModes>,
    running: Arc<Running>,
    /// The state, as the sessions above this one bound it.
    bound: Arc<StateBound>,
    /// Notified when a prompt is queued behind the running turn.
    queued: Queue,
    operator: Option<Arc<dyn Operator>>,
    /// The name of the session's folders, if this process has others.
    elsewhere: Option<String>,
}

/// The prompts that wait for the running turn to end.
#[derive(Debug, Default)]
struct Queue {
    length: AtomicUsize,
    changed: Notify,
}

impl Controls {
    /// Creates the controls of a session. `state` is the sender that `log` applies events to.
    pub(crate) fn new(
        state: watch::Sender<SessionState>,
        log: SessionLog,
        grants: Arc<Grants>,
        settings: Arc<LiveSettings>,
        settings_modes: SettingsModes,
        bound: Arc<StateBound>,
    ) -> Self {
        Self {
            bound,
            queued: Queue::default(),
            state,
            log,
            grants,
            steering: Steering::default(),
            goal_requests: GoalRequests::default(),

            settings,
            settings_modes: Mutex::new(settings_modes),
            running: Arc::default(),
            operator: None,
            elsewhere: None,
        }
    }

    /// Lets an operator decide which prompts run.
    pub(crate) fn operated(self, operator: Option<Arc<dyn Operator>>) -> Self {
        Self { operator, ..self }
    }

    /// Notes the name of the session's folders, if this process has others.
    pub(crate) fn elsewhere(self, elsewhere: Option<String>) -> Self {
        Self { elsewhere, ..self }
    }

    /// Fails if this process has not got the session's folders: nothing of it runs here.
    pub(crate) fn expect_folders(&self) -> Result<(), TurnError> {
        self.elsewhere.clone().map_or(Ok(()), |folders| Err(TurnError::FoldersElsewhere(folders)))
    }

    /// Returns who decides which prompts run, if that is not left to the session.
    pub(crate) fn operator(&self) -> Option<&Arc<dyn Operator>> {
        self.operator.as_ref()
    }

    pub(crate) fn state(&self) -> SessionState {
        self.bound.state()
    }

    /// Updates the number of prompts that wait for the running turn.
    pub(crate) fn set_queued(&self, prompts: usize) {
        self.queued.length.store(prompts, Ordering::Release);
        self.queued.changed.notify_one();
    }

    /// Completes when a prompt waits for the running turn. Cancel-safe.
    pub(crate) async fn prompt_waits(&self) {
        while self.queued.length.load(Ordering::Acquire) == 0 {
            self.queued.changed.notified().await;
        }
    }

    /// Subscribes to the state.
    pub(crate) fn states(&self) -> watch::Receiver<SessionState> {
        self.state.subscribe()
    }

    /// Returns the queue of steering messages for the running turn.
    pub(crate) fn steering(&self) -> &Steering {
        &self.steering
    }

    /// Returns the changes of the goal for the running turn.
    pub(crate) fn goal_requests(&self) -> &GoalRequests {
        &self.goal_requests
    }

    /// Returns whether prompts wait for the end of the running turn.
    pub(crate) fn has_waiting_prompts(&self) -> bool {
        self.queued.length.load(Ordering::Acquire) > 0
    }

    pub(crate) fn log(&self) -> &SessionLog {
        &self.log
    }

    pub(crate) fn settings(&self) -> &Arc<LiveSettings> {
        &self.settings
    }

    pub(crate) fn running(&self) -> &Arc<Running> {
        &self.running
    }

    /// Returns whether the session is to be suspended.
    pub(crate) fn suspension(&self) -> &Suspension {
        self.running.suspension()
    }

    /// Begins a turn: marks the session busy and returns the token that cancels the turn. One turn
    /// runs at a time.
    pub(crate) fn begin_turn(&self) -> CancellationToken {
        let cancel = self.running.begin();
        self.update(|state| state.busy = true);
        cancel
    }

    /// Ends the turn: the session is no longer busy, and a cancel has no effect.
    pub(crate) fn end_turn(&self) {
        self.running.end();
        self.update(|state| state.busy = false);
    }

    /// Updates where commands run and what confines them.
    pub(crate) fn commands_run(&self, sandbox: String) {
        self.update(|state| state.sandbox = sandbox);
    }

    /// Clears the grants, because tools now act somewhere else, where `sandbox` confines commands.
    pub(crate) fn moved(&self, sandbox: String) {
        self.commands_run(sandbox);
        self.grants.clear();
    }

    fn update(&self, change: impl FnOnce(&mut SessionState)) {
        self.state.send_modify(change);
    }

    /// Reloads the settings, emits their news, and applies changed modes, unless the user has
    /// chosen a mode for the session.
    pub(crate) async fn follow_settings(&self) {
        let now = self.settings.reload().await;
        for SettingsNotice { severity, title, description } in self.settings.notices() {
            self.log.notify(SessionEvent::Notice { severity, title, description });
        }
        let (mode, permission_mode) = self.settings_modes().changes(&now);
        let recorded = async {
            if let Some(mode) = permission_mode {
                self.change_permission_mode(mode).await?;
                self.settings_modes().permission_mode = Some(mode);
            }
            if let Some(mode) = mode {
                self.change_mode(mode).await?;
                self.settings_modes().mode = Some(mode);
            }
            Ok::<_, StoreError>(())
        };
        // The next reload retries this. A store that fails ends the turn at the next event that has
        // to be recorded.
        if let Err(error) = recorded.await {
            tracing::warn!(%error, "a mode that follows the settings could not be recorded");
        }
    }

    fn settings_modes(&self) -> MutexGuard<'_, SettingsModes> {
        self.settings_modes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn set_mode(&self, mode: Mode) -> Result<(), StoreError> {
        self.settings_modes().mode = None;
        self.change_mode(mode).await
    }

    async fn change_mode(&self, mode: Mode) -> Result<(), StoreError> {
        self.log.record(vec![SessionEvent::ModeChanged(mode)]).await
    }

    pub(crate) async fn set_permission_mode(&self, mode: PermissionMode) -> Result<(), StoreError> {
        self.settings_modes().permission_mode = None;
        self.change_permission_mode(mode).await
    }

    async fn change_permission_mode(&self, mode: PermissionMode) -> Result<(), StoreError> {
        self.grants.clear();
        // The new mode takes effect immediately, recorded or not; no request shows it to the model.
        self.update(|state| state.permission_mode = mode);
        self.log.record(vec![SessionEvent::PermissionModeChanged(mode)]).await
    }

    pub(crate) async fn set_effort(&self, effort: Option<Effort>) -> Result<(), StoreError> {
        self.log.record(vec![SessionEvent::EffortChanged(effort)]).await
    }

    pub(crate) async fn set_title(&self, title: String) -> Result<(), StoreError> {
        self.log.record(vec![SessionEvent::TitleChanged(title)]).await
    }

    pub(crate) async fn set_directories(&self, folders: Vec<AbsPath>) -> Result<(), StoreError> {
        if self.state.borrow().additional_directories == folders {
            return Ok(());
        }
        self.log.set_directories(folders.clone()).await?;
        self.update(|state| state.additional_directories = folders);
        Ok(())
    }

    pub(crate) async fn set_model(&self, id: &str) -> Result<(), StoreError> {
        self.log.record(vec![SessionEvent::ModelChanged(id.to_owned())]).await
    }
}
