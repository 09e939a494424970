//! Shared by the tests: catalogs that point to a fake server, and short forms of requests and
//! events.

use crate::faker::Faker;
use agent::{
    Content, LanguageModel, Message, ModelCall, ModelError, ModelEvent, ModelInfo, ModelLimits, ModelRequest,
    Models,
};
use async_trait::async_trait;
use futures::{StreamExt, stream::BoxStream};
use providers::{Catalog, ProvidersOptions, Secret, VendorOptions, Wire};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use system::{
    AbsPath, Command, Entry, FileKind, Metadata, Piped, PipedCommand, Process, Route, Routes, System,
    SystemError, TextRange, WalkOptions,
};

pub(crate) const KEY: &str = "sk-very-secret";

/// Returns options that cause no connections by themselves, with short delays.
pub(crate) fn options() -> ProvidersOptions {
    let mut options = ProvidersOptions::default();
    options.local.discover = false;
    options.attempts.silence = Some(Duration::from_secs(20));
    options.attempts.retry_delay = Duration::from_millis(1);
    options
}

pub(crate) fn vendor(base_url: String, wire: Wire) -> VendorOptions {
    let api_key = Some(Secret::new(KEY));
    VendorOptions { api_key, base_url: Some(base_url), wire, silence: None, ..VendorOptions::default() }
}

/// Returns the ids in a catalog's list.
pub(crate) fn ids(catalog: &Catalog) -> Vec<String> {
    catalog.list().into_iter().map(|info| info.id).collect()
}

pub(crate) fn catalog(options: ProvidersOptions) -> Catalog {
    Catalog::new(options, Arc::new(Files::default()), Arc::new(Pilot::new()))
}

/// Returns a model at a fake server.
pub(crate) async fn model(wire: Wire, faker: &Faker) -> Arc<dyn LanguageModel> {
    model_with(wire, faker, |_| {}).await
}

pub(crate) async fn model_with(
    wire: Wire,
    faker: &Faker,
    change: impl FnOnce(&mut ProvidersOptions),
) -> Arc<dyn LanguageModel> {
    let mut options = options();
    options.vendors.openai = vendor(faker.url(), wire);
    change(&mut options);
    catalog(options).get("openai/gpt-test").await.unwrap()
}

pub(crate) fn request(text: &str) -> ModelRequest {
    ModelRequest {
        system: "Be brief.".into(),
        messages: vec![Message::User(vec![Content::Text(text.into())])],
        ..ModelRequest::default()
    }
}

/// Formats a whole answer as short lines. Consecutive texts are merged, since the network may split
/// them anywhere.
pub(crate) async fn answer(model: &dyn LanguageModel) -> String {
    let items: Vec<_> = model.stream(request("hi")).collect().await;
    show(&items)
}

pub(crate) fn show(items: &[Result<ModelEvent, ModelError>]) -> String {
    let mut lines: Vec<(&str, String)> = Vec::new();
    for item in items {
        let (kind, text) = match item {
            Ok(ModelEvent::Text(text)) => ("text", text.clone()),
            Ok(ModelEvent::Reasoning(text)) => ("thought", text.clone()),
            Ok(ModelEvent::ReasoningDone(block)) => {
                ("thought done", format!("{:?} {}", block.text, block.opaque.as_deref().unwrap_or("-")))
            }
            // The echo tests cover this event.
            Ok(ModelEvent::TextDone(_)) => continue,
            Ok(ModelEvent::Other(opaque)) => ("other", opaque.clone()),
            Ok(ModelEvent::ToolCall(ModelCall { provider_id, name, arguments, .. })) => {
                match agent::read_arguments(arguments) {
                    Ok(value) => ("call", format!("{provider_id} {name} {value}")),
                    Err(bad) => ("call", format!("{provider_id} {name} BAD {:?}", bad.raw)),
                }
            }
            Ok(ModelEvent::Usage(usage)) => (
                "usage",
                format!(
                    "{}+{} ({} read, {} written)",
                    usage.input, usage.output, usage.cache_read, usage.cache_write
                ),
            ),
            Ok(ModelEvent::HostedSearch(query)) => ("search", query.clone()),
            Ok(ModelEvent::Notice(text)) => ("notice", text.clone()),
            Ok(ModelEvent::Alive) => ("alive", String::new()),
            Ok(ModelEvent::Stop(stop)) => ("stop", format!("{stop:?}")),
            Ok(ModelEvent::Retrying { attempt, .. }) => ("retrying", attempt.to_string()),
            Err(error) => {
                let debug = format!("{error:?}");
                ("error", format!("{}: {error}", debug.split('(').next().unwrap()))
            }
        };
        match lines.last_mut() {
            Some((last, before)) if *last == kind && matches!(kind, "text" | "thought") => {
                before.push_str(&text)
            }
            // Only the last count matters.
            Some((last, before)) if *last == kind && kind == "usage" => *before = text,
            _ => lines.push((kind, text)),
        }
    }
    // It does not matter whether counts arrive early or late.
    let last_usage = lines.iter().rposition(|(kind, _)| *kind == "usage");
    let lines =
        lines.iter().enumerate().filter(|(at, (kind, _))| *kind != "usage" || Some(*at) == last_usage);
    lines.map(|(_, (kind, text))| format!("{kind}: {text}")).collect::<Vec<_>>().join("\n")
}

