//! A logical connection: it outlives the sockets that carry it.

mod incoming;
mod info;
mod outgoing;
mod oversize;
pub(crate) mod registry;

pub use info::ConnectionInfo;
pub(crate) use outgoing::{Message, Outgoing, ResumeError};

use crate::{
    application::{EndReason, Presence},
    auth::{Source, wall_clock},
    limits::{
        DETACHED_BYTES, KEPT_BYTES, KEPT_MESSAGES, QUEUED_BYTES, QUEUED_MESSAGES, SESSION_STREAMS,
        WAITING_BYTES,
    },
    message::Head,
};
use agent::Principal;
use bytes::Bytes;
use incoming::Incoming;
use jiff::Timestamp;
use oversize::Fitted;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Notify, oneshot, watch},
    time::Instant,
};

/// Which messages a reader receives.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum StreamKey {
    /// All that belong to no open session stream.
    Connection,
    /// Those of one session.
    Session(String),
}

/// A logical connection of one client.
pub(crate) struct Connection {
    pub(crate) id: String,
    pub(crate) principal: Principal,
    /// Where its first socket came from.
    source: Source,
    /// When it was opened.
    opened: Timestamp,
    /// Whether messages are routed to session streams.
    routes: bool,
    state: Mutex<State>,
    presence: watch::Sender<Presence>,
    /// Notified when readers may have something to send, or are replaced.
    outgoing: Notify,
    /// Notified when the protocol may write or read more.
    protocol: Notify,
    /// Notified when the client may send more.
    client: Notify,
}

#[derive(Default)]
struct State {
    streams: HashMap<StreamKey, Stream>,
    incoming: Incoming,
    /// Where responses go that answer a request of their own HTTP exchange, by the request's id.
    exchanges: HashMap<String, oneshot::Sender<Bytes>>,
    /// The protocol version of the response to `initialize`.
    version: Option<u64>,
    readers: u64,
    /// Whether the protocol writes nothing more.
    silent: bool,
    /// When a message was last sent or received, or the last socket came or went.
    used: Option<Instant>,
}

#[derive(Default)]
struct Stream {
    outgoing: Outgoing,
    /// The reader that receives it.
    reader: Option<u64>,
    /// Since when the reader has taken nothing although messages wait.
    stalled: Option<Instant>,
}

impl Stream {
    /// Whether more waits than is kept for a resumption.
    fn overflows(&self) -> bool {
        let (messages, bytes) = self.outgoing.waiting();
        messages > KEPT_MESSAGES || bytes > KEPT_BYTES && messages > QUEUED_MESSAGES
    }
}

/// What a reader receives next.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// A message with its number.
    Message(u64, Bytes),
    /// Another reader has taken the stream.
    Superseded,
    /// The connection has ended, and everything was sent.
    Ended(EndReason),
}

/// Why a reader cannot have a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AttachError {
    /// Messages are missing.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    /// The connection has ended.
    #[error("the connection has ended")]
    Ended(EndReason),
    /// Too many session streams are open.
    #[error("a connection has at most {} session streams", SESSION_STREAMS)]
    TooMany,
}

impl Connection {
    /// Creates a connection without a reader.
    pub(crate) fn new(id: String, principal: Principal, source: Source, routes: bool) -> Arc<Self> {
        let (presence, _) = watch::channel(Presence::Detached);
        Arc::new(Self {
            id,
            principal,
            source,
            opened: wall_clock()(),
            routes,
            state: Mutex::default(),
            presence,
            outgoing: Notify::new(),
            protocol: Notify::new(),
            client: Notify::new(),
        })
    }

    /// Returns whether it has a socket, and changes of that.
    pub(crate) fn presence(&self) -> watch::Receiver<Presence> {
        self.presence.subscribe()
    }

    /// Describes it for an administrator; `None` once it has ended.
    pub(crate) fn info(&self) -> Option<ConnectionInfo> {
        let presence = *self.presence.borrow();
        let is_open = !matches!(presence, Presence::Ended(_));
        is_open.then(|| ConnectionInfo {
            id: self.id.clone(),
            principal: self.principal.clone(),
            source: self.source,
            is_websocket: !self.routes,
            opened: self.opened,
            is_attached: presence == Presence::Attached,
        })
    }

    /// Returns why it has ended, if it has.
    pub(crate) fn ended(&self) -> Option<EndReason> {
        match *self.presence.borrow() {
            Presence::Ended(reason) => Some(reason),
            Presence::Attached | Presence::Detached => None,
        }
    }

