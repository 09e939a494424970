//! One session's place in a swarm: it starts subagents and receives their results.

use super::{
    Swarm,
    changes::{self, ShownChanges},
    kind::Kind,
    registry::{Agent, LiveRun, WaitingCall},
    request::{self, Admitted, Requester},
    results,
    run::Run,
    slots::Slot,
    unix_time_ms,
};
use crate::{
    FileChange, Mode, Outputs, SessionEvent, StoreError, SubagentCall, SubagentState, SubagentStatus,
    SwarmEvent, SwarmState, ToolContext, ToolError, ToolOutput,
    limits::SUBAGENT_END_WAIT,
    session::controls::StateBound,
    tool::subagents::{Delegation, RequestedAgent, Subagents},
};
use async_trait::async_trait;
use std::sync::{Arc, OnceLock};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The access of one session to the subagents of its swarm.
pub(crate) struct Node {
    swarm: Arc<Swarm>,
    /// The session's own place as a subagent; `None` for the root session.
    own: Option<OwnPlace>,
    session: OnceLock<OwnSession>,
}

/// A session's place as a subagent.
pub(super) struct OwnPlace {
    pub(super) id: String,
    pub(super) kind: Kind,
    pub(super) depth: u32,
    pub(super) slot: Slot,
    pub(super) cancel: CancellationToken,
}

/// What a node knows of its session.
pub(crate) struct OwnSession {
    /// The session's state, bounded by the sessions above it.
    pub(crate) state: Arc<StateBound>,
    /// Keeps the long answers of its subagents.
    pub(crate) outputs: Arc<Outputs>,
}

impl Node {
    /// Creates the node of a root session.
    pub(crate) fn root(swarm: Arc<Swarm>) -> Self {
        Self { swarm, own: None, session: OnceLock::new() }
    }

    pub(super) fn child(swarm: Arc<Swarm>, own: OwnPlace) -> Self {
        Self { swarm, own: Some(own), session: OnceLock::new() }
    }

    /// Connects the node with its session.
    pub(crate) fn connect(&self, session: OwnSession) {
        // A session that is opened again has a new node.
        let _ = self.session.set(session);
    }

    /// Returns the state that bounds the sessions of this node's subagents.
    pub(crate) fn bound(&self) -> Option<Arc<StateBound>> {
        self.session.get().map(|session| session.state.clone())
    }

    pub(super) fn outputs(&self) -> Option<Arc<Outputs>> {
        self.session.get().map(|session| session.outputs.clone())
    }

    pub(super) fn swarm(&self) -> &Swarm {
        &self.swarm
    }

    pub(super) fn own(&self) -> Option<&OwnPlace> {
        self.own.as_ref()
    }

    fn id(&self) -> Option<&str> {
        self.own.as_ref().map(|own| own.id.as_str())
    }

    fn depth(&self) -> u32 {
        self.own.as_ref().map_or(0, |own| own.depth)
    }

    /// Checks a request and adds its subagents to the registry.
    fn admit(
        &self,
        request: &Delegation,
        cx: &ToolContext,
    ) -> Result<(Vec<(Admitted, CancellationToken)>, Unrecorded<'_>), ToolError> {
        let levels = self.swarm.root.settings.seen().limits.subagents.depth;
        let kind = self.own.as_ref().map(|own| own.kind);
        let requester = Requester { agent: self.id(), kind, depth: self.depth(), levels };
        let mut registry = self.swarm.registry();
        let admitted = request::admit(&registry, requester, request).map_err(ToolError::message)?;
        let above = self.own.as_ref().map(|own| own.cancel.clone());
        let mut runs = Vec::with_capacity(admitted.len());
        let mut requests = Unrecorded { swarm: &self.swarm, before: Vec::with_capacity(admitted.len()) };
        for (agent, requested) in admitted.into_iter().zip(&request.agents) {
            let cancel = above.as_ref().map_or_else(CancellationToken::new, CancellationToken::child_token);
            let args = arguments(&agent.state, requested);
            let run = LiveRun { call: cx.call.id.clone(), args, cancel: cancel.clone() };
            let before = registry.put(Agent::new(agent.state.clone(), Some(run)));
            requests.before.push((agent.state.id.clone(), before));
            runs.push((agent, cancel));
        }
        Ok((runs, requests))
    }

    /// Records the requests. If that fails, or the call is cancelled meanwhile, none of the
    /// subagents is started.
    async fn record_requests(
        &self,
        states: &[SubagentState],
        mut requests: Unrecorded<'_>,
    ) -> Result<(), ToolError> {
        let events = states.iter().map(|state| SessionEvent::Subagent(Box::new(state.clone())));
        match self.swarm.root.log.record(events.collect()).await {
            Ok(()) => {
                requests.before.clear();
                Ok(())
            }
            Err(error) => Err(ToolError::message(format!("No agent was started: {error}."))),
        }
    }

