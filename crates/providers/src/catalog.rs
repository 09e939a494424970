//! All available models, by id.

mod build;
mod check;
mod lists;

use crate::{
    ProvidersOptions,
    discovery::{self, LocalModel},
    http::{self, Http, HttpClients},
    limits::DISCOVERY_WAIT,
    model_table::{self, ModelTable, RefreshError},
    refused_options::RefusalMemory,
    replay::{Recorder, RecordingModel, ReplayModel},
};
use agent::{Credentials, LanguageModel, ModelError, ModelInfo, Models};
use async_trait::async_trait;
pub use check::ProviderCheck;
pub use lists::Listing;
use lists::ServerList;
use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError, RwLock},
};
use system::{AbsPath, System};
use tokio::{
    sync::{Mutex as AsyncMutex, Notify, OnceCell},
    time::timeout,
};

/// The models of every configured provider, of servers on this machine, of recordings, and the
/// pilot.
///
/// Creating one is cheap: no connection is opened and no certificate or file is read before a model
/// is requested.
pub struct Catalog {
    options: RwLock<Arc<ProvidersOptions>>,
    system: Arc<dyn System>,
    pilot: Arc<dyn LanguageModel>,
    http: Arc<Http>,
    refused_options: Arc<RefusalMemory>,
    recorder: Option<Arc<Recorder>>,
    local_models: RwLock<Vec<LocalModel>>,
    /// The models listed by servers at user-configured addresses, by provider.
    server_lists: RwLock<BTreeMap<String, ServerList>>,
    /// The addresses of the last discovery.
    probed_addresses: AsyncMutex<Option<Vec<String>>>,
    /// Signalled when the list of models is requested.
    list_requested: Notify,
    /// The vendors' models, once loaded, with the problem of the downloaded file, if any.
    vendors: OnceCell<(Arc<ModelTable>, Option<String>)>,
    /// Opened recordings. Kept as long as the catalog lives, so that each continues where it
    /// stopped.
    replays: Mutex<HashMap<String, Arc<ReplayModel>>>,
}

/// The catalogue of vendors' models in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatalogueSource {
    /// The day it was made, `YYYY-MM-DD`.
    pub date: String,
    /// Its origin: an address or a path.
    pub source: String,
    /// Whether it is the built-in one.
    pub built_in: bool,
    /// The problem with the downloaded one, for display.
    pub problem: Option<String>,
    /// The number of models in it.
    pub models: usize,
}

impl Catalog {
    /// Creates a catalog from the options, the system for recordings (absolute paths, read and
    /// written as bytes), and the built-in pilot.
    pub fn new(options: ProvidersOptions, system: Arc<dyn System>, pilot: Arc<dyn LanguageModel>) -> Self {
        Self {
            http: Arc::default(),
            refused_options: Arc::new(RefusalMemory::new(options.refusals_file.clone(), system.clone())),
            recorder: options
                .recording
                .record_to
                .clone()
                .map(|path| Recorder::new(path, system.clone(), options.recording.redactor.clone())),
            local_models: RwLock::default(),
            server_lists: RwLock::default(),
            probed_addresses: AsyncMutex::default(),
            list_requested: Notify::new(),
            vendors: OnceCell::new(),
            replays: Mutex::default(),
            options: RwLock::new(Arc::new(options)),
            system,
            pilot,
        }
    }

    /// Uses these clients for every request to a provider.
    pub fn with_clients(self, clients: HttpClients) -> Self {
        Self { http: Arc::new(clients.into_inner()), ..self }
    }

    /// Changes how providers are reached. It applies to models requested from then on; new
    /// addresses are asked for their models by the next [`Catalog::discover`]. Recordings keep
    /// their settings.
    pub fn reconfigure(&self, change: impl FnOnce(&mut ProvidersOptions)) {
        change(Arc::make_mut(&mut self.options.write().unwrap_or_else(PoisonError::into_inner)));
    }

