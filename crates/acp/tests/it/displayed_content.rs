//! Tests of what an editor displays of a turn: questions, locations, thoughts, plans, tokens.

use crate::stage::{Stage, stage};
use acp::testing::{Answer, ClientName, Editor, EditorScript};
use agent::{ModelEvent, ModelStop, Usage, fake::Reply};
use serde_json::{Value, json};

fn question(stage: &Stage) -> Value {
    stage.editor.calls("session/request_permission").pop().unwrap()["toolCall"].take()
}

#[tokio::test]
async fn a_permission_request_for_an_edit_has_its_diff_first_and_its_line() {
    let script = EditorScript::default().permissions([Answer::Select("allow_once")]);
    let edit = json!({"path": "/w/a.txt", "old_string": "two", "new_string": "2"});
    let stage = stage(script, [Reply::calls(&[("file_edit", edit)]), Reply::text("done")]);
    let session = stage.editor.session("/w").await;
    stage.editor.prompt(&session, "edit").await.unwrap();
    let question = question(&stage);
    assert_eq!(question["title"], "Edit a.txt");
    assert_eq!(question["content"][0]["type"], "diff");
    assert_eq!(question["content"][1]["content"]["text"], "Write a.txt?");
    assert_eq!(question["locations"], json!([{"path": "/w/a.txt", "line": 2}]));
    let updates = stage.editor.updates("tool_call_update");
    let begun = updates.iter().find(|update| update["status"] == "in_progress").unwrap();
    assert_eq!(begun["locations"], json!([{"path": "/w/a.txt", "line": 2}]));
    assert_eq!(begun["content"][0]["type"], "diff");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_command_is_in_the_title_or_in_a_block_and_never_twice() {
    let long = format!("echo {}", "x".repeat(300));
    for (command, title) in [
        ("cargo  test --workspace", "Run cargo  test --workspace"),
        ("cd sub\ncargo test", "Run cd sub cargo test"),
        (long.as_str(), &format!("Run {}...", &long[..80])),
    ] {
        let script = EditorScript::default().permissions([Answer::Select("reject_once")]);
        let stage =
            stage(script, [Reply::calls(&[("bash", json!({"command": command}))]), Reply::text("done")]);
        let session = stage.editor.session("/w").await;
        stage.editor.prompt(&session, "run").await.unwrap();
        let question = question(&stage);
        assert_eq!(question["title"], title);
        let blocks: Vec<_> = question["content"].as_array().unwrap().iter().collect();
        let texts: Vec<_> = blocks.iter().map(|block| block["content"]["text"].as_str().unwrap()).collect();
        let shown = std::iter::once(question["title"].as_str().unwrap()).chain(texts.iter().copied());
        assert_eq!(shown.map(|text| text.matches(command).count()).sum::<usize>(), 1, "{question}");
        let asked =
            texts.iter().filter(|text| text.starts_with("Run this") && text.contains("in /w?")).count();
        assert_eq!(asked, 1, "{texts:?}");
        stage.editor.close().await.unwrap();
    }
}

#[tokio::test]
async fn clients_that_show_only_titles_get_the_whole_question_in_the_title() {
    for (name, version) in [("vscode-acp-client", "0.2.0"), ("CodeCompanion.nvim", "1.0.0")] {
        let script = EditorScript::default().named(ClientName::As(name, version));
        let script = script.permissions([Answer::Select("reject_once"), Answer::Select("reject_once")]);
        let edit = json!({"path": "a.txt", "old_string": "two", "new_string": "2"});
        let run = Reply::calls(&[("bash", json!({"command": "git push\nrm x"}))]);
        let stage = stage(script, [run, Reply::calls(&[("file_edit", edit)]), Reply::text("done")]);
        let session = stage.editor.session("/w").await;
        stage.editor.prompt(&session, "run").await.unwrap();
        let questions = stage.editor.calls("session/request_permission");
        let title = questions[0]["toolCall"]["title"].as_str().unwrap();
        assert!(title.starts_with("Run `git push⏎rm x` "), "{title}");
        assert_eq!(questions[0]["toolCall"]["content"], json!([]));
        let content = questions[1]["toolCall"]["content"].as_array().unwrap();
        assert_eq!((content.len(), &content[0]["type"]), (1, &json!("diff")), "{name}");
        stage.editor.close().await.unwrap();
    }
}

#[tokio::test]
async fn subagent_tasks_are_one_plan_and_titled_thoughts() {
    let tasks = json!({"tasks": [{"subject": "Read"}, {"subject": "Write"}]});
    let replies = [
        Reply::calls(&[("task_create", tasks)]),
        Reply::calls(&[("task_list", json!({}))]),
        Reply::text("done"),
    ];
    let stage = stage(EditorScript::default(), replies);
    let session = stage.editor.session("/w").await;
    stage.editor.prompt(&session, "plan").await.unwrap();
    let calls: Vec<_> = stage
        .editor
        .updates("tool_call")
        .into_iter()
        .map(|call| (call["title"].as_str().unwrap().to_owned(), call["kind"].clone()))
        .collect();
    let think = json!("think");
    assert_eq!(calls, [("Plan 2 tasks".to_owned(), think.clone()), ("Show the plan".to_owned(), think)]);
    assert_eq!(stage.editor.updates("plan").len(), 1);
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_new_file_is_not_requested_from_a_client_that_reads_from_disk() {
    let write = || Reply::calls(&[("file_write", json!({"path": "new.txt", "content": "text\n"}))]);
    for (name, asked) in [(ClientName::As("acpx", "0.19.1"), 1), (ClientName::Not, 3)] {
        let script = EditorScript::default().offering(true, true, false).saving().named(name);
        let script = script.permissions([Answer::Select("allow_once")]);
        let stage = stage(script, [write(), Reply::text("done")]);
        let session = stage.editor.session("/w").await;
        stage.editor.prompt(&session, "write").await.unwrap();
        assert_eq!(stage.disk.text_of("/w/new.txt").as_deref(), Some("text\n"));
        // The written text is read back. Before that, only an editor that may hold a buffer is
        // asked: for the diff, and again after the permission request.
        assert_eq!(stage.editor.calls("fs/read_text_file").len(), asked, "{name:?}");
        stage.editor.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_buffer_without_a_file_is_not_overwritten_unread() {
    let script = EditorScript::default().offering(true, true, false).buffer("/w/new.txt", "mine\n");
    let write = Reply::calls(&[("file_write", json!({"path": "new.txt", "content": "text\n"}))]);
    let stage = stage(script, [write, Reply::text("done")]);
    let session = stage.editor.session("/w").await;
    stage.editor.prompt(&session, "write").await.unwrap();
    assert_eq!(stage.editor.text_of("/w/new.txt").as_deref(), Some("mine\n"));
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn tokens_in_the_context_do_not_fall_to_nothing_when_a_turn_is_cancelled() {
    let read = ModelEvent::call("call_0", "file_read", &json!({"path": "a.txt"}));
    let counted = ModelEvent::Usage(Usage { input: 900, output: 10, ..Usage::default() });
    let first = Reply::ok(vec![read, counted, ModelEvent::Stop(ModelStop::ToolCalls)]);
    let stage = stage(EditorScript::default(), [first, Reply::Hang(vec![ModelEvent::Text("so".to_owned())])]);
    let session = stage.editor.session("/w").await;
    let prompt = stage.editor.prompt(&session, "read");
    let cancel = async {
        stage.editor.until(|editor| !editor.updates("agent_message_chunk").is_empty()).await;
        stage.editor.notify("session/cancel", json!({"sessionId": session}));
    };
    let (ended, ()) = futures::join!(prompt, cancel);
    assert_eq!(ended.unwrap()["stopReason"], "cancelled");
    let used: Vec<_> =
        stage.editor.updates("usage_update").iter().map(|u| u["used"].as_u64().unwrap()).collect();
    assert!(used.len() == 2 && used[1] >= used[0], "{used:?}");
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn sessions_without_a_prompt_are_not_listed() {
    let stage = stage(EditorScript::default(), [Reply::text("hi")]);
    let unused = stage.editor.session("/w").await;
    let new = json!({"cwd": "/w", "mcpServers": []});
    let used = stage.editor.ok("session/new", new).await["sessionId"].as_str().unwrap().to_owned();
    stage.editor.prompt(&used, "hello").await.unwrap();
    let listed = async |editor: &Editor| {
        let listed = editor.ok("session/list", json!({})).await["sessions"].take();
        let ids = listed
            .as_array()
            .unwrap()
            .iter()
            .map(|session| session["sessionId"].as_str().unwrap().to_owned());
        ids.collect::<Vec<_>>()
    };
    assert_eq!(listed(&stage.editor).await.len(), 2, "what is open is listed");
    stage.editor.ok("session/close", json!({"sessionId": unused})).await;
    assert_eq!(listed(&stage.editor).await, [used.as_str()]);
    // A client that kept its id can still open it.
    let load = json!({"sessionId": unused, "cwd": "/w", "mcpServers": []});
    stage.editor.ok("session/load", load).await;
    stage.editor.close().await.unwrap();
}
