//! Builds a model from its id and the options.

use super::Catalog;
use crate::{
    Secret, VendorOptions, Wire,
    discovery::LocalModel,
    family,
    guided::GuidedModel,
    hosts,
    http::{self, Peer, Tuning},
    limits,
    model_table::{self, is_near, size},
    remote::{self, Remote, RemoteModel, WireTarget},
};
use agent::{LanguageModel, ModelAbilities, ModelError, ModelInfo, ModelLimits, ToolProfile};
use reqwest::Url;
use std::{collections::BTreeMap, sync::Arc};

const OPENAI_URL: &str = "https://api.openai.com/v1";
const ANTHROPIC_URL: &str = "https://api.anthropic.com";
const GEMINI_URL: &str = "https://generativelanguage.googleapis.com/v1beta";

/// The provider name of Google's own API.
pub(super) const GEMINI: &str = "gemini";

/// Resolves a provider name: `google` means `gemini`, unless the user configured a provider named
/// so.
pub(super) fn provider<'a>(name: &'a str, custom: &BTreeMap<String, VendorOptions>) -> &'a str {
    if name == "google" && !custom.contains_key(name) { GEMINI } else { name }
}

/// How one model is reached, with everything decided.
struct Route<'a> {
    provider: &'a str,
    base_url: &'a str,
    /// The candidate wires, the most likely first.
    wires: &'static [Wire],
    vendor: &'a VendorOptions,
    key_setting: String,
    /// The setting for how long the server may send nothing.
    silence_setting: String,
}

impl Catalog {
    pub(super) fn build(&self, provider: &str, model: &str) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let options = self.options();
        let vendor = match provider {
            "openai" => &options.vendors.openai,
            "anthropic" => &options.vendors.anthropic,
            GEMINI => &options.vendors.gemini,
            name => options.vendors.custom.get(name).ok_or_else(|| self.unknown_provider(name))?,
        };
        let official = match provider {
            "openai" => Some((OPENAI_URL, "OPENAI_API_KEY")),
            "anthropic" => Some((ANTHROPIC_URL, "ANTHROPIC_API_KEY")),
            GEMINI => Some((GEMINI_URL, "GEMINI_API_KEY")),
            _ => None,
        };
        let key_setting = match official {
            _ if options.is_served => {
                "your own key (providers/configure), or ask the server's administrator for one".to_owned()
            }
            Some((_, variable)) => variable.to_owned(),
            None => format!("the API key of the provider `{provider}` in the configuration"),
        };
        let base_url = match (&vendor.base_url, official) {
            (Some(url), _) => url.as_str(),
            (None, Some(_)) if vendor.api_key.is_none() => {
                let setup = if options.is_served { "" } else { "run `tiller setup`, " };
                return Err(ModelError::Auth(format!(
                    "{provider} has no API key: {setup}set {key_setting}, or choose another model"
                )));
            }
            (None, Some((url, _))) => url,
            (None, None) => {
                return Err(ModelError::NotConfigured(format!(
                    "the provider `{provider}` has no base URL: set it in the configuration"
                )));
            }
        };
        let silence_setting = match official {
            Some(_) => format!("providers.{provider}.silence"),
            None => format!("providers.custom.{provider}.silence"),
        };
        let wires = wires(provider, vendor.wire, base_url, model);
        let route = Route { provider, base_url, wires, vendor, key_setting, silence_setting };
        self.connect(route, self.info(provider, vendor, model), model)
    }

    pub(super) fn build_local(&self, local: &LocalModel) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let vendor = VendorOptions { silence: self.options().local.silence, ..VendorOptions::default() };
        let route = Route {
            provider: &local.server.name,
            base_url: &local.server.base_url,
            wires: &[Wire::Chat],
            vendor: &vendor,
            key_setting: "the server up without a key".into(),
            silence_setting: "providers.local.silence".into(),
        };
        self.connect(route, self.local_info(local), &local.reported.name)
    }

    fn connect(
        &self,
        route: Route<'_>,
        mut info: ModelInfo,
        model: &str,
    ) -> Result<Arc<dyn LanguageModel>, ModelError> {
        let options = self.options();
        let targets: Result<Vec<_>, _> =
            route.wires.iter().map(|wire| target(&route, *wire, model)).collect();
        if let Some(reported) = self.refused_options.of(route.base_url, model).context_size {
            info.limits.context_size = info.limits.context_size.min(reported);
        }
        let usual = if is_near(route.base_url) { limits::SILENCE_NEAR } else { limits::SILENCE };
        let idle = route.vendor.silence.or(options.attempts.silence).unwrap_or(usual);
        info.limits.silence = Some(idle);
        let is_guided = info.abilities.profile == ToolProfile::Guided;
        let model = Arc::new(RemoteModel(Arc::new(Remote {
            info,
            base_url: route.base_url.to_owned(),
            targets: targets?,
            http: self.http.clone(),
            tuning: Tuning { idle, tries: options.attempts.tries, retry_delay: options.attempts.retry_delay },
            refused_options: self.refused_options.clone(),
            hosted_search: options.vendors.hosted_search,
        })));
        Ok(if is_guided { Arc::new(GuidedModel::new(model)) } else { model })
    }

    /// Returns the error for an unknown provider name, suggesting the nearest known name.
    pub(super) fn unknown_provider(&self, name: &str) -> ModelError {
        let options = self.options();
        let built_in = ["openai", "anthropic", GEMINI, "local", "offline", "replay"];
        let names: Vec<&str> =
            built_in.into_iter().chain(options.vendors.custom.keys().map(String::as_str)).collect();
        let hint = match agent::closest(name, &names, |known| known) {
            Some(known) => format!("did you mean `{known}`?"),
            None => format!("there are: {}", names.join(", ")),
        };
        ModelError::NotConfigured(format!("there is no provider `{name}`: {hint}"))
    }

    /// Returns the error for an id without a provider or without a model.
    pub(super) fn incomplete_id(&self, id: &str) -> ModelError {
        let hint = match self.model_table().provider_of(id) {
            Some(provider) => format!("did you mean `{provider}/{id}`?"),
            None => "write it as PROVIDER/MODEL, such as openai/gpt-5 or local/qwen3:8b".into(),
        };
        ModelError::NotConfigured(format!("`{id}` is not the id of a model: {hint}"))
    }
}

