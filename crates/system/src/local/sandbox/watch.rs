//! Watches for files that must not be created while a confined command runs, because other programs
//! would obey them. A mount cannot prevent this, because there is nothing to mount over. The
//! supervisor, which is not confined, is notified by inotify when such a file appears, and renames
//! it. A command that keeps creating them is killed.

use crate::limits::FORBIDDEN_RENAMES;
use crate::{AbsPath, Folded};
use rustix::fs::inotify::{CreateFlags, ReadFlags, Reader, WatchFlags, add_watch, init};
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

/// The reason shown for a renamed file.
const REASON: &str = "other programs obey such a file automatically";

/// The names that are watched for.
pub(super) struct Watch {
    inotify: OwnedFd,
    /// The directories by watch descriptor.
    directories: HashMap<i32, PathBuf>,
    names: Vec<(PathBuf, String)>,
    /// The names of guarded files, whose guard has to be put back when they are replaced.
    guarded: Vec<(PathBuf, String)>,
    renamed: usize,
}

/// What has happened in the watched directories.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Seen {
    /// A line for each file that was renamed.
    pub(super) lines: Vec<String>,
    /// Whether the command keeps creating such files.
    pub(super) persists: bool,
    /// Whether a guarded file was replaced.
    pub(super) guards_fell: bool,
}

impl Watch {
    /// Watches for the `reserved` paths that do not exist yet, and for changes of `guarded` ones.
    /// Returns `None` if there are none.
    pub(super) fn new<'a>(
        reserved: &[AbsPath],
        guarded: impl Iterator<Item = &'a AbsPath>,
    ) -> Result<Option<Self>, String> {
        let missing = reserved.iter().filter(|path| fs::symlink_metadata(path.as_std()).is_err());
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
            let events = WatchFlags::CREATE | WatchFlags::MOVED_TO | WatchFlags::ONLYDIR;
            directories.insert(add_watch(&inotify, &directory, events).map_err(watch_error)?, directory);
        }
        Ok(Some(Self { inotify, directories, names, guarded, renamed: 0 }))
    }

    /// Returns the descriptor that becomes readable when something has appeared.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.inotify.as_fd()
    }

    /// Renames what has appeared.
    pub(super) fn handle_events(&mut self) -> Seen {
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut reader = Reader::new(&self.inotify, &mut buffer);
        let mut appeared = Vec::new();
        let mut lost = false;
        while let Ok(event) = reader.next() {
            lost |= event.events().contains(ReadFlags::QUEUE_OVERFLOW);
            let name = event.file_name().and_then(|name| name.to_str().ok());
            if let (Some(directory), Some(name)) = (self.directories.get(&event.wd()), name) {
                appeared.push((directory.clone(), name.to_owned()));
            }
        }
        if lost {
            return Seen { guards_fell: true, ..self.check_all() };
        }
        let guards_fell = appeared.iter().any(|appeared| self.guarded.contains(appeared));
        // Some file systems treat several spellings as the same name.
        let is_watched = |(directory, name): &(PathBuf, String)| {
            let name = Folded::of(name);
            self.names.iter().any(|(known, watched)| known == directory && name.matches(watched))
        };
        let found: Vec<_> = appeared.into_iter().filter(is_watched).collect();
        Seen { guards_fell, ..self.rename_forbidden(found) }
    }

    /// Renames all watched names that exist now.
    pub(super) fn check_all(&mut self) -> Seen {
        let names = self.names.clone();
        self.rename_forbidden(names)
    }

    fn rename_forbidden(&mut self, names: Vec<(PathBuf, String)>) -> Seen {
        let mut lines = Vec::new();
        let mut done = true;
        for path in names.into_iter().map(|(directory, name)| directory.join(name)) {
            if fs::symlink_metadata(&path).is_ok() {
                self.renamed += 1;
                let (line, renamed) = rename_forbidden(&path, REASON);
                lines.push(line);
                done &= renamed;
            }
        }
        Seen { lines, persists: !done || self.renamed >= FORBIDDEN_RENAMES, guards_fell: false }
    }
}

/// Renames a file or directory so that no program obeys it, or removes it if all new names are
/// taken. Returns a line that describes what was done, and whether it succeeded.
pub(super) fn rename_forbidden(path: &Path, why: &str) -> (String, bool) {
    let shown = path.display();
    for number in 0..FORBIDDEN_RENAMES {
        let mut name = path.as_os_str().to_owned();
        name.push(".not-trusted");
        if number > 0 {
            name.push(format!("-{number}"));
        }
        let name = PathBuf::from(name);
        if fs::symlink_metadata(&name).is_err() && fs::rename(path, &name).is_ok() {
            return (format!("{shown} was renamed to {}: {why}", name.display()), true);
        }
    }
    let is_directory = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    let removed = if is_directory { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Ok(()) => (format!("{shown} was removed: {why}"), true),
        Err(error) => (format!("{shown} could not be removed, but should be: {why} ({error})"), false),
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
        let mut watch = Watch::new(&watched, std::iter::once(&mine)).unwrap().unwrap();
        assert_eq!(watch.handle_events(), Seen::default());
        fs::write(path(".envrc").as_std(), "x").unwrap();
        fs::create_dir(path(".VSCode").as_std()).unwrap();
        fs::write(path("other").as_std(), "x").unwrap();
        let seen = watch.handle_events();
        assert!(seen.lines.len() == 2 && !seen.persists && !seen.guards_fell, "{seen:?}");
        assert!(
            path(".envrc.not-trusted").as_std().exists() && path(".VSCode.not-trusted").as_std().exists()
        );
        assert!(path(".npmrc").as_std().exists() && path("other").as_std().exists());
        fs::rename(path("other").as_std(), mine.as_std()).unwrap();
        assert_eq!(watch.handle_events(), Seen { guards_fell: true, ..Seen::default() });
        let mut persists = false;
        for _ in 0..FORBIDDEN_RENAMES {
            fs::write(path(".envrc").as_std(), "x").unwrap();
            persists |= watch.handle_events().persists;
        }
        assert!(persists && !path(".envrc").as_std().exists());
        assert_eq!(watch.check_all().lines, Vec::<String>::new());
        assert!(Watch::new(&[path(".npmrc")], std::iter::empty()).unwrap().is_none());
    }
}
