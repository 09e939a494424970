//! The sessions that the subagents of one root session run in.

use super::{Runtime, handle::SessionHandle, ready, start::Begin};
use crate::{
    NewSession, ProjectPrograms, PromptOutcome, ReadableDirectories, SessionEvent, SessionId, SessionState,
    StoreError, SubagentState, SubagentStatus, SubagentWorktree, Surface, SwarmState, TurnError,
    client::watchers::Watchers,
    gate::project_programs,
    log::leased::LeasedLog,
    policy::Grants,
    session::controls::{SettingsModes, StateBound},
    settings::LiveSettings,
    sources::Sources,
    swarm::{ChildSession, ChildSessions, NewChild, unix_time_ms, worktree},
};
use async_trait::async_trait;
use std::sync::{Arc, Weak};
use system::AbsPath;

/// What the sessions of subagents share with their root session.
#[derive(Clone)]
pub(super) struct Family {
    pub(super) sources: Sources,
    /// Directories that the sources let all of them read.
    pub(super) readable: ReadableDirectories,
    pub(super) grants: Arc<Grants>,
    pub(super) settings: Arc<LiveSettings>,
}

/// What a session is, if it is a subagent's.
pub(super) struct ChildOf {
    pub(super) family: Family,
    /// The state of the session that requested it.
    pub(super) bound: Option<Arc<StateBound>>,
    pub(super) node: Arc<crate::swarm::Node>,
}

/// Creates and opens the sessions of one root session's subagents.
pub(super) struct Children {
    pub(super) runtime: Weak<Runtime>,
    pub(super) root: SessionId,
    pub(super) cwd: AbsPath,
    pub(super) watchers: Arc<Watchers>,
    pub(super) state: Arc<StateBound>,
    pub(super) family: Family,
    /// Locked while a worktree is created or removed, with the folder of all.
    pub(super) worktrees: tokio::sync::Mutex<()>,
}

const CLOSED: &str = "the session is being closed";

#[async_trait]
impl ChildSessions for Children {
    async fn open(&self, child: NewChild) -> Result<Arc<dyn ChildSession>, String> {
        let runtime = self.runtime.upgrade().ok_or(CLOSED)?;
        let surface = self.watchers.current().ok_or(CLOSED)?;
        let root = self.state.state();
        let cwd =
            child.worktree.as_ref().map_or_else(|| self.cwd.clone(), |worktree| worktree.folder.clone());
        let new = NewSession {
            id: SessionId::fresh(),
            cwd: cwd.clone(),
            additional_directories: root.additional_directories.clone(),
            model: child.model.clone().unwrap_or(root.model),
            mode: child.mode,
            permission_mode: root.permission_mode,
            parent: Some(self.root.clone()),
            owner: None,
        };
        let (log, last) =
            runtime.child_log(child.session.as_ref(), &new).await.map_err(|error| error.to_string())?;
        let state = SessionState {
            mode: new.mode,
            permission_mode: new.permission_mode,
            model: new.model,
            effort: root.effort,
            title: Some(child.title.clone()),
            branch: None,
            additional_directories: new.additional_directories,
            sandbox: String::new(),
            busy: false,
        };
        let begin = Begin {
            cwd,
            state,
            last,
            servers: Vec::new(),
            settings: self.family.settings.clone(),
            settings_modes: SettingsModes::default(),
            child: Some(ChildOf { family: self.family.clone(), bound: child.bound, node: child.node }),
            elsewhere: None,
            place: None,
        };
        let surface = Surface { client: child.client, system: surface.system };
        Ok(Arc::new(runtime.start(begin, log, surface)))
    }

    async fn isolate(
        &self,
        agent: &str,
        known: Option<&SubagentWorktree>,
    ) -> Result<SubagentWorktree, String> {
        let surface = self.watchers.current().ok_or(CLOSED)?;
        let _alone = self.worktrees.lock().await;
        let place = self.programs();
        worktree::create(&surface.system, &place, &self.root, agent, known).await
    }

    async fn hand_back(&self, worktree: &SubagentWorktree) -> String {
        let _alone = self.worktrees.lock().await;
        match self.watchers.current() {
            Some(surface) => worktree::hand_back(&surface.system, &self.programs(), worktree).await,
            None => format!("Its work is in {}, on branch {}.", worktree.folder, worktree.branch),
        }
    }
}

impl Children {
    /// Returns the place in which git runs.
    fn programs(&self) -> ProjectPrograms {
        let state = self.state.state();
        let options = self.family.settings.seen();
        project_programs(&options, &self.root, &self.cwd, &state.additional_directories)
    }
}

impl Runtime {
    /// Returns the subagents of a session, open or not. Those that were at work when their process
    /// ended are interrupted. Reads the whole log.
    pub async fn subagents(&self, id: &SessionId) -> Result<SwarmState, StoreError> {
        let record = self.store.get(id).await?;
        let live = self.find(id).map(|handle| handle.subagents()).unwrap_or_default();
        let mut agents: Vec<SubagentState> = Vec::new();
        let mut each = |event: &SessionEvent| {
            if let SessionEvent::Subagent(state) = event {
                put(&mut agents, SubagentState::clone(state));
            }
        };
        self.replay(id, &mut each).await?;
        for agent in agents.iter_mut().filter(|agent| !agent.progress.status.is_final()) {
            agent.progress.status = SubagentStatus::Interrupted;
        }
        live.agents.into_iter().for_each(|agent| put(&mut agents, agent));
        let model = record.controls.model;
        Ok(SwarmState { at: unix_time_ms(), model, agents, contexts: live.contexts })
    }

    /// Takes the log of a subagent's session: a new session, one that it had before, or a copy of
    /// one that belongs to another root session, which was forked. Returns the number of its last
    /// event.
    async fn child_log(
        &self,
        session: Option<&SessionId>,
        new: &NewSession,
    ) -> Result<(LeasedLog, u64), StoreError> {
        let Some(known) = session else { return Ok((self.log(self.store.create(new.clone()).await?), 0)) };
        let is_own = self.store.parent(known).await? == new.parent;
        let lease = match is_own {
            true => self.store.acquire(known, true).await?,
            false => self.store.fork(known, new.clone()).await?,
        };
        let log = self.log(lease);
        let ended = async {
            let record = self.store.get(log.session()).await?;
            ready(&log, &record, None, false).await
        };
        match ended.await {
            Ok(ready) => Ok((log, ready.last)),
            Err(error) => {
                log.give_back().await;
                Err(error)
            }
        }
    }
}

/// Adds a subagent's state, or replaces the one before.
fn put(agents: &mut Vec<SubagentState>, state: SubagentState) {
    match agents.iter_mut().find(|known| known.id == state.id) {
        Some(known) => *known = state,
        None => agents.push(state),
    }
}

#[async_trait]
impl ChildSession for SessionHandle {
    fn session(&self) -> &SessionId {
        self.id()
    }

    async fn run(&self, text: String) -> Result<PromptOutcome, TurnError> {
        self.prompt(vec![crate::Content::text(text)]).await
    }

    fn stop(&self) {
        self.cancel();
    }

    async fn end(&self) {
        self.close().await;
    }
}
