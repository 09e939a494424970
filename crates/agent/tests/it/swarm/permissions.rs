//! What subagents may do, and who is asked.

use super::{Cast, Scene, play, subagent};
use agent::{Mode, PermissionMode, PermissionOutcome, SubagentStatus, fake::Reply};
use serde_json::json;

#[tokio::test]
async fn the_users_client_is_asked_and_the_request_names_the_subagent() {
    let answers = vec![Some(PermissionOutcome::AllowAlways)];
    let cast = Cast { answers, permission_mode: PermissionMode::Argus, ..Cast::default() };
    let play = play(cast, |scene: &Scene| match scene.round {
        0 | 1 if scene.is_subagent() => Reply::calls(&[("bash", json!({"command": "cargo test"}))]),
        _ if scene.is_subagent() => Reply::text("Tested."),
        0 => subagent(json!({"task": "Test it", "id": "tester", "type": "general"})),
        _ => Reply::text("Good."),
    })
    .await;
    play.prompt("Test").await;
    let requests = play.client.requests();
    let [request] = requests.as_slice() else {
        panic!("asked once, since the answer holds for all: {requests:?}")
    };
    assert_eq!(request.id.as_str(), "tester/tool_0");
    assert_eq!(request.description.title, "[tester] Run cargo test");
    assert!(request.question.starts_with("Subagent 'tester': "), "{}", request.question);
    assert_eq!(play.agents().await[0].progress.status, SubagentStatus::Done);
}

#[tokio::test]
async fn a_subagent_is_never_freer_than_the_agent_that_requested_it() {
    let play = play(Cast::default(), |scene: &Scene| match (scene.is_subagent(), scene.round) {
        (true, 0) => Reply::calls(&[("file_write", json!({"path": "b.txt", "content": "x"}))]),
        (true, _) => Reply::text(&scene.last[0]),
        (false, 0) => subagent(json!({"task": "Write", "id": "writer", "type": "general"})),
        (false, _) => Reply::text("Ended."),
    })
    .await;
    play.session.set_mode(Mode::Plan).await.unwrap();
    play.prompt("Go").await;
    let text = play.received().remove(0);
    assert!(text.contains("Tool 'file_write' is not available in Plan mode."), "{text}");
}

#[tokio::test]
async fn an_explorer_changes_nothing_even_where_nothing_is_asked() {
    let cast = Cast { permission_mode: PermissionMode::Prometheus, ..Cast::default() };
    let play = play(cast, |scene: &Scene| match (scene.is_subagent(), scene.round) {
        (true, 0) => Reply::calls(&[
            ("file_write", json!({"path": "b.txt", "content": "x"})),
            ("bash", json!({"command": "rm a.txt"})),
        ]),
        (true, _) => Reply::text(&scene.last.join("\n")),
        (false, 0) => subagent(json!({"task": "Look"})),
        (false, _) => Reply::text("Ended."),
    })
    .await;
    play.prompt("Go").await;
    let text = play.received().remove(0);
    assert!(text.contains("'file_write' is not available in Ask mode."), "{text}");
    assert!(text.contains("blocked"), "{text}");
}

#[tokio::test]
async fn the_session_of_a_subagent_cannot_be_opened_on_its_own() {
    let play = play(Cast::default(), |scene: &Scene| match (scene.is_subagent(), scene.round) {
        (true, _) => Reply::text("Yes."),
        (false, 0) => subagent(json!({"task": "Look"})),
        (false, _) => Reply::text("Ended."),
    })
    .await;
    play.prompt("Go").await;
    let child = play.agents().await[0].place.session.clone().unwrap();
    let surface = agent::Surface { client: play.client.clone(), system: play.system.clone() };
    let error = play.runtime.open(&child, agent::OpenSession::default(), |_| surface).await.err().unwrap();
    assert_eq!(
        error.to_string(),
        format!("session {child} belongs to a subagent of session {}; open that one", play.session.id())
    );
    play.runtime.delete(play.session.id()).await.unwrap();
    assert!(play.runtime.record(&child).await.is_err(), "it is deleted with its root session");
}
