//! A client's connection in any protocol version: its sessions, its running requests and its
//! output.

mod attach;
pub(crate) mod auth;
mod client;
mod coalesce;
pub(crate) mod content;
mod dispatch;
mod elicitation;
pub(crate) mod errors;
mod login;
mod open;
mod open_claims;
mod operations;
mod outbox;
mod params;
pub(crate) mod permission_options;
mod projection;
pub(crate) mod prompt_id;
mod replay;
mod reply;
mod rewind;
mod servers;
mod sessions;
pub(crate) mod set_option;
pub(crate) mod settings;
mod streamed;
mod tasks;
mod time;
mod tool_set;
pub(crate) mod trace;
pub(crate) mod unpriced;
mod unstored;
mod update;
mod version;
mod wire;

pub(crate) use attach::Attach;
pub(crate) use client::AcpClient;
#[cfg(test)]
pub(crate) use coalesce::{Coalescer, QueuedUpdate};
pub(crate) use dispatch::{AnyConnection, Dispatcher, unknown};
pub(crate) use outbox::Outbox;
pub(crate) use params::params;
pub(crate) use projection::Projection;
pub(crate) use replay::{HeldUpdates, ReplayFrom};
pub(crate) use reply::Reply;
pub(crate) use streamed::StreamedMessages;
pub(crate) use time::rfc3339;
pub(crate) use tool_set::ToolSet;
pub(crate) use unstored::unstored_ends;
pub(crate) use update::{ChunkKind, Update};
pub(crate) use version::{SessionParts, Version};
pub(crate) use wire::Wire;

use crate::{
    AcpOptions, AfterEnd, OnDisconnect,
    native::EventsSwitch,
    transport::{Backpressure, Ids},
};
use agent::{Client, ModelInfo, Runtime, SessionHandle, SessionId};
use agent_client_protocol::{Client as ClientRole, ConnectionTo, Error};
use login::Login;
use reply::InFlight;
use serde_json::Value;
use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};
use tasks::Tasks;
use tokio_util::sync::CancellationToken;

/// The connection of one client.
pub(crate) struct Connection<W: Wire> {
    /// The runtime that owns the sessions.
    pub(crate) runtime: Arc<Runtime>,
    /// The server's options.
    pub(crate) options: AcpOptions,
    /// The running requests.
    tasks: Tasks,
    /// Cancelled when the client disconnects.
    pub(crate) gone: CancellationToken,
    /// The unanswered requests.
    in_flight: InFlight,
    /// Whether native events are sent.
    pub(crate) native: Arc<EventsSwitch>,
    /// What the client and its user have decided about credentials.
    pub(crate) login: Login,
    backpressure: Arc<Backpressure>,
    /// Translates request ids between the client and the SDK.
    pub(crate) ids: Arc<Ids>,
    peer: OnceLock<Peer<W>>,
    /// Whether the client has gone and its turns go on.
    leaving: AtomicBool,
    /// What the client asked for about its turns after its connection.
    on_disconnect: OnceLock<OnDisconnect>,
    /// Whether updates of all sessions carry the number of the last stored event.
    numbered: AtomicBool,
    /// The sessions it opened, with the `Client` that reports their events.
    sessions: Mutex<HashMap<SessionId, Arc<AcpClient<W>>>>,
    /// Which sessions the client knows to be open, and which are being opened.
    claims: open_claims::OpenClaims,
}

/// The client, after `initialize`.
pub(crate) struct Peer<W: Wire> {
    /// The SDK's connection to it.
    pub(crate) connection: ConnectionTo<ClientRole>,
    /// The queue for updates.
    pub(crate) outbox: Arc<Outbox<W>>,
    /// Whether it supports forms.
    pub(crate) forms: bool,
    /// Version-specific properties that it declared.
    pub(crate) traits: W::ClientTraits,
    pump: tokio::task::AbortHandle,
}

impl<W: Wire> Drop for Peer<W> {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

impl<W: Wire> Connection<W> {
    /// Creates a connection whose client has not sent `initialize` yet.
    pub(crate) fn new(
        runtime: Arc<Runtime>,
        options: AcpOptions,
        backpressure: Arc<Backpressure>,
        ids: Arc<Ids>,
    ) -> Arc<Self> {
        Arc::new(Self {
            runtime,
            native: Arc::new(EventsSwitch::new(options.events)),
            options,
            tasks: Tasks::default(),
            in_flight: InFlight::default(),
            gone: CancellationToken::new(),
            login: Login::default(),
            backpressure,
            ids,
            peer: OnceLock::new(),
            leaving: AtomicBool::new(false),
            on_disconnect: OnceLock::new(),
            numbered: AtomicBool::new(false),
            sessions: Mutex::default(),
            claims: open_claims::OpenClaims::default(),
        })
    }

