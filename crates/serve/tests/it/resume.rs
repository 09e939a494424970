//! Resumption by raw frames.

use crate::{
    application::{READER, Scripted},
    raw::{LOCAL, Socket},
    tokens::MemoryTokens,
};
use serde_json::{Value, json};
use serve::{Presence, ServeOptions, Server, auth::Source};
use std::{sync::Arc, time::Duration};

fn server() -> (Arc<Scripted>, Server) {
    let application = Arc::new(Scripted::default());
    let server = application.server(Arc::new(MemoryTokens::default()), ServeOptions::default());
    (application, server)
}

fn resume(id: &str, after: u64) -> Value {
    let params = json!({ "connectionId": id, "after": after });
    json!({ "jsonrpc": "2.0", "id": "r", "method": "stream/resume", "params": params })
}

/// Sends a resumption as the first message of a new socket; returns the answer or the close frame.
async fn resumed(server: &Server, source: Source, id: &str, after: u64) -> Result<Value, (u16, String)> {
    let mut socket = Socket::open(server, source, &[]).await.unwrap();
    socket.send(resume(id, after)).await;
    socket.next().await
}

#[tokio::test(start_paused = true)]
async fn a_socket_resumes_by_its_first_message_or_by_headers_and_fences_the_older_one() {
    let (_application, server) = server();
    let mut first = Socket::initialized(&server).await;
    first.request(2, "ask", json!({ "sessionId": "s" })).await;
    assert_eq!(first.next().await.unwrap()["id"], "ask-2");

    let mut second = Socket::open(&server, LOCAL, &[]).await.unwrap();
    second.send(resume(&first.id, 1)).await;
    let answer = second.next().await.unwrap();
    assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": "r", "result": { "received": 2, "turns": [] } }));
    assert_eq!(second.next().await.unwrap()["id"], "ask-2", "the open question is sent again");
    assert_eq!(first.closed().await.0, 4409);

    let headers = [("acp-connection-id", &*first.id), ("acp-last-frame", "2")];
    let mut third = Socket::open(&server, LOCAL, &headers).await.unwrap();
    assert_eq!(third.id, first.id);
    let answer = third.next().await.unwrap();
    assert_eq!((&answer["method"], &answer["params"]["received"]), (&json!("stream/resumed"), &json!(2)));
    assert_eq!(second.closed().await.0, 4409);
    third.send(json!({ "jsonrpc": "2.0", "id": "ask-2", "result": 7 })).await;
    assert_eq!(third.next().await.unwrap()["result"]["answered"], 7);
}

