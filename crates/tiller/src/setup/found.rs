//! What a setup can begin with: keys in the environment, servers on this machine, editors.

use crate::{environment::Environment, options::Options};
use ::providers::{Catalog, KNOWN_PROVIDERS, KnownProvider};
use agent::Models as _;

/// Programs of editors that speak the protocol, with the name that `tiller install` takes.
const EDITORS: &[(&str, &str)] = &[
    ("zed", "zed"),
    ("zeditor", "zed"),
    ("nvim", "neovim"),
    ("emacs", "emacs"),
    ("code", "vscode"),
    ("idea", "jetbrains"),
    ("pycharm", "jetbrains"),
];

/// What was found.
#[derive(Debug)]
pub(crate) struct Found {
    /// The vendors whose usual variable has a key.
    pub(crate) keys: Vec<&'static KnownProvider>,
    /// The ids of the models that servers on this machine offer.
    pub(crate) local: Vec<String>,
    /// The editors in PATH, as `tiller install` names them.
    pub(crate) editors: Vec<&'static str>,
}

impl Found {
    /// Looks around. Sends nothing beyond this machine.
    pub(crate) async fn new(options: &Options, environment: &Environment, catalog: &Catalog) -> Self {
        if options.providers.local.discover || !options.providers.local.urls.is_empty() {
            catalog.discover_here().await;
        }
        let local = catalog.list().into_iter().map(|model| model.id).filter(|id| id.starts_with("local/"));
        let keys = KNOWN_PROVIDERS.iter().filter(|known| environment.get(known.key_variable).is_some());
        Self { keys: keys.collect(), local: local.collect(), editors: editors(environment) }
    }
}

/// Returns the editors in PATH, as `tiller install` names them.
pub(crate) fn editors(environment: &Environment) -> Vec<&'static str> {
    let mut found = Vec::new();
    for (program, name) in EDITORS {
        if !found.contains(name) && !environment.programs(program).is_empty() {
            found.push(*name);
        }
    }
    found
}