    /// Returns the client; an error before `initialize`.
    pub(crate) fn peer(&self) -> Result<&Peer<W>, Error> {
        self.peer.get().ok_or_else(|| errors::invalid_request("not initialized: send initialize first"))
    }

    /// Registers the client at `initialize`; returns false if it was registered already.
    pub(crate) fn register(
        &self,
        connection: ConnectionTo<ClientRole>,
        forms: bool,
        traits: W::ClientTraits,
    ) -> bool {
        if self.peer.get().is_some() {
            return false;
        }
        let outbox = Outbox::new(connection.clone(), self.backpressure.clone(), self.native.clone());
        let pump = {
            let outbox = outbox.clone();
            tokio::spawn(async move { outbox.pump().await }).abort_handle()
        };
        self.peer.set(Peer { connection, outbox, forms, traits, pump }).is_ok()
    }

    /// Takes note of what `initialize` asks for in all sessions: in its own `_meta`, or in that of
    /// the capabilities, the member `key`. Other values are ignored, as unknown capabilities are.
    pub(crate) fn on_initialize(&self, params: &Value, key: &str) {
        let asked = |name: &str| {
            let places = [params, &params[key]];
            places.into_iter().find_map(|place| place.pointer("/_meta/tiller")?.get(name))
        };
        self.numbered.store(asked("seq") == Some(&Value::Bool(true)), Ordering::Relaxed);
        let wanted = match asked("onDisconnect").and_then(Value::as_str) {
            Some("run") => OnDisconnect::Run,
            Some("cancel") => OnDisconnect::Cancel,
            _ => return,
        };
        // A connection is initialized once.
        let _ = self.on_disconnect.set(wanted);
    }

    /// Whether updates of a session carry the number of the last stored event.
    pub(crate) fn numbers(&self, attach: Attach) -> bool {
        attach.numbered || self.numbered.load(Ordering::Relaxed)
    }

    /// Returns the available models.
    pub(crate) fn models(&self) -> Vec<ModelInfo> {
        self.runtime.models().list()
    }

    /// Takes note that the client is gone: cancels its prompts, and the turns of every session
    /// without other subscribers; or leaves the sessions, if turns go on.
    pub(crate) fn cancel(&self) {
        if let AfterEnd::GoOn(linger) = self.options.link.after_end(self.on_disconnect.get().copied()) {
            self.leaving.store(true, Ordering::Relaxed);
            for handle in self.open_sessions() {
                if let Some(client) = self.subscriber(handle.id()) {
                    handle.detach(&client, linger);
                }
            }
        }
        self.gone.cancel();
        self.open_sessions().iter().filter(|handle| !handle.is_shared()).for_each(SessionHandle::cancel);
    }

    /// Whether the client has gone and its turns go on.
    pub(crate) fn turns_go_on(&self) -> bool {
        self.leaving.load(Ordering::Relaxed)
    }

    /// Cancels this client's prompts, closes every session without other subscribers, and waits
    /// until every request is answered.
    pub(crate) async fn settle(&self) {
        self.cancel();
        let mut handles = self.close_all().await;
        self.tasks.all_settled().await;
        // Sessions that requests opened while we waited for them.
        handles.extend(self.close_all().await);
        for handle in &handles {
            if let Some(peer) = self.peer.get() {
                peer.outbox.flush(handle.id());
            }
            self.forget(handle.id());
        }
    }

    /// Leaves every session that this client has open, and closes those without other subscribers.
    async fn close_all(&self) -> Vec<SessionHandle> {
        let handles = self.open_sessions();
        let left = handles.iter().filter(|handle| {
            let client = self.subscriber(handle.id());
            !client.is_some_and(|client| handle.leave(&client))
        });
        futures::future::join_all(left.map(SessionHandle::close)).await;
        handles
    }

    fn open_sessions(&self) -> Vec<SessionHandle> {
        let open_handle = |(id, client): (&SessionId, &Arc<AcpClient<W>>)| {
            let client: Arc<dyn Client> = client.clone();
            self.runtime.find(id).filter(|handle| handle.notifies(&client))
        };
        self.sessions().iter().filter_map(open_handle).collect()
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<AcpClient<W>>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
