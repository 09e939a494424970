//! The files that a run changed otherwise than by a tool for files: by commands. They are found by
//! comparing a folder before and after.

use crate::limits::{LEGACY_EDITS, LEGACY_FILE_BYTES, LEGACY_FILES};
use std::{collections::BTreeMap, sync::Arc, time::SystemTime};
use system::{AbsPath, FileKind, System, WalkOptions};

/// What files looked like at a moment: size and time of the last change. Of ignored files, and of
/// more than fit, nothing is known.
pub(super) struct Snapshot {
    system: Arc<dyn System>,
    root: AbsPath,
    files: BTreeMap<AbsPath, (u64, Option<SystemTime>)>,
}

impl Snapshot {
    /// Looks at the files below a folder, up to [`LEGACY_FILES`] of them. A folder that cannot be
    /// read has none.
    pub(super) async fn take(system: Arc<dyn System>, root: AbsPath) -> Self {
        let files = look(system.as_ref(), &root).await;
        Self { system, root, files }
    }

    /// The files that are new or were changed since, each with its text. Those that were removed,
    /// that are no text or too large cannot be told in this dialect.
    pub(super) async fn changed(&self) -> Vec<(AbsPath, String)> {
        let now = look(self.system.as_ref(), &self.root).await;
        let is_new = |path: &AbsPath, looks: &(u64, Option<SystemTime>)| self.files.get(path) != Some(looks);
        // Where not all files were seen before, one that is seen now need not be new.
        let seen_all = self.files.len() < LEGACY_FILES;
        let changed = now.into_iter().filter(|(path, looks)| {
            looks.0 <= LEGACY_FILE_BYTES && is_new(path, looks) && (seen_all || self.files.contains_key(path))
        });
        let mut texts = Vec::new();
        for (path, _) in changed {
            if texts.len() == LEGACY_EDITS {
                tracing::warn!(
                    "more than {LEGACY_EDITS} files were changed by commands; the others are not told"
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

async fn look(system: &dyn System, root: &AbsPath) -> BTreeMap<AbsPath, (u64, Option<SystemTime>)> {
    let options = WalkOptions { limit: LEGACY_FILES, include_ignored: false };
    let paths = system.walk(root, options).await.unwrap_or_else(|error| {
        tracing::warn!(%root, %error, "the folder cannot be walked; what commands change in it is not told");
        Vec::new()
    });
    let found = system.metadata_of(&paths).await;
    let looks = paths.into_iter().zip(found).filter_map(|(path, found)| {
        let found = found.ok().filter(|found| found.kind == FileKind::File)?;
        Some((path, (found.size, found.modified)))
    });
    looks.collect()
}
