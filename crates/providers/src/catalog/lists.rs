//! The list of models, and the choice of the default.

use super::{
    Catalog,
    build::{self, GEMINI},
};
use crate::{
    VendorOptions,
    discovery::{Candidate, LocalModel},
    http::shown,
    model_table::is_near,
    remote,
};
use agent::{ModelError, ModelInfo};
use futures::future::join_all;
use reqwest::Url;
use std::sync::PoisonError;

/// The answer of the server at a user-configured address.
#[derive(Debug, Clone)]
pub(super) struct ServerList {
    base_url: String,
    /// Its models; `None` if it did not answer with a list.
    models: Option<Vec<LocalModel>>,
}

/// A configured provider's entry in the list of models.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// The provider's name.
    pub provider: String,
    /// The address that was asked, without credentials; `None` for a vendor whose models are known.
    pub address: Option<String>,
    /// The number of models listed; `None` if the server did not answer with a list.
    pub models: Option<usize>,
}

impl Catalog {
    /// Returns the configured providers, built-in ones first. A provider is configured by a key, or
    /// by the address of a server that may need no key.
    fn configured(&self) -> Vec<(String, VendorOptions)> {
        let options = self.options();
        let built_in = [
            ("openai", &options.vendors.openai),
            ("anthropic", &options.vendors.anthropic),
            (GEMINI, &options.vendors.gemini),
        ];
        let built_in = built_in.into_iter().filter(|(_, vendor)| vendor.is_configured());
        let custom = options.vendors.custom.iter().map(|(name, vendor)| (name.as_str(), vendor));
        let custom = custom.filter(|(_, vendor)| vendor.base_url.is_some());
        built_in.chain(custom).map(|(name, vendor)| (name.to_owned(), vendor.clone())).collect()
    }

    /// Returns every address whose answer affects the list.
    pub(super) fn addresses(&self) -> Vec<String> {
        let options = self.options();
        let named = self.configured().into_iter().filter_map(|(name, vendor)| {
            let key = if vendor.api_key.is_some() { "with a key" } else { "without a key" };
            Some(format!("{name} {} {key}", vendor.base_url?))
        });
        let local = options.local.urls.iter().cloned().chain(options.local.ollama.clone());
        named.chain(local).chain(options.local.discover.then(|| "usual".to_owned())).collect()
    }

    /// Asks the servers at those user-configured addresses for their models; each answer counts as
    /// soon as it arrives.
    pub(super) async fn ask_servers(&self, at: impl Fn(&str) -> bool) {
        let servers = self.configured().into_iter();
        let servers = servers.filter(|(_, vendor)| vendor.base_url.as_deref().is_some_and(&at));
        join_all(servers.map(async |(name, vendor)| self.ask_server(name, vendor).await)).await;
    }

    /// Asks a provider's server for its models, if it is near and has not been asked.
    pub(super) async fn ask_if_near(&self, provider: &str) {
        let known = self.configured().into_iter().find(|(name, _)| name == provider);
        if let Some((name, vendor)) = known
            && vendor.base_url.as_deref().is_some_and(is_near)
            && self.server_list(&name, &vendor).is_none()
        {
            self.ask_server(name, vendor).await;
        }
    }

    async fn ask_server(&self, name: String, vendor: VendorOptions) {
        let Some(base_url) = vendor.base_url.clone() else { return };
        let models = match server(&name, &vendor) {
            Ok(Some(server)) => server.models(&self.http).await,
            // A wrong address or key is reported when a model is requested.
            Ok(None) | Err(_) => None,
        };
        let mut server_lists = self.server_lists.write().unwrap_or_else(PoisonError::into_inner);
        server_lists.insert(name, ServerList { base_url, models });
    }

    /// Returns the answer of a provider's server; `None` if it was not asked at its current
    /// address.
    fn server_list(&self, provider: &str, vendor: &VendorOptions) -> Option<ServerList> {
        let server_lists = self.server_lists.read().unwrap_or_else(PoisonError::into_inner);
        let known = server_lists.get(provider)?;
        (Some(&known.base_url) == vendor.base_url.as_ref()).then(|| known.clone())
    }

    /// Returns the values that a provider's server reported of one of its models.
    pub(super) fn reported(&self, provider: &str, vendor: &VendorOptions, model: &str) -> Option<LocalModel> {
        let listed = self.server_list(provider, vendor)?.models?;
        listed.into_iter().find(|known| known.reported.name == model)
    }

    /// Returns the models of a configured provider, its default first.
    fn models_of(&self, provider: &str, vendor: &VendorOptions) -> Vec<ModelInfo> {
        let model_table = self.model_table();
        let Some(listed) = self.server_list(provider, vendor).and_then(|list| list.models) else {
            // Without an answer, nothing is known of the models of a custom server.
            let is_vendor = matches!(provider, "openai" | "anthropic" | GEMINI);
            return if is_vendor { model_table.listed(provider) } else { Vec::new() };
        };
        let mut models: Vec<ModelInfo> =
            listed.iter().map(|listed| self.info(provider, vendor, &listed.reported.name)).collect();
        // A gateway to a vendor's models keeps the vendor's default model.
        let first = model_table.first(provider).map(|first| format!("{provider}/{first}"));
        if let Some(position) = models.iter().position(|info| Some(&info.id) == first.as_ref()) {
            models[..=position].rotate_right(1);
        }
        models
    }

