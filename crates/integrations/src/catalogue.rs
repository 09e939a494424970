//! The catalogue of all integrations.

use crate::{
    builtin::built_in,
    gates::Blocked,
    integration::{Function, Integration},
    names::integration_name,
};
use std::{collections::BTreeMap, sync::Arc};

/// The built-in integrations and those of the user, which take precedence.
#[derive(Debug, Clone)]
pub struct Catalogue {
    integrations: BTreeMap<String, Arc<Integration>>,
    /// Integrations of the user that cannot be read, with the reason.
    broken: BTreeMap<String, String>,
}

impl Catalogue {
    /// Creates a catalogue of the built-in integrations and `added`. The names in `broken` are
    /// reported and cannot be called.
    pub fn new(
        added: impl IntoIterator<Item = Integration>,
        broken: impl IntoIterator<Item = (String, String)>,
    ) -> Self {
        let all = built_in().into_iter().chain(added);
        let broken: BTreeMap<String, String> = broken.into_iter().collect();
        let mut integrations: BTreeMap<_, _> = all.map(|one| (one.name.clone(), Arc::new(one))).collect();
        integrations.retain(|name, _| !broken.contains_key(name));
        Self { integrations, broken }
    }

    /// Returns all integrations, ordered by name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Integration>> {
        self.integrations.values()
    }

    /// Returns the names of unreadable integrations, with the reason.
    pub fn broken(&self) -> &BTreeMap<String, String> {
        &self.broken
    }

    /// Returns an integration.
    pub fn integration(&self, name: &str) -> Result<&Arc<Integration>, Blocked> {
        self.integrations.get(name).ok_or_else(|| Blocked::NotInstalled(name.to_owned()))
    }

    /// Returns a function by its name `provider.function`.
    pub fn function(&self, name: &str) -> Result<(&Arc<Integration>, &Arc<Function>), Blocked> {
        let unknown = || Blocked::Unknown { name: name.to_owned(), nearest: self.nearest(name) };
        let (provider, function) = name.split_once('.').ok_or_else(unknown)?;
        let integration = match self.integrations.get(provider) {
            Some(integration) => integration,
            None if self.broken.contains_key(provider) => {
                return Err(Blocked::NotInstalled(provider.to_owned()));
            }
            None => return Err(unknown()),
        };
        Ok((integration, integration.functions.get(function).ok_or_else(unknown)?))
    }

    /// Returns the function that an unknown name probably means: by its operation id in the
    /// document, in another spelling, or by similarity.
    pub fn nearest(&self, name: &str) -> Option<String> {
        let (provider, function) = name.split_once('.')?;
        let spelled = integration_name(provider);
        let integration =
            self.integrations.get(provider).or_else(|| self.integrations.get(spelled.as_deref()?))?;
        Some(integration.nearest(function)?.full_name())
    }

    /// Returns the functions whose name or description contains every word of the query; those with
    /// more words in the name come first.
    pub fn search(&self, query: &str) -> Vec<&Arc<Function>> {
        let words: Vec<String> = query.split_whitespace().map(str::to_lowercase).collect();
        let mut found: Vec<(usize, &Arc<Function>)> = Vec::new();
        for function in self.all().flat_map(|integration| integration.functions.values()) {
            let name = function.full_name();
            let about = format!("{} {}", function.title, function.description).to_lowercase();
            if words.iter().all(|word| name.contains(word) || about.contains(word)) {
                found.push((words.iter().filter(|word| name.contains(word.as_str())).count(), function));
            }
        }
        found.sort_by(|(a, x), (b, y)| b.cmp(a).then_with(|| x.full_name().cmp(&y.full_name())));
        found.into_iter().map(|(_, function)| function).collect()
    }
}
