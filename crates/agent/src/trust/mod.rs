//! Whether what a project brings may execute and redirect: each of its servers, each of its hooks, and the settings that loosen.
//!
//! Trust is given to an item: its name together with a hash of all that decides what it does. One changed byte of that and the item is as
//! good as unknown again; the other items keep their trust. Whoever is about to use an item asks here, each time.

mod files;
mod item;
mod whole;

pub use item::{ItemKind, Judged, TrustItem, TrustState};

use async_trait::async_trait;
use std::{collections::BTreeMap, sync::Arc};
use system::{AbsPath, System};

/// Where it is kept what is trusted.
#[async_trait]
pub trait TrustRecords: Send + Sync {
    /// What was trusted in a folder (its path has no links). The error says why that cannot be told.
    async fn trusted(&self, folder: &AbsPath) -> Result<TrustRecord, String>;
}

/// What was trusted in a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustRecord {
    /// The hash of each trusted item, by the item's id.
    pub items: BTreeMap<String, String>,
    /// The hash that older versions kept, of all files that could execute or redirect. Every item is trusted for as long as it still is
    /// the folder's hash.
    pub whole: Option<String>,
}

/// Tells of items whether they are trusted. Cheap to clone; looks each time.
#[derive(Clone)]
pub struct FolderTrust {
    system: Arc<dyn System>,
    records: Arc<dyn TrustRecords>,
}

impl FolderTrust {
    /// Looks at folders through `system`, which must read the disk of this machine.
    pub fn new(system: Arc<dyn System>, records: Arc<dyn TrustRecords>) -> Self {
        Self { system, records }
    }

    /// What a file of a folder holds, by its name relative to the folder. An empty file holds nothing and is as good as none, and so is one
    /// that merely holds a name free. The error says why it cannot be told.
    pub async fn file(&self, folder: &AbsPath, name: &str) -> Result<Option<Vec<u8>>, String> {
        let bytes = files::read(self.system.as_ref(), folder, name).await?;
        Ok(bytes.filter(|bytes| !bytes.is_empty()))
    }

    /// What is to be said of items of a folder as they are now.
    pub async fn judge(&self, folder: &AbsPath, items: Vec<TrustItem>) -> Vec<Judged> {
        if items.is_empty() {
            return Vec::new();
        }
        let known = match self.record(folder).await {
            Ok(record) => {
                let whole = self.counts_whole(folder, &record).await;
                Ok((record, whole))
            }
            Err(why) => Err(why),
        };
        let judged = items.into_iter().map(|item| async {
            let covered = files::of_item(self.system.as_ref(), folder, &item).await;
            Judged::of(item, covered, known.as_ref())
        });
        futures::future::join_all(judged).await
    }

    /// What is to be said of one item.
    pub async fn state(&self, folder: &AbsPath, item: &TrustItem) -> TrustState {
        let judged = self.judge(folder, vec![item.clone()]).await.pop();
        judged.map_or(TrustState::Untrusted, |judged| judged.state)
    }

    async fn record(&self, folder: &AbsPath) -> Result<TrustRecord, String> {
        // A link to a folder is that folder.
        let folder = self.system.resolve(folder).await.unwrap_or_else(|_| folder.clone());
        self.records.trusted(&folder).await
    }

    /// Whether the hash that an older version kept is still the folder's.
    async fn counts_whole(&self, folder: &AbsPath, record: &TrustRecord) -> bool {
        let Some(whole) = &record.whole else { return false };
        whole::hash(self.system.as_ref(), folder).await.is_ok_and(|now| now == *whole)
    }
}

#[cfg(test)]
mod tests;
