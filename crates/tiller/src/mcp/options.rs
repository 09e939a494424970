//! The options with which MCP servers are started.

use super::{Values, pins::Pins};
use crate::{environment::Environment, options::Options, trust, wiring};
use ::mcp::{McpOptions, ServerFiles, ServerStores};
use std::sync::Arc;

/// Why a server starts no program as an MCP server for its users.
const NO_PROGRAMS: &str = "this Tiller server starts no programs for its users; use an MCP server over HTTP";

/// Returns the options with which MCP servers are started.
pub(crate) fn mcp_options(options: &Options, environment: &Environment) -> Arc<McpOptions> {
    let system = wiring::local_system(options);
    let directories = &options.directories;
    let clients = wiring::clients(options);
    let values = Arc::new(Values::new(environment.clone(), system.clone(), directories));
    Arc::new(McpOptions {
        stores: ServerStores {
            grants: values.clone(),
            values,
            pins: Arc::new(Pins::new(system.clone(), directories)),
        },
        redactor: environment.redactor().clone(),
        http: Arc::new(move |url| clients.client(url)),
        directory: directories.data.join("servers"),
        files: ServerFiles {
            user: directories.config.join("mcp.json"),
            trust: trust::directory_trust(directories),
        },
        offers: options.permissions.offers.clone(),
        variables: Vec::new(),
        no_programs: options.served.as_ref().map(|_| NO_PROGRAMS.to_owned()),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        system,
    })
}
