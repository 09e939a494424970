//! Decides which files a walk skips, based on ignore files.
//!
//! The walk library would open ignore files by name without checking their file type. The project
//! controls them, so they are read here: only regular files of bounded size, opened without
//! following links (git does not follow them either) and without blocking. Any other kind is
//! ignored.

use super::entry::EntryHandle;
use crate::AbsPath;
use crate::limits::IGNORE_FILE_BYTES;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::OFlags;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The ignore rules of all directories visited so far.
#[derive(Default)]
pub(super) struct Ignores {
    directories: Mutex<HashMap<PathBuf, Option<Arc<DirectoryRules>>>>,
}

/// The rules of a directory that has ignore files or is the top of a repository, linked to those of
/// the nearest such directory above it.
struct DirectoryRules {
    /// `.ignore`, which search tools read and git does not.
    plain: Option<Gitignore>,
    /// `.gitignore`.
    git: Option<Gitignore>,
    /// `.git/info/exclude`.
    exclude: Option<Gitignore>,
    /// Whether this is the top of a repository: git's rules from directories above do not apply
    /// below it.
    top: bool,
    above: Option<Arc<DirectoryRules>>,
}

impl Ignores {
    /// Returns the decision of the rules about an entry.
    pub(super) fn decide(&self, path: &Path, is_directory: bool) -> Match<()> {
        let Some(parent) = path.parent() else { return Match::None };
        let mut of_git = Match::None;
        let mut excluded = Match::None;
        let mut in_repository = true;
        let mut at = self.directory(parent);
        while let Some(directory) = at {
            let says = |rules: &Option<Gitignore>| {
                rules.as_ref().map_or(Match::None, |rules| rules.matched(path, is_directory).map(|_| ()))
            };
            // Rules in `.ignore` override git's rules; among rules of the same kind, the nearest
            // directory wins.
            let plain = says(&directory.plain);
            if !plain.is_none() {
                return plain;
            }
            if in_repository {
                of_git = of_git.or(says(&directory.git));
                excluded = excluded.or(says(&directory.exclude));
            }
            in_repository &= !directory.top;
            at = directory.above.clone();
        }
        of_git.or(excluded)
    }

    fn directory(&self, path: &Path) -> Option<Arc<DirectoryRules>> {
        if let Some(known) = self.directories.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return known.clone();
        }
        let above = path.parent().and_then(|above| self.directory(above));
        let rules = |name: &str| read(&path.join(name)).and_then(|text| parse(path, &text));
        let top = std::fs::symlink_metadata(path.join(".git")).is_ok();
        let (plain, git) = (rules(".ignore"), rules(".gitignore"));
        let is_directory =
            |name: &str| std::fs::symlink_metadata(path.join(name)).is_ok_and(|found| found.is_dir());
        let exclude = match top && is_directory(".git") && is_directory(".git/info") {
            true => rules(".git/info/exclude"),
            false => None,
        };
        let directory = match top || plain.is_some() || git.is_some() {
            true => Some(Arc::new(DirectoryRules { plain, git, exclude, top, above })),
            false => above,
        };
        let mut directories = self.directories.lock().unwrap_or_else(PoisonError::into_inner);
        directories.insert(path.to_owned(), directory.clone());
        directory
    }
}

fn parse(directory: &Path, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(directory);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // An invalid pattern ignores nothing, as in git.
        builder.add_line(None, line).ok();
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

/// Reads an ignore file; `None` if it does not exist or must not be read.
fn read(path: &Path) -> Option<String> {
    // Most directories have no ignore file; this check avoids opening the directory.
    let found = std::fs::symlink_metadata(path).ok()?;
    if !found.is_file() {
        if !found.is_dir() {
            tracing::warn!(path = %path.display(), "not used: it is not a regular file; links to ignore files are not followed");
        }
        return None;
    }
    // The walk's root may be spelled with a link in it; below the root the walk follows no links.
    let directory = std::fs::canonicalize(path.parent()?).ok()?;
    let entry = EntryHandle::open(&AbsPath::from_os(&directory.join(path.file_name()?)).ok()?, false).ok()?;
    let file = entry.file("read", OFlags::RDONLY).ok()?;
    if !file.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    file.take(IGNORE_FILE_BYTES + 1).read_to_end(&mut bytes).ok()?;
    if bytes.len() as u64 > IGNORE_FILE_BYTES {
        tracing::warn!(path = %path.display(), "an ignore file is too large and not used");
        return None;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
