//! Tests of one session with several clients in one process.

use crate::stage::{Stage, stage_with};
use acp::{
    ClientTools,
    testing::{Answer, Editor, EditorScript, Fault},
};
use agent::{ModelEvent, fake::Reply};
use serde_json::{Value, json};
use std::sync::Arc;

fn script() -> EditorScript {
    EditorScript::default().sharing()
}

fn alone(replies: impl IntoIterator<Item = Reply>, script: EditorScript) -> Stage {
    stage_with(Arc::default(), script, replies, |_| {})
}

fn text_events(text: &str) -> Vec<ModelEvent> {
    vec![ModelEvent::Text(text.to_owned())]
}

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

fn load(session: &str) -> Value {
    json!({"sessionId": session, "cwd": "/w", "mcpServers": []})
}

async fn wait_for_text(editor: &Editor, text: &str) {
    editor.until(|editor| editor.text() == text).await;
}

#[tokio::test]
async fn a_joining_client_gets_the_history_and_then_live_updates() {
    let replies = [Reply::text("one "), Reply::Hang(text_events("two ")), Reply::text("three ")];
    let stage = alone(replies, script());
    let first = &stage.editor;
    let session = first.session("/w").await;
    first.prompt(&session, "1").await.unwrap();
    let (_, running) = first.start("session/prompt", prompt(&session, "2"));
    wait_for_text(first, "one two ").await;

    let second = stage.join(script());
    second.initialize().await;
    second.ok("session/load", load(&session)).await;
    assert_eq!(second.text(), "one two ", "the past, and what is being said");
    assert_eq!(second.updates("user_message_chunk").len(), 2);
    second.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(running.await.unwrap()["stopReason"], "cancelled");
    second.prompt(&session, "3").await.unwrap();
    for editor in [first, &second] {
        wait_for_text(editor, "one two three ").await;
    }
    // Joining twice duplicates no live update.
    second.ok("session/load", load(&session)).await;
    assert_eq!(second.text(), "one two three one two three ");
    second.ok("session/set_mode", json!({"sessionId": session, "modeId": "plan"})).await;
    first.until(|editor| !editor.updates("current_mode_update").is_empty()).await;
    second.close().await.unwrap();
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_leaving_client_keeps_the_session_open_for_the_others() {
    let write = json!({"path": "new.txt", "content": "new\n"});
    let replies =
        [Reply::Hang(text_events("half ")), Reply::calls(&[("file_write", write)]), Reply::text("done")];
    // The first client offers files; after it has left, those of the second would be used, which
    // offers none.
    let stage = alone(replies, EditorScript::full().sharing());
    let session = stage.editor.session("/w").await;
    let second = stage.join(script().allowing());
    second.initialize().await;
    second.ok("session/resume", load(&session)).await;
    let (_, running) = stage.editor.start("session/prompt", prompt(&session, "1"));
    wait_for_text(&second, "half ").await;
    drop(running);
    let Stage { editor, disk, .. } = stage;
    editor.close().await.unwrap();
    // Its own prompt was cancelled; the session stays open.
    assert_eq!(second.ok("session/status", json!({"sessionId": session})).await["status"], "open");
    assert_eq!(second.prompt(&session, "2").await.unwrap()["stopReason"], "end_turn");
    assert_eq!(disk.text_of("/w/new.txt").as_deref(), Some("new\n"));
    second.close().await.unwrap();
}

#[tokio::test]
async fn a_question_goes_to_all_and_the_first_answer_counts() {
    let write = json!({"path": "new.txt", "content": "new\n"});
    let replies = [Reply::calls(&[("file_write", write)]), Reply::text("done")];
    let stage = alone(replies, script().permissions([Answer::Never]));
    let session = stage.editor.session("/w").await;
    let second = stage.join(script().permissions([Answer::Select("allow_once")]));
    second.initialize().await;
    second.ok("session/load", load(&session)).await;
    assert_eq!(stage.editor.prompt(&session, "write").await.unwrap()["stopReason"], "end_turn");
    assert_eq!(stage.disk.text_of("/w/new.txt").as_deref(), Some("new\n"));
    stage.editor.until(|editor| !editor.calls("$/cancel_request").is_empty()).await;
    second.close().await.unwrap();
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn the_last_client_to_leave_closes_the_session() {
    let stage = alone([Reply::Hang(text_events("x")), Reply::text("y")], script());
    let session = stage.editor.session("/w").await;
    let second = stage.join(script());
    second.initialize().await;
    second.ok("session/load", load(&session)).await;
    let of = json!({"sessionId": session});
    let (_, running) = stage.editor.start("session/prompt", prompt(&session, "1"));
    wait_for_text(&second, "x").await;
    stage.editor.ok("session/close", of.clone()).await;
    assert_eq!(running.await.unwrap()["stopReason"], "cancelled", "its own prompt went with it");
    assert_eq!(second.ok("session/status", of.clone()).await["status"], "open");
    second.prompt(&session, "2").await.unwrap();
    assert!(!stage.editor.text().contains('y'), "who closed it is told nothing more");
    second.ok("session/close", of.clone()).await;
    assert_eq!(second.ok("session/status", of.clone()).await["status"], "saved");
    // A client that opens it again is its only subscriber.
    stage.editor.ok("session/load", load(&session)).await;
    second.close().await.unwrap();
    assert_eq!(stage.editor.ok("session/status", of).await["status"], "open");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn closing_a_shared_session_leaves_the_prompts_of_others_running() {
    let stage = alone([Reply::Hang(text_events("x"))], script());
    let session = stage.editor.session("/w").await;
    let second = stage.join(script());
    second.initialize().await;
    second.ok("session/load", load(&session)).await;
    let of = json!({"sessionId": session});
    let (_, running) = second.start("session/prompt", prompt(&session, "1"));
    wait_for_text(&second, "x").await;
    stage.editor.ok("session/close", of.clone()).await;
    let mut running = std::pin::pin!(running);
    assert!(futures::poll!(running.as_mut()).is_pending(), "the turn of the other goes on");
    // It is no longer open for the first client, which therefore cannot close it again.
    let (code, message) = stage.editor.error("session/close", of.clone()).await;
    assert_eq!(code, -32002, "{message}");
    second.notify("session/cancel", of);
    assert_eq!(running.await.unwrap()["stopReason"], "cancelled");
    second.close().await.unwrap();
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_session_can_be_opened_immediately_after_its_closing() {
    let stage = alone([], script());
    let session = stage.editor.session("/w").await;
    let of = json!({"sessionId": session});
    for _ in 0..20 {
        let (_, closed) = stage.editor.start("session/close", of.clone());
        let (_, loaded) = stage.editor.start("session/load", load(&session));
        closed.await.unwrap();
        loaded.await.unwrap();
    }
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn an_unresponsive_client_does_not_delay_the_others() {
    let write = json!({"path": "new.txt", "content": "new\n"});
    let replies = [Reply::calls(&[("file_write", write)]), Reply::text("done")];
    let stage = alone(replies, script().allowing());
    let session = stage.editor.session("/w").await;
    let second = stage.join(script().fault("session/request_permission", Fault::Silence));
    second.initialize().await;
    second.ok("session/load", load(&session)).await;
    second.read(false);
    assert_eq!(stage.editor.prompt(&session, "write").await.unwrap()["stopReason"], "end_turn");
    stage.editor.close().await.unwrap();
    second.read(true);
    second.close().await.unwrap();
}

#[tokio::test]
async fn the_tools_of_a_client_are_removed_when_it_leaves() {
    let full = EditorScript::full().sharing();
    let replies = [Reply::text("with"), Reply::text("without")];
    let stage =
        stage_with(Arc::default(), full, replies, |options| options.machines.client_tools = ClientTools::Ide);
    let session = stage.editor.session("/w").await;
    let second = stage.join(script());
    second.initialize().await;
    second.ok("session/load", load(&session)).await;
    second.prompt(&session, "1").await.unwrap();
    let Stage { editor, model, .. } = stage;
    editor.close().await.unwrap();
    second.prompt(&session, "2").await.unwrap();
    let of_the_editor = |tools: &[agent::ToolSpec]| tools.iter().any(|tool| tool.name.starts_with("ide_"));
    let offered: Vec<_> = model.requests().iter().map(|request| of_the_editor(&request.tools)).collect();
    assert_eq!(offered, [true, true], "what requests begin with stays");
    let last_message = format!("{:?}", model.requests()[1].messages.last());
    assert!(
        last_message.contains("No longer there: ") && last_message.contains("ide_edit"),
        "{last_message}"
    );
    assert!(last_message.contains("There is one machine now"), "{last_message}");
    second.close().await.unwrap();
}