    /// Returns what is known of a provider's model: the values its server reported, otherwise the
    /// catalogue's.
    pub(super) fn info(&self, provider: &str, vendor: &VendorOptions, model: &str) -> ModelInfo {
        let known = self.model_table().info(provider, vendor.base_url.as_deref(), model);
        let known = match self.reported(provider, vendor, model) {
            Some(reported) => build::with_reported(known, &reported),
            None => known,
        };
        self.with_profile(known)
    }

    /// Overrides the tool profile with the configured one, if any.
    fn with_profile(&self, mut info: ModelInfo) -> ModelInfo {
        if let Some(profile) = self.options().tool_profile {
            info.abilities.profile = profile;
        }
        info
    }

    /// Returns what is known of a model on this machine.
    pub(super) fn local_info(&self, local: &LocalModel) -> ModelInfo {
        self.with_profile(build::local_info(local))
    }

    /// Returns the models of every configured provider and of this machine.
    pub(super) fn listed(&self) -> Vec<ModelInfo> {
        let configured = self.configured();
        let named = configured.iter().flat_map(|(provider, vendor)| self.models_of(provider, vendor));
        let mut list: Vec<ModelInfo> = named.collect();
        list.extend(self.local_models().iter().map(|local| self.local_info(local)));
        list
    }

    /// Returns the first model of each vendor that is not configured.
    pub(super) fn first_of_others(&self) -> Vec<ModelInfo> {
        let configured = self.configured();
        let others = ["openai", "anthropic", GEMINI].into_iter();
        let others = others.filter(|vendor| configured.iter().all(|(name, _)| name != vendor));
        let (table, vendor) = (self.model_table(), VendorOptions::default());
        others.filter_map(|name| Some(self.info(name, &vendor, &table.first(name)?))).collect()
    }

    /// Returns what is known of a configured default model that is in no list.
    pub(super) fn guess(&self, id: &str) -> ModelInfo {
        let (provider, model) = id.split_once('/').unwrap_or(("", id));
        let options = self.options();
        let provider = build::provider(provider, &options.vendors.custom);
        match provider {
            "openai" => self.info(provider, &options.vendors.openai, model),
            "anthropic" => self.info(provider, &options.vendors.anthropic, model),
            GEMINI => self.info(provider, &options.vendors.gemini, model),
            name => self.info(
                provider,
                options.vendors.custom.get(name).unwrap_or(&VendorOptions::default()),
                model,
            ),
        }
    }

    /// Returns the default model as far as it is known without waiting.
    pub(super) fn known_default(&self) -> Option<String> {
        if let Some(id) = &self.options().default_model {
            return Some(id.clone());
        }
        self.listed().into_iter().next().map(|info| info.id)
    }

    /// Returns whether the default is final, so that waiting would not change it.
    pub(super) fn is_default_final(&self) -> bool {
        if self.options().default_model.is_some() {
            return true;
        }
        let settled = |(provider, vendor): &(String, VendorOptions)| {
            vendor.base_url.is_none() || self.server_list(provider, vendor).is_some()
        };
        let configured = self.configured();
        let first =
            configured.iter().position(|(provider, vendor)| !self.models_of(provider, vendor).is_empty());
        match first {
            Some(first) => configured[..=first].iter().all(settled),
            None => !self.local_models().is_empty() && configured.iter().all(settled),
        }
    }

    /// Returns the entry of each configured provider, as far as it was asked.
    pub fn listings(&self) -> Vec<Listing> {
        let listing = |(provider, vendor): (String, VendorOptions)| Listing {
            address: vendor
                .base_url
                .as_deref()
                .map(|base| Url::parse(base).map_or_else(|_| base.to_owned(), |url| shown(&url))),
            models: match &vendor.base_url {
                None => Some(self.models_of(&provider, &vendor).len()),
                Some(_) => self.server_list(&provider, &vendor).and_then(|list| Some(list.models?.len())),
            },
            provider,
        };
        self.configured().into_iter().map(listing).collect()
    }
}

/// Returns the server at a provider's user-configured address, to be asked for its models; `None`
/// if it has no such address.
fn server(name: &str, vendor: &VendorOptions) -> Result<Option<Candidate>, ModelError> {
    let Some(base_url) = &vendor.base_url else { return Ok(None) };
    // The list does not depend on the model.
    let format = remote::format(build::wires(name, vendor.wire, base_url, "")[0]);
    let endpoint = format.list_for(base_url, vendor.key())?;
    Ok(Candidate::named(name, &endpoint.url, endpoint.headers))
}
