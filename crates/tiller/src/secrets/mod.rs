//! The user's stored secrets.
//!
//! A file in the data directory that only its owner can read has the name of every secret, and
//! either its value or the id under which the keyring has it.

pub(crate) mod commands;
mod keyring;

pub(crate) use keyring::{Keyring, KeyringError};

use crate::{environment::Environment, options::Directories};
use anyhow::{Context, Result};
use futures::future::join_all;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};
use system::{AbsPath, System};

/// The member of an entry that the keyring has.
const KEYRING: &str = "keyring";

/// The path of the file of secrets.
pub(crate) fn path(directories: &Directories) -> AbsPath {
    directories.data.join("secrets.json")
}

/// Where a secret is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Store {
    /// The keyring of the desktop.
    Keyring,
    /// The file of secrets.
    File,
}

/// The store of a new secret.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The keyring where there is one, else the file.
    #[default]
    Auto,
    /// This store or an error.
    Only(Store),
}

/// Where a secret was stored, and why not in the keyring.
#[derive(Debug)]
pub(crate) struct Stored {
    pub(crate) store: Store,
    pub(crate) why_not: Option<KeyringError>,
}

impl Store {
    /// The word for it in the output of commands.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Keyring => "keyring",
            Self::File => "file",
        }
    }
}

/// The variables of this process, and the stored secrets.
pub(crate) struct Values {
    pub(crate) environment: Environment,
    system: Arc<dyn System>,
    path: AbsPath,
    pub(crate) keyring: Keyring,
}

/// A secret as the file has it.
enum Entry {
    Value(String),
    InKeyring(String),
}

impl Entry {
    fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Value(text.clone())),
            other => Some(Self::InKeyring(keyring_id(other)?.to_owned())),
        }
    }
}

/// Returns the id in the keyring of an entry of the file.
pub(crate) fn keyring_id(entry: &Value) -> Option<&str> {
    entry.get(KEYRING)?.as_str()
}

impl Values {
    pub(crate) fn new(environment: Environment, system: Arc<dyn System>, directories: &Directories) -> Self {
        let keyring = Keyring::new(&environment, system.clone());
        Self { environment, system, path: path(directories), keyring }
    }

    /// Reads every secret by its name, and registers their values with the redactor. What the keyring
    /// does not return is left out, and logged.
    pub(crate) async fn secrets(&self) -> Result<BTreeMap<String, String>> {
        let file = read(self.system.as_ref(), &self.path).await?;
        let secrets = join_all(file.iter().map(async |(name, entry)| {
            let value = self.value(name, Entry::of(entry)?).await?;
            Some((name.clone(), value))
        }));
        let secrets: BTreeMap<_, _> = secrets.await.into_iter().flatten().collect();
        self.environment.redactor().learn(secrets.values().cloned());
        Ok(secrets)
    }

    /// Reads one secret, and registers its value with the redactor.
    pub(crate) async fn secret_named(&self, name: &str) -> Result<Option<String>> {
        let file = read(self.system.as_ref(), &self.path).await?;
        let Some(entry) = file.get(name).and_then(Entry::of) else { return Ok(None) };
        let value = self.value(name, entry).await;
        self.environment.redactor().learn(value.clone());
        Ok(value)
    }

    async fn value(&self, name: &str, entry: Entry) -> Option<String> {
        match entry {
            Entry::Value(value) => Some(value),
            Entry::InKeyring(id) => match self.keyring.get(&id).await {
                Ok(value) => Some(value),
                Err(error) => {
                    tracing::warn!("the secret {name} is in the keyring, and cannot be read: {error}");
                    None
                }
            },
        }
    }

    /// Returns the names of all secrets and where each is stored. Reads no value from the keyring.
    pub(crate) async fn stores(&self) -> Result<BTreeMap<String, Store>> {
        let file = read(self.system.as_ref(), &self.path).await?;
        let store = |(name, entry): (String, Value)| {
            Some(match Entry::of(&entry)? {
                Entry::Value(_) => (name, Store::File),
                Entry::InKeyring(_) => (name, Store::Keyring),
            })
        };
        Ok(file.into_iter().filter_map(store).collect())
    }

