//! Commands that the user runs: through the gate, without a model, known to the next request.

use crate::stage::{Setting, stage};
use agent::{PermissionMode, PermissionOutcome, StopReason, ToolStatus, fake::Reply};
use serde_json::json;

#[tokio::test]
async fn the_user_runs_a_command_and_the_next_request_has_its_output() {
    let script = vec![Reply::calls(&[("file_read", json!({"path": "a.txt"}))]), Reply::text("It passed.")];
    let answers = vec![Some(PermissionOutcome::AllowOnce)];
    let stage = stage(Setting { script, answers, ..Setting::default() }).await;
    let outcome = stage.prompt("/run cargo test").await.unwrap();
    assert_eq!(outcome.stop_reason, StopReason::EndTurn);
    assert!(stage.model.requests().is_empty(), "no model is asked");
    stage.prompt("did it pass?").await.unwrap();
    let said = format!("{:?}", stage.model.requests()[0].messages);
    assert!(said.contains("The user ran this command:") && said.contains("cargo test"), "{said}");
    assert!(said.contains("running 1 test"), "{said}");
    assert!(!said.contains("/run"), "{said}");
    // The calls of the user and of the model have numbers of one row.
    let ids = stage.statuses();
    assert_eq!(ids.len(), 2, "{ids:?}");
    assert!(ids.iter().all(|(_, status)| *status == ToolStatus::Completed), "{ids:?}");
    assert_ne!(ids[0].0, ids[1].0);
}

#[tokio::test]
async fn a_refused_command_of_the_user_does_not_run() {
    let answers = vec![Some(PermissionOutcome::RejectOnce)];
    let setting = Setting { answers, permission_mode: PermissionMode::Argus, ..Setting::default() };
    let stage = stage(setting).await;
    stage.prompt("/run cargo test").await.unwrap();
    let statuses: Vec<_> = stage.statuses().into_iter().map(|(_, status)| status).collect();
    assert_eq!(statuses, [ToolStatus::Failed]);
}
