//! Tests of replayed sessions: at the client's pace, in order, with the ids of the live updates.

use crate::stage::{Stage, stage, stage_with};
use acp::testing::EditorScript;
use agent::{
    Content, Lease, MessageId, Mode, NewSession, PermissionMode, SessionEvent, SessionStore, StopReason,
    TurnEnd, TurnId,
    fake::{MemoryStore, Reply},
};
use serde_json::{Value, json};
use std::sync::Arc;
use system::AbsPath;

/// Returns the id and the text of each message, and the id and the status of each call, live or
/// replayed. Chunks of one message are joined.
fn messages(updates: &[Value]) -> Vec<(String, String)> {
    let mut messages: Vec<(String, String)> = Vec::new();
    for update in updates {
        let text = update.pointer("/content/text").and_then(Value::as_str).unwrap_or_default();
        let (id, text) = match (update["messageId"].as_str(), update["toolCallId"].as_str()) {
            (Some(id), _) => (id.to_owned(), text.to_owned()),
            (None, Some(id)) => (format!("{id} {}", update["status"]), String::new()),
            _ => continue,
        };
        match messages.last_mut() {
            Some((last, so_far)) if *last == id => so_far.push_str(&text),
            _ => messages.push((id, text)),
        }
    }
    messages
}

#[tokio::test]
async fn replayed_messages_keep_their_ids() {
    let read = Reply::calls(&[("file_read", json!({"path": "a.txt"}))]);
    let first = stage(EditorScript::default(), [read, Reply::text("read"), Reply::text("more")]);
    let session = first.editor.session("/w").await;
    for text in ["one", "two"] {
        first.editor.prompt(&session, text).await.unwrap();
    }
    let all = |stage: &Stage| -> Vec<Value> {
        stage.editor.calls("session/update").into_iter().map(|mut params| params["update"].take()).collect()
    };
    let live = messages(&all(&first));
    let Stage { editor, store, .. } = first;
    editor.close().await.unwrap();
    let second = stage_with(store, EditorScript::default(), [], |_| {});
    second.editor.initialize().await;
    second.editor.ok("session/load", json!({"sessionId": session, "cwd": "/w"})).await;
    let updates = all(&second);
    let of_the_user = |update: &&Value| update["sessionUpdate"] == "user_message_chunk";
    assert_eq!(updates.iter().filter(of_the_user).count(), 2);
    let others: Vec<_> = updates.iter().filter(|update| !of_the_user(update)).cloned().collect();
    assert_eq!(messages(&others), live);
    second.editor.close().await.unwrap();
}

async fn long_session(turns: u64) -> (Arc<MemoryStore>, Lease) {
    let store = Arc::new(MemoryStore::default());
    let new = NewSession {
        id: "long".into(),
        cwd: AbsPath::new("/w").unwrap(),
        additional_directories: Vec::new(),
        model: "fake/model".to_owned(),
        mode: Mode::Edit,
        permission_mode: PermissionMode::Guardian,
        parent: None,
        owner: None,
    };
    let lease = store.create(new).await.unwrap();
    for n in 0..turns {
        let turn = TurnId(format!("run_{n}"));
        let id = MessageId(format!("msg_{n}"));
        let content = vec![Content::text(format!("{n} {}", "x".repeat(1000)))];
        let events = vec![
            SessionEvent::TurnStarted { turn: turn.clone(), prompt: None },
            SessionEvent::UserMessage { id, content },
            SessionEvent::TurnEnded { turn, end: TurnEnd::Stopped(StopReason::EndTurn) },
        ];
        store.append(&lease, events).await.unwrap();
    }
    store.release(&lease).await.unwrap();
    (store, lease)
}

#[tokio::test]
async fn a_replay_pauses_while_the_client_does_not_read() {
    let (store, _) = long_session(3000).await;
    let stage = stage_with(store, EditorScript::default(), [], |_| {});
    stage.editor.initialize().await;
    stage.editor.read(false);
    let load = json!({"sessionId": "long", "cwd": "/w"});
    let (_, answer) = stage.editor.start("session/load", load);
    // Enough for the agent to write all three megabytes if it did not wait for the client.
    for _ in 0..10_000 {
        tokio::task::yield_now().await;
    }
    stage.editor.read(true);
    stage.editor.until(|editor| !editor.updates("user_message_chunk").is_empty()).await;
    assert!(stage.editor.updates("user_message_chunk").len() < 200, "at the client's pace");
    answer.await.unwrap();
    let user_messages = stage.editor.updates("user_message_chunk");
    assert_eq!(user_messages.len(), 3000);
    let numbers =
        user_messages.iter().map(|update| update["messageId"].as_str().unwrap()[4..].parse::<u64>().unwrap());
    assert!(numbers.eq(0..3000));
    stage.editor.close().await.unwrap();
}

#[tokio::test]
async fn a_load_can_be_cancelled_and_ends_with_its_client() {
    if !crate::transport::is_pipe() {
        return;
    }
    let (store, _) = long_session(3000).await;
    let stage = stage_with(store, EditorScript::default(), [], |_| {});
    stage.editor.initialize().await;
    let load = json!({"sessionId": "long", "cwd": "/w"});
    stage.editor.read(false);
    let (id, answer) = stage.editor.start("session/load", load.clone());
    stage.editor.notify("$/cancel_request", json!({"requestId": id}));
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    stage.editor.read(true);
    assert_eq!(answer.await.unwrap_err()["code"], -32800);
    stage.editor.ok("session/load", load.clone()).await;
    stage.editor.read(false);
    let (_, _left) = stage.editor.start("session/load", load);
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
    let begun = std::time::Instant::now();
    // This client does not read to the end, so it cannot receive the response to the load.
    let _ = stage.editor.close().await;
    assert!(begun.elapsed().as_millis() < 1500, "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_load_in_the_middle_of_a_message_neither_repeats_nor_loses_text() {
    // The turn ends while a client that does not read delays the replay.
    let words: Vec<_> = (0..50).map(|n| agent::ModelEvent::Text(format!("{n} "))).collect();
    let stage = stage(EditorScript::default(), [Reply::Hang(words), Reply::text("after")]);
    let session = stage.editor.session("/w").await;
    let whole: String = (0..50).map(|n| format!("{n} ")).collect();
    let prompt = json!({"sessionId": session, "prompt": [{"type": "text", "text": "count"}]});
    let (_, first) = stage.editor.start("session/prompt", prompt.clone());
    let (_, second) = stage.editor.start("session/prompt", prompt);
    stage.editor.until(|editor| editor.text() == whole).await;
    let before = stage.editor.log().len();
    let (_, loaded) =
        stage.editor.start("session/load", json!({"sessionId": session, "cwd": "/w", "mcpServers": []}));
    stage.editor.notify("$/cancel_request", json!({"requestId": 3}));
    loaded.await.unwrap();
    first.await.unwrap();
    second.await.unwrap();
    let log = stage.editor.log();
    let chunks = log[before..].iter().filter_map(|message| {
        let update = message.pointer("/params/update")?;
        (update["sessionUpdate"] == "agent_message_chunk")
            .then(|| update["content"]["text"].as_str().unwrap().to_owned())
    });
    assert_eq!(chunks.collect::<String>(), format!("{whole}after"));
    stage.editor.close().await.unwrap();
}
