//! Plays back a recording.

use super::format::{Exchange, Header, VERSION};
use agent::{LanguageModel, ModelAbilities, ModelError, ModelEvent, ModelInfo, ModelLimits, ModelRequest};
use futures::{
    StreamExt,
    stream::{self, BoxStream},
};
use serde::Deserialize;
use std::sync::atomic::{AtomicUsize, Ordering};
use system::{AbsPath, System};

/// A recording as a model: request N gets answer N, regardless of its content.
pub(crate) struct ReplayModel {
    info: ModelInfo,
    path: AbsPath,
    exchanges: Vec<Exchange>,
    next: AtomicUsize,
}

impl ReplayModel {
    /// Opens a recording. `id` is the model's id, `replay/FILE`.
    pub(crate) async fn open(id: &str, path: AbsPath, system: &dyn System) -> Result<Self, ModelError> {
        let invalid = |what: String| ModelError::NotConfigured(format!("cannot replay {path}: {what}"));
        let bytes = system.read(&path).await.map_err(|error| invalid(error.to_string()))?;
        let text = String::from_utf8(bytes).map_err(|_| {
            invalid("it is not a recording, which is UTF-8 text; record one with --record FILE".into())
        })?;
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let first = lines.next().map_or("", |(_, line)| line);
        // The version is parsed separately, since other versions have other headers.
        #[derive(Deserialize)]
        struct Version {
            tiller_recording: u32,
        }
        let Version { tiller_recording } = serde_json::from_str(first).map_err(|_| {
            invalid("it does not begin with a recording's header; record one with --record FILE".into())
        })?;
        if !(1..=VERSION).contains(&tiller_recording) {
            return Err(invalid(format!(
                "it has version {tiller_recording} of the format and this build reads versions 1 to {VERSION}; record it again"
            )));
        }
        let header: Header =
            serde_json::from_str(first).map_err(|error| invalid(format!("line 1: {error}")))?;
        let exchanges: Vec<Exchange> = lines
            .map(|(number, line)| {
                serde_json::from_str(line).map_err(|error| invalid(format!("line {}: {error}", number + 1)))
            })
            .collect::<Result<_, _>>()?;
        let info = ModelInfo {
            id: id.to_owned(),
            name: format!("Recording of {}", header.model),
            description: Some(format!(
                "Plays back {} recorded answers of {}; it does not read what you ask.",
                exchanges.len(),
                header.model
            )),
            limits: ModelLimits {
                context_size: header.context_size,
                max_output: header.max_output,
                silence: None,
            },
            abilities: ModelAbilities { images: header.images, ..ModelAbilities::default() },
            disclosure: Some(format!(
                "This session plays back recorded answers of {} from {path}; no model is used.",
                header.model
            )),
            ..ModelInfo::default()
        };
        Ok(Self { info, path, exchanges, next: AtomicUsize::new(0) })
    }
}

impl LanguageModel for ReplayModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn stream(&self, _request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(exchange) = self.exchanges.get(number).cloned() else {
            let error = ModelError::BadResponse(format!(
                "the recording {} is exhausted: all {} answers have been played; record a longer one with --record FILE",
                self.path,
                self.exchanges.len()
            ));
            return stream::iter([Err(error)]).boxed();
        };
        let cut = exchange
            .cut
            .then(|| ModelError::Transport("the recorded answer was cancelled before it was over".into()));
        let error = exchange.error.map(ModelError::from).or(cut);
        stream::iter(exchange.events.into_iter().map(|event| Ok(event.into())).chain(error.map(Err))).boxed()
    }
}
