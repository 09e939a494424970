//! Watches for files that must not be created while a confined command runs, because other programs
//! would obey them. A mount cannot prevent this, because there is nothing to mount over. The
//! supervisor, which is not confined, is notified by inotify when such a file appears, and renames
//! it. An empty directory is left alone until there is something in it. A command that keeps
//! creating such files is killed.

use crate::limits::FORBIDDEN_RENAMES;
use crate::local::aside::{self, Turns};
use crate::{AbsPath, Folded};
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::{self, ErrorKind};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The reason shown for a renamed file.
const REASON: &str = "other programs obey such a file automatically";

/// The events by which something appears in a directory.
const EVENTS: WatchFlags = WatchFlags::CREATE.union(WatchFlags::MOVED_TO).union(WatchFlags::ONLYDIR);

/// The names that are watched for.
pub(super) struct Watch {
    inotify: OwnedFd,
    /// The directories by watch descriptor.
    directories: HashMap<i32, PathBuf>,
    /// The empty directories with watched names, likewise.
    empty: HashMap<i32, PathBuf>,
    names: Vec<(PathBuf, String)>,
    /// The names of guarded files, whose guard has to be put back when they are replaced.
    guarded: Vec<(PathBuf, String)>,
    /// The directories that commands may change in a copy.
    shared: Vec<AbsPath>,
    turns: Turns,
    /// The directories that were renamed, by the path at which the command finds them.
    placed: HashMap<PathBuf, Placed>,
    renamed: usize,
    /// `true` if something could be neither renamed nor removed.
    has_failed: bool,
}

/// A renamed directory that the command finds at its old path.
struct Placed {
    /// The device and inode number.
    id: (u64, u64),
    _used: Used,
}

/// While it is held, other processes know that this one uses a renamed folder.
#[derive(Debug)]
pub(super) struct Used(#[expect(dead_code, reason = "its lock is held")] Option<OwnedFd>);

impl Used {
    /// Notes that this process uses a folder. A command that has locked it keeps the lock.
    fn note(folder: &Path) -> Self {
        let folder = aside::open(folder).ok();
        Self(folder.inspect(|folder| {
            flock(folder, FlockOperation::NonBlockingLockShared).unwrap_or_default();
        }))
    }
}

/// The changes in the watched directories.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// The files and directories that have appeared.
    pub(super) appeared: Vec<PathBuf>,
    /// `true` if a guarded file was replaced.
    pub(super) guards_fell: bool,
}

/// A file or directory that has appeared and was renamed or removed.
#[derive(Debug)]
pub(super) struct Renamed {
    pub(super) path: PathBuf,
    /// The new path of a directory that the command is to find at its old one.
    pub(super) directory: Option<(PathBuf, Used)>,
    /// A line that reports it, unless the command finds the directory at its path.
    pub(super) line: Option<String>,
}

