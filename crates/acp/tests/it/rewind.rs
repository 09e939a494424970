//! Tests of reverting file changes through the editor.

use crate::stage::{stage, stage_with};
use acp::testing::EditorScript;
use agent::fake::Reply;
use serde_json::json;

#[tokio::test]
async fn a_rewind_goes_through_the_editor_and_keeps_what_the_user_typed() {
    let edit = json!({"path": "a.txt", "old_string": "one", "new_string": "ONE"});
    let replies = [Reply::calls(&[("file_edit", edit)]), Reply::text("done")];
    let script = EditorScript::full().allowing().native();
    // The user has typed two lines at the end without saving.
    let script = script.buffer("/w/a.txt", "one\ntwo\nthree\nmine\n");
    let stage = stage(script, replies);
    let session = stage.editor.session("/w").await;
    let checkpoints = json!({"sessionId": session});
    let none = stage.editor.ok("_tiller/sessions/checkpoints", checkpoints.clone()).await;
    assert_eq!(none, json!({"checkpoints": []}));
    stage.editor.prompt(&session, "shout").await.unwrap();
    assert_eq!(stage.editor.text_of("/w/a.txt").as_deref(), Some("ONE\ntwo\nthree\nmine\n"));
    let answer = stage.editor.ok("_tiller/sessions/checkpoints", checkpoints).await;
    assert_eq!(answer, json!({"checkpoints": [{"turn": 1, "prompt": "shout", "files": ["/w/a.txt"]}]}));

    let rewind = |more: serde_json::Value| {
        let mut params = json!({"sessionId": session});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let report = stage.editor.ok("_tiller/sessions/rewind", rewind(json!({"to": 0}))).await;
    assert_eq!(report, json!({"restored": ["/w/a.txt"], "merged": [], "left": [], "tasks": null}));
    assert_eq!(stage.editor.text_of("/w/a.txt").as_deref(), Some("one\ntwo\nthree\nmine\n"));
    assert_eq!(stage.disk.text_of("/w/a.txt").as_deref(), Some("one\ntwo\n"), "nothing behind its back");
    stage.editor.ok("_tiller/sessions/rewind", rewind(json!({"redo": true}))).await;
    assert_eq!(stage.editor.text_of("/w/a.txt").as_deref(), Some("ONE\ntwo\nthree\nmine\n"));

    for (params, code) in [
        (rewind(json!({})), -32602),
        (rewind(json!({"to": 1, "redo": true})), -32602),
        (rewind(json!({"to": 9})), -32602),
        (rewind(json!({"redo": true})), -32602),
        (json!({"sessionId": "nobody", "to": 1}), -32002),
    ] {
        assert_eq!(stage.editor.error("_tiller/sessions/rewind", params.clone()).await.0, code, "{params}");
    }
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_change_is_restored_on_disk_if_the_editor_has_no_files() {
    let write = json!({"path": "new.txt", "content": "new\n"});
    let replies = [Reply::calls(&[("file_write", write)]), Reply::text("done")];
    let script = EditorScript::default().allowing();
    let stage = stage_with(std::sync::Arc::default(), script, replies, |_| {});
    let session = stage.editor.session("/w").await;
    stage.editor.prompt(&session, "write").await.unwrap();
    stage.editor.prompt(&session, "/rewind 0").await.unwrap();
    assert!(stage.editor.text().contains("restored `/w/new.txt`"), "{}", stage.editor.text());
    assert_eq!(stage.disk.text_of("/w/new.txt"), None);
    stage.editor.close().await.unwrap();
}
