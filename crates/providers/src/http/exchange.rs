//! One request and its streamed answer: tries, idle watchdog, splitting, folding.

use super::{Endpoint, Failure, Http, Peer, retry};
use crate::{
    limits,
    sink::Sink,
    sse::{EventTooLong, SseSplitter},
};
use agent::{ModelError, ModelEvent};
use backon::ExponentialBackoff;
use bytes::Bytes;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use reqwest::{Response, header::CONTENT_TYPE};
use serde_json::Value;
use std::{pin::Pin, sync::Arc, time::Duration};
use tokio::time::{Instant, Sleep, sleep, timeout};

/// What a wire makes of the data of its events. Pure: no clock, no socket.
pub(crate) trait Fold: Send {
    /// Takes the data of one event. An error object in the stream is an error.
    fn on_event(&mut self, data: &str, peer: &Peer, sink: &mut Sink) -> Result<(), Failure>;

    /// The stream is over and the model had said why it stopped: gives out what was held back, and the stop.
    fn complete(&mut self, sink: &mut Sink);

    /// The stream is over although the model was not done: gives out what is of use without the rest; calls are not.
    fn abandon(&mut self, sink: &mut Sink);
}

/// The settings of an exchange.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tuning {
    pub(crate) idle: Duration,
    pub(crate) tries: u32,
    pub(crate) retry_delay: Duration,
}

/// A request that can be sent, several times if need be.
pub(crate) struct Exchange<F> {
    pub(crate) http: Arc<Http>,
    pub(crate) endpoint: Endpoint,
    pub(crate) body: Vec<u8>,
    pub(crate) peer: Peer,
    pub(crate) tuning: Tuning,
    /// Makes the fold of a try.
    pub(crate) fold: F,
}

impl<F, T> Exchange<F>
where
    F: Fn() -> T + Send + Sync + 'static,
    T: Fold + 'static,
{
    /// Sends the request and streams its answer. Nothing happens before the stream is polled; dropping it closes the connection.
    pub(crate) fn stream(self) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let run = Box::new(Run {
            fold: (self.fold)(),
            waits: retry::waits(self.tuning.retry_delay, self.tuning.tries),
            sse: SseSplitter::default(),
            sink: Sink::default(),
            watchdog: Box::pin(sleep(self.tuning.idle)),
            heard: Instant::now(),
            attempt: 1,
            bytes: 0,
            state: State::Send,
            exchange: self,
        });
        stream::unfold(run, |mut run| async move { run.next().await.map(|item| (item, run)) }).boxed()
    }
}

enum State {
    /// The request is to be sent.
    Send,
    /// A further try is to come.
    Wait(Pin<Box<Sleep>>),
    /// The answer is coming in; what it begins with has not been seen.
    Sniff(Response),
    /// The answer is a stream of events.
    Read(Response),
    /// The same, with what has come in and is still to be taken.
    Take(Response, Bytes),
    /// The answer is complete; the rest of the body is awaited briefly.
    Drain(Response),
    /// The error comes after the events before it.
    Fail(ModelError),
    Over,
}

struct Run<F, T> {
    exchange: Exchange<F>,
    fold: T,
    waits: ExponentialBackoff,
    sse: SseSplitter,
    sink: Sink,
    /// One timer for the whole exchange, set anew with each chunk.
    watchdog: Pin<Box<Sleep>>,
    /// When the reader last had an event.
    heard: Instant,
    attempt: u32,
    bytes: usize,
    state: State,
}

