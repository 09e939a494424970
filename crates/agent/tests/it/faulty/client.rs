//! A client that fails, and checks of the events that a client received.

use super::{Fault, Plan};
use agent::{Client, PermissionOutcome, PermissionRequest, SessionEvent, ToolStatus};
use async_trait::async_trait;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

/// A client that allows everything and records its notifications; it fails on permission requests.
pub(crate) struct FaultyClient {
    pub(crate) plan: Arc<Plan>,
    pub(crate) events: Arc<Mutex<Vec<SessionEvent>>>,
}

impl FaultyClient {
    pub(crate) fn events(&self) -> Vec<SessionEvent> {
        self.events.lock().unwrap().clone()
    }
}

/// Checks that every announced call ended once, and every turn that began ended once.
pub(crate) fn assert_complete(events: &[SessionEvent], when: &str) {
    let mut calls: HashMap<String, ToolStatus> = HashMap::new();
    let mut turn = None;
    for event in events {
        match event {
            SessionEvent::ToolCall(update) => {
                let Some(status) = update.status else { continue };
                let before = calls.insert(update.id.to_string(), status);
                assert!(before.is_none_or(|before| !before.is_final()), "{when}: {} ended twice", update.id);
            }
            SessionEvent::TurnStarted { turn: began, .. } => {
                assert_eq!(turn.replace(began), None, "{when}: a turn began inside another");
            }
            SessionEvent::TurnEnded { turn: ended, .. } => {
                assert_eq!(turn.take(), Some(ended), "{when}: {ended} ended and had not begun");
            }
            _ => {}
        }
    }
    assert_eq!(turn, None, "{when}: a turn never ended");
    assert!(calls.values().all(|status| status.is_final()), "{when}: {calls:?}");
}

#[async_trait]
impl Client for FaultyClient {
    fn notify(&self, event: &SessionEvent) {
        self.events.lock().unwrap().push(event.clone());
    }

    async fn request_permission(&self, _request: PermissionRequest) -> PermissionOutcome {
        match self.plan.step().await {
            Some(Fault::Late) => PermissionOutcome::Cancelled,
            Some(_) => PermissionOutcome::RejectOnce,
            None => PermissionOutcome::AllowOnce,
        }
    }
}
