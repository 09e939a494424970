//! A connection over successive sockets: what was sent and not acknowledged, and how much was
//! received.

use super::{
    ConnectOptions, Stream,
    recall::{Recall, Restored},
};
use crate::{
    connection::{Message as Line, Outgoing},
    limits::{
        ACK_INTERVAL, ACK_MESSAGES, ANSWER_WAIT, DIAL_WAIT, HELD_MESSAGES, MESSAGE_BYTES, PING_INTERVAL,
        SILENCE,
    },
    message::Head,
};
use bytes::Bytes;
use futures::{SinkExt as _, StreamExt as _, stream::SplitSink};
use serde_json::{Value, json};
use std::{borrow::Cow, io};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::mpsc,
    time::{Instant, interval_at, sleep_until, timeout},
};
use tokio_tungstenite::{
    WebSocketStream, client_async_with_config,
    tungstenite::{
        Error as WsError, Message,
        client::IntoClientRequest as _,
        http::{HeaderValue, Response},
        protocol::{CloseFrame, WebSocketConfig, frame::coding::CloseCode},
    },
};

type Socket = WebSocketStream<Box<dyn Stream>>;

/// How a socket ended.
pub(super) enum SocketEnd {
    /// The input has ended and the server has answered, or the server closed the connection in
    /// order.
    Finished,
    /// The server refuses, and trying again does not help.
    Refused(String),
    /// The server does not have the connection any more.
    Gone(String),
    /// The client's own side failed.
    Io(io::Error),
    /// It broke, after it worked or before.
    Dropped {
        /// Whether messages could be exchanged.
        worked: bool,
        /// What happened.
        why: String,
    },
}

/// When to acknowledge what was received. The server answers with what it has received.
struct Acks {
    /// The number in the last acknowledgement.
    sent: u64,
    at: Instant,
    /// Whether the server has not answered the last one with something new.
    asked: bool,
}

impl Acks {
    /// Returns when the next acknowledgement is due, if there is anything to acknowledge or to ask
    /// for.
    fn due(&self, received: u64, kept: usize) -> Option<Instant> {
        let many = received >= self.sent + ACK_MESSAGES || kept as u64 >= ACK_MESSAGES && !self.asked;
        let any = received > self.sent || kept > 0;
        many.then_some(self.at).or(any.then(|| self.at + ACK_INTERVAL))
    }
}

/// The client's lines, and what is known of the connection.
pub(super) struct Link {
    /// Lines of the client. The channel is closed at the end of its input.
    lines: mpsc::Receiver<io::Result<Vec<u8>>>,
    writer: Box<dyn AsyncWrite + Send + Unpin>,
    /// The connection's id, once a socket worked.
    id: Option<String>,
    /// Messages that the server has not acknowledged.
    outgoing: Outgoing,
    /// The messages that were received and written.
    received: u64,
    /// Whether the input has ended.
    ended: bool,
    /// Whether the server was sent `stream/end`.
    said_end: bool,
    recall: Recall,
    /// Messages that wait until sessions are open again.
    later: Vec<String>,
    /// Until when the end of the input is held back, for the answers of prompts that are sent again
    /// after it.
    answers_until: Option<Instant>,
    /// For a hop between nodes: the user's header, and whether the session may be elsewhere.
    hop: Option<(HeaderValue, Moves)>,
}

/// Whether it is worth looking for a session again.
type Moves = Box<dyn Fn() -> bool + Send + Sync>;

/// The reasons with which a node refuses a session that is elsewhere, or about to be.
const ELSEWHERE: [&str; 3] = ["held", "moved", "draining"];

impl Link {
    /// Starts reading lines.
    pub(super) fn new(
        reader: impl AsyncRead + Send + Unpin + 'static,
        writer: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let (sender, lines) = mpsc::channel(HELD_MESSAGES);
        tokio::spawn(read_lines(reader, sender));
        Self {
            lines,
            writer: Box::new(writer),
            id: None,
            outgoing: Outgoing::keeping_all(),
            received: 0,
            ended: false,
            said_end: false,
            recall: Recall::default(),
            later: Vec::new(),
            answers_until: None,
            hop: None,
        }
    }

    /// Makes it a hop between nodes.
    pub(super) fn of_hop(self, header: HeaderValue, moves: Moves) -> Self {
        Self { hop: Some((header, moves)), ..self }
    }

