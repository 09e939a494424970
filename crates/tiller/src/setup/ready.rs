//! Models that can be used at once: no key has to be typed for them.

use super::Found;
use crate::{address::without_credentials, options::Options};

/// The number of models of one place that are offered.
pub(super) const OFFERED_MODELS: usize = 12;

/// A model, or a provider, that can be used at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ready {
    /// What leads to it.
    pub(crate) from: ReadyFrom,
    /// Its name for people.
    pub(crate) name: String,
    /// Why it can be taken at once.
    pub(crate) about: String,
}

/// What leads to a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReadyFrom {
    /// A model that a server on this machine offers, by its full id.
    Local(String),
    /// A provider of this name, whose key is there or which may need none.
    Provider(String),
}

/// Returns what was found, model servers on this machine first.
pub(crate) fn ready(options: &Options, found: &Found) -> Vec<Ready> {
    let local = found.local.iter().take(OFFERED_MODELS).map(|id| Ready {
        from: ReadyFrom::Local(id.clone()),
        name: id.clone(),
        about: "on this machine, no key needed".to_owned(),
    });
    let keys = found.keys.iter().map(|known| Ready {
        from: ReadyFrom::Provider(known.name.to_owned()),
        name: known.label.to_owned(),
        about: format!("its key is in {}", known.key_variable),
    });
    let custom = options.providers.custom.iter();
    let custom = custom.filter(|(name, _)| !found.keys.iter().any(|known| known.name == *name));
    let custom = custom.map(|(name, provider)| Ready {
        from: ReadyFrom::Provider(name.clone()),
        name: name.clone(),
        about: provider.base_url.as_deref().map(without_credentials).unwrap_or_default(),
    });
    local.chain(keys).chain(custom).collect()
}
