//! Shows the swarm to the clients of the root session: snapshots while it is at work, and the
//! progress of the calls that wait for it.

use super::{Swarm, changes::ShownChanges, registry::WaitingCall, results, unix_time_ms};
use crate::{SubagentState, SwarmContexts, SwarmEvent, SwarmState, ToolCallUpdate, limits::SWARM_EVERY};
use std::sync::Arc;

impl Swarm {
    /// Starts to show the swarm, unless that runs already. Ends when no subagent is left at work.
    pub(super) fn show(self: &Arc<Self>) {
        if std::mem::replace(&mut self.registry().is_shown, true) {
            return;
        }
        let swarm = self.clone();
        tokio::spawn(async move {
            loop {
                swarm.changed.notified().await;
                swarm.show_now();
                {
                    let mut registry = swarm.registry();
                    if !registry.is_busy() {
                        registry.is_shown = false;
                        return;
                    }
                }
                tokio::time::sleep(SWARM_EVERY).await;
            }
        });
    }

    fn show_now(&self) {
        let state = self.snapshot();
        let progress: Vec<_> = {
            let registry = self.registry();
            let line = |state: &SubagentState| match progress_below(&registry.descendants(&state.id)) {
                Some(below) => format!("{}\n  {below}", results::line(state)),
                None => results::line(state),
            };
            let update = |call: &WaitingCall| {
                let states =
                    || call.agents.iter().filter_map(|id| registry.get(id)).map(|agent| &agent.state);
                let lines: Vec<_> = states().map(line).collect();
                let mut update = ToolCallUpdate::of(call.id.clone(), "subagent");
                update.display.title = results::title(states(), call.is_batch);
                // The call of a subagent shows nothing of what its own subagents change.
                let changes = match &call.requester {
                    None => registry.changes.live(&call.id),
                    Some(_) => ShownChanges::default(),
                };
                let changed = !changes.is_empty();
                let (content, locations) = changes.with_text(lines.join("\n"));
                update.display.content = Some(content);
                update.display.locations = changed.then_some(locations);
                update
            };
            registry.waiting.iter().map(|call| (call.progress.clone(), update(call))).collect()
        };
        // A client's function is called without the lock.
        for (show, update) in progress {
            show(update);
        }
        self.notify(SwarmEvent::State(state));
    }

    /// Returns all subagents as they are now.
    pub(super) fn snapshot(&self) -> SwarmState {
        let registry = self.registry();
        let live = registry.agents().iter().filter(|agent| agent.is_live());
        let contexts = live.fold(SwarmContexts::default(), |sum, agent| SwarmContexts {
            tokens: sum.tokens + agent.context.0,
            max_percent: sum.max_percent.max(agent.context.1),
            ..sum
        });
        let shortened = registry.agents().iter().map(|agent| agent.shortened);
        let (prunes, compactions) = shortened.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1));
        let agents: Vec<SubagentState> = registry.agents().iter().map(|agent| agent.state.clone()).collect();
        drop(registry);
        SwarmState {
            at: unix_time_ms(),
            model: self.root.state.state().model,
            agents,
            contexts: SwarmContexts { prunes, compactions, ..contexts },
        }
    }
}

/// Returns how far the subagents of a subagent have come; `None` if it has none.
fn progress_below(descendants: &[SubagentState]) -> Option<String> {
    let ended = descendants.iter().filter(|state| state.progress.status.is_final()).count();
    (!descendants.is_empty()).then(|| format!("{ended} of {} subagents of its own ended", descendants.len()))
}
