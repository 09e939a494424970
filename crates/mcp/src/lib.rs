//! MCP servers as tools of a session, and this program as an MCP server.
//!
//! A `ServerConfig` describes a server; `find` reads the descriptions of the user and of a project
//! and keeps those that are trusted. `McpProvider` gives each session a hub that starts its servers
//! in the background, lists their tools, calls them and restarts a server that ends. `login` and
//! `logout` handle OAuth for servers over HTTP. `serve` is the opposite direction: a server over
//! standard streams, in front of a `Gateway` of chosen `Upstreams`.
//!
//! Architecture Invariant: no other crate names the protocol's library (`rmcp`). A broken server
//! costs its session that server's tools and nothing else. This crate must never use a project's
//! server that is not trusted, or send a server's credentials to another server.

mod attach;
mod config;
mod connect_error;
mod connection;
mod content;
mod direct_query;
mod error_text;
mod files;
mod http;
mod hub;
mod limits;
mod line_reader;
mod listed;
mod locked;
mod names;
mod oauth;
mod offered;
mod options;
mod pins;
mod progress;
mod prompts;
mod provider;
mod reference;
mod sampling;
mod search;
mod serve;
mod server;
mod server_requests;
mod session_servers;
mod sse;
mod stdio;
mod tool;
mod tool_definition;
mod upstreams;

pub use config::{ConfigError, Origin, ServerConfig, ServerEntry, ServerTransport, parse};
pub use connect_error::ConnectError;
pub use connection::Client;
pub use direct_query::DirectQuery;
pub use files::{FoundServers, PROJECT_FILES, ProjectServer, ServerFiles, find, project_servers};
pub use listed::ListedTool;
pub use names::{server_name, tool_name};
pub use oauth::{GrantExpiry, Grants, LoginOptions, Revocation, SignIn, grant_expiry, login, logout};
pub use offered::Offered;
pub use options::{HttpFactory, McpOptions, ServerStores};
pub use pins::{Change, Pins, changes, definition_hash};
pub use provider::{McpProvider, SessionOffers};
pub use reference::Values;
pub use serve::{CallError, Gateway, OUR_NAME, ServeError, serve};
pub use session_servers::{ReadyServer, SessionServers};
pub use upstreams::{Upstream, UpstreamTool, Upstreams, is_this_gateway, split_gateway_uri};
