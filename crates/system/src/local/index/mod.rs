//! An index of the directories that commands can write to: the secret files in them, and the files
//! that other programs execute or obey by themselves, at any depth. The directories are read once
//! and then watched, so a command costs the same in a project of any size.
//!
//! Where directories cannot be watched, or there are too many of them, the time of change of each
//! is compared before each command.

mod git;
mod listing;
mod watcher;

pub(super) use git::GitDirectories;

use super::modes::with_access;
use crate::limits::{INDEX_ENTRIES, INDEX_SETTLED, INDEXES};
use crate::{AbsPath, Sandbox};
use listing::{Kind, Listing, is_git_name};
use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;
use watcher::Watcher;

/// The files that need a mount of their own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Found {
    /// Secret files.
    pub(super) secrets: Vec<AbsPath>,
    /// Existing files and directories that control what other programs execute.
    pub(super) guarded: Vec<AbsPath>,
    /// Directories with a file that is secret because of its path.
    pub(super) pinned: Vec<AbsPath>,
    /// Files of git directories that do not exist, and would control what git executes.
    pub(super) missing: Vec<AbsPath>,
    /// Unix sockets.
    pub(super) sockets: Vec<AbsPath>,
    /// The git directories.
    pub(super) git: GitDirectories,
}

/// The directories have more entries than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TooMany;

/// The indexes of the most recently used sandboxes.
#[derive(Debug, Default)]
pub(super) struct Indexes(Mutex<VecDeque<Arc<Index>>>);

impl Indexes {
    /// Returns the index of a sandbox's writable directories.
    pub(super) fn of(&self, sandbox: &Sandbox) -> Arc<Index> {
        let scope = scope(sandbox);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().position(|index| index.scope == scope).and_then(|at| all.remove(at));
        let index = known.unwrap_or_else(|| Arc::new(Index { scope, tree: Mutex::default() }));
        all.push_front(Arc::clone(&index));
        all.truncate(INDEXES);
        index
    }
}

/// Returns a sandbox with the settings alone that determine what is found.
fn scope(sandbox: &Sandbox) -> Sandbox {
    let mut own = Sandbox::default();
    own.view.roots.clone_from(&sandbox.view.roots);
    own.secret.clone_from(&sandbox.secret);
    own.secret.blanked.clear();
    own
}

/// The index of some directories.
#[derive(Debug)]
pub(super) struct Index {
    /// What determines what is found.
    scope: Sandbox,
    tree: Mutex<Tree>,
}

#[derive(Debug, Default)]
struct Tree {
    directories: HashMap<AbsPath, Listing>,
    /// The directories with something in them that is found.
    marked: BTreeSet<AbsPath>,
    /// The directories that could not be read, for another attempt.
    unread: HashMap<AbsPath, Kind>,
    entries: usize,
    watcher: Option<Watcher>,
    /// Whether there are too many directories to watch.
    is_too_large: bool,
}

impl Index {
    /// Returns what is found now.
    ///
    /// # Errors
    /// [`TooMany`] if the directories have more entries than [`INDEX_ENTRIES`].
    pub(super) fn scan(&self) -> Result<Found, TooMany> {
        self.scan_at_most(INDEX_ENTRIES)
    }

    fn scan_at_most(&self, limit: usize) -> Result<Found, TooMany> {
        let mut tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        tree.refresh(&self.scope, limit)?;
        Ok(tree.found(&self.scope))
    }

    /// Returns a descriptor that becomes readable when something changes; `None` if the directories
    /// are not watched.
    pub(super) fn changes(&self) -> Option<OwnedFd> {
        let tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        tree.watcher.as_ref()?.descriptor()
    }

    /// Returns the top directories of the repositories that exist now.
    ///
    /// # Errors
    /// As for [`Self::scan`].
    pub(super) fn repositories(&self) -> Result<Vec<AbsPath>, TooMany> {
        let mut tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        tree.refresh(&self.scope, INDEX_ENTRIES)?;
        let tops = tree.marked().filter_map(|(path, listing)| match path.file_name() {
            Some(name) if is_git_name(name) => path.parent(),
            _ => listing.controls.iter().any(|name| is_git_name(name)).then(|| path.clone()),
        });
        Ok(tops.collect())
    }

    /// Returns the git directories that exist now.
    ///
    /// # Errors
    /// As for [`Self::scan`].
    pub(super) fn git_directories(&self) -> Result<GitDirectories, TooMany> {
        let mut tree = self.tree.lock().unwrap_or_else(PoisonError::into_inner);
        tree.refresh(&self.scope, INDEX_ENTRIES)?;
        Ok(tree.git())
    }
}

