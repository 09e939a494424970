//! The older dialect over a real pipe, line by line.

use acp::AcpOptions;
use agent::{
    ModelError, ModelEvent, PermissionMode, Runtime, RuntimeOptions, SessionStore,
    fake::{FakeModel, FakeModels, MemoryStore, Reply},
};
use serde_json::{Value, json};
use std::sync::Arc;
use system::{AbsPath, FakeSystem};
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines},
    task::JoinHandle,
};

struct Peer {
    to: DuplexStream,
    from: Lines<BufReader<DuplexStream>>,
    disk: Arc<FakeSystem>,
    served: JoinHandle<Result<(), acp::ServeError>>,
}

impl Peer {
    fn new(mode: PermissionMode, replies: impl IntoIterator<Item = Reply>) -> Self {
        let disk = FakeSystem::new();
        disk.add_file("/w/a b.txt", "one\n");
        let disk = Arc::new(disk);
        let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::default());
        let options = RuntimeOptions { permission_mode: mode, ..RuntimeOptions::default() };
        let runtime = Runtime::new(store, Arc::new(FakeModels(FakeModel::new(replies))), options);
        let options = AcpOptions::new(disk.clone(), "0.1.0", AbsPath::new("/w").unwrap());
        let (to, reader) = tokio::io::duplex(64 * 1024);
        let (writer, from) = tokio::io::duplex(64 * 1024);
        let served = tokio::spawn(acp::serve(runtime, reader, writer, options));
        Self { to, from: BufReader::new(from).lines(), disk, served }
    }

    async fn say(&mut self, line: &str) {
        self.to.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn call(&mut self, id: u64, method: &str, params: Value) {
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string())
            .await;
    }

    async fn line(&mut self) -> String {
        self.from.next_line().await.unwrap().expect("a line, not the end")
    }

    async fn hears(&mut self, expected: Value) {
        let line = self.line().await;
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), expected, "{line}");
    }

    /// Closes its side; everything that was left to say.
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
async fn the_introduction_is_answered_byte_for_byte() {
    let mut peer = Peer::new(PermissionMode::Guardian, []);
    peer.say(r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#).await;
    assert_eq!(
        peer.line().await,
        r#"{"jsonrpc":"2.0","id":1,"result":{"capabilities":{"streaming":true,"fileEditing":true},"serverInfo":{"name":"tiller","version":"0.1.0"}}}"#
    );
    peer.say(r#"{"jsonrpc":"2.0","method":"initialized"}"#).await;
    peer.say("no JSON").await;
    peer.call(2, "initialized", json!({})).await;
    peer.hears(answer(2, Value::Null)).await;
    peer.call(3, "session/new", json!({ "cwd": "/w" })).await;
    let error = json!({ "code": -32601, "message": "Method not found: session/new" });
    peer.hears(json!({ "jsonrpc": "2.0", "id": 3, "error": error })).await;
    peer.call(4, "agent/cancel", json!({ "conversationId": "nobody" })).await;
    peer.hears(answer(4, json!({ "cancelled": true }))).await;
    assert!(peer.close().await.is_empty());
}

#[tokio::test]
async fn a_run_streams_its_text_and_tells_of_each_file() {
    let edit = json!({ "path": "a b.txt", "old_string": "one", "new_string": "ONE" });
    let replies = [
        Reply::calls(&[("file_read", json!({ "path": "a b.txt" }))]),
        Reply::calls(&[("file_edit", edit)]),
        Reply::text("done"),
    ];
    let mut peer = Peer::new(PermissionMode::Prometheus, replies);
    // Without an introduction, and with the id as the conversation.
    peer.call(2, "agent/run", json!({ "prompt": "shout", "workspaceRoot": "/w" })).await;
    let edit = json!({ "changes": [{ "uri": "file:///w/a%20b.txt", "newText": "ONE\n" }] });
    peer.hears(json!({ "jsonrpc": "2.0", "method": "workspace/applyEdit", "params": edit })).await;
    peer.hears(stream("2", "done")).await;
    peer.hears(answer(2, json!({ "done": true }))).await;
    assert_eq!(peer.disk.text_of("/w/a b.txt").as_deref(), Some("ONE\n"));
    assert!(peer.close().await.is_empty());
}

#[tokio::test]
async fn what_would_be_asked_is_refused_with_what_to_do() {
    let write = Reply::calls(&[("file_write", json!({ "path": "new.txt", "content": "x" }))]);
    let model = FakeModel::new([write, Reply::text("no")]);
    let store: Arc<dyn SessionStore> = Arc::new(MemoryStore::default());
    let options = RuntimeOptions { permission_mode: PermissionMode::Argus, ..RuntimeOptions::default() };
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
    let said: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(said, stream("r", "no"));
    let end: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
    assert_eq!(end, json!({ "jsonrpc": "2.0", "id": "r", "result": { "done": true } }));
    let told = format!("{:?}", model.requests()[1].messages);
    assert!(told.contains("--permission-mode prometheus"), "{told}");
    drop(to);
    served.await.unwrap().unwrap();
}

#[tokio::test]
async fn runs_are_cancelled_and_fail_with_a_reason() {
    let hang = || Reply::Hang(vec![ModelEvent::Text("x".to_owned())]);
    let fails = Reply::error(ModelError::Auth("no key; set OPENAI_API_KEY".to_owned()));
    let mut peer = Peer::new(PermissionMode::Guardian, [hang(), fails, hang()]);
    peer.call(1, "agent/run", json!({ "prompt": "p", "conversationId": "c" })).await;
    peer.hears(stream("c", "x")).await;
    peer.call(2, "agent/cancel", json!({ "conversationId": "c" })).await;
    peer.hears(answer(2, json!({ "cancelled": true }))).await;
    peer.hears(answer(1, json!({ "cancelled": true }))).await;
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
    // Closing the input cancels what runs.
    peer.call(5, "agent/run", json!({ "prompt": "p" })).await;
    peer.hears(stream("5", "x")).await;
    let rest = peer.close().await;
    assert_eq!(rest.len(), 1);
    assert_eq!(serde_json::from_str::<Value>(&rest[0]).unwrap(), answer(5, json!({ "cancelled": true })));
}
