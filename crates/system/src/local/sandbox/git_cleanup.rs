//! Neutralises what a confined command left behind that git would execute. Existing git directories
//! are protected by mounts; this module handles git directories that are new, for which there was
//! nothing to mount. It runs after the command has ended.

use super::{
    survey::{self, settled},
    watch::rename_forbidden,
};
use crate::limits::{GIT_CLEANUP_ENTRIES, GIT_LINK_ENTRIES};
use crate::local::controls::all_harmless;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Directories of a repository with dependencies or build products: users do not run git inside
/// them.
const SKIPPED: [&str; 2] = ["node_modules", "target"];

/// The git directories that existed before the command, and their `commondir` files.
#[derive(Debug, Default)]
pub(super) struct GitDirectoriesBefore {
    known: HashSet<PathBuf>,
    /// The symbolic links in them.
    links: HashSet<PathBuf>,
    /// Whether the scan covered everything. If not, a git directory that is not in `known` need not
    /// be new.
    complete: bool,
    /// Directories that are not git directories, cached so that unchanged ones are not read again.
    others: HashMap<PathBuf, Listing>,
}

impl GitDirectoriesBefore {
    /// Records the existing git directories.
    pub(super) fn record(roots: impl Iterator<Item = PathBuf>) -> Self {
        let (mut known, mut links, mut others) = (HashSet::new(), HashSet::new(), HashMap::new());
        let remembered = |path: &Path| {
            let listing = Listing::read(path);
            if !listing.may_become_git {
                others.insert(path.to_owned(), listing.clone());
            }
            listing
        };
        let complete = visit_git_directories(roots, remembered, |directory| {
            let commondir = directory.join("commondir");
            known.extend(commondir.exists().then_some(commondir));
            known.insert(directory.to_owned());
            links.extend(links_in(directory));
        });
        Self { known, links, complete, others }
    }

    /// Renames what has been created since and would make git execute something. Returns a line for
    /// each.
    pub(super) fn disable_new(&self, roots: impl Iterator<Item = PathBuf>) -> Vec<String> {
        let mut lines = Vec::new();
        if !self.complete {
            return lines;
        }
        let now = |path: &Path| {
            let same = self.others.get(path).filter(|known| known.id.is_some() && known.id == identity(path));
            same.cloned().unwrap_or_else(|| Listing::read(path))
        };
        visit_git_directories(roots, now, |directory| {
            let commondir = directory.join("commondir");
            if !self.known.contains(&commondir) && commondir.exists() && !is_worktree_commondir(&commondir) {
                lines.push(rename_forbidden(&commondir, "it makes git use another directory").0);
            }
            let is_known = self.known.contains(directory);
            for link in links_in(directory).into_iter().filter(|link| !self.links.contains(link)) {
                // In a known directory, commands see these as links to copies.
                if !(is_known
                    && [directory.join("config"), directory.join("config.worktree")].contains(&link))
                {
                    lines.push(rename_forbidden(&link, "git would write to where it leads").0);
                }
            }
            if is_known {
                return;
            }
            let config = directory.join("config");
            if fs::read_to_string(&config).is_ok_and(|text| !all_harmless(&text)) {
                lines.push(rename_forbidden(&config, "it may name programs that git would run").0);
            }
            for hook in entries(&directory.join("hooks")) {
                // Git executes only hooks without an extension.
                if hook.extension().is_none() {
                    lines.push(rename_forbidden(&hook, "git would run it").0);
                }
            }
        });
        lines
    }
}

/// Returns the symbolic links in the places of a git directory to which git writes.
fn links_in(directory: &Path) -> Vec<PathBuf> {
    let (mut found, mut left) = (Vec::new(), GIT_LINK_ENTRIES);
    let mut directories = vec![directory.to_owned()];
    while let Some(at) = directories.pop() {
        for entry in fs::read_dir(&at).into_iter().flatten().flatten().take(left) {
            left -= 1;
            let is_written =
                at != directory || ["logs", "refs"].iter().any(|name| entry.file_name() == *name);
            match entry.file_type() {
                Ok(kind) if kind.is_symlink() => found.push(entry.path()),
                Ok(kind) if kind.is_dir() && is_written => directories.push(entry.path()),
                _ => {}
            }
        }
    }
    found
}

