//! Finds files that a run changed through commands rather than file tools, by comparing a directory
//! before and after.

use crate::limits::{LEGACY_EDITS, LEGACY_FILE_BYTES, LEGACY_FILES};
use std::{collections::BTreeMap, sync::Arc, time::SystemTime};
use system::{AbsPath, FileKind, System, WalkOptions};

/// Size and modification time of files at one moment. Ignored files, and files beyond the limit,
/// are not included.
pub(super) struct Snapshot {
    system: Arc<dyn System>,
    root: AbsPath,
    files: BTreeMap<AbsPath, (u64, Option<SystemTime>)>,
}

impl Snapshot {
    /// Records the files below a directory, up to [`LEGACY_FILES`]. A directory that cannot be read
    /// counts as empty.
    pub(super) async fn take(system: Arc<dyn System>, root: AbsPath) -> Self {
        let files = list_files(system.as_ref(), &root).await;
        Self { system, root, files }
    }

    /// Returns the files that are new or changed since, each with its text. This dialect cannot
    /// report deleted files, binary files or files that are too large.
    pub(super) async fn changed(&self) -> Vec<(AbsPath, String)> {
        let now = list_files(self.system.as_ref(), &self.root).await;
        let is_new = |path: &AbsPath, stamp: &(u64, Option<SystemTime>)| self.files.get(path) != Some(stamp);
        // If the snapshot was incomplete, a file that is missing from it need not be new.
        let seen_all = self.files.len() < LEGACY_FILES;
        let changed = now.into_iter().filter(|(path, stamp)| {
            stamp.0 <= LEGACY_FILE_BYTES && is_new(path, stamp) && (seen_all || self.files.contains_key(path))
        });
        let mut texts = Vec::new();
        for (path, _) in changed {
            if texts.len() == LEGACY_EDITS {
                tracing::warn!(
                    "more than {LEGACY_EDITS} files were changed by commands; the rest is not reported"
                );
                break;
            }
            if let Ok(bytes) = self.system.read(&path).await
                && let Ok(text) = String::from_utf8(bytes)
            {
                texts.push((path, text));
            }
        }
        texts
    }
}

async fn list_files(system: &dyn System, root: &AbsPath) -> BTreeMap<AbsPath, (u64, Option<SystemTime>)> {
    let options = WalkOptions { limit: LEGACY_FILES, include_ignored: false };
    let paths = system.walk(root, options).await.unwrap_or_else(|error| {
        tracing::warn!(%root, %error, "the directory cannot be listed; files that commands change in it are not reported");
        Vec::new()
    });
    let found = system.metadata_of(&paths).await;
    let stamp = paths.into_iter().zip(found).filter_map(|(path, found)| {
        let found = found.ok().filter(|found| found.kind == FileKind::File)?;
        Some((path, (found.size, found.modified)))
    });
    stamp.collect()
}
