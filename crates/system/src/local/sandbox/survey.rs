//! Finds what needs its own mount in the writable directories: secret files, and files at any depth
//! that other programs execute or obey automatically. All writable directories are scanned before
//! each command; the contents of unchanged directories come from a cache.

use crate::limits::{SANDBOX_SURVEY_ENTRIES, SANDBOX_SURVEY_SETTLED, SANDBOX_SURVEYS};
use crate::{AbsPath, Folded, Sandbox};
use std::collections::{HashMap, HashSet, VecDeque};
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

/// How deep submodules are searched for; their names may contain slashes.
const MODULE_DEPTH: usize = 6;
/// The files of a git directory that control what git executes.
const GIT_CONTROLS: [&str; 5] = ["config", "config.worktree", "hooks", "commondir", "gitdir"];
/// Those of them that must not be created in a git directory that lacks them.
const GIT_RESERVED: [&str; 3] = ["config.worktree", "commondir", "hooks"];
/// The result of a survey.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(in crate::local) struct SurveyResult {
    /// Secret files.
    pub(in crate::local) secrets: Vec<AbsPath>,
    /// Existing files and directories that control what other programs execute.
    pub(in crate::local) guarded: Vec<AbsPath>,
    /// Directories with a file that is secret because of its path.
    pub(in crate::local) pinned: Vec<AbsPath>,
    /// Files of git directories that do not exist, and would control what git executes.
    pub(in crate::local) missing: Vec<AbsPath>,
}

/// The directories have more entries than the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::local) struct TooMany;

/// A cache of directory contents for each of the most recently used sandboxes. It is per sandbox
/// because the session's settings and directories determine which files are secret or guarded.
#[derive(Debug, Default)]
pub(in crate::local) struct Survey {
    cache: Mutex<VecDeque<(Scope, Listings)>>,
}

type Listings = HashMap<AbsPath, Listing>;

/// The settings of a sandbox that determine the result.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Scope {
    roots: Vec<AbsPath>,
    patterns: Vec<String>,
    exceptions: Vec<String>,
}

impl Scope {
    fn of(sandbox: &Sandbox) -> Self {
        let Sandbox { view, secret, .. } = sandbox.clone();
        Self { roots: view.roots, patterns: secret.patterns, exceptions: secret.exceptions }
    }
}

/// The contents of a directory, as of its change time.
#[derive(Debug, Clone, Default)]
struct Listing {
    /// The change time, or a value that never matches; see [`settled`].
    changed: (i64, i64),
    directories: Vec<String>,
    secrets: Vec<String>,
    nested: Vec<String>,
    /// Other regular files. Needed to check for hard links, because a link count can change without
    /// changing the directory.
    files: Vec<String>,
}

impl Survey {
    /// Scans the writable directories of a sandbox, except hidden ones.
    pub(in crate::local) fn scan(&self, sandbox: &Sandbox) -> Result<SurveyResult, TooMany> {
        self.scan_at_most(sandbox, SANDBOX_SURVEY_ENTRIES)
    }

    /// Scans up to `limit` entries.
    fn scan_at_most(&self, sandbox: &Sandbox, limit: usize) -> Result<SurveyResult, TooMany> {
        let scope = Scope::of(sandbox);
        let mut all = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().position(|(known, _)| *known == scope).and_then(|at| all.remove(at));
        let mut cache = known.map_or_else(HashMap::new, |(_, cache)| cache);
        let mut found = SurveyResult::default();
        let mut kept = HashMap::new();
        let mut left = limit;
        let (git_directories, projects): (Vec<_>, Vec<_>) =
            sandbox.view.writable().cloned().partition(is_git_directory);
        git_directories.iter().for_each(|root| add_git_directory(root, &mut found));
        let mut directories = projects;
        while let Some(path) = directories.pop() {
            if sandbox.secret.hidden.contains(&path) || kept.contains_key(&path) {
                continue;
            }
            let Ok(metadata) = std::fs::symlink_metadata(path.as_std()) else { continue };
            let changed = (metadata.ctime(), metadata.ctime_nsec());
            let listing = match cache.remove(&path) {
                Some(known) if known.changed == changed => known,
                _ => read(sandbox, &path, changed),
            };
            let entries = listing.directories.len() + listing.files.len() + listing.secrets.len();
            left = left.checked_sub(entries).ok_or(TooMany)?;
            for name in &listing.directories {
                let below = path.join(name);
                match is_git_name(name) {
                    true => add_git_directory(&below, &mut found),
                    false => directories.push(below),
                }
            }
            if listing.secrets.iter().any(|name| !sandbox.is_secret_by_name(name)) {
                found.pinned.push(path.clone());
            }
            found.secrets.extend(listing.secrets.iter().map(|name| path.join(name)));
            found.guarded.extend(listing.nested.iter().map(|name| path.join(name)));
            kept.insert(path, listing);
        }
        add_hard_links(&mut found, &kept);
        all.push_front((scope, kept));
        all.truncate(SANDBOX_SURVEYS);
        Ok(found)
    }
}