    /// Opens a socket and exchanges messages until it ends.
    pub(super) async fn socket(&mut self, options: &ConnectOptions) -> SocketEnd {
        let dropped = |why: String| SocketEnd::Dropped { worked: false, why };
        let opened = match timeout(DIAL_WAIT, self.open(options)).await {
            Ok(opened) => opened,
            Err(_elapsed) => return dropped("the server did not answer in time".to_owned()),
        };
        let mut socket = match opened {
            Ok(socket) => socket,
            Err(SocketEnd::Gone(why)) if self.received == 0 && self.outgoing.resume(0).is_ok() => {
                // The server never got the first message, or has answered none: begin again.
                self.id = None;
                return dropped(why);
            }
            Err(end) => return end,
        };
        if self.resumes() {
            match timeout(DIAL_WAIT, resumed(&mut socket)).await {
                Ok(Ok(received)) => {
                    if let Err(error) = self.outgoing.resume(received) {
                        return SocketEnd::Gone(error.to_string());
                    }
                }
                Ok(Err(end)) => return end,
                Err(_elapsed) => return dropped("the server did not resume in time".to_owned()),
            }
        }
        self.exchange(socket).await
    }

    /// Makes the opening handshake, for a new connection or to resume the one that there is.
    async fn open(&mut self, options: &ConnectOptions) -> Result<Socket, SocketEnd> {
        let dropped = |why: String| SocketEnd::Dropped { worked: false, why };
        let stream = options.dial.dial().await.map_err(|error| dropped(error.to_string()))?;
        let request = self.request(options).map_err(SocketEnd::Refused)?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(2 * MESSAGE_BYTES))
            .max_frame_size(Some(2 * MESSAGE_BYTES));
        match client_async_with_config(request, stream, Some(config)).await {
            Ok((socket, response)) => {
                if !self.resumes() {
                    let id = response.headers().get("acp-connection-id").and_then(|id| id.to_str().ok());
                    self.id = id.map(str::to_owned);
                }
                Ok(socket)
            }
            Err(WsError::Http(response)) => Err(refusal(&response)),
            Err(error) => Err(dropped(error.to_string())),
        }
    }

    /// Whether the next socket resumes a connection.
    fn resumes(&self) -> bool {
        self.id.is_some() && (self.received > 0 || self.outgoing.last() > 0)
    }

    fn request(
        &self,
        options: &ConnectOptions,
    ) -> Result<tokio_tungstenite::tungstenite::http::Request<()>, String> {
        let uri = format!("ws://{}{}", options.host, options.path);
        let mut request = uri.into_client_request().map_err(|error| error.to_string())?;
        let headers = request.headers_mut();
        let value = |text: &str| HeaderValue::from_str(text).map_err(|error| error.to_string());
        if let Some(authorization) = (options.authorization)() {
            let mut authorization = value(&authorization)?;
            authorization.set_sensitive(true);
            headers.insert("authorization", authorization);
        }
        if let Some((header, _)) = &self.hop {
            headers.insert("tiller-principal", header.clone());
        }
        if let Some(id) = self.id.as_deref().filter(|_| self.resumes()) {
            headers.insert("acp-connection-id", value(id)?);
            headers.insert("acp-last-frame", HeaderValue::from(self.received));
        }
        Ok(request)
    }

    /// Exchanges messages until the socket ends.
    async fn exchange(&mut self, socket: Socket) -> SocketEnd {
        let (mut sink, mut stream) = socket.split();
        let mut pings = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
        let mut heard = Instant::now();
        let mut acks = Acks { sent: self.received, at: Instant::now(), asked: false };
        let mut said_end = false;
        let dropped = |why: String| SocketEnd::Dropped { worked: true, why };
        loop {
            if !self.recall.is_restoring() {
                for text in std::mem::take(&mut self.later) {
                    self.outgoing.push(Line { text: text.into(), session: None });
                }
            }
            while let Some((_, text)) = self.outgoing.next() {
                let Ok(text) = String::from_utf8(text.into()) else { continue };
                if let Err(error) = sink.send(Message::text(text)).await {
                    return dropped(error.to_string());
                }
            }
            if self.ended && !said_end && !self.awaits_answers() {
                (said_end, self.said_end) = (true, true);
                let end = json!({ "jsonrpc": "2.0", "method": "stream/end" });
                if let Err(error) = sink.send(Message::text(end.to_string())).await {
                    return dropped(error.to_string());
                }
            }
            let due = acks.due(self.received, self.outgoing.kept());
            let (messages, bytes) = (self.outgoing.kept(), self.outgoing.bytes());
            let takes_lines = !self.ended
                && !self.recall.is_restoring()
                && messages < HELD_MESSAGES * 16
                && bytes < 2 * MESSAGE_BYTES;
            tokio::select! {
                frame = stream.next() => {
                    heard = Instant::now();
                    let kept = self.outgoing.kept();
                    if let Err(end) = self.take(frame).await {
                        return end;
                    }
                    acks.asked &= self.outgoing.kept() >= kept;
                }
                line = self.lines.recv(), if takes_lines => match line {
                    Some(Ok(line)) => self.push(line),
                    Some(Err(error)) => return SocketEnd::Io(error),
                    None => self.ended = true,
                },
                _ = pings.tick() => {
                    if let Err(error) = sink.send(Message::Ping(Bytes::new())).await {
                        return dropped(error.to_string());
                    }
                }
                () = sleep_until(heard + SILENCE) => return dropped("the server fell silent".to_owned()),
                () = sleep_until(due.unwrap_or(heard)), if due.is_some() => {}
                () = sleep_until(self.answers_until.unwrap_or(heard)), if self.answers_until.is_some() => {
                    self.answers_until = None;
                }
            }
            if acks.due(self.received, self.outgoing.kept()).is_some_and(|due| due <= Instant::now()) {
                acks = Acks { sent: self.received, at: Instant::now(), asked: true };
                if let Err(error) = send_ack(&mut sink, self.received).await {
                    return dropped(error.to_string());
                }
            }
        }
    }

    fn push(&mut self, line: Vec<u8>) {
        let line = match std::str::from_utf8(&line) {
            Ok(text) => match self.recall.sent(text) {
                Cow::Owned(text) => text.into_bytes(),
                Cow::Borrowed(_) => line,
            },
            Err(_) => line,
        };
        self.outgoing.push(Line { text: line.into(), session: None });
    }

    /// Takes a frame of the server: writes a message to the client, or ends the socket.
    async fn take(&mut self, frame: Option<Result<Message, WsError>>) -> Result<(), SocketEnd> {
        let dropped = |why: String| SocketEnd::Dropped { worked: true, why };
        let text = match frame {
            Some(Ok(Message::Text(text))) => text,
            Some(Ok(Message::Close(frame))) => return Err(closed(frame)),
            Some(Ok(_)) => return Ok(()),
            Some(Err(error)) => return Err(dropped(error.to_string())),
            None => return Err(dropped("the server closed the socket".to_owned())),
        };
        let head = Head::of(&text);
        if head.is_method("stream/ack") {
            if let Some(number) = params(&text)["n"].as_u64() {
                self.outgoing.acknowledge(number);
            }
            return Ok(());
        }
        if head.is_method("stream/resumed") {
            return Ok(());
        }
        if head.is_error && self.is_elsewhere(&text) {
            return Err(SocketEnd::Gone("the session is at another node".to_owned()));
        }
        if let Some(text) = self.recall.received(&text) {
            self.write(&text).await.map_err(SocketEnd::Io)?;
        }
        self.received += 1;
        Ok(())
    }

    /// Whether an error says that the session is at another node.
    fn is_elsewhere(&self, text: &str) -> bool {
        let Some((_, moves)) = &self.hop else { return false };
        let error: Value = serde_json::from_str(text).unwrap_or_default();
        let reason = error["error"]["data"]["reason"].as_str();
        reason.is_some_and(|reason| ELSEWHERE.contains(&reason)) && moves()
    }

    /// Whether a connection that the server no longer has must not be begun again: the server was
    /// sent the end of the input, or every request was answered before it.
    pub(super) fn is_over(&self) -> bool {
        self.said_end || self.ended && !self.recall.waits()
    }

    /// Whether the end of the input is not for the server yet.
    fn awaits_answers(&self) -> bool {
        self.recall.is_restoring() || self.answers_until.is_some() && self.recall.waits()
    }

    /// Answers the requests whose responses are lost after the end of the input. Returns whether
    /// others remain: prompts that can be sent again.
    ///
    /// # Errors
    /// If the editor does not read any more.
    pub(super) async fn abandon(&mut self) -> io::Result<bool> {
        for text in self.recall.abandon() {
            self.write(&text).await?;
        }
        self.answers_until = Some(Instant::now() + ANSWER_WAIT);
        Ok(self.recall.waits())
    }

    /// Begins a new connection in place of one that the server has lost.
    ///
    /// # Errors
    /// If the editor does not read any more.
    pub(super) async fn restore(&mut self) -> io::Result<()> {
        let Restored { to_server, to_server_later, to_editor } = self.recall.restore();
        self.later = to_server_later;
        // What was queued and never sent is among the unanswered requests, but for notifications
        // and responses, which mean nothing on another connection.
        (self.id, self.received, self.outgoing) = (None, 0, Outgoing::keeping_all());
        for text in to_server {
            self.outgoing.push(Line { text: text.into(), session: None });
        }
        for text in to_editor {
            self.write(&text).await?;
        }
        Ok(())
    }

    /// Writes a message to the editor.
    async fn write(&mut self, text: &str) -> io::Result<()> {
        let mut line = text.as_bytes().to_vec();
        line.push(b'\n');
        self.writer.write_all(&line).await?;
        self.writer.flush().await
    }
}

