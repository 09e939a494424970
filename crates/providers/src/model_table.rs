//! What is known of vendors' models: a dated table, and careful guesses for all others.

mod file;
mod refresh;
pub(crate) mod size;

pub use refresh::RefreshError;
pub(crate) use refresh::{read, refresh};

use crate::{hosts, http};
use agent::{ModelAbilities, ModelDialect, ModelInfo, ModelLimits};
use file::{File, Model};
use reqwest::Url;
use std::sync::{Arc, LazyLock};

/// The address of an up-to-date catalogue, in the format that is read.
pub const CATALOGUE_URL: &str = "https://models.dev/api.json";

/// The built-in table, in the format that `tiller models refresh` writes.
static BUILT_IN: LazyLock<Arc<ModelTable>> = LazyLock::new(|| {
    let file = file::parse(include_bytes!("model_table/builtin.json")).expect("a test reads the table too");
    Arc::new(ModelTable(file))
});

/// The maximum number of listed models per vendor.
const MAX_LISTED: usize = 12;

/// The models of a vendor that are listed first; the first one is the default.
const FIRST: [(&str, &[&str]); 3] = [
    ("openai", &["gpt-5.6-sol", "gpt-5.6-terra", "gpt-5.6-luna", "gpt-5.5", "gpt-5", "gpt-4.1"]),
    (
        "anthropic",
        &[
            "claude-sonnet-5-5",
            "claude-opus-5-5",
            "claude-fable-5-1",
            "claude-haiku-5-5",
            "claude-opus-5",
            "claude-sonnet-5",
            "claude-haiku-4-5",
            "claude-sonnet-4-5",
        ],
    ),
    ("google", &["gemini-3.8-flash", "gemini-3.1-pro-preview", "gemini-3.5-flash-lite"]),
];

/// The vendors whose own wires are implemented. All their models support native tool calls there.
const NATIVE_VENDORS: [&str; 4] = ["openai", "anthropic", "gemini", "google"];

/// A catalogue of vendors' models, to look up models in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ModelTable(File);

impl ModelTable {
    /// Returns the built-in table.
    pub(crate) fn built_in() -> Arc<Self> {
        BUILT_IN.clone()
    }

    /// Returns the day it was made, `YYYY-MM-DD`.
    pub(crate) fn date(&self) -> &str {
        &self.0.date
    }

    /// Returns its origin: `models.dev`, an address or a path.
    pub(crate) fn source(&self) -> &str {
        &self.0.source
    }

    /// Returns the models of a provider to list, at most [`MAX_LISTED`], its default first.
    pub(crate) fn listed(&self, provider: &str) -> Vec<ModelInfo> {
        let Some(vendor) = self.vendor(provider, None) else { return Vec::new() };
        let first = first_of(vendor);
        let models = self.models(vendor);
        let begin = first.iter().filter_map(|id| models.iter().find(|model| model.id == *id));
        let rest = models.iter().filter(|model| !first.contains(&model.id.as_str()));
        begin.chain(rest).take(MAX_LISTED).map(|model| described(model, provider, &model.id)).collect()
    }

    /// Returns the default model of a provider.
    pub(crate) fn first(&self, provider: &str) -> Option<String> {
        let vendor = self.vendor(provider, None)?;
        let models = self.models(vendor);
        let known = |id: &&&str| models.iter().any(|model| model.id == **id);
        let first = first_of(vendor).iter().find(known).map(|id| (*id).to_owned());
        first.or_else(|| Some(models.first()?.id.clone()))
    }

