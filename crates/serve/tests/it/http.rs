//! Streamable HTTP, by raw requests.

use crate::{
    application::Scripted,
    raw::{LOCAL, Response, read_until, request, send, write},
    tokens::MemoryTokens,
};
use serde_json::{Value, json};
use serve::{ServeOptions, Server, auth::Source};
use std::{sync::Arc, time::Duration};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;

/// A server, and a connection of a user of this machine.
struct Fixture {
    application: Arc<Scripted>,
    server: Server,
    id: String,
}

impl Fixture {
    async fn new() -> Self {
        let application = Arc::new(Scripted::default());
        let server = application.server(Arc::new(MemoryTokens::default()), ServeOptions::default());
        let opened = send(&server, LOCAL, &request("POST", &[], INITIALIZE)).await;
        assert_eq!(opened.status, 200, "{}", opened.text);
        let id = opened.header("acp-connection-id").unwrap().to_owned();
        Self { application, server, id }
    }

    /// Sends a request of a user of this machine on the connection.
    async fn send(&self, method: &str, headers: &[(&str, &str)], body: &str) -> Response {
        self.send_from(LOCAL, method, headers, body).await
    }

    async fn send_from(
        &self,
        source: Source,
        method: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Response {
        let headers: Vec<_> =
            [("Acp-Connection-Id", &*self.id)].into_iter().chain(headers.iter().copied()).collect();
        send(&self.server, source, &request(method, &headers, body)).await
    }

    /// Opens an event stream.
    async fn events(&self, headers: &[(&str, &str)]) -> Events {
        let fixed = [("Acp-Connection-Id", &*self.id), ("Accept", "text/event-stream")];
        let headers: Vec<_> = fixed.into_iter().chain(headers.iter().copied()).collect();
        let socket = write(&self.server, LOCAL, request("GET", &headers, "").as_bytes()).await;
        let mut events = Events { socket, text: String::new() };
        events.until(|text| text.contains("\r\n\r\n")).await;
        assert!(events.text.starts_with("HTTP/1.1 200"), "{}", events.text);
        events
    }
}

/// An event stream.
struct Events {
    socket: DuplexStream,
    text: String,
}

impl Events {
    async fn until(&mut self, end: impl Fn(&str) -> bool) {
        read_until(&mut self.socket, &mut self.text, end).await;
    }

    /// Returns the ids and the messages of the first `count` events.
    async fn take(&mut self, count: usize) -> Vec<(String, Value)> {
        self.until(|text| text.matches("\ndata: ").count() >= count && text.ends_with("\n\r\n")).await;
        self.all()
    }

