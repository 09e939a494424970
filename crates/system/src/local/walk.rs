//! The files below a folder.

use crate::text::SKIPPED_FOLDERS;
use crate::{AbsPath, SystemError, WalkOptions};
use ignore::WalkBuilder;

/// The regular files below `root` in the order of their paths; see [`crate::System::walk`]. Folders that may not be listed
/// and names that are no UTF-8 are passed over.
pub(super) fn walk(root: &AbsPath, options: &WalkOptions) -> Result<Vec<AbsPath>, SystemError> {
    // The walker reports a root that is missing as one error among others.
    std::fs::metadata(root.as_std()).map_err(|source| SystemError::from_io("list", root, source))?;
    let filter = !options.include_ignored;
    let mut builder = WalkBuilder::new(root.as_std());
    builder
        .hidden(filter)
        .ignore(filter)
        .parents(filter)
        .git_ignore(filter)
        .git_exclude(filter)
        // The user's own excludes live in the home folder: what a walk finds must not depend on who runs it.
        .git_global(false)
        .require_git(false)
        .follow_links(false)
        .current_dir(root.as_std())
        .sort_by_file_path(|a, b| a.cmp(b));
    if filter {
        builder.filter_entry(|entry| {
            let folder = entry.file_type().is_some_and(|kind| kind.is_dir());
            let skipped = SKIPPED_FOLDERS.iter().any(|name| entry.file_name() == *name);
            entry.depth() == 0 || !(folder && skipped)
        });
    }
    let files = builder.build().filter_map(|entry| match entry {
        Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
            AbsPath::from_os(entry.path()).ok()
        }
        Ok(_) => None,
        Err(error) => {
            tracing::debug!(%error, "passed over in a walk");
            None
        }
    });
    Ok(files.take(options.limit).collect())
}
