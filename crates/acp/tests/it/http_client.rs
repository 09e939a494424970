//! A client of the streamable HTTP profile for tests: it carries lines in POST requests and event
//! streams. It shares no code with the server.

use futures::StreamExt as _;
use http_body_util::{BodyExt as _, BodyStream, Full};
use hyper::{
    Request, StatusCode,
    body::{Bytes, Incoming},
    client::conn::http2::SendRequest,
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use serde_json::Value;
use serve::connect::Dial;
use std::sync::Arc;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream},
    sync::mpsc,
};

/// How requests reach the server.
enum Sender {
    /// Over one HTTP/2 connection.
    Two(SendRequest<Full<Bytes>>),
    /// Over an HTTP/1.1 connection for each request.
    One(Arc<dyn Dial>),
}

impl Sender {
    async fn send(&self, request: Request<Full<Bytes>>) -> hyper::Response<Incoming> {
        match self {
            Self::Two(sender) => sender.clone().send_request(request).await.unwrap(),
            Self::One(dial) => {
                let stream = TokioIo::new(dial.dial().await.unwrap());
                let (mut sender, connection) = hyper::client::conn::http1::handshake(stream).await.unwrap();
                tokio::spawn(connection);
                sender.send_request(request).await.unwrap()
            }
        }
    }
}

/// Carries lines between an editor and a server until the editor closes its side.
pub(crate) async fn carry(
    dial: Arc<dyn Dial>,
    two: bool,
    from_editor: DuplexStream,
    to_editor: DuplexStream,
) {
    let sender = Arc::new(match two {
        false => Sender::One(dial),
        true => {
            let stream = TokioIo::new(dial.dial().await.unwrap());
            let handshake = hyper::client::conn::http2::handshake(TokioExecutor::new(), stream);
            let (sender, connection) = handshake.await.unwrap();
            tokio::spawn(connection);
            Sender::Two(sender)
        }
    });
    let (lines, mut received) = mpsc::unbounded_channel::<Vec<u8>>();
    let writing = tokio::spawn(async move {
        let mut to_editor = to_editor;
        while let Some(mut line) = received.recv().await {
            line.push(b'\n');
            if to_editor.write_all(&line).await.is_err() {
                return;
            }
        }
    });
    let mut connection: Option<String> = None;
    // The request that opens the connection is its first message.
    let mut number = 0;
    let mut reader = BufReader::new(from_editor);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).await.is_ok_and(|bytes| bytes > 0) {
        let body = std::mem::take(&mut line);
        if body.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        number += 1;
        let mut request = request("POST", connection.as_deref());
        request.headers_mut().insert("content-type", "application/json".parse().unwrap());
        if connection.is_some() {
            request.headers_mut().insert("acp-message-id", number.into());
        }
        *request.body_mut() = body.clone().into();
        let response = sender.send(request).await;
        match (&connection, response.status()) {
            (_, StatusCode::ACCEPTED) => {}
            (None, StatusCode::OK) => {
                let id =
                    response.headers().get("acp-connection-id").map(|id| id.to_str().unwrap().to_owned());
                let answer = response.into_body().collect().await.unwrap().to_bytes();
                lines.send(answer.to_vec()).unwrap();
                if let Some(id) = &id {
                    tokio::spawn(events(sender.clone(), id.clone(), None, lines.clone()));
                }
                connection = id;
            }
            // A batch is answered in the response.
            (_, StatusCode::BAD_REQUEST) => {
                let answer = response.into_body().collect().await.unwrap().to_bytes();
                lines.send(answer.to_vec()).unwrap();
            }
            (_, status) => panic!("{status} for {}", String::from_utf8_lossy(&body)),
        }
    }
    if let Some(id) = &connection {
        sender.send(request("DELETE", Some(id))).await;
    }
    drop(lines);
    drop(writing.await);
}

fn request(method: &str, connection: Option<&str>) -> Request<Full<Bytes>> {
    let mut request =
        Request::builder().method(method).uri("http://localhost/acp").header("host", "localhost");
    if let Some(id) = connection {
        request = request.header("acp-connection-id", id);
    }
    request.body(Full::default()).unwrap()
}

/// Reads an event stream, and opens the streams of sessions that it announces.
fn events(
    sender: Arc<Sender>,
    connection: String,
    session: Option<String>,
    lines: mpsc::UnboundedSender<Vec<u8>>,
) -> futures::future::BoxFuture<'static, ()> {
    Box::pin(async move {
        let mut request = request("GET", Some(&connection));
        request.headers_mut().insert("accept", "text/event-stream".parse().unwrap());
        if let Some(session) = &session {
            request.headers_mut().insert("acp-session-id", session.parse().unwrap());
        }
        let response = sender.send(request).await;
        assert_eq!(response.status(), StatusCode::OK);
        let mut body = BodyStream::new(response.into_body());
        let mut text = Vec::new();
        while let Some(Ok(frame)) = body.next().await {
            let Ok(data) = frame.into_data() else { continue };
            text.extend_from_slice(&data);
            while let Some(end) = text.windows(2).position(|bytes| bytes == b"\n\n") {
                let event: Vec<u8> = text.drain(..end + 2).collect();
                let data = event.split(|byte| *byte == b'\n').find_map(|line| line.strip_prefix(b"data: "));
                let Some(data) = data else { continue };
                let message: Value = serde_json::from_slice(data).unwrap();
                let announced = message.pointer("/result/sessionId").and_then(Value::as_str);
                if let Some(announced) = announced.filter(|_| session.is_none()) {
                    let (sender, connection) = (sender.clone(), connection.clone());
                    tokio::spawn(events(sender, connection, Some(announced.to_owned()), lines.clone()));
                }
                if lines.send(data.to_vec()).is_err() {
                    return;
                }
            }
        }
    })
}
