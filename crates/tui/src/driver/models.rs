//! The models to choose from, with where the key of each comes from.

use super::{host::Host, reply::ModelKey};
use agent::{Credentials, ModelInfo, Models};
use std::collections::HashMap;

/// Returns the models that can be chosen, the default first, and after them one of each vendor that
/// lacks a key.
pub(super) async fn listed(models: &dyn Models, host: &dyn Host) -> Vec<(ModelInfo, ModelKey)> {
    let sources = host.key_sources().await;
    let mut list = models.list();
    for other in models.without_key() {
        if list.iter().all(|model| model.id != other.id) {
            list.push(other);
        }
    }
    list.into_iter()
        .map(|model| {
            let key = key(&model.id, models.credentials(&model.id), &sources);
            (model, key)
        })
        .collect()
}

fn key(id: &str, credentials: Credentials, sources: &HashMap<String, String>) -> ModelKey {
    let provider = id.split('/').next().unwrap_or_default();
    match credentials {
        // A server at an address of the user's own has a key all the same, if one is set.
        Credentials::NotNeeded => match sources.get(provider) {
            Some(source) => ModelKey::From(Some(source.clone())),
            None => ModelKey::NotNeeded,
        },
        Credentials::Present | Credentials::Refused => ModelKey::From(sources.get(provider).cloned()),
        Credentials::Missing => ModelKey::Missing(format!("tiller auth login {provider}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_named_by_its_source_and_a_missing_one_by_the_command_that_gives_one() {
        let sources = HashMap::from([("anthropic".to_owned(), "ANTHROPIC_API_KEY".to_owned())]);
        let from = |name: &str| ModelKey::From(Some(name.to_owned()));
        for (id, credentials, expected) in [
            ("anthropic/x", Credentials::Present, from("ANTHROPIC_API_KEY")),
            ("anthropic/x", Credentials::NotNeeded, from("ANTHROPIC_API_KEY")),
            ("openai/x", Credentials::Present, ModelKey::From(None)),
            ("openai/x", Credentials::Missing, ModelKey::Missing("tiller auth login openai".to_owned())),
            ("local/x", Credentials::NotNeeded, ModelKey::NotNeeded),
        ] {
            assert_eq!(key(id, credentials, &sources), expected, "{id} {credentials:?}");
        }
    }
}
