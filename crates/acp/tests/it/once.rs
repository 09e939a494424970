//! Prompts with `_meta.tiller.promptId` that are sent again.

use crate::stage::{Stage, detached};
use acp::testing::{Answer, Editor, EditorScript};
use agent::{SessionEvent, SessionId, SessionStore as _, fake::Reply};
use serde_json::{Value, json};

fn script() -> EditorScript {
    EditorScript::default().sharing()
}

/// A client whose user does not answer.
fn silent() -> EditorScript {
    script().permissions([Answer::Never])
}

fn prompt(session: &str, id: &Value, text: &str) -> Value {
    json!({
        "sessionId": session,
        "prompt": [{ "type": "text", "text": text }],
        "_meta": { "tiller": { "promptId": id } },
    })
}

fn load(session: &str) -> Value {
    json!({ "sessionId": session, "cwd": "/w", "mcpServers": [] })
}

/// Returns the number of turns and of messages of the user that are stored.
async fn counts(stage: &Stage, session: &str) -> (usize, usize) {
    let events = stage.store.events(&SessionId::from(session), 0, 1000).await.unwrap();
    let count = |fits: fn(&SessionEvent) -> bool| events.iter().filter(|(_, event)| fits(event)).count();
    (
        count(|event| matches!(event, SessionEvent::TurnStarted { .. })),
        count(|event| matches!(event, SessionEvent::UserMessage { .. })),
    )
}

fn two_rounds() -> [Reply; 2] {
    [Reply::calls(&[("file_read", json!({ "path": "a.txt" }))]), Reply::text("one and two")]
}

#[tokio::test]
async fn a_prompt_sent_again_by_another_client_gets_the_answer_of_the_running_turn() {
    let write = json!({ "path": "new.txt", "content": "new" });
    let stage = detached(silent(), [Reply::calls(&[("file_write", write)]), Reply::text("done")]);
    let session = stage.editor.session("/w").await;
    let id = json!("3f0c8e0e-4a4b-4b5e-9d6f-0d5a1c2b3e4f");
    let (_, first) = stage.editor.start("session/prompt", prompt(&session, &id, "go"));
    stage.editor.until(|editor| !editor.updates("tool_call").is_empty()).await;

    // A client that sends it again and goes away cancels nothing.
    let left = stage.join(silent());
    left.initialize().await;
    left.ok("session/load", load(&session)).await;
    drop(left.start("session/prompt", prompt(&session, &id, "go")));
    left.close().await.unwrap();

    let second = stage.join(script().allowing());
    second.initialize().await;
    second.ok("session/load", load(&session)).await;
    let again = second.ok("session/prompt", prompt(&session, &id, "go")).await;
    let answer = first.await.unwrap();
    assert_eq!(answer["stopReason"], "end_turn");
    assert_eq!(again, answer);
    let late = second.ok("session/prompt", prompt(&session, &id, "other words")).await;
    assert_eq!(late, answer, "the id decides");
    assert_eq!(counts(&stage, &session).await, (1, 1));
    second.close().await.unwrap();
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_prompt_whose_answer_was_lost_at_any_point_has_one_turn_when_it_is_sent_again() {
    let whole = detached(script(), two_rounds());
    let session = whole.editor.session("/w").await;
    let before = whole.editor.log().len();
    let id = json!("p-1");
    let expected = whole.editor.ok("session/prompt", prompt(&session, &id, "read")).await;
    let messages = whole.editor.log().len() - before;
    whole.editor.close().await.unwrap();
    assert!(messages > 4, "{messages}");

    for lost_after in 0..=messages {
        let stage = detached(script(), two_rounds());
        let session = stage.editor.session("/w").await;
        let before = stage.editor.log().len();
        let (_, answer) = stage.editor.start("session/prompt", prompt(&session, &id, "read"));
        stage.editor.until(|editor| editor.log().len() >= before + lost_after).await;
        stage.editor.hang_up();
        drop(answer);
        let second = stage.join(script());
        second.initialize().await;
        second.ok("session/load", load(&session)).await;
        let again = second.ok("session/prompt", prompt(&session, &id, "read")).await;
        assert_eq!(again, expected, "lost after {lost_after} messages");
        assert_eq!(counts(&stage, &session).await, (1, 1), "lost after {lost_after} messages");
        assert_eq!(stage.model.requests().len(), 2);
        second.close().await.unwrap();
        // It finds that the client no longer reads, if it had anything to write.
        drop(stage.editor.close().await);
    }
}

#[tokio::test]
async fn version_2_answers_a_prompt_sent_again_with_the_same_message() {
    let stage = detached(EditorScript::v2().sharing(), [Reply::text("one")]);
    let session = stage.editor.session("/w").await;
    let id = json!("p-1");
    let first = stage.editor.ok("session/prompt", prompt(&session, &id, "go")).await;
    stage.editor.until_idle(&session, 0).await;
    let again = stage.editor.ok("session/prompt", prompt(&session, &id, "go")).await;
    assert_eq!(again, first);
    assert_eq!(counts(&stage, &session).await, (1, 1));
    refuses_bad_ids(&stage.editor, &session).await;
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_prompt_id_that_is_none_is_refused_by_name() {
    let stage = detached(script(), []);
    let session = stage.editor.session("/w").await;
    refuses_bad_ids(&stage.editor, &session).await;
    assert_eq!(counts(&stage, &session).await, (0, 0));
    stage.editor.close().await.unwrap();
}

async fn refuses_bad_ids(editor: &Editor, session: &str) {
    for wrong in [json!(""), json!("with space"), json!("x".repeat(129)), json!(1), json!(["x"])] {
        let (code, message) = editor.error("session/prompt", prompt(session, &wrong, "go")).await;
        assert_eq!(code, -32602, "{wrong}");
        assert!(message.contains("_meta.tiller.promptId"), "{message}");
    }
}
