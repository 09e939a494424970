//! Tests of whole turns through an editor that is slow, holds unsaved text, or runs on another
//! machine.

use crate::stage::{Stage, stage, stage_with};
use acp::{
    ClientTools,
    testing::{EditorScript, Fault},
};
use agent::fake::Reply;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};

fn call(name: &str, arguments: Value) -> Reply {
    Reply::calls(&[(name, arguments)])
}

fn allowing() -> EditorScript {
    EditorScript::full().allowing()
}

/// Returns the results given to the model for its calls so far, in order.
fn results(stage: &Stage) -> Vec<String> {
    let last = stage.model.requests().last().cloned().expect("the model was asked");
    let calls = last.messages.iter().filter_map(|message| match message {
        agent::Message::Assistant(answer) => Some(answer.calls().map(|call| call.result.text.clone())),
        agent::Message::User(_) => None,
    });
    calls.flatten().collect()
}

#[tokio::test(start_paused = true)]
async fn two_edits_through_an_editor_that_writes_late_both_persist() {
    let edit = |old: &str, new: &str| {
        call("file_edit", json!({"path": "a.txt", "old_string": old, "new_string": new}))
    };
    let script = allowing().writes_after(Duration::from_millis(700));
    let stage = stage(script, [edit("one", "1"), edit("two", "2"), Reply::text("done")]);
    let session = stage.editor.session("/w").await;
    stage.editor.prompt(&session, "go").await.unwrap();
    let results = results(&stage);
    assert!(
        results.len() == 2 && results.iter().all(|result| result.starts_with("Edited a.txt (-1, +1 lines)")),
        "{results:?}"
    );
    assert!(!results.iter().any(|result| result.contains("formatting")), "{results:?}");
    assert_eq!(stage.editor.text_of("/w/a.txt").as_deref(), Some("1\n2\n"));
    stage.editor.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_editor_that_confirms_a_write_without_writing_is_detected() {
    let write = call("file_write", json!({"path": "new.txt", "content": "x\n"}));
    let edit = call("file_edit", json!({"path": "a.txt", "old_string": "one", "new_string": "1"}));
    let script = allowing().fault("fs/write_text_file", Fault::Result(json!({})));
    let stage = stage(script, [write, edit, Reply::text("done")]);
    let session = stage.editor.session("/w").await;
    stage.editor.prompt(&session, "go").await.unwrap();
    for result in results(&stage) {
        assert!(result.contains("The editor did not apply the change of"), "{result}");
    }
    stage.editor.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_review_longer_than_any_deadline_ends_with_the_write_done() {
    let review = Fault::Late(Duration::from_secs(20 * 60));
    let write = call("file_write", json!({"path": "new.txt", "content": "x\n"}));
    let stage = stage(allowing().fault("fs/write_text_file", review), [write, Reply::text("done")]);
    let session = stage.editor.session("/w").await;
    stage.editor.prompt(&session, "go").await.unwrap();
    assert_eq!(results(&stage), ["Wrote 1 lines to new.txt"]);
    stage.editor.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_write_under_review_is_cancelled_with_the_turn() {
    let write = call("file_write", json!({"path": "new.txt", "content": "x\n"}));
    let stage = stage(allowing().fault("fs/write_text_file", Fault::Silence), [write]);
    let session = stage.editor.session("/w").await;
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "go"}]});
    let (_, answer) = stage.editor.start("session/prompt", prompt);
    stage.editor.until(|editor| !editor.calls("fs/write_text_file").is_empty()).await;
    stage.editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(answer.await.unwrap()["stopReason"], "cancelled");
    stage.editor.until(|editor| !editor.calls("$/cancel_request").is_empty()).await;
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_search_after_a_load_reads_the_buffers_of_the_sessions_files() {
    let grep = || call("grep", json!({"pattern": "unsaved"}));
    let read = call("file_read", json!({"path": "a.txt"}));
    let first = stage(allowing().buffer("/w/a.txt", "one\n"), [read, Reply::text("done")]);
    let session = first.editor.session("/w").await;
    first.editor.prompt(&session, "go").await.unwrap();
    let store = first.store.clone();
    first.editor.close().await.unwrap();
    let script = allowing().buffer("/w/a.txt", "unsaved\n");
    let second = stage_with(store, script, [grep(), Reply::text("done")], |_| {});
    second.editor.initialize().await;
    second.editor.ok("session/load", json!({"sessionId": session, "cwd": "/w", "mcpServers": []})).await;
    second.editor.prompt(&session, "search").await.unwrap();
    assert_eq!(results(&second).last().map(String::as_str), Some("a.txt:1:unsaved"));
    second.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_search_reads_the_buffer_of_an_attached_file() {
    for attached in [
        json!({"type": "resource_link", "uri": "file:///w/a.txt", "name": "a.txt"}),
        json!({"type": "resource", "resource": {"uri": "file:///w/a.txt", "text": "as it was"}}),
    ] {
        let grep = call("grep", json!({"pattern": "unsaved"}));
        let stage = stage(allowing().buffer("/w/a.txt", "unsaved\n"), [grep, Reply::text("done")]);
        let session = stage.editor.session("/w").await;
        let prompt = json!([{"type": "text", "text": "look"}, attached]);
        stage.editor.ok("session/prompt", json!({"sessionId": session, "prompt": prompt})).await;
        assert_eq!(results(&stage), ["a.txt:1:unsaved"], "{attached}");
        stage.editor.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_lone_surrogate_in_a_prompt_is_replaced_and_the_prompt_runs() {
    let stage = stage(EditorScript::default(), [Reply::text("well")]);
    let session = stage.editor.session("/w").await;
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":"half","method":"session/prompt","params":{{"sessionId":"{session}","prompt":[{{"type":"text","text":"cut \ud83d here, \\ud83d not"}}]}}}}"#
    );
    stage.editor.raw(line + "\n");
    let answered = |message: &Value| message["id"] == "half" && message.get("result").is_some();
    stage.editor.until(|editor| editor.log().iter().any(answered)).await;
    let request = stage.model.requests().pop().unwrap();
    let asked = format!("{:?}", request.messages);
    assert!(asked.contains("cut \u{fffd} here, \\\\ud83d not"), "{asked}");
    assert!(
        !stage.editor.log().iter().any(|message| message["id"].is_null() && message.get("error").is_some())
    );
    // The scripted editor did not send the request with this id, and would object to its response.
    std::mem::forget(stage.editor);
}

fn two_machines(script: EditorScript, replies: impl IntoIterator<Item = Reply>) -> Stage {
    stage_with(Arc::default(), script, replies, |options| options.machines.client_tools = ClientTools::Ide)
}

#[tokio::test(start_paused = true)]
async fn a_directory_on_the_editors_machine_is_accepted_with_two_machines() {
    let edit =
        |old: &str| call("ide_edit", json!({"path": "x.rs", "old_string": old, "new_string": "there"}));
    let replies = [
        edit("here"),
        edit("nowhere"),
        call("file_write", json!({"path": "n", "content": "x"})),
        call("bash", json!({"command": "ls"})),
        Reply::text("done"),
    ];
    let stage = two_machines(allowing().buffer("/theirs/x.rs", "here, unsaved\n"), replies);
    let session = stage.editor.session("/theirs").await;
    stage.editor.prompt(&session, "go").await.unwrap();
    let results = results(&stage);
    assert_eq!(results[0], "Edited x.rs (-1, +1 lines)");
    assert_eq!(stage.editor.text_of("/theirs/x.rs").as_deref(), Some("there, unsaved\n"));
    assert!(results[1].starts_with("old_string not found in x.rs."), "{}", results[1]);
    assert!(results[2].contains("the project folder /theirs does not exist"), "{}", results[2]);
    assert!(results[3].contains("/theirs"), "{}", results[3]);
    let request = stage.model.requests().pop().unwrap();
    let results = format!("{:?}", request.messages.first());
    assert!(results.contains("two machines"), "{results}");
    let text = |name: &str| {
        request.tools.iter().find(|tool| tool.name == name).map(|tool| tool.description.clone()).unwrap()
    };
    assert!(text("bash").contains("WHERE TILLER IS RUNNING, not on the user's machine"), "{}", text("bash"));
    assert!(!text("file_read").contains("Unsaved") && text("file_read").contains("ide_read_file"));
    for name in ["ide_terminal", "ide_read_file", "ide_write_file", "ide_edit"] {
        assert!(text(name).contains("USER'S MACHINE"), "{name}");
    }
    stage.editor.close().await.unwrap();
    // With one machine, or a client that offers nothing, the directory must exist locally.
    for (set, script) in
        [(ClientTools::Transparent, EditorScript::full()), (ClientTools::Ide, EditorScript::default())]
    {
        let stage = stage_with(Arc::default(), script, [], |options| options.machines.client_tools = set);
        stage.editor.initialize().await;
        let new = json!({"cwd": "/theirs", "mcpServers": []});
        assert_eq!(stage.editor.error("session/new", new).await.0, -32602, "{set:?}");
        stage.editor.close().await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_edit_on_the_editors_machine_that_would_lose_content_is_refused() {
    let replies = [
        call("ide_edit", json!({"path": "latin", "old_string": "caf", "new_string": "tea"})),
        call("ide_edit", json!({"path": "none", "old_string": "a", "new_string": "b"})),
        Reply::text("done"),
    ];
    let stage = two_machines(allowing().buffer("/w/latin", "caf\u{fffd}\n"), replies);
    let session = stage.editor.session("/w").await;
    stage.editor.prompt(&session, "go").await.unwrap();
    let results = results(&stage);
    assert!(results[0].contains("could not decode"), "{}", results[0]);
    assert!(results[1].contains("File not found on the user's machine"), "{}", results[1]);
    assert!(stage.editor.calls("fs/write_text_file").is_empty());
    stage.editor.close().await.unwrap();
}
