//! Assembles a session and starts its task.

use super::{Runtime, handle::SessionHandle, task::SessionTask};
use crate::{
    ClientServer, SessionScope, SessionState, Surface,
    client::watchers::Watchers,
    gate::Gate,
    history::memory::Memory,
    log::{SessionLog, leased::LeasedLog},
    policy::{self, Grants},
    session::{
        Session,
        controls::{Controls, SettingsModes},
        models::SessionModels,
        toolbox::Toolbox,
    },
    settings::LiveSettings,
    sources::Sources,
    text::panic::panic_text,
    tools,
};
use futures::FutureExt as _;
use std::{panic::AssertUnwindSafe, sync::Arc};
use system::AbsPath;
use tokio::sync::{mpsc, watch};

/// The initial values of a session.
pub(super) struct Begin {
    pub(super) cwd: AbsPath,
    pub(super) state: SessionState,
    /// Number of the last event that the client does not need to receive.
    pub(super) last: u64,
    pub(super) servers: Vec<ClientServer>,
    pub(super) settings: Arc<LiveSettings>,
    pub(super) settings_modes: SettingsModes,
}

impl Runtime {
    /// Starts the task of a session.
    pub(super) fn start(self: &Arc<Self>, begin: Begin, log: LeasedLog, surface: Surface) -> SessionHandle {
        let Begin { cwd, mut state, last, servers, settings, settings_modes } = begin;
        let id = log.session().clone();
        let models = settings.models().unwrap_or_else(|| self.models.clone());
        state.sandbox = policy::expected(&settings.seen().sandbox, surface.system.routes().spawn);
        let mut tools = tools::offered(surface.client.takes_questions());
        tools.extend(surface.client.tools());
        let scope = SessionScope { id: id.clone(), cwd: cwd.clone(), servers };
        let sources = self.tool_providers.open(&scope);
        let watchers = Arc::new(Watchers::new(surface.clone()));
        // A log with events is read before the first turn.
        let memory = if last == 0 { Memory::empty() } else { Arc::default() };
        let folders = state.additional_directories.clone();
        let state = watch::Sender::new(state);
        let log = SessionLog::new(log, watchers.clone(), last, memory, state.clone());
        let grants = Arc::new(Grants::default());
        let controls = Controls::new(state, log.clone(), grants.clone(), settings.clone(), settings_modes);
        let gate = Gate::new(&id, surface.system, log.clone(), grants, settings, &cwd, folders);
        let toolbox = Toolbox::new(tools, sources.clone(), self.prefixes.clone());
        let own_models = SessionModels::new(models.clone());
        let kept = self.kept_shells.clone();
        let session = Session::new(id, cwd, log, gate, toolbox, own_models, kept);
        let (inbox, messages) = mpsc::unbounded_channel();
        let handle = SessionHandle::new(&session, &controls, inbox, models, watchers.clone());
        self.sessions().insert(handle.id().clone(), handle.clone());
        let task = SessionTask::new(session, controls, watchers, self.idle.clone(), messages);
        self.spawn(task, handle.clone(), sources);
        handle
    }

    /// Runs a session's task. Once it has ended, the session can be opened again.
    fn spawn(self: &Arc<Self>, task: SessionTask, started: SessionHandle, sources: Sources) {
        let runtime = self.clone();
        // Boxed: the future is large, and would be moved many times on its way into the task.
        let running = Box::pin(task.run());
        tokio::spawn(async move {
            let ended = AssertUnwindSafe(running).catch_unwind().await;
            sources.close().await;
            let id = started.id();
            {
                let mut open = runtime.sessions();
                // The session may have been opened again meanwhile.
                if open.get(id).is_some_and(|open| open.is(&started)) {
                    open.remove(id);
                }
            }
            match ended {
                // The receivers may have been dropped.
                Ok(closing) => closing.into_iter().for_each(|closed| {
                    let _ = closed.send(());
                }),
                Err(panic) => {
                    let text = panic_text(panic.as_ref());
                    tracing::error!(session = %id, text, "a session's task panicked; the session can be opened again");
                }
            }
        });
    }
}
