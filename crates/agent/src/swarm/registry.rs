//! The subagents that a swarm knows.

use super::changes::{CallChanges, ShownChanges};
use crate::{SubagentState, ToolCallId};
use serde_json::Value;
use std::{collections::HashMap, sync::Arc};
use tokio_util::sync::CancellationToken;

/// The subagents of a swarm, in the order they were requested.
#[derive(Default)]
pub(super) struct Registry {
    agents: Vec<Agent>,
    index: HashMap<String, usize>,
    groups: HashMap<String, Arc<tokio::sync::Mutex<()>>>,
    /// The calls that wait for subagents, with the function that shows their progress.
    pub(super) waiting: Vec<WaitingCall>,
    /// The changes of files below the calls of the root session.
    pub(super) changes: CallChanges,
    /// Whether a task shows the subagents to clients.
    pub(super) is_shown: bool,
}

/// A call that waits for its subagents.
pub(super) struct WaitingCall {
    /// The subagent whose session made the call; `None` for the root session.
    pub(super) requester: Option<String>,
    /// Its id, which is unique in that session.
    pub(super) id: ToolCallId,
    pub(super) agents: Vec<String>,
    /// Whether it requested a batch, even of one.
    pub(super) is_batch: bool,
    pub(super) progress: Arc<dyn Fn(crate::ToolCallUpdate) + Send + Sync>,
}

/// A subagent.
pub(super) struct Agent {
    pub(super) state: SubagentState,
    /// Its run in this process; `None` if it has ended, or never ran in this process.
    pub(super) run: Option<LiveRun>,
    /// Tokens in its context, and their share of the context's size in percent.
    pub(super) context: (u64, f64),
    /// How often results were removed from its context, and how often it was compacted.
    pub(super) shortened: (u64, u64),
}

/// A subagent's run in this process.
pub(super) struct LiveRun {
    /// The call that requested it.
    pub(super) call: ToolCallId,
    /// The arguments of the request.
    pub(super) args: Value,
    pub(super) cancel: CancellationToken,
}

impl Agent {
    pub(super) fn new(state: SubagentState, run: Option<LiveRun>) -> Self {
        Self { state, run, context: (0, 0.0), shortened: (0, 0) }
    }

    /// Whether it runs or waits in this process.
    pub(super) fn is_live(&self) -> bool {
        self.run.is_some()
    }
}

impl Registry {
    pub(super) fn agents(&self) -> &[Agent] {
        &self.agents
    }

    pub(super) fn get(&self, id: &str) -> Option<&Agent> {
        self.index.get(id).map(|at| &self.agents[*at])
    }

    pub(super) fn get_mut(&mut self, id: &str) -> Option<&mut Agent> {
        self.index.get(id).map(|at| &mut self.agents[*at])
    }

    /// Adds a subagent, or replaces the one with its id, which is returned.
    pub(super) fn put(&mut self, agent: Agent) -> Option<Agent> {
        if let Some(at) = self.index.get(&agent.state.id) {
            return Some(std::mem::replace(&mut self.agents[*at], agent));
        }
        self.index.insert(agent.state.id.clone(), self.agents.len());
        self.agents.push(agent);
        None
    }

    /// Removes a subagent.
    pub(super) fn remove(&mut self, id: &str) {
        self.agents.retain(|agent| agent.state.id != id);
        let ids = self.agents.iter().enumerate();
        self.index = ids.map(|(at, agent)| (agent.state.id.clone(), at)).collect();
    }

    /// Returns the lock of a group: its subagents run one after the other.
    pub(super) fn group(&mut self, name: &str) -> Arc<tokio::sync::Mutex<()>> {
        self.groups.entry(name.to_owned()).or_default().clone()
    }

    /// Returns the subagents that `parent` requested.
    pub(super) fn of_parent<'a>(&'a self, parent: Option<&'a str>) -> impl Iterator<Item = &'a Agent> {
        self.agents.iter().filter(move |agent| agent.state.place.parent.as_deref() == parent)
    }

    /// Returns the states of a subagent's descendants.
    pub(super) fn descendants(&self, id: &str) -> Vec<SubagentState> {
        let mut found: Vec<SubagentState> = Vec::new();
        // Children come after their parents.
        for agent in &self.agents {
            let parent = agent.state.place.parent.as_deref();
            if parent == Some(id) || found.iter().any(|known| Some(known.id.as_str()) == parent) {
                found.push(agent.state.clone());
            }
        }
        found
    }

    /// Whether any subagent runs or waits.
    pub(super) fn is_busy(&self) -> bool {
        self.agents.iter().any(Agent::is_live)
    }

    /// Returns the call of the root session below which a subagent runs, with the subagent that the
    /// call itself requested.
    pub(super) fn root_call(&self, id: &str) -> Option<(ToolCallId, String)> {
        let mut agent = self.get(id)?;
        while let Some(parent) = &agent.state.place.parent {
            agent = self.get(parent)?;
        }
        Some((agent.run.as_ref()?.call.clone(), agent.state.id.clone()))
    }

    /// Takes the changes of a subagent that has ended, if the call that requested it ended before.
    pub(super) fn late_changes(&mut self, id: &str) -> Option<(ToolCallId, ShownChanges)> {
        let (call, _) = self.root_call(id).filter(|(_, top)| top == id)?;
        if self.waiting.iter().any(|waiting| waiting.requester.is_none() && waiting.id == call) {
            return None;
        }
        let shown = self.changes.take_of(&call, id);
        (!shown.is_empty()).then_some((call, shown))
    }
}
