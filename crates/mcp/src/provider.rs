//! Servers for every session of a runtime.

use crate::{Grants, Offered, Pins, SessionServers, Values, connection::locked, hub::Hub};
use agent::{FolderTrust, Redactor, SessionId, SessionScope, ToolProvider, ToolSource};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, Weak},
};
use system::{AbsPath, System};

/// Makes the HTTP client for an address.
pub type HttpFactory = dyn Fn(&str) -> Result<reqwest::Client, String> + Send + Sync;

/// What servers of a session's client may ask of us, by their names.
pub type OffersOf = dyn Fn(&SessionId) -> Option<BTreeMap<String, Vec<Offered>>> + Send + Sync;

/// What servers are started with; resolved once, at the edge.
#[derive(Clone)]
pub struct McpOptions {
    /// The machine that programs run on and files are read from: this one.
    pub system: Arc<dyn System>,
    /// Where values behind references are.
    pub values: Arc<dyn Values>,
    /// Where it is kept what was granted to those who signed in.
    pub grants: Arc<dyn Grants>,
    /// Is told of every secret before it is used, and takes them out of what is said.
    pub redactor: Redactor,
    /// What was seen of tools before.
    pub pins: Arc<dyn Pins>,
    /// Makes the HTTP client for an address. It must follow no redirects: one to another host would carry headers there.
    pub http: Arc<HttpFactory>,
    /// Whether a folder's files may be used.
    pub trust: FolderTrust,
    /// The user's own file of servers.
    pub user_file: AbsPath,
    /// What servers of clients may ask of us, by their names. Nothing in what a client sends says so.
    pub offers: BTreeMap<String, Vec<Offered>>,
    /// Variables that every program gets beside its own.
    pub variables: Vec<(String, String)>,
    /// What servers are told of our version.
    pub version: String,
}

/// Gives each session the tools of its servers.
pub struct McpProvider {
    options: Arc<McpOptions>,
    offers: Option<Arc<OffersOf>>,
    /// Those of sessions that are open.
    open: Mutex<Vec<(SessionId, Weak<Hub>)>>,
}

impl McpProvider {
    /// Starts nothing before there is a session.
    pub fn new(options: Arc<McpOptions>) -> Self {
        Self { options, offers: None, open: Mutex::default() }
    }

    /// With offers that are asked for when a session opens; those of the options hold where there
    /// are none.
    pub fn with_offers(self, offers: Arc<OffersOf>) -> Self {
        Self { offers: Some(offers), ..self }
    }

    /// The servers of a session that is open, for whoever calls them past its model.
    pub fn of_session(&self, session: &SessionId) -> Option<SessionServers> {
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