    /// Waits for subagents; returns whether all ended. If the call is cancelled, they are cancelled
    /// too.
    async fn wait_for(&self, ids: &[String], is_batch: bool, cx: &ToolContext) -> bool {
        let swarm = &self.swarm;
        let call = WaitingCall {
            requester: self.id().map(str::to_owned),
            id: cx.call.id.clone(),
            agents: ids.to_vec(),
            is_batch,
            progress: cx.call.progress.clone(),
        };
        let _shown = Shown::new(swarm, call);
        if let Some(own) = &self.own {
            own.slot.wait().await;
        }
        let ends = futures::future::join_all(ids.iter().map(|id| swarm.until_ended(id)));
        let ended = cx.cancel.run_until_cancelled(ends).await;
        if ended.is_none() {
            self.cancel_agents(ids).await;
            return false;
        }
        match &self.own {
            Some(own) => cx.cancel.run_until_cancelled(own.slot.go_on()).await.is_some(),
            None => true,
        }
    }

    /// Returns the output of a call that waited: the results of its subagents, and what they
    /// changed. The results count as delivered.
    fn output(&self, ids: &[String], is_batch: bool, cx: &ToolContext) -> ToolOutput {
        let ended = self.deliver(ids);
        let text = match ended.as_slice() {
            [state] if !is_batch => results::of_call(state),
            states => results::of_batch(states),
        };
        let failed = ended.iter().all(|state| state.progress.status != SubagentStatus::Done);
        let mut output = ToolOutput::text(text);
        output.title = results::title(ended.iter(), is_batch);
        output.events = ended.into_iter().map(|state| SessionEvent::Subagent(Box::new(state))).collect();
        let changes = match &self.own {
            // The root session's call shows what the subagents of subagents changed.
            Some(_) => ShownChanges::default(),
            None => self.swarm.registry().changes.take(&cx.call.id),
        };
        if !changes.is_empty() {
            let (shown, locations) = changes.with_text(output.result.text.clone());
            (output.shown, output.locations) = (Some(shown), Some(locations));
        }
        if failed { output.failed() } else { output }
    }

    async fn cancel_agents(&self, ids: &[String]) {
        for id in ids {
            if let Some(Agent { run: Some(run), .. }) = self.swarm.registry().get(id) {
                run.cancel.cancel();
            }
        }
        let ends = futures::future::join_all(ids.iter().map(|id| self.swarm.until_ended(id)));
        if timeout(SUBAGENT_END_WAIT, ends).await.is_err() {
            tracing::warn!("a cancelled subagent has not ended in time");
        }
    }

    /// Marks the results of subagents that ended as delivered to this session. Returns the states
    /// of all, in the order of the ids.
    fn deliver(&self, ids: &[String]) -> Vec<SubagentState> {
        let mut registry = self.swarm.registry();
        let mut delivered = Vec::with_capacity(ids.len());
        for id in ids {
            if let Some(agent) = registry.get_mut(id) {
                agent.state.progress.delivered = !agent.is_live();
                delivered.push(agent.state.clone());
            }
        }
        delivered
    }

    fn undelivered(&self) -> Vec<String> {
        let registry = self.swarm.registry();
        let ready = registry.of_parent(self.id()).filter(|agent| {
            !agent.is_live() && agent.state.progress.status.is_final() && !agent.state.progress.delivered
        });
        // The call that waits for a result delivers it.
        let awaited = |id: &String| registry.waiting.iter().any(|call| call.agents.contains(id));
        // In the order in which they ended, also after the process was started again.
        let mut ready: Vec<_> =
            ready.map(|agent| (agent.state.times.ended_at, agent.state.id.clone())).collect();
        ready.sort();
        ready.into_iter().map(|(_, id)| id).filter(|id| !awaited(id)).collect()
    }
}

#[async_trait]
impl Subagents for Node {
    fn is_of_subagent(&self) -> bool {
        self.own.is_some()
    }

    async fn delegate(&self, request: Delegation, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let swarm = &self.swarm;
        let is_root_asking = self.own.is_none() && swarm.root.state.state().mode == Mode::Ask;
        if is_root_asking {
            return Err(ToolError::message(
                "Tool 'subagent' is not available in Ask mode. Switch to Edit mode to use write tools.",
            ));
        }
        swarm.slots.resize(swarm.root.settings.seen().limits.subagents.concurrency);
        let (runs, requests) = self.admit(&request, cx)?;
        let states: Vec<_> = runs.iter().map(|(agent, _)| agent.state.clone()).collect();
        let ids: Vec<String> = states.iter().map(|state| state.id.clone()).collect();
        self.record_requests(&states, requests).await?;
        let calls = || {
            let registry = swarm.registry();
            let run = |id: &String| registry.get(id).and_then(|agent| agent.run.as_ref());
            let runs = ids.iter().filter_map(run);
            runs.map(|run| SubagentCall { id: run.call.clone(), args: run.args.clone() }).collect::<Vec<_>>()
        };
        let entries = calls();
        swarm.notify(SwarmEvent::Spawned(entries.clone()));
        swarm.show();
        for (agent, cancel) in runs {
            Run::start(swarm.clone(), agent, self.bound(), self.outputs(), cx.system.clone(), cancel);
        }
        swarm.notify(SwarmEvent::Running(entries));
        if !request.waits {
            return Ok(ToolOutput::text(results::spawned(&states, request.is_batch)));
        }
        let all_ended = self.wait_for(&ids, request.is_batch, cx).await;
        let output = self.output(&ids, request.is_batch, cx);
        if all_ended { Ok(output) } else { Err(ToolError::CutShort(Box::new(output))) }
    }

