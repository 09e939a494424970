//! All connections of a node.

use super::Connection;
use crate::{
    access::Access,
    application::{Application, Carried, EndReason, Presence},
    auth::{Permit, Source},
    limits::{ENDED_CONNECTIONS, ENDED_KEPT, GIVEN_UP, NODE_KEPT_BYTES, PIPE_BYTES, SLOW_READER},
};
use agent::{Principal, Scopes};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bytes::Bytes;
use std::{
    collections::{HashMap, HashSet, VecDeque},
    convert::Infallible,
    hash::{BuildHasher as _, RandomState},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream},
    time::Instant,
};
use tokio_util::task::TaskTracker;

/// The connections of a node, and the application that serves them.
pub(crate) struct Registry {
    application: Arc<dyn Application>,
    access: Arc<Access>,
    grace: Duration,
    state: Mutex<State>,
    tasks: TaskTracker,
    /// Hashes the users of ended connections.
    users: RandomState,
}

#[derive(Default)]
struct State {
    open: HashMap<String, Arc<Connection>>,
    /// The ids of those that other nodes forward.
    forwarded: HashSet<String>,
    /// Why recent connections ended, the oldest first.
    ended: VecDeque<Ended>,
}

/// An ended connection. It has no allocation of its own: thousands of small ones would keep the
/// memory of their connections from being given back.
struct Ended {
    at: Instant,
    id: Id,
    /// The hash of the user who opened it.
    user: u64,
    scopes: Scopes,
    reason: EndReason,
}

/// The random bytes of a connection's id.
type Id = [u8; 16];

/// Who opens a connection.
pub(crate) struct Opened {
    pub(crate) principal: Principal,
    pub(crate) source: Source,
    /// Counts it among those of its user.
    pub(crate) permit: Option<Permit>,
    /// Whether another node forwards it, which watches the credential.
    pub(crate) is_forwarded: bool,
}

/// What is known of a connection's id.
pub(crate) enum Found {
    /// It is open.
    Open(Arc<Connection>),
    /// It has ended.
    Ended(EndReason),
    /// There is none of this user.
    Unknown,
}

impl Registry {
    /// Creates a registry whose connections live for `grace` without a socket.
    pub(crate) fn new(application: Arc<dyn Application>, access: Arc<Access>, grace: Duration) -> Arc<Self> {
        let (state, tasks, users) = (Mutex::default(), TaskTracker::new(), RandomState::new());
        Arc::new(Self { application, access, grace, state, tasks, users })
    }

    /// Opens a connection and starts serving it.
    ///
    /// # Errors
    /// If the operating system has no random bytes.
    pub(crate) fn open(
        self: &Arc<Self>,
        principal: Principal,
        source: Source,
        permit: Option<Permit>,
    ) -> Result<Arc<Connection>, getrandom::Error> {
        let opened = Opened { principal, source, permit, is_forwarded: false };
        Ok(self.open_as(self.new_id()?, opened, true))
    }

    /// Returns an id for a new connection.
    ///
    /// # Errors
    /// If the operating system has no random bytes.
    pub(crate) fn new_id(&self) -> Result<String, getrandom::Error> {
        let mut random = Id::default();
        getrandom::fill(&mut random)?;
        Ok(URL_SAFE_NO_PAD.encode(random))
    }

    /// Opens a connection under an id of [`Registry::new_id`].
    pub(crate) fn open_as(self: &Arc<Self>, id: String, opened: Opened, routes: bool) -> Arc<Connection> {
        let Opened { principal, source, permit, is_forwarded } = opened;
        let connection = Connection::new(id, principal, source, routes);
        {
            let mut state = self.lock();
            state.open.insert(connection.id.clone(), connection.clone());
            if is_forwarded {
                state.forwarded.insert(connection.id.clone());
            }
        }
        let running = self.clone().run(connection.clone(), source, is_forwarded);
        self.tasks.spawn(async move {
            running.await;
            drop(permit);
        });
        connection
    }

