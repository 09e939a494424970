//! One request and its streamed answer: attempts, idle watchdog, event splitting, folding.

use super::{
    images,
    server::{self, Remote},
    target::WireTarget,
};
use crate::{
    http::{Failure, Fold, Peer, not_a_stream, on_data, read_up_to, retry_after, too_long, waits},
    limits,
    refused_options::{ModelQuirks, RefusalRemedy},
    sink::EventSink,
    sse::SseSplitter,
};
use agent::{ModelError, ModelEvent, ModelRequest};
use backon::ExponentialBackoff;
use bytes::Bytes;
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use reqwest::{Response, header::CONTENT_TYPE};
use std::{pin::Pin, sync::Arc, time::Duration};
use tokio::time::{Instant, Sleep, sleep, timeout};

/// A request that can be sent, several times if necessary.
pub(crate) struct Exchange {
    remote: Arc<Remote>,
    /// Kept until the server has accepted it; a refusal may cause it to be rebuilt.
    request: Option<ModelRequest>,
}

impl Exchange {
    pub(crate) fn new(remote: Arc<Remote>, mut request: ModelRequest) -> Self {
        if let Some(conversation) = &request.cache_key {
            let forgotten = remote.refused_options.forgotten(conversation).min(request.messages.len());
            server::forget(&mut request.messages[..forgotten]);
        }
        images::drop_refused(&mut request.messages, &remote.refused_images());
        Self { remote, request: Some(request) }
    }

    /// Sends the request and streams its answer. Nothing happens before the stream is polled;
    /// dropping it closes the connection.
    pub(crate) fn stream(self) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let Self { remote, request } = self;
        let quirks = remote.quirks();
        let target = remote.target(&quirks);
        let run = Box::new(Run {
            fold: (remote.targets[target].format().fold)(),
            waits: waits(remote.tuning.retry_delay, remote.tuning.tries),
            sse: SseSplitter::default(),
            sink: EventSink::default(),
            watchdog: Box::pin(sleep(remote.tuning.idle)),
            last_event: Instant::now(),
            attempt: 1,
            bytes: 0,
            state: State::Send,
            body: Bytes::new(),
            rebuilds: 0,
            dropped_opaque: false,
            dropped_images: Vec::new(),
            notice: None,
            switched: false,
            target,
            is_spare: false,
            quirks,
            request,
            remote,
        });
        stream::unfold(run, |mut run| async move { run.next().await.map(|item| (item, run)) }).boxed()
    }
}

/// Returns the event for a request that is sent again at once, without what was refused.
fn sent_again(attempt: u32, reason: String) -> ModelEvent {
    ModelEvent::Retrying { attempt, after: Duration::ZERO, reason, limited: false }
}

enum State {
    /// The request is ready to be sent.
    Send,
    /// Waiting before the next attempt.
    Wait(Pin<Box<Sleep>>),
    /// The response has arrived; the start of its body has not been inspected.
    Sniff(Response),
    /// The body is an event stream.
    Read(Response),
    /// An event stream with received data that is not processed yet.
    Take(Response, Bytes),
    /// The answer is complete; waits briefly for the end of the body.
    Drain(Response),
    /// The error to return after the queued events.
    Fail(ModelError),
    Done,
}

struct Run {
    remote: Arc<Remote>,
    request: Option<ModelRequest>,
    /// What the request is built from: the stored quirks, and those learned by this exchange.
    quirks: ModelQuirks,
    /// The index of the wire in use.
    target: usize,
    /// Whether the request was sent with the spare key.
    is_spare: bool,
    /// The request body; empty until it is built.
    body: Bytes,
    /// How many times the request was rebuilt after a refusal.
    rebuilds: usize,
    /// Whether earlier answers are sent without the data that only their model understands.
    dropped_opaque: bool,
    /// The images that are sent as text because the server refused them, by hashes.
    dropped_images: Vec<u64>,
    /// An event to send next: what was changed in the request.
    notice: Option<ModelEvent>,
    /// Whether the wire was changed; it is changed at most once.
    switched: bool,
    fold: Box<dyn Fold>,
    waits: ExponentialBackoff,
    sse: SseSplitter,
    sink: EventSink,
    /// One timer for the whole exchange, reset at each chunk.
    watchdog: Pin<Box<Sleep>>,
    /// When the reader last received an event.
    last_event: Instant,
    attempt: u32,
    bytes: usize,
    state: State,
}

