//! The exporter: OTLP over HTTP, in batches, from a thread of its own.

use super::{conventions, late::LateProcessor};
use crate::{environment::Environment, limits, options::OtelSettings};
use acp::TraceContext;
use agent::{
    Redactor,
    spans::{SPAN_CONTENTS, SPANS},
};
use anyhow::{Context as _, Result, anyhow};
use async_trait::async_trait;
use opentelemetry::{
    KeyValue,
    propagation::{Extractor, TextMapPropagator as _},
    trace::TracerProvider as _,
};
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::{
    Resource,
    error::OTelSdkResult,
    propagation::TraceContextPropagator,
    trace::{BatchSpanProcessor, SdkTracerProvider, SpanData, SpanExporter, SpanProcessor as _},
};
use providers::HttpClients;
use std::{
    sync::{
        OnceLock,
        atomic::{AtomicU8, Ordering},
    },
    time::Duration,
};
use tokio::runtime::Handle;
use tracing::{Metadata, Span, level_filters::LevelFilter};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::{Layer, Registry, filter::filter_fn};

/// The path of traces below the endpoint of a collector.
const TRACES: &str = "v1/traces";

/// What is exported: 0 nothing, 1 spans, 2 spans with their contents.
static EXPORTED: AtomicU8 = AtomicU8::new(0);
static PROVIDER: OnceLock<(SdkTracerProvider, LateProcessor)> = OnceLock::new();

fn provider() -> &'static (SdkTracerProvider, LateProcessor) {
    PROVIDER.get_or_init(|| {
        let late = LateProcessor::default();
        (SdkTracerProvider::builder().with_span_processor(late.clone()).build(), late)
    })
}

/// Returns the layer that turns spans into traces.
pub(super) fn layer() -> impl Layer<Registry> + Send + Sync {
    let (provider, _) = provider();
    tracing_opentelemetry::layer()
        .with_tracer(provider.tracer("tiller"))
        .with_location(false)
        .with_threads(false)
        .with_target(false)
        .with_level(false)
        .with_tracked_inactivity(false)
        .with_filter(filter_fn(is_exported).with_max_level_hint(LevelFilter::INFO))
}

fn is_exported(metadata: &Metadata<'_>) -> bool {
    match EXPORTED.load(Ordering::Relaxed) {
        0 => false,
        1 => metadata.target() == SPANS && metadata.is_span(),
        _ => metadata.target() == SPANS && metadata.is_span() || metadata.target() == SPAN_CONTENTS,
    }
}

/// Starts to export spans.
///
/// # Errors
/// If the endpoint is no URL.
pub(super) fn start(settings: &OtelSettings, environment: &Environment) -> Result<()> {
    let client = Client { clients: HttpClients::default(), runtime: Handle::current() };
    let mut exporter = opentelemetry_otlp::SpanExporter::builder().with_http().with_http_client(client);
    if let Some(endpoint) = &settings.endpoint {
        exporter = exporter.with_endpoint(traces_of(endpoint));
    }
    let exporter = exporter.build().map_err(|error| anyhow!("{error}")).context("serve.otel.endpoint")?;
    let exporter =
        Conventional { inner: exporter, redactor: environment.redactor().clone(), content: settings.content };
    let mut processor = BatchSpanProcessor::builder(exporter).build();
    processor.set_resource(&resource(environment));
    provider().1.set(processor);
    EXPORTED.store(if settings.content { 2 } else { 1 }, Ordering::Relaxed);
    tracing::callsite::rebuild_interest_cache();
    Ok(())
}

/// Returns the URL of traces of a collector, whose own URL may already be that.
fn traces_of(endpoint: &str) -> String {
    let endpoint = endpoint.trim_end_matches('/');
    if endpoint.ends_with(TRACES) { endpoint.to_owned() } else { format!("{endpoint}/{TRACES}") }
}

fn resource(environment: &Environment) -> Resource {
    let mut resource =
        Resource::builder().with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")));
    if environment.get("OTEL_SERVICE_NAME").is_none() {
        resource = resource.with_service_name("tiller");
    }
    resource.build()
}

/// Sends the spans that still wait.
pub(super) async fn finish() {
    if EXPORTED.swap(0, Ordering::Relaxed) == 0 {
        return;
    }
    let flushed =
        tokio::task::spawn_blocking(|| provider().0.shutdown_with_timeout(limits::TRACES_WAIT)).await;
    if let Ok(Err(error)) = flushed {
        tracing::warn!(%error, "the last traces were not sent");
    }
}

/// Makes a span part of the trace that a client names.
pub(super) fn join_trace(span: &Span, context: TraceContext<'_>) {
    let parent = TraceContextPropagator::new().extract(&Carrier(context));
    // It fails where the layer does not want the span.
    let _ = span.set_parent(parent);
}

struct Carrier<'a>(TraceContext<'a>);

impl Extractor for Carrier<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        match key {
            "traceparent" => Some(self.0.parent),
            "tracestate" => self.0.state,
            _ => None,
        }
    }

    fn keys(&self) -> Vec<&str> {
        vec!["traceparent", "tracestate"]
    }
}

/// Gives spans the names of the conventions, and removes secrets.
#[derive(Debug)]
struct Conventional<E> {
    inner: E,
    redactor: Redactor,
    /// Whether spans have contents.
    content: bool,
}

impl<E: SpanExporter> SpanExporter for Conventional<E> {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let redact = |text: &str| self.redactor.redact(text);
        let spans = batch.into_iter().map(|span| conventions::apply(span, self.content, redact));
        self.inner.export(spans.collect()).await
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.inner.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.inner.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.inner.set_resource(resource);
    }
}

/// Sends the exporter's requests on the server's runtime: the exporter's own thread has none.
#[derive(Debug)]
struct Client {
    clients: HttpClients,
    runtime: Handle,
}

#[async_trait]
impl HttpClient for Client {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let (parts, body) = request.into_parts();
        let client = self.clients.client(&parts.uri.to_string())?;
        let url = parts.uri.to_string();
        let sent = self.runtime.spawn(async move {
            let answer = client.request(parts.method, url).headers(parts.headers).body(body).send().await?;
            let (status, headers) = (answer.status(), answer.headers().clone());
            Ok::<_, HttpError>((status, headers, answer.bytes().await?))
        });
        let (status, headers, bytes) = sent.await??;
        let mut response = Response::new(bytes);
        (*response.status_mut(), *response.headers_mut()) = (status, headers);
        Ok(response)
    }
}