/// Returns the secret files by device and inode.
pub(super) fn secret_files(sandbox: &Sandbox) -> Result<HashSet<(u64, u64)>, TooMany> {
    let index = Indexes::default().of(sandbox);
    let found = index.scan()?;
    let secrets = found.secrets.iter().filter_map(|path| identity(path).map(|(id, _)| id));
    Ok(secrets.collect())
}

impl Tree {
    /// Reads what has changed.
    fn refresh(&mut self, sandbox: &Sandbox, limit: usize) -> Result<(), TooMany> {
        let refreshed = match self.watcher.as_mut().and_then(Watcher::changed) {
            Some(changed) => {
                let unread = std::mem::take(&mut self.unread).into_iter().collect();
                changed
                    .into_iter()
                    .try_for_each(|path| self.read(sandbox, path, limit))
                    .and_then(|()| self.walk(sandbox, unread, limit, &mut HashMap::new()))
            }
            // Not watched, or not any more.
            None => self.read_all(sandbox, limit),
        };
        let is_there = |root: &AbsPath| changed(root).is_ok_and(|changed| changed.is_some());
        let is_known = |root: &AbsPath| self.directories.contains_key(root) || !is_there(root);
        let has_roots = sandbox.view.writable().all(is_known);
        let refreshed =
            refreshed.and_then(|()| if has_roots { Ok(()) } else { self.read_all(sandbox, limit) });
        if refreshed.is_err() {
            *self = Self::default();
        }
        refreshed
    }

    /// Reads all directories. Those whose time of change is as before are not read again.
    fn read_all(&mut self, sandbox: &Sandbox, limit: usize) -> Result<(), TooMany> {
        let Self { mut directories, is_too_large, .. } = std::mem::take(self);
        self.is_too_large = is_too_large;
        self.watcher = if is_too_large { None } else { Watcher::new() };
        for root in sandbox.view.writable() {
            self.walk(sandbox, vec![(root.clone(), Kind::Root)], limit, &mut directories)?;
        }
        Ok(())
    }

    /// Reads a directory again, with those below it that are new.
    fn read(&mut self, sandbox: &Sandbox, path: AbsPath, limit: usize) -> Result<(), TooMany> {
        let Some(before) = self.directories.get(&path) else { return Ok(()) };
        let (kind, below): (_, Vec<_>) = (before.came_as, before.below(&path).collect());
        self.remove(&path);
        let mut known = HashMap::new();
        self.visit(sandbox, &path, kind, limit, &mut known)?;
        let now: HashMap<_, _> =
            self.directories.get(&path).into_iter().flat_map(|listing| listing.below(&path)).collect();
        for (child, _) in below {
            let is_watched = self.watcher.as_ref().is_some_and(|watcher| watcher.watches(&child));
            let came_as = self.directories.get(&child).map(|listing| &listing.came_as);
            if !is_watched || came_as.is_none() || now.get(&child) != came_as {
                self.remove_all(child);
            }
        }
        self.walk(sandbox, now.into_iter().collect(), limit, &mut known)
    }

    /// Reads directories and what is below them, as far as it is not in the tree.
    fn walk(
        &mut self,
        sandbox: &Sandbox,
        mut directories: Vec<(AbsPath, Kind)>,
        limit: usize,
        known: &mut HashMap<AbsPath, Listing>,
    ) -> Result<(), TooMany> {
        while let Some((path, kind)) = directories.pop() {
            if !self.directories.contains_key(&path) {
                directories.extend(self.visit(sandbox, &path, kind, limit, known)?);
            }
        }
        Ok(())
    }

    /// Reads a directory. Returns those below it.
    fn visit(
        &mut self,
        sandbox: &Sandbox,
        path: &AbsPath,
        kind: Kind,
        limit: usize,
        known: &mut HashMap<AbsPath, Listing>,
    ) -> Result<Vec<(AbsPath, Kind)>, TooMany> {
        if sandbox.secret.hidden.contains(path) {
            return Ok(Vec::new());
        }
        let mut known = known.remove(path);
        let listing = with_access(path, || {
            // Before it is read, so that no change is missed.
            if let Some(watcher) = &mut self.watcher
                && !watcher.add(path)?
            {
                (self.watcher, self.is_too_large) = (None, true);
            }
            let Some(changed) = changed(path)? else { return Ok(None) };
            match known.take() {
                Some(known) if known.changed == changed && known.came_as == kind => Ok(Some(known)),
                _ => Listing::read(sandbox, path, kind, settled(changed)).map(Some),
            }
        });
        let listing = match listing {
            Ok(Some(listing)) => listing,
            Ok(None) => return Ok(Vec::new()),
            Err(_) => {
                self.unread.insert(path.clone(), kind);
                return Ok(Vec::new());
            }
        };
        self.entries += listing.entries();
        if self.entries > limit {
            return Err(TooMany);
        }
        if listing.is_marked() {
            self.marked.insert(path.clone());
        }
        let below = listing.below(path).collect();
        self.directories.insert(path.clone(), listing);
        Ok(below)
    }