    /// Returns the connection with an id, if it is the principal's. A credential that permits less
    /// than the one that opened it cannot use it: what a connection may do was decided then.
    pub(crate) fn find(&self, id: &str, principal: &Principal) -> Found {
        let state = self.lock();
        let may =
            |opener: &Principal| opener.is_same_user(principal) && principal.scopes.includes(opener.scopes);
        let open = state.open.get(id).filter(|connection| may(&connection.principal));
        match open {
            Some(connection) => match connection.ended() {
                None => Found::Open(connection.clone()),
                Some(reason) => Found::Ended(reason),
            },
            None => {
                let Some(id) = bytes_of(id) else { return Found::Unknown };
                let user = self.hash_of(principal);
                let found = state.ended.iter().find(|ended| {
                    ended.id == id && ended.user == user && principal.scopes.includes(ended.scopes)
                });
                found.map_or(Found::Unknown, |ended| Found::Ended(ended.reason))
            }
        }
    }

    /// Returns all open connections.
    pub(crate) fn all(&self) -> Vec<Arc<Connection>> {
        self.lock().open.values().cloned().collect()
    }

    /// Returns the application.
    pub(crate) fn application(&self) -> &Arc<dyn Application> {
        &self.application
    }

    /// Ends the connections that other nodes forward.
    pub(crate) fn end_forwarded(&self, reason: EndReason) {
        let state = self.lock();
        let forwarded = state.forwarded.iter().filter_map(|id| state.open.get(id));
        forwarded.cloned().collect::<Vec<_>>().iter().for_each(|connection| connection.end(reason));
    }

    /// Whether a client of this node waits for the end of a turn.
    pub(crate) fn has_running_prompts(&self) -> bool {
        let state = self.lock();
        let own = state.open.iter().filter(|(id, _)| !state.forwarded.contains(*id));
        own.into_iter().any(|(_, connection)| !connection.progress().1.is_empty())
    }

