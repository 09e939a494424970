//! What a node does when it has too much to do, and what probes and administrators see of it.

use crate::{
    application::Scripted,
    raw::{LOCAL, Response, Socket, request, send, write},
    tokens::MemoryTokens,
};
use agent::{Principal, Scope};
use async_trait::async_trait;
use futures::FutureExt as _;
use serde_json::json;
use serve::{
    Access, Application, Carried, Listener, Load, Metrics, Names, Probes, Proxies, ServeOptions, Server,
    auth::{Credentials, Source, wall_clock},
};
use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};
use system::MemoryUse;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::sleep,
};
use tokio_util::sync::CancellationToken;

const FAR: Source = Source::Address(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST));

/// A running server, whose memory and store the test sets.
struct Node {
    server: Arc<Server>,
    tokens: Arc<MemoryTokens>,
    /// The percentage of memory that is used.
    memory: Arc<AtomicU64>,
    /// Whether the store cannot be used.
    store_fails: Arc<AtomicBool>,
}

impl Node {
    fn start() -> Self {
        let (memory, store_fails) = (Arc::new(AtomicU64::new(50)), Arc::new(AtomicBool::new(false)));
        let (used, fails) = (memory.clone(), store_fails.clone());
        let probes = Probes {
            memory: Arc::new(move || Some(MemoryUse { used: used.load(Ordering::Relaxed), limit: 100 })),
            store: Arc::new(move || {
                let fails = fails.load(Ordering::Relaxed);
                async move { if fails { Err("the heartbeat is late".to_owned()) } else { Ok(()) } }.boxed()
            }),
            ..Probes::default()
        };
        let tokens = Arc::new(MemoryTokens::default());
        let server = Arc::new(Scripted::default()).server(tokens.clone(), ServeOptions::default());
        let server = Arc::new(server.with_load(Load::new(probes)).with_metrics(Metrics::default()));
        let running = server.clone();
        tokio::spawn(async move { running.run(CancellationToken::new()).await });
        Self { server, tokens, memory, store_fails }
    }

