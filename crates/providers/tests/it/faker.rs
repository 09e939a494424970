//! An HTTP server on a raw socket: the script controls every byte, every cut and every pause.

use crate::refusals::{Rule, refuse};
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    sync::mpsc,
    task::JoinHandle,
};

/// An action on a connection after its request was read.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// Sends these bytes.
    Send(Vec<u8>),
    /// Sends these bytes in pieces of the given size, each flushed separately.
    Trickle(Vec<u8>, usize),
    /// Sends a chunk of a chunked body.
    Chunk(Vec<u8>),
    /// Sends these bytes repeatedly: the count and the interval.
    Ping(Vec<u8>, u32, Duration),
    /// Sends the end of a chunked body.
    EndChunks,
    /// Waits until the peer closes the connection, and signals it.
    Hang,
    /// Ends with a TCP reset instead of a clean close.
    Reset,
}

/// A received request.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The request line and headers, in lower case.
    pub(crate) head: String,
    /// The body.
    pub(crate) body: serde_json::Value,
    /// The body, byte for byte.
    pub(crate) text: String,
}

/// The server. It plays one script per connection and repeats the last one. It does not list
/// models; use [`crate::lister::Lister`] for that.
pub(crate) struct Faker {
    pub(crate) addr: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    gone: mpsc::UnboundedReceiver<()>,
    accepting: JoinHandle<()>,
}

impl Faker {
    pub(crate) async fn start(scripts: Vec<Vec<Step>>) -> Self {
        let mut number = 0;
        Self::serve(move |_| {
            let script = scripts[number.min(scripts.len() - 1)].clone();
            number += 1;
            script
        })
        .await
    }

    /// Starts a server that applies these rules and accepts everything else, answering in the
    /// format of the requested path.
    pub(crate) async fn strict(rules: &[Rule]) -> Self {
        let rules = rules.to_vec();
        Self::serve(move |seen| {
            let path = seen.head.split(' ').nth(1).unwrap_or_default();
            match rules.iter().find_map(|rule| refuse(*rule, path, &seen.body)) {
                Some((status, body)) => {
                    vec![Self::status(
                        &format!("{status} X"),
                        "content-type: application/json\r\n",
                        &body.to_string(),
                    )]
                }
                None => vec![Self::events(hello(path))],
            }
        })
        .await
    }

    /// Starts a server whose answer depends on the request.
    #[expect(clippy::disallowed_methods, reason = "the test's own server")]
    pub(crate) async fn serve(mut choose: impl FnMut(&Seen) -> Vec<Step> + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (tell, gone) = mpsc::unbounded_channel();
        let log = seen.clone();
        let accepting = tokio::spawn(async move {
            loop {
                let (mut socket, _) = listener.accept().await.unwrap();
                socket.set_nodelay(true).unwrap();
                // A connection without a request is a probe and does not consume a script.
                let Some(request) = read_request(&mut socket).await else { continue };
                if request.head.starts_with("get ") {
                    // A request for the list of models, which this server does not have.
                    tokio::spawn(play(socket, vec![Self::status("404 Not Found", "", "")], tell.clone()));
                    continue;
                }
                let script = choose(&request);
                log.lock().unwrap().push(request);
                tokio::spawn(play(socket, script, tell.clone()));
            }
        });
        Self { addr, seen, gone, accepting }
    }

    /// Returns a response that ends with the connection.
    pub(crate) fn events(body: &str) -> Step {
        Step::Send([HEAD.as_bytes(), body.as_bytes()].concat())
    }

    /// Returns a complete response with any status.
    pub(crate) fn status(status: &str, headers: &str, body: &str) -> Step {
        let length = body.len();
        Step::Send(
            format!(
                "HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
            )
            .into_bytes(),
        )
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Resolves when a peer has closed a connection that hangs.
    pub(crate) async fn gone(&mut self) {
        self.gone.recv().await.unwrap();
    }
}

impl Drop for Faker {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// Returns an answer "hello" in the format of a path's wire.
fn hello(path: &str) -> &'static str {
    if path.ends_with("/responses") {
        "data: {\"type\":\"response.output_text.delta\",\"delta\":\"hello\"}\n\ndata: {\"type\":\"response.completed\",\"response\":{\"output\":[]}}\n\n"
    } else if path.ends_with("/messages") {
        "data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"hello\"}}\n\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}}\n\ndata: {\"type\":\"message_stop\"}\n\n"
    } else if path.contains(":streamgeneratecontent") {
        "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"hello\"}]},\"finishReason\":\"STOP\"}]}\n\n"
    } else {
        "data: {\"choices\":[{\"delta\":{\"content\":\"hello\"}}]}\n\ndata: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
    }
}

pub(crate) const HEAD: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
pub(crate) const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

async fn read_request(socket: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let head_end = loop {
        if let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break end;
        }
        if socket.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return None;
        }
    };
    let head = String::from_utf8(bytes[..head_end].to_vec()).unwrap().to_lowercase();
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().unwrap());
    while bytes.len() < head_end + 4 + length {
        socket.read_buf(&mut bytes).await.unwrap();
    }
    let text = String::from_utf8_lossy(&bytes[head_end + 4..]).into_owned();
    let body = serde_json::from_str(&text).unwrap_or_default();
    Some(Seen { head, body, text })
}

async fn play(mut socket: TcpStream, script: Vec<Step>, gone: mpsc::UnboundedSender<()>) {
    for step in script {
        let result = match step {
            Step::Send(bytes) => socket.write_all(&bytes).await,
            Step::Trickle(bytes, size) => trickle(&mut socket, &bytes, size).await,
            Step::Chunk(bytes) => {
                let framed = [format!("{:x}\r\n", bytes.len()).as_bytes(), &bytes, b"\r\n"].concat();
                socket.write_all(&framed).await
            }
            Step::Ping(bytes, times, pace) => ping(&mut socket, &bytes, times, pace).await,
            Step::EndChunks => socket.write_all(b"0\r\n\r\n").await,
            Step::Hang => {
                let mut rest = [0; 1];
                // Zero bytes or an error: either way the peer has closed the connection.
                let _ = socket.read(&mut rest).await;
                let _ = gone.send(());
                return;
            }
            Step::Reset => {
                // The preceding bytes must have arrived, or the reset may overtake them.
                tokio::task::yield_now().await;
                socket.set_zero_linger().unwrap();
                return;
            }
        };
        if result.is_err() {
            return;
        }
    }
    let _ = socket.shutdown().await;
}

async fn ping(socket: &mut TcpStream, bytes: &[u8], times: u32, pace: Duration) -> std::io::Result<()> {
    let mut pace = tokio::time::interval(pace);
    for _ in 0..times {
        pace.tick().await;
        socket.write_all(bytes).await?;
    }
    Ok(())
}

async fn trickle(socket: &mut TcpStream, bytes: &[u8], size: usize) -> std::io::Result<()> {
    for piece in bytes.chunks(size) {
        socket.write_all(piece).await?;
        // Yields to the reader, so that it receives the pieces one by one.
        tokio::task::yield_now().await;
    }
    Ok(())
}
