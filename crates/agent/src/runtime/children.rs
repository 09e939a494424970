//! The sessions that the subagents of one root session run in.

use super::{Runtime, handle::SessionHandle, start::Begin};
use crate::{
    NewSession, PromptOutcome, SessionId, SessionState, SubagentWorktree, Surface, TurnError,
    client::watchers::Watchers,
    policy::Grants,
    session::controls::{SettingsModes, StateBound},
    settings::LiveSettings,
    sources::Sources,
    swarm::{ChildSession, ChildSessions, NewChild, worktree},
};
use async_trait::async_trait;
use std::sync::{Arc, Weak};
use system::AbsPath;

/// What the sessions of subagents share with their root session.
#[derive(Clone)]
pub(super) struct Family {
    pub(super) sources: Sources,
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
        };
        let (log, last) =
            runtime.child_log(child.session.as_ref(), &new).await.map_err(|error| error.to_string())?;
        let state = SessionState {
            mode: new.mode,
            permission_mode: new.permission_mode,
            model: new.model,
            effort: root.effort,
            title: Some(child.title.clone()),
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
        worktree::create(surface.system.as_ref(), &self.cwd, &self.root, agent, known).await
    }

    async fn hand_back(&self, worktree: &SubagentWorktree) -> String {
        match self.watchers.current() {
            Some(surface) => worktree::hand_back(surface.system.as_ref(), worktree).await,
            None => format!("Its work is in {}, on branch {}.", worktree.folder, worktree.branch),
        }
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
