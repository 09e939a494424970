//! Checks whether the model of new sessions can be used.

use crate::options::Options;
use agent::{Credentials, Models as _};
use providers::Catalog;

/// Problems with the models, and commands that solve them.
#[derive(Debug, Default)]
pub(super) struct ModelHealth {
    /// The id of the model of new sessions; `None` if only the pilot would answer.
    pub(super) default: Option<String>,
    /// The state of its provider's credentials: `present`, `missing` or `not_needed`; `None`
    /// without a
    /// model.
    pub(super) credentials: Option<&'static str>,
    pub(super) notes: Vec<String>,
    pub(super) issues: Vec<String>,
    /// Commands that solve the issues.
    pub(super) next_commands: Vec<String>,
}

/// Discovers model servers on this machine and checks the default model. Sends no request to a
/// vendor.
pub(super) async fn check(options: &Options, catalog: &Catalog) -> ModelHealth {
    catalog.discover().await;
    let mut health = ModelHealth::default();
    if catalog.is_unconfigured().await {
        health.issues.push("no model is set up: only the built-in pilot is available".to_owned());
        health.next_commands.extend(["tiller setup".to_owned(), "export ANTHROPIC_API_KEY=…".to_owned()]);
        return health;
    }
    let id = catalog.default_id().await;
    let credentials = catalog.credentials(&id);
    health.credentials = Some(match credentials {
        Credentials::NotNeeded => "not_needed",
        Credentials::Present => "present",
        Credentials::Missing => "missing",
    });
    let provider = id.split('/').next().unwrap_or_default();
    match (credentials, catalog.get(&id).await) {
        (Credentials::Missing, _) => {
            health
                .issues
                .push(format!("the default model {id} cannot be used: there is no key for {provider}"));
            health.next_commands.push(format!("tiller setup --provider {provider}"));
        }
        (_, Err(error)) => {
            health.issues.push(format!("the default model {id} cannot be used: {error}"));
            health.next_commands.extend(["tiller models".to_owned(), "tiller setup".to_owned()]);
        }
        (_, Ok(_)) if id == providers::pilot::ID => health
            .notes
            .push("the default model is the built-in pilot, which is not a language model".to_owned()),
        (_, Ok(_)) => {}
    }
    let local: Vec<_> =
        catalog.list().into_iter().map(|model| model.id).filter(|id| id.starts_with("local/")).collect();
    if !local.is_empty() && !id.starts_with("local/") {
        let chosen = if options.session.model.is_some() { "the default is set to" } else { "the default is" };
        health.notes.push(format!("this machine serves {}; {chosen} {id}", local.join(", ")));
        if !health.issues.is_empty() {
            health.next_commands.push(format!("tiller setup --model {}", local[0]));
        }
    }
    health.default = Some(id);
    health
}