impl Run {
    async fn next(&mut self) -> Option<Result<ModelEvent, ModelError>> {
        loop {
            let settled = matches!(self.state, State::Drain(_) | State::Fail(_) | State::Done);
            if (self.sink.began || settled)
                && let Some(event) = self.sink.pop()
            {
                self.last_event = Instant::now();
                return Some(Ok(event));
            }
            if let Some(notice) = self.notice.take() {
                return Some(Ok(notice));
            }
            // Data arrived, such as a ping, but none of it belongs to the answer.
            if matches!(self.state, State::Sniff(_) | State::Read(_))
                && self.bytes > 0
                && self.last_event.elapsed() >= limits::ALIVE_EVERY
            {
                self.last_event = Instant::now();
                return Some(Ok(ModelEvent::Alive));
            }
            // The state is `Done` after this unless the step, or `fail` below, sets another.
            let step = match std::mem::replace(&mut self.state, State::Done) {
                State::Send => self.send().await,
                State::Wait(pause) => {
                    pause.await;
                    self.state = State::Send;
                    Ok(())
                }
                State::Sniff(response) => self.sniff(response).await,
                State::Read(response) => self.read(response).await,
                State::Take(response, rest) => {
                    // Lets other tasks run first.
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
                State::Done => return None,
            };
            if let Err(failure) = step
                && let Some(event) = self.fail(failure)
            {
                return Some(Ok(event));
            }
        }
    }

    /// Schedules another attempt and returns the event that reports it, or ends the exchange.
    fn fail(&mut self, failure: Failure) -> Option<ModelEvent> {
        if failure.retry
            && !self.sink.began
            && let Some(wait) = self.waits.next()
        {
            self.attempt += 1;
            self.sink = EventSink::default();
            self.sse = SseSplitter::default();
            self.fold = (self.remote.targets[self.target].format().fold)();
            self.bytes = 0;
            let after = failure.after.unwrap_or(wait).min(limits::MAX_RETRY_DELAY);
            self.state = State::Wait(Box::pin(sleep(after)));
            return Some(ModelEvent::Retrying {
                attempt: self.attempt,
                after,
                reason: failure.error.to_string(),
                limited: matches!(failure.error, ModelError::Overloaded(_)),
            });
        }
        self.fold.abandon(&mut self.sink);
        self.state = State::Fail(failure.error);
        None
    }

    fn peer(&self) -> &Peer {
        &self.remote.targets[self.target].or_spare(self.is_spare).peer
    }

    async fn send(&mut self) -> Result<(), Failure> {
        if let Some(request) = self.request.as_ref().filter(|_| self.body.is_empty()) {
            self.body = self.remote.body(request, &self.quirks);
        }
        let Remote { http, targets, tuning, .. } = &*self.remote;
        self.is_spare = targets[self.target].wants_spare();
        let WireTarget { endpoint, peer, .. } = targets[self.target].or_spare(self.is_spare);
        let client = http.client(&endpoint.url).map_err(Failure::permanent)?;
        let sent = client
            .post(endpoint.url.clone())
            .headers(endpoint.headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(self.body.clone())
            .send();
        self.watchdog.as_mut().reset(Instant::now() + tuning.idle);
        let mut response = tokio::select! {
            biased;
            sent = sent => sent.map_err(|error| peer.interrupted("the request to", &error))?,
            () = &mut self.watchdog => return Err(self.idle()),
        };
        let status = response.status().as_u16();
        if response.status().is_success() {
            if let Some(key) = &self.peer().key {
                key.note(true);
            }
            self.state = State::Sniff(response);
            self.on_accepted().await;
            return Ok(());
        }
        let after = retry_after(response.headers(), jiff::Timestamp::now());
        let mut error_body = Vec::new();
        // An incomplete error page is still an error page.
        let _ = timeout(tuning.idle, read_up_to(&mut response, &mut error_body)).await;
        if self.learn(status, &error_body) {
            self.state = State::Send;
            return Ok(());
        }
        let failure = Failure { after, ..self.peer().status(status, &error_body) };
        if !self.is_spare && self.remote.targets[self.target].wants_spare() {
            let provider = &self.peer().provider;
            let reason = format!("{provider} refused the key of the environment; the stored key is used");
            self.notice = Some(sent_again(self.attempt + 1, reason));
            self.attempt += 1;
            self.state = State::Send;
            return Ok(());
        }
        Err(failure)
    }

    /// Stores what was learned. The request is not rebuilt after this.
    async fn on_accepted(&mut self) {
        let request = self.request.take();
        if let Some(ModelRequest { cache_key: Some(conversation), messages, .. }) = request
            && self.dropped_opaque
        {
            self.remote.refused_options.forget(&conversation, messages.len());
        }
        if !self.dropped_images.is_empty() {
            self.remote.refuse_images(std::mem::take(&mut self.dropped_images));
        }
        if self.rebuilds > 0 {
            self.rebuilds = 0;
            self.remote.remember(self.quirks.clone());
            self.remote.store_quirks().await;
        }
    }

    /// Returns whether the refusal showed how to rebuild the request so that it may be accepted.
    fn learn(&mut self, status: u16, error_body: &[u8]) -> bool {
        let Some(request) = self.request.as_mut().filter(|_| self.rebuilds < limits::MAX_REBUILDS) else {
            return false;
        };
        match self.remote.learn((status, error_body), &self.body, &mut self.quirks, !self.switched) {
            RefusalRemedy::Rebuild => {}
            RefusalRemedy::DropOpaque if server::forget(&mut request.messages) => self.dropped_opaque = true,
            RefusalRemedy::DropImage => {
                let dropped = match self.dropped_images.is_empty() {
                    true => images::drop_newest(&mut request.messages).into_iter().collect(),
                    false => images::drop_all(&mut request.messages),
                };
                if dropped.is_empty() {
                    return false;
                }
                self.dropped_images.extend(dropped);
                let reason = "the server refused an image; the model gets a text in its place".to_owned();
                self.notice = Some(sent_again(self.attempt + 1, reason));
            }
            RefusalRemedy::DropOpaque | RefusalRemedy::None => return false,
        }
        let target = self.remote.target(&self.quirks);
        self.switched |= target != self.target;
        self.target = target;
        self.rebuilds += 1;
        self.body = Bytes::new();
        self.fold = (self.remote.targets[target].format().fold)();
        let peer = self.peer();
        tracing::info!(provider = %peer.provider, model = %peer.model, status, quirks = ?self.quirks,
            "the server refused the request; it is changed and sent again");
        true
    }

    /// Inspects the first byte: a web page or a JSON document never begins like an event stream.
    /// The content type is not used, since servers get it wrong in both directions.
    async fn sniff(&mut self, mut response: Response) -> Result<(), Failure> {
        let Some(chunk) = self.chunk(&mut response).await? else {
            return Err(Failure::transient(ModelError::Transport(format!(
                "{} closed the connection without an answer; try again",
                self.peer().provider
            ))));
        };
        let text = chunk.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&chunk);
        match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'<' | b'{' | b'[') => {
                let mut body = chunk.to_vec();
                let idle = self.remote.tuning.idle;
                let _ = timeout(idle, read_up_to(&mut response, &mut body)).await;
                Err(not_a_stream(self.peer(), &body))
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
            // The model had finished; only the formal end of the stream is missing.
            Err(_) if self.sink.finished => self.finish(),
            Err(failure) => Err(failure),
        }
    }

