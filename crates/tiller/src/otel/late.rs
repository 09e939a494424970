//! A span processor that is given its exporter later: logging starts before the settings are read.

use opentelemetry::Context;
use opentelemetry_sdk::{
    error::OTelSdkResult,
    trace::{BatchSpanProcessor, Span, SpanData, SpanProcessor},
};
use std::{
    sync::{Arc, OnceLock},
    time::Duration,
};

/// Passes spans on once there is a processor to pass them to; drops them before.
#[derive(Debug, Clone, Default)]
pub(super) struct LateProcessor(Arc<OnceLock<BatchSpanProcessor>>);

impl LateProcessor {
    /// Sets the processor. Only the first call has an effect.
    pub(super) fn set(&self, processor: BatchSpanProcessor) {
        let _ = self.0.set(processor);
    }

    fn with(&self, then: impl FnOnce(&BatchSpanProcessor) -> OTelSdkResult) -> OTelSdkResult {
        self.0.get().map_or(Ok(()), then)
    }
}

impl SpanProcessor for LateProcessor {
    fn on_start(&self, span: &mut Span, context: &Context) {
        if let Some(processor) = self.0.get() {
            processor.on_start(span, context);
        }
    }

    fn on_end(&self, span: SpanData) {
        if let Some(processor) = self.0.get() {
            processor.on_end(span);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.with(SpanProcessor::force_flush)
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.with(|processor| processor.shutdown_with_timeout(timeout))
    }
}
