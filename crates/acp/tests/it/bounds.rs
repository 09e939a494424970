//! Tests with a client that does not read: the backlog is bounded, nothing in it is lost, and a
//! cancel does not wait for it.

use acp::{
    AcpOptions, Events, Protocol,
    testing::{Editor, EditorScript},
};
use agent::{
    ModelEvent, ModelStop, Runtime, RuntimeOptions,
    fake::{FakeModels, MemoryStore, Reply, WatchedModel},
};
use serde_json::{Value, json};
use std::sync::Arc;
use system::{AbsPath, FakeSystem};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};

const PIECE: usize = 64 * 1024;
const PIECES: usize = 100;
const MIB: usize = 1024 * 1024;

fn piece(number: usize) -> String {
    format!("{number:02}{}", "x".repeat(PIECE - 2))
}

/// Returns an answer of [`PIECES`] different pieces of [`PIECE`] bytes.
fn answer() -> Vec<ModelEvent> {
    (0..PIECES).map(|number| ModelEvent::Text(piece(number))).collect()
}

fn whole() -> Reply {
    Reply::ok([answer(), vec![ModelEvent::Stop(ModelStop::EndTurn)]].concat())
}

fn text(pieces: usize) -> String {
    (0..pieces).map(piece).collect()
}

struct Fixture {
    runtime: Arc<Runtime>,
    model: Arc<WatchedModel>,
    options: AcpOptions,
}

fn fixture(replies: impl IntoIterator<Item = Reply>) -> Fixture {
    let model = WatchedModel::new(replies);
    let store = Arc::new(MemoryStore::default());
    let runtime = Runtime::new(store, Arc::new(FakeModels(model.clone())), RuntimeOptions::default());
    let disk = Arc::new(FakeSystem::new());
    disk.add_file("/w/a.txt", "one\n");
    let options = AcpOptions::new(disk, "0.1.0", AbsPath::new("/w").unwrap());
    Fixture { runtime, model, options }
}

impl Fixture {
    fn connect(&self, script: EditorScript) -> Editor {
        crate::transport::connect(self.runtime.clone(), self.options.clone(), script)
    }

    /// Waits until the model is no longer read; returns the number of bytes read. Part of the
    /// backlog may exist twice, as an update and as an event.
    async fn held_back(&self) -> usize {
        let mut taken = self.model.taken.subscribe();
        taken.wait_for(|taken| taken * PIECE >= 3 * MIB).await.unwrap();
        // By then, everything that could proceed has.
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        *taken.borrow() * PIECE
    }
}

fn prompt(session: &str) -> Value {
    json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "go" }] })
}

#[tokio::test]
async fn a_client_that_does_not_read_pauses_the_model_at_4_mib_without_loss() {
    if !crate::transport::is_pipe() {
        return;
    }
    for (script, events) in [
        (EditorScript::full(), Events::Off),
        (EditorScript::full().native(), Events::Tiller),
        (EditorScript::v2(), Events::Off),
    ] {
        let mut fixture = fixture([whole()]);
        fixture.options.events = events;
        let v2 = script.is_version_2();
        let editor = fixture.connect(script);
        let session = editor.session("/w").await;
        editor.read(false);
        let (_, answer) = editor.start("session/prompt", prompt(&session));
        let held = fixture.held_back().await;
        assert!(held <= 4 * MIB + 8 * PIECE, "{held} bytes were read of the model");
        editor.read(true);
        answer.await.unwrap();
        if v2 {
            editor.until_idle(&session, 0).await;
        }
        assert!(editor.text() == text(PIECES));
        editor.close().await.unwrap();
    }
}

#[tokio::test]
async fn a_cancel_ends_a_turn_that_waits_for_its_client_to_read() {
    if !crate::transport::is_pipe() {
        return;
    }
    let fixture = fixture([whole()]);
    let editor = fixture.connect(EditorScript::full());
    let session = editor.session("/w").await;
    editor.read(false);
    let (_, answer) = editor.start("session/prompt", prompt(&session));
    let held = fixture.held_back().await;
    editor.notify("session/cancel", json!({ "sessionId": session }));
    fixture.model.dropped.cancelled().await;
    editor.read(true);
    assert_eq!(answer.await.unwrap()["stopReason"], "cancelled");
    assert!(editor.text() == text(held / PIECE), "what was said before the cancel is all there");
    editor.close().await.unwrap();
}

/// Sessions of one connection share the bound.
#[tokio::test]
async fn a_cancel_ends_one_of_many_turns_that_wait_for_the_client_to_read() {
    if crate::transport::is_http() {
        return;
    }
    let fixture = fixture((0..10).map(|_| whole()));
    let editor = fixture.connect(EditorScript::full());
    editor.initialize().await;
    let mut turns = Vec::new();
    let mut sessions = Vec::new();
    for _ in 0..10 {
        let session = editor.ok("session/new", json!({ "cwd": "/w", "mcpServers": [] })).await;
        sessions.push(session["sessionId"].as_str().unwrap().to_owned());
    }
    editor.read(false);
    for session in &sessions {
        turns.push(editor.start("session/prompt", prompt(session)).1);
    }
    let held = fixture.held_back().await;
    assert!(held <= 4 * MIB + 20 * PIECE, "{held} bytes were read of the model");
    for session in &sessions {
        editor.notify("session/cancel", json!({ "sessionId": session }));
    }
    editor.read(true);
    for turn in turns {
        assert_eq!(turn.await.unwrap()["stopReason"], "cancelled");
    }
    editor.close().await.unwrap();
}

#[tokio::test]
async fn a_disconnected_client_delays_nothing() {
    if !crate::transport::is_pipe() {
        return;
    }
    let fixture = fixture([whole()]);
    let editor = fixture.connect(EditorScript::full());
    let session = editor.session("/w").await;
    editor.read(false);
    let (_, answer) = editor.start("session/prompt", prompt(&session));
    fixture.held_back().await;
    drop(answer);
    editor.hang_up();
    fixture.model.dropped.cancelled().await;
}

#[tokio::test]
async fn a_legacy_client_that_does_not_read_pauses_the_model_at_4_mib() {
    let mut fixture = fixture([whole()]);
    fixture.options.protocol = Protocol::Auto;
    let (mut to, reader) = tokio::io::duplex(64 * 1024);
    let (writer, from) = tokio::io::duplex(64 * 1024);
    let served = tokio::spawn(acp::serve(fixture.runtime.clone(), reader, writer, fixture.options.clone()));
    let run = json!({ "jsonrpc": "2.0", "id": 1, "method": "agent/run", "params": { "prompt": "go" } });
    to.write_all(format!("{run}\n").as_bytes()).await.unwrap();
    let held = fixture.held_back().await;
    // The lines between the queue and the pipe are not counted.
    assert!(held <= 4 * MIB + 80 * PIECE, "{held} bytes were read of the model");
    drop(to);
    let (mut lines, mut streamed) = (BufReader::new(from).lines(), String::new());
    while let Some(line) = lines.next_line().await.unwrap() {
        let line: Value = serde_json::from_str(&line).unwrap();
        streamed.push_str(line["params"]["text"].as_str().unwrap_or_default());
    }
    assert!(streamed == text(PIECES));
    served.await.unwrap().unwrap();
}
