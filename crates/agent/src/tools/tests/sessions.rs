//! The tools for earlier sessions: their texts, and which sessions they reach.

use super::{memories::remembering, *};
use crate::{
    Access, Content, ModelResponse, NewSession, SessionEvent, SessionStore, ToolCallUpdate, ToolResult,
    ToolStatus, fake::MemoryStore, policy::ALL_PROJECTS, tools::builtin,
};
use system::AbsPath;

/// Stores a session with one turn: a prompt, a call and an answer.
async fn stored(store: &MemoryStore, id: &str, cwd: &str, prompt: &str) {
    let session = NewSession {
        id: id.into(),
        cwd: AbsPath::new(cwd).unwrap(),
        additional_directories: Vec::new(),
        model: "m".to_owned(),
        mode: crate::Mode::Edit,
        permission_mode: crate::PermissionMode::Guardian,
        parent: None,
        owner: None,
    };
    let lease = store.create(session).await.unwrap();
    let mut call = ToolCallUpdate::of("c".into(), "bash");
    (call.status, call.result) = (Some(ToolStatus::Failed), Some(ToolResult::ok("exit 1\n")));
    let answer =
        ModelResponse::from_text("a".into(), "t".into(), "m".to_owned(), format!("Answer to {prompt}"));
    let events = vec![
        SessionEvent::UserMessage { id: "m".into(), content: vec![Content::text(prompt)] },
        SessionEvent::TitleChanged(format!("About {prompt}")),
        SessionEvent::ToolCall(call),
        SessionEvent::ModelResponse(answer),
    ];
    store.append(&lease, events).await.unwrap();
}

async fn some() -> (crate::ToolContext, std::sync::Arc<MemoryStore>) {
    let (cx, store) = remembering(true);
    stored(&store, "own-session", "/w", "needle of its own").await;
    stored(&store, "11111111-aaaa", "/w", "needle one").await;
    stored(&store, "11111111-bbbb", "/w/deep", "needle two").await;
    stored(&store, "22222222-cccc", "/v", "needle three").await;
    store.set_archived(&"11111111-bbbb".into(), true).await.unwrap();
    (cx, store)
}

#[tokio::test]
async fn a_search_finds_messages_of_the_projects_other_sessions() {
    let (cx, _) = some().await;
    let found = text(&cx, "session_search", json!({"query": "answer needle"})).await;
    assert!(
        found.contains("11111111-aaaa 1970-01-01 About needle one\n  event 4: Answer to needle one"),
        "{found}"
    );
    assert!(found.contains("11111111-bbbb 1970-01-01 About needle two (archived)\n  event 4: "), "{found}");
    assert!(!found.contains("own") && !found.contains("2222"), "{found}");
    let all = text(&cx, "session_search", json!({"query": "answer", "all_projects": true})).await;
    assert!(all.contains("22222222-cccc 1970-01-01 About needle three in /v\n"), "{all}");
    assert_eq!(text(&cx, "session_search", json!({"query": "nothing"})).await, "No sessions found.");
    let one = text(&cx, "session_search", json!({"query": "answer", "limit": 1})).await;
    assert_eq!(one.matches("event ").count(), 1, "{one}");
    let history = text(&cx, "memory_search", json!({"query": "answer needle", "scope": "history"})).await;
    assert_eq!(history, found);
    let both = text(&cx, "memory_search", json!({"query": "answer needle", "scope": "both"})).await;
    assert_eq!(both, format!("Memories:\nNo memories found.\n\nEarlier sessions:\n{found}"));
}

#[tokio::test]
async fn without_words_the_latest_sessions_are_listed() {
    let (cx, _) = some().await;
    let latest = text(&cx, "session_search", json!({})).await;
    assert_eq!(
        latest,
        "11111111-bbbb 1970-01-01 About needle two (archived)\n11111111-aaaa 1970-01-01 About needle one"
    );
    assert_eq!(text(&cx, "session_search", json!({"query": "!", "limit": 1})).await.lines().count(), 1);
}

