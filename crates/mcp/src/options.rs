//! What all servers of this process share: dependencies and settings.

use crate::{files::ServerFiles, oauth::Grants, offered::Offered, pins::Pins, reference::Values};
use agent::Redactor;
use std::{collections::BTreeMap, sync::Arc};
use system::{AbsPath, System};

/// Creates the HTTP client for a URL.
pub type HttpFactory = dyn Fn(&str) -> Result<reqwest::Client, String> + Send + Sync;

/// The dependencies and settings of all servers, resolved once by the binary.
#[derive(Clone)]
pub struct McpOptions {
    /// The system on which programs run and files are read; always the local one.
    pub system: Arc<dyn System>,
    /// What is stored for servers.
    pub stores: ServerStores,
    /// Learns every secret before it is used, and removes secrets from messages.
    pub redactor: Redactor,
    /// Creates the HTTP client for a URL. It must not follow redirects, which would carry headers
    /// to another host.
    pub http: Arc<HttpFactory>,
    /// The directory of the directories in which the user's servers start.
    pub directory: AbsPath,
    /// The files that describe servers.
    pub files: ServerFiles,
    /// Capabilities offered to clients' servers, by server name. A client cannot set them.
    pub offers: BTreeMap<String, Vec<Offered>>,
    /// Environment variables that every program gets in addition to its own.
    pub variables: Vec<(String, String)>,
    /// Why no program may be started as a server, if none may: a sentence for the user.
    pub no_programs: Option<String>,
    /// The version that we report to servers.
    pub version: String,
}

/// What is stored for servers.
#[derive(Clone)]
pub struct ServerStores {
    /// Resolves references to variables and secrets.
    pub values: Arc<dyn Values>,
    /// The store of grants.
    pub grants: Arc<dyn Grants>,
    /// The store of tool definitions seen before.
    pub pins: Arc<dyn Pins>,
}
