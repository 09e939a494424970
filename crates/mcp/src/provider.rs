//! The provider of MCP tools for every session of a runtime.

use crate::{Grants, Offered, Pins, SessionServers, Values, connection::locked, hub::Hub};
use agent::{FolderTrust, Redactor, SessionId, SessionScope, ToolProvider, ToolSource};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, Weak},
};
use system::{AbsPath, System};

/// Creates the HTTP client for a URL.
pub type HttpFactory = dyn Fn(&str) -> Result<reqwest::Client, String> + Send + Sync;

/// Returns the capabilities offered to the servers of a session's client, by server name.
pub type SessionOffers = dyn Fn(&SessionId) -> Option<BTreeMap<String, Vec<Offered>>> + Send + Sync;

/// The dependencies and settings of all servers, resolved once by the binary.
#[derive(Clone)]
pub struct McpOptions {
    /// The system on which programs run and files are read; always the local one.
    pub system: Arc<dyn System>,
    /// Resolves references to variables and secrets.
    pub values: Arc<dyn Values>,
    /// The store of grants.
    pub grants: Arc<dyn Grants>,
    /// Learns every secret before it is used, and removes secrets from messages.
    pub redactor: Redactor,
    /// The store of tool definitions seen before.
    pub pins: Arc<dyn Pins>,
    /// Creates the HTTP client for a URL. It must not follow redirects, which would carry headers
    /// to another host.
    pub http: Arc<HttpFactory>,
    /// Decides whether a project's files may be used.
    pub trust: FolderTrust,
    /// The user's own file of servers.
    pub user_file: AbsPath,
    /// Capabilities offered to clients' servers, by server name. A client cannot set them.
    pub offers: BTreeMap<String, Vec<Offered>>,
    /// Environment variables that every program gets in addition to its own.
    pub variables: Vec<(String, String)>,
    /// The version that we report to servers.
    pub version: String,
}

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
