//! Tests of version 2 of the protocol, with the same sessions.

use crate::stage::{Stage, stage, stage_with};
use acp::{
    Protocol,
    testing::{Answer, EditorScript},
};
use agent::{ModelError, ModelEvent, SessionStore, fake::Reply};
use serde_json::{Value, json};
use std::sync::Arc;
use system::fake::Script;

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

fn names(states: &[Value]) -> Vec<&str> {
    states.iter().map(|state| state["state"].as_str().unwrap()).collect()
}

fn text_events(text: &str) -> Vec<ModelEvent> {
    vec![ModelEvent::Text(text.to_owned())]
}

/// Returns all updates so far.
fn updates(stage: &Stage) -> Vec<Value> {
    let params = stage.editor.calls("session/update").into_iter();
    params.map(|mut params| params["update"].take()).collect()
}

#[tokio::test]
async fn each_client_is_served_in_the_version_it_requests() {
    let info = json!({"name": "editor", "version": "1"});
    for (asked, protocol, served) in [
        (json!(0), Protocol::Auto, 1),
        (json!(1), Protocol::Auto, 1),
        (json!(2), Protocol::Auto, 2),
        (json!(65535), Protocol::Auto, 1),
        (json!("x"), Protocol::Auto, 1),
        (json!(2), Protocol::V1, 1),
        (json!(2), Protocol::V2, 2),
        (json!(3), Protocol::V2, 2),
        (json!(65536), Protocol::V2, 2),
    ] {
        let stage = stage_with(Arc::default(), EditorScript::default(), [], |o| o.protocol = protocol);
        let params = json!({"protocolVersion": asked, "info": info, "capabilities": {"future": 1}});
        let answer = stage.editor.ok("initialize", params).await;
        assert_eq!(answer["protocolVersion"], served, "{asked}");
        stage.editor.close().await.unwrap();
    }
    let stage = stage_with(Arc::default(), EditorScript::default(), [], |o| o.protocol = Protocol::V2);
    for earlier in [json!(0), json!(1), json!(-1), json!(2.5), json!("2"), Value::Null] {
        let asked = json!({"protocolVersion": earlier});
        assert_eq!(stage.editor.error("initialize", asked).await.0, -32022, "{earlier}");
    }
    assert_eq!(stage.editor.error("initialize", json!({})).await.0, -32602);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn initialize_reports_the_capabilities_and_works_once() {
    let stage = stage(EditorScript::v2(), []);
    let answer = stage.editor.initialize().await;
    assert_eq!((&answer["protocolVersion"], &answer["info"]["name"]), (&json!(2), &json!("tiller")));
    let session = &answer["capabilities"]["session"];
    assert_eq!(session["prompt"], json!({"image": {}, "embeddedContext": {}}));
    assert_eq!(session["mcp"], json!({"stdio": {}, "http": {}}));
    for capability in ["delete", "additionalDirectories", "fork", "archive", "title", "status"] {
        assert_eq!(session[capability], json!({}), "{capability}");
    }
    assert_eq!(answer["authMethods"][0]["methodId"], "tiller-provider");
    let again = json!({"protocolVersion": 2, "info": {"name": "x", "version": "1"}});
    assert_eq!(stage.editor.error("initialize", again).await.0, -32600);
    stage.editor.ok("auth/login", json!({"methodId": "tiller-provider"})).await;
    assert_eq!(stage.editor.error("auth/login", json!({"methodId": "x"})).await.0, -32602);
    assert_eq!(stage.editor.ok("auth/status", json!({})).await["state"], "not_required");
    stage.editor.ok("auth/logout", json!({})).await;
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_prompt_is_acknowledged_with_its_message_while_its_turn_runs() {
    let stage = stage(EditorScript::v2(), [Reply::Hang(text_events("thinking"))]);
    let session = stage.editor.session("/w").await;
    let answer = stage.editor.ok("session/prompt", prompt(&session, "hi")).await;
    stage.editor.until(|editor| editor.text() == "thinking").await;
    let message = &stage.editor.updates("user_message")[0];
    assert_eq!(message["messageId"], answer["messageId"]);
    assert_eq!(message["content"], json!([{"type": "text", "text": "hi"}]));
    assert_eq!(names(&stage.editor.states(&session)), ["running"]);
    stage.editor.notify("session/cancel", json!({"sessionId": session}));
    let idle = stage.editor.until_idle(&session, 0).await;
    assert_eq!(idle["stopReason"], "cancelled");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_queued_prompt_is_answered_when_its_turn_starts() {
    let stage = stage(EditorScript::v2(), [Reply::Hang(text_events("one")), Reply::text("three")]);
    let session = stage.editor.session("/w").await;
    stage.editor.ok("session/prompt", prompt(&session, "first")).await;
    let (second, taken_back) = stage.editor.start("session/prompt", prompt(&session, "second"));
    let (_, third) = stage.editor.start("session/prompt", prompt(&session, "third"));
    stage.editor.notify("$/cancel_request", json!({"requestId": second}));
    assert_eq!(taken_back.await.unwrap_err()["code"], -32800);
    stage.editor.until(|editor| editor.text() == "one").await;
    assert_eq!(stage.editor.updates("user_message").len(), 1, "the third waits");
    let (_, fourth) = stage.editor.start("session/prompt", prompt(&session, "fourth"));
    stage.editor.notify("session/cancel", json!({"sessionId": session}));
    for waiting in [third.await, fourth.await] {
        assert_eq!(waiting.unwrap_err()["code"], -32800);
    }
    stage.editor.until_idle(&session, 0).await;
    assert_eq!(stage.editor.turn(&session, "third again").await["stopReason"], "end_turn");
    assert_eq!(stage.editor.updates("user_message").len(), 2);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_permission_needs_the_user_and_shows_what_would_change() {
    let edit =
        Reply::calls(&[("file_edit", json!({"path": "a.txt", "old_string": "one", "new_string": "1"}))]);
    let script = EditorScript::v2().permissions([Answer::Select("allow_once")]);
    let stage = stage(script, [edit, Reply::text("done")]);
    let session = stage.editor.session("/w").await;
    assert_eq!(stage.editor.turn(&session, "edit").await["stopReason"], "end_turn");
    let states = stage.editor.states(&session);
    assert_eq!(names(&states), ["running", "requires_action", "running", "idle"]);
    let asked = &stage.editor.calls("session/request_permission")[0];
    assert!(asked["title"].is_string() && asked["description"].is_string(), "{asked}");
    let call = &asked["subject"]["toolCall"];
    let diff = call["content"].as_array().unwrap().iter().find(|part| part["type"] == "diff").unwrap();
    assert_eq!(diff["changes"], json!([{"operation": "modify", "path": "/w/a.txt", "fileType": "text"}]));
    assert_eq!(
        diff["patch"]["text"],
        "diff --git /w/a.txt /w/a.txt\n--- /w/a.txt\n+++ /w/a.txt\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"
    );
    assert_eq!(stage.disk.text_of("/w/a.txt").as_deref(), Some("1\ntwo\n"));
    let last = stage.editor.updates("tool_call_update").pop().unwrap();
    assert_eq!((&last["status"], &last["toolCallId"]), (&json!("completed"), &call["toolCallId"]));
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_command_is_shown_in_a_terminal_owned_by_the_agent() {
    let bash = Reply::calls(&[("bash", json!({"command": "make"}))]);
    let script = EditorScript::v2().permissions([Answer::Select("allow_once")]);
    let stage = stage(script, [bash, Reply::text("done")]);
    stage.disk.on_command("make", |_| Script::exits(3).prints("built\n"));
    let session = stage.editor.session("/w").await;
    stage.editor.turn(&session, "build").await;
    let shown = stage.editor.updates("terminal_update");
    assert_eq!((&shown[0]["command"], &shown[0]["cwd"]), (&json!("make"), &json!("/w")));
    assert_eq!(shown.last().unwrap()["exitStatus"], json!({"exitCode": 3}));
    let output = stage.editor.updates("terminal_output_chunk");
    assert_eq!(output[0]["data"], "YnVpbHQK");
    let embedded = stage.editor.updates("tool_call_update").pop().unwrap();
    assert_eq!(embedded["content"], json!([{"type": "terminal", "terminalId": shown[0]["terminalId"]}]));
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_question_needs_the_user() {
    let ask = Reply::calls(&[("ask_user", json!({"question": "Which?"}))]);
    let accept = json!({"action": "accept", "content": {"answer": "blue"}});
    let script = EditorScript::v2().forms([accept]);
    let stage = stage(script, [ask, Reply::text("blue it is")]);
    let session = stage.editor.session("/w").await;
    stage.editor.turn(&session, "ask").await;
    let states = stage.editor.states(&session);
    assert_eq!(names(&states), ["running", "requires_action", "running", "idle"]);
    assert!(format!("{:?}", stage.model.requests()[1]).contains("blue"));
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_turn_that_fails_ends_idle_with_its_error() {
    let overloaded = || Reply::error(ModelError::Overloaded("try later".to_owned()));
    let stage = stage(EditorScript::v2(), [overloaded(), Reply::Panic, Reply::text("better")]);
    let session = stage.editor.session("/w").await;
    for says in ["try later", "ended in the middle of the turn"] {
        let idle = stage.editor.turn(&session, "hi").await;
        assert_eq!(idle["stopReason"], "error");
        assert!(idle["error"]["message"].as_str().unwrap().contains(says), "{idle}");
    }
    assert_eq!(stage.editor.turn(&session, "hi").await["stopReason"], "end_turn");
    let empty = json!({"sessionId": session, "prompt": []});
    assert_eq!(stage.editor.error("session/prompt", empty).await.0, -32602);
    assert_eq!(stage.editor.error("session/prompt", prompt(&session, " ")).await.0, -32602);
    assert_eq!(names(&stage.editor.states(&session)).len(), 6, "nothing began");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_turn_whose_end_cannot_be_stored_still_ends_idle() {
    let stage = stage(EditorScript::v2(), [Reply::Hang(text_events("half"))]);
    let session = stage.editor.session("/w").await;
    stage.editor.ok("session/prompt", prompt(&session, "hi")).await;
    stage.editor.until(|editor| editor.text() == "half").await;
    stage.store.acquire(&session.as_str().into(), true).await.unwrap();
    stage.editor.notify("session/cancel", json!({"sessionId": session}));
    let idle = stage.editor.until_idle(&session, 0).await;
    assert_eq!((&idle["stopReason"], &idle["error"]["data"]["reason"]), (&json!("error"), &json!("fenced")));
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_session_of_version_1_continues_in_version_2() {
    let read = Reply::calls(&[("file_read", json!({"path": "a.txt"}))]);
    let first = stage(EditorScript::default(), [read, Reply::text("read")]);
    let session = first.editor.session("/w").await;
    first.editor.prompt(&session, "read it").await.unwrap();
    let ids = |updates: &[Value]| {
        let id = |update: &Value| {
            update["messageId"].as_str().or(update["toolCallId"].as_str()).map(str::to_owned)
        };
        let mut ids: Vec<_> = updates.iter().filter_map(id).collect();
        ids.dedup();
        ids
    };
    let live = ids(&updates(&first));
    let Stage { editor, store, .. } = first;
    editor.close().await.unwrap();
    let second = stage_with(store, EditorScript::v2(), [Reply::text("more")], |_| {});
    second.editor.initialize().await;
    let resume = |from: Value| json!({"sessionId": session, "cwd": "/w", "replayFrom": from});
    for bad in [json!({"type": "message"}), json!(7)] {
        assert_eq!(second.editor.error("session/resume", resume(bad)).await.0, -32602);
    }
    assert!(updates(&second).is_empty());
    let answer = second.editor.ok("session/resume", resume(json!({"type": "start"}))).await;
    assert_eq!(answer["configOptions"][0]["configId"], "mode");
    assert!(answer["availableCommands"].is_array());
    let replayed = updates(&second);
    assert_eq!(replayed[0]["sessionUpdate"], "user_message");
    assert_eq!(ids(&replayed)[1..], live);
    assert_eq!(replayed.last().unwrap(), &json!({"sessionUpdate": "state_update", "state": "idle"}));
    assert_eq!(second.editor.turn(&session, "go on").await["stopReason"], "end_turn");
    let before = updates(&second).len();
    second.editor.ok("session/resume", resume(Value::Null)).await;
    let again = updates(&second);
    assert_eq!(again[before..], [json!({"sessionUpdate": "state_update", "state": "idle"})]);
    second.editor.close().await.unwrap();
}

#[tokio::test]
async fn resuming_in_the_middle_of_a_turn_reports_the_running_turn() {
    let stage = stage(EditorScript::v2(), [Reply::Hang(text_events("half of it"))]);
    let session = stage.editor.session("/w").await;
    stage.editor.ok("session/prompt", prompt(&session, "hi")).await;
    stage.editor.until(|editor| editor.text() == "half of it").await;
    let before = updates(&stage).len();
    let resume = json!({"sessionId": session, "cwd": "/w", "replayFrom": {"type": "start"}});
    stage.editor.ok("session/resume", resume).await;
    let replayed = updates(&stage)[before..].to_vec();
    let half = replayed.iter().find(|update| update["sessionUpdate"] == "agent_message").unwrap();
    assert_eq!(half["content"][0]["text"], "half of it");
    assert_eq!(replayed.last().unwrap()["state"], "running");
    let states = stage.editor.states(&session).len();
    stage.editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(stage.editor.until_idle(&session, states).await["stopReason"], "cancelled");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn sessions_are_listed_set_named_forked_closed_and_deleted() {
    let stage = stage(EditorScript::v2(), [Reply::text("one")]);
    let session = stage.editor.session("/w").await;
    stage.editor.turn(&session, "first").await;
    let of = |id: &str| json!({"sessionId": id});
    let set = json!({"sessionId": session, "configId": "mode", "type": "id", "value": "plan"});
    let options = stage.editor.ok("session/set_config_option", set).await;
    assert_eq!(options["configOptions"][0]["currentValue"], "plan");
    stage.editor.until(|editor| !editor.updates("config_option_update").is_empty()).await;
    let named = json!({"sessionId": session, "title": "Named"});
    assert_eq!(stage.editor.ok("session/set_title", named).await["title"], "Named");
    let fork = stage.editor.ok("session/fork", json!({"sessionId": session, "cwd": "/w"})).await;
    let fork = fork["sessionId"].as_str().unwrap().to_owned();
    let listed = stage.editor.ok("session/list", json!({"cwd": "/w"})).await;
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(stage.editor.ok("session/status", of(&fork)).await["status"], "open");
    stage.editor.ok("session/close", of(&fork)).await;
    assert_eq!(stage.editor.ok("session/status", of(&fork)).await["status"], "saved");
    stage.editor.ok("session/delete", of(&fork)).await;
    assert_eq!(stage.editor.error("session/resume", json!({"sessionId": fork, "cwd": "/w"})).await.0, -32002);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn methods_of_version_1_only_are_unknown_in_version_2() {
    let stage = stage(EditorScript::v2(), []);
    let session = stage.editor.session("/w").await;
    let of = json!({"sessionId": session, "cwd": "/w", "modeId": "plan", "methodId": "tiller-provider"});
    for method in ["session/load", "session/set_mode", "session/set_model", "authenticate", "logout"] {
        assert_eq!(stage.editor.error(method, of.clone()).await.0, -32601, "{method}");
    }
    let call = json!({"sessionId": session, "toolCallId": "tool_0", "terminalId": "tool_0"});
    for method in ["tool_call/cancel", "terminal/cancel"] {
        assert_eq!(stage.editor.error(method, call.clone()).await.0, -32602, "{method}");
    }
    stage.editor.raw("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"session/list\"}\nnot json\n");
    let errors = |editor: &acp::testing::Editor| {
        let log = editor.log().into_iter().filter(|message| message["id"].is_null());
        log.filter_map(|message| message["error"]["code"].as_i64()).collect::<Vec<_>>()
    };
    stage.editor.until(|editor| errors(editor).len() == 2).await;
    assert_eq!(errors(&stage.editor), [-32600, -32700]);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn files_are_rewound_in_version_2_too() {
    let write = json!({"path": "new.txt", "content": "new\n"});
    let script = EditorScript::v2().allowing();
    let stage = stage(script, [Reply::calls(&[("file_write", write)]), Reply::text("done")]);
    let session = stage.editor.session("/w").await;
    stage.editor.turn(&session, "write").await;
    let answer = stage.editor.ok("_tiller/sessions/checkpoints", json!({"sessionId": session})).await;
    assert_eq!(answer["checkpoints"][0]["files"], json!(["/w/new.txt"]));
    let report = stage.editor.ok("_tiller/sessions/rewind", json!({"sessionId": session, "to": 0})).await;
    assert_eq!(report, json!({"restored": ["/w/new.txt"], "merged": [], "left": [], "tasks": null}));
    assert_eq!(stage.disk.text_of("/w/new.txt"), None);
    stage.editor.close().await.unwrap();
}
