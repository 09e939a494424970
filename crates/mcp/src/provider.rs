//! The provider of MCP tools for every session of a runtime.

use crate::{
    hub::Hub, locked::locked, offered::Offered, options::McpOptions, session_servers::SessionServers,
};
use agent::{SessionId, SessionScope, ToolProvider, ToolSource};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, Weak},
};

/// Returns the capabilities offered to the servers of a session's client, by server name.
pub type SessionOffers = dyn Fn(&SessionId) -> Option<BTreeMap<String, Vec<Offered>>> + Send + Sync;

/// Gives each session the tools of its servers.
pub struct McpProvider {
    options: Arc<McpOptions>,
    offers: Option<Arc<SessionOffers>>,
    /// The hubs of open sessions.
    open: Mutex<Vec<(SessionId, Weak<Hub>)>>,
}

impl McpProvider {
    /// Creates a provider. Servers start with a session.
    pub fn new(options: Arc<McpOptions>) -> Self {
        Self { options, offers: None, open: Mutex::default() }
    }

    /// Sets a function that is asked for offers when a session opens; where it returns `None`, the
    /// options' offers apply.
    pub fn with_offers(self, offers: Arc<SessionOffers>) -> Self {
        Self { offers: Some(offers), ..self }
    }

    /// Returns the servers of an open session, for calls from outside its model.
    pub fn session_servers(&self, session: &SessionId) -> Option<SessionServers> {
        let open = locked(&self.open);
        let hubs = open.iter().rev().filter(|(id, _)| id == session);
        hubs.filter_map(|(_, hub)| hub.upgrade()).next().map(SessionServers)
    }
}

impl ToolProvider for McpProvider {
    fn open(&self, session: &SessionScope) -> Arc<dyn ToolSource> {
        let offers = self.offers.as_ref().and_then(|offers| offers(&session.id));
        let options = match offers {
            Some(offers) => Arc::new(McpOptions { offers, ..self.options.as_ref().clone() }),
            None => Arc::clone(&self.options),
        };
        let hub = Hub::open(options, session);
        let mut open = locked(&self.open);
        open.retain(|(_, hub)| hub.strong_count() > 0);
        open.push((session.id.clone(), Arc::downgrade(&hub)));
        hub
    }
}