    fn remove(&mut self, path: &AbsPath) -> Option<Listing> {
        let listing = self.directories.remove(path)?;
        self.entries -= listing.entries();
        self.marked.remove(path);
        Some(listing)
    }

    /// Removes a directory with all that is below it.
    fn remove_all(&mut self, top: AbsPath) {
        let mut gone = vec![top];
        while let Some(path) = gone.pop() {
            if let Some(listing) = self.remove(&path) {
                gone.extend(listing.below(&path).map(|(path, _)| path));
            }
            if let Some(watcher) = &mut self.watcher {
                watcher.remove(&path);
            }
        }
    }

    /// Returns the directories with something in them that is found.
    fn marked(&self) -> impl Iterator<Item = (&AbsPath, &Listing)> {
        self.marked.iter().filter_map(|path| Some((path, self.directories.get(path)?)))
    }

    fn git(&self) -> GitDirectories {
        GitDirectories::of(self.marked())
    }

    fn found(&self, sandbox: &Sandbox) -> Found {
        let mut found = Found { git: self.git(), ..Found::default() };
        for (path, listing) in self.marked() {
            if listing.secrets.iter().any(|name| !sandbox.is_secret_by_name(name)) {
                found.pinned.push(path.clone());
            }
            found.secrets.extend(listing.secrets.iter().map(|name| path.join(name)));
            found.guarded.extend(listing.controls.iter().map(|name| path.join(name)));
            found.sockets.extend(listing.sockets.iter().map(|name| path.join(name)));
            found.missing.extend(listing.missing().map(|name| path.join(name)));
        }
        self.add_hard_links(sandbox, &mut found);
        found
    }

    /// Adds the hard links of files that commands cannot read. Only if such a file has another
    /// name, all directories are read for it: a link count can change without a change of the
    /// directory.
    fn add_hard_links(&self, sandbox: &Sandbox, found: &mut Found) {
        let shared = |path: &AbsPath| identity(path).filter(|(_, names)| *names > 1).map(|(id, _)| id);
        let hidden = found.secrets.iter().filter(|path| sandbox.is_hidden(path));
        let ids: HashSet<_> = hidden.filter_map(shared).collect();
        if ids.is_empty() {
            return;
        }
        let known: HashSet<_> = found.secrets.iter().cloned().collect();
        for directory in self.directories.keys() {
            let links = with_access(directory, || {
                let mut links = Vec::new();
                for entry in std::fs::read_dir(directory.as_std())?.flatten() {
                    let path = directory.join_os(&entry.file_name());
                    if entry.file_type().is_ok_and(|kind| kind.is_file()) && !known.contains(&path) {
                        let is_link = shared(&path).is_some_and(|id| ids.contains(&id));
                        links.extend(is_link.then_some(path));
                    }
                }
                Ok(links)
            });
            found.secrets.extend(links.unwrap_or_default());
        }
    }
}

/// Returns the change time of a directory; `None` if there is none at the path.
///
/// # Errors
/// If the user may not search a directory of the path.
fn changed(path: &AbsPath) -> io::Result<Option<(i64, i64)>> {
    match std::fs::symlink_metadata(path.as_std()) {
        Ok(found) => Ok(found.is_dir().then(|| (found.ctime(), found.ctime_nsec()))),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        Err(_) => Ok(None),
    }
}

/// Returns the change time for use as a cache key, or a value that never matches if the change is
/// so recent that a further change might leave the same timestamp.
fn settled(changed: (i64, i64)) -> (i64, i64) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let settled = i64::try_from(now.saturating_sub(INDEX_SETTLED).as_secs()).unwrap_or(0);
    if changed.0 < settled { changed } else { (-1, -1) }
}

/// Returns a file's device and inode, and its number of hard links.
fn identity(path: &AbsPath) -> Option<((u64, u64), u64)> {
    let found = with_access(path, || std::fs::symlink_metadata(path.as_std())).ok()?;
    Some(((found.dev(), found.ino()), found.nlink()))
}

#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;