    /// Returns the provider of a model name without one.
    pub(crate) fn provider_of(&self, model: &str) -> Option<&'static str> {
        [("openai", "openai"), ("anthropic", "anthropic"), ("google", "gemini")]
            .into_iter()
            .find_map(|(vendor, provider)| self.find(vendor, model).map(|_| provider))
    }

    /// Returns what is known of a model, or a guess. A dated name (`gpt-5-2025-08-07`) counts as
    /// its family. The price applies only at the vendor itself; for a vendor's model at another
    /// server, everything but the price is used.
    pub(crate) fn info(&self, provider: &str, base_url: Option<&str>, model: &str) -> ModelInfo {
        if let Some(known) = self.vendor(provider, base_url).and_then(|vendor| self.find(vendor, model)) {
            return described(known, provider, model);
        }
        match self.find_anywhere(model, base_url.is_some_and(is_near)) {
            Some(known) => ModelInfo { price: None, ..described(known, provider, model) },
            None => {
                let native_calls = base_url.is_none() && NATIVE_VENDORS.contains(&provider);
                let dialect = ModelDialect { native_calls, reasoning_field: None };
                ModelInfo { dialect, ..guess(provider, model) }
            }
        }
    }

    /// Returns the vendor of a provider: by its address, otherwise by its name.
    fn vendor(&self, provider: &str, base_url: Option<&str>) -> Option<&str> {
        let by_address = base_url.and_then(vendor_at);
        let named = if provider == "gemini" { "google" } else { provider };
        let vendor = by_address.unwrap_or(named);
        self.0.providers.get_key_value(vendor).map(|(vendor, _)| vendor.as_str())
    }

    /// Returns the number of models.
    pub(crate) fn count(&self) -> usize {
        self.0.providers.values().map(Vec::len).sum()
    }

    fn models(&self, vendor: &str) -> &[Model] {
        self.0.providers.get(vendor).map_or(&[], Vec::as_slice)
    }

    fn find(&self, vendor: &str, model: &str) -> Option<&Model> {
        let models = self.models(vendor);
        let model = model.strip_prefix("models/").unwrap_or(model);
        let exact = models.iter().find(|known| known.id == model);
        exact.or_else(|| models.iter().find(|known| is_dated(&known.id, model)))
    }

    /// Finds a model by its name alone, as gateways use it: `claude-opus-5-5`,
    /// `anthropic/claude-opus-5-5`. At a server that runs models itself (`near`), only models that
    /// cannot be run outside their vendor match: all others have the context size that the server
    /// was started with.
    fn find_anywhere(&self, model: &str, near: bool) -> Option<&Model> {
        let bare = model.rsplit('/').next().unwrap_or(model);
        let closed = |vendor: &str| NATIVE_VENDORS.contains(&vendor) || vendor == "xai";
        let vendors = self.0.providers.keys().filter(|vendor| !near || closed(vendor));
        let open = |known: &&Model| near && known.id.starts_with("gemma");
        let mut known =
            vendors.filter_map(|vendor| self.find(vendor, model).or_else(|| self.find(vendor, bare)));
        known.find(|known| !open(known))
    }
}

/// Describes a known model under the name that a provider uses for it.
fn described(known: &Model, provider: &str, model: &str) -> ModelInfo {
    let context_size = known.limit.context;
    let max_output = match known.limit.output {
        0 => guess(provider, model).limits.max_output.min(context_size / 4),
        given => given.min(context_size),
    };
    let parameters = size::parameters_in(model);
    ModelInfo {
        id: format!("{provider}/{model}"),
        name: if model == known.id { known.name.clone() } else { model.to_owned() },
        limits: ModelLimits { context_size, max_output, silence: None },
        price: known.price(),
        abilities: ModelAbilities {
            images: known.takes_images(),
            efforts: known.efforts(),
            parameters,
            profile: size::profile(context_size, parameters),
        },
        dialect: ModelDialect { native_calls: true, reasoning_field: known.reasoning_field() },
        ..ModelInfo::default()
    }
}

/// Returns the values assumed for an unknown model.
pub(crate) fn guess(provider: &str, model: &str) -> ModelInfo {
    let (context_size, max_output, images) = match provider {
        "anthropic" => (200_000, 32_000, true),
        "openai" => (128_000, 16_384, true),
        "gemini" | "google" => (1_048_576, 65_536, true),
        // The server does not report the context size that it was started with. If the guess is too
        // large, the server truncates silently; if it is too small, turns end early.
        "local" => (32_768, 8_192, false),
        _ => (128_000, 8_192, false),
    };
    let parameters = size::parameters_in(model);
    ModelInfo {
        id: format!("{provider}/{model}"),
        name: model.to_owned(),
        limits: ModelLimits { context_size, max_output, silence: None },
        abilities: ModelAbilities {
            images,
            efforts: Vec::new(),
            parameters,
            profile: size::profile(context_size, parameters),
        },
        ..ModelInfo::default()
    }
}

fn first_of(vendor: &str) -> &'static [&'static str] {
    FIRST.iter().find(|(known, _)| *known == vendor).map_or(&[], |(_, first)| first)
}

fn vendor_at(base_url: &str) -> Option<&'static str> {
    hosts::vendor(&Url::parse(base_url).ok()?)
}

