//! Routes the messages of one client: those of a session over a hop to the node that holds it, all
//! others to this node's own protocol.

use super::{
    hop::{Hop, Hops},
    rewrite,
};
use crate::{
    application::{Application, Carried, EndReason, Presence},
    limits::{HELD_MESSAGES, HOP_END_WAIT, PIPE_BYTES},
    message::Head,
};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream},
    sync::mpsc,
    time::timeout,
};
use tokio_util::task::TaskTracker;

/// The id of the `initialize` request that begins a hop.
const OWN_INITIALIZE: &str = r#""tiller-hop-initialize""#;
/// The methods that create a session.
const CREATING: [&str; 2] = ["session/new", "session/fork"];
/// The methods that open a session.
const OPENING: [&str; 2] = ["session/load", "session/resume"];
/// The methods after which a session is not open.
const CLOSING: [&str; 3] = ["session/close", "session/delete", "session/archive"];

/// The messages of one client, on their ways.
struct Router {
    state: Mutex<State>,
    /// The way to the client.
    client: tokio::sync::Mutex<DuplexStream>,
    tasks: TaskTracker,
}

#[derive(Default)]
struct State {
    /// The client's `initialize` request, which each hop begins with.
    initialize: Option<String>,
    open: HashMap<u64, Arc<OpenHop>>,
    /// The hops over which a session was opened, and not closed since.
    opened: HashSet<u64>,
    /// The hop of each session.
    sessions: HashMap<String, u64>,
    /// The client's requests that are not answered, by id.
    requests: HashMap<String, Request>,
    last_hop: u64,
}

/// A hop with what is known of it.
struct OpenHop {
    hop: Hop,
    /// Takes lines; `None` once there are no more.
    input: Mutex<Option<mpsc::Sender<String>>>,
}

impl OpenHop {
    /// Passes a line on. A hop that has ended answers what was asked by itself.
    async fn send(&self, line: String) {
        let input = self.input().clone();
        if let Some(input) = input {
            let _ = input.send(line).await;
        }
    }

    /// Ends the hop's input.
    fn end(&self) {
        self.input().take();
    }

    fn input(&self) -> MutexGuard<'_, Option<mpsc::Sender<String>>> {
        self.input.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Returns a hop as a target. Messages to a hop that has ended go to this node, which refuses
    /// what it does not know.
    fn hop(&self, number: u64) -> Target {
        self.open.get(&number).cloned().map_or(Target::Here, Target::Hop)
    }
}

/// A request of the client.
#[derive(Debug, Clone)]
struct Request {
    hop: Option<u64>,
    method: String,
    session: Option<String>,
}

/// Where a message goes.
enum Target {
    Here,
    Hop(Arc<OpenHop>),
}

/// Serves a client whose sessions may be at any node. `application` is this node's own protocol.
pub(super) async fn route(hops: Arc<Hops>, application: Arc<dyn Application>, client: Carried) {
    let Carried { id, principal, source, is_forwarded, reader, writer, presence, waiting } = client;
    let (here, own_reader) = tokio::io::duplex(PIPE_BYTES);
    let (own_writer, from_here) = tokio::io::duplex(PIPE_BYTES);
    let own = Carried {
        id,
        principal: principal.clone(),
        source,
        is_forwarded,
        reader: own_reader,
        writer: own_writer,
        presence: presence.clone(),
        waiting,
    };
    let router = Arc::new(Router {
        state: Mutex::default(),
        client: tokio::sync::Mutex::new(writer),
        tasks: TaskTracker::new(),
    });
    let open = |session: Option<String>| Hop::new(hops.clone(), principal.clone(), source, session);
    tokio::join!(
        application.serve(own),
        router.pass_to_client(None, from_here),
        router.clone().pass_from_client(reader, here, open),
    );
    let stops = matches!(*presence.borrow(), Presence::Ended(EndReason::Deleted | EndReason::Stopped));
    router.end(stops).await;
}

