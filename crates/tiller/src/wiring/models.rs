//! The model catalogue, from the options of providers.

use super::{clients, local_system};
use crate::options::{Options, Provider};
use agent::Redactor;
use providers::{
    AttemptOptions, Catalog, ProvidersOptions, RecordingOptions, Secret, VendorOptions, VendorsOptions,
    pilot::OfflinePilot,
};
use std::sync::Arc;
use system::AbsPath;

/// Creates the model catalogue for these options. Recordings are named relative to `cwd`.
pub(crate) fn catalog(options: &Options, redactor: &Redactor, cwd: &AbsPath) -> Catalog {
    let pilot = Arc::new(OfflinePilot::default());
    let catalog = Catalog::new(providers(options, redactor, cwd), local_system(options), pilot);
    catalog.with_clients(clients(options))
}

fn providers(options: &Options, redactor: &Redactor, cwd: &AbsPath) -> ProvidersOptions {
    ProvidersOptions {
        vendors: vendors(options),
        local: options.providers.local.clone(),
        default_model: options.session.model.clone(),
        tool_profile: options.providers.tool_profile,
        catalogue_file: Some(options.directories.cache.join("models.json")),
        refusals_file: Some(options.directories.data.join("refused-options.json")),
        recording: RecordingOptions {
            record_to: options.record.clone(),
            redactor: redactor.clone(),
            replay_base: Some(cwd.clone()),
        },
        attempts: AttemptOptions { silence: options.providers.silence, ..AttemptOptions::default() },
        is_served: options.user_folder().is_some(),
    }
}

/// Applies new settings of providers to the catalogue, with the default model for sessions that
/// choose none.
pub(crate) fn reconfigure(catalog: &Catalog, options: &Options) {
    catalog.reconfigure(|known| {
        known.vendors = vendors(options);
        known.local = options.providers.local.clone();
        known.attempts.silence = options.providers.silence;
        known.tool_profile = options.providers.tool_profile;
        known.default_model.clone_from(&options.session.model);
    });
}

fn vendors(options: &Options) -> VendorsOptions {
    let custom = &options.providers.custom;
    VendorsOptions {
        openai: vendor(&options.providers.openai),
        anthropic: vendor(&options.providers.anthropic),
        gemini: vendor(&options.providers.gemini),
        hosted_search: options.providers.hosted_search,
        custom: custom.iter().map(|(name, provider)| (name.clone(), vendor(provider))).collect(),
    }
}

fn vendor(provider: &Provider) -> VendorOptions {
    VendorOptions {
        api_key: provider.api_key.as_ref().map(|key| Secret::new(key.reveal())),
        spare_key: provider.spare_key.as_ref().map(|key| Secret::new(key.reveal())),
        base_url: provider.base_url.clone(),
        wire: provider.wire,
        silence: provider.silence,
    }
}
