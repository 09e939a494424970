//! Tests of the older dialect over a real pipe, line by line.

use acp::AcpOptions;
use agent::{
    ModelError, ModelEvent, PermissionMode, Runtime, RuntimeOptions, SessionStart, SessionStore,
    fake::{FakeModel, FakeModels, MemoryStore, Reply},
};
use serde_json::{Value, json};
use std::sync::Arc;
use system::{AbsPath, FakeSystem};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

struct Peer {
    to: DuplexStream,
    from: Lines<BufReader<DuplexStream>>,
    disk: Arc<FakeSystem>,
    model: Arc<FakeModel>,
    /// Signals that the client has stopped reading.
    closed: CancellationToken,
    served: JoinHandle<Result<(), acp::ServeError>>,
}

impl Peer {
    fn new(mode: PermissionMode, replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::with(mode, replies, |_| {})
    }

    fn with(
        mode: PermissionMode,
        replies: impl IntoIterator<Item = Reply>,
        set: impl FnOnce(&mut AcpOptions),
    ) -> Self {
        let disk = FakeSystem::new();
        disk.add_file("/w/a b.txt", "one\n");
        let disk = Arc::new(disk);
        let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::default());
        let options = RuntimeOptions {
            start: SessionStart { permission_mode: mode, ..SessionStart::default() },
            ..RuntimeOptions::default()
        };
        let model = FakeModel::new(replies);
        let runtime = Runtime::new(store, Arc::new(FakeModels(model.clone())), options);
        let mut options = AcpOptions::new(disk.clone(), "0.1.0", AbsPath::new("/w").unwrap());
        set(&mut options);
        let closed = options.output_closed.clone();
        let (to, reader) = tokio::io::duplex(64 * 1024);
        let (writer, from) = tokio::io::duplex(64 * 1024);
        let served = tokio::spawn(acp::serve(runtime, reader, writer, options));
        Self { to, from: BufReader::new(from).lines(), disk, model, closed, served }
    }

    async fn send_line(&mut self, line: &str) {
        self.to.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn call(&mut self, id: u64, method: &str, params: Value) {
        self.send_line(
            &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string(),
        )
        .await;
    }

    async fn line(&mut self) -> String {
        self.from.next_line().await.unwrap().expect("a line, not the end")
    }

    async fn expect_line(&mut self, expected: Value) {
        let line = self.line().await;
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), expected, "{line}");
    }

    /// Closes the input; returns all remaining output lines.
    async fn close(mut self) -> Vec<String> {
        drop(self.to);
        let mut rest = Vec::new();
        while let Some(line) = self.from.next_line().await.unwrap() {
            rest.push(line);
        }
        self.served.await.unwrap().unwrap();
        rest
    }
}