    async fn get(&self, source: Source, path: &str, token: Option<&str>) -> Response {
        let mut text = format!("GET {path} HTTP/1.1\r\nHost: elsewhere\r\nConnection: close\r\n");
        if let Some(token) = token {
            text.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        send(&self.server, source, &format!("{text}\r\n")).await
    }

    async fn initialize(&self) -> Response {
        let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
        send(&self.server, LOCAL, &request("POST", &[], body)).await
    }
}

#[tokio::test(start_paused = true)]
async fn an_overloaded_node_refuses_new_connections_and_serves_those_that_it_has() {
    let node = Node::start();
    let mut open = Socket::initialized(&node.server).await;
    node.memory.store(86, Ordering::Relaxed);
    sleep(Duration::from_secs(3)).await;
    let refused = node.initialize().await;
    assert_eq!((refused.status, refused.reason().as_str()), (503, "overloaded"));
    assert_eq!(refused.header("retry-after"), Some("5"));
    let refused = Socket::open(&node.server, LOCAL, &[]).await.err().unwrap();
    assert_eq!(refused.status(), 503);
    open.request(2, "echo", json!({ "n": 1 })).await;
    assert_eq!(open.next().await.unwrap()["result"]["n"], 1);
    let ready = node.get(LOCAL, "/ready", None).await;
    assert!(ready.status == 503 && ready.text.contains("memory is nearly used up"), "{}", ready.text);
    assert_eq!(node.get(FAR, "/health", None).await.status, 200);
    node.memory.store(50, Ordering::Relaxed);
    sleep(Duration::from_secs(8)).await;
    assert_eq!(node.initialize().await.status, 200);
    assert_eq!(node.get(FAR, "/ready", None).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn without_memory_connections_without_a_socket_end_first_and_then_idle_ones_with_1013() {
    let node = Node::start();
    let mut works = Socket::initialized(&node.server).await;
    works.request(2, "ask", json!({ "sessionId": "s" })).await;
    let question = works.next().await.unwrap();
    let mut idle = Socket::initialized(&node.server).await;
    let left = Socket::initialized(&node.server).await;
    let id = left.id.clone();
    drop(left);
    sleep(Duration::from_secs(1)).await;
    node.memory.store(96, Ordering::Relaxed);
    sleep(Duration::from_secs(3)).await;
    let resumed = [("Acp-Connection-Id", id.as_str()), ("Acp-Last-Frame", "1")];
    assert_eq!(Socket::open(&node.server, LOCAL, &resumed).await.err().unwrap().status(), 409);
    let (code, reason) = idle.closed().await;
    assert!(code == 1013 && reason.contains("retry-after: 5"), "{code} {reason}");
    works.send(json!({ "jsonrpc": "2.0", "id": question["id"], "result": "yes" })).await;
    assert_eq!(works.next().await.unwrap()["result"]["answered"], "yes");
}

#[tokio::test(start_paused = true)]
async fn a_node_is_not_ready_while_its_store_fails_and_says_why_to_those_who_may_know() {
    let node = Node::start();
    let (metrics, _) = node.tokens.add("ada", &[Scope::Metrics]);
    let (other, _) = node.tokens.add("bob", &[Scope::Connect, Scope::SessionRead]);
    assert_eq!(node.get(FAR, "/ready", None).await.status, 200);
    node.store_fails.store(true, Ordering::Relaxed);
    sleep(Duration::from_secs(2)).await;
    for (token, says) in
        [(Some(metrics.expose()), true), (Some(other.expose()), false), (Some("x"), false), (None, false)]
    {
        let ready = node.get(FAR, "/ready", token).await;
        assert_eq!(
            (ready.status, ready.text.contains("the heartbeat is late")),
            (503, says),
            "{}",
            ready.text
        );
    }
    node.store_fails.store(false, Ordering::Relaxed);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(node.get(FAR, "/ready", None).await.status, 200);
    let page = request("GET", &[("Origin", "https://app.example")], "").replacen("/acp", "/ready", 1);
    assert_eq!(send(&node.server, LOCAL, &page).await.status, 403);
}

/// Serves until the test lets it end.
struct Stubborn(CancellationToken);

#[async_trait]
impl Application for Stubborn {
    async fn serve(&self, _connection: Carried) {
        self.0.cancelled().await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stops_is_alive_and_not_ready_until_its_turns_have_ended() {
    let (ends, stop) = (CancellationToken::new(), CancellationToken::new());
    let credentials = Credentials::new(Arc::new(MemoryTokens::default()), wall_clock());
    let access = Access::new(Arc::new(credentials), |_| Principal::local("ada"));
    let server = Server::new(Arc::new(Stubborn(ends.clone())), access, ServeOptions::default()).unwrap();
    let server = Arc::new(server);
    let (running, stopped) = (server.clone(), stop.clone());
    let run = tokio::spawn(async move { running.run(stopped).await });
    let mut open = Socket::open(&server, LOCAL, &[]).await.unwrap();
    open.request(1, "initialize", json!({})).await;
    sleep(Duration::from_secs(1)).await;
    stop.cancel();
    sleep(Duration::from_secs(60)).await;
    let get = |path: &str| request("GET", &[], "").replacen("/acp", path, 1);
    let ready = send(&server, LOCAL, &get("/ready")).await;
    assert!(ready.status == 503 && ready.text.contains("the server stops"), "{}", ready.text);
    assert_eq!(send(&server, LOCAL, &get("/health")).await.status, 200);
    assert!(!run.is_finished());
    ends.cancel();
    run.await.unwrap();
}

#[tokio::test]
async fn metrics_are_for_the_unix_socket_and_their_own_listener_and_need_the_scope() {
    let node = Node::start();
    let (metrics, _) = node.tokens.add("ada", &[Scope::Metrics]);
    let (other, _) = node.tokens.add("bob", &[Scope::Connect]);
    let _open = Socket::initialized(&node.server).await;
    let text = node.get(LOCAL, "/metrics", None).await.text;
    assert!(text.contains("\ntiller_connections{transport=\"websocket\"} 1\n"), "{text}");
    assert!(text.contains("\ncontent-type: text/plain; version=0.0.4"), "{text}");
    assert_eq!(node.get(FAR, "/metrics", Some(metrics.expose())).await.status, 404);

    let address = (Ipv4Addr::LOCALHOST, 0).into();
    let listener = Listener::tcp(address, None, Proxies::default(), Names::default()).await.unwrap();
    let place = listener.place().strip_prefix("tcp:").unwrap().to_owned();
    node.server.listen_for_metrics(listener);
    let get = async |path: &str, token: Option<&str>| {
        let mut socket = TcpStream::connect(&place).await.unwrap();
        let credential = token.map_or(String::new(), |token| format!("Authorization: Bearer {token}\r\n"));
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: node-7:9\r\nConnection: close\r\n{credential}\r\n");
        socket.write_all(request.as_bytes()).await.unwrap();
        let mut text = String::new();
        socket.read_to_string(&mut text).await.unwrap();
        text.split(' ').nth(1).unwrap().parse::<u16>().unwrap()
    };
    assert_eq!(get("/metrics", None).await, 401);
    assert_eq!(get("/metrics", Some(other.expose())).await, 403);
    assert_eq!(get("/metrics", Some(metrics.expose())).await, 200);
    assert_eq!(get("/ready", None).await, 200);
    assert_eq!(get("/acp", Some(other.expose())).await, 404);
}

#[tokio::test(start_paused = true)]
async fn what_clients_and_the_load_do_moves_the_metrics() {
    let recorder = Metrics::default();
    let _recorded = metrics::set_default_local_recorder(&recorder);
    let node = Node::start();
    let count = async |name: &str| -> f64 {
        // The server has another recorder, for what it knows as a whole.
        let text = recorder.text();
        let values = text.lines().filter(|line| line.starts_with(name));
        values.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    };
    node.get(FAR, "/metrics", Some("tlr_wrong")).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
    let far = request("POST", &[("Authorization", "Bearer tlr_wrong")], body);
    assert_eq!(send(&node.server, FAR, &far).await.status, 401);
    assert!(count("tiller_auth_failures_total{why=").await >= 1.0);
    sleep(Duration::from_secs(1)).await;
    assert!(count("tiller_loop_lag_seconds_count").await >= 5.0);

    let first = Socket::initialized(&node.server).await;
    for (last, result) in [("1", "resumed"), ("900", "gap")] {
        let headers = [("Acp-Connection-Id", first.id.as_str()), ("Acp-Last-Frame", last)];
        drop(Socket::open(&node.server, LOCAL, &headers).await);
        assert_eq!(count(&format!("tiller_resume_total{{result=\"{result}\"}}")).await, 1.0, "{result}");
    }
    // The events are never read.
    let opened = node.initialize().await;
    let id = opened.header("acp-connection-id").unwrap();
    let events = request("GET", &[("Acp-Connection-Id", id), ("Accept", "text/event-stream")], "");
    let _unread = write(&node.server, LOCAL, events.as_bytes()).await;
    let params = json!({ "sessionId": "s", "count": 9_000, "size": 1_000 });
    let stream = json!({ "jsonrpc": "2.0", "id": 2, "method": "stream", "params": params }).to_string();
    let sent = send(&node.server, LOCAL, &request("POST", &[("Acp-Connection-Id", id)], &stream)).await;
    assert_eq!(sent.status, 202);
    sleep(Duration::from_secs(120)).await;
    assert_eq!(count("tiller_slow_clients_total").await, 1.0);

    let _idle = Socket::initialized(&node.server).await;
    node.memory.store(96, Ordering::Relaxed);
    sleep(Duration::from_secs(3)).await;
    assert_eq!(node.initialize().await.status, 503);
    assert_eq!(count("tiller_overloaded_total{what=\"connection\"}").await, 1.0);
    assert!(count("tiller_overloaded_total{what=\"memory\"}").await >= 1.0);
}
