//! Random sequences of what a client may send: no task of the server panics, and other clients are
//! served as before.

use crate::{
    application::Scripted,
    raw::{LOCAL, Socket, read_until, request, write},
    tokens::MemoryTokens,
};
use proptest::{
    collection::vec,
    prelude::*,
    sample::select,
    test_runner::{Config, TestCaseError, TestRunner},
};
use serde_json::json;
use serve::{ServeOptions, Server};
use std::{
    panic,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};
use tokio::{runtime::Runtime, time::timeout};
use tokio_tungstenite::tungstenite::Message;

const CASES: u32 = 150;
/// How long the server may take for its answer to something that is no request.
const ANSWER: Duration = Duration::from_millis(20);

/// Messages of the wire and of the protocol, whole and damaged.
const TEXTS: [&str; 22] = [
    r#"{"jsonrpc":"2.0","id":7,"method":"echo","params":{"a":1}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sessionId":"s"}}"#,
    r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"s"}}"#,
    r#"{"jsonrpc":"2.0","id":8,"method":"ask","params":{"sessionId":"s"}}"#,
    r#"{"jsonrpc":"2.0","id":"ask-8","result":1}"#,
    r#"{"jsonrpc":"2.0","id":9,"method":"stream","params":{"sessionId":"s","count":40,"size":500}}"#,
    r#"{"jsonrpc":"2.0","method":"stream/ack","params":{"n":1}}"#,
    r#"{"jsonrpc":"2.0","method":"stream/ack","params":{"n":18446744073709551615}}"#,
    r#"{"jsonrpc":"2.0","method":"stream/ack","params":{"n":-1}}"#,
    r#"{"jsonrpc":"2.0","method":"stream/ack"}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"stream/resume","params":{"connectionId":"x","after":0}}"#,
    r#"{"jsonrpc":"2.0","id":1,"method":"stream/resume","params":{"after":{}}}"#,
    r#"{"jsonrpc":"2.0","method":"stream/end"}"#,
    r#"[{"jsonrpc":"2.0","id":7,"method":"echo"}]"#,
    r#"{"jsonrpc":"2.0","id":null,"method":"echo","params":[]}"#,
    r#"{"id":1,"id":2,"method":"echo"}"#,
    r#"{"jsonrpc":"2.0","id":{"a":[]},"method":"echo","params":{}}"#,
    "{\"jsonrpc\":\"2.0\",\r\n\"id\":7,\"method\":\"echo\",\"params\":{}}",
    r#"{"jsonrpc""#,
    "",
    "\u{feff}\u{0}",
    "null",
];

fn frame() -> impl Strategy<Value = Message> {
    prop_oneof![
        8 => select(&TEXTS[..]).prop_map(Message::text),
        1 => vec(any::<u8>(), 0..200).prop_map(Message::binary),
        1 => vec(any::<u8>(), 0..125).prop_map(|bytes| Message::Ping(bytes.into())),
        1 => vec(any::<u8>(), 0..125).prop_map(|bytes| Message::Pong(bytes.into())),
        1 => "\\PC{0,300}".prop_map(Message::text),
        1 => Just(Message::Close(None)),
    ]
}

/// Requests of all kinds; some lack what they need.
fn requests() -> impl Strategy<Value = Vec<u8>> {
    let header = select(
        &[
            ("Upgrade", "websocket"),
            ("Connection", "Upgrade"),
            ("Sec-WebSocket-Version", "13"),
            ("Sec-WebSocket-Version", "99"),
            ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("Sec-WebSocket-Protocol", "acp.v1, acp-ticket.x"),
            ("Accept", "text/event-stream"),
            ("Content-Type", "application/json"),
            ("Acp-Connection-Id", "x"),
            ("Acp-Last-Frame", "99999999999999999999"),
            ("Acp-Message-Id", "1"),
            ("Acp-Session-Id", "s"),
            ("Last-Event-ID", "a.b.c"),
            ("Authorization", "Bearer tlr_x"),
            ("Origin", "null"),
            ("traceparent", "00-1-1-01"),
        ][..],
    );
    let method = select(&["GET", "POST", "DELETE", "PUT", "OPTIONS"][..]);
    let edits = vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 0..4);
    (method, vec(header, 0..8), select(&TEXTS[..]), edits).prop_map(|(method, headers, body, edits)| {
        let mut bytes = request(method, &headers, body).into_bytes();
        for (at, byte, kind) in edits {
            let at = at.index(bytes.len());
            match kind {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => bytes.truncate(at.max(1)),
            }
        }
        bytes
    })
}

/// Whether a client that does nothing special is served.
async fn serves(server: &Server) -> bool {
    let mut socket = Socket::initialized(server).await;
    socket.request(2, "echo", json!({ "n": 1 })).await;
    socket.next().await.is_ok_and(|answer| answer["result"]["n"] == 1)
}

/// Runs `each` for many cases against one server, and fails if a task of it panics.
fn check<S: Strategy>(strategy: &S, each: impl AsyncFn(&Server, S::Value)) {
    let panics = Arc::new(AtomicUsize::new(0));
    let counted = panics.clone();
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        counted.fetch_add(1, Ordering::Relaxed);
        before(info);
    }));
    let runtime = Runtime::new().unwrap();
    let _inside = runtime.enter();
    let application = Arc::new(Scripted::default());
    let server = application.server(Arc::new(MemoryTokens::default()), ServeOptions::default());
    let mut runner = TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
    let checked = runner.run(strategy, |case| {
        runtime.block_on(async {
            each(&server, case).await;
            let is_served = serves(&server).await && panics.load(Ordering::Relaxed) == 0;
            is_served.then_some(()).ok_or_else(|| TestCaseError::fail("a task panicked, or no answer came"))
        })
    });
    checked.unwrap();
}

#[test]
fn whatever_frames_a_client_sends_others_are_served() {
    check(&(any::<bool>(), vec(frame(), 0..12)), async |server, (initialized, frames)| {
        let mut socket = match initialized {
            true => Socket::initialized(server).await,
            false => Socket::open(server, LOCAL, &[]).await.unwrap(),
        };
        for frame in frames {
            if !socket.send_frame(frame).await {
                break;
            }
        }
        // What comes back is read, if it comes.
        while let Ok(Ok(_)) = timeout(ANSWER, socket.next()).await {}
    });
}

#[test]
fn whatever_requests_a_client_sends_others_are_served() {
    check(&requests(), async |server, bytes| {
        let mut socket = write(server, LOCAL, &bytes).await;
        let mut text = String::new();
        // A request that is not whole is waited for.
        let _ = timeout(ANSWER, read_until(&mut socket, &mut text, |text| text.len() > 4096)).await;
        assert!(text.is_empty() || text.starts_with("HTTP/1.1 "), "{text}");
    });
}
