//! Assembles a session and starts its task.

use super::{
    Runtime,
    children::{ChildOf, Children, Family},
    handle::SessionHandle,
    task::SessionTask,
};
use crate::{
    ClientServer, FileTracker, Place, SessionResources, SessionScope, SessionState, Shells, SubagentAccess,
    Surface,
    client::watchers::Watchers,
    gate::{
        Gate, network,
        network::{ConnectionsOf, SessionServers},
        project_programs,
    },
    history::memory::Memory,
    log::{SessionLog, leased::LeasedLog},
    policy,
    session::{
        Session,
        controls::{Controls, SettingsModes, StateBound},
        models::SessionModels,
        toolbox::Toolbox,
    },
    settings::LiveSettings,
    sources::Sources,
    swarm::{Node, OwnSession, Root, Swarm},
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
    /// What it shares with its root session, if it is the session of a subagent.
    pub(super) child: Option<ChildOf>,
    /// Counts the session among those that are open.
    pub(super) place: Option<Place>,
    /// The name of its folders, if this process has others.
    pub(super) elsewhere: Option<String>,
}

impl Runtime {
    /// Starts the task of a session.
    pub(super) fn start(self: &Arc<Self>, begin: Begin, log: LeasedLog, surface: Surface) -> SessionHandle {
        let Begin { cwd, mut state, last, servers, settings, settings_modes, child, place, elsewhere } =
            begin;
        let id = log.session().clone();
        let models = settings.models().unwrap_or_else(|| self.models.clone());
        let models = match &self.operator {
            Some(operator) => operator.models(models),
            None => models,
        };
        let operator = self.operator.clone().filter(|_| child.is_none());
        state.sandbox = policy::expected(&settings.seen().sandbox, surface.system.routes().spawn);
        let mut tools = tools::offered(
            surface.client.takes_questions(),
            settings.seen().prompt.memories.enabled,
            surface.system.editor_is_remote(),
        );
        tools.extend(surface.client.tools());
        let readable = child.as_ref().map(|child| child.family.readable.clone()).unwrap_or_default();
        let watchers = Arc::new(Watchers::new(surface.clone()));
        // A log with events is read before the first turn.
        let memory = if last == 0 { Memory::empty() } else { Arc::default() };
        let folders = state.additional_directories.clone();
        let state = watch::Sender::new(state);
        let log = SessionLog::new(log, watchers.clone(), last, memory, state.clone());
        let grants = child.as_ref().map_or_else(Arc::default, |child| child.family.grants.clone());
        let above = child.as_ref().and_then(|child| child.bound.clone());
        let bound = Arc::new(StateBound::new(state.subscribe(), above));
        let connections = ConnectionsOf::session(&id, log.clone(), grants.clone(), settings.clone(), {
            let bound = Arc::clone(&bound);
            Arc::new(move || bound.state())
        });
        // A subagent uses the servers of its root session.
        let servers_network = connections.clone().filter(|_| child.is_none()).map(|connections| {
            let roots = std::iter::once(&cwd).chain(&folders).cloned().collect();
            SessionServers::new(connections, network::Place { system: surface.system.clone(), roots })
        });
        let sources = match &child {
            Some(child) => child.family.sources.clone(),
            None => {
                let (id, cwd, readable) = (id.clone(), cwd.clone(), readable.clone());
                let folders = folders.clone();
                let programs = project_programs(&settings.seen(), &id, &cwd, &folders)
                    .with_servers(servers_network.clone().map(|servers| servers as _));
                self.tool_providers.open(&SessionScope { id, cwd, programs, servers, readable })
            }
        };
        let own_sources = child.is_none().then(|| sources.clone());
        let family = Family {
            sources: sources.clone(),
            readable: readable.clone(),
            grants: grants.clone(),
            settings: settings.clone(),
        };
        let node = match child {
            Some(child) => child.node,
            None => {
                let root = Root { log: log.clone(), settings: settings.clone(), state: bound.clone() };
                let children = Children {
                    worktrees: tokio::sync::Mutex::default(),
                    runtime: Arc::downgrade(self),
                    root: id.clone(),
                    cwd: cwd.clone(),
                    watchers: watchers.clone(),
                    state: bound.clone(),
                    family,
                };
                Arc::new(Node::root(Swarm::new(root, Arc::new(children), self.slots.clone())))
            }
        };
        let controls = Controls::new(
            state,
            log.clone(),
            grants.clone(),
            settings.clone(),
            settings_modes,
            bound.clone(),
        )
        .operated(operator)
        .elsewhere(elsewhere);
        let gate = Gate::new(&id, surface.system, log.clone(), grants, settings, &cwd, folders)
            .with_readable(readable)
            .with_network(connections.as_ref(), servers_network);
        let toolbox = Toolbox::new(tools, sources.clone(), self.prefixes.clone());
        let models_of = SessionModels::new(models.clone());
        let resources = SessionResources {
            files: Arc::new(FileTracker::new(self.editor_files.clone())),
            shells: Arc::new(Shells::of(id.clone(), self.kept_shells.clone())),
            subagents: SubagentAccess(Some(node.clone())),
            ..SessionResources::default()
        };
        let session = Session::new(id, cwd, log, gate, toolbox, models_of, resources);
        node.connect(OwnSession { state: bound, outputs: session.outputs().clone() });
        let (inbox, messages) = mpsc::unbounded_channel();
        let handle = SessionHandle::new(&session, &controls, inbox, models, watchers.clone())
            .of_subagent(own_sources.is_none());
        self.sessions().insert(handle.id().clone(), handle.clone());
        let task = SessionTask::new(session, controls, watchers, self.idle.clone(), messages);
        self.spawn(task, handle.clone(), own_sources, place);
        handle
    }

    /// Runs a session's task. Once it has ended, the session can be opened again.
    fn spawn(
        self: &Arc<Self>,
        task: SessionTask,
        started: SessionHandle,
        sources: Option<Sources>,
        place: Option<Place>,
    ) {
        let runtime = self.clone();
        // Boxed: the future is large, and would be moved many times on its way into the task.
        let running = Box::pin(task.run());
        tokio::spawn(async move {
            let ended = AssertUnwindSafe(running).catch_unwind().await;
            // The sources of a subagent belong to its root session.
            if let Some(sources) = sources {
                sources.close().await;
            }
            let id = started.id();
            {
                let mut open = runtime.sessions();
                // The session may have been opened again meanwhile.
                if open.get(id).is_some_and(|open| open.is(&started)) {
                    open.remove(id);
                }
            }
            drop(place);
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