fn answer(id: u64, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn stream(conversation: &str, text: &str) -> Value {
    let params = json!({ "conversationId": conversation, "text": text });
    json!({ "jsonrpc": "2.0", "method": "agent/stream", "params": params })
}

#[tokio::test]
async fn initialize_is_answered_byte_for_byte() {
    let mut peer = Peer::new(PermissionMode::Guardian, []);
    peer.send_line(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#).await;
    assert_eq!(
        peer.line().await,
        r#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"streaming":true,"fileEditing":true},"serverInfo":{"name":"tiller","version":"0.1.0"}}}"#
    );
    peer.send_line(r#"{"jsonrpc":"2.0","method":"initialized"}"#).await;
    peer.send_line("no JSON").await;
    peer.call(2, "initialized", json!({})).await;
    peer.expect_line(answer(2, Value::Null)).await;
    peer.call(3, "session/new", json!({ "cwd": "/w" })).await;
    let error = json!({ "code": -32601, "message": "Method not found: session/new" });
    peer.expect_line(json!({ "jsonrpc": "2.0", "id": 3, "error": error })).await;
    peer.call(4, "agent/cancel", json!({ "conversationId": "nobody" })).await;
    peer.expect_line(answer(4, json!({ "cancelled": true }))).await;
    assert!(peer.close().await.is_empty());
}

#[tokio::test]
async fn a_run_streams_its_text_and_reports_each_changed_file() {
    let edit = json!({ "path": "a b.txt", "old_string": "one", "new_string": "ONE" });
    let replies = [
        Reply::calls(&[("file_read", json!({ "path": "a b.txt" }))]),
        Reply::calls(&[("file_edit", edit)]),
        Reply::text("done"),
    ];
    let mut peer = Peer::new(PermissionMode::Prometheus, replies);
    // Without `initialize`, and with the request id as the conversation.
    peer.call(2, "agent/run", json!({ "prompt": "shout", "workspaceRoot": "/w" })).await;
    let edit = json!({ "changes": [{ "uri": "file:///w/a%20b.txt", "newText": "ONE\n" }] });
    peer.expect_line(json!({ "jsonrpc": "2.0", "method": "workspace/applyEdit", "params": edit })).await;
    peer.expect_line(stream("2", "done")).await;
    peer.expect_line(answer(2, json!({ "done": true }))).await;
    assert_eq!(peer.disk.text_of("/w/a b.txt").as_deref(), Some("ONE\n"));
    assert!(peer.close().await.is_empty());
}

#[tokio::test]
async fn calls_that_need_approval_are_denied_with_advice() {
    let write = Reply::calls(&[("file_write", json!({ "path": "new.txt", "content": "x" }))]);
    let model = FakeModel::new([write, Reply::text("no")]);
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::default());
    let options = RuntimeOptions {
        start: SessionStart { permission_mode: PermissionMode::Argus, ..SessionStart::default() },
        ..RuntimeOptions::default()
    };
    let runtime = Runtime::new(store, Arc::new(FakeModels(model.clone())), options);
    let disk = FakeSystem::new();
    disk.add_file("/w/a.txt", "");
    let options = AcpOptions::new(Arc::new(disk), "0.1.0", AbsPath::new("/w").unwrap());
    let (mut to, reader) = tokio::io::duplex(1024);
    let (writer, from) = tokio::io::duplex(64 * 1024);
    let served = tokio::spawn(acp::serve(runtime, reader, writer, options));
    let run = json!({ "jsonrpc": "2.0", "id": "r", "method": "agent/run", "params": { "prompt": "write" } });
    to.write_all(format!("{run}\n").as_bytes()).await.unwrap();
    let mut lines = BufReader::new(from).lines();
    let update: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(update, stream("r", "no"));
    let end: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(end, json!({ "jsonrpc": "2.0", "id": "r", "result": { "done": true } }));
    let messages = format!("{:?}", model.requests()[1].messages);
    assert!(messages.contains("--permission-mode prometheus"), "{messages}");
    drop(to);
    served.await.unwrap().unwrap();
}

#[tokio::test]
async fn runs_can_be_cancelled_and_failures_give_a_reason() {
    let hang = || Reply::Hang(vec![ModelEvent::Text("x".to_owned())]);
    let fails = Reply::error(ModelError::Auth("no key; set OPENAI_API_KEY".to_owned()));
    let mut peer = Peer::new(PermissionMode::Guardian, [hang(), fails, hang()]);
    peer.call(1, "agent/run", json!({ "prompt": "p", "conversationId": "c" })).await;
    peer.expect_line(stream("c", "x")).await;
    peer.call(2, "agent/cancel", json!({ "conversationId": "c" })).await;
    peer.expect_line(answer(2, json!({ "cancelled": true }))).await;
    peer.expect_line(answer(1, json!({ "cancelled": true }))).await;
    peer.call(3, "agent/run", json!({ "prompt": "p" })).await;
    let failed: Value = serde_json::from_str(&peer.line().await).unwrap();
    assert_eq!((&failed["id"], &failed["error"]["code"]), (&json!(3), &json!(-32000)));
    assert!(failed["error"]["message"].as_str().unwrap().contains("OPENAI_API_KEY"), "{failed}");
    for (params, code) in [
        (json!({}), -32602),
        (json!({ "prompt": "p", "workspaceRoot": "here" }), -32000),
        (json!({ "prompt": "p", "workspaceRoot": "/nowhere" }), -32000),
    ] {
        peer.call(4, "agent/run", params).await;
        let failed: Value = serde_json::from_str(&peer.line().await).unwrap();
        assert_eq!(failed["error"]["code"], code, "{failed}");
    }
    peer.call(5, "agent/run", json!({ "prompt": "p" })).await;
    peer.expect_line(stream("5", "x")).await;
    peer.call(6, "agent/cancel", json!({ "conversationId": "5" })).await;
    peer.expect_line(answer(6, json!({ "cancelled": true }))).await;
    peer.expect_line(answer(5, json!({ "cancelled": true }))).await;
    assert!(peer.close().await.is_empty());
}

#[tokio::test]
async fn runs_are_finished_after_the_input_ends_and_no_new_ones_start() {
    let edit = json!({ "path": "a b.txt", "old_string": "one", "new_string": "ONE" });
    let replies = [Reply::calls(&[("file_edit", edit)]), Reply::text("hello")];
    let mut peer = Peer::new(PermissionMode::Prometheus, replies);
    let both = concat!(
        r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":2,"method":"agent/run","params":{"prompt":"say hello","workspaceRoot":"/w"}}"#
    );
    peer.send_line(both).await;
    let rest = peer.close().await;
    let lines: Vec<Value> = rest.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0]["result"]["serverInfo"]["name"], "tiller");
    assert_eq!(lines[1]["method"], "workspace/applyEdit");
    assert_eq!(lines[2..], [stream("2", "hello"), answer(2, json!({ "done": true }))]);
}