    /// Ends the connection: the protocol's input ends, and readers end after the last message.
    pub(crate) fn end(&self, reason: EndReason) {
        self.presence.send_if_modified(|presence| {
            let ends = !matches!(presence, Presence::Ended(_));
            if ends {
                *presence = Presence::Ended(reason);
                if reason == EndReason::SlowReader {
                    metrics::counter!("tiller_slow_clients_total").increment(1);
                }
            }
            ends
        });
        self.notify_all();
    }

    /// Notes that the protocol writes nothing more.
    pub(crate) fn fall_silent(&self) {
        self.lock().silent = true;
        self.end(EndReason::Application);
    }

    /// Takes a stream for a new reader, in place of the one that has it. With `after`, messages
    /// after that number are sent again; else those that were never sent.
    pub(crate) fn attach(
        self: &Arc<Self>,
        key: StreamKey,
        after: Option<u64>,
    ) -> Result<Reader, AttachError> {
        let attached = self.try_attach(key, after);
        if after.is_some() {
            let result = match &attached {
                Ok(_) => "resumed",
                Err(AttachError::Resume(_)) => "gap",
                Err(AttachError::Ended(_)) => "ended",
                Err(AttachError::TooMany) => "too_many",
            };
            metrics::counter!("tiller_resume_total", "result" => result).increment(1);
        }
        attached
    }

    fn try_attach(self: &Arc<Self>, key: StreamKey, after: Option<u64>) -> Result<Reader, AttachError> {
        if let Some(reason) = self.ended() {
            return Err(AttachError::Ended(reason));
        }
        let generation = {
            let mut state = self.lock();
            let is_new = !state.streams.contains_key(&key);
            if is_new && state.streams.len() > SESSION_STREAMS {
                return Err(AttachError::TooMany);
            }
            if is_new && after.is_some_and(|after| after > 0) {
                return Err(ResumeError::Gap.into());
            }
            if is_new && let StreamKey::Session(session) = &key {
                let moved = state.stream(&StreamKey::Connection).outgoing.take_session(session);
                let stream = state.stream(&key);
                moved.into_iter().for_each(|message| stream.outgoing.push(message));
            }
            let stream = state.stream(&key);
            match after {
                Some(after) => stream.outgoing.resume(after)?,
                None => stream.outgoing.skip_sent(),
            }
            state.readers += 1;
            let generation = state.readers;
            let stream = state.stream(&key);
            stream.reader = Some(generation);
            stream.stalled = None;
            generation
        };
        self.update_presence();
        self.notify_all();
        Ok(Reader { connection: self.clone(), key, generation })
    }

    /// Notes that the client has received the messages of a stream up to a number.
    pub(crate) fn acknowledge(&self, key: &StreamKey, number: u64) {
        self.lock().stream(key).outgoing.acknowledge(number);
    }

    /// Queues a message of an HTTP request now, if there is room. A message whose number is known
    /// has no effect.
    pub(crate) fn post(&self, head: Head, text: String, number: Option<u64>) -> Posted {
        if let Some(reason) = self.ended() {
            return Posted::Ended(reason);
        }
        {
            let mut state = self.lock();
            state.used = Some(Instant::now());
            if !state.incoming.has_room() {
                return Posted::Full;
            }
            match number {
                Some(number) if !state.incoming.count_number(number) => return Posted::Known,
                Some(_) => {}
                None => state.incoming.count(),
            }
            state.incoming.push(head, text);
        }
        self.protocol.notify_waiters();
        Posted::Queued
    }

    /// Makes the response to a request complete the returned future instead of entering a stream.
    pub(crate) fn exchange(&self, id: &str) -> oneshot::Receiver<Bytes> {
        let (sender, receiver) = oneshot::channel();
        self.lock().exchanges.insert(id.to_owned(), sender);
        receiver
    }

    /// Returns the next message for the protocol; `None` at the end of the connection.
    pub(crate) async fn next_for_protocol(&self) -> Option<String> {
        let text = self.until(&self.protocol, |state| state.incoming.take()).await.ok()?;
        self.client.notify_waiters();
        Some(text)
    }