    fn options(&self) -> Arc<ProvidersOptions> {
        self.options.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Probes for model servers on this machine, then runs [`Catalog::discover`] whenever the list
    /// of models is requested. So a client that only initializes causes no connection beyond this
    /// machine's default ports. Spawn it at start-up; never returns.
    pub async fn watch(&self) {
        self.probe_local().await;
        loop {
            self.list_requested.notified().await;
            self.discover().await;
        }
    }

    /// Probes for model servers on this machine and asks the servers at user-configured addresses
    /// for their models, once for each set of addresses; concurrent calls wait for the first. Takes
    /// at most 4 s, and less than 1 s if no user-configured address is beyond this machine.
    pub async fn discover(&self) {
        let _ = self.load_model_table().await;
        let addresses = self.addresses();
        let mut probed_addresses = self.probed_addresses.lock().await;
        if probed_addresses.as_ref() != Some(&addresses) {
            self.probe_and_ask().await;
            *probed_addresses = Some(addresses);
        }
    }

    /// Probes for model servers on this machine, and asks user-configured servers on this machine.
    /// Sends nothing to another machine. Takes less than 1 s.
    pub async fn discover_here(&self) {
        let _ = self.load_model_table().await;
        let options = self.options();
        let ollama = options.local.ollama.as_deref();
        let discover = options.local.discover && ollama.is_none_or(is_here);
        let candidates = discovery::candidates(discover, ollama, &options.local.urls);
        let (local_models, ()) =
            tokio::join!(discovery::probe(&candidates, &self.http), self.ask_servers(is_here));
        *self.local_models.write().unwrap_or_else(PoisonError::into_inner) = local_models;
    }

    /// Returns the model of new sessions as far as it is known without asking anyone; `None` if
    /// only the pilot would answer.
    pub fn default_now(&self) -> Option<String> {
        self.known_default()
    }

    /// Runs [`Catalog::discover`] unless the default model is certain without it.
    pub async fn resolve_default(&self) {
        if !self.is_default_final() {
            self.discover().await;
        }
    }

    async fn probe_and_ask(&self) {
        tokio::join!(self.probe_local(), self.ask_servers(|_| true));
    }

    async fn probe_local(&self) {
        let options = self.options();
        let local = &options.local;
        let candidates = discovery::candidates(local.discover, local.ollama.as_deref(), &local.urls);
        let local_models = discovery::probe(&candidates, &self.http).await;
        *self.local_models.write().unwrap_or_else(PoisonError::into_inner) = local_models;
    }

    fn local_models(&self) -> Vec<LocalModel> {
        self.local_models.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the vendors' models: the downloaded catalogue, otherwise the built-in one.
    fn model_table(&self) -> Arc<ModelTable> {
        self.vendors.get().map_or_else(ModelTable::built_in, |(known, _)| known.clone())
    }

    async fn load_model_table(&self) -> &(Arc<ModelTable>, Option<String>) {
        self.vendors
            .get_or_init(async || {
                let built_in = ModelTable::built_in();
                let Some(path) = &self.options().catalogue_file else { return (built_in, None) };
                match model_table::read(path, &*self.system).await {
                    Ok(Some(table)) if table.date() >= built_in.date() => (table, None),
                    // This version of the program contains newer data than the file.
                    Ok(_) => (built_in, None),
                    Err(problem) => {
                        tracing::warn!("{problem}");
                        (built_in, Some(problem))
                    }
                }
            })
            .await
    }

    /// Returns the catalogue of vendors' models in use, and the problem of the downloaded one, if
    /// any.
    pub async fn catalogue_source(&self) -> CatalogueSource {
        let (used, problem) = self.load_model_table().await;
        source(used, problem.clone())
    }

    /// Downloads a newer catalogue of vendors' models from an address, or reads it from a file
    /// (relative to `base`), and stores it. Catalogs created from then on use it. `today` is the
    /// current day, `YYYY-MM-DD`.
    ///
    /// # Errors
    ///
    /// Fails if nothing could be fetched, if it is not a catalogue, or if it cannot be stored;
    /// nothing has changed then.
    pub async fn refresh(
        &self,
        from: &str,
        base: &AbsPath,
        today: &str,
    ) -> Result<CatalogueSource, RefreshError> {
        let options = self.options();
        let target = options.catalogue_file.as_ref().ok_or(RefreshError::NoTarget)?;
        let table = model_table::refresh(from, today, target, base, &self.http, &*self.system).await?;
        Ok(source(&Arc::new(table), None))
    }

    /// Returns a model on this machine. Servers come and go, so an unknown model triggers another
    /// probe.
    async fn local(&self, model: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        self.discover().await;
        let find = || self.local_models().into_iter().find(|local| local.reported.name == model);
        let mut local = find();
        if local.is_none() {
            self.probe_local().await;
            local = find();
        }
        match local {
            Some(local) => self.build_local(&discovery::with_current_context(&local, &self.http).await),
            None => Err(ModelError::NotConfigured(match self.local_models().as_slice() {
                [] => format!(
                    "no server on this machine has the model `{model}`: none answers; start Ollama, llama.cpp, LM Studio or vLLM, or name its address in the setting providers.local.urls"
                ),
                local_models => format!(
                    "no server on this machine has the model `{model}`; there are: {}",
                    local_models
                        .iter()
                        .map(|local| format!("local/{}", local.reported.name))
                        .collect::<Vec<_>>()
                        .join(", ")
                ),
            })),
        }
    }

    async fn replay(&self, file: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let path = match (&self.options().recording.replay_base, AbsPath::new(file)) {
            (_, Ok(path)) => path,
            (Some(base), Err(_)) if !file.is_empty() => base.join(file),
            _ => {
                return Err(ModelError::NotConfigured(format!(
                    "`replay/{file}` does not name a recording; write replay/ and the file's path"
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

/// Returns whether an address is on this machine.
fn is_here(address: &str) -> bool {
    reqwest::Url::parse(address).is_ok_and(|url| http::is_loopback(&url))
}

fn source(used: &Arc<ModelTable>, problem: Option<String>) -> CatalogueSource {
    CatalogueSource {
        date: used.date().to_owned(),
        source: used.source().to_owned(),
        built_in: Arc::ptr_eq(used, &ModelTable::built_in()),
        problem,
        models: used.count(),
    }
}

#[async_trait]
impl Models for Catalog {
    fn list(&self) -> Vec<ModelInfo> {
        self.list_requested.notify_one();
        let mut list = self.listed();
        list.push(self.pilot.info().clone());
        if let Some(default) = self.known_default() {
            match list.iter().position(|info| info.id == default) {
                Some(position) => list[..=position].rotate_right(1),
                None if default.contains('/') => list.insert(0, self.guess(&default)),
                None => {}
            }
        }
        list
    }

    async fn default_id(&self) -> String {
        self.list_requested.notify_one();
        if !self.is_default_final() {
            // A timeout is not an error: what is not found in time is not the default.
            let _ = timeout(DISCOVERY_WAIT, self.discover()).await;
        }
        self.known_default().unwrap_or_else(|| self.pilot.info().id.clone())
    }

    async fn is_unconfigured(&self) -> bool {
        self.default_id().await == self.pilot.info().id && self.known_default().is_none()
    }

    async fn look_again(&self) {
        tokio::join!(self.probe_local(), self.ask_servers(is_here));
    }

    fn without_key(&self) -> Vec<ModelInfo> {
        self.first_of_others()
    }

    fn credentials(&self, id: &str) -> Credentials {
        let options = self.options();
        let provider =
            id.split_once('/').map(|(provider, _)| build::provider(provider, &options.vendors.custom));
        let vendor = match provider {
            Some("openai") => &options.vendors.openai,
            Some("anthropic") => &options.vendors.anthropic,
            Some(build::GEMINI) => &options.vendors.gemini,
            _ => return Credentials::NotNeeded,
        };
        match (vendor.key(), &vendor.base_url) {
            (Some(key), _) if key.is_refused() => Credentials::Refused,
            (Some(_), _) => Credentials::Present,
            (None, Some(_)) => Credentials::NotNeeded,
            (None, None) => Credentials::Missing,
        }
    }

    async fn get(&self, id: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        tokio::join!(self.load_model_table(), self.refused_options.load());
        let (provider, model) = id.split_once('/').unwrap_or((id, ""));
        let model = match provider {
            _ if id == self.pilot.info().id => self.pilot.clone(),
            "replay" => self.replay(model).await?,
            _ if model.is_empty() => return Err(self.incomplete_id(id)),
            "local" => self.local(model).await?,
            _ => {
                let options = self.options();
                let provider = build::provider(provider, &options.vendors.custom);
                // A user's own server reports the context size that it was started with.
                let _ = timeout(DISCOVERY_WAIT, self.ask_if_near(provider)).await;
                self.build(provider, model)?
            }
        };
        Ok(match &self.recorder {
            Some(recorder) => Arc::new(RecordingModel { inner: model, recorder: recorder.clone() }),
            None => model,
        })
    }
}
