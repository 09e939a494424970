//! Tests of the methods around a conversation: fork, delete, titles, status, directories,
//! questions, login and logout.

use crate::stage::{Stage, stage, stage_with};
use acp::testing::EditorScript;
use agent::{ModelEvent, fake::Reply};
use serde_json::{Value, json};

fn prompt(session: &str, text: &str) -> Value {
    json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]})
}

async fn titles(stage: &Stage) -> Vec<Value> {
    let listed = stage.editor.ok("session/list", json!({})).await;
    listed["sessions"].as_array().expect("a list").iter().map(|session| session["title"].clone()).collect()
}

#[tokio::test]
async fn deleting_a_session_is_idempotent() {
    let stage = stage(EditorScript::default(), [Reply::Hang(vec![ModelEvent::Text("x".to_owned())])]);
    let session = stage.editor.session("/w").await;
    let (_, answer) = stage.editor.start("session/prompt", prompt(&session, "say x"));
    stage.editor.until(|editor| editor.text() == "x").await;
    for _ in 0..2 {
        assert_eq!(stage.editor.ok("session/delete", json!({"sessionId": session})).await, json!({}));
    }
    assert_eq!(answer.await.unwrap()["stopReason"], "cancelled");
    assert!(titles(&stage).await.is_empty());
    let (code, _) = stage.editor.error("session/load", json!({"sessionId": session, "cwd": "/w"})).await;
    assert_eq!(code, -32002);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_fork_copies_the_history_and_then_diverges() {
    let stage = stage(EditorScript::default(), [Reply::text("one"), Reply::text("two")]);
    let session = stage.editor.session("/w").await;
    stage.editor.ok("session/prompt", prompt(&session, "first")).await;
    let fork = stage.editor.ok("session/fork", json!({"sessionId": session, "cwd": "/w"})).await;
    let id = fork["sessionId"].as_str().unwrap().to_owned();
    assert_ne!(id, session);
    assert_eq!(fork["modes"]["currentModeId"], "edit");
    assert!(fork["configOptions"].is_array());
    stage.editor.ok("session/prompt", prompt(&id, "second")).await;
    assert_eq!(stage.model.requests()[1].messages.len(), 3);
    stage.editor.ok("session/load", json!({"sessionId": id, "cwd": "/w"})).await;
    let messages = stage.editor.updates("user_message_chunk");
    assert_eq!(messages.len(), 2);
    assert_eq!(titles(&stage).await, ["first", "first"]);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_title_is_stored_before_the_response_and_persists() {
    let stage = stage(EditorScript::default(), [Reply::text("hi")]);
    let session = stage.editor.session("/w").await;
    let set = |title: &str| json!({"sessionId": session, "title": title});
    let answer = stage.editor.ok("session/set_title", set("  My\ntitle ")).await;
    assert_eq!(answer["title"], "My title");
    assert_eq!(titles(&stage).await, ["My title"]);
    stage.editor.ok("session/prompt", prompt(&session, "another title")).await;
    assert_eq!(titles(&stage).await, ["My title"]);
    for empty in ["", " \n\t"] {
        assert_eq!(stage.editor.error("session/set_title", set(empty)).await.0, -32602);
    }
    assert_eq!(stage.editor.error("session/set_title", json!({"sessionId": session})).await.0, -32602);
    // A session that is only stored can be named too.
    stage.editor.ok("session/close", json!({"sessionId": session})).await;
    stage.editor.ok("session/set_title", set("Later")).await;
    assert_eq!(titles(&stage).await, ["Later"]);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_session_is_open_or_saved() {
    let stage = stage(EditorScript::default(), []);
    let session = stage.editor.session("/w").await;
    let of = json!({"sessionId": session});
    assert_eq!(stage.editor.ok("session/status", of.clone()).await["status"], "open");
    stage.editor.ok("session/set_title", json!({"sessionId": session, "title": "kept"})).await;
    stage.editor.ok("session/close", of.clone()).await;
    assert_eq!(stage.editor.ok("session/status", of).await["status"], "saved");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn additional_directories_replace_the_list_and_bound_the_tools() {
    let read = || Reply::calls(&[("file_read", json!({"path": "/lib/l.txt"}))]);
    let stage = stage(
        EditorScript::default().permissions([acp::testing::Answer::Select("reject_once")]),
        [read(), Reply::text("read"), read(), Reply::text("not read")],
    );
    stage.disk.add_file("/lib/l.txt", "library\n");
    stage.editor.initialize().await;
    let new = json!({"cwd": "/w", "additionalDirectories": ["/lib"], "mcpServers": []});
    let session = stage.editor.ok("session/new", new).await["sessionId"].as_str().unwrap().to_owned();
    stage.editor.ok("session/prompt", prompt(&session, "read it")).await;
    assert!(format!("{:?}", stage.model.requests()[1]).contains("library"));
    let listed = stage.editor.ok("session/list", json!({})).await;
    assert_eq!(listed["sessions"][0]["additionalDirectories"], json!(["/lib"]));
    for method in ["session/close", "session/resume"] {
        stage.editor.ok(method, json!({"sessionId": session, "cwd": "/w"})).await;
    }
    let listed = stage.editor.ok("session/list", json!({})).await;
    assert!(listed["sessions"][0]["additionalDirectories"].as_array().is_none_or(Vec::is_empty));
    // It is now outside the session's directories, so reading it needs approval.
    stage.editor.ok("session/prompt", prompt(&session, "read it again")).await;
    assert_eq!(stage.editor.calls("session/request_permission").len(), 1);
    stage
        .editor
        .ok("session/load", json!({"sessionId": session, "cwd": "/w", "additionalDirectories": ["/lib"]}))
        .await;
    let listed = stage.editor.ok("session/list", json!({})).await;
    assert_eq!(listed["sessions"][0]["additionalDirectories"], json!(["/lib"]));
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_question_is_a_form_if_the_client_supports_forms() {
    let accept = json!({"action": "accept", "content": {"answer": "blue"}});
    let forms = [accept, json!({"action": "decline"})];
    let ask = |name: &str, arguments: Value| Reply::calls(&[(name, arguments)]);
    let stage = stage(
        EditorScript::default().forms(forms),
        [
            ask("ask_choice", json!({"question": "Which colour?", "choices": ["red", "blue"]})),
            ask("ask_user", json!({"question": "Why?"})),
            Reply::text("done"),
        ],
    );
    let session = stage.editor.session("/w").await;
    stage.editor.ok("session/prompt", prompt(&session, "ask me")).await;
    let asked = stage.editor.calls("elicitation/create");
    assert_eq!((&asked[0]["mode"], &asked[0]["message"]), (&json!("form"), &json!("Which colour?")));
    assert_eq!(asked[0]["sessionId"], session.as_str());
    assert_eq!(asked[1]["message"], "Why?");
    let requests = stage.model.requests();
    assert!(format!("{:?}", requests[1].messages).contains("blue"));
    assert!(format!("{:?}", requests[2].messages).contains("dismissed"));
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn without_forms_questions_are_dismissed() {
    let stage = stage(EditorScript::default(), [Reply::text("hi")]);
    let session = stage.editor.session("/w").await;
    stage.editor.ok("session/prompt", prompt(&session, "hi")).await;
    let tools: Vec<_> = stage.model.requests()[0].tools.iter().map(|tool| tool.name.clone()).collect();
    assert!(!tools.iter().any(|name| name.starts_with("ask_")), "{tools:?}");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_thought_level_reaches_the_model_and_is_restored() {
    let first = stage(EditorScript::default(), [Reply::text("hm"), Reply::text("hm")]);
    let session = first.editor.session("/w").await;
    let set = |value: &str| json!({"sessionId": session, "configId": "thought_level", "value": value});
    let level = |options: &Value| options["configOptions"][2]["currentValue"].clone();
    assert_eq!(level(&first.editor.ok("session/set_config_option", set("low")).await), "low");
    first.editor.ok("session/prompt", prompt(&session, "think")).await;
    assert_eq!(level(&first.editor.ok("session/set_config_option", set("default")).await), "default");
    first.editor.ok("session/prompt", prompt(&session, "think")).await;
    let efforts: Vec<_> =
        first.model.requests().iter().map(|request| request.reasoning_effort.clone()).collect();
    assert_eq!(efforts, [Some("low".to_owned()), None]);
    first.editor.ok("session/set_config_option", set("high")).await;
    let Stage { editor, store, .. } = first;
    editor.close().await.unwrap();
    let second = stage_with(store, EditorScript::default(), [], |_| {});
    second.editor.initialize().await;
    let resumed = second.editor.ok("session/resume", json!({"sessionId": session, "cwd": "/w"})).await;
    assert_eq!(level(&resumed), "high");
    second.editor.close().await.unwrap();
}

#[tokio::test]
async fn cancelling_a_queued_prompt_leaves_the_others() {
    let stage = stage(
        EditorScript::default(),
        [Reply::Hang(vec![ModelEvent::Text("x".to_owned())]), Reply::text("third")],
    );
    let session = stage.editor.session("/w").await;
    let (_, first) = stage.editor.start("session/prompt", prompt(&session, "first"));
    let (second_id, second) = stage.editor.start("session/prompt", prompt(&session, "second"));
    let (_, third) = stage.editor.start("session/prompt", prompt(&session, "third"));
    stage.editor.until(|editor| editor.text() == "x").await;
    stage.editor.notify("$/cancel_request", json!({"requestId": second_id}));
    assert_eq!(second.await.unwrap()["stopReason"], "cancelled");
    stage.editor.notify("$/cancel_request", json!({"requestId": 3}));
    assert_eq!(first.await.unwrap()["stopReason"], "cancelled");
    assert_eq!(third.await.unwrap()["stopReason"], "end_turn");
    assert_eq!(stage.editor.text(), "xthird");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn the_response_to_a_prompt_reports_its_usage() {
    let stage = stage(EditorScript::default(), [Reply::text("hi")]);
    let session = stage.editor.session("/w").await;
    let answer = stage.editor.ok("session/prompt", prompt(&session, "hi")).await;
    assert_eq!(answer["usage"]["inputTokens"], 10);
    assert_eq!((&answer["usage"]["outputTokens"], &answer["usage"]["totalTokens"]), (&json!(5), &json!(15)));
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_model_that_needs_no_credentials_works_logged_out_too() {
    let stage = stage(EditorScript::default(), [Reply::text("hi")]);
    let session = stage.editor.session("/w").await;
    for method in ["auth/status", "logout", "auth/status", "authenticate"] {
        let answer = stage.editor.ok(method, json!({"methodId": "tiller-provider"})).await;
        assert_eq!(
            answer["state"],
            if method == "auth/status" { json!("not_required") } else { Value::Null }
        );
    }
    stage.editor.ok("logout", Value::Null).await;
    stage.editor.ok("session/prompt", prompt(&session, "hi")).await;
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn an_archived_session_is_closed_kept_and_not_listed() {
    let hang = Reply::Hang(vec![ModelEvent::Text("x".to_owned())]);
    let stage = stage(EditorScript::default(), [hang, Reply::text("y")]);
    let session = stage.editor.session("/w").await;
    let of = json!({"sessionId": session});
    let (_, answer) = stage.editor.start("session/prompt", prompt(&session, "say x"));
    stage.editor.until(|editor| editor.text() == "x").await;
    for _ in 0..2 {
        assert_eq!(stage.editor.ok("session/archive", of.clone()).await, json!({}));
    }
    assert_eq!(answer.await.unwrap()["stopReason"], "cancelled");
    assert_eq!(stage.editor.ok("session/status", of.clone()).await["status"], "saved");
    let listed = async |archived: Value| {
        let page = stage.editor.ok("session/list", json!({"archived": archived})).await;
        let sessions = page["sessions"].as_array().unwrap().clone();
        sessions.into_iter().map(|session| session["archived"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(listed(Value::Null).await, Vec::<Value>::new());
    assert_eq!(listed(json!("exclude")).await, Vec::<Value>::new());
    assert_eq!(listed(json!("include")).await, [json!(true)]);
    assert_eq!(listed(json!("only")).await, [json!(true)]);
    for unknown in [json!("later"), json!(true)] {
        assert_eq!(stage.editor.error("session/list", json!({"archived": unknown})).await.0, -32602);
    }
    for _ in 0..2 {
        stage.editor.ok("session/unarchive", of.clone()).await;
    }
    assert_eq!(stage.editor.ok("session/status", of.clone()).await["status"], "saved", "it is not opened");
    assert_eq!(listed(Value::Null).await, [json!(false)]);
    stage.editor.ok("session/load", json!({"sessionId": session, "cwd": "/w"})).await;
    assert_eq!(stage.editor.prompt(&session, "say y").await.unwrap()["stopReason"], "end_turn");
    stage.editor.close().await.unwrap();
}
