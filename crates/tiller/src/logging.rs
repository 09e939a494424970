//! Logging, to stderr only: stdout belongs to the protocol or to the answer. Secrets are removed.

use crate::{environment::Environment, redacting_writer::RedactingWriter};
use agent::spans::{SPAN_CONTENTS, SPANS};
use std::fmt;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::{
    Layer as _,
    filter::{LevelFilter, Targets},
    fmt::{
        FmtContext, FormatEvent, FormatFields as _,
        format::{DefaultFields, Writer},
    },
    layer::SubscriberExt,
    registry::LookupSpan,
    util::SubscriberInitExt,
};

/// The module of the protocol's SDK that logs whole messages, at the level `trace`.
const RAW_MESSAGES: &str = "agent_client_protocol::jsonrpc::transport_actor";

/// The MCP library. The code that runs a server reports the server's failures; the library's own
/// log names its types and only helps to find a defect in the library.
const MCP_LIBRARY: &str = "rmcp";

/// The crates of this program.
const OWN: [&str; 10] =
    ["tiller", "serve", "acp", "agent", "system", "store", "providers", "mcp", "lua", "integrations"];

/// The audience of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A developer who reads an editor's log: each line has its time and its module.
    Log,
    /// A user at a terminal, who sees warnings and errors alike.
    Terminal,
}

/// How the log is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    #[default]
    Text,
    /// One JSON object a line, with the time, the level, the module and the ids as fields.
    Json,
}

/// Starts logging to stderr.
///
/// `TILLER_LOG` sets the level (`debug`) or levels by crate (`acp=trace,warn`); the default is
/// warnings, with `-q` only errors.
pub(crate) fn init(
    environment: &Environment,
    reader: Reader,
    format: LogFormat,
    quiet: bool,
) -> anyhow::Result<()> {
    let targets = match environment.get("TILLER_LOG") {
        // The variable of clients of the legacy dialect: debug level for our crates, the default
        // level
        // for libraries.
        None if environment.get("CODEEP_DEBUG") == Some("1") => {
            let own = OWN.map(|name| (name, LevelFilter::DEBUG));
            Targets::new().with_default(LevelFilter::WARN).with_targets(own)
        }
        None if quiet => Targets::new().with_default(LevelFilter::ERROR),
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
    // The SDK logs messages as they arrive, and the secrets in a client's message are not known
    // before it is parsed. So raw messages are never logged.
    let targets = targets.with_target(RAW_MESSAGES, LevelFilter::DEBUG);
    // Spans and their contents are for traces, whatever the level of the log.
    let targets = targets.with_target(SPANS, LevelFilter::OFF).with_target(SPAN_CONTENTS, LevelFilter::OFF);
    let redactor = environment.redactor().clone();
    let stderr = move || RedactingWriter::new(crate::streams::stderr(), redactor.clone());
    let lines = tracing_subscriber::fmt::layer().with_writer(stderr).with_ansi(false);
    let registry = tracing_subscriber::registry();
    #[cfg(feature = "otel")]
    let registry = registry.with(crate::otel::layer());
    match reader {
        _ if format == LogFormat::Json => {
            registry.with(lines.json().flatten_event(true).with_filter(targets)).init();
        }
        Reader::Terminal if environment.get("TILLER_LOG").is_none() => {
            registry.with(lines.event_format(Plain).with_filter(targets)).init();
        }
        _ => registry.with(lines.with_target(true).with_filter(targets)).init(),
    }
    Ok(())
}

/// `tiller: warning: MESSAGE`.
struct Plain;

impl<S: Subscriber + for<'a> LookupSpan<'a>> FormatEvent<S, DefaultFields> for Plain {
    fn format_event(
        &self,
        context: &FmtContext<'_, S, DefaultFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let level = match *event.metadata().level() {
            Level::ERROR => "error",
            _ => "warning",
        };
        write!(writer, "tiller: {level}: ")?;
        context.field_format().format_fields(writer.by_ref(), event)?;
        writeln!(writer)
    }
}
