//! The store no longer confirms that a session is this process's.

use crate::stage::{Setting, Stage, stage};
use agent::{
    Client, PermissionMode, PermissionOutcome, PermissionRequest, SessionEvent, StoreError, Surface,
    ToolStatus, TurnError,
    fake::{MemoryStore, Reply},
};
use async_trait::async_trait;
use serde_json::json;
use std::sync::Arc;
use system::fake::Script;

async fn with_calls(calls: &[(&str, serde_json::Value)]) -> Stage {
    let script = vec![Reply::calls(calls), Reply::text("Done.")];
    stage(Setting { script, permission_mode: PermissionMode::Prometheus, ..Setting::default() }).await
}

fn unconfirmed(stage: &Stage) -> TurnError {
    TurnError::Store(StoreError::Unconfirmed(stage.session.id().clone()))
}

fn runs(event: &SessionEvent) -> bool {
    matches!(event, SessionEvent::ToolCall(call) if call.status == Some(ToolStatus::InProgress))
}

#[tokio::test]
async fn a_running_command_ends_and_its_turn_fails_until_the_lease_is_confirmed_again() {
    let stage = with_calls(&[("bash", json!({ "command": "cargo test" }))]).await;
    stage.system.on_command("cargo test", |_| Script::hangs());
    let cut_off = async {
        stage.client.until(|client| client.events().iter().any(runs)).await;
        stage.store.set_unconfirmed(true);
    };
    let (ended, ()) = tokio::join!(stage.prompt("test it"), cut_off);
    assert_eq!(ended, Err(unconfirmed(&stage)));
    assert_eq!(stage.statuses()[0].1, ToolStatus::Cancelled, "the command does not outlive the certainty");
    assert_eq!(stage.prompt("on").await, Err(unconfirmed(&stage)), "nothing new begins either");
    assert_eq!(stage.model.requests().len(), 1);

    stage.store.set_unconfirmed(false);
    assert!(stage.prompt("on").await.is_ok());
    assert_eq!(stage.model.requests().len(), 2);
}

/// A client at whose notification of a call's start the store stops to confirm leases.
struct CutsOff(Arc<MemoryStore>);

#[async_trait]
impl Client for CutsOff {
    fn notify(&self, event: &SessionEvent) {
        if runs(event) {
            self.0.set_unconfirmed(true);
        }
    }

    async fn request_permission(&self, _request: PermissionRequest) -> PermissionOutcome {
        PermissionOutcome::RejectOnce
    }
}

#[tokio::test]
async fn a_call_whose_start_is_stored_has_no_effect_without_a_confirmed_lease() {
    let stage = with_calls(&[("file_write", json!({ "path": "new.txt", "content": "x" }))]).await;
    let client = Arc::new(CutsOff(stage.store.clone()));
    assert!(stage.session.join(Surface { client, system: stage.system.clone() }));
    assert_eq!(stage.prompt("write it").await, Err(unconfirmed(&stage)));
    assert_eq!(stage.system.text_of("/w/new.txt"), None);
}
