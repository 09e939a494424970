//! The client of a subagent's session: it follows the subagent's activity, and passes its requests
//! for permission to the clients of the root session.

use super::{Swarm, asked::AskedCalls, now, watchdog::Activity};
use crate::{
    AnyTool, Client, ModelResponse, PermissionOutcome, PermissionRequest, SessionEvent, SubagentState,
    ToolCallUpdate, ToolStatus,
    event::{compaction::CompactionStep, usage::Usage},
    label,
    limits::SUBAGENT_PREVIEW_CHARS,
};
use async_trait::async_trait;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The client of one subagent's session.
pub(super) struct ChildClient {
    swarm: Weak<Swarm>,
    agent: String,
    pub(super) activity: Activity,
    /// The text of the last answer.
    answer: Mutex<String>,
    asked: AskedCalls,
}

impl ChildClient {
    pub(super) fn new(swarm: &Arc<Swarm>, agent: &str) -> Self {
        Self {
            swarm: Arc::downgrade(swarm),
            agent: agent.to_owned(),
            activity: Activity::default(),
            answer: Mutex::default(),
            asked: AskedCalls::new(swarm.root.log.clone(), agent),
        }
    }

    /// Takes the text of the last answer.
    pub(super) fn take_answer(&self) -> String {
        std::mem::take(&mut self.answer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn update(&self, change: impl FnOnce(&mut SubagentState)) {
        if let Some(swarm) = self.swarm.upgrade() {
            swarm.update(&self.agent, |state| {
                state.times.active_at = Some(now());
                change(state);
            });
        }
    }

    fn called(&self, call: &ToolCallUpdate) {
        match call.status {
            Some(ToolStatus::Pending) => {
                self.activity.began();
                let name = call.name.clone();
                self.update(|state| {
                    state.activity.tool_calls += 1;
                    state.activity.last_tool = Some(name);
                });
            }
            Some(status) if status.is_final() => self.activity.ended(),
            _ => {}
        }
        self.asked.update(call);
    }

    /// Waits until the calls that the user was asked about are recorded in the root session.
    pub(super) async fn flush(&self) {
        self.asked.flush().await;
    }

    fn answered(&self, response: &ModelResponse) {
        let text = response.text();
        let preview = label(&text, SUBAGENT_PREVIEW_CHARS);
        if !text.trim().is_empty() {
            *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = text;
        }
        self.update(|state| {
            if !preview.is_empty() {
                state.activity.last_message = Some(preview);
            }
        });
    }

    fn used(&self, total: Usage, context: u64, size: u64) {
        let Some(swarm) = self.swarm.upgrade() else { return };
        if let Some(agent) = swarm.registry().get_mut(&self.agent) {
            let percent = if size == 0 { 0.0 } else { percent(context, size) };
            agent.context = (context, percent);
        }
        self.update(|state| state.activity.usage = total);
    }

    /// The subagent's context was shortened.
    fn shortened(&self, prunes: u64, compactions: u64) {
        let Some(swarm) = self.swarm.upgrade() else { return };
        if let Some(agent) = swarm.registry().get_mut(&self.agent) {
            agent.shortened.0 += prunes;
            agent.shortened.1 += compactions;
        }
    }
}

#[async_trait]
impl Client for ChildClient {
    fn notify(&self, event: &SessionEvent) {
        self.activity.happened();
        match event {
            SessionEvent::ToolCall(call) => self.called(call),
            SessionEvent::ModelResponse(response) => self.answered(response),
            SessionEvent::Usage(usage) => self.used(usage.total, usage.context_used, usage.context_size),
            SessionEvent::Compaction(compaction)
                if matches!(compaction.step, CompactionStep::Completed { .. }) =>
            {
                self.shortened(0, 1);
            }
            SessionEvent::ResultsLeftOut(_) => self.shortened(1, 0),
            _ => {}
        }
    }

    /// The root session's clients are asked; the request names the subagent.
    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome {
        let Some(swarm) = self.swarm.upgrade() else { return PermissionOutcome::Cancelled };
        let (named, open) = self.asked.ask(request);
        self.asked.flush().await;
        let outcome = swarm.root.log.ask(named).await;
        self.activity.happened();
        open.resolve(outcome);
        outcome
    }

    fn rejection(&self, request: &PermissionRequest) -> Option<String> {
        self.swarm.upgrade()?.root.log.client().rejection(request)
    }

    /// The tools that ask the user are listed as in the root session, so that both send the same
    /// prefix; they answer that no user can be asked.
    fn takes_questions(&self) -> bool {
        self.swarm.upgrade().is_some_and(|swarm| swarm.root.log.client().takes_questions())
    }

    fn tools(&self) -> Vec<Arc<dyn AnyTool>> {
        self.swarm.upgrade().map(|swarm| swarm.root.log.client().tools()).unwrap_or_default()
    }
}

#[expect(clippy::cast_precision_loss, reason = "numbers of tokens are far below 2^52")]
fn percent(context: u64, size: u64) -> f64 {
    (context as f64 / size as f64 * 1_000.0).round() / 10.0
}
