//! A server with a thousand clients, a hundred of them in a turn: no word is lost, and memory is
//! bounded.
//!
//! `TILLER_LOAD` sets the seconds of the turns. With `TILLER_LOAD_P99` (milliseconds), requests on
//! another socket must be answered that fast. `cargo xtask serve-ci` sets both.

use crate::{
    home::Home,
    team::{Server, token},
};
use futures::{SinkExt as _, StreamExt as _, stream};
use serde_json::{Value, json};
use std::{env, path::Path, sync::Arc, time::Duration};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinSet,
    time::{Instant, interval, timeout},
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Message, client::IntoClientRequest as _},
};

const SOCKETS: usize = 1_000;
const TURNS: usize = 100;
/// Of the sockets, those that read nothing while the turns run.
const SLOW: usize = 100;
const CHUNKS_PER_SECOND: u64 = 40;
const MEMORY_KIB: u64 = 400 * 1024;
const WAIT: Duration = Duration::from_secs(120);

/// Either a plain stream or one with TLS.
trait Stream: AsyncRead + AsyncWrite + Unpin + Send {}
impl<S: AsyncRead + AsyncWrite + Unpin + Send> Stream for S {}

struct Client {
    socket: WebSocketStream<Box<dyn Stream>>,
    next_id: u64,
}

impl Client {
    async fn connect(address: &str, token: &str, tls: Option<&tokio_rustls::TlsConnector>) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        let (scheme, stream): (_, Box<dyn Stream>) = match tls {
            None => ("ws", Box::new(stream)),
            Some(tls) => {
                let name = "localhost".try_into().unwrap();
                ("wss", Box::new(tls.connect(name, stream).await.unwrap()))
            }
        };
        let port = address.rsplit(':').next().unwrap();
        let mut request = format!("{scheme}://localhost:{port}/acp").into_client_request().unwrap();
        request.headers_mut().insert("authorization", format!("Bearer {token}").parse().unwrap());
        let (socket, _) = client_async(request, stream).await.unwrap();
        let mut client = Self { socket, next_id: 0 };
        client.request("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })).await;
        client
    }

    async fn start(&mut self, method: &str, params: Value) -> u64 {
        self.next_id += 1;
        let message = json!({ "jsonrpc": "2.0", "id": self.next_id, "method": method, "params": params });
        self.socket.send(Message::text(message.to_string())).await.unwrap();
        self.next_id
    }

    async fn next(&mut self) -> Value {
        loop {
            match timeout(WAIT, self.socket.next()).await.expect("a message").unwrap().unwrap() {
                Message::Text(text) => return serde_json::from_str(&text).unwrap(),
                Message::Close(close) => panic!("closed: {close:?}"),
                _ => {}
            }
        }
    }

    async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.start(method, params).await;
        loop {
            let message = self.next().await;
            if message["id"] == id && message.get("method").is_none() {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    async fn session(&mut self, project: &Path) -> String {
        let opened = self.request("session/new", json!({ "cwd": project, "mcpServers": [] })).await;
        opened["sessionId"].as_str().unwrap().to_owned()
    }

    /// Sends a prompt and returns the text of the answer.
    async fn turn(&mut self, session: &str) -> String {
        let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "count" }] });
        let id = self.start("session/prompt", prompt).await;
        let mut text = String::new();
        loop {
            let message = self.next().await;
            if message["id"] == id && message.get("method").is_none() {
                assert_eq!(message["result"]["stopReason"], "end_turn", "{message}");
                return text;
            }
            let update = &message["params"]["update"];
            if update["sessionUpdate"] == "agent_message_chunk" {
                text.push_str(update["content"]["text"].as_str().unwrap());
            }
        }
    }
}

/// A model server that counts from 1 in each answer, forty words a second.
async fn model(words: u64) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                // The request is read as far as it came: its content does not matter.
                let mut request = vec![0; 1 << 20];
                let _ = stream.read(&mut request).await;
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                let chunk = |delta: Value, reason: Value| {
                    let choice = json!({ "index": 0, "delta": delta, "finish_reason": reason });
                    format!("data: {}\n\n", json!({ "choices": [choice] }))
                };
                let mut ticks = interval(Duration::from_millis(1000 / CHUNKS_PER_SECOND));
                let mut written = stream.write_all(head.as_bytes()).await;
                for number in 1..=words {
                    ticks.tick().await;
                    let word = chunk(json!({ "content": format!("{number} ") }), Value::Null);
                    written = written.and(stream.write_all(word.as_bytes()).await);
                }
                let end = chunk(json!({}), json!("stop"));
                let _ = written.and(stream.write_all(end.as_bytes()).await);
                let _ = stream.shutdown().await;
            });
        }
    });
    url
}

