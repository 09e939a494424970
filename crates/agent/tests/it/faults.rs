//! A fault at every operation: each prompt settles, the next one works, and no effect happens that
//! could not be recorded.

use crate::stage::{Setting, stage};
use agent::fake::Reply;
use agent::{PermissionMode, StopReason, TurnError};
use serde_json::json;

fn script() -> Vec<Reply> {
    vec![
        Reply::calls(&[("file_read", json!({"path": "a.txt"}))]),
        Reply::calls(&[("file_edit", json!({"path": "a.txt", "old_string": "one", "new_string": "1"}))]),
        Reply::calls(&[("bash", json!({"command": "cargo test"}))]),
        Reply::text("ok"),
    ]
}

/// Like [`script`], for turns that end early: the model may be left with answers.
async fn run(
    fail_store: Option<usize>,
    fail_system: Option<usize>,
) -> (Result<StopReason, TurnError>, bool, bool) {
    let permission_mode = PermissionMode::Prometheus;
    let stage = stage(Setting { script: script(), permission_mode, ..Setting::default() }).await;
    if let Some(n) = fail_store {
        stage.store.fail_after(n);
    }
    if let Some(n) = fail_system {
        stage.system.fail_nth(n);
    }
    let before = stage.system.calls().len();
    let result = stage.prompt("go").await.map(|outcome| outcome.stop_reason);
    let wrote = stage.system.text_of("/w/a.txt").as_deref() == Some("1\ntwo\n");
    let reached = stage.system.calls().len() - before;
    // Use up the rest of the script, so that the fake's own check stays meaningful for turns that
    // get that far.
    while stage.model.requests().len() < 4 {
        let request = stage.model.requests()[0].clone();
        drop(agent::LanguageModel::stream(stage.model.as_ref(), request));
    }
    (result, wrote, fail_system.is_some_and(|n| n > reached))
}

#[tokio::test]
async fn a_store_that_fails_stops_the_turn_before_its_next_side_effect() {
    for n in 1.. {
        let (result, wrote, _) = run(Some(n), None).await;
        match result {
            Ok(_) => {
                assert!(wrote && n > 6, "the turn succeeded with {n} appends");
                return;
            }
            Err(error) => {
                assert!(matches!(error, TurnError::Store(_)), "{error:?}");
                // The write is the second call: prompt, answer, start, end, answer, start; only
                // then may it happen.
                assert!(!wrote || n >= 6, "written although append {n} had failed");
            }
        }
    }
}

#[tokio::test]
async fn a_system_that_fails_is_told_to_the_model_and_the_turn_goes_on() {
    for n in 1.. {
        let (result, _, unreached) = run(None, Some(n)).await;
        assert_eq!(result, Ok(StopReason::EndTurn), "operation {n} failed");
        if unreached {
            return;
        }
    }
}

#[tokio::test]
async fn a_panic_costs_one_turn() {
    let stage =
        stage(Setting { script: vec![Reply::Panic, Reply::text("fine")], ..Setting::default() }).await;
    assert!(matches!(stage.prompt("a").await, Err(TurnError::Panicked(_))));
    assert_eq!(stage.prompt("b").await.unwrap().stop_reason, StopReason::EndTurn);
    let requests = stage.model.requests();
    assert_eq!(requests[1].messages.len(), 2, "what was said before the panic is not forgotten");
}
