//! Who is let in: every listener, request, credential, host and origin; and what is never repeated.

use crate::{application::Scripted, raw::Response, tokens::MemoryTokens};
use agent::Scope;
use jiff::Timestamp;
use serde_json::Value;
use serve::{Listener, Names, Proxies, ServeOptions, Server, auth::Revocation};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpSocket, UnixStream},
    time::timeout,
};

const LISTED: &str = "https://app.example";
const FOREIGN: &str = "https://evil.example";
const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;
const ECHO: &str = r#"{"jsonrpc":"2.0","id":2,"method":"echo","params":{}}"#;

/// Where the server listens.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Unix,
    Tcp,
    BehindProxy,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Call {
    Initialize,
    Post,
    Events,
    Delete,
    Upgrade,
    Ticket,
    Health,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Credential {
    None,
    OtherScheme,
    Malformed,
    Unknown,
    Expired,
    Revoked,
    WithoutConnect,
    Valid,
    Twice,
    Ticket,
    UsedTicket,
    TicketOfAnotherOrigin,
    InQuery,
    InCookie,
}

const KINDS: [Kind; 3] = [Kind::Unix, Kind::Tcp, Kind::BehindProxy];
const CALLS: [Call; 7] =
    [Call::Initialize, Call::Post, Call::Events, Call::Delete, Call::Upgrade, Call::Ticket, Call::Health];
const CREDENTIALS: [Credential; 14] = [
    Credential::None,
    Credential::OtherScheme,
    Credential::Malformed,
    Credential::Unknown,
    Credential::Expired,
    Credential::Revoked,
    Credential::WithoutConnect,
    Credential::Valid,
    Credential::Twice,
    Credential::Ticket,
    Credential::UsedTicket,
    Credential::TicketOfAnotherOrigin,
    Credential::InQuery,
    Credential::InCookie,
];
const ORIGINS: [Option<&str>; 4] = [None, Some(LISTED), Some(FOREIGN), Some("null")];

/// Returns the status that a request must get.
fn expected(kind: Kind, call: Call, credential: Credential, known_host: bool, origin: Option<&str>) -> u16 {
    if credential == Credential::InQuery {
        return 400;
    }
    let is_network = kind != Kind::Unix;
    if is_network && !known_host && call != Call::Health {
        return 403;
    }
    // The Unix socket lists no origin, and no page may probe a server.
    let refused = origin.is_some_and(|origin| !is_network || origin != LISTED || call == Call::Health);
    if refused {
        return 403;
    }
    let success = match call {
        Call::Health => return 200,
        Call::Initialize | Call::Events | Call::Ticket => 200,
        Call::Post | Call::Delete => 202,
        Call::Upgrade => 101,
    };
    match (credential, call) {
        (Credential::Ticket, Call::Upgrade) => success,
        (Credential::UsedTicket | Credential::TicketOfAnotherOrigin, Call::Upgrade) => 401,
        _ if !is_network => success,
        (Credential::Valid, _) => success,
        (Credential::WithoutConnect, _) => 403,
        (Credential::Twice, _) => 400,
        _ => 401,
    }
}

/// A server with one listener of each kind.
struct Fixture {
    _application: Arc<Scripted>,
    tokens: Arc<MemoryTokens>,
    _server: Server,
    unix: PathBuf,
    ports: [u16; 2],
    _directory: system::TemporaryDirectory,
}

impl Fixture {
    async fn new() -> Self {
        let application = Arc::new(Scripted::default());
        let tokens = Arc::new(MemoryTokens::default());
        let server = application.server(tokens.clone(), ServeOptions::default());
        let directory = system::TemporaryDirectory::new().unwrap();
        let unix = directory.path().join("tiller/serve.sock");
        server.listen(Listener::unix(unix.clone()).await.unwrap());
        let mut ports = [0; 2];
        for (port, proxies) in ports.iter_mut().zip([vec![], vec!["127.0.0.1/32".parse().unwrap()]]) {
            let names = Names { hosts: None, origins: vec![LISTED.to_owned()] };
            let address = (Ipv4Addr::LOCALHOST, 0).into();
            let listener = Listener::tcp(address, None, Proxies(proxies), names).await.unwrap();
            *port = listener.place().rsplit(':').next().unwrap().parse().unwrap();
            server.listen(listener);
        }
        Self { _application: application, tokens, _server: server, unix, ports, _directory: directory }
    }

    fn port(&self, kind: Kind) -> u16 {
        self.ports[usize::from(kind == Kind::BehindProxy)]
    }

    /// Sends a request from an address of its own, so that wrong credentials of other cases do not
    /// count.
    async fn send(&self, kind: Kind, case: u16, head: &str, body: &str) -> Response {
        let [high, low] = case.to_be_bytes();
        let mut head = head.to_owned();
        if kind == Kind::BehindProxy {
            head.push_str(&format!("X-Forwarded-For: 203.0.{high}.{low}\r\n"));
        }
        let text = format!("{head}Connection: close\r\nContent-Length: {}\r\n\r\n{body}", body.len());
        // An upgrade needs the connection header that it brings itself.
        let text = match head.contains("Upgrade: websocket") {
            true => format!("{head}\r\n"),
            false => text,
        };
        match kind {
            Kind::Unix => exchange(UnixStream::connect(&self.unix).await.unwrap(), &text).await,
            Kind::Tcp | Kind::BehindProxy => {
                let from = if kind == Kind::Tcp { [127, 1, high, low.max(1)] } else { [127, 0, 0, 1] };
                let socket = TcpSocket::new_v4().unwrap();
                socket.bind((Ipv4Addr::from(from), 0).into()).unwrap();
                let to = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port(kind)));
                exchange(socket.connect(to).await.unwrap(), &text).await
            }
        }
    }
}

