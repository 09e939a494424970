//! What can be changed of a session at any time.

use crate::{
    Effort, Mode, PermissionMode, RuntimeOptions, SessionEvent, SessionState, SettingsNews, StoreError,
    log::SessionLog, policy::Grants, session::steering::Steering, settings::Live,
};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use system::AbsPath;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What cancels the running turn, past the messages that wait in the session's inbox.
#[derive(Debug, Default)]
pub(crate) struct Running(Mutex<Option<CancellationToken>>);

impl Running {
    /// Cancels the turn that runs, if one does. Prompts that wait are the inbox's business.
    pub(crate) fn cancel(&self) {
        if let Some(cancel) = &*self.lock() {
            cancel.cancel();
        }
    }

    /// A turn begins; what cancels it.
    fn begin(&self) -> CancellationToken {
        self.lock().insert(CancellationToken::new()).clone()
    }

    fn end(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The modes that a session has from the settings; `None` once somebody has chosen one for it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Heeded {
    pub(crate) mode: Option<Mode>,
    pub(crate) permission_mode: Option<PermissionMode>,
}

impl Heeded {
    /// The modes that the settings have now, where they have become others.
    fn news(self, now: &RuntimeOptions) -> (Option<Mode>, Option<PermissionMode>) {
        fn other<T: PartialEq>(had: Option<T>, now: T) -> Option<T> {
            had.is_some_and(|had| had != now).then_some(now)
        }
        (other(self.mode, now.mode), other(self.permission_mode, now.permission_mode))
    }
}

/// What can be changed of a session at any time, a running turn included.
///
/// Modes, model, effort and title change by recorded events. What else a client sees of the session's state
/// ([`SessionState`]) changes here.
pub(crate) struct Controls {
    state: watch::Sender<SessionState>,
    log: SessionLog,
    grants: Arc<Grants>,
    /// What was said to the running turn and did not reach it yet.
    steering: Steering,
    settings: Arc<Live>,
    /// What the session's modes were made from.
    heeded: Mutex<Heeded>,
    running: Arc<Running>,
}

impl Controls {
    /// The controls of a session. `state` is the sender that `log` applies events to.
    pub(crate) fn new(
        state: watch::Sender<SessionState>,
        log: SessionLog,
        grants: Arc<Grants>,
        settings: Arc<Live>,
        heeded: Heeded,
    ) -> Self {
        Self {
            state,
            log,
            grants,
            steering: Steering::default(),
            settings,
            heeded: Mutex::new(heeded),
            running: Arc::default(),
        }
    }

    pub(crate) fn state(&self) -> SessionState {
        self.state.borrow().clone()
    }

    /// The state, and each that follows.
    pub(crate) fn states(&self) -> watch::Receiver<SessionState> {
        self.state.subscribe()
    }

    /// What the user says to the running turn.
    pub(crate) fn steering(&self) -> &Steering {
        &self.steering
    }

    pub(crate) fn settings(&self) -> &Arc<Live> {
        &self.settings
    }

    pub(crate) fn running(&self) -> &Arc<Running> {
        &self.running
    }

    /// Begins a turn: the session is busy, and the result cancels the turn. One turn runs at a time.
    pub(crate) fn begin_turn(&self) -> CancellationToken {
        let cancel = self.running.begin();
        self.update(|state| state.busy = true);
        cancel
    }

    /// Ends the turn: the session is no longer busy, and a cancel finds nothing.
    pub(crate) fn end_turn(&self) {
        self.running.end();
        self.update(|state| state.busy = false);
    }

    /// Notes where commands run and what confines them.
    pub(crate) fn commands_run(&self, sandbox: String) {
        self.update(|state| state.sandbox = sandbox);
    }

    /// Forgets what was allowed, because tools act somewhere else from now on, where `sandbox` confines commands.
    pub(crate) fn moved(&self, sandbox: String) {
        self.commands_run(sandbox);
        self.grants.clear();
    }

    fn update(&self, change: impl FnOnce(&mut SessionState)) {
        self.state.send_modify(change);
    }

    /// Looks at the settings, tells what has become of them, and has the session follow them: a
    /// mode that nobody has chosen is the settings'.
    pub(crate) async fn heed_settings(&self) {
        let now = self.settings.look().await;
        for SettingsNews { severity, title, description } in self.settings.news() {
            self.log.tell(SessionEvent::Notice { severity, title, description });
        }
        let (mode, permission_mode) = self.heeded().news(&now);
        let recorded = async {
            if let Some(mode) = permission_mode {
                self.change_permission_mode(mode).await?;
                self.heeded().permission_mode = Some(mode);
            }
            if let Some(mode) = mode {
                self.change_mode(mode).await?;
                self.heeded().mode = Some(mode);
            }
            Ok::<_, StoreError>(())
        };
        // It is tried again with the next look. A store that fails ends the turn at the next thing
        // that has to be recorded.
        if let Err(error) = recorded.await {
            tracing::warn!(%error, "a mode that follows the settings could not be recorded");
        }
    }

    fn heeded(&self) -> MutexGuard<'_, Heeded> {
        self.heeded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn set_mode(&self, mode: Mode) -> Result<(), StoreError> {
        self.heeded().mode = None;
        self.change_mode(mode).await
    }

    async fn change_mode(&self, mode: Mode) -> Result<(), StoreError> {
        self.log.record(vec![SessionEvent::ModeChanged(mode)]).await
    }

    pub(crate) async fn set_permission_mode(&self, mode: PermissionMode) -> Result<(), StoreError> {
        self.heeded().permission_mode = None;
        self.change_permission_mode(mode).await
    }

    async fn change_permission_mode(&self, mode: PermissionMode) -> Result<(), StoreError> {
        self.grants.clear();
        // What is allowed holds at once, recorded or not; no request tells the model of it.
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
