//! Clients that write raw requests and frames; they share no code with the server.

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use serve::{Server, auth::Source};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream},
    time::timeout,
};
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Error, Message, client::IntoClientRequest as _, http},
};

/// A user of this machine.
pub(crate) const LOCAL: Source = Source::Unix(0);

/// A response.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// The status line, the headers and the body.
    pub(crate) text: String,
}

impl Response {
    /// Returns the value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let head = self.text.split("\r\n\r\n").next().unwrap();
        let fields = head.lines().filter_map(|line| line.split_once(": "));
        fields.into_iter().find_map(|(key, value)| key.eq_ignore_ascii_case(name).then_some(value))
    }

    /// Returns the `reason` of a problem.
    pub(crate) fn reason(&self) -> String {
        let body = self.text.split_once("\r\n\r\n").unwrap().1;
        let body: Value = serde_json::from_str(body).unwrap_or_default();
        body["reason"].as_str().unwrap_or_default().to_owned()
    }
}

/// Writes a request, and returns the socket.
pub(crate) async fn write(server: &Server, source: Source, request: &[u8]) -> DuplexStream {
    let (mut ours, theirs) = tokio::io::duplex(1024 * 1024);
    server.serve_socket(theirs, source);
    // The server may answer before it has read everything, and close.
    let _ = ours.write_all(request).await;
    ours
}

/// Reads until the text has an end, or the socket is closed.
pub(crate) async fn read_until(socket: &mut DuplexStream, text: &mut String, end: impl Fn(&str) -> bool) {
    let mut buffer = [0; 4096];
    while !end(text) {
        match socket.read(&mut buffer).await {
            Ok(bytes @ 1..) => text.push_str(&String::from_utf8_lossy(&buffer[..bytes])),
            _ => return,
        }
    }
}

/// Sends a request on a socket of its own; returns the response. Of an event stream or an upgrade,
/// only the head is read.
pub(crate) async fn send(server: &Server, source: Source, request: &str) -> Response {
    let mut socket = write(server, source, request.as_bytes()).await;
    let mut text = String::new();
    let is_whole = |text: &str| {
        let head = text.split_once("\r\n\r\n").map(|(head, _)| head.to_ascii_lowercase());
        head.is_some_and(|head| head.starts_with("http/1.1 101") || head.contains("text/event-stream"))
    };
    timeout(std::time::Duration::from_secs(60), read_until(&mut socket, &mut text, is_whole)).await.unwrap();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    Response { status: status.unwrap_or_else(|| panic!("no response: {text:?}")), text }
}

/// Returns a request with headers and a body.
pub(crate) fn request(method: &str, headers: &[(&str, &str)], body: &str) -> String {
    let mut text = format!("{method} /acp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    if method == "POST" {
        text.push_str(&format!("Content-Length: {}\r\n", body.len()));
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
            text.push_str("Content-Type: application/json\r\n");
        }
    }
    format!("{text}\r\n{body}")
}

/// A WebSocket.
pub(crate) struct Socket {
    stream: WebSocketStream<DuplexStream>,
    pub(crate) id: String,
}

impl Socket {
    /// Opens a WebSocket.
    pub(crate) async fn open(
        server: &Server,
        source: Source,
        headers: &[(&str, &str)],
    ) -> Result<Self, http::Response<Option<Vec<u8>>>> {
        let (ours, theirs) = tokio::io::duplex(1024 * 1024);
        server.serve_socket(theirs, source);
        let mut request = "ws://localhost/acp".into_client_request().unwrap();
        for (name, value) in headers {
            let name: http::HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        match client_async(request, ours).await {
            Ok((stream, response)) => {
                let id = response.headers()["acp-connection-id"].to_str().unwrap().to_owned();
                Ok(Self { stream, id })
            }
            Err(Error::Http(response)) => Err(*response),
            Err(error) => panic!("{error}"),
        }
    }

    /// Opens a WebSocket of a user of this machine, and initializes a connection.
    pub(crate) async fn initialized(server: &Server) -> Self {
        let mut socket = Self::open(server, LOCAL, &[]).await.unwrap();
        socket.request(1, "initialize", json!({})).await;
        assert_eq!(socket.next().await.unwrap()["id"], 1);
        socket
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.stream.send(Message::text(message.to_string())).await.unwrap();
    }

    /// Sends a frame; returns false if the socket is closed.
    pub(crate) async fn send_frame(&mut self, frame: Message) -> bool {
        self.stream.send(frame).await.is_ok()
    }

    pub(crate) async fn request(&mut self, id: u64, method: &str, params: Value) {
        self.send(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).await;
    }

    /// Returns the next message, or the code and the reason of the close frame.
    pub(crate) async fn next(&mut self) -> Result<Value, (u16, String)> {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => return Ok(serde_json::from_str(&text).unwrap()),
                Some(Ok(Message::Close(Some(frame)))) => {
                    return Err((frame.code.into(), frame.reason.to_string()));
                }
                Some(Ok(_)) => {}
                other => return Err((0, format!("{other:?}"))),
            }
        }
    }

    /// Returns the code and the reason with which the server closes, after any messages.
    pub(crate) async fn closed(&mut self) -> (u16, String) {
        loop {
            if let Err(closed) = self.next().await {
                return closed;
            }
        }
    }
}
