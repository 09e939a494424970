//! What a setup can begin with: keys in the environment, servers on this machine, editors.

use crate::{
    editors::{Places, look},
    environment::Environment,
    options::Options,
    wiring,
};
use ::providers::{Catalog, KNOWN_PROVIDERS, KnownProvider};
use agent::Models as _;
use system::AbsPath;

/// What was found.
#[derive(Debug)]
pub(crate) struct Found {
    /// The vendors whose usual variable has a key.
    pub(crate) keys: Vec<&'static KnownProvider>,
    /// The ids of the models that servers on this machine offer.
    pub(crate) local: Vec<String>,
    /// The editors that are on this machine and have no entry yet, as `tiller install` names them.
    pub(crate) editors: Vec<&'static str>,
}

impl Found {
    /// Looks around. Sends nothing beyond this machine.
    pub(crate) async fn new(
        options: &Options,
        environment: &Environment,
        cwd: &AbsPath,
        catalog: &Catalog,
    ) -> Self {
        if options.providers.local.discover || !options.providers.local.urls.is_empty() {
            catalog.discover_here().await;
        }
        let local = catalog.list().into_iter().map(|model| model.id).filter(|id| id.starts_with("local/"));
        let places = Places::new(environment, options.directories.home.clone(), cwd.clone());
        let path = environment.get("PATH").unwrap_or_default();
        let editors = look(&*wiring::local_system(options), &places, path).await.into_iter();
        let editors = editors
            .filter(|found| found.is_present && found.command.is_none() && found.problem.is_none())
            .map(|found| found.editor.id());
        let keys = KNOWN_PROVIDERS.iter().filter(|known| environment.get(known.key_variable).is_some());
        Self { keys: keys.collect(), local: local.collect(), editors: editors.collect() }
    }
}