/// Waits for the server's answer to a resumption; returns how many messages it has received.
async fn resumed(socket: &mut Socket) -> Result<u64, SocketEnd> {
    loop {
        match socket.next().await {
            Some(Ok(Message::Text(text))) => {
                let head = Head::of(&text);
                match params(&text)["received"].as_u64().filter(|_| head.is_method("stream/resumed")) {
                    Some(received) => return Ok(received),
                    None => {
                        let why = "the server does not resume connections".to_owned();
                        return Err(SocketEnd::Gone(why));
                    }
                }
            }
            Some(Ok(Message::Close(frame))) => return Err(closed(frame)),
            Some(Ok(_)) => {}
            Some(Err(error)) => return Err(SocketEnd::Dropped { worked: false, why: error.to_string() }),
            None => {
                let why = "the server closed the socket".to_owned();
                return Err(SocketEnd::Dropped { worked: false, why });
            }
        }
    }
}

fn params(text: &str) -> Value {
    let message: Value = serde_json::from_str(text).unwrap_or_default();
    message.get("params").cloned().unwrap_or_default()
}

async fn send_ack(sink: &mut SplitSink<Socket, Message>, received: u64) -> Result<(), WsError> {
    let ack = json!({ "jsonrpc": "2.0", "method": "stream/ack", "params": { "n": received } });
    sink.send(Message::text(ack.to_string())).await
}