impl Watch {
    /// Watches for the `reserved` paths that do not exist yet, and for changes of `guarded` ones.
    /// The command finds the `shared` ones where they were, also if another command has created
    /// them meanwhile. Returns `None` if there is nothing to watch for.
    pub(super) fn new<'a>(
        reserved: &[AbsPath],
        guarded: impl Iterator<Item = &'a AbsPath>,
        shared: &[AbsPath],
        turns: Turns,
    ) -> Result<Option<Self>, String> {
        let is_missing = |path: &AbsPath| fs::symlink_metadata(path.as_std()).is_err();
        let missing = reserved.iter().filter(|path| shared.contains(path) || is_missing(path));
        let split = |path: &AbsPath| Some((path.parent()?.as_std().to_owned(), path.file_name()?.to_owned()));
        let names: Vec<_> = missing.filter_map(split).collect();
        let guarded: Vec<_> = guarded.filter_map(split).collect();
        if names.is_empty() && guarded.is_empty() {
            return Ok(None);
        }
        let inotify = init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK).map_err(watch_error)?;
        let mut directories = HashMap::new();
        let parents: BTreeSet<_> =
            names.iter().chain(&guarded).map(|(directory, _)| directory.clone()).collect();
        for directory in parents.into_iter().filter(|directory| directory.is_dir()) {
            directories.insert(add_watch(&inotify, &directory, EVENTS).map_err(watch_error)?, directory);
        }
        Ok(Some(Self {
            inotify,
            directories,
            names,
            guarded,
            shared: shared.to_vec(),
            turns,
            empty: HashMap::new(),
            placed: HashMap::new(),
            renamed: 0,
            has_failed: false,
        }))
    }

    /// Returns the descriptor that becomes readable when something has appeared.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// Returns what has happened since the last call.
    pub(super) fn seen(&mut self) -> Seen {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let (mut appeared, mut inside) = (Vec::new(), Vec::new());
        let mut lost = false;
        while let Ok(event) = reader.next() {
            lost |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            inside.extend(self.empty.get(&event.wd()).cloned());
            let name = event.file_name().and_then(|name| name.to_str().ok());
            if let (Some(directory), Some(name)) = (self.directories.get(&event.wd()), name) {
                appeared.push((directory.clone(), name.to_owned()));
            }
        }
        if lost {
            let names = self.names.clone();
            self.watch_empty(names.iter().map(|(directory, name)| directory.join(name)));
            return Seen { guards_fell: true, appeared: self.all() };
        }
        let guards_fell = appeared.iter().any(|appeared| self.guarded.contains(appeared));
        // Some file systems treat several spellings as the same name.
        let is_watched = |(directory, name): &(PathBuf, String)| {
            let name = Folded::of(name);
            self.names.iter().any(|(known, watched)| known == directory && name.matches(watched))
        };
        let appeared = appeared.into_iter().filter(is_watched).map(|(directory, name)| directory.join(name));
        let appeared: Vec<_> = appeared.collect();
        self.watch_empty(appeared.iter().cloned());
        let appeared = appeared.into_iter().chain(inside).filter(|path| self.is_forbidden(path)).collect();
        Seen { guards_fell, appeared }
    }

    /// Returns all watched names at which there is something to rename now.
    pub(super) fn all(&self) -> Vec<PathBuf> {
        let paths = self.names.iter().map(|(directory, name)| directory.join(name));
        paths.filter(|path| self.is_forbidden(path)).collect()
    }

    /// Returns whether there is something at a path that is to be renamed.
    fn is_forbidden(&self, path: &Path) -> bool {
        let Ok(found) = fs::symlink_metadata(path) else { return false };
        let is_placed = self.placed.get(path).is_some_and(|placed| placed.id == (found.dev(), found.ino()));
        if found.is_dir() && is_empty(path) { !is_placed && self.joined(path).is_some() } else { !is_placed }
    }

    /// Returns the renamed directory that other commands find at a path.
    fn joined(&self, path: &Path) -> Option<PathBuf> {
        let mut renamed = self.is_shared(path).then(|| aside::renamed(path, 0))?;
        renamed.find(|renamed| aside::is_used(renamed))
    }

    fn is_shared(&self, path: &Path) -> bool {
        self.shared.iter().any(|shared| shared.as_std() == path)
    }

    /// Renames files and directories that have appeared. A directory that commands may change in a
    /// copy becomes the renamed one that other commands find at its path, if there is one. With
    /// `merged`, what is in it is of the command, and is moved there.
    pub(super) fn rename(&mut self, appeared: Vec<PathBuf>, merged: bool) -> Vec<Renamed> {
        let _turn = self.turns.take();
        let mut all = Vec::new();
        for path in appeared.into_iter().collect::<BTreeSet<_>>() {
            if !self.is_forbidden(&path) {
                continue;
            }
            self.renamed += 1;
            let is_directory = fs::symlink_metadata(&path).is_ok_and(|found| found.is_dir());
            let is_placed = is_directory && self.is_shared(&path);
            let joined =
                self.joined(&path).filter(|joined| is_placed && (!merged || merge(&path, joined).is_ok()));
            let (line, directory) = match joined {
                Some(joined) => (None, Some(joined)),
                None => match rename_forbidden(&path, is_placed, REASON) {
                    Ok((line, name)) => (line, name.filter(|_| is_placed)),
                    Err(line) => {
                        self.has_failed = true;
                        (Some(line), None)
                    }
                },
            };
            let directory = directory.map(|name| {
                let used = Used::note(&name);
                (name, used)
            });
            all.push(Renamed { path, directory, line });
        }
        all
    }

    /// Returns whether the command keeps creating such files.
    pub(super) fn persists(&self) -> bool {
        self.has_failed || self.renamed >= FORBIDDEN_RENAMES
    }

    /// Watches the empty directories among some paths.
    fn watch_empty(&mut self, paths: impl IntoIterator<Item = PathBuf>) {
        for path in paths.into_iter().filter(|path| path.is_dir() && !path.is_symlink()) {
            if let Ok(watch) = add_watch(&self.inotify, &path, EVENTS | WatchFlags::DONT_FOLLOW) {
                self.empty.insert(watch, path);
            }
        }
    }

    /// Notes that the command finds a directory at its old path that was renamed to `name`.
    pub(super) fn place(&mut self, path: PathBuf, used: Used) {
        if let Ok(found) = fs::symlink_metadata(&path) {
            self.placed.insert(path, Placed { id: (found.dev(), found.ino()), _used: used });
        }
    }

    /// Returns the old paths of renamed directories, and forgets them.
    pub(super) fn take_placed(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.placed).into_keys().collect()
    }
}

fn is_empty(directory: &Path) -> bool {
    fs::read_dir(directory).is_ok_and(|mut entries| entries.next().is_none())
}

