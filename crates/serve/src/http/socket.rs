//! A WebSocket: all messages of a connection in both directions.

use super::{
    HeldSocket, Site, checks, events,
    headers::{self, CONNECTION_ID, LAST_FRAME},
    permit,
    problem::Problem,
    source,
    trace::Trace,
};
use crate::{
    application::EndReason,
    auth::{Permit, Source, Ticket},
    connection::{
        AttachError, Connection, Next, Reader, ResumeError, StreamKey,
        registry::{Found, Opened},
    },
    limits::{FIRST_MESSAGE_WAIT, MESSAGE_BYTES, PING_INTERVAL, QUEUED_BYTES, SILENCE},
    message::{Head, one_line},
};
use agent::{Principal, Scope};
use axum::{
    extract::{
        FromRequestParts as _,
        ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade},
    },
    http::{HeaderValue, header, request::Parts},
    response::{IntoResponse as _, Response},
};
use futures::{
    SinkExt as _, StreamExt as _,
    stream::{SplitSink, SplitStream},
};
use serde::Deserialize;
use serde_json::{Value, json};
use std::{sync::Arc, time::Duration};
use tokio::{
    sync::watch,
    time::{Instant, MissedTickBehavior, interval_at, timeout},
};

/// The subprotocols that the server selects, the newest first.
const SUBPROTOCOLS: [&str; 2] = ["acp.v2", "acp.v1"];

/// Accepts a WebSocket. It opens a connection with its first message, or resumes the one that the
/// headers name.
pub(super) async fn upgrade(site: &Site, mut parts: Parts) -> Result<Response, Problem> {
    let offered = offered(&parts);
    let principal = match Ticket::offered(&offered.join(","))? {
        Some(ticket) if !parts.headers.contains_key(header::AUTHORIZATION) => {
            let origin = checks::origin(&parts.headers).ok().flatten();
            let principal = site.access.redeem(&ticket, origin)?;
            super::authenticated(&parts);
            permit(principal, Scope::Connect)?
        }
        _ => site.principal(&parts).await?,
    };
    let resumed = resumption(site, &parts, &principal)?;
    let from = source(&parts);
    let permit = match resumed {
        Some(_) => None,
        None => site.admit(&principal, &parts).await?,
    };
    let upgrade = match WebSocketUpgrade::from_request_parts(&mut parts, &()).await {
        Ok(upgrade) => upgrade,
        Err(rejection) => return Ok(rejection.into_response()),
    };
    let id = match &resumed {
        Some((reader, _)) => reader.connection().id.clone(),
        None => site
            .registry
            .new_id()
            .map_err(|_no_random| Problem::overloaded("the system has no random bytes"))?,
    };
    let mut upgrade = upgrade
        .max_message_size(MESSAGE_BYTES)
        .max_frame_size(MESSAGE_BYTES)
        .read_buffer_size(16 * 1024)
        .write_buffer_size(16 * 1024);
    if let Some(selected) = SUBPROTOCOLS.into_iter().find(|name| offered.iter().any(|offer| offer == name)) {
        upgrade.set_selected_protocol(HeaderValue::from_static(selected));
    }
    let is_forwarded = super::from_node(&parts);
    let held = parts.extensions.get::<HeldSocket>().cloned();
    let carrier = Carrier {
        site: site.clone(),
        principal,
        source: from,
        id: id.clone(),
        permit,
        is_forwarded,
        trace: Trace::of(&parts.headers),
        _held: held,
    };
    let mut response = upgrade.on_upgrade(move |socket| carrier.carry(socket, resumed));
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(CONNECTION_ID, id);
    }
    Ok(response)
}

/// Returns the subprotocols that the client offers.
fn offered(parts: &Parts) -> Vec<String> {
    let values = parts.headers.get_all(header::SEC_WEBSOCKET_PROTOCOL).iter();
    let names = values.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    names.map(|name| name.trim().to_owned()).collect()
}

/// Takes the stream of the connection that the headers name, with the answer to the resumption.
fn resumption(site: &Site, parts: &Parts, principal: &Principal) -> Result<Option<(Reader, Value)>, Problem> {
    let Some(after) = headers::number(&parts.headers, &LAST_FRAME)? else { return Ok(None) };
    let connection = site.connection(&parts.headers, principal)?;
    let reader = connection.attach(StreamKey::Connection, Some(after)).map_err(events::refusal)?;
    // Only now: the socket before this one has received nothing since.
    let progress = progress(&connection);
    Ok(Some((reader, json!({ "jsonrpc": "2.0", "method": "stream/resumed", "params": progress }))))
}

