//! The calls of a subagent for which the user was asked: the root session shows and records them as
//! calls of its own, from the question to their ends. Its clients know no other calls of subagents.

use crate::{
    Description, PermissionOutcome, PermissionRequest, SessionEvent, ToolCallDisplay, ToolCallId,
    ToolCallUpdate, ToolStatus, log::SessionLog,
};
use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};
use tokio::sync::{mpsc, oneshot};

/// Records the asked calls of one subagent in the log of the root session, in order.
pub(super) struct AskedCalls {
    agent: String,
    /// The ids in the root session, by those in the subagent's.
    ids: Mutex<HashMap<ToolCallId, ToolCallId>>,
    queue: mpsc::UnboundedSender<Step>,
}

enum Step {
    Record(Vec<SessionEvent>),
    Flush(oneshot::Sender<()>),
}

impl AskedCalls {
    pub(super) fn new(log: SessionLog, agent: &str) -> Self {
        let (queue, mut steps) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Some(step) = steps.recv().await {
                match step {
                    Step::Record(events) => {
                        if let Err(error) = log.record(events).await {
                            tracing::warn!(%error, "a call of a subagent could not be recorded in its root session");
                        }
                    }
                    // The receiver may have been dropped.
                    Step::Flush(done) => drop(done.send(())),
                }
            }
        });
        Self { agent: agent.to_owned(), ids: Mutex::default(), queue }
    }

    /// Announces the call of a request, and returns the request as the root session makes it: it
    /// names the subagent, and its id is unique there. `outer` is the call that requested the
    /// subagent.
    pub(super) fn ask(&self, request: PermissionRequest) -> (PermissionRequest, Open<'_>) {
        let agent = &self.agent;
        let id = ToolCallId(format!("{agent}/{}", request.id));
        self.ids().insert(request.id.clone(), id.clone());
        let named = PermissionRequest {
            id: id.clone(),
            description: Description {
                title: format!("[{agent}] {}", request.description.title),
                ..request.description
            },
            question: format!("Subagent '{agent}': {}", request.question),
            brief: format!("Subagent '{agent}': {}", request.brief),
            ..request
        };
        let mut announced = ToolCallUpdate::of(id.clone(), named.name.clone()).status(ToolStatus::Pending);
        announced.display = ToolCallDisplay {
            title: Some(named.description.title.clone()),
            kind: Some(named.description.kind),
            locations: Some(named.description.locations.clone()),
            raw_input: Some(named.raw_input.clone()),
            content: None,
            place: None,
        };
        let question = named.question.clone();
        self.record(vec![
            SessionEvent::ToolCall(announced),
            SessionEvent::PermissionRequested { id: id.clone(), question },
        ]);
        (named, Open { calls: self, id, resolved: None })
    }

    /// Passes an update on if it is of a call that was asked for.
    pub(super) fn update(&self, update: &ToolCallUpdate) {
        let id = {
            let mut ids = self.ids();
            match update.status {
                Some(status) if status.is_final() => ids.remove(&update.id),
                Some(_) => ids.get(&update.id).cloned(),
                None => None,
            }
        };
        if let Some(id) = id {
            self.record(vec![SessionEvent::ToolCall(ToolCallUpdate { id, ..update.clone() })]);
        }
    }

    /// Waits until everything so far is recorded.
    pub(super) async fn flush(&self) {
        let (done, recorded) = oneshot::channel();
        if self.queue.send(Step::Flush(done)).is_ok() {
            // An error means that the runtime is shutting down.
            let _ = recorded.await;
        }
    }

    fn record(&self, events: Vec<SessionEvent>) {
        // The receiver lives as long as this sender, unless the runtime is shutting down.
        let _ = self.queue.send(Step::Record(events));
    }

    fn ids(&self) -> MutexGuard<'_, HashMap<ToolCallId, ToolCallId>> {
        self.ids.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A request for permission that is open; its resolution is recorded when it is dropped.
pub(super) struct Open<'a> {
    calls: &'a AskedCalls,
    id: ToolCallId,
    resolved: Option<PermissionOutcome>,
}

impl Open<'_> {
    pub(super) fn resolve(mut self, outcome: PermissionOutcome) {
        self.resolved = Some(outcome);
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        let (outcome, rule) = match self.resolved {
            Some(outcome) => (outcome, "user"),
            // The subagent no longer waits for the answer.
            None => (PermissionOutcome::Cancelled, "cancelled"),
        };
        let (id, rule) = (self.id.clone(), rule.to_owned());
        self.calls.record(vec![SessionEvent::PermissionResolved { id, outcome, rule }]);
    }
}
