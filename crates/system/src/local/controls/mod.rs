//! Git's configuration as confined commands see it. A repository's configuration names programs
//! that git runs, also outside of the sandbox, and git commands change it all the time. Therefore
//! commands change a copy. Changes that name no program are carried over to the original after each
//! command; the others stay in the copy, for the session's own commands.
//!
//! The folders that editors obey are copies too; see `folders.rs`.
//!
//! The copies are in a directory that commands can write to. The bases, which are the originals as
//! they were when the copies were made or last compared, are in one that they do not see.

mod config;
mod folders;

pub(super) use config::all_harmless;
pub(super) use folders::{SCRIPT, SCRIPT_VARIABLES, Tree, versions};

use super::entry::EntryHandle;
use crate::limits::CONTROL_FILE_BYTES;
use crate::{AbsPath, GitRemote, LinkedFile, SystemError};
use config::{Config, Difference};
use folders::Folders;
use rustix::fs::{Mode, OFlags};
use std::collections::{HashMap, HashSet};
use std::fs::{File, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The name of the directory of the bases, next to that of the copies.
const BASES: &str = "bases";

/// Addresses of remotes, each with the directory of its repository.
type Added = HashSet<(AbsPath, String)>;

/// Carries changes between originals and copies, one operation at a time.
#[derive(Debug, Default)]
pub(super) struct Controls {
    /// The changes that were not carried over, by their descriptions. Each is reported once.
    reported: Mutex<HashSet<String>>,
    folders: Mutex<Folders>,
    /// The remotes of the repositories in a directory, by it and the directory of a session's
    /// copies, as they were before the session's first command.
    remotes: Mutex<HashMap<(AbsPath, AbsPath), Vec<GitRemote>>>,
    /// The addresses of remotes that commands have added, by the directories of their repositories.
    added: Mutex<Added>,
}

impl Controls {
    /// Returns the remotes of the repositories in `roots`, as they were when a directory was first
    /// asked about for copies below `directory`. `configs` are the configurations that are there
    /// now. One that git may read differently has no remotes.
    pub(super) fn remotes(
        &self,
        roots: &[AbsPath],
        configs: &[AbsPath],
        directory: &AbsPath,
    ) -> Vec<GitRemote> {
        let mut known = self.remotes.lock().unwrap_or_else(PoisonError::into_inner);
        let added = self.added();
        let is_users = |remote: &GitRemote| !added.contains(&(remote.directory.clone(), remote.url.clone()));
        let of_root = |root: &AbsPath| {
            let remotes = known.entry((root.clone(), directory.clone())).or_insert_with(|| {
                configs
                    .iter()
                    .filter(|config| config.starts_with(root))
                    .flat_map(remotes)
                    .filter(is_users)
                    .collect()
            });
            remotes.clone()
        };
        roots.iter().flat_map(of_root).collect()
    }

    /// Returns the files of `paths` that commands change in a copy below `directory`, with their
    /// copies up to date. Files that are no regular files of a limited size with one name are left
    /// out. What earlier commands left to carry over is carried over; a line describes each change
    /// that is not.
    pub(super) fn prepare(
        &self,
        paths: &[AbsPath],
        directory: &AbsPath,
    ) -> Result<(Vec<LinkedFile>, Vec<String>), SystemError> {
        let mut reported = self.reported();
        let (mut linked, mut lines) = (Vec::new(), Vec::new());
        for path in paths {
            let Some(original) = read(path) else { continue };
            let file = LinkedFile { path: path.clone(), copy: directory.join(name(path)) };
            lines.extend(carry(&file, &mut reported, &mut self.added()));
            let original = read(path).unwrap_or(original);
            match refreshed(&file, &original) {
                None => {}
                Some(copy) => {
                    write(&file.copy, copy.as_bytes(), NEW, None)?;
                    write(&base(&file.copy), original.as_bytes(), NEW, None)?;
                }
            }
            linked.push(file);
        }
        Ok((linked, lines))
    }

    /// Carries over what commands changed. Returns a line for each change that is not carried over.
    pub(super) fn carry(&self, files: &[LinkedFile], folders: &[LinkedFile]) -> Vec<String> {
        let mut reported = self.reported();
        let mut lines = Vec::new();
        {
            let mut added = self.added();
            lines.extend(files.iter().flat_map(|file| carry(file, &mut reported, &mut added)));
        }
        let mut known = self.folders();
        lines.extend(folders.iter().flat_map(|folder| known.carry(&folder.copy, &mut reported)));
        lines
    }

    /// Returns whether the versions of the folders in `root` are known, for copies below
    /// `directory`.
    pub(super) fn knows(&self, root: &AbsPath, directory: &AbsPath) -> bool {
        self.folders().knows(root, directory)
    }

    /// Notes the versions of the folders in `root`, for copies below `directory`.
    pub(super) fn learn(
        &self,
        root: &AbsPath,
        directory: &AbsPath,
        folders: impl IntoIterator<Item = (AbsPath, Vec<Tree>)>,
    ) {
        self.folders().learn(root, directory, folders);
    }

    /// Returns the folders of `paths` that commands change in a copy below `directory`, with their
    /// copies up to date, and a line for each change that is lost. The others are left out.
    pub(super) fn prepare_folders(
        &self,
        paths: &[AbsPath],
        directory: &AbsPath,
    ) -> Result<(Vec<LinkedFile>, Vec<String>), SystemError> {
        let (mut reported, mut known) = (self.reported(), self.folders());
        let (mut linked, mut lines) = (Vec::new(), Vec::new());
        for path in paths {
            if let Some((folder, more)) = known.prepare(path, directory, &mut reported)? {
                linked.push(folder);
                lines.extend(more);
            }
        }
        Ok((linked, lines))
    }

    fn reported(&self) -> MutexGuard<'_, HashSet<String>> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn added(&self) -> MutexGuard<'_, Added> {
        self.added.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn folders(&self) -> MutexGuard<'_, Folders> {
        self.folders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the remotes that a configuration names.
fn remotes(config: &AbsPath) -> Vec<GitRemote> {
    let parsed = read(config).and_then(|text| Config::parse(&text)).unwrap_or_default();
    let Some(directory) = config.parent() else { return Vec::new() };
    let remote = |(name, url): (&str, &str)| GitRemote {
        name: name.to_owned(),
        url: url.to_owned(),
        directory: directory.clone(),
        authorization: parsed.authorization(url).map(str::to_owned),
    };
    parsed.remotes().map(remote).collect()
}

/// Returns the new content of a copy whose original is not the base any more; `None` if it is.
fn refreshed(file: &LinkedFile, original: &str) -> Option<String> {
    let parse = Config::parse;
    let (Some(base), Some(copy)) = (read(&base(&file.copy)), read(&file.copy)) else {
        return Some(original.to_owned());
    };
    match (parse(&base), parse(original), parse(&copy)) {
        (Some(base), Some(original), Some(copy)) => {
            let is_same = base.difference(&original).is_empty();
            (!is_same).then(|| original.with(&base.difference(&copy)).text())
        }
        _ => (base != original).then(|| original.to_owned()),
    }
}

/// Carries over the changes of one file, and notes the remotes among them.
fn carry(file: &LinkedFile, reported: &mut HashSet<String>, added: &mut Added) -> Vec<String> {
    let base_path = base(&file.copy);
    let (Some(base), Some(copy)) = (read(&base_path), read(&file.copy)) else { return Vec::new() };
    if base == copy {
        return Vec::new();
    }
    let (base, copy) = match (Config::parse(&base), Config::parse(&copy)) {
        (Some(base), Some(copy)) => (base, copy),
        _ => return report(&file.path, "it cannot be read here", reported),
    };
    let (harmless, others) = base.judge(&copy);
    let mut lines = Vec::new();
    if !harmless.is_empty() {
        match apply(&file.path, &harmless) {
            Ok(()) => {
                let directory = file.path.parent().unwrap_or_else(|| file.path.clone());
                added.extend(harmless.remotes().map(|url| (directory.clone(), url.to_owned())));
                if let Err(error) = write(&base_path, base.with(&harmless).text().as_bytes(), NEW, None) {
                    lines.extend(report(&file.path, &error.to_string(), reported));
                }
            }
            Err(problem) => lines.extend(report(&file.path, &problem, reported)),
        }
    }
    for setting in others.added.iter().chain(&others.removed) {
        let why = format!("git may run a program or use another place for {setting}");
        lines.extend(report(&file.path, &why, reported));
    }
    lines
}

/// Changes an original, as git does: with its lock file, which replaces it.
fn apply(path: &AbsPath, changes: &Difference) -> Result<(), String> {
    let original = read(path).ok_or("the original cannot be read")?;
    let parsed = Config::parse(&original).ok_or("the original cannot be read here")?;
    let changed = parsed.with(changes).text();
    match changed == original {
        true => Ok(()),
        false => write(path, changed.as_bytes(), LOCK, None).map_err(|error| error.to_string()),
    }
}

/// Returns a line about changes that stay in the sandbox, once.
fn report(path: &AbsPath, why: &str, reported: &mut HashSet<String>) -> Vec<String> {
    let line = format!("a change of {path} is kept for commands in the sandbox only: {why}");
    reported.insert(line.clone()).then_some(line).into_iter().collect()
}

/// Returns the name of the copy of a file.
fn name(path: &AbsPath) -> String {
    let mut hasher = DefaultHasher::new();
    path.as_str().hash(&mut hasher);
    format!("{:016x}-{}", hasher.finish(), path.file_name().unwrap_or_default())
}

/// Returns the base of a copy.
fn base(copy: &AbsPath) -> AbsPath {
    let directory = copy.parent().and_then(|copies| copies.parent()).unwrap_or_else(|| copy.clone());
    directory.join(BASES).join(copy.file_name().unwrap_or_default())
}

/// Reads a regular file of a limited size with one name, without following links.
pub(super) fn read(path: &AbsPath) -> Option<String> {
    let entry = EntryHandle::open(path, false).ok()?;
    let found = entry.regular("read").ok()??;
    let file = entry.file("read", OFlags::RDONLY).ok()?;
    let is_small = file.metadata().is_ok_and(|found| found.len() <= CONTROL_FILE_BYTES);
    let mut text = String::new();
    file.take(CONTROL_FILE_BYTES).read_to_string(&mut text).ok()?;
    (is_small && found.links == 1).then_some(text)
}

/// Replaces a file, or creates it, through a new file beside it with `suffix`, which must not
/// exist. Without `mode`, it keeps the one that it has.
fn write(path: &AbsPath, content: &[u8], suffix: &str, mode: Option<u32>) -> Result<(), SystemError> {
    let entry = EntryHandle::open(path, true)?;
    let fail = |error: rustix::io::Errno| SystemError::from_io("write", path, error.into());
    let known = || entry.regular("write").ok().flatten().map_or(0o600, |found| found.permissions & 0o777);
    let mode = mode.unwrap_or_else(known);
    let new = format!("{}{suffix}", entry.name);
    if suffix != LOCK {
        rustix::fs::unlinkat(&entry.directory, &new, rustix::fs::AtFlags::empty()).ok();
    }
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let private = Mode::from_raw_mode(0o600);
    let file = rustix::fs::openat(&entry.directory, &new, flags, private).map_err(fail)?;
    let mut file = File::from(file);
    let written = file.set_permissions(Permissions::from_mode(mode));
    let written = written.and_then(|()| file.write_all(content));
    // A copy that is lost is made again.
    let written = written.and_then(|()| if suffix == LOCK { file.sync_all() } else { Ok(()) });
    let renamed = written.map_err(|source| SystemError::from_io("write", path, source)).and_then(|()| {
        rustix::fs::renameat(&entry.directory, &new, &entry.directory, &entry.name).map_err(fail)
    });
    if renamed.is_err() {
        rustix::fs::unlinkat(&entry.directory, &new, rustix::fs::AtFlags::empty()).ok();
    }
    renamed
}

/// The suffix of git's lock files.
const LOCK: &str = ".lock";

/// The suffix of other new files. A file of the user has another one.
const NEW: &str = ".tiller-new";

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const BASE: &str = "[core]\n\tbare = false\n";

    struct Stage {
        _dir: tempfile::TempDir,
        original: AbsPath,
        copies: AbsPath,
        controls: Controls,
    }

    impl Stage {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
            let (original, copies) = (top.join("config"), top.join("own/control"));
            fs::write(original.as_std(), BASE).unwrap();
            Self { _dir: dir, original, copies, controls: Controls::default() }
        }

        fn prepare(&self) -> (Vec<LinkedFile>, Vec<String>) {
            self.controls.prepare(std::slice::from_ref(&self.original), &self.copies).unwrap()
        }

        fn original(&self) -> String {
            fs::read_to_string(self.original.as_std()).unwrap()
        }
    }

    fn append(path: &AbsPath, text: &str) {
        let before = fs::read_to_string(path.as_std()).unwrap();
        fs::write(path.as_std(), format!("{before}{text}")).unwrap();
    }

    #[test]
    fn harmless_changes_reach_the_original() {
        let stage = Stage::new();
        let (files, _) = stage.prepare();
        assert_eq!(fs::read_to_string(files[0].copy.as_std()).unwrap(), BASE);
        append(&files[0].copy, "[remote \"o\"]\n\turl = https://h/x\n[core]\n\tfsmonitor = evil\n");
        let lines = stage.controls.carry(&files, &[]);
        assert!(lines.len() == 1 && lines[0].contains("core.fsmonitor"), "{lines:?}");
        let carried = stage.original();
        assert!(carried.contains("https://h/x") && !carried.contains("evil"), "{carried}");
        assert_eq!(stage.controls.carry(&files, &[]), Vec::<String>::new(), "it is reported once");
        // The copy keeps both, and takes what the user changes.
        append(&stage.original, "[alias]\n\tst = status\n");
        stage.prepare();
        let copy = fs::read_to_string(files[0].copy.as_std()).unwrap();
        assert!(
            copy.contains("evil") && copy.contains("https://h/x") && copy.contains("st = status"),
            "{copy}"
        );
        assert!(!stage.original().contains("evil"));
    }

    #[test]
    fn a_removed_or_replaced_copy_changes_nothing() {
        let stage = Stage::new();
        let (files, _) = stage.prepare();
        let copy = files[0].copy.as_std();
        fs::remove_file(copy).unwrap();
        assert_eq!(stage.controls.carry(&files, &[]), Vec::<String>::new());
        std::os::unix::fs::symlink("/etc/passwd", copy).unwrap();
        assert_eq!(stage.controls.carry(&files, &[]), Vec::<String>::new());
        stage.prepare();
        assert_eq!(fs::read_to_string(copy).unwrap(), BASE, "it is made again");
        fs::write(copy, "[core\n").unwrap();
        assert!(stage.controls.carry(&files, &[])[0].contains("cannot be read"));
        assert_eq!(stage.original(), BASE);
    }

    #[test]
    fn a_lock_of_git_is_respected() {
        let stage = Stage::new();
        let (files, _) = stage.prepare();
        append(&files[0].copy, "[branch \"b\"]\n\tremote = .\n");
        let lock = format!("{}.lock", stage.original);
        fs::write(&lock, "").unwrap();
        assert_eq!(stage.controls.carry(&files, &[]).len(), 1);
        assert_eq!(stage.original(), BASE);
        fs::remove_file(&lock).unwrap();
        stage.prepare();
        assert!(stage.original().contains("[branch \"b\"]"), "{}", stage.original());
    }

    #[test]
    fn remotes_are_those_before_the_first_command() {
        let stage = Stage::new();
        let root = stage.original.parent().unwrap();
        append(
            &stage.original,
            "[remote \"o\"]\n\turl = https://h/x\n\tpushurl = h:x\n[submodule \"s\"]\n\turl = https://h/s\n[http \"https://h/\"]\n\textraheader = AUTHORIZATION: basic abc\n",
        );
        let configs = std::slice::from_ref(&stage.original);
        let remotes = || stage.controls.remotes(std::slice::from_ref(&root), configs, &stage.copies);
        assert_eq!(remotes()[0].authorization.as_deref(), Some("basic abc"));
        assert_eq!(remotes()[1].authorization, None);
        let found: Vec<_> = remotes().into_iter().map(|remote| (remote.name, remote.url)).collect();
        let expected = [("o", "https://h/x"), ("o", "h:x"), ("s", "https://h/s")];
        assert_eq!(found, expected.map(|(name, url)| (name.to_owned(), url.to_owned())));
        append(&stage.original, "[remote \"evil\"]\n\turl = https://h/private\n");
        assert_eq!(remotes().len(), 3);
        // Another session starts with what is there, but for what commands have added.
        let (files, _) = stage.prepare();
        append(&files[0].copy, "[remote \"bad\"]\n\turl = https://h/secret\n");
        stage.controls.carry(&files, &[]);
        assert!(stage.original().contains("https://h/secret"));
        let other = root.join("other/control");
        let found = stage.controls.remotes(std::slice::from_ref(&root), configs, &other);
        assert!(found.len() == 4 && found.iter().all(|remote| remote.name != "bad"), "{found:?}");
    }

    #[test]
    fn a_link_in_place_of_the_original_is_left_out() {
        let stage = Stage::new();
        fs::rename(stage.original.as_std(), stage.original.parent().unwrap().join("real").as_std()).unwrap();
        std::os::unix::fs::symlink("real", stage.original.as_std()).unwrap();
        assert_eq!(stage.prepare().0, Vec::new());
    }
}