/// Returns what a client learns when it resumes: how many of its messages arrived, and which of its
/// prompts run.
fn progress(connection: &Connection) -> Value {
    let (received, running) = connection.progress();
    let turns: Vec<_> =
        running.iter().map(|session| json!({ "sessionId": session, "state": "running" })).collect();
    json!({ "received": received, "turns": turns })
}

/// A close frame's code and reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Close(u16, &'static str);

const CLOSED: Close = Close(1000, "");
const PROTOCOL_ERROR: Close = Close(1002, "protocol error");
const BINARY: Close = Close(1003, "send text messages");
const NOT_UTF8: Close = Close(1007, "a text message is not UTF-8");
const TOO_LARGE: Close = Close(1009, "a message has at most 32 MiB");
const DEFECT: Close = Close(1011, "the connection ended; load its sessions again");
const OVERLOADED: Close = Close(1013, "overloaded; retry-after: 5");
const REVOKED: Close = Close(4401, "the credential is no longer valid");
const SILENT: Close = Close(4408, "no message in time");
const SUPERSEDED: Close = Close(4409, "another socket resumed this connection");
const DELETED: Close = Close(4410, "the connection was deleted");
const DISCONNECTED: Close = Close(4410, "an administrator closed the connection");
const SLOW: Close = Close(4413, "messages were not read in time; load the sessions again");
const DRAIN: Close = Close(1001, "drain");

impl Close {
    fn of(reason: EndReason) -> Self {
        match reason {
            EndReason::Finished => CLOSED,
            EndReason::Deleted => DELETED,
            EndReason::Disconnected => DISCONNECTED,
            EndReason::Expired | EndReason::Gap | EndReason::SlowReader => SLOW,
            EndReason::Revoked | EndReason::Stopped => REVOKED,
            EndReason::Overloaded => OVERLOADED,
            EndReason::Stopping => DRAIN,
            EndReason::Application => DEFECT,
        }
    }

    fn of_error(error: &axum::Error) -> Option<Self> {
        use tokio_tungstenite::tungstenite::Error as Ws;
        let mut source: Option<&dyn std::error::Error> = Some(error);
        while let Some(cause) = source {
            if let Some(error) = cause.downcast_ref::<Ws>() {
                return match error {
                    Ws::Capacity(_) => Some(TOO_LARGE),
                    Ws::Utf8(_) => Some(NOT_UTF8),
                    Ws::Protocol(_) => Some(PROTOCOL_ERROR),
                    _ => None,
                };
            }
            source = cause.source();
        }
        None
    }
}

/// Why a socket ends.
enum SocketEnd {
    /// With a close frame from here.
    Close(Close),
    /// The client closed it; true if it is done with the connection.
    Left(bool),
    /// It broke.
    Lost,
}

/// What a socket needs beside itself.
struct Carrier {
    site: Site,
    principal: Principal,
    source: Source,
    /// The id of the connection that the socket opens.
    id: String,
    /// Counts that connection.
    permit: Option<Permit>,
    /// Counts the socket.
    _held: Option<HeldSocket>,
    /// Whether the peer is another node.
    is_forwarded: bool,
    /// The trace of the upgrade.
    trace: Trace,
}

/// A message of the wire itself, which is neither counted nor passed on.
#[derive(Deserialize)]
struct WireMessage {
    id: Option<Value>,
    #[serde(default)]
    params: WireParams,
}

#[derive(Deserialize, Default)]
struct WireParams {
    #[serde(rename = "connectionId")]
    connection_id: Option<String>,
    after: Option<u64>,
    n: Option<u64>,
}