    /// Stores a secret, in place of the old one of that name.
    ///
    /// # Errors
    /// If the store that is asked for cannot be used, or the file cannot be written.
    pub(crate) async fn set(&self, name: &str, value: &str, wanted: Wanted) -> Result<Stored> {
        self.environment.redactor().learn([value.to_owned()]);
        let mut file = read(self.system.as_ref(), &self.path).await?;
        let (entry, stored) = self.entry(name, value, wanted).await?;
        let old = file.insert(name.to_owned(), entry);
        write(self.system.as_ref(), &self.path, &Value::Object(file)).await?;
        self.drop_old(old.as_ref()).await;
        Ok(stored)
    }

    /// Removes a secret. Returns whether there was one.
    pub(crate) async fn remove(&self, name: &str) -> Result<bool> {
        let mut file = read(self.system.as_ref(), &self.path).await?;
        let old = file.remove(name);
        if old.is_some() {
            write(self.system.as_ref(), &self.path, &Value::Object(file)).await?;
            self.drop_old(old.as_ref()).await;
        }
        Ok(old.is_some())
    }

    /// Replaces the readable secrets: stores those that are new or changed, and removes those that
    /// are missing. Secrets that the keyring does not return now are kept.
    pub(crate) async fn store(&self, secrets: &BTreeMap<String, String>) -> Result<()> {
        let before = read(self.system.as_ref(), &self.path).await?;
        let readable = self.secrets().await?;
        let mut after = Map::new();
        for (name, entry) in &before {
            // A removed secret was readable before; another one is not known to the caller.
            if secrets.get(name) == readable.get(name) {
                after.insert(name.clone(), entry.clone());
            }
        }
        for (name, value) in secrets.iter().filter(|(name, value)| readable.get(*name) != Some(*value)) {
            after.insert(name.clone(), self.entry(name, value, Wanted::Auto).await?.0);
        }
        write(self.system.as_ref(), &self.path, &Value::Object(after.clone())).await?;
        for (name, entry) in &before {
            if after.get(name) != Some(entry) {
                self.drop_old(Some(entry)).await;
            }
        }
        Ok(())
    }

    /// Returns the entry of the file for a new value, after storing it in the keyring if that is its
    /// store.
    async fn entry(&self, name: &str, value: &str, wanted: Wanted) -> Result<(Value, Stored)> {
        let in_file = |why_not| (json!(value), Stored { store: Store::File, why_not });
        if wanted == Wanted::Only(Store::File) {
            return Ok(in_file(None));
        }
        match (self.keyring.store(name, value).await, wanted) {
            (Ok(id), _) => Ok((json!({ KEYRING: id }), Stored { store: Store::Keyring, why_not: None })),
            (Err(error), Wanted::Auto) => Ok(in_file(Some(error))),
            (Err(error), Wanted::Only(_)) => Err(error.into()),
        }
    }

    /// Removes the item of a replaced entry from the keyring.
    async fn drop_old(&self, entry: Option<&Value>) {
        if let Some(Entry::InKeyring(id)) = entry.and_then(Entry::of)
            && let Err(error) = self.keyring.remove(&id).await
        {
            tracing::warn!("an old item stays in the keyring: {error}");
        }
    }
}

/// Reads the JSON object of a file; a missing or empty file is an empty object.
pub(crate) async fn read(system: &dyn System, path: &AbsPath) -> Result<Map<String, Value>> {
    let bytes = match system.read(path).await {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Ok(Map::new()),
        Err(error) => return Err(error.into()),
    };
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_slice(&bytes).with_context(|| format!("{path} is not a JSON object; correct it"))
}

/// Writes a file that only its owner can read.
pub(crate) async fn write(system: &dyn System, path: &AbsPath, value: &Value) -> Result<()> {
    if let Some(directory) = path.parent() {
        system.create_dir_all(&directory).await?;
    }
    Ok(system.write_private(path, format!("{value:#}\n").as_bytes()).await?)
}