#[tokio::test(start_paused = true)]
async fn runs_have_ten_minutes_after_the_end_of_the_input() {
    // Each run times out after five minutes; the third has to wait for the others.
    let hang = || Reply::Hang(vec![ModelEvent::Text("x".to_owned())]);
    let mut peer = Peer::new(PermissionMode::Guardian, [hang(), hang()]);
    for id in 1..=3 {
        peer.call(id, "agent/run", json!({ "prompt": "p", "conversationId": "c" })).await;
    }
    peer.expect_line(stream("c", "x")).await;
    let begun = tokio::time::Instant::now();
    let rest = peer.close().await;
    let sent: Vec<Value> = rest.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(sent.contains(&answer(3, json!({ "cancelled": true }))), "{sent:?}");
    let minutes = begun.elapsed().as_secs() / 60;
    assert_eq!(minutes, 10);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_stops_reading_ends_runs_immediately() {
    for knows in [true, false] {
        let words = (0..3).map(|n| ModelEvent::Text(format!("{n} "))).collect();
        let mut peer = Peer::new(PermissionMode::Guardian, [Reply::Hang(words)]);
        let begun = tokio::time::Instant::now();
        peer.call(1, "agent/run", json!({ "prompt": "p" })).await;
        if knows {
            peer.expect_line(stream("1", "0 ")).await;
        }
        let Peer { to, from, closed, served, .. } = peer;
        // With the input open, and with it closed.
        let to = if knows {
            Some(to)
        } else {
            drop(to);
            None
        };
        drop(from);
        if knows {
            closed.cancel();
        }
        served.await.unwrap().unwrap();
        assert!(begun.elapsed().as_secs() < 5, "{:?}", begun.elapsed());
        drop(to);
    }
}

#[tokio::test]
async fn a_bad_line_before_the_first_message_does_not_change_the_dialect() {
    for garbage in
        ["garbage", "{", "[]", "17", "null", "{}", "\u{feff}", r#"{"jsonrpc":"2.0"}"#, "\"initialize\""]
    {
        let mut peer = Peer::new(PermissionMode::Guardian, []);
        peer.send_line(&format!("{garbage}\n{garbage}")).await;
        // Without the `jsonrpc` member, which this dialect ignores.
        peer.send_line(r#"{"id":1,"method":"initialize","params":{}}"#).await;
        let answer: Value = serde_json::from_str(&peer.line().await).unwrap();
        assert_eq!(answer["result"]["serverInfo"]["name"], "tiller", "{garbage}: {answer}");
        assert!(peer.close().await.is_empty(), "{garbage}");
    }
    // If the first message is the protocol's, the invalid line is answered, in order.
    let mut peer = Peer::new(PermissionMode::Guardian, []);
    peer.send_line("garbage").await;
    peer.call(1, "initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await;
    let refused: Value = serde_json::from_str(&peer.line().await).unwrap();
    assert_eq!((&refused["id"], &refused["error"]["code"]), (&Value::Null, &json!(-32700)));
    let answer: Value = serde_json::from_str(&peer.line().await).unwrap();
    assert_eq!(answer["result"]["protocolVersion"], 1);
    peer.close().await;
}

#[tokio::test]
async fn a_bad_line_followed_by_nothing_is_answered() {
    let mut peer = Peer::new(PermissionMode::Guardian, []);
    for (line, id, code) in [
        ("garbage", Value::Null, -32700),
        (r#"{"jsonrpc":"2.0","id":4}"#, json!(4), -32600),
        ("[]", Value::Null, -32600),
    ] {
        peer.send_line(line).await;
        let refused: Value = serde_json::from_str(&peer.line().await).unwrap();
        assert_eq!((&refused["id"], &refused["error"]["code"]), (&id, &json!(code)), "{line}");
    }
    // The dialect is still undecided.
    peer.send_line(r#"{"id":1,"method":"initialize","params":{}}"#).await;
    let answer: Value = serde_json::from_str(&peer.line().await).unwrap();
    assert_eq!(answer["result"]["serverInfo"]["name"], "tiller");
    assert!(peer.close().await.is_empty());
}

#[tokio::test]
async fn a_relative_directory_is_resolved_against_the_programs() {
    for (root, expected) in [
        (json!("sub"), "/w/sub"),
        (json!("./sub/"), "/w/sub"),
        (json!("sub/../sub"), "/w/sub"),
        (json!("."), "/w"),
        (json!("../w/sub"), "/w/sub"),
        (json!("/w/sub"), "/w/sub"),
        (json!("file:///w/sub"), "/w/sub"),
        (json!(""), "/w"),
        (Value::Null, "/w"),
    ] {
        let write = Reply::calls(&[("file_write", json!({ "path": "new.txt", "content": "x" }))]);
        let mut peer = Peer::new(PermissionMode::Prometheus, [write, Reply::text("done")]);
        peer.disk.add_file("/w/sub/s.txt", "");
        peer.call(1, "agent/run", json!({ "prompt": "p", "workspaceRoot": root })).await;
        let edit: Value = serde_json::from_str(&peer.line().await).unwrap();
        assert_eq!(edit["params"]["changes"][0]["uri"], format!("file://{expected}/new.txt"), "{root}");
        peer.expect_line(stream("1", "done")).await;
        peer.expect_line(answer(1, json!({ "done": true }))).await;
        peer.close().await;
    }
}

#[tokio::test]
async fn a_directory_outside_of_the_users_folder_is_refused_whether_it_exists_or_not() {
    let mut peer = Peer::with(PermissionMode::Prometheus, [Reply::text("done")], |options| {
        options.machines.folder = Some(AbsPath::new("/w/ada").unwrap());
    });
    peer.disk.add_file("/w/ada/a.txt", "");
    peer.disk.add_file("/w/bob/b.txt", "");
    for root in ["/w", "/w/bob", "/w/bob/b.txt", "/w/nowhere", "/w/ada/../bob", "/"] {
        peer.call(1, "agent/run", json!({ "prompt": "p", "workspaceRoot": root })).await;
        let refused: Value = serde_json::from_str(&peer.line().await).unwrap();
        let message = refused["error"]["message"].as_str().unwrap();
        assert!(message.contains("must lie below /w/ada"), "{root}: {message}");
    }
    assert!(peer.model.requests().is_empty());
    peer.call(1, "agent/run", json!({ "prompt": "p", "workspaceRoot": "/w/ada" })).await;
    peer.expect_line(stream("1", "done")).await;
    peer.expect_line(answer(1, json!({ "done": true }))).await;
    peer.close().await;
}

#[tokio::test]
async fn a_conversation_named_again_continues_its_session() {
    let replies = ["one", "two", "three", "four"].map(Reply::text);
    let mut peer = Peer::new(PermissionMode::Guardian, replies);
    let run = |conversation: Option<&str>| match conversation {
        Some(named) => json!({ "prompt": "p", "conversationId": named }),
        None => json!({ "prompt": "p" }),
    };
    // Two concurrent runs, one without a name, and one that continues the unnamed conversation by
    // the name that the first run's messages had.
    peer.call(1, "agent/run", run(Some("c"))).await;
    peer.call(2, "agent/run", run(Some("c"))).await;
    for (id, text) in [(1, "one"), (2, "two")] {
        peer.expect_line(stream("c", text)).await;
        peer.expect_line(answer(id, json!({ "done": true }))).await;
    }
    for (id, conversation, text) in [(3, None, "three"), (4, Some("3"), "four")] {
        peer.call(id, "agent/run", run(conversation)).await;
        peer.expect_line(stream("3", text)).await;
        peer.expect_line(answer(id, json!({ "done": true }))).await;
    }
    let lengths: Vec<_> = peer.model.requests().iter().map(|request| request.messages.len()).collect();
    assert_eq!(lengths, [1, 3, 1, 3]);
    peer.close().await;
}

#[tokio::test]
async fn a_denial_names_only_flags_that_allow_the_call() {
    for (mode, path, helps) in [
        (PermissionMode::Argus, "new.txt", true),
        (PermissionMode::Prometheus, "/w/.git/hooks/pre-commit", false),
        (PermissionMode::Argus, "/w/.git/hooks/pre-commit", false),
    ] {
        let write = Reply::calls(&[("file_write", json!({ "path": path, "content": "x" }))]);
        let mut peer = Peer::new(mode, [write, Reply::text("no")]);
        peer.call(1, "agent/run", json!({ "prompt": "write" })).await;
        peer.expect_line(stream("1", "no")).await;
        peer.expect_line(answer(1, json!({ "done": true }))).await;
        let messages = format!("{:?}", peer.model.requests()[1].messages);
        assert_eq!(messages.contains("--permission-mode prometheus"), helps, "{mode:?} {path}: {messages}");
        assert!(!messages.contains("--yolo"), "{messages}");
        peer.close().await;
    }
}
