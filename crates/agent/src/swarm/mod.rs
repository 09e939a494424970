//! The subagents of a session: a tree of sessions that work on tasks for it.
//!
//! A [`Swarm`] belongs to one root session and knows all its subagents, at every level. Each
//! requesting session has a [`Node`], through which its `subagent` tool starts them and receives
//! their results. A subagent runs in a task of its own: it waits for what it depends on, for its
//! group and for a slot, and then prompts a session of its own.
//!
//! Architecture Invariant: the log of the root session has every request and every end of a
//! subagent, before it has an effect. A subagent that ended keeps its result; one that did not is
//! interrupted when the process ends, and runs again only if it is resumed.

mod asked;
mod changes;
mod child;
mod child_client;
mod display;
mod failure;
mod kind;
mod node;
mod registry;
mod request;
mod results;
mod run;
mod slots;
mod watchdog;
pub(crate) mod worktree;

pub(crate) use child::{ChildSession, ChildSessions, NewChild};
pub(crate) use node::{Node, OwnSession};
pub(crate) use slots::Slots;

use crate::{
    SessionEvent, StoreError, SubagentState, SubagentStatus, SwarmEvent, log::SessionLog,
    session::controls::StateBound, settings::LiveSettings,
};
use registry::Registry;
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::SystemTime,
};
use tokio::sync::Notify;

/// The subagents of one root session.
pub(crate) struct Swarm {
    root: Root,
    sessions: Arc<dyn ChildSessions>,
    slots: Arc<Slots>,
    registry: Mutex<Registry>,
    /// Notified when something has changed that clients are shown.
    changed: Notify,
    /// Notified when a subagent has ended.
    ended: Notify,
}

/// The root session of a swarm.
pub(crate) struct Root {
    pub(crate) log: SessionLog,
    pub(crate) settings: Arc<LiveSettings>,
    pub(crate) state: Arc<StateBound>,
}

impl Swarm {
    pub(crate) fn new(root: Root, sessions: Arc<dyn ChildSessions>, slots: Arc<Slots>) -> Arc<Self> {
        Arc::new(Self {
            root,
            sessions,
            slots,
            registry: Mutex::default(),
            changed: Notify::new(),
            ended: Notify::new(),
        })
    }

    fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state of a subagent, live only.
    fn update(&self, id: &str, change: impl FnOnce(&mut SubagentState)) {
        if let Some(agent) = self.registry().get_mut(id) {
            change(&mut agent.state);
        }
        self.changed.notify_one();
    }

    /// Changes the state of a subagent and records it.
    async fn record(&self, id: &str, change: impl FnOnce(&mut SubagentState)) -> Result<(), StoreError> {
        let state = {
            let mut registry = self.registry();
            let Some(agent) = registry.get_mut(id) else { return Ok(()) };
            change(&mut agent.state);
            agent.state.clone()
        };
        self.changed.notify_one();
        self.root.log.record(vec![SessionEvent::Subagent(Box::new(state))]).await
    }

    fn notify(&self, event: SwarmEvent) {
        self.root.log.notify(SessionEvent::Swarm(event));
    }

    /// Waits until a subagent has ended.
    async fn until_ended(&self, id: &str) {
        loop {
            let mut ended = std::pin::pin!(self.ended.notified());
            ended.as_mut().enable();
            if self.registry().get(id).is_none_or(|agent| !agent.is_live()) {
                return;
            }
            ended.await;
        }
    }

    fn status(&self, id: &str) -> Option<SubagentStatus> {
        self.registry().get(id).map(|agent| agent.state.progress.status)
    }
}

/// Returns the time in milliseconds since the epoch.
pub(crate) fn unix_time_ms() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