    /// Queues a message of the protocol once there is room for it. Messages of an ended connection
    /// are queued as well: a reader may still take them. One that is too large for the client is
    /// made smaller, or answered here.
    pub(crate) async fn send(&self, text: Bytes) {
        let text = match oversize::fit(text) {
            Fitted::Send(text) => text,
            Fitted::Answer(answer) => {
                self.lock().incoming.push(Head::of(&answer), answer);
                return self.protocol.notify_waiters();
            }
        };
        let head = match std::str::from_utf8(&text) {
            Ok(text) if self.routes || !text.starts_with(UPDATE) => Head::of(text),
            _ => Head::default(),
        };
        let mut given = Some((head, text));
        let queued = self
            .until(&self.protocol, |state| {
                let (head, _) = given.as_ref()?;
                if !state.has_room(&state.route(self.routes, head)) {
                    return None;
                }
                let (head, text) = given.take()?;
                Some(state.queue(self.routes, head, text))
            })
            .await;
        let overflows = match queued {
            Ok(overflows) => overflows,
            Err(_ended) => match given.take() {
                Some((head, text)) => self.lock().queue(self.routes, head, text),
                None => false,
            },
        };
        if overflows {
            self.end(EndReason::Gap);
        }
        self.notify_all();
    }

    /// Notes how many bytes of updates wait in the protocol; too many end the connection.
    pub(crate) fn waiting(&self, bytes: usize) {
        match *self.presence.borrow() {
            Presence::Attached if bytes > WAITING_BYTES => {}
            Presence::Detached if bytes > DETACHED_BYTES => {}
            _ => return,
        }
        let attached = *self.presence.borrow() == Presence::Attached;
        self.end(if attached { EndReason::SlowReader } else { EndReason::Gap });
    }

    /// Returns the number of messages received, and the sessions whose prompts are unanswered.
    pub(crate) fn progress(&self) -> (u64, Vec<String>) {
        let state = self.lock();
        (state.incoming.received(), state.incoming.running().into_iter().map(str::to_owned).collect())
    }

    /// Returns the protocol version that was negotiated.
    pub(crate) fn version(&self) -> Option<u64> {
        self.lock().version
    }

    /// Returns for how long a reader has taken nothing although messages wait.
    pub(crate) fn stalled(&self) -> Duration {
        let since = self.lock().streams.values().filter_map(|stream| stream.stalled).min();
        since.map(|since| since.elapsed()).unwrap_or_default()
    }

    /// Returns the name of its wire.
    pub(crate) fn transport(&self) -> &'static str {
        if self.routes { "http" } else { "websocket" }
    }

    /// Returns when it was last used; `None` if it never was.
    pub(crate) fn used(&self) -> Option<Instant> {
        self.lock().used
    }

    /// Whether no request of its client is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.lock().incoming.is_idle()
    }

    /// Returns the bytes that it holds for its client.
    pub(crate) fn bytes(&self) -> usize {
        self.lock().streams.values().map(|stream| stream.outgoing.bytes()).sum()
    }

    /// Waits until `ready` returns something; fails once it returns nothing and the connection has
    /// ended.
    async fn until<T>(
        &self,
        notify: &Notify,
        mut ready: impl FnMut(&mut State) -> Option<T>,
    ) -> Result<T, EndReason> {
        loop {
            let mut notified = std::pin::pin!(notify.notified());
            notified.as_mut().enable();
            let ended = self.ended();
            if let Some(value) = ready(&mut self.lock()) {
                return Ok(value);
            }
            if let Some(reason) = ended {
                return Err(reason);
            }
            notified.await;
        }
    }

    fn update_presence(&self) {
        let attached = {
            let mut state = self.lock();
            state.used = Some(Instant::now());
            state.streams.values().any(|stream| stream.reader.is_some())
        };
        let now = if attached { Presence::Attached } else { Presence::Detached };
        self.presence.send_if_modified(|presence| {
            let changes = *presence != now && !matches!(presence, Presence::Ended(_));
            if changes {
                *presence = now;
            }
            changes
        });
    }

    fn notify_all(&self) {
        self.outgoing.notify_waiters();
        self.protocol.notify_waiters();
        self.client.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How the SDK begins a session update, the most frequent message.
const UPDATE: &str = r#"{"jsonrpc":"2.0","method":"session/update""#;

/// What became of a posted message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Posted {
    /// It is queued for the protocol.
    Queued,
    /// It is known, and was not queued again.
    Known,
    /// Too many messages wait; it was not queued.
    Full,
    /// The connection has ended; it was not queued.
    Ended(EndReason),
}

impl State {
    fn stream(&mut self, key: &StreamKey) -> &mut Stream {
        self.streams.entry(key.clone()).or_default()
    }

    /// Returns the stream of a message.
    fn route(&self, routes: bool, head: &Head) -> StreamKey {
        let session = head.session.clone().filter(|_| routes).map(StreamKey::Session);
        session.filter(|key| self.streams.contains_key(key)).unwrap_or(StreamKey::Connection)
    }

