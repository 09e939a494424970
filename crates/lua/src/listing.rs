//! Maps the paths that scripts use to functions.

use crate::{
    Function, FunctionKind,
    names::{is_same_name, lua_names, path_step},
};
use std::collections::BTreeMap;

/// The functions that scripts can call below `app.mcp` and `app.integrations`.
#[derive(Clone, Default)]
pub(crate) struct Listing(Vec<Entry>);

/// A function and its path.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) function: Function,
    /// The server or provider, spelled as a Lua name.
    namespace: String,
    account: Option<String>,
    name: String,
}

/// Original names and their spellings as Lua names; by kind, or by kind, namespace and account.
type Spellings<K> = BTreeMap<K, BTreeMap<String, String>>;

impl Listing {
    pub(crate) fn new(functions: Vec<Function>) -> Self {
        let mut namespaces: BTreeMap<FunctionKind, Vec<&str>> = BTreeMap::new();
        let mut accounts: BTreeMap<FunctionKind, Vec<&str>> = BTreeMap::new();
        let mut names: BTreeMap<(FunctionKind, &str, Option<&str>), Vec<&str>> = BTreeMap::new();
        for function in &functions {
            namespaces.entry(function.kind).or_default().push(&function.namespace);
            accounts.entry(function.kind).or_default().extend(function.account.name());
            let key = (function.kind, function.namespace.as_str(), function.account.name());
            names.entry(key).or_default().push(&function.name);
        }
        let spelled = |words: BTreeMap<FunctionKind, Vec<&str>>| -> Spellings<FunctionKind> {
            words.into_iter().map(|(kind, words)| (kind, lua_names(words))).collect()
        };
        let (namespaces, accounts) = (spelled(namespaces), spelled(accounts));
        let names: Spellings<_> = names.into_iter().map(|(key, names)| (key, lua_names(names))).collect();
        let entry = |function: &Function| {
            let key = (function.kind, function.namespace.as_str(), function.account.name());
            let account = function.account.name();
            Entry {
                function: function.clone(),
                namespace: namespaces[&function.kind][&function.namespace].clone(),
                account: account.map(|account| accounts[&function.kind][account].clone()),
                name: names[&key][&function.name].clone(),
            }
        };
        Self(functions.iter().map(entry).collect())
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Entry> {
        self.0.iter()
    }

    /// Returns the function at a path below `app`. Original names take precedence over their
    /// spellings as Lua names.
    pub(crate) fn resolve(&self, kind: FunctionKind, path: &[String]) -> Option<&Entry> {
        let (namespace, account, name) = match path {
            [namespace, name] => (namespace, None, name),
            [namespace, account, name] => (namespace, Some(account.as_str()), name),
            _ => return None,
        };
        let namespace = self.namespace(kind, namespace)?;
        let is_match = |entry: &&Entry| entry.has_account(account) && entry.has_name(name);
        let matches: Vec<_> = self.functions_of(kind, namespace).filter(is_match).collect();
        matches.into_iter().max_by_key(|entry| entry.function.name == *name)
    }

    /// Returns the functions of a server or provider, given its original name.
    pub(crate) fn functions_of<'a>(
        &'a self,
        kind: FunctionKind,
        namespace: &'a str,
    ) -> impl Iterator<Item = &'a Entry> {
        let own = move |entry: &&Entry| entry.function.kind == kind && entry.function.namespace == namespace;
        self.0.iter().filter(own)
    }

    /// Resolves any spelling of a server or provider to its original name.
    pub(crate) fn namespace(&self, kind: FunctionKind, given: &str) -> Option<&str> {
        let all = || self.0.iter().filter(|entry| entry.function.kind == kind);
        let exact = all().find(|entry| entry.function.namespace == given);
        let spelled = || all().find(|entry| entry.namespace == given);
        // Tool descriptions may spell a server's name differently.
        let similar = || all().find(|entry| is_same_name(&entry.function.namespace, given));
        exact.or_else(spelled).or_else(similar).map(|entry| entry.function.namespace.as_str())
    }

    /// Suggests the path that was probably meant.
    pub(crate) fn nearest(&self, kind: FunctionKind, path: &[String]) -> Option<String> {
        let (namespace, name) = (self.namespace(kind, path.first()?)?, path.last()?);
        let account = if path.len() == 3 { Some(path[1].as_str()) } else { None };
        let all = || self.functions_of(kind, namespace).filter(|entry| entry.has_account(account));
        let similar = all().find(|entry| is_same_name(&entry.function.name, name));
        let close = || agent::closest(name, all(), |entry| &entry.name);
        similar.or_else(close).map(Entry::path)
    }
}

impl Entry {
    /// Returns the path below `app.` that a script uses: `mcp.SERVER.TOOL`.
    pub(crate) fn path(&self) -> String {
        format!("{}.{}", self.parent_path(), self.name)
    }

    /// Returns the path of the server, provider or account that the function belongs to.
    pub(crate) fn parent_path(&self) -> String {
        let account = self.account.as_ref().map(|account| format!(".{account}"));
        format!("{}.{}{}", self.function.kind, self.namespace, account.unwrap_or_default())
    }

    /// Returns the page that lists it: `mcp.SERVER`, without the account.
    pub(crate) fn page(&self) -> String {
        format!("{}.{}", self.function.kind, self.namespace)
    }

    /// Returns the path with the function's original name, if that is not a Lua name:
    /// `mcp.SERVER["get-sum"]`.
    pub(crate) fn quoted(&self) -> Option<String> {
        let own = &self.function.name;
        (self.name != *own).then(|| format!("{}{}", self.parent_path(), path_step(own)))
    }

    /// Returns whether a path refers to this function, in any spelling.
    pub(crate) fn matches_path(&self, path: &str) -> bool {
        let Function { kind, namespace, account, name, .. } = &self.function;
        let account = account.name().map(|account| format!(".{account}")).unwrap_or_default();
        self.path() == path
            || self.quoted().as_deref() == Some(path)
            || format!("{kind}.{namespace}{account}.{name}") == path
    }

    fn has_account(&self, account: Option<&str>) -> bool {
        match (account, self.function.account.name()) {
            (None | Some("default"), None) => true,
            (Some(given), Some(own)) => given == own || self.account.as_deref() == Some(given),
            _ => false,
        }
    }

    fn has_name(&self, name: &str) -> bool {
        let function = &self.function;
        function.name == name || self.name == name || function.model_name() == Some(name)
    }
}
