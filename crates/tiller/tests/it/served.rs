//! `tiller serve` over TCP: who is let in, with tokens and with an identity provider on loopback.

use crate::{
    home::{Home, stderr, stdout},
    web::Web,
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use ring::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use serde_json::{Value, json};
use std::{
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::TcpStream,
    process::{Child, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant, SystemTime},
};

/// A server that ends with the test.
struct Served {
    child: Child,
    address: String,
}

impl Served {
    fn start(home: &Home) -> Self {
        let mut command = home.tiller(&["serve", "--listen", "tcp:127.0.0.1:0"]);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let address = lines.find_map(|line| Some(line.strip_prefix("listening on tcp:")?.to_owned()));
        let address = address.expect("it says where it listens");
        // The rest is read, so that the server can write its log.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    /// Sends a request and returns the socket.
    fn send(&self, request: &str) -> TcpStream {
        let mut socket = TcpStream::connect(&self.address).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        socket.write_all(request.as_bytes()).unwrap();
        socket
    }

    /// Posts `initialize` with this `Authorization` header, and returns the status with the answer.
    fn initialize(&self, authorization: Option<&str>) -> (u16, String) {
        let body = json!({
            "jsonrpc": "2.0", "id": 1, "method": "initialize",
            "params": { "protocolVersion": 1, "clientCapabilities": { "auth": { "terminal": true } } },
        })
        .to_string();
        let header = authorization.map(|value| format!("Authorization: {value}\r\n")).unwrap_or_default();
        let mut socket = self.send(&format!(
            "POST /acp HTTP/1.1\r\nHost: {}\r\n{header}Content-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n{body}",
            self.address,
            body.len()
        ));
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        (answer.split(' ').nth(1).unwrap().parse().unwrap(), answer)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn create(home: &Home, args: &[&str]) -> Value {
    let created = home.run(&[&["token", "create", "laptop", "--user", "ada", "--json"], args].concat());
    serde_json::from_slice(&created.stdout).unwrap_or_else(|_| panic!("{}", stderr(&created)))
}

#[test]
fn a_server_on_tcp_needs_a_credential_and_lets_in_who_has_one() {
    let home = Home::new();
    let refused = home.run(&["serve", "--listen", "tcp:127.0.0.1:0"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("tiller token create"), "{}", stderr(&refused));
    assert_eq!(stdout(&refused), "");

    let created = create(&home, &[]);
    let token = created["token"].as_str().unwrap();
    let server = Served::start(&home);
    let (status, answer) = server.initialize(Some(&format!("Bearer {token}")));
    assert_eq!(status, 200, "{answer}");
    assert!(answer.to_lowercase().contains("acp-connection-id:"), "{answer}");
    // A set-up in the client's terminal would set up the client's machine.
    assert!(answer.contains("tiller-pilot") && !answer.contains("tiller-setup"), "{answer}");
    for wrong in [None, Some("Bearer tlr_x"), Some("Basic eDp5"), Some(token)] {
        let (status, answer) = server.initialize(wrong);
        assert_eq!(status, 401, "{answer}");
        let lower = answer.to_lowercase();
        assert!(lower.contains("www-authenticate: bearer") && lower.contains("problem+json"), "{answer}");
        assert!(!answer.contains(token) && !lower.contains("acp-connection-id:"), "{answer}");
    }
    // A token that is created while the server runs is known at once.
    let later = create(&home, &["--scopes", "connect"]);
    let (status, answer) = server.initialize(Some(&format!("Bearer {}", later["token"].as_str().unwrap())));
    assert_eq!(status, 200, "{answer}");
}

#[test]
fn a_revoked_token_closes_its_live_socket_within_five_seconds_and_opens_no_other() {
    let home = Home::new();
    let created = create(&home, &[]);
    let token = created["token"].as_str().unwrap();
    let server = Served::start(&home);
    let mut socket = server.send(&format!(
        "GET /acp HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        server.address
    ));
    let hello = json!({
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": { "protocolVersion": 1, "clientCapabilities": {} },
    });
    send_text(&mut socket, &hello.to_string());
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        socket.read_exact(&mut byte).unwrap();
        head.push(byte[0]);
    }
    assert!(head.starts_with(b"HTTP/1.1 101"), "{}", String::from_utf8_lossy(&head));

    let (kind, answer) = frame(&mut socket);
    assert_eq!(kind, 0x81, "{answer:?}");
    let answer: Value = serde_json::from_slice(&answer).unwrap();
    assert_eq!(answer["result"]["protocolVersion"], 1);

    let revoked = home.run(&["token", "revoke", created["id"].as_str().unwrap()]);
    assert!(revoked.status.success(), "{}", stderr(&revoked));
    let since = Instant::now();
    let (kind, payload) = frame(&mut socket);
    assert_eq!((kind, u16::from_be_bytes([payload[0], payload[1]])), (0x88, 4401));
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    let (status, answer) = server.initialize(Some(&format!("Bearer {token}")));
    assert_eq!(status, 401, "{answer}");
}

/// Sends a text message of at most 125 bytes, with a mask of zeroes.
fn send_text(socket: &mut TcpStream, text: &str) {
    let length = u8::try_from(text.len()).unwrap();
    assert!(length <= 125);
    let frame = [&[0x81, 0x80 | length, 0, 0, 0, 0], text.as_bytes()].concat();
    socket.write_all(&frame).unwrap();
}

/// Reads a frame, which a server does not mask: its first byte, and its content.
fn frame(socket: &mut TcpStream) -> (u8, Vec<u8>) {
    let mut head = [0; 2];
    socket.read_exact(&mut head).unwrap();
    let length = match head[1] {
        126 => {
            let mut length = [0; 2];
            socket.read_exact(&mut length).unwrap();
            usize::from(u16::from_be_bytes(length))
        }
        length => usize::from(length),
    };
    let mut content = vec![0; length];
    socket.read_exact(&mut content).unwrap();
    (head[0], content)
}

/// The key of an identity provider.
struct Key(Ed25519KeyPair);

impl Key {
    fn new() -> Self {
        let document = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).unwrap();
        Self(Ed25519KeyPair::from_pkcs8(document.as_ref()).unwrap())
    }

    fn published(&self, id: &str) -> Value {
        let x = BASE64_URL_SAFE_NO_PAD.encode(self.0.public_key().as_ref());
        json!({ "kty": "OKP", "crv": "Ed25519", "kid": id, "x": x })
    }

    fn bearer(&self, id: &str, claims: &Value) -> String {
        let header = json!({ "alg": "EdDSA", "kid": id });
        let parts = [&header, claims].map(|part| BASE64_URL_SAFE_NO_PAD.encode(part.to_string()));
        let signed = parts.join(".");
        let signature = BASE64_URL_SAFE_NO_PAD.encode(self.0.sign(signed.as_bytes()));
        format!("Bearer {signed}.{signature}")
    }
}

#[test]
fn tokens_of_an_identity_provider_are_accepted_as_the_settings_say() {
    let (old, new) = (Key::new(), Key::new());
    let keys = Arc::new(Mutex::new(vec![old.published("old")]));
    let published = Arc::clone(&keys);
    let issuer = Web::start(move |request, own| match request.path.as_str() {
        "/.well-known/openid-configuration" => {
            (200, Vec::new(), json!({ "issuer": own, "jwks_uri": format!("{own}/keys") }).to_string())
        }
        "/keys" => (200, Vec::new(), json!({ "keys": *published.lock().unwrap() }).to_string()),
        _ => (404, Vec::new(), String::new()),
    });
    let home = Home::new();
    let settings = |local: bool| {
        format!(
            "agent.default_model = 'offline/pilot'\nproviders.local.discover = false\n[serve.oidc]\nissuer = '{}'\n\
             audience = 'tiller'\nuser_claim = 'name'\ngroups = ['dev=connect,session:read']\nlocal = {local}\n",
            issuer.url("")
        )
    };
    home.settings(&settings(true));
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs();
    let claims = |name: &str, value: Value| {
        let mut claims = json!({
            "iss": issuer.url(""), "aud": "tiller", "name": "ada", "groups": ["dev"], "exp": now + 600,
        });
        claims[name] = value;
        claims
    };
    let good = claims("sub", json!("1"));
    {
        // No static token is needed.
        let server = Served::start(&home);
        let (status, answer) = server.initialize(Some(&old.bearer("old", &good)));
        assert_eq!(status, 200, "{answer}");
        for wrong in [
            old.bearer("old", &claims("aud", json!("other"))),
            old.bearer("old", &claims("exp", json!(now - 120))),
            old.bearer("old", &claims("groups", json!(["cats"]))),
            old.bearer("old", &claims("name", json!("../ada"))),
            new.bearer("old", &good),
        ] {
            let (status, answer) = server.initialize(Some(&wrong));
            assert_eq!(status, 401, "{answer}");
            assert!(!answer.contains("eyJ"), "{answer}");
        }
        assert_eq!(issuer.requests().len(), 2, "one discovery and one set of keys for all of them");
    }
    // After a rotation, the next process knows the new key only.
    *keys.lock().unwrap() = vec![new.published("new")];
    let server = Served::start(&home);
    assert_eq!(server.initialize(Some(&new.bearer("new", &good))).0, 200);
    assert_eq!(server.initialize(Some(&old.bearer("old", &good))).0, 401);
    drop(server);
    // A provider on this machine is reached only if the settings say so.
    home.settings(&settings(false));
    let server = Served::start(&home);
    let before = issuer.requests().len();
    let (status, answer) = server.initialize(Some(&new.bearer("new", &good)));
    assert_eq!(status, 503, "{answer}");
    assert_eq!(issuer.requests().len(), before);
}

#[test]
fn a_user_has_so_many_connections_and_the_audit_says_who_connected_and_who_was_refused() {
    let home = Home::new();
    let created = create(&home, &[]);
    let token = created["token"].as_str().unwrap();
    let server = Served::start(&home);
    let bearer = format!("Bearer {token}");
    for _ in 0..32 {
        assert_eq!(server.initialize(Some(&bearer)).0, 200);
    }
    let (status, answer) = server.initialize(Some(&bearer));
    assert!(status == 429 && answer.contains(r#""reason":"quota""#), "{answer}");
    assert_eq!(server.initialize(Some("Bearer tlr_wrong")).0, 401);
    let directory = home.path().join("home/.local/share/tiller/audit");
    let file = std::fs::read_dir(directory).unwrap().next().unwrap().unwrap().path();
    let records = std::fs::read_to_string(file).unwrap();
    let count = |what: &str| records.lines().filter(|line| line.contains(&format!("\"{what}\""))).count();
    assert_eq!((count("authenticated"), count("quota_refused"), count("refused")), (32, 1, 1), "{records}");
    assert!(!records.contains(token) && records.contains("127.0.0.1"));
}
