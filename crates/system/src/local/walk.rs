//! Walks the files below a directory.

use super::ignores::Ignores;
use crate::text::SKIPPED_DIRECTORIES;
use crate::{AbsPath, SystemError, WalkOptions};
use ignore::{Match, WalkBuilder};

/// Lists the regular files below `root`, sorted by path; see [`crate::System::walk`]. Directories
/// that cannot be listed and names that are not UTF-8 are skipped.
pub(super) fn walk(root: &AbsPath, options: &WalkOptions) -> Result<Vec<AbsPath>, SystemError> {
    // The walker would report a missing root as one error among others.
    std::fs::metadata(root.as_std()).map_err(|source| SystemError::from_io("list", root, source))?;
    let filter = !options.include_ignored;
    let mut builder = WalkBuilder::new(root.as_std());
    builder
        // Ignore files are read in `ignores`. The user's global excludes in the home directory are
        // not used: the result must not depend on the user who runs the walk.
        .standard_filters(false)
        .follow_links(false)
        .current_dir(root.as_std())
        .sort_by_file_path(|a, b| a.cmp(b));
    if filter {
        let ignores = Ignores::default();
        builder.filter_entry(move |entry| {
            let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
            let skipped = SKIPPED_DIRECTORIES.iter().any(|name| entry.file_name() == *name);
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            let shown = || match ignores.decide(entry.path(), is_directory) {
                Match::Ignore(()) => false,
                Match::Whitelist(()) => true,
                Match::None => !hidden,
            };
            entry.depth() == 0 || !(is_directory && skipped) && shown()
        });
    }
    let files = builder.build().filter_map(|entry| match entry {
        Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
            AbsPath::from_os(entry.path()).ok()
        }
        Ok(_) => None,
        Err(error) => {
            tracing::debug!(%error, "skipped in a walk");
            None
        }
    });
    Ok(files.take(options.limit).collect())
}