/// Returns what is known of a model on this machine.
pub(super) fn local_info(local: &LocalModel) -> ModelInfo {
    let LocalModel { server, reported } = local;
    let location = if is_loopback(&server.base_url) { "on this machine, in" } else { "at" };
    ModelInfo {
        name: format!("{} ({})", reported.name, server.name),
        description: Some(format!("Runs {location} {}.", server.name)),
        ..with_reported(model_table::guess("local", &reported.name), local)
    }
}

/// Merges what is known of a model with the values that its server reported. A context size that
/// was not reported is guessed, capped by the model's maximum.
pub(super) fn with_reported(known: ModelInfo, model: &LocalModel) -> ModelInfo {
    let LocalModel { server, reported } = model;
    let guess = known.limits.context_size.min(reported.max_context.unwrap_or(u64::MAX));
    let context_size = reported.context_size.unwrap_or(guess);
    let parameters = reported.parameters.or(known.abilities.parameters);
    // A user's own server shares its context between input and output.
    let most = if server.kind.is_some() { context_size / 4 } else { context_size };
    ModelInfo {
        limits: ModelLimits {
            context_size,
            max_output: reported.max_output.unwrap_or(known.limits.max_output).min(most),
            ..known.limits
        },
        abilities: ModelAbilities {
            images: known.abilities.images || reported.images,
            parameters,
            profile: size::profile(context_size, parameters),
            ..known.abilities
        },
        ..known
    }
}

/// Returns the wires to try, the most likely first. A configured wire is the only one.
pub(super) fn wires(provider: &str, set: Wire, base_url: &str, model: &str) -> &'static [Wire] {
    let ends_with = |path: &str| base_url.trim_end_matches('/').ends_with(path);
    match set {
        Wire::Chat => &[Wire::Chat],
        Wire::Responses => &[Wire::Responses],
        Wire::Anthropic => &[Wire::Anthropic],
        Wire::Gemini => &[Wire::Gemini],
        Wire::Auto if provider == "anthropic" => &[Wire::Anthropic],
        Wire::Auto if provider == GEMINI => &[Wire::Gemini],
        // The base URL is the full address of one resource.
        Wire::Auto if ends_with("/chat/completions") => &[Wire::Chat],
        Wire::Auto if ends_with("/responses") => &[Wire::Responses],
        Wire::Auto if is_openai(base_url) || (provider == "openai" && family::wants_responses(model)) => {
            &[Wire::Responses, Wire::Chat]
        }
        Wire::Auto => &[Wire::Chat, Wire::Responses],
    }
}

/// Builds one wire to a model.
fn target(route: &Route<'_>, wire: Wire, model: &str) -> Result<WireTarget, ModelError> {
    let VendorOptions { api_key, spare_key, .. } = route.vendor;
    let spare = spare_key.clone().map(|key| with_key(route, wire, model, Some(key)));
    let target = with_key(route, wire, model, api_key.clone())?;
    Ok(WireTarget { spare: spare.transpose()?.map(Box::new), ..target })
}

fn with_key(
    route: &Route<'_>,
    wire: Wire,
    model: &str,
    key: Option<Secret>,
) -> Result<WireTarget, ModelError> {
    let endpoint = remote::format(wire).endpoint_for(route.base_url, model, key.as_ref())?;
    let peer = Peer {
        provider: route.provider.to_owned(),
        model: model.to_owned(),
        url: endpoint.shown(),
        key_setting: route.key_setting.clone(),
        silence_setting: route.silence_setting.clone(),
        key,
    };
    Ok(WireTarget { wire, endpoint, peer, spare: None })
}

fn is_openai(base_url: &str) -> bool {
    Url::parse(base_url).is_ok_and(|url| hosts::is_openai(&url))
}

fn is_loopback(base_url: &str) -> bool {
    Url::parse(base_url).is_ok_and(|url| http::is_loopback(&url))
}