    fn all(&self) -> Vec<(String, Value)> {
        let lines: Vec<_> = self.text.lines().collect();
        let events = lines.windows(2).filter_map(|pair| {
            let id = pair[0].strip_prefix("id: ")?;
            Some((id.to_owned(), serde_json::from_str(pair[1].strip_prefix("data: ")?).unwrap()))
        });
        events.collect()
    }
}

fn call(id: u64, method: &str, params: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

fn numbers(events: &[(String, Value)]) -> Vec<u64> {
    events.iter().filter_map(|(_, message)| message["params"]["n"].as_u64()).collect()
}

#[tokio::test(start_paused = true)]
async fn an_event_stream_continues_after_any_event_with_exactly_the_rest() {
    let fixture = Fixture::new().await;
    let mut events = fixture.events(&[]).await;
    let body = call(2, "stream", json!({ "sessionId": "s", "count": 6 }));
    assert_eq!(fixture.send("POST", &[], &body).await.status, 202);
    let all = events.take(7).await;
    assert_eq!(numbers(&all), [1, 2, 3, 4, 5, 6]);
    assert_eq!(all[6].1["result"]["sent"], 6);
    for (after, (id, _)) in all.iter().enumerate() {
        // What was acknowledged by a resumption is not kept, so each one goes further.
        let mut resumed = fixture.events(&[("Last-Event-ID", id)]).await;
        events.until(|text| text.contains("superseded")).await;
        assert!(events.text.contains("event: superseded\n"), "{}", events.text);
        let rest = if after < 6 { resumed.take(6 - after).await } else { Vec::new() };
        assert_eq!(rest, all[after + 1..], "after {id}");
        events = resumed;
    }
    let echo = call(3, "echo", json!({ "sessionId": "s" }));
    assert_eq!(fixture.send("POST", &[], &echo).await.status, 202);
    assert_eq!(events.take(1).await[0].1["id"], 3, "the last stream is live");
    let gap = [("Accept", "text/event-stream"), ("Last-Event-ID", &*all[0].0)];
    let refused = fixture.send("GET", &gap, "").await;
    assert_eq!((refused.status, &*refused.reason()), (409, "resume_gap"));
    let unknown = [("Accept", "text/event-stream"), ("Last-Event-ID", "another..1")];
    let refused = fixture.send("GET", &unknown, "").await;
    assert_eq!((refused.status, &*refused.reason()), (409, "resume_unknown"));
}

#[tokio::test(start_paused = true)]
async fn a_session_has_a_stream_of_its_own_with_cursors_of_its_own() {
    let fixture = Fixture::new().await;
    let mut connection = fixture.events(&[]).await;
    let mut session = fixture.events(&[("Acp-Session-Id", "a")]).await;
    for (id, name) in [(2, "a"), (3, "b")] {
        let body = call(id, "stream", json!({ "sessionId": name, "count": 2 }));
        assert_eq!(fixture.send("POST", &[("Acp-Session-Id", name)], &body).await.status, 202);
    }
    let (of_session, others) = (session.take(3).await, connection.take(3).await);
    assert_eq!((numbers(&of_session), &of_session[2].1["id"]), (vec![1, 2], &json!(2)));
    assert_eq!((numbers(&others), &others[2].1["id"]), (vec![1, 2], &json!(3)));
    let headers = [("Acp-Session-Id", "a"), ("Last-Event-ID", &*of_session[0].0)];
    assert_eq!(fixture.events(&headers).await.take(2).await, of_session[1..]);
    let wrong = [("Accept", "text/event-stream"), ("Last-Event-ID", &*of_session[0].0)];
    assert_eq!(fixture.send("GET", &wrong, "").await.status, 409, "it is a cursor of another stream");
}

#[tokio::test(start_paused = true)]
async fn a_repeated_post_has_no_effect() {
    let fixture = Fixture::new().await;
    let body = |id| call(id, "echo", json!({}));
    for (number, id) in [("2", 2), ("2", 2), ("4", 4), ("3", 3), ("4", 4), ("2", 2), ("1", 1)] {
        assert_eq!(fixture.send("POST", &[("Acp-Message-Id", number)], &body(id)).await.status, 202);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let received = fixture.application.received();
    let ids: Vec<_> = received.iter().map(|message| message["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, [1, 2, 4, 3]);
}

#[tokio::test(start_paused = true)]
async fn each_wrong_request_has_its_status_and_nothing_of_it_happens() {
    let fixture = Fixture::new().await;
    let echo = call(2, "echo", json!({ "sessionId": "s" }));
    let event_stream = ("Accept", "text/event-stream");
    let long = "x".repeat(129);
    type Headers<'a> = &'a [(&'a str, &'a str)];
    let cases: &[(&str, Headers<'_>, &str, u16)] = &[
        ("POST", &[("Content-Type", "text/plain")], &echo, 415),
        ("POST", &[("Acp-Session-Id", "other")], &echo, 400),
        ("POST", &[("Acp-Session-Id", &long)], &echo, 400),
        ("POST", &[("Acp-Protocol-Version", "2")], &echo, 400),
        ("POST", &[("Acp-Protocol-Version", "x")], &echo, 400),
        ("POST", &[("Acp-Message-Id", "-1")], &echo, 400),
        ("POST", &[("Acp-Connection-Id", "second")], &echo, 400),
        ("POST", &[], "[]", 400),
        ("POST", &[], r#" [{"jsonrpc":"2.0","id":2,"method":"echo"}]"#, 400),
        ("GET", &[], "", 406),
        ("GET", &[("Accept", "application/json")], "", 406),
        ("GET", &[event_stream, ("Acp-Protocol-Version", "2")], "", 400),
        ("PUT", &[], "", 405),
    ];
    for (method, headers, body, expected) in cases {
        let response = fixture.send(method, headers, body).await;
        assert_eq!(response.status, *expected, "{method} {headers:?}: {}", response.text);
    }
    let batch = fixture.send("POST", &[], "[]").await;
    assert!(batch.text.contains("-32600") && batch.text.contains(r#""id":null"#), "{}", batch.text);
    let large = format!(
        "POST /acp HTTP/1.1\r\nHost: localhost\r\nAcp-Connection-Id: {}\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n\r\n",
        fixture.id,
        32 * 1024 * 1024 + 1
    );
    assert_eq!(send(&fixture.server, LOCAL, &large).await.status, 413);
    let without = request("POST", &[], &echo);
    assert_eq!(send(&fixture.server, LOCAL, &without).await.status, 400, "only initialize opens one");
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(fixture.application.received().len(), 1, "only initialize arrived");
    assert_eq!(fixture.send("POST", &[("Acp-Protocol-Version", "1")], &echo).await.status, 202);
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_deleted_and_does_not_exist_for_others() {
    let fixture = Fixture::new().await;
    let echo = call(2, "echo", json!({}));
    let other = Source::Unix(1);
    let accept = [("Accept", "text/event-stream")];
    let body_of = |response: Response| response.text.split_once("\r\n\r\n").unwrap().1.to_owned();
    let unknown = Fixture { id: "unknown".to_owned(), ..Fixture::new().await };
    for (method, headers, body) in [("POST", &[][..], &*echo), ("GET", &accept, ""), ("DELETE", &[], "")] {
        let of_another = fixture.send_from(other, method, headers, body).await;
        let of_none = unknown.send(method, headers, body).await;
        assert_eq!((of_another.status, of_none.status), (404, 404), "{method}");
        assert_eq!(body_of(of_another), body_of(of_none), "{method}: another user learns nothing");
    }
    let mut events = fixture.events(&[]).await;
    assert_eq!(fixture.send("DELETE", &[], "").await.status, 202);
    events.until(|_| false).await;
    for (method, headers, body) in [("POST", &[][..], &*echo), ("GET", &accept, ""), ("DELETE", &[], "")] {
        let ended = fixture.send(method, headers, body).await;
        assert_eq!((ended.status, &*ended.reason()), (409, "ended"), "{method}");
        let of_another = fixture.send_from(other, method, headers, body).await;
        assert_eq!(of_another.status, 404, "{method}: another user learns nothing of its end");
    }
    assert_eq!(fixture.application.received().len(), 1);
}

/// Returns the ids and the messages of the events that are complete in a text that was cut.
fn complete(text: &str) -> Vec<(String, Value)> {
    let end = text.rfind("\n\n").map_or(0, |at| at + 2);
    let lines: Vec<_> = text[..end].lines().collect();
    let events = lines.windows(2).filter_map(|pair| {
        let id = pair[0].strip_prefix("id: ")?;
        Some((id.to_owned(), serde_json::from_str(pair[1].strip_prefix("data: ")?).unwrap()))
    });
    events.collect()
}

#[tokio::test(start_paused = true)]
async fn an_event_stream_that_is_cut_after_any_byte_loses_and_repeats_nothing() {
    let body = call(2, "stream", json!({ "sessionId": "s", "count": 4 }));
    let accept = ("Accept", "text/event-stream");
    let fixture = Fixture::new().await;
    assert_eq!(fixture.send("POST", &[], &body).await.status, 202);
    let mut events = fixture.events(&[]).await;
    let expected: Vec<_> = events.take(5).await.into_iter().map(|(_, message)| message).collect();
    let total = events.text.len();
    assert!(total > 500, "{}", events.text);
    for bytes in 0..=total {
        let fixture = Fixture::new().await;
        assert_eq!(fixture.send("POST", &[], &body).await.status, 202);
        let headers = [("Acp-Connection-Id", &*fixture.id), accept];
        let mut socket = write(&fixture.server, LOCAL, request("GET", &headers, "").as_bytes()).await;
        let mut text = vec![0; bytes];
        socket.read_exact(&mut text).await.unwrap();
        drop(socket);
        let mut all = complete(std::str::from_utf8(&text).unwrap());
        let last = all.last().map(|(id, _)| id.clone());
        let mut resumed = fixture.events(&[("Last-Event-ID", last.as_deref().unwrap_or("0"))]).await;
        let rest = 5 - all.len();
        all.extend(if rest > 0 { resumed.take(rest).await } else { Vec::new() });
        let messages: Vec<_> = all.into_iter().map(|(_, message)| message).collect();
        assert_eq!(messages, expected, "a cut after {bytes} bytes");
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_in_pieces_beyond_the_limit_is_refused_without_reading_all_of_it() {
    let fixture = Fixture::new().await;
    let head = format!(
        "POST /acp HTTP/1.1\r\nHost: localhost\r\nAcp-Connection-Id: {}\r\nContent-Type: application/json\r\n\
         Transfer-Encoding: chunked\r\n\r\n",
        fixture.id
    );
    let socket = write(&fixture.server, LOCAL, head.as_bytes()).await;
    let (mut answers, mut body) = tokio::io::split(socket);
    const PIECE: usize = 64 * 1024;
    let piece = format!("{PIECE:x}\r\n{}\r\n", "x".repeat(PIECE));
    let mut written = 0;
    let mut status = [0; 12];
    // A body without an end.
    let endless = async {
        while body.write_all(piece.as_bytes()).await.is_ok() {
            written += PIECE;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        read = answers.read_exact(&mut status) => drop(read.unwrap()),
        () = endless => {}
    }
    assert_eq!(std::str::from_utf8(&status), Ok("HTTP/1.1 413"));
    assert!(written < serve::limits::MESSAGE_BYTES + 4 * 1024 * 1024, "{written}");
    assert_eq!(fixture.send("POST", &[], &call(7, "echo", json!({ "sessionId": "s" }))).await.status, 202);
    let received = fixture.application.received();
    assert_eq!(received.last().unwrap()["id"], 7, "nothing of it reached the application");
    assert_eq!(received.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_content_is_read_by_its_user_and_does_not_exist_for_others() {
    let fixture = Fixture::new().await;
    let get = async |source: Source, path: &str| {
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        send(&fixture.server, source, &request).await
    };
    let found = get(LOCAL, "/acp/content/s/h").await;
    assert_eq!(found.status, 200, "{}", found.text);
    assert!(found.text.ends_with("<b>\u{fffd}"), "{}", found.text);
    for (name, value) in [
        ("content-type", "application/octet-stream"),
        ("x-content-type-options", "nosniff"),
        ("content-disposition", "attachment"),
        ("cache-control", "no-store"),
    ] {
        assert_eq!(found.header(name), Some(value));
    }
    let unknown = get(LOCAL, "/acp/content/s/other").await;
    assert_eq!((unknown.status, &*unknown.reason()), (404, "not_found"));
    let body = |response: &Response| response.text.split_once("\r\n\r\n").unwrap().1.to_owned();
    for (source, path) in [(Source::Unix(1), "/acp/content/s/h"), (LOCAL, "/acp/content/t/h")] {
        let refused = get(source, path).await;
        assert_eq!((refused.status, body(&refused)), (404, body(&unknown)), "{path}");
    }
    let anonymous = Source::Address(std::net::Ipv4Addr::LOCALHOST.into());
    assert_eq!(get(anonymous, "/acp/content/s/h").await.status, 401);
    assert_eq!(get(LOCAL, "/acp/content/s/broken").await.status, 503);
    assert_eq!(get(LOCAL, "/acp/content/s").await.status, 404);
}
