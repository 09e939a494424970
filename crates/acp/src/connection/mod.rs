//! A client's connection, whatever version of the protocol it speaks: its sessions, its running work, the way out to it.

pub(crate) mod answers;
pub(crate) mod auth;
mod client;
mod coalesce;
pub(crate) mod content;
mod dispatch;
pub(crate) mod errors;
pub(crate) mod money;
mod opening;
mod outbox;
mod replayed;
mod reply;
mod rewind;
mod servers;
mod sessions;
pub(crate) mod settings;
mod tasks;
mod time;
mod update;
mod wire;

pub(crate) use client::{AcpClient, Outfit};
#[cfg(test)]
pub(crate) use coalesce::{Coalescer, Waiting};
pub(crate) use dispatch::{Dispatcher, Served, unknown};
pub(crate) use outbox::Outbox;
pub(crate) use replayed::Replayed;
pub(crate) use reply::Reply;
pub(crate) use sessions::Held;
pub(crate) use time::rfc3339;
pub(crate) use update::{ChunkKind, Update};
pub(crate) use wire::{Projection, Wire};

use crate::{
    AcpOptions,
    native::Switch,
    transport::{Gauge, Ids},
};
use agent::{Client, ModelInfo, Runtime, SessionHandle, SessionId};
use agent_client_protocol::{Client as ClientRole, ConnectionTo, Error};
use reply::InFlight;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, atomic::AtomicBool},
};
use tasks::Tasks;
use tokio_util::sync::CancellationToken;

/// One client's connection.
pub(crate) struct Connection<W: Wire> {
    /// The runtime behind it.
    pub(crate) runtime: Arc<Runtime>,
    /// How it behaves.
    pub(crate) options: AcpOptions,
    /// Its running work.
    pub(crate) tasks: Tasks,
    /// Cancelled when the client has gone.
    pub(crate) gone: CancellationToken,
    /// Its unanswered requests.
    pub(crate) in_flight: InFlight,
    /// Whether events of the native layer are told.
    pub(crate) native: Arc<Switch>,
    /// Whether the client has logged out and not authenticated since.
    pub(crate) logged_out: AtomicBool,
    /// Whether the client lets its user log in where a session is refused for that.
    pub(crate) shows_login: AtomicBool,
    /// Whether its user wants to go on without a language model, until one is set up.
    pub(crate) without_model: AtomicBool,
    gauge: Arc<Gauge>,
    /// The ids of requests, as the client has them.
    pub(crate) ids: Arc<Ids>,
    peer: OnceLock<Peer<W>>,
    /// The sessions it opened, with who tells their events to the client.
    sessions: Mutex<HashMap<SessionId, Arc<AcpClient<W>>>>,
    /// Which of them the client was told of, and which are being opened.
    claims: opening::Claims,
}

/// The client, once it has introduced itself.
pub(crate) struct Peer<W: Wire> {
    /// The way to it.
    pub(crate) connection: ConnectionTo<ClientRole>,
    /// The way out for updates.
    pub(crate) outbox: Arc<Outbox<W>>,
    /// Whether it shows forms.
    pub(crate) forms: bool,
    /// What else it says of itself.
    pub(crate) traits: W::Traits,
    pump: tokio::task::AbortHandle,
}

impl<W: Wire> Drop for Peer<W> {
    fn drop(&mut self) {
        self.pump.abort();
    }
}

impl<W: Wire> Connection<W> {
    /// A connection whose client has not introduced itself yet.
    pub(crate) fn new(
        runtime: Arc<Runtime>,
        options: AcpOptions,
        gauge: Arc<Gauge>,
        ids: Arc<Ids>,
    ) -> Arc<Self> {
        Arc::new(Self {
            runtime,
            native: Arc::new(Switch::new(options.events)),
            options,
            tasks: Tasks::default(),
            in_flight: InFlight::default(),
            gone: CancellationToken::new(),
            logged_out: AtomicBool::new(false),
            shows_login: AtomicBool::new(false),
            without_model: AtomicBool::new(false),
            gauge,
            ids,
            peer: OnceLock::new(),
            sessions: Mutex::default(),
            claims: opening::Claims::default(),
        })
    }

    /// The client; an error before `initialize`.
    pub(crate) fn peer(&self) -> Result<&Peer<W>, Error> {
        self.peer.get().ok_or_else(|| errors::invalid_request("not initialized: send initialize first"))
    }

    /// The client introduces itself; false when it did already.
    pub(crate) fn introduce(
        &self,
        connection: ConnectionTo<ClientRole>,
        forms: bool,
        traits: W::Traits,
    ) -> bool {
        if self.peer.get().is_some() {
            return false;
        }
        let outbox = Outbox::new(connection.clone(), self.gauge.clone(), self.native.clone());
        let pump = {
            let outbox = outbox.clone();
            tokio::spawn(async move { outbox.pump().await }).abort_handle()
        };
        self.peer.set(Peer { connection, outbox, forms, traits, pump }).is_ok()
    }

    /// The models to choose from.
    pub(crate) fn models(&self) -> Vec<ModelInfo> {
        self.runtime.models().list()
    }

    /// Cancels the prompts of this client, and the turns of every session that nobody else is told of.
    pub(crate) fn cancel(&self) {
        self.gone.cancel();
        self.open_sessions().iter().filter(|handle| !handle.is_shared()).for_each(SessionHandle::cancel);
    }

    /// Cancels the prompts of this client, closes every session that nobody else is told of, and waits until every request is answered.
    pub(crate) async fn settle(&self) {
        self.cancel();
        let mut handles = self.close_all().await;
        self.tasks.settled().await;
        // Those that requests opened while they were waited for.
        handles.extend(self.close_all().await);
        for handle in &handles {
            if let Some(peer) = self.peer.get() {
                peer.outbox.flush(handle.id());
            }
            self.forget(handle.id());
        }
    }

    /// Leaves every session that this client has open, and closes those that nobody else is told
    /// of.
    async fn close_all(&self) -> Vec<SessionHandle> {
        let handles = self.open_sessions();
        let left = handles.iter().filter(|handle| {
            let client = self.watched(handle.id());
            !client.is_some_and(|client| handle.leave(&client))
        });
        futures::future::join_all(left.map(SessionHandle::close)).await;
        handles
    }

    fn open_sessions(&self) -> Vec<SessionHandle> {
        let told = |(id, client): (&SessionId, &Arc<AcpClient<W>>)| {
            let client: Arc<dyn Client> = client.clone();
            self.runtime.find(id).filter(|handle| handle.tells(&client))
        };
        self.sessions().iter().filter_map(told).collect()
    }

    fn sessions(&self) -> MutexGuard<'_, HashMap<SessionId, Arc<AcpClient<W>>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Decodes the parameters of a request.
pub(crate) fn params<T: DeserializeOwned>(method: &str, params: Value) -> Result<T, Error> {
    let params = if params.is_null() { Value::Object(Map::new()) } else { params };
    serde_json::from_value(params)
        .map_err(|error| errors::invalid_params(format!("invalid params of {method}: {error}")))
}