#[tokio::test(start_paused = true)]
async fn a_running_prompt_is_named_and_frames_of_the_wire_are_not_counted() {
    let (_application, server) = server();
    let mut socket = Socket::initialized(&server).await;
    socket.request(2, "session/prompt", json!({ "sessionId": "s" })).await;
    socket.send(json!({ "jsonrpc": "2.0", "method": "stream/ack", "params": { "n": 1 } })).await;
    let ack = socket.next().await.unwrap();
    assert_eq!(ack, json!({ "jsonrpc": "2.0", "method": "stream/ack", "params": { "n": 2 } }));
    let answer = resumed(&server, LOCAL, &socket.id, 1).await.unwrap();
    let turns = json!([{ "sessionId": "s", "state": "running" }]);
    assert_eq!(answer["result"], json!({ "received": 2, "turns": turns }));
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_resumed_is_refused_and_never_a_silent_live_stream() {
    let (_application, server) = server();
    let mut socket = Socket::initialized(&server).await;
    socket.request(2, "stream", json!({ "sessionId": "s", "count": 3 })).await;
    for _ in 0..4 {
        socket.next().await.unwrap();
    }
    let gap = Err((4413, "resume_gap".to_owned()));
    assert_eq!(resumed(&server, LOCAL, &socket.id, 6).await, gap, "it was never sent");
    socket.send(json!({ "jsonrpc": "2.0", "method": "stream/ack", "params": { "n": 4 } })).await;
    socket.next().await.unwrap();
    assert_eq!(resumed(&server, LOCAL, &socket.id, 3).await, gap, "it was acknowledged");
    assert!(resumed(&server, LOCAL, &socket.id, 4).await.is_ok());

    // More than is kept, which the client never acknowledges.
    let mut socket = Socket::initialized(&server).await;
    socket.request(2, "stream", json!({ "sessionId": "s", "count": 30, "size": 50_000 })).await;
    for _ in 0..31 {
        socket.next().await.unwrap();
    }
    assert_eq!(resumed(&server, LOCAL, &socket.id, 1).await, gap);
    assert!(resumed(&server, LOCAL, &socket.id, 31).await.is_ok());

    let by_headers = |source, id: &str, after: &str| {
        let headers = [("acp-connection-id", id.to_owned()), ("acp-last-frame", after.to_owned())];
        let server = &server;
        async move {
            let headers = headers.each_ref().map(|(name, value)| (*name, &**value));
            let response = Socket::open(server, source, &headers).await.err().unwrap();
            let body = String::from_utf8(response.body().clone().unwrap()).unwrap();
            (response.status().as_u16(), body)
        }
    };
    let (status, body) = by_headers(LOCAL, &socket.id, "1").await;
    assert!(status == 409 && body.contains("resume_gap"), "{status} {body}");
    let unknown = resumed(&server, LOCAL, "unknown", 0).await;
    assert_eq!(unknown, Err((4410, "resume_unknown".to_owned())));
    let another = Source::Unix(1);
    assert_eq!(resumed(&server, another, &socket.id, 0).await, unknown, "another user learns nothing");
    let reader = Source::Unix(READER);
    let refused = resumed(&server, reader, &socket.id, 0).await;
    assert_eq!(refused, unknown, "a credential that permits less takes no connection over");
    let unknown = by_headers(LOCAL, "unknown", "0").await;
    assert_eq!(unknown.0, 404);
    assert_eq!(by_headers(another, &socket.id, "0").await, unknown, "another user learns nothing");
}

#[tokio::test(start_paused = true)]
async fn a_connection_ends_when_its_client_says_so_and_not_when_a_socket_breaks() {
    let (application, server) = server();
    let socket = Socket::initialized(&server).await;
    let id = socket.id.clone();
    drop(socket);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(application.presence(), [Presence::Detached]);
    let mut socket = Socket::open(&server, LOCAL, &[]).await.unwrap();
    socket.send(resume(&id, 1)).await;
    assert_eq!(socket.next().await.unwrap()["result"]["received"], 1);
    assert_eq!(application.presence(), [Presence::Attached]);
    socket.request(2, "echo", json!({})).await;
    socket.send(json!({ "jsonrpc": "2.0", "method": "stream/end" })).await;
    assert_eq!(socket.next().await.unwrap()["id"], 2, "what was sent before is still answered");
    assert_eq!(socket.closed().await.0, 1000);
    assert_eq!(resumed(&server, LOCAL, &id, 1).await.unwrap_err().0, 4410);

    let mut socket = Socket::initialized(&server).await;
    let id = std::mem::take(&mut socket.id);
    drop(socket);
    tokio::time::sleep(Duration::from_secs(301)).await;
    assert_eq!(resumed(&server, LOCAL, &id, 1).await.unwrap_err().0, 4413, "nobody came back in time");
}

#[tokio::test(start_paused = true)]
async fn a_silent_client_is_left_and_a_new_socket_must_speak_in_time() {
    let (application, server) = server();
    let mut silent = Socket::open(&server, LOCAL, &[]).await.unwrap();
    let begun = tokio::time::Instant::now();
    assert_eq!(silent.closed().await.0, 4408);
    assert_eq!(begun.elapsed().as_secs(), 10);
    // It is kept open, but not even pings are answered.
    let _socket = Socket::initialized(&server).await;
    tokio::time::sleep(Duration::from_secs(49)).await;
    assert_eq!(application.presence(), [Presence::Attached]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(application.presence(), [Presence::Detached]);
}
