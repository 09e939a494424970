//! Which files a walk passes over, by the ignore files of the folders.
//!
//! The walker's library would open those files by their names, whatever they are. A project chooses what they are, so they are read here: regular files
//! of bounded size, opened without following a link (git follows none there either) and without waiting. One that is anything else says nothing.

use super::place::Place;
use crate::AbsPath;
use crate::limits::IGNORE_FILE_BYTES;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::fs::OFlags;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The rules of all folders that were met.
#[derive(Default)]
pub(super) struct Ignores {
    folders: Mutex<HashMap<PathBuf, Option<Arc<Folder>>>>,
}

/// The rules of a folder, and of those above it that have any.
struct Folder {
    /// `.ignore`, which is nobody's but the searching tools'.
    plain: Option<Gitignore>,
    /// `.gitignore`.
    git: Option<Gitignore>,
    /// `.git/info/exclude`.
    exclude: Option<Gitignore>,
    /// Whether it is the top of a repository: rules of git above it say nothing about it.
    top: bool,
    above: Option<Arc<Folder>>,
}

impl Ignores {
    /// What the rules say of an entry.
    pub(super) fn decide(&self, path: &Path, is_folder: bool) -> Match<()> {
        let Some(parent) = path.parent() else { return Match::None };
        let mut of_git = Match::None;
        let mut excluded = Match::None;
        let mut in_repository = true;
        let mut at = self.folder(parent);
        while let Some(folder) = at {
            let says = |rules: &Option<Gitignore>| {
                rules.as_ref().map_or(Match::None, |rules| rules.matched(path, is_folder).map(|_| ()))
            };
            // The nearest word of the stronger kind decides.
            let plain = says(&folder.plain);
            if !plain.is_none() {
                return plain;
            }
            if in_repository {
                of_git = of_git.or(says(&folder.git));
                excluded = excluded.or(says(&folder.exclude));
            }
            in_repository &= !folder.top;
            at = folder.above.clone();
        }
        of_git.or(excluded)
    }

    fn folder(&self, path: &Path) -> Option<Arc<Folder>> {
        if let Some(known) = self.folders.lock().unwrap_or_else(PoisonError::into_inner).get(path) {
            return known.clone();
        }
        let above = path.parent().and_then(|above| self.folder(above));
        let rules = |name: &str| read(&path.join(name)).and_then(|text| parse(path, &text));
        let top = std::fs::symlink_metadata(path.join(".git")).is_ok();
        let (plain, git) = (rules(".ignore"), rules(".gitignore"));
        let is_folder =
            |name: &str| std::fs::symlink_metadata(path.join(name)).is_ok_and(|found| found.is_dir());
        let exclude = match top && is_folder(".git") && is_folder(".git/info") {
            true => rules(".git/info/exclude"),
            false => None,
        };
        let folder = match top || plain.is_some() || git.is_some() {
            true => Some(Arc::new(Folder { plain, git, exclude, top, above })),
            false => above,
        };
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        folders.insert(path.to_owned(), folder.clone());
        folder
    }
}

fn parse(folder: &Path, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A line that is no pattern ignores nothing, as with git.
        builder.add_line(None, line).ok();
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}

/// The text of an ignore file; `None` where there is none, or none that may be read.
fn read(path: &Path) -> Option<String> {
    // Most folders have none: that is told without opening the folder.
    let found = std::fs::symlink_metadata(path).ok()?;
    if !found.is_file() {
        if !found.is_dir() {
            tracing::warn!(path = %path.display(), "not used: it is no regular file, and links to ignore files are not followed");
        }
        return None;
    }
    // The folder of a walk may be written with a link in it; below it there is none on the way.
    let folder = std::fs::canonicalize(path.parent()?).ok()?;
    let place = Place::open(&AbsPath::from_os(&folder.join(path.file_name()?)).ok()?, false).ok()?;
    let file = place.file("read", OFlags::RDONLY).ok()?;
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
