//! What is asked, what is not, and what follows from the answer.

use crate::stage::{Setting, Stage, stage};
use agent::fake::Reply;
use agent::{PermissionMode, PermissionOutcome, SessionEvent, StopReason, ToolContent, ToolStatus};
use serde_json::json;

fn edit() -> Reply {
    Reply::calls(&[("file_edit", json!({"path": "a.txt", "old_string": "one", "new_string": "1"}))])
}

async fn argus(script: Vec<Reply>, answers: Vec<PermissionOutcome>) -> Stage {
    let answers = answers.into_iter().map(Some).collect();
    stage(Setting { script, answers, permission_mode: PermissionMode::Argus, ..Setting::default() }).await
}

#[tokio::test]
async fn an_approved_edit_is_shown_before_and_written_after_the_question() {
    let stage = argus(vec![edit(), Reply::text("ok")], vec![PermissionOutcome::AllowOnce]).await;
    stage.prompt("edit").await.unwrap();
    assert_eq!(stage.system.text_of("/w/a.txt").as_deref(), Some("1\ntwo\n"));
    let request = &stage.client.requests()[0];
    let [ToolContent::Diff(diff)] = request.content.as_slice() else { panic!("{request:?}") };
    assert_eq!((diff.old_text.as_deref(), diff.new_text.as_deref()), (Some("one\ntwo\n"), Some("1\ntwo\n")));
    assert_eq!(request.grant_label, "file_edit in /w in this session");
}

#[tokio::test]
async fn a_rejected_write_does_not_happen_and_the_model_is_told() {
    for outcome in [PermissionOutcome::RejectOnce, PermissionOutcome::RejectAlways] {
        let stage = argus(vec![edit(), Reply::text("ok")], vec![outcome]).await;
        assert_eq!(stage.prompt("edit").await.unwrap().stop_reason, StopReason::EndTurn);
        assert_eq!(stage.system.text_of("/w/a.txt").as_deref(), Some("one\ntwo\n"));
        assert_eq!(stage.results(), ["User denied permission for 'file_edit'. Try a different approach."]);
        assert_eq!(stage.statuses(), [("tool_0".to_owned(), ToolStatus::Failed)]);
    }
}

#[tokio::test]
async fn a_dismissed_question_ends_the_turn() {
    let stage = argus(vec![edit()], vec![PermissionOutcome::Cancelled]).await;
    assert_eq!(stage.prompt("edit").await.unwrap().stop_reason, StopReason::Cancelled);
    assert_eq!(stage.system.text_of("/w/a.txt").as_deref(), Some("one\ntwo\n"));
}

#[tokio::test]
async fn always_is_remembered_until_the_permission_mode_changes() {
    let test = || Reply::calls(&[("bash", json!({"command": "cargo test"}))]);
    let script = vec![test(), Reply::text("1"), test(), Reply::text("2"), test(), Reply::text("3")];
    let stage = argus(script, vec![PermissionOutcome::AllowAlways, PermissionOutcome::RejectOnce]).await;
    stage.prompt("test").await.unwrap();
    stage.prompt("test").await.unwrap();
    assert_eq!(stage.client.requests().len(), 1);
    assert_eq!(stage.client.requests()[0].grant_label, "`cargo test …` in this session");
    stage.session.set_permission_mode(PermissionMode::Guardian).await.unwrap();
    stage.prompt("test").await.unwrap();
    assert_eq!(stage.client.requests().len(), 2);
}

#[tokio::test]
async fn guardian_writes_in_the_project_and_prometheus_runs_but_denials_hold() {
    let script = vec![
        edit(),
        Reply::calls(&[
            ("bash", json!({"command": "cargo test"})),
            ("bash", json!({"command": "cd x && rm -rf y"})),
        ]),
        Reply::calls(&[("file_read", json!({"path": ".git/config"}))]),
        Reply::text("ok"),
    ];
    let stage =
        stage(Setting { script, permission_mode: PermissionMode::Prometheus, ..Setting::default() }).await;
    stage.prompt("go").await.unwrap();
    assert_eq!(stage.system.text_of("/w/a.txt").as_deref(), Some("1\ntwo\n"));
    let statuses: Vec<_> = stage.statuses().into_iter().map(|(_, status)| status).collect();
    use ToolStatus::{Completed, Failed};
    assert_eq!(statuses, [Completed, Completed, Failed, Failed]);
    assert!(stage.client.requests().is_empty());
}

#[tokio::test]
async fn a_file_that_changes_while_the_question_is_open_is_not_overwritten() {
    let answers = vec![Some(PermissionOutcome::AllowOnce)];
    let script = vec![edit(), Reply::text("ok")];
    let stage =
        stage(Setting { script, answers, permission_mode: PermissionMode::Argus, ..Setting::default() })
            .await;
    let prompt = stage.prompt("edit");
    let meddle = async {
        stage
            .client
            .until(|client| {
                client.events().iter().any(|e| matches!(e, SessionEvent::PermissionRequested { .. }))
            })
            .await;
        stage.system.add_file("/w/a.txt", "the user wrote this\n");
    };
    let (outcome, ()) = tokio::join!(prompt, meddle);
    outcome.unwrap();
    assert_eq!(stage.system.text_of("/w/a.txt").as_deref(), Some("the user wrote this\n"));
}

#[tokio::test(start_paused = true)]
async fn a_question_nobody_answers_is_a_refusal_in_the_end() {
    let script = vec![edit(), Reply::text("ok")];
    let stage = stage(Setting {
        script,
        answers: vec![None],
        permission_mode: PermissionMode::Argus,
        ..Setting::default()
    })
    .await;
    assert_eq!(stage.prompt("edit").await.unwrap().stop_reason, StopReason::EndTurn);
    assert_eq!(stage.statuses(), [("tool_0".to_owned(), ToolStatus::Failed)]);
}
