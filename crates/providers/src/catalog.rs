//! All models there are, by id.

mod build;

use crate::{
    ProvidersOptions, VendorOptions, catalogue,
    discovery::{self, LocalModel},
    http::Http,
    learned::Learned,
    limits::DISCOVERY_WAIT,
    replay::{Recorder, RecordingModel, ReplayModel},
};
use agent::{Credentials, LanguageModel, ModelError, ModelInfo, Models};
use async_trait::async_trait;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, RwLock},
};
use system::{AbsPath, System};
use tokio::sync::OnceCell;

/// The models of every configured provider, of servers on this machine, of recordings, and the pilot.
///
/// Building one costs nothing: no connection, no certificate, no file is touched before a model is asked.
pub struct Catalog {
    options: RwLock<Arc<ProvidersOptions>>,
    system: Arc<dyn System>,
    pilot: Arc<dyn LanguageModel>,
    http: Arc<Http>,
    learned: Arc<Learned>,
    recorder: Option<Arc<Recorder>>,
    found: RwLock<Vec<LocalModel>>,
    looked: OnceCell<()>,
    /// Opened recordings: their place is kept for as long as the catalog lives.
    replays: Mutex<HashMap<String, Arc<ReplayModel>>>,
}

impl Catalog {
    /// Takes the options, the system for recordings (absolute paths, read and written as bytes), and the built-in pilot.
    pub fn new(options: ProvidersOptions, system: Arc<dyn System>, pilot: Arc<dyn LanguageModel>) -> Self {
        Self {
            http: Arc::default(),
            learned: Arc::default(),
            recorder: options
                .record_to
                .clone()
                .map(|path| Recorder::new(path, system.clone(), options.redactor.clone())),
            found: RwLock::default(),
            looked: OnceCell::new(),
            replays: Mutex::default(),
            options: RwLock::new(Arc::new(options)),
            system,
            pilot,
        }
    }

    /// Changes how vendors are reached: models that are asked for from then on are reached that way. What decides about servers on this
    /// machine and recordings stays as it was.
    pub fn reconfigure(&self, change: impl FnOnce(&mut ProvidersOptions)) {
        change(Arc::make_mut(&mut self.options.write().unwrap_or_else(PoisonError::into_inner)));
    }

    fn options(&self) -> Arc<ProvidersOptions> {
        self.options.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Looks for model servers on this machine, once; later calls wait for the first. To be spawned at start-up, so that the list is
    /// there when a client asks for it. Takes 250 ms at the most.
    pub async fn discover(&self) {
        self.looked.get_or_init(|| self.look()).await;
    }

    async fn look(&self) {
        let options = self.options();
        let candidates = discovery::candidates(options.local.discover, &options.local.urls);
        let found = discovery::probe(&candidates, &self.http).await;
        *self.found.write().unwrap_or_else(PoisonError::into_inner) = found;
    }

    fn found(&self) -> Vec<LocalModel> {
        self.found.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The vendors that somebody set up: by a key, or by an address of a server that may need none.
    fn configured(&self) -> impl Iterator<Item = &'static str> {
        let options = self.options();
        let set_up = |vendor: &VendorOptions| vendor.api_key.is_some() || vendor.base_url.is_some();
        let vendors = [
            ("openai", set_up(&options.openai)),
            ("anthropic", set_up(&options.anthropic)),
            (build::GEMINI, set_up(&options.gemini)),
        ];
        vendors.into_iter().filter_map(|(provider, set_up)| set_up.then_some(provider))
    }

    /// The default as far as it is known without waiting.
    fn default_now(&self) -> Option<String> {
        if let Some(id) = &self.options().default_model {
            return Some(id.clone());
        }
        if let Some(provider) = self.configured().next() {
            return catalogue::first(provider).map(|model| format!("{provider}/{model}"));
        }
        self.found().first().map(|local| format!("local/{}", local.model))
    }

    /// A model on this machine. Servers come and go: one that is not known is looked for once more.
    async fn local(&self, model: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        self.discover().await;
        let find = || self.found().into_iter().find(|local| local.model == model);
        let mut local = find();
        if local.is_none() {
            self.look().await;
            local = find();
        }
        match local {
            Some(local) => self.build_local(&local),
            None => Err(ModelError::NotConfigured(match self.found().as_slice() {
                [] => format!(
                    "no server on this machine has the model `{model}`: none answers; start Ollama, llama.cpp or LM Studio, or name its address in the settings"
                ),
                found => format!(
                    "no server on this machine has the model `{model}`; there are: {}",
                    found.iter().map(|local| format!("local/{}", local.model)).collect::<Vec<_>>().join(", ")
                ),
            })),
        }
    }

    async fn replay(&self, file: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let path = match (&self.options().replay_base, AbsPath::new(file)) {
            (_, Ok(path)) => path,
            (Some(base), Err(_)) if !file.is_empty() => base.join(file),
            _ => {
                return Err(ModelError::NotConfigured(format!(
                    "`replay/{file}` names no recording; write replay/ and the file's path"
                )));
            }
        };
        let id = format!("replay/{file}");
        let known = |replays: &HashMap<_, Arc<ReplayModel>>| replays.get(&id).cloned();
        if let Some(model) = known(&self.replays.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Ok(model);
        }
        let model = ReplayModel::open(&id, path, &*self.system).await?;
        let mut replays = self.replays.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(replays.entry(id).or_insert_with(|| Arc::new(model)).clone())
    }
}

#[async_trait]
impl Models for Catalog {
    fn list(&self) -> Vec<ModelInfo> {
        let mut list = Vec::new();
        list.extend(self.configured().flat_map(catalogue::listed));
        list.extend(self.found().iter().map(build::local_info));
        list.push(self.pilot.info().clone());
        if let Some(default) = self.default_now() {
            match list.iter().position(|info| info.id == default) {
                Some(place) => list[..=place].rotate_right(1),
                None if default.contains('/') => list.insert(0, build::guess(&default)),
                None => {}
            }
        }
        list
    }

    async fn default_id(&self) -> String {
        if self.default_now().is_none() {
            // The time is up either way: what is not found by then is not the default.
            let _ = tokio::time::timeout(DISCOVERY_WAIT, self.discover()).await;
        }
        self.default_now().unwrap_or_else(|| self.pilot.info().id.clone())
    }

    async fn is_unconfigured(&self) -> bool {
        self.default_id().await == self.pilot.info().id && self.default_now().is_none()
    }

    fn credentials(&self, id: &str) -> Credentials {
        let options = self.options();
        let provider = id.split_once('/').map(|(provider, _)| build::provider(provider, &options.custom));
        let vendor = match provider {
            Some("openai") => &options.openai,
            Some("anthropic") => &options.anthropic,
            Some(build::GEMINI) => &options.gemini,
            _ => return Credentials::NotNeeded,
        };
        match (&vendor.api_key, &vendor.base_url) {
            (Some(_), _) => Credentials::Present,
            (None, Some(_)) => Credentials::NotNeeded,
            (None, None) => Credentials::Missing,
        }
    }

    async fn get(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let (provider, model) = id.split_once('/').unwrap_or((id, ""));
        let model = match provider {
            _ if id == self.pilot.info().id => self.pilot.clone(),
            "replay" => self.replay(model).await?,
            _ if model.is_empty() => return Err(build::unnamed(id)),
            "local" => self.local(model).await?,
            _ => self.build(build::provider(provider, &self.options().custom), model)?,
        };
        Ok(match &self.recorder {
            Some(recorder) => Arc::new(RecordingModel { inner: model, recorder: recorder.clone() }),
            None => model,
        })
    }
}
