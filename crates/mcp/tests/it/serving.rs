//! This program as a server: its responses to a client.

use crate::{
    fake_machine::{FakeMachine, default_reactions, text, tool},
    test_session::options,
};
use agent::Redactor;
use async_trait::async_trait;
use mcp::{CallError, Gateway, Origin, Upstreams};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use system::AbsPath;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, split},
    sync::{Notify, Semaphore},
};

/// A gateway with the tools `echo`, `fails`, `panics` and `waits`; the last waits for a permit and
/// signals when it is dropped.
struct FakeGateway {
    permits: Semaphore,
    waiting: Notify,
    dropped: Arc<Notify>,
}

struct Dropped(Arc<Notify>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[async_trait]
impl Gateway for FakeGateway {
    async fn tools(&self) -> Vec<Value> {
        vec![tool("echo")]
    }

    async fn call(&self, name: &str, arguments: Map<String, Value>) -> Result<Value, CallError> {
        match name {
            "echo" => {
                let text = Value::Object(arguments).to_string();
                Ok(json!({ "content": [{ "type": "text", "text": text }] }))
            }
            "fails" => Err(CallError::Failed("out of paper".to_owned())),
            "panics" => panic!("a defect"),
            "waits" => {
                let _dropped = Dropped(Arc::clone(&self.dropped));
                self.waiting.notify_one();
                self.permits.acquire().await.unwrap().forget();
                Ok(json!({ "content": [] }))
            }
            other => Err(CallError::Unknown(other.to_owned())),
        }
    }

    async fn resources(&self) -> Vec<Value> {
        vec![json!({ "uri": "mcp://s/a:b", "name": "a" })]
    }

    async fn templates(&self) -> Vec<Value> {
        vec![json!({ "uriTemplate": "mcp://s/a:{b}", "name": "a" })]
    }

    async fn read(&self, uri: &str) -> Result<Value, CallError> {
        match uri {
            "mcp://s/a:b" => Ok(json!({ "contents": [{ "uri": uri, "text": "canary-secret" }] })),
            "mcp://s/wet" => Err(CallError::Failed("out of paper".to_owned())),
            other => Err(CallError::Unknown(other.to_owned())),
        }
    }

    async fn prompts(&self) -> Vec<Value> {
        vec![json!({ "name": "s__p" })]
    }

    async fn prompt(&self, name: &str, arguments: Map<String, Value>) -> Result<Value, CallError> {
        match name {
            "s__p" => Ok(json!({ "messages": [arguments] })),
            other => Err(CallError::Unknown(other.to_owned())),
        }
    }
}

/// The client's end of the streams.
struct Client {
    fake_gateway: Arc<FakeGateway>,
    answers: Lines<BufReader<tokio::io::ReadHalf<DuplexStream>>>,
    input: Option<tokio::io::WriteHalf<DuplexStream>>,
}

impl Client {
    fn start() -> Self {
        let fake_gateway = Arc::new(FakeGateway {
            permits: Semaphore::new(0),
            waiting: Notify::new(),
            dropped: Arc::default(),
        });
        let (ours, theirs) = tokio::io::duplex(1024 * 1024);
        let (input, output) = split(theirs);
        let redactor = Redactor::default();
        redactor.learn(["canary-secret".to_owned()]);
        let gateway: Arc<dyn Gateway> = fake_gateway.clone();
        tokio::spawn(async move {
            mcp::serve(Box::new(input), Box::new(output), gateway, redactor, "7").await.unwrap();
        });
        let (read, write) = split(ours);
        Self { fake_gateway, answers: BufReader::new(read).lines(), input: Some(write) }
    }

    async fn send_line(&mut self, line: &str) {
        self.input.as_mut().unwrap().write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    async fn request(&mut self, id: Value, method: &str, params: Value) {
        self.send_line(
            &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string(),
        )
        .await;
    }

    async fn call(&mut self, id: u64, name: &str) {
        self.request(json!(id), "tools/call", json!({ "name": name, "arguments": { "a": 1 } })).await;
    }

    async fn answer(&mut self) -> Value {
        let line = self.answers.next_line().await.unwrap().expect("an answer");
        serde_json::from_str(&line).unwrap()
    }
}

#[tokio::test(start_paused = true)]
async fn a_client_gets_a_response_to_each_request() {
    let mut client = Client::start();
    for (asked, version) in [("2025-03-26", "2025-03-26"), ("1999-01-01", "2025-11-25")] {
        client
            .request(json!("i"), "initialize", json!({ "protocolVersion": asked, "capabilities": {} }))
            .await;
        let answer = client.answer().await;
        assert_eq!(answer["result"]["protocolVersion"], version);
        assert_eq!(answer["result"]["serverInfo"], json!({ "name": "tiller", "version": "7" }));
        assert_eq!(answer["result"]["capabilities"], json!({ "tools": {}, "resources": {}, "prompts": {} }));
    }
    client.send_line(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    client.request(json!(1), "ping", json!({})).await;
    assert_eq!(client.answer().await, json!({ "jsonrpc": "2.0", "id": 1, "result": {} }));
    client.request(json!(2), "tools/list", json!({})).await;
    assert_eq!(client.answer().await["result"]["tools"][0]["name"], "echo");
    client.call(3, "echo").await;
    assert_eq!(client.answer().await["result"]["content"][0]["text"], r#"{"a":1}"#);
    client.call(4, "fails").await;
    let failed = client.answer().await;
    assert_eq!(
        (&failed["result"]["isError"], &failed["result"]["content"][0]["text"]),
        (&json!(true), &json!("out of paper"))
    );
    for (method, params, expected) in [
        ("resources/list", json!({}), json!({ "resources": [{ "uri": "mcp://s/a:b", "name": "a" }] })),
        (
            "resources/templates/list",
            json!({}),
            json!({ "resourceTemplates": [{ "uriTemplate": "mcp://s/a:{b}", "name": "a" }] }),
        ),
        (
            "resources/read",
            json!({ "uri": "mcp://s/a:b" }),
            json!({ "contents": [{ "uri": "mcp://s/a:b", "text": "[secret]" }] }),
        ),
        ("prompts/list", json!({}), json!({ "prompts": [{ "name": "s__p" }] })),
        (
            "prompts/get",
            json!({ "name": "s__p", "arguments": { "a": "b" } }),
            json!({ "messages": [{ "a": "b" }] }),
        ),
    ] {
        client.request(json!(method), method, params).await;
        assert_eq!(client.answer().await["result"], expected, "{method}");
    }
    let secret = json!({ "name": "echo", "arguments": { "a": "canary-secret" } });
    client.request(json!(5), "tools/call", secret).await;
    assert_eq!(client.answer().await["result"]["content"][0]["text"], r#"{"a":"[secret]"}"#);
}

#[tokio::test(start_paused = true)]
async fn bad_input_is_answered_with_an_error_and_serving_continues() {
    let mut client = Client::start();
    let call =
        |params: &str| format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{params}}}"#);
    let long = format!("{{\"x\":\"{}\"}}", "x".repeat(17 * 1024 * 1024));
    for (line, code) in [
        ("no JSON", -32700),
        ("\u{0}\u{1}", -32700),
        ("[]", -32600),
        ("7", -32600),
        (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}"#, -32601),
        (r#"{"jsonrpc":"2.0","id":1,"method":"resources/read"}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"mcp://s/none"}}"#, -32002),
        (r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"mcp://s/wet"}}"#, -32603),
        (r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"none"}}"#, -32602),
        (r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{}}"#, -32602),
        (&call("{}"), -32602),
        (&call("[]"), -32602),
        (&call(r#"{"name":"echo","arguments":[]}"#), -32602),
        (&call(r#"{"name":"none"}"#), -32602),
        (&call(r#"{"name":"panics"}"#), -32603),
        (&long, -32600),
    ] {
        client.send_line(line).await;
        let answer = client.answer().await;
        assert_eq!(answer["error"]["code"], code, "{}: {answer}", &line[..line.len().min(80)]);
    }
    for (line, message) in [
        (call(r#"{"name":"none"}"#), "Unknown tool: none"),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"mcp://s/none"}}"#
                .to_owned(),
            "Unknown resource: mcp://s/none",
        ),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"none"}}"#.to_owned(),
            "Unknown prompt: none",
        ),
    ] {
        client.send_line(&line).await;
        assert_eq!(client.answer().await["error"]["message"], message);
    }
    // Messages that need no response get none.
    for line in
        ["", "  ", r#"{"jsonrpc":"2.0","method":"no/such"}"#, r#"{"jsonrpc":"2.0","id":9,"result":{}}"#]
    {
        client.send_line(line).await;
    }
    client.request(json!(2), "ping", json!({})).await;
    assert_eq!(client.answer().await["id"], 2);
}

#[tokio::test(start_paused = true)]
async fn calls_run_concurrently_and_can_be_cancelled() {
    let mut client = Client::start();
    client.call(1, "waits").await;
    client.fake_gateway.waiting.notified().await;
    client.call(2, "echo").await;
    assert_eq!(client.answer().await["id"], 2, "one that waits holds up nobody");
    client.call(1, "echo").await;
    assert_eq!(client.answer().await["error"]["code"], -32600, "an id is one request's");
    let cancelled =
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } });
    client.send_line(&cancelled.to_string()).await;
    client.fake_gateway.dropped.notified().await;
    client.fake_gateway.permits.add_permits(1);
    client.request(json!(3), "ping", json!({})).await;
    assert_eq!(client.answer().await["id"], 3, "what was cancelled is not answered");
    for id in 10..60 {
        client.call(id, "echo").await;
    }
    let mut answered = Vec::new();
    for _ in 10..60 {
        answered.push(client.answer().await["id"].as_u64().unwrap());
    }
    answered.sort_unstable();
    assert_eq!(answered, (10..60).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn at_the_end_of_the_input_running_calls_are_answered_first() {
    let mut client = Client::start();
    client.call(1, "echo").await;
    client.call(2, "waits").await;
    client.fake_gateway.waiting.notified().await;
    client.input.take().unwrap().shutdown().await.unwrap();
    assert_eq!(client.answer().await["id"], 1);
    // The other call is aborted after a while.
    client.fake_gateway.dropped.notified().await;
    assert_eq!(client.answers.next_line().await.unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_gateway_never_serves_itself() {
    let machine = FakeMachine::new();
    machine.answers("other", |message| match message["method"].as_str() {
        Some("tools/call") => vec![text("passed on")],
        _ => default_reactions(message, &json!([tool("look")])),
    });
    machine.answers("mirror", |message| match message["method"].as_str() {
        Some("initialize") => vec![crate::fake_machine::Reaction::Reply(json!({
            "protocolVersion": "2025-06-18", "capabilities": { "tools": {} },
            "serverInfo": { "name": "tiller", "version": "1" },
        }))],
        _ => default_reactions(message, &json!([tool("again")])),
    });
    let file =
        json!({ "mcpServers": { "other": { "command": "other" }, "mirror": { "command": "mirror" } } });
    let servers = mcp::parse(&file.to_string(), &Origin::User).unwrap();
    let servers = servers.into_iter().map(|(_, server)| server.unwrap()).collect();
    let upstreams = Upstreams::start(
        servers,
        &options(&machine),
        &agent::ProjectPrograms::unconfined(AbsPath::new("/w").unwrap()),
    );
    let tools = upstreams.tools().await;
    let names: Vec<_> = tools.iter().map(|tool| tool.name()).collect();
    assert_eq!(names, ["other__look"]);
    let result = tools[0].call(Map::new()).await.unwrap();
    assert_eq!(result["content"], json!([{ "type": "text", "text": "passed on" }]));
    upstreams.close().await;
    let gateway = |args: &[&str]| {
        let file = json!({ "servers": { "s": { "command": "/usr/bin/tiller", "args": args } } }).to_string();
        let server = mcp::parse(&file, &Origin::User).unwrap().remove(0).1.unwrap();
        mcp::is_this_gateway(&server, "/opt/tiller")
    };
    assert!(gateway(&["mcp", "serve"]) && gateway(&["mcp:serve"]) && !gateway(&["acp"]));
}
