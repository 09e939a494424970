//! Tests of a session's work through both protocols: tasks, goals and background commands.

use crate::stage::{Stage, stage};
use acp::testing::{Answer, EditorScript};
use agent::fake::Reply;
use serde_json::{Value, json};
use system::fake::Script;

async fn opened(stage: &Stage) -> String {
    stage.editor.ok("initialize", json!({ "protocolVersion": 1 })).await;
    let session = stage.editor.ok("session/new", json!({ "cwd": "/w", "mcpServers": [] })).await;
    session["sessionId"].as_str().unwrap().to_owned()
}

fn native() -> EditorScript {
    EditorScript::default().native()
}

/// The values of a field in all native events of a type.
fn events(stage: &Stage, name: &str, field: &str) -> Vec<Value> {
    let calls = stage.editor.calls(&format!("kosmokrator/{name}"));
    calls.into_iter().map(|mut event| event[field].take()).collect()
}

#[tokio::test]
async fn tasks_are_a_plan_for_editors_and_a_list_for_programs() {
    let create = json!({ "subject": "build", "description": "all of it" });
    let replies = [Reply::calls(&[("task_create", create)]), Reply::text("done")];
    let stage = stage(native(), replies);
    let session = opened(&stage).await;
    let named = json!({ "sessionId": session });
    assert_eq!(stage.editor.ok("_tiller/tasks/list", named.clone()).await, json!({ "tasks": [] }));
    stage.editor.prompt(&session, "plan").await.unwrap();
    let plans = stage.editor.updates("plan");
    assert_eq!(plans.len(), 1, "{plans:?}");
    assert_eq!(plans[0]["entries"][0]["content"], "build");
    let list = stage.editor.ok("_tiller/tasks/list", named).await;
    let task = &list["tasks"][0];
    assert_eq!((&task["subject"], &task["status"]), (&json!("build"), &json!("pending")));
    assert_eq!((&task["description"], &task["parentId"]), (&json!("all of it"), &Value::Null));
    assert_eq!(events(&stage, "tasks_updated", "tasks"), [list["tasks"].clone()]);
    let nobody = json!({ "sessionId": "nobody" });
    assert_eq!(stage.editor.error("_tiller/tasks/list", nobody).await.0, -32602);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_program_sets_a_goal_reads_it_and_removes_it() {
    let complete = Reply::calls(&[("update_goal", json!({ "status": "complete" }))]);
    let replies = [Reply::text("Begun."), complete, Reply::text("Done.")];
    let stage = stage(native(), replies);
    let session = opened(&stage).await;
    let set = |more: Value| {
        let mut params = json!({ "sessionId": session });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let got = stage.editor.ok("_tiller/goal/get", set(json!({}))).await;
    assert_eq!(got, json!({ "goal": null }));
    for (wrong, message) in [
        (json!({}), "send either objective, or status: active, paused or cleared"),
        (json!({ "status": "paused" }), "there is no goal; set one with /goal TEXT"),
        (json!({ "objective": "x", "tokenBudget": 0 }), "a token budget is at least 1"),
    ] {
        let (code, text) = stage.editor.error("_tiller/goal/set", set(wrong)).await;
        assert_eq!((code, text.as_str()), (-32602, message));
    }
    let given = json!({ "objective": "all green", "tokenBudget": 900 });
    let goal = stage.editor.ok("_tiller/goal/set", set(given)).await["goal"].clone();
    assert_eq!((&goal["status"], &goal["reason"]), (&json!("paused"), &json!("starts with the next prompt")));
    stage.editor.prompt(&session, "go").await.unwrap();
    let goal = stage.editor.ok("_tiller/goal/get", set(json!({}))).await["goal"].clone();
    assert_eq!((&goal["status"], &goal["tokensUsed"]), (&json!("complete"), &json!(30)));
    assert_eq!((&goal["objective"], &goal["tokenBudget"]), (&json!("all green"), &json!(900)));
    let cleared = stage.editor.ok("_tiller/goal/set", set(json!({ "status": "cleared" }))).await;
    assert_eq!(cleared, json!({ "goal": null }));
    let states: Vec<_> =
        events(&stage, "goal_updated", "goal").iter().map(|goal| goal["status"].clone()).collect();
    assert_eq!(states, [json!("paused"), json!("active"), json!("active"), json!("complete"), Value::Null]);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_background_command_is_shown_until_its_end_and_stopped_by_a_program() {
    let run = |command: &str| Reply::calls(&[("bash", json!({ "command": command, "background": true }))]);
    let replies = [run("serve"), Reply::text("runs")];
    let script = native().permissions([Answer::Select("allow_once")]);
    let stage = stage(script, replies);
    stage.disk.on_command("serve", |_| Script::hangs().prints("listening\n"));
    let session = opened(&stage).await;
    stage.editor.prompt(&session, "start it").await.unwrap();
    let named = json!({ "sessionId": session });
    let list = stage.editor.ok("_tiller/shells/list", named).await;
    let shell = &list["shells"][0];
    assert_eq!(
        (&shell["id"], &shell["status"], &shell["toolCallId"]),
        (&json!("sh_1"), &json!("running"), &json!("tool_0"))
    );
    let one = json!({ "sessionId": session, "id": "sh_1" });
    let output = stage.editor.ok("_tiller/shells/output", one.clone()).await;
    assert_eq!(output["output"], "listening\n");
    let stopped = stage.editor.ok("_tiller/shells/stop", one).await;
    assert_eq!(
        (&stopped["shells"][0]["end"], &stopped["shells"][0]["success"]),
        (&json!("stopped"), &json!(false))
    );
    let other = json!({ "sessionId": session, "id": "sh_9" });
    let (code, text) = stage.editor.error("_tiller/shells/stop", other).await;
    assert_eq!((code, text.as_str()), (-32602, "There is no background command 'sh_9'. There are: sh_1."));
    stage.editor.until(|editor| editor.calls("kosmokrator/shell_updated").len() == 2).await;
    let states: Vec<_> =
        events(&stage, "shell_updated", "shell").iter().map(|shell| shell["status"].clone()).collect();
    assert_eq!(states, ["running", "ended"]);
    let shown = stage.editor.updates("tool_call_update").pop().unwrap();
    let text = shown["content"][0]["content"]["text"].as_str().unwrap();
    assert!(
        text.starts_with("[Background bash command 'sh_1' was stopped (") && text.ends_with("Command: serve"),
        "{shown}"
    );
    stage.editor.close().await.unwrap();
}
