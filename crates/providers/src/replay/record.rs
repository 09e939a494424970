//! Writes a recording.

use super::format::{Event, Exchange, Failed, Header, RequestSummary};
use agent::{LanguageModel, ModelError, ModelEvent, ModelInfo, ModelRequest, Redactor};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use std::sync::{Arc, Mutex, PoisonError};
use system::{AbsPath, System};
use tokio::sync::Mutex as AsyncMutex;

/// The file of a recording, shared by all models that are recorded to it.
pub(crate) struct Recorder {
    path: AbsPath,
    system: Arc<dyn System>,
    redactor: Redactor,
    lines: Mutex<Vec<u8>>,
    /// Serialises writers, so that an older text never replaces a newer one.
    writing: AsyncMutex<()>,
}

impl Recorder {
    /// Records to `path`, which is overwritten when the first answer is complete. `redactor`
    /// removes the secrets that it knows or recognises.
    pub(crate) fn new(path: AbsPath, system: Arc<dyn System>, redactor: Redactor) -> Arc<Self> {
        Arc::new(Self { path, system, redactor, lines: Mutex::default(), writing: AsyncMutex::default() })
    }

    fn push(&self, info: &ModelInfo, exchange: &mut Exchange) {
        exchange.events = self.merge_split_secrets(std::mem::take(&mut exchange.events));
        let mut lines = self.lines.lock().unwrap_or_else(PoisonError::into_inner);
        if lines.is_empty() {
            self.push_line(&mut lines, &Header::new(info));
        }
        self.push_line(&mut lines, exchange);
    }

    /// Merges consecutive pieces of a text if a secret is split across them, so that it can be
    /// redacted.
    fn merge_split_secrets(&self, events: Vec<Event>) -> Vec<Event> {
        let mut merged: Vec<Event> = Vec::with_capacity(events.len());
        for run in events.chunk_by(|a, b| a.piece().is_some() && a.same_stream(b)) {
            let text: String = run.iter().filter_map(Event::piece).collect();
            let redacted_separately: String =
                run.iter().filter_map(Event::piece).map(|text| self.redactor.redact(text)).collect();
            match run {
                [first, _, ..] if self.redactor.redact(&text) != redacted_separately => {
                    merged.push(first.with_text(text))
                }
                run => merged.extend_from_slice(run),
            }
        }
        merged
    }

    fn push_line(&self, lines: &mut Vec<u8>, value: &impl serde::Serialize) {
        let value = serde_json::to_value(value).expect("strings and JSON values always serialise");
        lines.extend_from_slice(self.redactor.json_line(value).as_bytes());
        lines.push(b'\n');
    }

    /// The `System` trait has no append, so the whole text is written, which is fast enough for
    /// recordings.
    async fn flush(&self) {
        let _turn = self.writing.lock().await;
        let text = self.lines.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Err(error) = self.system.write_private(&self.path, &text).await {
            tracing::error!(%error, "cannot write the recording");
        }
    }
}

/// A model whose traffic is recorded.
pub(crate) struct RecordingModel {
    pub(crate) inner: Arc<dyn LanguageModel>,
    pub(crate) recorder: Arc<Recorder>,
}

impl LanguageModel for RecordingModel {
    fn info(&self) -> &ModelInfo {
        self.inner.info()
    }

    fn stream(&self, request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let entry = Entry {
            recorder: self.recorder.clone(),
            info: self.info().clone(),
            exchange: Some(Exchange {
                request: RequestSummary::new(&request),
                events: Vec::new(),
                error: None,
                cut: true,
            }),
        };
        let inner = self.inner.stream(request);
        stream::unfold((inner, entry), |(mut inner, mut entry)| async move {
            let item = inner.next().await;
            entry.record_item(item.as_ref()).await;
            item.map(|item| (item, (inner, entry)))
        })
        .boxed()
    }
}

/// One answer being recorded. It is stored when it is complete or when it is dropped: a cancelled
/// request keeps its place in the order and is written together with the next one.
struct Entry {
    recorder: Arc<Recorder>,
    info: ModelInfo,
    exchange: Option<Exchange>,
}

impl Entry {
    async fn record_item(&mut self, item: Option<&Result<ModelEvent, ModelError>>) {
        let Some(exchange) = &mut self.exchange else { return };
        let over = match item {
            Some(Ok(event)) => {
                exchange.events.extend(Event::of(event));
                matches!(event, ModelEvent::Stop(_))
            }
            Some(Err(error)) => {
                exchange.error = Some(Failed::from(error));
                true
            }
            None => true,
        };
        if over {
            exchange.cut = false;
            self.store();
            self.recorder.flush().await;
        }
    }

    fn store(&mut self) {
        if let Some(mut exchange) = self.exchange.take() {
            self.recorder.push(&self.info, &mut exchange);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.store();
    }
}