impl<F, T> Run<F, T>
where
    F: Fn() -> T,
    T: Fold,
{
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            let settled = matches!(self.state, State::Drain(_) | State::Fail(_) | State::Over);
            if (self.sink.began || settled)
                && let Some(event) = self.sink.pop()
            {
                self.heard = Instant::now();
                return Some(Ok(event));
            }
            // Something came, such as a ping, and nothing of it is of the answer.
            if matches!(self.state, State::Sniff(_) | State::Read(_))
                && self.bytes > 0
                && self.heard.elapsed() >= limits::ALIVE_EVERY
            {
                self.heard = Instant::now();
                return Some(Ok(ModelEvent::Alive));
            }
            // What fails below leaves the state `Over`, or a new one where it is set.
            let step = match std::mem::replace(&mut self.state, State::Over) {
                State::Send => self.send().await,
                State::Wait(pause) => {
                    pause.await;
                    self.state = State::Send;
                    Ok(())
                }
                State::Sniff(response) => self.sniff(response).await,
                State::Read(response) => self.read(response).await,
                State::Take(response, rest) => {
                    // Others are let have the thread first.
                    tokio::task::yield_now().await;
                    self.take(response, rest)
                }
                State::Drain(mut response) => {
                    let _ =
                        timeout(limits::DRAIN, async { while let Ok(Some(_)) = response.chunk().await {} })
                            .await;
                    Ok(())
                }
                State::Fail(error) => return Some(Err(error)),
                State::Over => return None,
            };
            if let Err(failure) = step
                && let Some(event) = self.fail(failure)
            {
                return Some(Ok(event));
            }
        }
    }

    /// Either a further try, which is told, or the end.
    fn fail(&mut self, failure: Failure) -> Option<ModelEvent> {
        if failure.retry
            && !self.sink.began
            && let Some(wait) = self.waits.next()
        {
            self.attempt += 1;
            self.sink = Sink::default();
            self.sse = SseSplitter::default();
            self.fold = (self.exchange.fold)();
            self.bytes = 0;
            let after = failure.after.unwrap_or(wait).min(limits::MAX_RETRY_DELAY);
            self.state = State::Wait(Box::pin(sleep(after)));
            return Some(ModelEvent::Retrying {
                attempt: self.attempt,
                after,
                reason: failure.error.to_string(),
            });
        }
        self.fold.abandon(&mut self.sink);
        self.state = State::Fail(failure.error);
        None
    }

    async fn send(&mut self) -> Result<(), Failure> {
        let Exchange { http, endpoint, body, peer, tuning, .. } = &self.exchange;
        let client = http.client(&endpoint.url).map_err(Failure::last)?;
        let sent = client
            .post(endpoint.url.clone())
            .headers(endpoint.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body.clone())
            .send();
        self.watchdog.as_mut().reset(Instant::now() + tuning.idle);
        let mut response = tokio::select! {
            biased;
            sent = sent => sent.map_err(|error| peer.cut("the request to", &error))?,
            () = &mut self.watchdog => return Err(self.idle()),
        };
        let status = response.status().as_u16();
        if response.status().is_success() {
            self.state = State::Sniff(response);
            return Ok(());
        }
        let after = retry::retry_after(response.headers(), jiff::Timestamp::now());
        let mut body = Vec::new();
        // An error page that does not come whole is still an error page.
        let _ = timeout(tuning.idle, read_up_to(&mut response, &mut body)).await;
        Err(Failure { after, ..peer.status(status, &body) })
    }

    /// Looks at the first byte: neither a web page nor a JSON document begins as an event stream can. Content types are not asked,
    /// as servers get them wrong both ways.
    async fn sniff(&mut self, mut response: Response) -> Result<(), Failure> {
        let Some(chunk) = self.chunk(&mut response).await? else {
            return Err(Failure::passing(ModelError::Transport(format!(
                "{} closed the connection without an answer; try again",
                self.exchange.peer.provider
            ))));
        };
        let text = chunk.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&chunk);
        match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'<' | b'{' | b'[') => {
                let mut body = chunk.to_vec();
                let idle = self.exchange.tuning.idle;
                let _ = timeout(idle, read_up_to(&mut response, &mut body)).await;
                Err(self.no_stream(&body))
            }
            Some(_) => self.take(response, chunk),
            None => {
                self.state = State::Sniff(response);
                self.feed(&chunk)
            }
        }
    }

    async fn read(&mut self, mut response: Response) -> Result<(), Failure> {
        match self.chunk(&mut response).await {
            Ok(Some(chunk)) => self.take(response, chunk),
            Ok(None) => self.finish(),
            // The model was done: only the formal end is missing.
            Err(_) if self.sink.finished => self.finish(),
            Err(failure) => Err(failure),
        }
    }

    async fn chunk(&mut self, response: &mut Response) -> Result<Option<Bytes>, Failure> {
        let idle = if self.sink.finished {
            limits::FINISH_GRACE.min(self.exchange.tuning.idle)
        } else {
            self.exchange.tuning.idle
        };
        self.watchdog.as_mut().reset(Instant::now() + idle);
        let chunk = tokio::select! {
            biased;
            chunk = response.chunk() => chunk.map_err(|error| self.exchange.peer.cut("the answer of", &error))?,
            () = &mut self.watchdog => return Err(self.idle()),
        };
        let Some(chunk) = chunk else { return Ok(None) };
        self.bytes += chunk.len();
        if self.bytes > limits::MAX_STREAM_BYTES {
            return Err(too_long());
        }
        Ok(Some(chunk))
    }

    /// Takes the next slice of what has come in.
    fn take(&mut self, response: Response, mut chunk: Bytes) -> Result<(), Failure> {
        let slice = chunk.split_to(chunk.len().min(limits::SLICE_BYTES));
        self.feed(&slice)?;
        self.state = if self.sink.ended {
            self.fold.complete(&mut self.sink);
            State::Drain(response)
        } else if chunk.is_empty() {
            State::Read(response)
        } else {
            State::Take(response, chunk)
        };
        Ok(())
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        let Self { sse, fold, sink, exchange, .. } = self;
        sse.feed(bytes, |data| on_data(fold, data, &exchange.peer, sink))
            .map_err(|stop| stop.failure(&exchange.peer))
    }

    /// The body is over.
    fn finish(&mut self) -> Result<(), Failure> {
        let Self { sse, fold, sink, exchange, .. } = self;
        sse.finish(|data| on_data(fold, data, &exchange.peer, sink))
            .map_err(|stop| stop.failure(&exchange.peer))?;
        let provider = &self.exchange.peer.provider;
        if self.sink.finished || self.sink.ended {
            self.fold.complete(&mut self.sink);
            return Ok(());
        }
        if !self.sink.began && self.sink.malformed > 0 {
            return Err(Failure::last(ModelError::BadResponse(format!(
                "{} answered with {} events, none of which is of the wire expected; check the base URL and the wire of {provider}",
                self.exchange.peer.url, self.sink.malformed
            ))));
        }
        Err(Failure::passing(ModelError::Transport(format!(
            "{provider} closed the connection in the middle of the answer; try again"
        ))))
    }

    fn idle(&self) -> Failure {
        Failure::last(ModelError::Transport(format!(
            "{} sent nothing for {:?}; try again, or set `{}` to more seconds if the server is only slow",
            self.exchange.peer.provider, self.exchange.tuning.idle, self.exchange.peer.silence_setting
        )))
    }

    /// A success that is no event stream.
    fn no_stream(&self, body: &[u8]) -> Failure {
        let peer = &self.exchange.peer;
        let told = |what: &str| Failure::last(ModelError::BadResponse(format!("{} {what}", peer.url)));
        let Ok(value) = serde_json::from_slice::<Value>(body) else {
            let text = String::from_utf8_lossy(body);
            let shape = if text.trim_start().starts_with('<') {
                "a web page"
            } else {
                "a broken or very long JSON text"
            };
            return told(&format!(
                "answered with {shape} instead of an event stream; check the base URL of {}",
                peer.provider
            ));
        };
        if value.get("error").is_some_and(|error| !error.is_null())
            || value.get("type") == Some(&"error".into())
        {
            return peer.reported(None, &value);
        }
        if ["choices", "output", "content"].iter().any(|key| value.get(key).is_some_and(Value::is_array)) {
            return told(
                "ignored that streaming was asked for and answered whole; use a server that streams",
            );
        }
        told(&format!(
            "answered with JSON that is no model's answer: {}; check the base URL of {}",
            peer.clean(&value.to_string()),
            peer.provider
        ))
    }
}

