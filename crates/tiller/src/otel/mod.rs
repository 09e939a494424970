//! Traces for OpenTelemetry: the spans of turns, sent to a collector by OTLP over HTTP.
//!
//! The build has them with the feature `otel`. They are off until a server is started with an
//! endpoint: `serve.otel.endpoint`, or the exporter's own `OTEL_EXPORTER_OTLP_ENDPOINT`.

#[cfg(feature = "otel")]
mod conventions;
#[cfg(feature = "otel")]
mod export;
#[cfg(feature = "otel")]
mod late;

use crate::{environment::Environment, options::OtelSettings};
use acp::TraceContext;
use anyhow::Result;
use tracing::Span;

/// The variables of OTLP exporters that name an endpoint.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// Returns the layer that turns spans into traces. It wants none until [`start`] was called.
#[cfg(feature = "otel")]
pub(crate) fn layer() -> impl tracing_subscriber::Layer<tracing_subscriber::Registry> + Send + Sync {
    export::layer()
}

/// Starts to export spans, if there is an endpoint; returns whether there is.
///
/// # Errors
/// If the endpoint is no URL.
#[cfg(feature = "otel")]
pub(crate) fn start(settings: &OtelSettings, environment: &Environment) -> Result<bool> {
    let is_set = is_wanted(settings, environment);
    if is_set {
        export::start(settings, environment)?;
    }
    Ok(is_set)
}

/// Returns false, after a warning if there is an endpoint.
#[cfg(not(feature = "otel"))]
pub(crate) fn start(settings: &OtelSettings, environment: &Environment) -> Result<bool> {
    if is_wanted(settings, environment) {
        tracing::warn!(
            "an OpenTelemetry endpoint is set, and this build of tiller has no OpenTelemetry; \
             build it with `--features otel`"
        );
    }
    Ok(false)
}

/// Sends the spans that still wait.
pub(crate) async fn finish() {
    #[cfg(feature = "otel")]
    export::finish().await;
}

/// Makes a span part of the trace that a client names. A `traceparent` that is not valid is
/// ignored, as W3C Trace Context has it.
pub(crate) fn join_trace(span: &Span, context: TraceContext<'_>) {
    #[cfg(feature = "otel")]
    export::join_trace(span, context);
    #[cfg(not(feature = "otel"))]
    let _ = (span, context);
}

fn is_wanted(settings: &OtelSettings, environment: &Environment) -> bool {
    settings.endpoint.is_some() || ENDPOINTS.iter().any(|name| environment.get(name).is_some())
}
