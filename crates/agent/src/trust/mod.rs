//! Decides whether a project's own files may execute, redirect and instruct: each of its servers,
//! each of its hooks, the settings that loosen restrictions, each of its skills and commands.
//!
//! Trust is given to an item: its name together with a hash of everything that determines its
//! effect, and of the directory that it is in. If one byte of that changes, the item is no longer
//! trusted; the other items are unaffected. Code that is about to use an item must check its trust
//! here, each time.

mod directory_hash;
mod files;
mod item;
mod tree;

pub use item::{CheckedItem, ItemKind, TrustItem, TrustState};

use async_trait::async_trait;
use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};
use system::{AbsPath, System};

/// The storage of trust records.
#[async_trait]
pub trait TrustRecords: Send + Sync {
    /// Returns the trust record of a directory (a path without links). The error says why it cannot
    /// be read.
    async fn trusted(&self, folder: &AbsPath) -> Result<TrustRecord, String>;
}

/// What was trusted in a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustRecord {
    /// The hash of each trusted item, by the item's id.
    pub items: BTreeMap<String, String>,
    /// A hash kept by older versions, of all files that could execute or redirect. As long as it
    /// matches the directory, every item is trusted.
    pub whole: Option<String>,
}

/// Decides whether items are trusted. Cheap to clone; caches nothing.
#[derive(Clone)]
pub struct FolderTrust {
    system: Arc<dyn System>,
    records: Arc<dyn TrustRecords>,
}

impl FolderTrust {
    /// Creates a checker that reads directories through `system`, which must read the disk of this
    /// machine.
    pub fn new(system: Arc<dyn System>, records: Arc<dyn TrustRecords>) -> Self {
        Self { system, records }
    }

    /// Returns the content of a file, by its name relative to the directory. An empty file counts
    /// as missing, and so does a placeholder that only reserves a name. The error says why it
    /// cannot be read.
    pub async fn file(&self, folder: &AbsPath, name: &str) -> Result<Option<Vec<u8>>, String> {
        let bytes = files::read(self.system.as_ref(), folder, name).await?;
        Ok(bytes.filter(|bytes| !bytes.is_empty()))
    }

    /// Returns the trust states of a directory's items as they are now.
    pub async fn check(&self, folder: &AbsPath, items: Vec<TrustItem>) -> Vec<CheckedItem> {
        if items.is_empty() {
            return Vec::new();
        }
        let known = match self.record(folder).await {
            Ok(record) => {
                let whole = self.matches_directory_hash(folder, &record).await;
                Ok((record, whole))
            }
            Err(why) => Err(why),
        };
        let id = self.system.metadata(folder).await.ok().and_then(|found| found.id);
        let checked = items.into_iter().map(|item| async {
            let covered = files::of_item(self.system.as_ref(), folder, &item).await;
            CheckedItem::of(item, covered, id, known.as_ref())
        });
        futures::future::join_all(checked).await
    }

    /// Returns the trust state of one item.
    pub async fn state(&self, folder: &AbsPath, item: &TrustItem) -> TrustState {
        let checked = self.check(folder, vec![item.clone()]).await.pop();
        checked.map_or(TrustState::Untrusted, |checked| checked.state)
    }

    /// Returns the ids of the items that were ever trusted in a directory, whether or not they have
    /// changed since. No other item can be trusted now, except one of an older version's record.
    ///
    /// # Errors
    ///
    /// The message says why the records cannot be read.
    pub async fn known(&self, folder: &AbsPath) -> Result<BTreeSet<String>, String> {
        Ok(self.record(folder).await?.items.into_keys().collect())
    }

    async fn record(&self, folder: &AbsPath) -> Result<TrustRecord, String> {
        // A link to a directory stands for that directory.
        let folder = self.system.resolve(folder).await.unwrap_or_else(|_| folder.clone());
        self.records.trusted(&folder).await
    }

    /// Whether the hash of an older version still matches the directory.
    async fn matches_directory_hash(&self, folder: &AbsPath, record: &TrustRecord) -> bool {
        let Some(whole) = &record.whole else { return false };
        directory_hash::hash(self.system.as_ref(), folder).await.is_ok_and(|now| now == *whole)
    }
}

#[cfg(test)]
mod tests;