/// The contents of a directory, as of its change time.
#[derive(Debug, Clone)]
struct Listing {
    /// The cache key: device, inode and change time. A directory that changed a moment ago is not
    /// cached, see [`settled`].
    id: Option<(u64, u64, (i64, i64))>,
    is_git: bool,
    /// Whether it can become a git directory without a change of its own: the target of a link in
    /// it may be created.
    may_become_git: bool,
    entries: usize,
    directories: Vec<PathBuf>,
}

impl Listing {
    fn read(path: &Path) -> Self {
        // Taken before the entries, so that a change during the listing invalidates the cache
        // entry.
        let id = identity(path).map(|(device, number, changed)| (device, number, settled(changed)));
        let mut listing =
            Self { id, is_git: false, may_become_git: true, entries: 0, directories: Vec::new() };
        if has_git_name(path) {
            return Self { is_git: true, ..listing };
        }
        // A directory that cannot be listed may still be accessible.
        let Ok(found) = fs::read_dir(path) else { return Self { is_git: is_git(path), ..listing } };
        listing.may_become_git = false;
        for entry in found.flatten().take(GIT_CLEANUP_ENTRIES) {
            listing.entries += 1;
            let name = entry.file_name();
            // A file system may be case-insensitive.
            listing.may_become_git |= MARKS.iter().any(|mark| name.eq_ignore_ascii_case(mark));
            let passed = name.to_str().is_some_and(|name| SKIPPED.contains(&name));
            if !passed && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                listing.directories.push(entry.path());
            }
        }
        listing.is_git = listing.may_become_git && is_git(path);
        listing
    }
}

fn identity(path: &Path) -> Option<(u64, u64, (i64, i64))> {
    // Links are followed: a root may be a link.
    let found = fs::metadata(path).ok()?;
    Some((found.dev(), found.ino(), (found.ctime(), found.ctime_nsec())))
}

/// Calls `each` with every git directory, including bare ones and those of submodules and
/// worktrees. `read` returns the contents of a directory. Returns whether everything was within the
/// limit of entries.
fn visit_git_directories(
    roots: impl Iterator<Item = PathBuf>,
    mut read: impl FnMut(&Path) -> Listing,
    mut each: impl FnMut(&Path),
) -> bool {
    let mut left = GIT_CLEANUP_ENTRIES;
    let mut directories: Vec<_> = roots.collect();
    while let Some(directory) = directories.pop() {
        let listing = read(&directory);
        if listing.is_git {
            each(&directory);
            directories
                .extend(["modules", "worktrees"].iter().flat_map(|name| entries(&directory.join(name))));
            continue;
        }
        left = left.saturating_sub(listing.entries);
        if left == 0 {
            return false;
        }
        directories.extend(listing.directories);
    }
    true
}

/// A git directory that is not called `.git` contains at least one of these.
const MARKS: [&str; 2] = ["HEAD", "config"];

fn has_git_name(path: &Path) -> bool {
    path.file_name().and_then(|name| name.to_str()).is_some_and(survey::is_git_name)
}

/// Returns whether git may accept a directory as a git directory, or as the common directory of
/// one.
fn is_git(directory: &Path) -> bool {
    let has = |name: &str| directory.join(name).exists();
    has_git_name(directory)
        || (has("HEAD") && (has("objects") || has("commondir")))
        || (has("config") && has("objects") && has("refs"))
}

