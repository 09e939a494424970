//! Logs, to stderr only: stdout belongs to the protocol or to the answer. No secret is part of them.

use crate::{environment::Environment, redacting::Redacting};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// The part of the protocol's library that logs whole messages, at the level `trace`.
const RAW_MESSAGES: &str = "agent_client_protocol::jsonrpc::transport_actor";

/// The library for MCP servers. A server that fails is reported by the code that runs it; the
/// library's own log names its types and is only good for finding a defect in it.
const MCP_LIBRARY: &str = "rmcp";

/// The crates of this program.
const OWN: [&str; 9] =
    ["tiller", "acp", "agent", "system", "store", "providers", "mcp", "lua", "integrations"];

/// Sends logs to stderr, as `TILLER_LOG` says: a level (`debug`), or levels by crate (`acp=trace,warn`). Warnings by default.
pub(crate) fn init(environment: &Environment) -> anyhow::Result<()> {
    let targets = match environment.get("TILLER_LOG") {
        // What programs of the older dialect set: our own log, and of the libraries what is always
        // shown.
        None if environment.get("CODEEP_DEBUG") == Some("1") => {
            let own = OWN.map(|name| (name, LevelFilter::DEBUG));
            Targets::new().with_default(LevelFilter::WARN).with_targets(own)
        }
        None => Targets::new().with_default(LevelFilter::WARN),
        Some(text) => text.parse().map_err(|error| {
            anyhow::anyhow!("environment variable TILLER_LOG: {error}; write a level, or CRATE=LEVEL,…")
        })?,
    };
    let asked = environment.get("TILLER_LOG").is_some_and(|text| text.contains(MCP_LIBRARY));
    let targets = match targets.default_level() {
        Some(level) if level >= LevelFilter::DEBUG => targets,
        _ if asked => targets,
        _ => targets.with_target(MCP_LIBRARY, LevelFilter::OFF),
    };
    // It logs messages as they come, and what a client sends is not known to be secret before it was read.
    let targets = targets.with_target(RAW_MESSAGES, LevelFilter::DEBUG);
    let redactor = environment.redactor().clone();
    let stderr = move || Redacting::new(crate::streams::stderr(), redactor.clone());
    let lines = tracing_subscriber::fmt::layer().with_writer(stderr).with_ansi(false).with_target(true);
    tracing_subscriber::registry().with(lines).with(targets).init();
    Ok(())
}