impl Carrier {
    /// Carries messages until the socket ends.
    async fn carry(mut self, socket: WebSocket, resumed: Option<(Reader, Value)>) {
        let (mut sink, mut stream) = socket.split();
        let (reader, first) = match resumed {
            Some((reader, answer)) => (reader, First::Answer(answer)),
            None => match self.first(&mut stream).await {
                Ok(first) => first,
                Err(end) => return finish(&mut sink, None, end).await,
            },
        };
        let connection = reader.connection().clone();
        match first {
            First::Answer(answer) => {
                if sink.send(Message::Text(answer.to_string().into())).await.is_err() {
                    return;
                }
            }
            First::Message(head, text) => {
                if !reader.receive(head, text).await {
                    return finish(&mut sink, None, SocketEnd::Close(DEFECT)).await;
                }
            }
        }
        // Another credential of the same user may have resumed the connection.
        let principal = self.principal.clone();
        let (acknowledge, acknowledged) = watch::channel(0);
        let end = tokio::select! {
            end = receive(&reader, &mut stream, &acknowledge, &self.trace) => end,
            end = write(&reader, &mut sink, acknowledged) => end,
            _stops = self.site.access.until_invalid(&principal), if !self.is_forwarded => SocketEnd::Close(REVOKED),
        };
        drop(reader);
        finish(&mut sink, Some(&connection), end).await;
    }

    /// Reads the first message: it opens a connection or resumes one.
    async fn first(&mut self, stream: &mut SplitStream<WebSocket>) -> Result<(Reader, First), SocketEnd> {
        let read = timeout(FIRST_MESSAGE_WAIT, async {
            loop {
                match text(stream.next().await)? {
                    Some(text) => return Ok(text),
                    None => continue,
                }
            }
        });
        let text: Utf8Bytes = tokio::select! {
            read = read => read.map_err(|_elapsed| SocketEnd::Close(SILENT))??,
            _stops = self.site.access.until_invalid(&self.principal), if !self.is_forwarded => {
                return Err(SocketEnd::Close(REVOKED));
            }
        };
        let head = Head::of(&text);
        if head.is_method("stream/resume") {
            return self.resume(&text);
        }
        let connection = self.site.registry.open_as(
            self.id.clone(),
            Opened {
                principal: self.principal.clone(),
                source: self.source,
                permit: self.permit.take(),
                is_forwarded: self.is_forwarded,
            },
            false,
        );
        let reader =
            connection.attach(StreamKey::Connection, None).map_err(|_ended| SocketEnd::Close(DEFECT))?;
        Ok((reader, First::Message(head, one_line(&text).into_owned())))
    }

    /// Resumes the connection that a message names.
    fn resume(&self, text: &str) -> Result<(Reader, First), SocketEnd> {
        let Ok(message) = serde_json::from_str::<WireMessage>(text) else {
            return Err(SocketEnd::Close(PROTOCOL_ERROR));
        };
        let id = message.params.connection_id.unwrap_or_default();
        let connection = match self.site.registry.find(&id, &self.principal) {
            Found::Open(connection) => connection,
            Found::Ended(EndReason::Finished | EndReason::Deleted | EndReason::Disconnected) => {
                return Err(SocketEnd::Close(DELETED));
            }
            Found::Ended(_) => return Err(SocketEnd::Close(SLOW)),
            Found::Unknown => return Err(SocketEnd::Close(Close(4410, "resume_unknown"))),
        };
        let reader = connection
            .attach(StreamKey::Connection, Some(message.params.after.unwrap_or_default()))
            .map_err(|error| {
                SocketEnd::Close(match error {
                    AttachError::Resume(ResumeError::Gap | ResumeError::Never) => Close(4413, "resume_gap"),
                    AttachError::Ended(reason) => Close::of(reason),
                    AttachError::TooMany => OVERLOADED,
                })
            })?;
        // Only now: the socket before this one has received nothing since.
        let answer = progress(&connection);
        let answer = match message.id {
            Some(id) => json!({ "jsonrpc": "2.0", "id": id, "result": answer }),
            None => json!({ "jsonrpc": "2.0", "method": "stream/resumed", "params": answer }),
        };
        Ok((reader, First::Answer(answer)))
    }
}

/// What a socket begins with.
enum First {
    /// The answer to a resumption.
    Answer(Value),
    /// The client's first message.
    Message(Head, String),
}