    /// Ends every connection, and waits until the application has settled.
    pub(crate) async fn stop(&self) {
        self.all().iter().for_each(|connection| connection.end(EndReason::Stopping));
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Ends connections that are read too slowly, and the largest ones without a socket while all
    /// together hold more than a node keeps.
    pub(crate) fn sweep(&self) {
        let all = self.all();
        for connection in all.iter().filter(|connection| connection.stalled() > SLOW_READER) {
            connection.end(EndReason::SlowReader);
        }
        let mut detached: Vec<_> =
            all.into_iter().map(|connection| (connection.bytes(), connection)).collect();
        let mut bytes: usize = detached.iter().map(|(bytes, _)| bytes).sum();
        detached.retain(|(_, connection)| *connection.presence().borrow() == Presence::Detached);
        detached.sort_by_key(|(bytes, _)| *bytes);
        while bytes > NODE_KEPT_BYTES
            && let Some((freed, connection)) = detached.pop()
        {
            bytes -= freed;
            connection.end(EndReason::Gap);
        }
    }

    /// Gives memory back: ends a part of the connections that are idle and have no socket, the
    /// longest unused ones first; once there are none, of the idle ones with a socket, and then of
    /// all without a socket. A connection is idle while no request is open on it.
    pub(crate) fn free_memory(&self) {
        let mut all = self.all();
        all.sort_by_key(|connection| connection.used());
        let of = |presence: Presence| {
            all.iter().filter(move |connection| *connection.presence().borrow() == presence)
        };
        let is_idle = |connection: &&Arc<Connection>| connection.is_idle();
        let groups: [(Vec<_>, _); 3] = [
            (of(Presence::Detached).filter(is_idle).collect(), EndReason::Gap),
            (of(Presence::Attached).filter(is_idle).collect(), EndReason::Overloaded),
            (of(Presence::Detached).collect(), EndReason::Gap),
        ];
        let first = groups.into_iter().find(|(connections, _)| !connections.is_empty());
        let Some((given_up, reason)) = first else { return };
        let most = given_up.len().div_ceil(GIVEN_UP);
        for connection in given_up.into_iter().take(most) {
            metrics::counter!("tiller_overloaded_total", "what" => "memory").increment(1);
            tracing::warn!(connection = %connection.id, "a connection is given up for want of memory");
            connection.end(reason);
        }
    }

    /// Serves a connection until it ends.
    async fn run(self: Arc<Self>, connection: Arc<Connection>, source: Source, is_forwarded: bool) {
        let (to_protocol, reader) = tokio::io::duplex(PIPE_BYTES);
        let (writer, from_protocol) = tokio::io::duplex(PIPE_BYTES);
        let waiting = Arc::downgrade(&connection);
        let carried = Carried {
            id: connection.id.clone(),
            principal: connection.principal.clone(),
            source,
            is_forwarded,
            reader,
            writer,
            presence: connection.presence(),
            waiting: Arc::new(move |bytes| {
                if let Some(connection) = waiting.upgrade() {
                    connection.waiting(bytes);
                }
            }),
        };
        let ((), (), ()) = tokio::join!(
            async {
                tokio::select! {
                    () = self.application.serve(carried) => {}
                    never = self.expire(&connection) => match never {},
                    never = self.revoke(&connection), if !is_forwarded => match never {},
                }
                connection.end(EndReason::Application);
            },
            feed(&connection, to_protocol),
            drain(&connection, from_protocol),
        );
        connection.fall_silent();
        self.forget(&connection);
    }

    /// Ends the connection once it has had no socket for too long. Never completes.
    async fn expire(&self, connection: &Connection) -> Infallible {
        let mut presence = connection.presence();
        loop {
            let now = *presence.borrow_and_update();
            let changed = presence.changed();
            match now {
                Presence::Detached => tokio::select! {
                    _ = changed => {}
                    () = tokio::time::sleep(self.grace) => connection.end(EndReason::Expired),
                },
                // We own a sender, so the channel cannot close while we wait.
                Presence::Attached => drop(changed.await),
                Presence::Ended(_) => std::future::pending().await,
            }
        }
    }

    /// Ends the connection once its credential is no longer valid. Never completes.
    async fn revoke(&self, connection: &Connection) -> Infallible {
        let stops = self.access.until_invalid(&connection.principal).await;
        connection.end(if stops { EndReason::Stopped } else { EndReason::Revoked });
        std::future::pending().await
    }

    fn forget(&self, connection: &Connection) {
        let mut state = self.lock();
        state.open.remove(&connection.id);
        state.forwarded.remove(&connection.id);
        let now = Instant::now();
        while state.ended.len() >= ENDED_CONNECTIONS
            || state.ended.front().is_some_and(|ended| now - ended.at > ENDED_KEPT)
        {
            state.ended.pop_front();
        }
        let Some(id) = bytes_of(&connection.id) else { return };
        state.ended.push_back(Ended {
            at: now,
            id,
            user: self.hash_of(&connection.principal),
            scopes: connection.principal.scopes,
            reason: connection.ended().unwrap_or(EndReason::Application),
        });
    }

    fn hash_of(&self, principal: &Principal) -> u64 {
        self.users.hash_one((&principal.tenant, &principal.user))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the random bytes of a connection's id; `None` if it is none of [`Registry::new_id`].
fn bytes_of(id: &str) -> Option<Id> {
    URL_SAFE_NO_PAD.decode(id).ok()?.try_into().ok()
}

/// Writes the client's messages to the protocol, until the connection ends.
async fn feed(connection: &Connection, mut to_protocol: DuplexStream) {
    while let Some(mut text) = connection.next_for_protocol().await {
        text.push('\n');
        if to_protocol.write_all(text.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// Queues the protocol's messages for the client, until the protocol writes nothing more.
async fn drain(connection: &Connection, from_protocol: DuplexStream) {
    let mut reader = BufReader::new(from_protocol);
    let mut line = Vec::new();
    while reader.read_until(b'\n', &mut line).await.is_ok_and(|bytes| bytes > 0) {
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        connection.send(Bytes::from(std::mem::take(&mut line))).await;
    }
}
