//! The options with which MCP servers are started.

use super::{Pins, Values};
use crate::{environment::Environment, options::Options, trust, wiring};
use ::mcp::McpOptions;
use providers::HttpClients;
use std::sync::Arc;

/// Returns the options with which MCP servers are started.
pub(crate) fn mcp_options(options: &Options, environment: &Environment) -> Arc<McpOptions> {
    let system = wiring::local_system(options);
    let directories = &options.directories;
    let clients = HttpClients::default();
    let values = Arc::new(Values::new(environment.clone(), system.clone(), directories));
    Arc::new(McpOptions {
        grants: values.clone(),
        values,
        redactor: environment.redactor().clone(),
        pins: Arc::new(Pins::new(system.clone(), directories)),
        http: Arc::new(move |url| clients.client(url)),
        trust: trust::directory_trust(directories),
        user_file: directories.config.join("mcp.json"),
        offers: options.permissions.offers.clone(),
        variables: Vec::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        system,
    })
}