    async fn keep_changes(&self, changes: Vec<FileChange>) -> Result<Vec<FileChange>, StoreError> {
        changes::keep(self, changes).await
    }

    fn take_results(&self) -> Option<(String, Vec<SessionEvent>)> {
        let ready = self.undelivered();
        if ready.is_empty() {
            return None;
        }
        let states = self.deliver(&ready);
        let text = results::of_background(states.iter());
        let events = states.into_iter().map(|state| SessionEvent::Subagent(Box::new(state))).collect();
        Some((text, events))
    }

    fn has_unfinished(&self) -> bool {
        !self.undelivered().is_empty() || self.swarm.registry().of_parent(self.id()).any(Agent::is_live)
    }

    async fn result_ready(&self) {
        loop {
            let mut ended = std::pin::pin!(self.swarm.ended.notified());
            ended.as_mut().enable();
            if !self.undelivered().is_empty() {
                return;
            }
            ended.await;
        }
    }

    async fn cancel(&self) {
        let ids: Vec<String> = {
            let registry = self.swarm.registry();
            let live = registry.of_parent(self.id()).filter(|agent| agent.is_live());
            live.map(|agent| agent.state.id.clone()).collect()
        };
        if !ids.is_empty() {
            self.cancel_agents(&ids).await;
        }
    }

    fn recall(&self, event: &SessionEvent) {
        let SessionEvent::Subagent(state) = event else { return };
        let mut registry = self.swarm.registry();
        match (registry.get_mut(&state.id), &self.own) {
            (Some(known), _) if known.is_live() => {}
            // The log of a subagent's session only says what was delivered to it.
            (Some(known), Some(_)) => known.state.progress.delivered |= state.progress.delivered,
            (None, Some(_)) => {}
            (Some(known), None) => known.state = SubagentState::clone(state),
            (None, None) => drop(registry.put(Agent::new(SubagentState::clone(state), None))),
        }
    }

    fn interrupted(&self) -> Vec<SessionEvent> {
        if self.own.is_some() {
            return Vec::new();
        }
        let mut registry = self.swarm.registry();
        let ids: Vec<String> = registry.agents().iter().map(|agent| agent.state.id.clone()).collect();
        let mut events = Vec::new();
        for id in ids {
            let Some(agent) = registry.get_mut(&id) else { continue };
            if agent.is_live() || agent.state.progress.status.is_final() {
                continue;
            }
            agent.state.progress.status = SubagentStatus::Interrupted;
            agent.state.progress.queue_reason = None;
            agent.state.times.ended_at = agent.state.times.active_at.or_else(|| Some(unix_time_ms()));
            events.push(SessionEvent::Subagent(Box::new(agent.state.clone())));
        }
        events
    }

    fn snapshot(&self) -> SwarmState {
        self.swarm.snapshot()
    }

    fn cancel_agent(&self, id: &str) -> bool {
        let registry = self.swarm.registry();
        let Some(run) = registry.get(id).and_then(|agent| agent.run.as_ref()) else { return false };
        run.cancel.cancel();
        true
    }

    fn tree(&self) -> String {
        results::tree(self.swarm.registry().agents(), None, 0)
    }
}

/// Returns the arguments of a request as native clients receive them.
fn arguments(state: &SubagentState, requested: &RequestedAgent) -> serde_json::Value {
    requested.arguments(&state.id, &state.request.kind, &state.request.mode)
}

/// Requested subagents whose requests are not recorded yet. Those that are left when it is dropped
/// are never started: the registry is as it was before.
struct Unrecorded<'a> {
    swarm: &'a Swarm,
    /// Their ids, each with the subagent that is resumed.
    before: Vec<(String, Option<Agent>)>,
}

impl Drop for Unrecorded<'_> {
    fn drop(&mut self) {
        if self.before.is_empty() {
            return;
        }
        let mut registry = self.swarm.registry();
        for (id, before) in self.before.drain(..) {
            match before {
                Some(agent) => drop(registry.put(agent)),
                None => registry.remove(&id),
            }
        }
        drop(registry);
        // Others may have begun to wait for them.
        self.swarm.ended.notify_waiters();
        self.swarm.changed.notify_one();
    }
}

/// A waiting call whose progress is shown, until it is dropped.
struct Shown<'a> {
    swarm: &'a Arc<Swarm>,
    requester: Option<String>,
    call: crate::ToolCallId,
}

impl<'a> Shown<'a> {
    fn new(swarm: &'a Arc<Swarm>, call: WaitingCall) -> Self {
        let (requester, id) = (call.requester.clone(), call.id.clone());
        swarm.registry().waiting.push(call);
        swarm.changed.notify_one();
        Self { swarm, requester, call: id }
    }
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        self.swarm.registry().waiting.retain(|call| call.requester != self.requester || call.id != self.call);
    }
}
