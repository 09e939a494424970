//! Logs, to stderr only: stdout belongs to the protocol or to the answer. No secret is part of them.

use crate::{environment::Environment, redacting::Redacting};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// Sends logs to stderr, as `TILLER_LOG` says: a level (`debug`), or levels by crate (`acp=trace,warn`). Warnings by default.
pub(crate) fn init(environment: &Environment) -> anyhow::Result<()> {
    let targets = match environment.get("TILLER_LOG") {
        // What programs of the older dialect set.
        None if environment.get("CODEEP_DEBUG") == Some("1") => {
            Targets::new().with_default(LevelFilter::DEBUG)
        }
        None => Targets::new().with_default(LevelFilter::WARN),
        Some(text) => text.parse().map_err(|error| {
            anyhow::anyhow!("environment variable TILLER_LOG: {error}; write a level, or CRATE=LEVEL,…")
        })?,
    };
    let redactor = environment.redactor().clone();
    let stderr = move || Redacting::new(std::io::stderr(), redactor.clone());
    let lines = tracing_subscriber::fmt::layer().with_writer(stderr).with_ansi(false).with_target(true);
    tracing_subscriber::registry().with(lines).with(targets).init();
    Ok(())
}