/// Whether a response was read as far as it is examined: of an event stream and of an upgrade, only
/// the head.
fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let head = head.to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    match length {
        Some(length) => body.len() >= length.parse().unwrap(),
        None => head.contains(" 101 ") || head.contains("text/event-stream"),
    }
}

async fn exchange(mut socket: impl AsyncRead + AsyncWrite + Unpin, text: &str) -> Response {
    socket.write_all(text.as_bytes()).await.unwrap();
    let mut read = String::new();
    let mut buffer = [0; 4096];
    let reading = async {
        loop {
            if is_whole(&read) {
                return;
            }
            match socket.read(&mut buffer).await {
                Ok(bytes @ 1..) => read.push_str(&String::from_utf8_lossy(&buffer[..bytes])),
                _ => return,
            }
        }
    };
    timeout(Duration::from_secs(20), reading).await.unwrap();
    let status = read.split(' ').nth(1).and_then(|status| status.parse().ok());
    Response { status: status.unwrap_or_else(|| panic!("no response to {text}: {read:?}")), text: read }
}

/// One case of the matrix.
struct Case<'a> {
    fixture: &'a Fixture,
    number: u16,
    kind: Kind,
    host: String,
    /// The `Origin` header line, or nothing.
    origin: String,
    /// The `Authorization` header line of a valid token.
    valid: String,
}

impl Case<'_> {
    /// Sends what the case needs before, as the same user and from a listed page.
    async fn prepare(&self, path: &str, origin: &str, body: &str) -> Response {
        let host = self.known_host();
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: {host}\r\n{origin}{}Content-Type: application/json\r\n",
            self.valid
        );
        self.fixture.send(self.kind, self.number, &head, body).await
    }

    async fn ticket(&self, origin: &str) -> String {
        let response = self.prepare("/acp/ticket", origin, "").await;
        assert_eq!(response.status, 200, "{}", response.text);
        issued(&response)
    }

    /// Uses a ticket up, from a known host and no page.
    async fn redeem(&self, ticket: &str) -> Response {
        let head = format!("GET /acp HTTP/1.1\r\nHost: {}\r\n{UPGRADE}{}", self.known_host(), offer(ticket));
        self.fixture.send(self.kind, self.number, &head, "").await
    }

    fn known_host(&self) -> String {
        format!("localhost:{}", self.fixture.port(self.kind))
    }

    async fn call(&self, call: Call, query: &str, credential: &str) -> Response {
        let connection = match call {
            Call::Post | Call::Events | Call::Delete => {
                let opened = self.prepare("/acp", "", INITIALIZE).await;
                format!("Acp-Connection-Id: {}\r\n", opened.header("acp-connection-id").unwrap())
            }
            _ => String::new(),
        };
        let (method, path, more, body) = match call {
            Call::Initialize => ("POST", "/acp", "Content-Type: application/json\r\n", INITIALIZE),
            Call::Post => ("POST", "/acp", "Content-Type: application/json\r\n", ECHO),
            Call::Events => ("GET", "/acp", "Accept: text/event-stream\r\n", ""),
            Call::Delete => ("DELETE", "/acp", "", ""),
            Call::Upgrade => ("GET", "/acp", UPGRADE, ""),
            Call::Ticket => ("POST", "/acp/ticket", "", ""),
            Call::Health => ("GET", "/health", "", ""),
        };
        let head = format!(
            "{method} {path}{query} HTTP/1.1\r\nHost: {}\r\n{}{connection}{more}{credential}",
            self.host, self.origin
        );
        self.fixture.send(self.kind, self.number, &head, body).await
    }
}

/// Returns the ticket in a response.
fn issued(response: &Response) -> String {
    let body: Value = serde_json::from_str(response.text.split_once("\r\n\r\n").unwrap().1).unwrap();
    body["ticket"].as_str().unwrap().to_owned()
}

fn offer(ticket: &str) -> String {
    format!("Sec-WebSocket-Protocol: acp.v1, acp-ticket.{ticket}\r\n")
}

const UPGRADE: &str = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                       Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