/// Moves what is in a directory into another one. Files of the same name are replaced.
fn merge(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match fs::rename(entry.path(), &target) {
            Err(_) if entry.file_type()?.is_dir() => {
                merge(&entry.path(), &target)?;
                fs::remove_dir(entry.path())?;
            }
            done => done?,
        }
    }
    Ok(())
}

/// Renames a directory, and creates an empty one in its place at the same moment.
fn exchange(path: &Path, name: &Path) -> io::Result<()> {
    fs::create_dir(name)?;
    rustix::fs::renameat_with(CWD, path, CWD, name, RenameFlags::EXCHANGE).or_else(|error| {
        fs::remove_dir(name)?;
        Err(error.into())
    })
}

/// Renames a file or directory so that no program obeys it, or removes it if all new names are
/// taken. One that `is_placed` is exchanged for an empty directory. Returns a line that describes
/// what was done, and the new name; fails with a line.
fn rename_forbidden(
    path: &Path,
    is_placed: bool,
    why: &str,
) -> Result<(Option<String>, Option<PathBuf>), String> {
    let shown = path.display();
    for number in 0..FORBIDDEN_RENAMES {
        let name = path.with_file_name(aside::name(path.file_name().unwrap_or_default(), number));
        if fs::symlink_metadata(&name).is_ok() {
            continue;
        }
        if is_placed && exchange(path, &name).is_ok() || fs::rename(path, &name).is_ok() {
            let line = format!("{shown} was renamed to {}: {why}", name.display());
            return Ok((Some(line), Some(name)));
        }
    }
    let is_directory = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let removed = if is_directory { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Ok(()) => Ok((Some(format!("{shown} was removed: {why}")), None)),
        // Another program was faster.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok((None, None)),
        Err(error) => Err(format!("{shown} could not be removed, but should be: {why} ({error})")),
    }
}

fn watch_error(error: rustix::io::Errno) -> String {
    format!("watching for forbidden names: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forbidden_name_is_renamed_when_it_appears_but_not_if_it_existed_before() {
        let dir = tempfile::tempdir().unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        let path = |name: &str| top.join(name);
        fs::write(path(".npmrc").as_std(), "mine").unwrap();
        let watched = [".npmrc", ".envrc", ".vscode", "none/x"].map(path);
        let mine = path(".npmrc");
        let mut watch = Watch::new(&watched, std::iter::once(&mine), &[path(".vscode")], Turns::default())
            .unwrap()
            .unwrap();
        assert_eq!(watch.seen(), Seen::default());
        fs::write(path(".envrc").as_std(), "x").unwrap();
        fs::create_dir(path(".VSCode").as_std()).unwrap();
        fs::write(path(".VSCode/x").as_std(), "x").unwrap();
        fs::write(path("other").as_std(), "x").unwrap();
        let seen = watch.seen();
        assert!(seen.appeared.len() == 2 && !seen.guards_fell, "{seen:?}");
        let renamed = watch.rename(seen.appeared, true);
        assert!(renamed.len() == 2 && !watch.persists(), "{renamed:?}");
        let expected = [".VSCode", ".VSCode.not-trusted"].map(|name| path(name).as_std().to_owned());
        assert!(renamed.iter().all(|renamed| renamed.directory.is_none() && renamed.line.is_some()));
        assert!(!expected[0].exists());
        assert!(path(".envrc.not-trusted").as_std().exists() && expected[1].exists());
        assert!(path(".npmrc").as_std().exists() && path("other").as_std().exists());
        fs::rename(path("other").as_std(), mine.as_std()).unwrap();
        assert_eq!(watch.seen(), Seen { guards_fell: true, appeared: Vec::new() });
        let mut persists = false;
        for _ in 0..FORBIDDEN_RENAMES {
            fs::write(path(".envrc").as_std(), "x").unwrap();
            let appeared = watch.seen().appeared;
            watch.rename(appeared, true);
            persists |= watch.persists();
        }
        assert!(persists && !path(".envrc").as_std().exists());
        assert_eq!(watch.all(), Vec::<PathBuf>::new());
        // An empty directory becomes one of those files with what is put into it.
        fs::create_dir(path(".vscode").as_std()).unwrap();
        assert_eq!(watch.seen(), Seen::default());
        fs::write(path(".vscode/x").as_std(), "x").unwrap();
        let vscode = path(".vscode").as_std().to_owned();
        assert_eq!(watch.seen().appeared, std::slice::from_ref(&vscode));
        watch.place(vscode.clone(), Used::note(&vscode));
        assert_eq!(watch.all(), Vec::<PathBuf>::new());
        fs::rename(&vscode, path("away").as_std()).unwrap();
        fs::create_dir(&vscode).unwrap();
        fs::write(vscode.join("x"), "x").unwrap();
        assert_eq!(watch.all(), std::slice::from_ref(&vscode));
        assert_eq!(watch.take_placed(), [vscode]);
        assert!(Watch::new(&[path(".npmrc")], std::iter::empty(), &[], Turns::default()).unwrap().is_none());
    }
}