#[tokio::test]
async fn a_session_is_read_from_an_event_on() {
    let (cx, _) = some().await;
    let all = "11111111-aaaa 1970-01-01 About needle one in /w\n\n[1] User: needle one\n[2] Title: About needle one\n\
               [3] Call of bash failed: exit 1\n[4] Assistant: Answer to needle one";
    assert_eq!(text(&cx, "session_read", json!({"session_id": "11111111-a"})).await, all);
    let (head, _) = all.split_once("[1]").unwrap();
    for (arguments, expected) in [
        (json!({"offset": 4}), "[4] Assistant: Answer to needle one"),
        (
            json!({"offset": 2, "limit": 1}),
            "[2] Title: About needle one\nThere is more: continue with offset 3.",
        ),
        (json!({"offset": 9}), "No entries from event 9 on."),
    ] {
        let mut arguments = arguments;
        arguments["session_id"] = json!("11111111-aaaa");
        assert_eq!(text(&cx, "session_read", arguments).await, format!("{head}{expected}"));
    }
}

#[tokio::test]
async fn a_session_of_another_project_is_not_found_without_permission() {
    let (cx, _) = some().await;
    for (arguments, says) in [
        (json!({"session_id": "1111111"}), "! session_id needs at least 8 characters of the id."),
        (
            json!({"session_id": "11111111"}),
            "! 2 sessions begin with '11111111': 11111111-aaaa, 11111111-bbbb. Write more of the id.",
        ),
        (
            json!({"session_id": "22222222"}),
            "! Session '22222222' not found. Use session_search to see the ids, or pass all_projects; the user is asked then.",
        ),
        (
            json!({"session_id": "33333333", "all_projects": true}),
            "! Session '33333333' not found. Use session_search to see the ids.",
        ),
    ] {
        assert_eq!(text(&cx, "session_read", arguments).await, says);
    }
    let read = text(&cx, "session_read", json!({"session_id": "22222222", "all_projects": true})).await;
    assert!(read.contains("[1] User: needle three"), "{read}");
    for tool in builtin().into_iter().filter(|tool| tool.name().starts_with("session_")) {
        let call = tool.parse(json!({"session_id": "22222222", "all_projects": true})).unwrap();
        let access = Access::Call { function: ALL_PROJECTS.to_owned(), read_only: true };
        assert_eq!(call.accesses(&path("")), [access], "{}", tool.name());
    }
}

#[tokio::test]
async fn secrets_and_hidden_characters_of_a_session_are_not_shown() {
    let (cx, store) = remembering(true);
    stored(&store, "11111111-aaaa", "/w", "needle sk-0123456789abcdefghijkl \u{1b}[2Jend").await;
    for (tool, arguments) in [
        ("session_search", json!({"query": "needle"})),
        ("session_search", json!({})),
        ("session_read", json!({"session_id": "11111111"})),
        ("memory_search", json!({"query": "needle", "scope": "history"})),
    ] {
        let shown = text(&cx, tool, arguments).await;
        assert!(shown.contains("needle [secret]"), "{tool}: {shown}");
        assert!(!shown.contains('\u{1b}') && !shown.contains("0123"), "{tool}: {shown}");
    }
}

#[tokio::test]
async fn without_a_repository_only_sessions_of_the_same_directory_are_reached() {
    let (mut cx, _) = some().await;
    cx.session.recall.as_mut().unwrap().repository = None;
    for arguments in [json!({"query": "answer"}), json!({})] {
        let found = text(&cx, "session_search", arguments).await;
        assert!(found.contains("11111111-aaaa") && !found.contains("bbbb"), "{found}");
    }
    let read = text(&cx, "session_read", json!({"session_id": "11111111-bbbb"})).await;
    assert!(read.starts_with("! Session '11111111-bbbb' not found."), "{read}");
}