/// What was logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn each_listener_request_credential_host_and_origin_has_its_status_and_no_secret_is_repeated() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let fixture = Fixture::new().await;
    let (mut number, mut secrets) = (0, Vec::new());
    let mut wrong = Vec::new();
    for kind in KINDS {
        for (call, credential) in CALLS.into_iter().flat_map(|call| CREDENTIALS.map(|with| (call, with))) {
            for (known_host, origin) in [true, false].into_iter().flat_map(|host| ORIGINS.map(|o| (host, o)))
            {
                number += 1;
                let user = format!("user-{number}");
                let (token, _) = fixture.tokens.add(&user, &[Scope::Connect]);
                let line = |origin: &str| format!("Origin: {origin}\r\n");
                let case = Case {
                    fixture: &fixture,
                    number,
                    kind,
                    host: match known_host {
                        true => format!("127.0.0.1:{}", fixture.port(kind)),
                        false => "evil.example".to_owned(),
                    },
                    origin: origin.map(line).unwrap_or_default(),
                    valid: format!("Authorization: Bearer {}\r\n", token.expose()),
                };
                secrets.push(token.expose().to_owned());
                let is_listed = origin == Some(LISTED) && kind != Kind::Unix;
                let own_origin = if is_listed { line(LISTED) } else { String::new() };
                let other_origin = if is_listed { String::new() } else { line(LISTED) };
                let bearer = |text: &str| format!("Authorization: Bearer {text}\r\n");
                let (mut query, mut ticket) = (String::new(), None);
                let with = match credential {
                    Credential::None => String::new(),
                    Credential::OtherScheme => format!("Authorization: Basic {}\r\n", token.expose()),
                    Credential::Malformed => bearer(&format!("{}, x", token.expose())),
                    Credential::Unknown => {
                        let unknown = serve::auth::Token::generate().unwrap();
                        secrets.push(unknown.expose().to_owned());
                        bearer(unknown.expose())
                    }
                    Credential::Expired | Credential::Revoked => {
                        let (token, id) = fixture.tokens.add(&user, &[Scope::Connect]);
                        secrets.push(token.expose().to_owned());
                        let at = Timestamp::UNIX_EPOCH;
                        fixture.tokens.change(&id, |row| match credential {
                            Credential::Expired => row.expires = Some(at),
                            _ => row.revoked = Some(Revocation { at, stop_turns: false }),
                        });
                        bearer(token.expose())
                    }
                    Credential::WithoutConnect => {
                        let (token, _) = fixture.tokens.add(&user, &[Scope::SessionRead]);
                        secrets.push(token.expose().to_owned());
                        bearer(token.expose())
                    }
                    Credential::Valid => bearer(token.expose()),
                    Credential::Twice => bearer(token.expose()).repeat(2),
                    Credential::Ticket => {
                        ticket = Some(case.ticket(&own_origin).await);
                        String::new()
                    }
                    Credential::UsedTicket => {
                        let used = case.ticket("").await;
                        let opened = case.redeem(&used).await;
                        assert_eq!(opened.status, 101, "{}", opened.text);
                        assert_eq!(opened.header("sec-websocket-protocol"), Some("acp.v1"));
                        assert!(!opened.text.contains(&used), "{}", opened.text);
                        ticket = Some(used);
                        String::new()
                    }
                    // The Unix socket takes no origin, so none of its tickets has one.
                    Credential::TicketOfAnotherOrigin if kind == Kind::Unix => {
                        ticket = Some("A".repeat(43));
                        String::new()
                    }
                    Credential::TicketOfAnotherOrigin => {
                        ticket = Some(case.ticket(&other_origin).await);
                        String::new()
                    }
                    Credential::InQuery => {
                        query = format!("?access_token={}", token.expose());
                        String::new()
                    }
                    Credential::InCookie => {
                        format!("Cookie: token={0}; __Host-tiller={0}\r\n", token.expose())
                    }
                };
                let offer = ticket.as_deref().map(offer).unwrap_or_default();
                let response = case.call(call, &query, &(with + &offer)).await;
                let sent = secrets.iter().rev().take(4).chain(&ticket);
                for secret in sent {
                    assert!(!response.text.contains(secret), "{call:?} {credential:?}: {}", response.text);
                }
                let new = (call == Call::Ticket && response.status == 200).then(|| issued(&response));
                for ticket in ticket.into_iter().chain(new) {
                    // Few may stay unused.
                    case.redeem(&ticket).await;
                    secrets.push(ticket);
                }
                let expected = expected(kind, call, credential, known_host, origin);
                if response.status != expected {
                    wrong.push(format!(
                        "{kind:?} {call:?} {credential:?} known host {known_host} {origin:?}: {} instead of {expected}",
                        response.status
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {number} cases:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(number, 3 * 7 * 14 * 8);
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "nothing was logged");
    let logged: Vec<_> = secrets.iter().filter(|secret| log.contains(*secret)).collect();
    assert!(logged.is_empty(), "the log repeats {} secrets", logged.len());
}