/// Returns the secret files by device and inode.
pub(in crate::local) fn secret_files(sandbox: &Sandbox) -> Result<HashSet<(u64, u64)>, TooMany> {
    secret_files_at_most(sandbox, SANDBOX_SURVEY_ENTRIES)
}

/// As [`secret_files`], for directories with up to `limit` entries.
fn secret_files_at_most(sandbox: &Sandbox, limit: usize) -> Result<HashSet<(u64, u64)>, TooMany> {
    let found = Survey::default().scan_at_most(sandbox, limit)?;
    let secrets = found.secrets.iter().filter_map(|path| identity(path).map(|(id, _)| id));
    Ok(secrets.collect())
}

/// Returns the change time for use as a cache key, or a value that never matches if the change is
/// so recent that a further change might leave the same timestamp.
pub(super) fn settled(changed: (i64, i64)) -> (i64, i64) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let settled = i64::try_from(now.saturating_sub(SANDBOX_SURVEY_SETTLED).as_secs()).unwrap_or(0);
    if changed.0 < settled { changed } else { (-1, -1) }
}

/// Returns whether some file system treats a name as `.git`.
pub(super) fn is_git_name(name: &str) -> bool {
    Folded::of(name).matches(".git")
}

/// Returns whether a writable directory is itself a git directory, that of a worktree or a
/// submodule.
fn is_git_directory(root: &AbsPath) -> bool {
    root.file_name().is_some_and(is_git_name)
        || ["HEAD", "objects", "config"].iter().all(|name| root.join(name).as_std().exists())
}

fn read(sandbox: &Sandbox, path: &AbsPath, changed: (i64, i64)) -> Listing {
    let mut listing = Listing { changed: settled(changed), ..Listing::default() };
    for entry in std::fs::read_dir(path.as_std()).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else { continue };
        let name = name.to_owned();
        let full = path.join(&name);
        if kind.is_dir() {
            listing.directories.push(name);
        } else if kind.is_file() && sandbox.is_secret(&full) {
            listing.secrets.push(name);
        } else if is_git_name(&name) {
            // The `.git` file of a worktree or a submodule contains the path of its git directory.
            listing.nested.push(name);
        } else if kind.is_file() {
            listing.files.push(name);
        }
    }
    listing
}

/// Collects the control files of a git directory, its submodules and its worktrees.
fn add_git_directory(path: &AbsPath, found: &mut SurveyResult) {
    let mut directories = vec![(path.clone(), 0)];
    while let Some((directory, depth)) = directories.pop() {
        let exists = |path: &AbsPath| path.as_std().symlink_metadata().is_ok();
        let controls: Vec<_> = GIT_CONTROLS.iter().map(|name| directory.join(name)).filter(exists).collect();
        // One of them is sufficient: the others may have been removed as a disguise.
        let is_git = depth == 0 || !controls.is_empty() || exists(&directory.join("HEAD"));
        found.guarded.extend(controls);
        if is_git {
            let missing = GIT_RESERVED.iter().map(|name| directory.join(name)).filter(|path| !exists(path));
            found.missing.extend(missing);
        }
        let below: Vec<_> = match is_git {
            true => ["modules", "worktrees"].map(|name| directory.join(name)).to_vec(),
            false => vec![directory],
        };
        if depth >= MODULE_DEPTH {
            continue;
        }
        for directory in below {
            for entry in std::fs::read_dir(directory.as_std()).into_iter().flatten().flatten() {
                if let (Some(name), true) =
                    (entry.file_name().to_str(), entry.file_type().is_ok_and(|kind| kind.is_dir()))
                {
                    directories.push((directory.join(name), depth + 1));
                }
            }
        }
    }
}