/// Returns whether an address is on this machine or in its local network; a server there runs
/// models itself.
pub(crate) fn is_near(base_url: &str) -> bool {
    Url::parse(base_url).is_ok_and(|url| http::is_near(&url))
}

/// Returns whether a name is another name followed by a date: eight digits, with or without
/// hyphens. `gpt-5-mini` or `claude-opus-5-6` is another model.
fn is_dated(known: &str, model: &str) -> bool {
    let Some(date) = model.strip_prefix(known).and_then(|rest| rest.strip_prefix('-')) else { return false };
    date.bytes().all(|byte| byte == b'-' || byte.is_ascii_digit())
        && date.bytes().filter(u8::is_ascii_digit).count() == 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent::{ToolProfile, Usage};

    #[test]
    fn dated_names_are_found_and_unknown_ones_guessed() {
        let table = ModelTable::built_in();
        for (provider, model, context, images) in [
            ("openai", "gpt-5", 400_000, true),
            ("openai", "gpt-5-2025-08-07", 400_000, true),
            ("openai", "gpt-5-unheard-of", 128_000, true),
            ("anthropic", "claude-haiku-4-5-20251001", 200_000, true),
            ("anthropic", "claude-opus-5-9", 200_000, true),
            ("local", "qwen3:8b", 32_768, false),
            ("groq", "x", 128_000, false),
        ] {
            let info = table.info(provider, None, model);
            assert_eq!((info.limits.context_size, info.abilities.images), (context, images), "{model}");
            assert_eq!(info.id, format!("{provider}/{model}"));
        }
        assert_eq!(table.provider_of("gpt-5"), Some("openai"));
        assert_eq!(table.provider_of("claude-opus-5-5"), Some("anthropic"));
        assert_eq!(table.provider_of("x"), None);
    }

    #[test]
    fn the_built_in_table_has_the_first_models_of_lists_and_prices() {
        let table = ModelTable::built_in();
        for (vendor, ids) in FIRST {
            for id in ids {
                let info = table.info(vendor, None, id);
                assert!(info.price.is_some() && info.dialect.native_calls, "{vendor}/{id}");
                assert_eq!(info.abilities.profile, ToolProfile::Full);
            }
            assert_eq!(table.first(vendor).as_deref(), Some(ids[0]));
            assert_eq!(table.listed(vendor)[0].id, format!("{vendor}/{}", ids[0]));
        }
        let used = Usage { input: 1_000_000, output: 100_000, cache_read: 900_000, ..Usage::default() };
        let opus = table.info("anthropic", None, "claude-opus-5-5");
        assert_eq!(used.priced(opus.price.as_ref()).cost.map(agent::Cost::dollars), Some(0.4 + 0.18 + 2.0));
        assert_eq!(opus.abilities.efforts, ["low", "medium", "high", "xhigh", "max"]);
        let deepseek = table.info("deepseek", None, "deepseek-v4-pro");
        assert_eq!(deepseek.dialect.reasoning_field.as_deref(), Some("reasoning_content"));
        assert_eq!(table.info("gemini", None, "gemini-3.5-flash").limits.context_size, 1_048_576);
    }

    #[test]
    fn prices_apply_at_the_vendor_only_and_other_facts_at_gateways_too() {
        let table = ModelTable::built_in();
        for (provider, base, model, priced) in [
            ("mine", Some("https://api.deepseek.com"), "deepseek-v4-pro", true),
            ("openai", Some("https://eu.api.openai.com/v1"), "gpt-5.6-sol", true),
            ("work", Some("https://us.api.openai.com/v1"), "gpt-5.6-sol", true),
            ("mine", Some("https://openrouter.ai/api/v1"), "z-ai/glm-5.2", true),
            ("work", Some("https://llm.example.org/v1"), "claude-opus-5-5", false),
            ("work", Some("https://llm.example.org/v1"), "anthropic/claude-opus-5-5", false),
        ] {
            let info = table.info(provider, base, model);
            assert_eq!(info.price.is_some(), priced, "{provider} {model}");
            assert!(
                info.limits.context_size > 900_000 && info.dialect.native_calls,
                "{provider} {model}: {info:?}"
            );
        }
        let unknown = table.info("work", Some("https://llm.example.org/v1"), "house-model");
        assert_eq!((unknown.price, unknown.dialect.native_calls), (None, false));
    }
}
