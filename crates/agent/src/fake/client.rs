//! A scripted client that fails the test on an inconsistent sequence of events.

use crate::{Client, PermissionOutcome, PermissionRequest, SessionEvent, ToolCallId, ToolStatus};
use async_trait::async_trait;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::Notify;

/// A client that records its notifications. It fails the test when a call is updated before it is
/// announced or after it ended, when a call is still open at the end of a turn, when an event that
/// belongs in a turn comes outside one, and when a permission request comes that the script does
/// not expect.
#[derive(Default)]
pub struct FakeClient {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Default)]
struct State {
    events: Vec<SessionEvent>,
    requests: Vec<PermissionRequest>,
    answers: VecDeque<Option<PermissionOutcome>>,
    calls: HashMap<ToolCallId, ToolStatus>,
    in_turn: bool,
}

impl FakeClient {
    /// Creates a client that answers permission requests with these outcomes in order; `None` never
    /// answers.
    pub fn new(answers: impl IntoIterator<Item = Option<PermissionOutcome>>) -> Arc<Self> {
        let client = Self::default();
        client.lock().answers = answers.into_iter().collect();
        Arc::new(client)
    }

    /// Returns the notifications so far.
    pub fn events(&self) -> Vec<SessionEvent> {
        self.lock().events.clone()
    }

    /// Returns the permission requests so far.
    pub fn requests(&self) -> Vec<PermissionRequest> {
        self.lock().requests.clone()
    }

    /// Returns the assistant's text so far, all messages joined.
    pub fn text(&self) -> String {
        let deltas = self.events().into_iter().filter_map(|event| match event {
            SessionEvent::MessageDelta { text, .. } => Some(text),
            _ => None,
        });
        deltas.collect()
    }

    /// Waits until the condition holds; it is checked after each notification and permission
    /// request.
    pub async fn until(&self, fits: impl Fn(&Self) -> bool) {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            if fits(self) {
                return;
            }
            changed.await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn check(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::TurnStarted { turn, .. } => {
                assert!(!self.in_turn, "{turn} began inside another turn");
                self.in_turn = true;
            }
            SessionEvent::TurnEnded { turn, .. } => {
                assert!(self.in_turn, "{turn} ended twice");
                self.in_turn = false;
                let open: Vec<_> = self.calls.iter().filter(|(_, status)| !status.is_final()).collect();
                assert!(open.is_empty(), "calls are open at the end of {turn}: {open:?}");
            }
            SessionEvent::ToolCall(update) => {
                let before = self.calls.get(&update.id).copied();
                assert!(
                    before.is_none_or(|status| !status.is_final()),
                    "{} was updated after its end",
                    update.id
                );
                assert!(
                    before.is_some()
                        || matches!(update.status, Some(ToolStatus::Pending | ToolStatus::Interrupted)),
                    "{} was updated before it was announced",
                    update.id
                );
                assert_eq!(
                    update.result.is_some(),
                    update.status.is_some_and(ToolStatus::is_final),
                    "{} has a result exactly at its end",
                    update.id
                );
                if let Some(status) = update.status {
                    self.calls.insert(update.id.clone(), status);
                }
            }
            SessionEvent::MessageDelta { .. }
            | SessionEvent::ThoughtDelta { .. }
            | SessionEvent::ModelResponse(_) => {
                assert!(self.in_turn, "the model spoke outside a turn: {event:?}");
            }
            _ => {}
        }
    }
}

#[async_trait]
impl Client for FakeClient {
    fn notify(&self, event: &SessionEvent) {
        let mut state = self.lock();
        state.check(event);
        state.events.push(event.clone());
        drop(state);
        self.changed.notify_waiters();
    }

    async fn request_permission(&self, request: PermissionRequest) -> PermissionOutcome {
        let answer = {
            let mut state = self.lock();
            assert!(state.in_turn, "a permission was asked for outside a turn");
            assert!(
                state.calls.contains_key(&request.id),
                "a permission was asked for a call nobody announced"
            );
            state.requests.push(request.clone());
            state.answers.pop_front()
        };
        self.changed.notify_waiters();
        match answer.unwrap_or_else(|| panic!("nobody expected to be asked: {}", request.question)) {
            Some(outcome) => outcome,
            None => std::future::pending().await,
        }
    }
}

impl Drop for FakeClient {
    fn drop(&mut self) {
        let left = self.lock().answers.len();
        assert!(left == 0 || std::thread::panicking(), "{left} permissions were never asked for");
    }
}