impl Router {
    /// Passes the client's messages on until it sends no more.
    async fn pass_from_client(
        self: Arc<Self>,
        reader: DuplexStream,
        mut here: DuplexStream,
        open: impl Fn(Option<String>) -> Hop,
    ) {
        let mut lines = BufReader::new(reader).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let head = Head::of(&line);
            let (target, line) = self.target(&head, line, &open);
            match target {
                Target::Here => {
                    if let Err(error) = write_line(&mut here, &line).await {
                        tracing::debug!(%error, "the protocol of this node reads no more");
                    }
                }
                Target::Hop(hop) => hop.send(line).await,
            }
        }
    }

    /// Decides where a message of the client goes, and opens the hop there if need be.
    fn target(
        self: &Arc<Self>,
        head: &Head,
        line: String,
        open: &impl Fn(Option<String>) -> Hop,
    ) -> (Target, String) {
        let mut state = self.lock();
        if head.is_response() {
            return match rewrite::to_node(head, &line) {
                Some((hop, answer)) => (state.hop(hop), answer),
                None => (Target::Here, line),
            };
        }
        let Some(method) = head.method.as_deref() else { return (Target::Here, line) };
        if method == "initialize" {
            state.initialize.get_or_insert_with(|| line.clone());
        }
        if method == rewrite::CANCEL_REQUEST {
            let request = rewrite::cancelled_request(&line);
            let hop = request.and_then(|id| state.requests.get(&id)?.hop);
            return (hop.map_or(Target::Here, |hop| state.hop(hop)), line);
        }
        let creates = CREATING.contains(&method);
        let session = head.session.clone().filter(|_| !creates);
        let hop = session.as_ref().and_then(|session| state.sessions.get(session).copied());
        // A notification about a session that is not open has no effect anywhere.
        let needs_hop = head.is_request() && (creates || session.is_some());
        let hop = match hop {
            None if needs_hop && state.initialize.is_some() => {
                Some(self.open(&mut state, open(session.clone()), session.as_deref()))
            }
            hop => hop,
        };
        if let Some(id) = head.id.clone() {
            state.requests.insert(id, Request { hop, method: method.to_owned(), session });
        }
        (hop.map_or(Target::Here, |hop| state.hop(hop)), line)
    }

    /// Opens a hop, which begins with the client's own `initialize`.
    fn open(self: &Arc<Self>, state: &mut State, hop: Hop, session: Option<&str>) -> u64 {
        state.last_hop += 1;
        let number = state.last_hop;
        let (mut input, reader) = tokio::io::duplex(PIPE_BYTES);
        let (writer, output) = tokio::io::duplex(PIPE_BYTES);
        let (lines, mut queued) = mpsc::channel::<String>(HELD_MESSAGES);
        if let Some(own) = state.initialize.as_deref().and_then(|text| rewrite::with_id(text, OWN_INITIALIZE))
        {
            // The channel is new, so it has room.
            let _ = lines.try_send(own);
        }
        let carried = hop.carry(reader, writer);
        state.open.insert(number, Arc::new(OpenHop { hop, input: Mutex::new(Some(lines)) }));
        if let Some(session) = session {
            state.sessions.insert(session.to_owned(), number);
        }
        let router = self.clone();
        self.tasks.spawn(async move {
            let feed = async move {
                while let Some(line) = queued.recv().await {
                    if write_line(&mut input, &line).await.is_err() {
                        return;
                    }
                }
            };
            let ((), ended, ()) = tokio::join!(feed, carried, router.pass_to_client(Some(number), output));
            if let Err(error) = &ended {
                tracing::warn!(%error, hop = number, "a session cannot be reached");
            }
            router.lose(number, ended.err().map(|error| error.to_string())).await;
        });
        number
    }

    /// Passes messages of this node or of a hop to the client, until there are no more.
    async fn pass_to_client(&self, hop: Option<u64>, from: DuplexStream) {
        let mut lines = BufReader::new(from).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let head = Head::of(&line);
            if hop.is_some() && head.id.as_deref() == Some(OWN_INITIALIZE) {
                continue;
            }
            let closed = match &head.id {
                Some(id) if head.is_response() => self.answered(id, &head, &line),
                _ => None,
            };
            let line = match hop {
                Some(hop) => rewrite::to_client(hop, &head, line),
                None => line,
            };
            // A client that is gone reads no more; its end is noticed by its own messages.
            let _ = write_line(&mut *self.client.lock().await, &line).await;
            if let Some(closed) = closed {
                closed.end();
            }
        }
    }

    /// Takes note of a response. Returns the hop that is of no more use.
    fn answered(&self, id: &str, head: &Head, line: &str) -> Option<Arc<OpenHop>> {
        let mut state = self.lock();
        let request = state.requests.remove(id)?;
        let number = request.hop?;
        let method = request.method.as_str();
        if CREATING.contains(&method) && !head.is_error {
            let response: Value = serde_json::from_str(line).unwrap_or_default();
            let session = response["result"]["sessionId"].as_str()?;
            state.sessions.insert(session.to_owned(), number);
            state.opened.insert(number);
            state.open.get(&number)?.hop.set_session(session);
            return None;
        }
        if OPENING.contains(&method) && !head.is_error {
            state.opened.insert(number);
        }
        if CLOSING.contains(&method) && !head.is_error {
            state.opened.remove(&number);
        }
        let is_used = state.requests.values().any(|request| request.hop == Some(number));
        if is_used || state.opened.contains(&number) {
            return None;
        }
        state.sessions.retain(|_, hop| *hop != number);
        state.open.remove(&number)
    }

    /// Answers what was asked over a hop that has ended.
    async fn lose(&self, number: u64, why: Option<String>) {
        let ids: Vec<String> = {
            let mut state = self.lock();
            state.open.remove(&number);
            state.opened.remove(&number);
            state.sessions.retain(|_, hop| *hop != number);
            let mut ids = Vec::new();
            state.requests.retain(|id, request| {
                let lost = request.hop == Some(number);
                if lost {
                    ids.push(id.clone());
                }
                !lost
            });
            ids
        };
        let why = why.unwrap_or_else(|| "its node closed the connection".to_owned());
        let message = format!(
            "the session cannot be reached ({why}); load it again in a moment, nothing of it is lost"
        );
        for id in ids {
            let id: Value = serde_json::from_str(&id).unwrap_or_default();
            let error = json!({ "code": -32603, "message": message, "data": { "reason": "owner_lost", "retryAfterMs": 5_000 } });
            let answer = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            let _ = write_line(&mut *self.client.lock().await, &answer.to_string()).await;
        }
    }

    /// Ends all hops. Turns go on without the client, unless they must stop as well.
    async fn end(&self, stops: bool) {
        let (hops, prompted) = {
            let state = self.lock();
            let prompts = state.requests.values().filter(|request| request.method == "session/prompt");
            let prompted: HashSet<(String, u64)> =
                prompts.filter_map(|request| Some((request.session.clone()?, request.hop?))).collect();
            (state.open.clone(), prompted)
        };
        for (session, hop) in prompted.iter().filter(|_| stops) {
            if let Some(hop) = hops.get(hop) {
                let cancel = json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": { "sessionId": session } });
                let _ = timeout(HOP_END_WAIT, hop.send(cancel.to_string())).await;
            }
        }
        hops.values().for_each(|hop| hop.end());
        self.tasks.close();
        let _ = timeout(HOP_END_WAIT, self.tasks.wait()).await;
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn write_line(writer: &mut DuplexStream, line: &str) -> std::io::Result<()> {
    let mut bytes = Vec::with_capacity(line.len() + 1);
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    writer.write_all(&bytes).await
}