    /// Whether the protocol may send another message on a stream. Where another stream is read and
    /// this one is not, it may: its messages are kept, and must not delay those of the other.
    fn has_room(&self, key: &StreamKey) -> bool {
        let Some(stream) = self.streams.get(key) else { return true };
        let elsewhere = stream.reader.is_none() && self.streams.values().any(|other| other.reader.is_some());
        let (messages, bytes) = stream.outgoing.waiting();
        elsewhere || messages < QUEUED_MESSAGES && bytes < QUEUED_BYTES
    }

    /// Queues a message of the protocol; returns whether more waits than is kept.
    fn queue(&mut self, routes: bool, mut head: Head, text: Bytes) -> bool {
        self.used = Some(Instant::now());
        if let Some(id) = head.id.as_deref().filter(|_| head.is_response()) {
            let session = self.incoming.answered(id).flatten();
            if let Some(exchange) = self.exchanges.remove(id) {
                self.version = self.version.or_else(|| negotiated(&text));
                // The HTTP request that waited for it may have been dropped.
                let _ = exchange.send(text);
                return false;
            }
            head.session = head.session.or(session);
        }
        let key = self.route(routes, &head);
        let stream = self.stream(&key);
        stream.outgoing.push(Message { text, session: head.session });
        if stream.reader.is_some() {
            stream.stalled.get_or_insert_with(Instant::now);
        }
        if !stream.overflows() {
            return false;
        }
        if key == StreamKey::Connection || stream.reader.is_some() {
            return true;
        }
        // The client left the stream of this session: its messages go to the connection's.
        let waiting = self.streams.remove(&key).map(|mut stream| stream.outgoing.take_waiting());
        let stream = self.stream(&StreamKey::Connection);
        waiting.into_iter().flatten().for_each(|message| stream.outgoing.push(message));
        stream.reader.is_none() && stream.overflows()
    }
}

/// Returns the version in a response to `initialize`.
fn negotiated(text: &[u8]) -> Option<u64> {
    let response: serde_json::Value = serde_json::from_slice(text).ok()?;
    response["result"]["protocolVersion"].as_u64()
}

/// The only reader of a stream, until another takes it. Dropping it detaches the stream.
pub(crate) struct Reader {
    connection: Arc<Connection>,
    key: StreamKey,
    generation: u64,
}

impl Reader {
    /// Waits for the next message. Cancel-safe.
    pub(crate) async fn next(&self) -> Next {
        loop {
            let mut notified = std::pin::pin!(self.connection.outgoing.notified());
            notified.as_mut().enable();
            if let Some(next) = self.try_next() {
                return next;
            }
            notified.await;
        }
    }

    /// Returns the next message if there is one now.
    pub(crate) fn try_next(&self) -> Option<Next> {
        let mut state = self.connection.lock();
        let stream = state.stream(&self.key);
        if stream.reader != Some(self.generation) {
            return Some(Next::Superseded);
        }
        let next = stream.outgoing.next();
        stream.stalled = (!stream.outgoing.is_idle()).then(Instant::now);
        let Some((number, text)) = next else {
            let reason = self.connection.ended()?;
            // The protocol still answers what was open.
            let settles = matches!(reason, EndReason::Stopping | EndReason::Finished);
            return (state.silent || !settles).then_some(Next::Ended(reason));
        };
        drop(state);
        self.connection.protocol.notify_waiters();
        Some(Next::Message(number, text))
    }

    /// Counts and queues a message of the client, once there is room. Returns false if the
    /// connection has ended, or if another reader has the stream: its client sends the message
    /// again.
    pub(crate) async fn receive(&self, head: Head, text: String) -> bool {
        let connection = &self.connection;
        let mut given = Some((head, text));
        let received = connection
            .until(&connection.client, |state| {
                if state.stream(&self.key).reader != Some(self.generation) {
                    return Some(false);
                }
                if !state.incoming.has_room() {
                    return None;
                }
                let (head, text) = given.take()?;
                state.used = Some(Instant::now());
                state.incoming.count();
                state.incoming.push(head, text);
                Some(true)
            })
            .await;
        connection.protocol.notify_waiters();
        received.unwrap_or(false)
    }

    /// Returns its connection.
    pub(crate) fn connection(&self) -> &Arc<Connection> {
        &self.connection
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        {
            let mut state = self.connection.lock();
            let Some(stream) = state.streams.get_mut(&self.key) else { return };
            if stream.reader != Some(self.generation) {
                return;
            }
            stream.reader = None;
            stream.stalled = None;
        }
        self.connection.update_presence();
        self.connection.notify_all();
    }
}
