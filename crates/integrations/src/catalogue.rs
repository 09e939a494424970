//! All integrations that there are.

use crate::{
    builtin::built_in,
    gates::Blocked,
    integration::{Function, Integration},
    names::integration_name,
};
use std::{collections::BTreeMap, sync::Arc};

/// All integrations: those that are built in, and those that the user added, which come before them.
#[derive(Debug, Clone)]
pub struct Catalogue {
    integrations: BTreeMap<String, Arc<Integration>>,
    /// Names of those that were added and cannot be read, with why.
    broken: BTreeMap<String, String>,
}

impl Catalogue {
    /// The built-in ones and these. What is broken is known by its name.
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

    /// Each of them, by name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Integration>> {
        self.integrations.values()
    }

    /// What cannot be read, and why.
    pub fn broken(&self) -> &BTreeMap<String, String> {
        &self.broken
    }

    /// One of them.
    pub fn integration(&self, name: &str) -> Result<&Arc<Integration>, Blocked> {
        self.integrations.get(name).ok_or_else(|| Blocked::NotInstalled(name.to_owned()))
    }

    /// A function by `provider.function`.
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

    /// The function that was perhaps meant by a name that none has: an operation's id as its
    /// document has it, another spelling, or something close to one.
    pub fn nearest(&self, name: &str) -> Option<String> {
        let (provider, function) = name.split_once('.')?;
        let spelled = integration_name(provider);
        let integration =
            self.integrations.get(provider).or_else(|| self.integrations.get(spelled.as_deref()?))?;
        Some(integration.nearest(function)?.full_name())
    }

    /// The functions in whose names and descriptions all words of a query occur, those with most of them in the name first.
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