    async fn chunk(&mut self, response: &mut Response) -> Result<Option<Bytes>, Failure> {
        let idle = if self.sink.finished {
            limits::FINISH_GRACE.min(self.remote.tuning.idle)
        } else {
            self.remote.tuning.idle
        };
        self.watchdog.as_mut().reset(Instant::now() + idle);
        let chunk = tokio::select! {
            biased;
            chunk = response.chunk() => chunk.map_err(|error| self.peer().interrupted("the answer of", &error))?,
            () = &mut self.watchdog => return Err(self.idle()),
        };
        let Some(chunk) = chunk else { return Ok(None) };
        self.bytes += chunk.len();
        if self.bytes > limits::MAX_STREAM_BYTES {
            return Err(too_long());
        }
        Ok(Some(chunk))
    }

    /// Processes the next slice of received data.
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
        let Self { sse, fold, sink, remote, target, is_spare, .. } = self;
        let peer = &remote.targets[*target].or_spare(*is_spare).peer;
        sse.feed(bytes, |data| on_data(&mut **fold, data, peer, sink)).map_err(|stop| stop.failure(peer))
    }

    /// Handles the end of the body.
    fn finish(&mut self) -> Result<(), Failure> {
        let Self { sse, fold, sink, remote, target, is_spare, .. } = self;
        let peer = &remote.targets[*target].or_spare(*is_spare).peer;
        sse.finish(|data| on_data(&mut **fold, data, peer, sink)).map_err(|stop| stop.failure(peer))?;
        if self.sink.finished || self.sink.ended {
            self.fold.complete(&mut self.sink);
            return Ok(());
        }
        let peer = self.peer();
        let provider = &peer.provider;
        if !self.sink.began && self.sink.malformed > 0 {
            return Err(Failure::permanent(ModelError::BadResponse(format!(
                "{} answered with {} events, none of which has the expected wire format; check the base URL and the wire of {provider}",
                peer.url, self.sink.malformed
            ))));
        }
        Err(Failure::transient(ModelError::Transport(format!(
            "{provider} closed the connection in the middle of the answer; try again"
        ))))
    }

    fn idle(&self) -> Failure {
        let Peer { provider, silence_setting, .. } = self.peer();
        let idle = self.remote.tuning.idle;
        Failure::permanent(ModelError::Transport(format!(
            "{provider} sent nothing for {idle:?}; try again, or set `{silence_setting}` to more seconds if the server is only slow"
        )))
    }
}