/// The resident memory of a process, in KiB.
fn memory(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

fn number(name: &str) -> Option<u64> {
    env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// A certificate for `localhost`, and a client that trusts it alone.
fn certificate(home: &Home) -> ([String; 2], tokio_rustls::TlsConnector) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let files = ["cert.pem", "key.pem"].map(|name| home.file(name));
    std::fs::write(&files[0], made.cert.pem()).unwrap();
    std::fs::write(&files[1], made.signing_key.serialize_pem()).unwrap();
    let mut roots = tokio_rustls::rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
    let config = tokio_rustls::rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions();
    let config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
    (files, Arc::new(config).into())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_sockets_and_a_hundred_turns() {
    println!("{}", loaded(false).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_sockets_with_tls_a_hundred_of_which_read_nothing() {
    println!("{}", loaded(true).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn abandoned_connections_leave_nothing_behind() {
    let many = usize::try_from(number("TILLER_ABANDONED").unwrap_or(1_000)).unwrap();
    let home = Home::new();
    home.settings(
        "agent.default_model = 'offline/pilot'\nproviders.local.discover = false\nserve.resume_grace = 2\n\
         serve.quota.user.connections = 100000\n",
    );
    let token = token(&home, "ada", &[]);
    let server = Server::start(&home, &["--listen", "tcp:127.0.0.1:0"]);
    let address = server.place().trim_start_matches("tcp:").to_owned();
    let connections = || {
        let status = home.run(&["serve", "status", "--json"]);
        let status: Value = serde_json::from_slice(&status.stdout).unwrap();
        status["connections"].as_array().unwrap().len()
    };
    let abandon = async |count: usize| {
        let connect = |_| async { drop(Client::connect(&address, &token, None).await) };
        stream::iter(0..count).for_each_concurrent(32, connect).await;
        let begun = Instant::now();
        while connections() > 0 {
            assert!(begun.elapsed() < WAIT, "{} connections are left", connections());
        }
        memory(server.pid())
    };
    // What a few connections leave is what many leave.
    let few = abandon(many / 10).await;
    let most = abandon(many).await;
    println!("{few} KiB after {} abandoned connections, {most} KiB after {many} more", many / 10);
    // Freed memory is given back a moment later.
    let begun = Instant::now();
    while memory(server.pid()) > few + few / 10 {
        assert!(begun.elapsed() < WAIT, "{few} KiB, then {} KiB", memory(server.pid()));
        connections();
    }
    println!("within a tenth of that after {:?}", begun.elapsed());
}

/// Loads a server and returns what was measured, in words.
async fn loaded(hard: bool) -> String {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    setrlimit(Resource::Nofile, files).unwrap();
    let words = number("TILLER_LOAD").unwrap_or(5) * CHUNKS_PER_SECOND;
    let url = model(words).await;
    let home = Home::new();
    let quota: String = ["connections", "open_sessions", "running_turns", "prompts_per_minute"]
        .map(|name| format!("serve.quota.user.{name} = 5000\n"))
        .concat();
    home.settings(&format!(
        "agent.default_model = 'openai/gpt-4o'\nproviders.openai.wire = 'chat'\nproviders.local.discover = false\n{quota}"
    ));
    let token = token(&home, "ada", &[]);
    let (certificate, tls) = certificate(&home);
    let mut args = vec!["--listen", "tcp:127.0.0.1:0"];
    if hard {
        args.extend(["--tls-cert", &certificate[0], "--tls-key", &certificate[1]]);
    }
    let server =
        Server::start_with(&home, &args, &[("OPENAI_API_KEY", "key"), ("OPENAI_BASE_URL", url.as_str())]);
    let address = server.place().trim_start_matches("tcp:").to_owned();
    let tls = hard.then_some(&tls);
    let connect = || Client::connect(&address, &token, tls);
    let used = if hard { TURNS + SLOW + 1 } else { TURNS + 1 };
    let mut idle_clients = JoinSet::new();
    let mut connecting = stream::iter(used..SOCKETS).map(|_| connect()).buffer_unordered(32);
    while let Some(mut client) = connecting.next().await {
        // It answers pings.
        idle_clients.spawn(async move { while let Some(Ok(_)) = client.socket.next().await {} });
    }
    drop(connecting);
    let mut clients: Vec<_> = stream::iter(0..used).map(|_| connect()).buffer_unordered(32).collect().await;
    let idle = memory(server.pid());
    let mut asking = clients.pop().unwrap();
    let asked = asking.session(&home.project()).await;
    let mut turns = JoinSet::new();
    // The clients that read nothing stay connected until the end.
    let (ready, mut silent) = mpsc::channel(SLOW);
    for (number, mut client) in clients.into_iter().enumerate() {
        let (project, ready) = (home.project(), ready.clone());
        turns.spawn(async move {
            let session = client.session(&project).await;
            if number < TURNS {
                return Some(client.turn(&session).await);
            }
            // Nothing of this turn is read; it must wait for this client as little as the others.
            let prompt = json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "count" }] });
            client.start("session/prompt", prompt).await;
            ready.send(client).await.unwrap();
            None
        });
    }
    let (mut took, mut most) = (Vec::new(), idle);
    let expected: String = (1..=words).map(|number| format!("{number} ")).collect();
    while !turns.is_empty() {
        let begun = Instant::now();
        asking.request("session/status", json!({ "sessionId": asked })).await;
        took.push(begun.elapsed());
        most = most.max(memory(server.pid()));
        if let Ok(turn) = timeout(Duration::from_millis(20), turns.join_next()).await {
            let _ = turn.unwrap().unwrap().inspect(|text| assert_eq!(*text, expected));
        }
    }
    drop(ready);
    while let Ok(client) = silent.try_recv() {
        drop(client);
    }
    assert!(idle_clients.try_join_next().is_none(), "a client was closed");
    took.sort_unstable();
    let p99 = took[took.len() * 99 / 100];
    assert!(most < MEMORY_KIB, "{most} KiB");
    if let Some(limit) = number("TILLER_LOAD_P99") {
        assert!(p99 < Duration::from_millis(limit), "{p99:?}");
    }
    let asked = took.len();
    format!(
        "{SOCKETS} sockets: {idle} KiB idle, {most} KiB in {TURNS} turns; p99 of {asked} requests {p99:?}"
    )
}