/// Why the splitter was stopped.
enum Stop {
    TooLong,
    Failed(Failure),
}

impl From<EventTooLong> for Stop {
    fn from(_: EventTooLong) -> Self {
        Self::TooLong
    }
}

impl Stop {
    fn failure(self, peer: &Peer) -> Failure {
        match self {
            Self::TooLong => Failure::last(ModelError::BadResponse(format!(
                "{} sent an event of more than {} bytes",
                peer.provider,
                limits::MAX_EVENT_BYTES
            ))),
            Self::Failed(failure) => failure,
        }
    }
}

fn too_long() -> Failure {
    Failure::last(ModelError::AnswerTooLong)
}

fn on_data(fold: &mut impl Fold, data: &str, peer: &Peer, sink: &mut Sink) -> Result<(), Stop> {
    if sink.ended {
        return Ok(());
    }
    fold.on_event(data, peer, sink).map_err(Stop::Failed)?;
    if sink.is_too_long() { Err(Stop::Failed(too_long())) } else { Ok(()) }
}

async fn read_up_to(response: &mut Response, body: &mut Vec<u8>) {
    while body.len() < limits::MAX_ERROR_BYTES {
        match response.chunk().await {
            Ok(Some(chunk)) => body.extend_from_slice(&chunk),
            Ok(None) | Err(_) => return,
        }
    }
}
