//! Functions by the paths that scripts call them by.

use crate::{
    Account, Function, FunctionKind,
    names::{alike, callable, step},
};
use std::collections::BTreeMap;

/// What scripts can call below `app.mcp` and `app.integrations`.
#[derive(Clone, Default)]
pub(crate) struct Listing(Vec<Entry>);

/// A function, and where it is.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) function: Function,
    /// Its server or provider, as a script writes it after a dot.
    namespace: String,
    account: Option<String>,
    name: String,
}

/// By kind, or by kind, namespace and account.
type Spellings<K> = BTreeMap<K, BTreeMap<String, String>>;

impl Listing {
    pub(crate) fn new(functions: Vec<Function>) -> Self {
        let mut namespaces: BTreeMap<FunctionKind, Vec<&str>> = BTreeMap::new();
        let mut accounts: BTreeMap<FunctionKind, Vec<&str>> = BTreeMap::new();
        let mut names: BTreeMap<(FunctionKind, &str, Option<&str>), Vec<&str>> = BTreeMap::new();
        for function in &functions {
            namespaces.entry(function.kind).or_default().push(&function.namespace);
            accounts.entry(function.kind).or_default().extend(function.account.name());
            let place = (function.kind, function.namespace.as_str(), function.account.name());
            names.entry(place).or_default().push(&function.name);
        }
        let spelled = |words: BTreeMap<FunctionKind, Vec<&str>>| -> Spellings<FunctionKind> {
            words.into_iter().map(|(kind, words)| (kind, callable(words))).collect()
        };
        let (namespaces, accounts) = (spelled(namespaces), spelled(accounts));
        let names: Spellings<_> = names.into_iter().map(|(place, names)| (place, callable(names))).collect();
        let entry = |function: &Function| {
            let place = (function.kind, function.namespace.as_str(), function.account.name());
            let account = function.account.name();
            Entry {
                function: function.clone(),
                namespace: namespaces[&function.kind][&function.namespace].clone(),
                account: account.map(|account| accounts[&function.kind][account].clone()),
                name: names[&place][&function.name].clone(),
            }
        };
        Self(functions.iter().map(entry).collect())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter()
    }

    /// The function at a path below `app`: its own names come before those that they are written as
    /// in a script.
    pub(crate) fn at(&self, kind: FunctionKind, path: &[String]) -> Option<&Entry> {
        let (namespace, account, name) = match path {
            [namespace, name] => (namespace, None, name),
            [namespace, account, name] => (namespace, Some(account.as_str()), name),
            _ => return None,
        };
        let namespace = self.namespace(kind, namespace)?;
        let whose = |entry: &&Entry| entry.is_of(account) && entry.is_called(name);
        let there: Vec<_> = self.of(kind, namespace).filter(whose).collect();
        there.into_iter().max_by_key(|entry| entry.function.name == *name)
    }

    /// The functions of a server or a provider, by its own name.
    pub(crate) fn of<'a>(
        &'a self,
        kind: FunctionKind,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Entry> {
        let own = move |entry: &&Entry| entry.function.kind == kind && entry.function.namespace == namespace;
        self.0.iter().filter(own)
    }

    /// The own name of the server or provider that a script names in any spelling.
    pub(crate) fn namespace(&self, kind: FunctionKind, given: &str) -> Option<&str> {
        let all = || self.0.iter().filter(|entry| entry.function.kind == kind);
        let exact = all().find(|entry| entry.function.namespace == given);
        let spelled = || all().find(|entry| entry.namespace == given);
        // What their descriptions call servers is folded to their names.
        let like = || all().find(|entry| alike(&entry.function.namespace, given));
        exact.or_else(spelled).or_else(like).map(|entry| entry.function.namespace.as_str())
    }

    /// The path that was perhaps meant.
    pub(crate) fn nearest(&self, kind: FunctionKind, path: &[String]) -> Option<String> {
        let (namespace, name) = (self.namespace(kind, path.first()?)?, path.last()?);
        let account = if path.len() == 3 { Some(path[1].as_str()) } else { None };
        let all = || self.of(kind, namespace).filter(|entry| entry.is_of(account));
        let like = all().find(|entry| alike(&entry.function.name, name));
        let likeness = |entry: &&Entry| strsim::jaro_winkler(&entry.name, name);
        let close = || {
            let nearest = all().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
            nearest.filter(|entry| likeness(entry) > 0.8)
        };
        like.or_else(close).map(Entry::path)
    }
}

impl Entry {
    /// Its path below `app.`, as a script calls it: `mcp.SERVER.TOOL`.
    pub(crate) fn path(&self) -> String {
        format!("{}.{}", self.place(), self.name)
    }

    /// The path of what it belongs to.
    pub(crate) fn place(&self) -> String {
        let account = self.account.as_ref().map(|account| format!(".{account}"));
        format!("{}.{}{}", self.function.kind, self.namespace, account.unwrap_or_default())
    }

    /// The namespace that lists it: `mcp.SERVER`, whatever the account.
    pub(crate) fn page(&self) -> String {
        format!("{}.{}", self.function.kind, self.namespace)
    }

    /// The same path with its own name, where that is not a name in Lua: `mcp.SERVER["get-sum"]`.
    pub(crate) fn quoted(&self) -> Option<String> {
        let own = &self.function.name;
        (self.name != *own).then(|| format!("{}{}", self.place(), step(own)))
    }

    /// Whether a path names it, in any of the ways to write it.
    pub(crate) fn is_at(&self, path: &str) -> bool {
        let Function { kind, namespace, account, name, .. } = &self.function;
        let account = account.name().map(|account| format!(".{account}")).unwrap_or_default();
        self.path() == path
            || self.quoted().as_deref() == Some(path)
            || format!("{kind}.{namespace}{account}.{name}") == path
    }

    fn is_of(&self, account: Option<&str>) -> bool {
        match (account, self.function.account.name()) {
            (None | Some("default"), None) => true,
            (Some(given), Some(own)) => given == own || self.account.as_deref() == Some(given),
            _ => false,
        }
    }

    fn is_called(&self, name: &str) -> bool {
        let function = &self.function;
        function.name == name || self.name == name || function.name_of_models() == Some(name)
    }
}

impl Account {
    /// Its name, where it has to be written.
    pub(crate) fn name(&self) -> Option<&str> {
        match self {
            Self::Default => None,
            Self::Named(name) => Some(name),
        }
    }
}
