//! Tests of whole conversations: prompts, permissions, edits through the editor, cancels, loaded
//! sessions.

use crate::stage::{Stage, stage, stage_with};
use acp::testing::{Answer, EditorScript, Fault, TerminalScript};
use agent::{ModelError, ModelEvent, fake::Reply};
use serde_json::{Value, json};

fn edit() -> Reply {
    Reply::calls(&[("file_edit", json!({"path": "a.txt", "old_string": "one", "new_string": "1"}))])
}

fn write() -> Reply {
    Reply::calls(&[("file_write", json!({"path": "new.txt", "content": "text\n"}))])
}

fn ended(answer: Result<Value, Value>) -> Value {
    answer.expect("the turn ends in order")["stopReason"].clone()
}

/// Returns the methods of the agent's requests, in order.
fn asked(stage: &Stage) -> Vec<String> {
    let asks = |method: &String| method.contains('/') && method != "$/cancel_request";
    stage.editor.methods().into_iter().filter(asks).collect()
}

fn last_status(stage: &Stage) -> Value {
    let updates = stage.editor.updates("tool_call_update");
    updates.iter().rev().find_map(|update| update.get("status").cloned()).unwrap_or_default()
}

#[tokio::test]
async fn an_answer_streams_and_the_turn_ends() {
    let stage = stage(EditorScript::default(), [Reply::text("hello")]);
    let session = stage.editor.session("/w").await;
    assert_eq!(ended(stage.editor.prompt(&session, "hi").await), "end_turn");
    assert_eq!(stage.editor.text(), "hello");
    let chunks = stage.editor.updates("agent_message_chunk");
    assert!(chunks.iter().all(|chunk| chunk["messageId"].is_string()));
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn the_answer_to_session_new_comes_before_its_updates() {
    let stage = stage(EditorScript::default(), []);
    stage.editor.session("/w").await;
    stage.editor.until(|editor| !editor.updates("available_commands_update").is_empty()).await;
    assert_eq!(stage.editor.methods(), ["answer", "answer", "available_commands_update"]);
    stage.editor.close().await.unwrap();
}

// Scenario 1: reads and writes are advertised.
#[tokio::test]
async fn an_edit_goes_through_the_editor() {
    let script = EditorScript::default()
        .offering(true, true, false)
        .buffer("/w/a.txt", "one unsaved\n")
        .permissions([Answer::Select("allow_once")]);
    let stage = stage(script, [edit(), Reply::text("done")]);
    let session = stage.editor.session("/w").await;
    assert_eq!(ended(stage.editor.prompt(&session, "edit").await), "end_turn");
    assert_eq!(stage.editor.text_of("/w/a.txt").as_deref(), Some("1 unsaved\n"));
    assert_eq!(stage.disk.text_of("/w/a.txt").as_deref(), Some("one\ntwo\n"));
    let asked = asked(&stage);
    let at = |method: &str| asked.iter().position(|asked| asked == method).unwrap();
    assert!(at("fs/read_text_file") < at("session/request_permission"), "{asked:?}");
    assert!(at("session/request_permission") < at("fs/write_text_file"), "{asked:?}");
    let permission = &stage.editor.calls("session/request_permission")[0];
    let content = permission["toolCall"]["content"].as_array().unwrap();
    assert!(
        content.iter().any(|part| part["type"] == "diff" && part["newText"] == "1 unsaved\n"),
        "{content:?}"
    );
    assert_eq!(last_status(&stage), "completed");
    stage.editor.close().await.unwrap();
}

// Scenario 2: writes are advertised, the write is approved.
#[tokio::test]
async fn an_approved_write_reaches_the_editor_in_full() {
    let script =
        EditorScript::default().offering(false, true, false).permissions([Answer::Select("allow_once")]);
    let stage = stage(script, [write(), Reply::text("done")]);
    let session = stage.editor.session("/w").await;
    assert_eq!(ended(stage.editor.prompt(&session, "write").await), "end_turn");
    assert_eq!(asked(&stage), ["session/request_permission", "fs/write_text_file"]);
    let written = &stage.editor.calls("fs/write_text_file")[0];
    assert_eq!(written, &json!({"sessionId": session, "path": "/w/new.txt", "content": "text\n"}));
    assert_eq!(last_status(&stage), "completed");
    stage.editor.close().await.unwrap();
}

// Scenarios 3 and 5: the write is not approved, in any form of response, with and without
// advertised writes.
#[tokio::test]
async fn a_write_that_is_not_approved_does_not_happen() {
    for answer in [
        Answer::Select("reject_once"),
        Answer::Select("reject_always"),
        Answer::Select("made up"),
        Answer::Cancelled,
        Answer::Error,
    ] {
        for flag in [true, false] {
            let script = EditorScript::default().offering(false, flag, false).permissions([answer.clone()]);
            let goes_on = answer != Answer::Cancelled;
            let stage = stage(script, [write()].into_iter().chain(goes_on.then(|| Reply::text("well"))));
            let session = stage.editor.session("/w").await;
            let reason = ended(stage.editor.prompt(&session, "write").await);
            assert_eq!(reason, if goes_on { "end_turn" } else { "cancelled" }, "{answer:?}");
            assert_eq!(asked(&stage), ["session/request_permission"], "{answer:?}");
            assert_eq!(stage.disk.text_of("/w/new.txt"), None, "{answer:?}");
            assert_eq!(last_status(&stage), "failed", "{answer:?}");
            stage.editor.close().await.unwrap();
        }
    }
}

// Scenario 4: no writes are advertised, the write is approved.
#[tokio::test]
async fn without_the_flag_an_approved_write_is_local() {
    let script = EditorScript::default().permissions([Answer::Select("allow_always")]);
    let stage = stage(script, [write(), Reply::text("done")]);
    let session = stage.editor.session("/w").await;
    assert_eq!(ended(stage.editor.prompt(&session, "write").await), "end_turn");
    assert_eq!(stage.disk.text_of("/w/new.txt").as_deref(), Some("text\n"));
    assert_eq!(asked(&stage), ["session/request_permission"]);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_cancel_ends_the_turn_after_its_updates() {
    let stage = stage(
        EditorScript::default(),
        [Reply::Hang(vec![ModelEvent::Text("thinking".to_owned())]), Reply::text("again")],
    );
    let session = stage.editor.session("/w").await;
    let (_, answer) = stage
        .editor
        .start("session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}));
    stage.editor.until(|editor| editor.text() == "thinking").await;
    for _ in 0..2 {
        stage.editor.notify("session/cancel", json!({"sessionId": session}));
    }
    assert_eq!(ended(answer.await), "cancelled");
    assert_eq!(ended(stage.editor.prompt(&session, "again").await), "end_turn");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_cancelled_request_cancels_its_turn() {
    let stage = stage(EditorScript::default(), [Reply::Hang(vec![ModelEvent::Text("x".to_owned())])]);
    let session = stage.editor.session("/w").await;
    let (id, answer) = stage
        .editor
        .start("session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}));
    stage.editor.until(|editor| editor.text() == "x").await;
    stage.editor.notify("$/cancel_request", json!({"requestId": id}));
    assert_eq!(ended(answer.await), "cancelled");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_cancel_withdraws_an_open_question() {
    let script = EditorScript::default().permissions([Answer::Never]);
    let stage = stage(script, [write()]);
    let session = stage.editor.session("/w").await;
    let (_, answer) = stage
        .editor
        .start("session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}));
    stage.editor.until(|editor| !editor.calls("session/request_permission").is_empty()).await;
    stage.editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(ended(answer.await), "cancelled");
    assert_eq!(last_status(&stage), "failed");
    let updates = stage.editor.updates("tool_call_update");
    let closing = updates.iter().rev().find(|update| update["status"] == "failed").unwrap();
    assert!(closing["content"].to_string().contains("cancelled"), "{closing}");
    assert_eq!(stage.disk.text_of("/w/new.txt"), None);
    stage.editor.until(|editor| editor.methods().contains(&"$/cancel_request".to_owned())).await;
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_loaded_session_is_replayed_before_the_response() {
    let script = || EditorScript::default().permissions([Answer::Select("allow_once")]);
    let first = stage(script(), [write(), Reply::text("written")]);
    let session = first.editor.session("/w").await;
    first.editor.prompt(&session, "write").await.unwrap();
    let Stage { editor, store, .. } = first;
    editor.close().await.unwrap();

    let second = stage_with(store, EditorScript::default(), [Reply::text("more")], |_| {});
    second.editor.initialize().await;
    let listed = second.editor.ok("session/list", json!({"cwd": "/w"})).await;
    assert_eq!(listed["sessions"][0]["sessionId"], session.as_str());
    assert!(listed["sessions"][0]["updatedAt"].as_str().unwrap().ends_with('Z'));
    let loaded =
        second.editor.ok("session/load", json!({"sessionId": session, "cwd": "/w", "mcpServers": []})).await;
    assert_eq!(loaded["modes"]["currentModeId"], "edit");
    assert_eq!(loaded["configOptions"].as_array().unwrap().len(), 4);
    let user = &second.editor.updates("user_message_chunk")[0];
    assert_eq!(user["content"]["text"], "write");
    assert_eq!(second.editor.text(), "written");
    assert_eq!(second.editor.updates("tool_call").len(), 1);
    assert_eq!(last_status(&second), "completed");
    let methods = second.editor.methods();
    let answer = methods.iter().rposition(|method| method == "answer").unwrap();
    let chunk = methods.iter().rposition(|method| method == "agent_message_chunk").unwrap();
    assert!(chunk < answer, "{methods:?}");
    assert_eq!(ended(second.editor.prompt(&session, "more").await), "end_turn");
    second.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_resumed_session_is_not_replayed() {
    let first = stage(EditorScript::default(), [Reply::text("hello")]);
    let session = first.editor.session("/w").await;
    first.editor.prompt(&session, "hi").await.unwrap();
    let Stage { editor, store, .. } = first;
    editor.close().await.unwrap();
    let second = stage_with(store, EditorScript::default(), [], |_| {});
    second.editor.initialize().await;
    let params = json!({"sessionId": session, "cwd": "/w"});
    let resumed = second.editor.ok("session/resume", params.clone()).await;
    assert_eq!(resumed["modes"]["currentModeId"], "edit");
    assert_eq!(second.editor.text(), "");
    second.editor.ok("session/close", params.clone()).await;
    assert_eq!(second.editor.error("session/close", params).await.0, -32002);
    let elsewhere = json!({"sessionId": session, "cwd": "/"});
    assert_eq!(second.editor.error("session/load", elsewhere).await.0, -32602);
    second.editor.close().await.unwrap();
}

#[tokio::test]
async fn modes_models_and_options_change_together() {
    let stage = stage(EditorScript::default(), []);
    let session = stage.editor.session("/w").await;
    stage.editor.ok("session/set_mode", json!({"sessionId": session, "modeId": "plan"})).await;
    stage.editor.until(|editor| !editor.updates("config_option_update").is_empty()).await;
    assert_eq!(stage.editor.updates("current_mode_update")[0]["currentModeId"], "plan");
    assert_eq!(stage.editor.updates("config_option_update")[0]["configOptions"][0]["currentValue"], "plan");
    let set = |id: &str, value: &str| json!({"sessionId": session, "configId": id, "value": value});
    let options = stage.editor.ok("session/set_config_option", set("permission_mode", "guardian")).await;
    let values: Vec<_> =
        options["configOptions"].as_array().unwrap().iter().map(|option| &option["currentValue"]).collect();
    assert_eq!(values, ["plan", "fake/model", "default", "guardian"]);
    stage.editor.ok("session/set_config_option", set("mode", "edit")).await;
    stage.editor.ok("session/set_config_option", set("model", "fake/model")).await;
    let model = json!({"sessionId": session, "modelId": "fake/model"});
    stage.editor.ok("session/set_model", model.clone()).await;
    stage.editor.ok("unstable_set_model", model).await;
    for (id, value) in [("mode", "yolo"), ("permission_mode", "x"), ("thought_level", "x"), ("colour", "red")]
    {
        let (code, message) = stage.editor.error("session/set_config_option", set(id, value)).await;
        assert_eq!(code, -32602, "{message}");
    }
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_failing_model_is_an_error_and_the_session_continues() {
    let auth = Reply::error(ModelError::Auth("no key for x; set X_API_KEY".to_owned()));
    let stage = stage(EditorScript::default(), [auth, Reply::Panic, Reply::text("back")]);
    let session = stage.editor.session("/w").await;
    let error = stage.editor.prompt(&session, "x").await.unwrap_err();
    assert_eq!((error["code"].as_i64(), &error["data"]["reason"]), (Some(-32000), &json!("model_auth")));
    let error = stage.editor.prompt(&session, "x").await.unwrap_err();
    assert_eq!(error["code"], -32603);
    assert_eq!(ended(stage.editor.prompt(&session, "x").await), "end_turn");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_burst_of_chunks_is_merged_into_a_few_messages() {
    let mut events: Vec<_> = (0..5000).map(|_| ModelEvent::Text("word ".to_owned())).collect();
    events.push(ModelEvent::Stop(agent::ModelStop::EndTurn));
    let stage = stage(EditorScript::default(), [Reply::ok(events)]);
    let session = stage.editor.session("/w").await;
    assert_eq!(ended(stage.editor.prompt(&session, "x").await), "end_turn");
    assert_eq!(stage.editor.text().len(), 25_000);
    let messages = stage.editor.updates("agent_message_chunk").len();
    assert!(messages < 60, "{messages} messages");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_client_that_stops_reading_delays_nothing_else() {
    let big = "x".repeat(1000);
    let mut events: Vec<_> = (0..2000).map(|_| ModelEvent::Text(big.clone())).collect();
    events.push(ModelEvent::Stop(agent::ModelStop::EndTurn));
    let stage = stage(EditorScript::default(), [Reply::ok(events)]);
    let session = stage.editor.session("/w").await;
    stage.editor.read(false);
    let (_, answer) = stage
        .editor
        .start("session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}));
    let other = stage.model.requests().len();
    while stage.model.requests().len() == other {
        tokio::task::yield_now().await;
    }
    stage.editor.read(true);
    assert_eq!(ended(answer.await), "end_turn");
    assert_eq!(stage.editor.text().len(), 2_000_000);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn the_end_of_the_input_cancels_running_turns() {
    if crate::transport::is_http() {
        return;
    }
    let script = EditorScript::default().fault("session/request_permission", Fault::Silence);
    let first = stage(script, [write()]);
    let session = first.editor.session("/w").await;
    let (_, answer) = first
        .editor
        .start("session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]}));
    first.editor.until(|editor| !editor.calls("session/request_permission").is_empty()).await;
    let Stage { editor, store, disk, .. } = first;
    let begun = std::time::Instant::now();
    editor.close().await.unwrap();
    assert!(begun.elapsed().as_millis() < 1000);
    assert_eq!(ended(answer.await), "cancelled");
    assert_eq!(disk.text_of("/w/new.txt"), None);
    let second = stage_with(store, EditorScript::default(), [], |_| {});
    second.editor.initialize().await;
    second.editor.ok("session/load", json!({"sessionId": session, "cwd": "/w"})).await;
    second.editor.close().await.unwrap();
}

fn bash(line: &str) -> Reply {
    Reply::calls(&[("bash", json!({"command": line}))])
}

#[tokio::test(start_paused = true)]
async fn a_command_is_shown_in_its_terminal_before_it_is_awaited() {
    let script = EditorScript::full()
        .command("make", TerminalScript::exits("built\n", 0))
        .permissions([Answer::Select("allow_once")]);
    let stage = stage(script, [bash("make"), Reply::text("done")]);
    let session = stage.editor.session("/w").await;
    assert_eq!(ended(stage.editor.prompt(&session, "make").await), "end_turn");
    let log = stage.editor.log();
    let at = |fits: &dyn Fn(&Value) -> bool| log.iter().position(fits).expect("it happened");
    let method = |name: &'static str| at(&move |message: &Value| message["method"] == name);
    let embedded = at(&|message| message["params"]["update"]["content"][0]["type"] == "terminal");
    let order = [
        method("session/request_permission"),
        method("terminal/create"),
        embedded,
        method("terminal/wait_for_exit"),
        method("terminal/output"),
        method("terminal/release"),
    ];
    assert!(order.is_sorted(), "{order:?}: {:?}", stage.editor.methods());
    assert_eq!(last_status(&stage), "completed");
    let result = stage.model.requests()[1].clone();
    assert!(format!("{result:?}").contains("built"));
    stage.editor.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_command_is_released_before_the_answer() {
    let script = EditorScript::full()
        .command("serve", TerminalScript::hangs("listening"))
        .permissions([Answer::Select("allow_once")]);
    let stage = stage(script, [bash("serve")]);
    let session = stage.editor.session("/w").await;
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]});
    let (_, answer) = stage.editor.start("session/prompt", prompt);
    stage.editor.until(|editor| !editor.calls("terminal/wait_for_exit").is_empty()).await;
    stage.editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(ended(answer.await), "cancelled");
    let methods = stage.editor.methods();
    let release = methods.iter().position(|method| method == "terminal/release").expect("it is released");
    assert!(methods[release..].contains(&"answer".to_owned()), "{methods:?}");
    assert_eq!(last_status(&stage), "failed");
    stage.editor.close().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn the_end_of_the_input_in_a_command_leaves_nothing_running() {
    if crate::transport::is_http() {
        return;
    }
    let script = EditorScript::default().permissions([Answer::Select("allow_once")]);
    let stage = stage(script, [bash("serve")]);
    stage.disk.on_command("serve", |_| system::fake::Script::hangs());
    let session = stage.editor.session("/w").await;
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]});
    let (_, answer) = stage.editor.start("session/prompt", prompt);
    while stage.disk.calls().iter().all(|call| call.operation != "spawn") {
        tokio::task::yield_now().await;
    }
    stage.editor.close().await.unwrap();
    assert_eq!(ended(answer.await), "cancelled");
    // Dropping the fake system fails the test if a process is still running.
}

#[tokio::test]
async fn loading_an_open_session_leaves_its_turn_running() {
    let stage = stage(EditorScript::default(), [Reply::Hang(vec![ModelEvent::Text("x".to_owned())])]);
    let session = stage.editor.session("/w").await;
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "say x"}]});
    let (_, answer) = stage.editor.start("session/prompt", prompt);
    stage.editor.until(|editor| editor.text() == "x").await;
    stage.editor.ok("session/load", json!({"sessionId": session, "cwd": "/w", "mcpServers": []})).await;
    assert_eq!(stage.editor.updates("user_message_chunk")[0]["content"]["text"], "say x");
    // Once as streamed, once as replayed.
    assert_eq!(stage.editor.text(), "xx");
    stage.editor.notify("session/cancel", json!({"sessionId": session}));
    assert_eq!(ended(answer.await), "cancelled");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn queued_prompts_are_answered_in_order() {
    let stage = stage(EditorScript::default(), [Reply::text("1"), Reply::text("2"), Reply::text("3")]);
    let session = stage.editor.session("/w").await;
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]});
    let answers: Vec<_> = (0..3).map(|_| stage.editor.start("session/prompt", prompt.clone())).collect();
    for (_, answer) in answers {
        assert_eq!(ended(answer.await), "end_turn");
    }
    assert_eq!(stage.editor.text(), "123");
    let ids: Vec<_> = stage.editor.log().iter().filter_map(|message| message["id"].as_u64()).collect();
    assert!(ids.is_sorted(), "{ids:?}");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn an_output_that_is_closed_ends_the_connection() {
    if crate::transport::is_http() {
        return;
    }
    let stage = stage(EditorScript::default(), [Reply::Hang(vec![ModelEvent::Text("x".to_owned())])]);
    let session = stage.editor.session("/w").await;
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]});
    let (_, _answer) = stage.editor.start("session/prompt", prompt);
    stage.editor.until(|editor| editor.text() == "x").await;
    stage.editor.hang_up();
    stage.editor.notify("session/cancel", json!({"sessionId": session}));
    assert!(stage.editor.ended().await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sessions_one_after_the_other_do_not_mix_on_many_threads() {
    let replies = (0..8).flat_map(|_| [bash("make"), Reply::text("done")]);
    let script = EditorScript::full()
        .command("make", TerminalScript::exits("built\n", 0))
        .permissions((0..8).map(|_| Answer::Select("allow_once")));
    let stage = stage(script, replies);
    stage.editor.initialize().await;
    for _ in 0..8 {
        let session = stage.editor.ok("session/new", json!({"cwd": "/w"})).await["sessionId"].clone();
        let session = session.as_str().expect("an id").to_owned();
        assert_eq!(ended(stage.editor.prompt(&session, "make").await), "end_turn");
        let updates = stage.editor.calls("session/update");
        let of_it = updates.iter().filter(|params| params["sessionId"] == session.as_str());
        let text: String = of_it
            .filter_map(|params| params.pointer("/update/content/text").and_then(Value::as_str))
            .collect();
        // Once per session, because this editor's terminals have no sandbox.
        let notice = text.strip_suffix("done").expect("the model's answer is the last");
        assert_eq!(notice.matches("Commands are not fully confined").count(), 1, "{notice}");
    }
    assert_eq!(stage.editor.calls("terminal/release").len(), 8);
    let methods = stage.editor.methods();
    let wait =
        methods.iter().position(|method| method == "terminal/wait_for_exit").expect("it was waited for");
    let shown = methods[..wait].iter().rev().find(|method| *method != "answer");
    assert_eq!(shown.map(String::as_str), Some("tool_call_update"), "{methods:?}");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn queued_updates_are_sent_without_further_events() {
    for (chunks, size) in [(1000, 5), (3000, 2000)] {
        let text = "x".repeat(size);
        let events = (0..chunks).map(|_| ModelEvent::Text(text.clone())).collect();
        let stage = stage(EditorScript::default(), [Reply::Hang(events)]);
        let session = stage.editor.session("/w").await;
        stage.editor.read(false);
        let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "x"}]});
        let (_, answer) = stage.editor.start("session/prompt", prompt);
        while stage.model.requests().is_empty() {
            tokio::task::yield_now().await;
        }
        stage.editor.read(true);
        stage.editor.until(|editor| editor.text().len() == chunks * size).await;
        stage.editor.notify("session/cancel", json!({"sessionId": session}));
        assert_eq!(ended(answer.await), "cancelled");
        stage.editor.close().await.unwrap();
    }
}

/// Some editors return an empty text instead of an error for a missing file.
#[tokio::test]
async fn a_file_that_is_missing_may_read_as_empty() {
    let script = EditorScript::full().allowing().missing_is_empty();
    let stage = stage(script, [write(), Reply::text("done")]);
    let session = stage.editor.session("/w").await;
    assert_eq!(ended(stage.editor.prompt(&session, "write").await), "end_turn");
    assert_eq!(last_status(&stage), "completed");
    assert_eq!(stage.editor.text_of("/w/new.txt").as_deref(), Some("text\n"));
    stage.editor.close().await.unwrap();
}
