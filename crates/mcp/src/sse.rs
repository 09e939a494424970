//! The HTTP+SSE transport of protocol version 2024-11-05: an event stream that stays open, whose
//! first event names the endpoint for posted messages.
//!
//! Messages carry the headers of the server's description, so the endpoint must have the same
//! origin as the stream.

use crate::{
    limits::{MESSAGE_BYTES, SEND, SSE_WAITING},
    locked::locked,
    stdio::{Fault, parse_message},
};
use futures::StreamExt as _;
use reqwest::{
    Client, Response, Url,
    header::{ACCEPT, CONTENT_TYPE, HeaderMap},
};
use rmcp::{
    RoleClient,
    service::{RxJsonRpcMessage, TxJsonRpcMessage},
    transport::Transport,
};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, DropGuard};

/// A server's event stream, and the endpoint for messages.
pub(crate) struct SseTransport {
    client: Client,
    endpoint: Url,
    headers: HeaderMap,
    messages: mpsc::Receiver<RxJsonRpcMessage<RoleClient>>,
    /// Ends the stream when the transport is dropped.
    open: Option<DropGuard>,
}

/// The reason why the stream did not open, or a message was not delivered.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SseError {
    /// The request failed, or the response was interrupted.
    #[error("the request failed")]
    Client(#[source] reqwest::Error),
    /// The server returned an error status.
    #[error("HTTP {0}")]
    Status(u16),
    /// The response is no event stream.
    #[error("it answered with {0}")]
    ContentType(String),
    /// The stream ended before it named the endpoint, or named an invalid one.
    #[error("its stream ended before it named the endpoint for messages")]
    NoEndpoint,
    /// The endpoint has another origin, so nothing may be sent there.
    #[error("its endpoint for messages has another origin; the configured headers are not sent there")]
    ForeignOrigin,
    /// The server did not accept a message in time.
    #[error("it did not accept a message within {} s", .0.as_secs())]
    Timeout(Duration),
}

impl SseTransport {
    /// Opens the stream and waits for the endpoint. Sets no deadline of its own.
    pub(crate) async fn open(
        client: Client,
        url: &str,
        headers: HeaderMap,
        fault: Fault,
    ) -> Result<Self, SseError> {
        let request = client.get(url).headers(headers.clone()).header(ACCEPT, "text/event-stream");
        let response = check_status(request.send().await.map_err(SseError::Client)?)?;
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.trim_start().to_ascii_lowercase().starts_with("text/event-stream") {
            return Err(SseError::ContentType(kind.to_owned()));
        }
        let base = response.url().clone();
        let mut events = Events::from_response(response);
        let endpoint = loop {
            let event = events.next().await?.ok_or(SseError::NoEndpoint)?;
            if event.name == "endpoint" {
                let url = base.join(event.data.trim()).map_err(|_| SseError::NoEndpoint)?;
                break Some(url)
                    .filter(|url| url.origin() == base.origin())
                    .ok_or(SseError::ForeignOrigin)?;
            }
        };
        let (sender, messages) = mpsc::channel(SSE_WAITING);
        let closed = CancellationToken::new();
        let open = closed.clone().drop_guard();
        tokio::spawn(async move {
            let reading = async {
                loop {
                    match events.next().await {
                        Ok(Some(event)) if event.name == "message" => {
                            match parse_message(event.data.as_bytes()) {
                                Some(message) => {
                                    if sender.send(message).await.is_err() {
                                        return;
                                    }
                                }
                                None => tracing::debug!("an MCP server sent an event that is not a message"),
                            }
                        }
                        Ok(Some(_)) => {}
                        Ok(None) => return,
                        Err(error) => {
                            locked(&fault)
                                .get_or_insert_with(|| format!("its stream of events ended: {error}."));
                            return;
                        }
                    }
                }
            };
            tokio::select! {
                () = closed.cancelled() => {}
                () = reading => {}
            }
        });
        Ok(Self { client, endpoint, headers, messages, open: Some(open) })
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseError;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SseError>> + Send + 'static {
        let request = self.client.post(self.endpoint.clone()).headers(self.headers.clone());
        let text = serde_json::to_string(&item).unwrap_or_default();
        let request = request.header(CONTENT_TYPE, "application/json").body(text);
        async move {
            let sent = tokio::time::timeout(SEND, request.send()).await;
            let response = sent.map_err(|_| SseError::Timeout(SEND))?.map_err(SseError::Client)?;
            // The answer arrives on the stream; the body of this response is discarded.
            check_status(response).map(drop)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        self.messages.recv().await
    }

    async fn close(&mut self) -> Result<(), SseError> {
        self.open.take();
        Ok(())
    }
}

fn check_status(response: Response) -> Result<Response, SseError> {
    let status = response.status();
    if status.is_success() { Ok(response) } else { Err(SseError::Status(status.as_u16())) }
}

/// A server-sent event.
#[derive(Debug, Default, PartialEq)]
struct Event {
    name: String,
    data: String,
}

/// The events of a response's body, as they arrive.
struct Events {
    body: futures::stream::BoxStream<'static, Result<Vec<u8>, reqwest::Error>>,
    parser: Parser,
    ready: std::collections::VecDeque<Event>,
}

impl Events {
    fn from_response(response: Response) -> Self {
        let body = futures::stream::unfold(Some(response), async |response| {
            let mut response = response?;
            match response.chunk().await {
                Ok(Some(bytes)) => Some((Ok(bytes.to_vec()), Some(response))),
                Ok(None) => None,
                Err(error) => Some((Err(error), None)),
            }
        });
        Self { body: body.boxed(), parser: Parser::default(), ready: std::collections::VecDeque::default() }
    }