/// Returns the text of a frame; `None` if it carries no message.
fn text(frame: Option<Result<Message, axum::Error>>) -> Result<Option<Utf8Bytes>, SocketEnd> {
    match frame {
        Some(Ok(Message::Text(text))) => Ok(Some(text)),
        Some(Ok(Message::Binary(_))) => Err(SocketEnd::Close(BINARY)),
        Some(Ok(Message::Ping(_) | Message::Pong(_))) => Ok(None),
        Some(Ok(Message::Close(frame))) => {
            Err(SocketEnd::Left(frame.is_some_and(|frame| frame.code == CLOSED.0)))
        }
        Some(Err(error)) => Err(Close::of_error(&error).map_or(SocketEnd::Lost, SocketEnd::Close)),
        None => Err(SocketEnd::Lost),
    }
}

/// Passes the client's messages on until the socket ends.
async fn receive(
    reader: &Reader,
    stream: &mut SplitStream<WebSocket>,
    acknowledge: &watch::Sender<u64>,
    trace: &Trace,
) -> SocketEnd {
    loop {
        let Ok(frame) = timeout(SILENCE, stream.next()).await else { return SocketEnd::Lost };
        let text = match text(frame) {
            Ok(Some(text)) => text,
            Ok(None) => continue,
            Err(end) => return end,
        };
        let head = Head::of(&text);
        if head.is_method("stream/ack") {
            if let Ok(message) = serde_json::from_str::<WireMessage>(&text)
                && let Some(number) = message.params.n
            {
                reader.connection().acknowledge(&StreamKey::Connection, number);
                // A client that acknowledges keeps its own messages until they are acknowledged.
                acknowledge.send_replace(reader.connection().progress().0);
            }
            continue;
        }
        if head.is_method("stream/end") {
            reader.connection().end(EndReason::Finished);
            continue;
        }
        let text = trace.added_to(&head, one_line(&text).into_owned());
        if !reader.receive(head, text).await {
            // The writer sends what is left, and closes the socket.
            std::future::pending::<()>().await;
        }
    }
}

/// Sends the messages to the client until the socket ends.
async fn write(
    reader: &Reader,
    sink: &mut SplitSink<WebSocket, Message>,
    mut acknowledged: watch::Receiver<u64>,
) -> SocketEnd {
    let mut pings = interval_at(Instant::now() + PING_INTERVAL, PING_INTERVAL);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let next = tokio::select! {
            biased;
            next = reader.next() => next,
            _ = pings.tick() => {
                if sink.send(Message::Ping(Default::default())).await.is_err() {
                    return SocketEnd::Lost;
                }
                continue;
            }
            // The sender lives as long as the socket.
            _ = acknowledged.changed() => {
                let number = *acknowledged.borrow_and_update();
                let message = json!({ "jsonrpc": "2.0", "method": "stream/ack", "params": { "n": number } });
                if sink.send(Message::Text(message.to_string().into())).await.is_err() {
                    return SocketEnd::Lost;
                }
                continue;
            }
        };
        let mut next = Some(next);
        let mut bytes = 0;
        while let Some(message) = next.take() {
            let text = match message {
                Next::Message(_, text) => text,
                Next::Superseded => return SocketEnd::Close(SUPERSEDED),
                Next::Ended(reason) => {
                    // What was fed must be written before the close frame.
                    let _ = sink.flush().await;
                    return SocketEnd::Close(Close::of(reason));
                }
            };
            bytes += text.len();
            let Ok(text) = Utf8Bytes::try_from(text) else { return SocketEnd::Close(DEFECT) };
            if sink.feed(Message::Text(text)).await.is_err() {
                return SocketEnd::Lost;
            }
            if bytes < QUEUED_BYTES {
                next = reader.try_next();
            }
        }
        if sink.flush().await.is_err() {
            return SocketEnd::Lost;
        }
    }
}

/// Closes the socket; ends the connection if its client is done with it.
async fn finish(
    sink: &mut SplitSink<WebSocket, Message>,
    connection: Option<&Arc<Connection>>,
    end: SocketEnd,
) {
    let close = match end {
        SocketEnd::Close(close) => close,
        SocketEnd::Left(done) => {
            if let Some(connection) = connection.filter(|_| done) {
                connection.end(EndReason::Finished);
            }
            CLOSED
        }
        SocketEnd::Lost => return,
    };
    let frame = CloseFrame { code: close.0, reason: Utf8Bytes::from_static(close.1) };
    // A client that does not read gets no close frame.
    let _ = timeout(Duration::from_secs(1), sink.send(Message::Close(Some(frame)))).await;
}