/// What the server's close frame means.
fn closed(frame: Option<CloseFrame>) -> SocketEnd {
    let (code, reason) =
        frame.map_or((CloseCode::Abnormal, String::new()), |frame| (frame.code, frame.reason.to_string()));
    let why = format!("{} {reason}", u16::from(code));
    match u16::from(code) {
        1000 => SocketEnd::Finished,
        1002 | 1003 | 1007 | 1009 | 4403 => SocketEnd::Refused(why),
        4401 => SocketEnd::Refused(format!("the credential is no longer valid ({why})")),
        4409 => SocketEnd::Refused("another client resumed this connection".to_owned()),
        4408 | 4410 | 4413 => SocketEnd::Gone(why),
        _ => SocketEnd::Dropped { worked: true, why },
    }
}

/// What the server's refusal of the handshake means.
fn refusal(response: &Response<Option<Vec<u8>>>) -> SocketEnd {
    let body = response.body().as_deref().unwrap_or_default();
    let problem: Value = serde_json::from_slice(body).unwrap_or_default();
    let detail = problem["detail"].as_str().unwrap_or_default();
    let why = format!("{} {detail}", response.status());
    match response.status().as_u16() {
        404 | 409 => SocketEnd::Gone(why),
        408 | 429 | 500..=599 => SocketEnd::Dropped { worked: false, why },
        _ => SocketEnd::Refused(why),
    }
}

/// Sends the lines of the client to `lines` until the input ends.
async fn read_lines(reader: impl AsyncRead + Unpin, lines: mpsc::Sender<io::Result<Vec<u8>>>) {
    let mut reader = BufReader::new(reader);
    loop {
        let mut line = Vec::new();
        let read = match reader.read_until(b'\n', &mut line).await {
            Ok(0) => return,
            Ok(_) => {
                while line.last().is_some_and(|byte| matches!(byte, b'\n' | b'\r')) {
                    line.pop();
                }
                if line.iter().all(u8::is_ascii_whitespace) {
                    continue;
                }
                Ok(String::from_utf8_lossy(&line).into_owned().into_bytes())
            }
            Err(error) => Err(error),
        };
        if lines.send(read).await.is_err() {
            return;
        }
    }
}