/// A stand-in for the pilot.
pub(crate) struct Pilot(ModelInfo);

impl Pilot {
    pub(crate) fn new() -> Self {
        Self(ModelInfo {
            id: "offline/pilot".into(),
            name: "Pilot".into(),
            description: None,
            limits: ModelLimits { context_size: 1, max_output: 1, silence: None },
            disclosure: Some("no language model".into()),
            ..ModelInfo::default()
        })
    }
}

impl LanguageModel for Pilot {
    fn info(&self) -> &ModelInfo {
        &self.0
    }

    fn stream(&self, _request: ModelRequest) -> BoxStream<'static, Result<ModelEvent, ModelError>> {
        futures::stream::iter([Ok(ModelEvent::Text("pilot".into()))]).boxed()
    }
}

/// A system that reads and writes whole files, and supports nothing else.
#[derive(Default)]
pub(crate) struct Files(pub(crate) Mutex<BTreeMap<AbsPath, Vec<u8>>>);

fn refused<T>(operation: &'static str) -> Result<T, SystemError> {
    Err(SystemError::ReadOnly { operation })
}

#[async_trait]
impl System for Files {
    async fn read(&self, path: &AbsPath) -> Result<Vec<u8>, SystemError> {
        self.0.lock().unwrap().get(path).cloned().ok_or_else(|| SystemError::NotFound(path.clone()))
    }

    async fn write(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.0.lock().unwrap().insert(path.clone(), bytes.to_vec());
        Ok(())
    }

    async fn write_private(&self, path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
        self.write(path, bytes).await
    }

    async fn read_text(&self, _: &AbsPath, _: Option<TextRange>) -> Result<String, SystemError> {
        refused("read_text")
    }

    async fn replace_text(&self, _: &AbsPath, _: Option<&str>, _: &str) -> Result<(), SystemError> {
        refused("replace_text")
    }

    async fn metadata(&self, path: &AbsPath) -> Result<Metadata, SystemError> {
        let size = self.read(path).await?.len() as u64;
        Ok(Metadata { kind: FileKind::File, size, modified: None, id: None })
    }

    async fn read_dir(&self, _: &AbsPath) -> Result<Vec<Entry>, SystemError> {
        refused("read_dir")
    }

    async fn create_dir_all(&self, _: &AbsPath) -> Result<(), SystemError> {
        Ok(())
    }

    async fn remove(&self, _: &AbsPath) -> Result<(), SystemError> {
        refused("remove")
    }

    async fn rename(&self, _: &AbsPath, _: &AbsPath) -> Result<(), SystemError> {
        refused("rename")
    }

    async fn resolve(&self, _: &AbsPath) -> Result<AbsPath, SystemError> {
        refused("resolve")
    }

    async fn walk(&self, _: &AbsPath, _: WalkOptions) -> Result<Vec<AbsPath>, SystemError> {
        refused("walk")
    }

    async fn spawn(&self, _: Command) -> Result<Box<dyn Process>, SystemError> {
        refused("spawn")
    }

    async fn spawn_piped(&self, command: PipedCommand) -> Result<Piped, SystemError> {
        Err(SystemError::NoPipes { program: command.program })
    }

    fn routes(&self) -> Routes {
        Routes { read_text: Route::Refused, write_text: Route::Refused, spawn: Route::Refused }
    }

    async fn read_text_on_disk(&self, _: &AbsPath) -> Result<Option<String>, SystemError> {
        refused("read_text_on_disk")
    }
}