    /// Returns the next event; `None` at the end of the stream.
    async fn next(&mut self) -> Result<Option<Event>, SseError> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Ok(Some(event));
            }
            let Some(bytes) = self.body.next().await.transpose().map_err(SseError::Client)? else {
                return Ok(None);
            };
            self.ready.extend(self.parser.take(&bytes));
            if self.parser.buffered() > MESSAGE_BYTES {
                return Err(SseError::ContentType(format!(
                    "an event of more than {} MB",
                    MESSAGE_BYTES >> 20
                )));
            }
        }
    }
}

/// Parses server-sent events (WHATWG HTML, section 9.2) from bytes that are split arbitrarily.
#[derive(Default)]
struct Parser {
    line: Vec<u8>,
    /// Whether the last byte was a carriage return; a line feed after it belongs to the same line
    /// end.
    after_carriage_return: bool,
    name: String,
    data: Option<String>,
}

impl Parser {
    /// Returns the bytes buffered for an incomplete event.
    fn buffered(&self) -> usize {
        self.line.len() + self.data.as_ref().map_or(0, String::len)
    }

    fn take(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for byte in bytes {
            let after_return = std::mem::replace(&mut self.after_carriage_return, *byte == b'\r');
            match byte {
                b'\n' if after_return => {}
                b'\n' | b'\r' => events.extend(self.end_of_line()),
                byte => self.line.push(*byte),
            }
        }
        events
    }

    /// Processes a complete line; returns the event if the line is empty and so ends one.
    fn end_of_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_start_matches('\u{feff}');
        if line.is_empty() {
            let name = std::mem::take(&mut self.name);
            let data = self.data.take()?;
            return Some(Event { name: if name.is_empty() { "message".to_owned() } else { name }, data });
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => match &mut self.data {
                None => self.data = Some(value.to_owned()),
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            },
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_parsed_from_any_split_of_the_bytes() {
        let text = "\u{feff}: hello\r\nevent: endpoint\r\ndata: /m?s=1\r\n\r\n\ndata: {\"a\":\ndata:\"ü\"}\nid: 7\n\nevent: x\n\ndata\n\n";
        let event = |name: &str, data: &str| Event { name: name.to_owned(), data: data.to_owned() };
        let expected =
            [event("endpoint", "/m?s=1"), event("message", "{\"a\":\n\"ü\"}"), event("message", "")];
        for size in [1, 2, 3, 7, 1000] {
            let mut parser = Parser::default();
            let events: Vec<_> = text.as_bytes().chunks(size).flat_map(|piece| parser.take(piece)).collect();
            assert_eq!(events, expected, "{size}");
            assert_eq!(parser.buffered(), 0);
        }
    }
}
