//! MCP servers as tools: where they are described, whether they may be used, how they are kept running and called.
//!
//! Architecture Invariant: the only crate that names the protocol's library. A server is started and spoken to behind a session's back; whatever it
//! does, the session goes on.

mod config;
mod connection;
mod content;
mod files;
mod http;
mod hub;
mod inquiry;
mod limits;
mod line_reader;
mod lines;
mod listed;
mod listener;
mod names;
mod oauth;
mod pins;
mod progress;
mod prompts;
mod provider;
mod reference;
mod sampling;
mod search;
mod serve;
mod server;
mod session_servers;
mod sse;
mod tool;
mod trouble;
mod upstreams;

pub use config::{ConfigError, Described, How, Origin, ServerConfig, parse};
pub use connection::{Client, ConnectError};
pub use files::{Found, PROJECT_FILES, ProjectServer, find, of_project};
pub use inquiry::Inquiry;
pub use listed::Listed;
pub use listener::Offered;
pub use names::{server_name, tool_name};
pub use oauth::{Grants, LoginOptions, Revoked, SignIn, login, logout};
pub use pins::{Change, Pins, changes, definition_hash};
pub use provider::{HttpFactory, McpOptions, McpProvider, OffersOf};
pub use reference::Values;
pub use serve::{CallError, Gateway, OUR_NAME, ServeError, serve};
pub use session_servers::{SessionServers, Up};
pub use upstreams::{Upstream, UpstreamTool, Upstreams, is_this_gateway, own_address};
