//! One cheap request to a provider, to see whether it can be used.

use super::{
    Catalog,
    build::{self, GEMINI},
};
use crate::{
    VendorOptions, discovery,
    http::{Peer, is_loopback, shown},
    known_provider,
    limits::{CHECK_TIMEOUT, MAX_LIST_BYTES},
    remote,
};
use agent::ModelError;
use reqwest::Url;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The answer of a provider to a request for its list of models.
#[derive(Debug)]
pub struct ProviderCheck {
    /// The address that was asked, without credentials; `None` if none is known.
    pub address: Option<String>,
    /// How long the answer took.
    pub latency: Duration,
    /// The number of models in the list; `None` if the server has no list, which is not an error.
    pub models: Option<usize>,
    /// Why it cannot be used.
    pub error: Option<ModelError>,
}

impl Catalog {
    /// Asks a provider's server for its list of models, with its key. `local` stands for the
    /// servers on this machine. Takes at most 10 s.
    pub async fn check_provider(&self, provider: &str) -> ProviderCheck {
        let begin = Instant::now();
        let (address, result) = match provider {
            "local" => (None, self.check_local().await),
            _ => {
                let options = self.options();
                let name = build::provider(provider, &options.vendors.custom);
                let vendor = match name {
                    "openai" => Some(&options.vendors.openai),
                    "anthropic" => Some(&options.vendors.anthropic),
                    GEMINI => Some(&options.vendors.gemini),
                    name => options.vendors.custom.get(name),
                };
                match vendor {
                    Some(vendor) => self.check_server(name, vendor).await,
                    None => (None, Err(self.unknown_provider(provider))),
                }
            }
        };
        let latency = begin.elapsed();
        match result {
            Ok(models) => ProviderCheck { address, latency, models, error: None },
            Err(error) => ProviderCheck { address, latency, models: None, error: Some(error) },
        }
    }

    async fn check_local(&self) -> Result<Option<usize>, ModelError> {
        self.probe_local().await;
        match self.local_models().len() {
            0 => Err(ModelError::Transport(
                "no model server answers on this machine; start Ollama, llama.cpp, LM Studio or vLLM with a model"
                    .to_owned(),
            )),
            models => Ok(Some(models)),
        }
    }

    async fn check_server(
        &self,
        provider: &str,
        vendor: &VendorOptions,
    ) -> (Option<String>, Result<Option<usize>, ModelError>) {
        let official = known_provider(provider).filter(|known| known.built_in).map(|known| known.base_url);
        let Some(base_url) = vendor.base_url.as_deref().or(official) else {
            let error = format!("the provider `{provider}` has no base URL: set it in the configuration");
            return (None, Err(ModelError::NotConfigured(error)));
        };
        let at = Url::parse(base_url).ok().map(|url| shown(&url));
        if vendor.base_url.is_none() && vendor.api_key.is_none() {
            let error = format!("{provider} has no API key: run `tiller setup --provider {provider}`");
            return (at, Err(ModelError::Auth(error)));
        }
        let key = vendor.key();
        let listed = self.request_list(provider, vendor, base_url).await;
        match listed {
            Err(ModelError::Auth(_)) if vendor.key() != key => {
                (at, self.request_list(provider, vendor, base_url).await)
            }
            listed => (at, listed),
        }
    }

    async fn request_list(
        &self,
        provider: &str,
        vendor: &VendorOptions,
        base_url: &str,
    ) -> Result<Option<usize>, ModelError> {
        // The list does not depend on the model.
        let format = remote::format(build::wires(provider, vendor.wire, base_url, "")[0]);
        let endpoint = format.list_for(base_url, vendor.key())?;
        let peer = Peer {
            provider: provider.to_owned(),
            model: "its list of models".to_owned(),
            url: endpoint.shown(),
            key_setting: format!("its key with `tiller setup --provider {provider}`"),
            silence_setting: String::new(),
            key: vendor.key().cloned(),
        };
        let client = self.http.client(&endpoint.url)?;
        let exchange = async {
            let failed = |error: reqwest::Error| peer.interrupted("the request to", &error).error;
            let request = client.get(endpoint.url.clone()).headers(endpoint.headers.clone());
            let mut response = request.send().await.map_err(failed)?;
            let status = response.status().as_u16();
            let mut body = Vec::new();
            while let Some(chunk) = response.chunk().await.map_err(failed)? {
                body.extend_from_slice(&chunk);
                if body.len() > MAX_LIST_BYTES {
                    return Ok(None);
                }
            }
            match status {
                200..300 => Ok(discovery::list_length(&body)),
                // A server without a list can answer prompts all the same.
                404 | 405 | 501 if vendor.base_url.is_some() => Ok(None),
                status => Err(peer.status(status, &body).error),
            }
        };
        let late = |_| {
            let place = if is_loopback(&endpoint.url) { "on this machine" } else { "there" };
            let seconds = CHECK_TIMEOUT.as_secs();
            ModelError::Transport(format!("{} does not answer {place} within {seconds} s", endpoint.shown()))
        };
        timeout(CHECK_TIMEOUT, exchange).await.map_err(late)?
    }
}