/// Adds the hard links of secret files.
fn add_hard_links(found: &mut SurveyResult, cache: &HashMap<AbsPath, Listing>) {
    let shared = |path: &AbsPath| identity(path).filter(|(_, names)| *names > 1).map(|(id, _)| id);
    let ids: HashSet<_> = found.secrets.iter().filter_map(shared).collect();
    if !ids.is_empty() {
        let below = |(directory, held): (&AbsPath, &Listing)| {
            held.files.iter().map(|name| directory.join(name)).collect::<Vec<_>>()
        };
        let others = cache.iter().flat_map(below);
        found.secrets.extend(others.filter(|path| shared(path).is_some_and(|id| ids.contains(&id))));
    }
}

/// Returns a file's device and inode, and its number of hard links.
fn identity(path: &AbsPath) -> Option<((u64, u64), u64)> {
    let found = std::fs::symlink_metadata(path.as_std()).ok()?;
    Some(((found.dev(), found.ino()), found.nlink()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SecretPaths, View};
    use std::fs;

    fn below(top: &AbsPath) -> View {
        View { roots: vec![top.clone()], ..View::default() }
    }

    #[test]
    fn names_are_guarded_in_every_spelling_that_a_file_system_accepts() {
        let dir = tempfile::tempdir().unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        for file in ["sub/.GIT/config", "other/.Git"] {
            let file = top.join(file);
            fs::create_dir_all(file.parent().unwrap().as_std()).unwrap();
            fs::write(file.as_std(), "x").unwrap();
        }
        let sandbox = Sandbox { view: below(&top), ..Sandbox::default() };
        let guarded = Survey::default().scan(&sandbox).unwrap().guarded;
        for file in ["sub/.GIT/config", "other/.Git"] {
            assert!(guarded.contains(&top.join(file)), "{file} is not among {guarded:?}");
        }
    }

    #[test]
    fn secret_files_are_unknown_where_there_are_too_many_entries() {
        let dir = tempfile::tempdir().unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        for name in ["plan.txt", "other.txt"] {
            fs::write(top.join(name).as_std(), "x").unwrap();
        }
        let patterns = vec!["*plan.txt".to_owned()];
        let sandbox = Sandbox {
            view: below(&top),
            secret: SecretPaths { patterns, ..SecretPaths::default() },
            ..Sandbox::default()
        };
        let plan = identity(&top.join("plan.txt")).unwrap().0;
        assert_eq!(secret_files_at_most(&sandbox, 2), Ok(HashSet::from([plan])));
        assert_eq!(secret_files_at_most(&sandbox, 1), Err(TooMany));
    }

    #[test]
    fn directory_contents_are_cached_per_sandbox() {
        let dir = tempfile::tempdir().unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        let secret = top.join("notes/plan.txt");
        fs::create_dir(top.join("notes").as_std()).unwrap();
        fs::write(secret.as_std(), "x").unwrap();
        // Backdated below, so that the contents are cached.
        let mut survey = Survey::default();
        let open = Sandbox { view: below(&top), ..Sandbox::default() };
        let mut strict = open.clone();
        strict.secret.patterns.push("*plan.txt".to_owned());
        assert_eq!(survey.scan(&open).unwrap().secrets, Vec::new());
        for (_, cache) in survey.cache.get_mut().unwrap() {
            let real = |path: &AbsPath| fs::symlink_metadata(path.as_std()).unwrap();
            cache.iter_mut().for_each(|(path, listing)| {
                listing.changed = (real(path).ctime(), real(path).ctime_nsec());
            });
        }
        assert_eq!(survey.scan(&strict).unwrap().secrets, [secret]);
        assert_eq!(survey.scan(&open).unwrap().secrets, Vec::new());
    }
}