/// Returns whether a `commondir` file links a worktree's git directory to the one that contains it.
fn is_worktree_commondir(commondir: &Path) -> bool {
    let above = commondir.parent().and_then(Path::parent).and_then(Path::file_name);
    let leads = || fs::read_to_string(commondir).is_ok_and(|text| text.trim_end() == "../..");
    above.is_some_and(|name| name == "worktrees") && leads()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_git_configurations_and_hooks_that_run_programs_are_disabled() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        let roots = || std::iter::once(top.to_owned());
        let write = |path: &str, text: &str| {
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let evil = "[core]\n\tfsmonitor = x\n";
        write(".git/config", evil);
        write(".git/HEAD", "x");
        let before = GitDirectoriesBefore::record(roots());
        write(".git/commondir", "../evil");
        write("new/.git/config", evil);
        write("new/.git/hooks/pre-commit", "x");
        write("new/.git/hooks/pre-push.sample", "x");
        write("fine/.git/config", "[core]\n\tbare = false\n");
        write("bare/HEAD", "x");
        write("bare/objects/x", "x");
        write("bare/config", evil);
        // A file system may be case-insensitive.
        write("other/.GIT/config", evil);
        assert_eq!(before.disable_new(roots()).len(), 5);
        let there = |path: &str| top.join(path).exists();
        assert!(there(".git/config") && there("fine/.git/config") && there("new/.git/hooks/pre-push.sample"));
        assert!(!there(".git/commondir") && !there("new/.git/config") && !there("bare/config"));
        assert!(!there("new/.git/hooks/pre-commit") && there("new/.git/config.not-trusted"));
        assert_eq!(before.disable_new(roots()), Vec::<String>::new());
    }

    #[test]
    fn new_links_in_git_directories_are_renamed() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().join(".git");
        let roots = || std::iter::once(dir.path().to_owned());
        for directory in ["logs/refs/heads", "refs/heads", "objects"] {
            fs::create_dir_all(top.join(directory)).unwrap();
        }
        let link = |name: &str| std::os::unix::fs::symlink("/nowhere", top.join(name)).unwrap();
        link("refs/old");
        let before = GitDirectoriesBefore::record(roots());
        let new = ["logs/HEAD", "logs/refs/heads/main", "FETCH_HEAD", "refs/heads/x"];
        new.into_iter().chain(["config", "objects/link"]).for_each(link);
        assert_eq!(before.disable_new(roots()).len(), new.len());
        let is_there = |name: &str| fs::symlink_metadata(top.join(name)).is_ok();
        assert!(
            new.into_iter().all(|name| !is_there(name)) && is_there("refs/old") && is_there("objects/link")
        );
    }

    #[test]
    fn an_unchanged_directory_is_not_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("folder");
        fs::create_dir_all(path.join("below")).unwrap();
        fs::write(path.join("file"), "").unwrap();
        let fresh = Listing::read(&path);
        assert_ne!(fresh.id, identity(&path), "a change might not show");
        assert!(!fresh.is_git && !fresh.may_become_git && fresh.entries == 2 && fresh.directories.len() == 1);
        // As if it had been read long after its last change.
        let known = Listing { id: identity(&path), ..fresh };
        let before = || GitDirectoriesBefore {
            complete: true,
            known: HashSet::new(),
            links: HashSet::new(),
            others: std::iter::once((path.clone(), known.clone())).collect(),
        };
        let roots = || std::iter::once(path.clone());
        assert_eq!(before().disable_new(roots()), Vec::<String>::new());
        // Timestamps advance in steps: repeat until the change shows.
        std::iter::repeat_with(|| fs::write(path.join("HEAD"), "x").and(fs::remove_file(path.join("HEAD"))))
            .find(|_| identity(&path) != known.id);
        fs::create_dir(path.join("objects")).unwrap();
        fs::write(path.join("config"), "[core]\n\tfsmonitor = x\n").unwrap();
        fs::write(path.join("HEAD"), "x").unwrap();
        assert_eq!(before().disable_new(roots()).len(), 1);
        // The target of a link may be created later.
        let linked = dir.path().join("linked");
        fs::create_dir(&linked).unwrap();
        std::os::unix::fs::symlink("../later", linked.join("HEAD")).unwrap();
        assert!(Listing::read(&linked).may_become_git && !Listing::read(&linked).is_git);
    }
}
