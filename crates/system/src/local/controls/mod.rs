//! Git's configuration as confined commands see it. A repository's configuration names programs
//! that git runs, also outside of the sandbox, and git commands change it all the time. Therefore
//! commands change a copy. Changes that name no program are carried over to the original after each
//! command; the user is asked about the others, which stay in the copy until then.
//!
//! The folders that editors obey are copies too; see `folders.rs`. Single files that they obey are
//! put back after a command that changes them; see `files.rs`.
//!
//! The copies are in a directory that commands can write to. The bases, which are the originals as
//! they were when the copies were made or last compared, are in one that they do not see.

mod config;
mod files;
mod findings;
mod folders;
mod known_versions;
mod named;
mod new_folders;
mod remembered;
mod shared_base;
mod small_file;

pub(super) use config::all_harmless;
pub(super) use files::Base;
pub(super) use folders::{SCRIPT, SCRIPT_VARIABLES, Tree, versions};
pub(super) use named::is_in_git;
pub(super) use new_folders::NewFolder;
pub(super) use remembered::{references, remember, remembered};
pub(super) use small_file::read;

use crate::{AbsPath, ControlChange, ControlPlace, GitNames, GitRemote, LinkedFile, SystemError};
use config::{Config, Difference};
use files::Files;
use findings::Findings;
use folders::{Content, Folders, Prepared};
use named::Known;
use small_file::{LOCK, NEW, name, write};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The name of the directory of the bases, next to that of the copies.
const BASES: &str = "bases";

/// Addresses of remotes, each with the directory of its repository.
type Added = HashSet<(AbsPath, String)>;

/// The files that git, editors or agents obey and that a command may change.
#[derive(Debug, Default)]
pub(super) struct Changeable {
    /// The copies of configurations of git.
    pub(super) linked: Vec<LinkedFile>,
    /// The copies of folders.
    pub(super) folders: Vec<LinkedFile>,
    /// The files that are compared.
    pub(super) bases: Vec<Arc<Base>>,
    /// The folders that do not exist.
    pub(super) new: Vec<NewFolder>,
}

/// Carries changes between originals and copies, one operation at a time.
#[derive(Debug, Default)]
pub(super) struct Controls {
    findings: Mutex<Findings>,
    folders: Mutex<Folders>,
    files: Mutex<Files>,
    /// The folders that a command that runs may create, each with the number of the first name that
    /// was free for a renamed one.
    expected: Mutex<HashMap<AbsPath, Weak<usize>>>,
    /// The remotes of the repositories in a directory, by it and the directory of a session's
    /// copies, as they were before the session's first command.
    remotes: Mutex<HashMap<(AbsPath, AbsPath), Vec<GitRemote>>>,
    /// The addresses of remotes that commands have added, by the directories of their repositories.
    added: Mutex<Added>,
    named: Mutex<Known>,
}

impl Controls {
    /// Returns what the configurations of the repositories at `roots` and around `directories`, and
    /// those of the user in `home`, name below the roots.
    pub(super) fn named(
        &self,
        roots: &[AbsPath],
        directories: &[AbsPath],
        home: Option<&AbsPath>,
    ) -> GitNames {
        let mut known = self.named.lock().unwrap_or_else(PoisonError::into_inner);
        named::named(roots, directories, home, &mut known)
    }

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
        let mut findings = self.findings();
        let (mut linked, mut lines) = (Vec::new(), Vec::new());
        for path in paths {
            let Some(original) = read(path) else { continue };
            let file = LinkedFile { path: path.clone(), copy: directory.join(name(path)) };
            lines.extend(carry(&file, directory, &mut findings, &mut self.added()));
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

    /// Carries over what the commands of a session changed that has its copies in `directory`, but
    /// for what the user decides about. Returns a line for each change that cannot be carried over.
    pub(super) fn carry(&self, directory: &AbsPath, changeable: &Changeable) -> Vec<String> {
        let Changeable { linked, folders, bases, new } = changeable;
        let mut findings = self.findings();
        let mut lines = Vec::new();
        {
            let mut added = self.added();
            let carried = linked.iter().flat_map(|file| carry(file, directory, &mut findings, &mut added));
            lines.extend(carried);
        }
        let mut known = self.folders();
        lines.extend(folders.iter().flat_map(|folder| known.carry(&folder.copy, directory, &mut findings)));
        lines.extend(bases.iter().flat_map(|base| base.compare(directory, &mut findings)));
        lines.extend(new.iter().flat_map(|folder| folder.take(directory, &mut known, &mut findings)));
        lines
    }

    /// Returns the changes that were not returned before and that a session's commands made, which
    /// has its copies in `directory`.
    pub(super) fn open_changes(&self, directory: &AbsPath) -> Vec<ControlChange> {
        self.findings().open.remove(directory).unwrap_or_default()
    }

    /// Makes a change of the original, if that still is what it was.
    pub(super) fn carry_over(&self, change: &ControlChange) -> Result<(), SystemError> {
        let now = folders::content(&change.path);
        if now.as_ref().map(|now| &now.bytes) != change.before.as_ref() {
            return Err(SystemError::Changed(change.path.clone()));
        }
        let after = Content::after(change, now.as_ref());
        match &change.place {
            ControlPlace::Linked(copy) => {
                let parsed =
                    |bytes: &Option<Vec<u8>>| Config::parse(std::str::from_utf8(bytes.as_ref()?).ok()?);
                write(&change.path, change.after.as_deref().unwrap_or_default(), LOCK, None)?;
                let known = read(&base(copy)).and_then(|text| Config::parse(&text));
                let (before, after) = (parsed(&change.before), parsed(&change.after));
                if let (Some(known), Some(before), Some(after)) = (known, before, after) {
                    let text = known.with(&before.difference(&after)).text();
                    write(&base(copy), text.as_bytes(), NEW, None)?;
                }
                Ok(())
            }
            ControlPlace::Folder(copy) => self.folders().carry_over(copy, &change.path, after),
            ControlPlace::Aside(aside) => self.files().carry_over(aside.as_ref(), &change.path, after),
        }
    }

    /// Returns the current content of files that a command changes in place, to compare it with
    /// that after the command. Those that cannot be compared are returned as they are. Processes
    /// share the contents by files in `own`.
    pub(super) fn bases(
        &self,
        paths: &[AbsPath],
        directory: &AbsPath,
        own: Option<&AbsPath>,
    ) -> (Vec<Arc<Base>>, Vec<AbsPath>) {
        self.files().bases(paths, directory, own)
    }

    /// Returns whether the versions of the folders in `root` are known, for copies below
    /// `directory`.
    pub(super) fn knows(&self, root: &AbsPath, directory: &AbsPath) -> bool {
        self.folders().knows(root, directory)
    }

    /// Notes the versions of the folders in `root`, for copies below `directory`, and those of
    /// `files` among them. Of those that were not there in the project's first session, the user's
    /// count. The files about them are in `own`, one for each root.
    pub(super) fn learn(
        &self,
        root: &AbsPath,
        directory: &AbsPath,
        files: &[AbsPath],
        folders: Vec<(AbsPath, Vec<Tree>)>,
        own: Option<&AbsPath>,
    ) {
        let folders = match own {
            Some(own) => known_versions::counting(own, root, folders),
            None => folders,
        };
        let (files, folders): (Vec<_>, Vec<_>) =
            folders.into_iter().partition(|(path, _)| files.contains(path));
        self.files().learn(directory, files);
        self.folders().learn(root, directory, folders);
    }

    /// Returns the folders of `paths` that commands change in a copy below `directory`, with their
    /// copies up to date, and those that do not exist or that a command is creating. The others are
    /// left out. A change that is lost is logged.
    pub(super) fn prepare_folders(
        &self,
        paths: &[AbsPath],
        directory: &AbsPath,
    ) -> Result<(Vec<LinkedFile>, Vec<AbsPath>), SystemError> {
        let (mut findings, mut known) = (self.findings(), self.folders());
        let (mut linked, mut missing) = (Vec::new(), Vec::new());
        for path in paths {
            if self.is_expected(path) {
                missing.push(path.clone());
                continue;
            }
            match known.prepare(path, directory, &mut findings)? {
                Prepared::Copied(folder, lines) => {
                    linked.push(folder);
                    lines.iter().for_each(|line| tracing::info!("{line}"));
                }
                Prepared::Missing => missing.push(path.clone()),
                Prepared::Guarded => {}
            }
        }
        Ok((linked, missing))
    }

    /// Notes that a command may create a folder, until what is returned is dropped. `first` is the
    /// number of the first name that is free for a renamed one; commands that run at once have the
    /// same.
    pub(super) fn expect(&self, path: &AbsPath, first: usize) -> Arc<usize> {
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        let known = expected.entry(path.clone()).or_default();
        known.upgrade().unwrap_or_else(|| {
            let new = Arc::new(first);
            *known = Arc::downgrade(&new);
            new
        })
    }

    fn is_expected(&self, path: &AbsPath) -> bool {
        let expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        expected.get(path).is_some_and(|known| known.strong_count() > 0)
    }

    fn findings(&self) -> MutexGuard<'_, Findings> {
        self.findings.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
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

/// Carries over the changes of one file, and notes the remotes among them and the changes that the
/// user decides about.
fn carry(file: &LinkedFile, directory: &AbsPath, findings: &mut Findings, added: &mut Added) -> Vec<String> {
    let base_path = base(&file.copy);
    let (Some(base), Some(copy)) = (read(&base_path), read(&file.copy)) else { return Vec::new() };
    if base == copy {
        return Vec::new();
    }
    let (base, copy) = match (Config::parse(&base), Config::parse(&copy)) {
        (Some(base), Some(copy)) => (base, copy),
        _ => return findings.report(&file.path, "it cannot be read here"),
    };
    let (harmless, others) = base.judge(&copy);
    let mut lines = Vec::new();
    if !harmless.is_empty() {
        match apply(&file.path, &harmless) {
            Ok(()) => {
                let directory = file.path.parent().unwrap_or_else(|| file.path.clone());
                added.extend(harmless.remotes().map(|url| (directory.clone(), url.to_owned())));
                if let Err(error) = write(&base_path, base.with(&harmless).text().as_bytes(), NEW, None) {
                    lines.extend(findings.report(&file.path, &error.to_string()));
                }
            }
            Err(problem) => lines.extend(findings.report(&file.path, &problem)),
        }
    }
    if others.is_empty() {
        return lines;
    }
    match read(&file.path).and_then(|original| Some((Config::parse(&original)?, original))) {
        Some((parsed, original)) => {
            let after = parsed.with(&others).text();
            findings.add(directory, (&file.path, &original, &after), || ControlChange {
                path: file.path.clone(),
                settings: others.named(),
                before: Some(original.clone().into_bytes()),
                after: Some(after.clone().into_bytes()),
                executable: false,
                place: ControlPlace::Linked(file.copy.clone()),
            });
        }
        None => lines.extend(findings.report(&file.path, "the original cannot be read here")),
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

/// Returns the base of a copy.
fn base(copy: &AbsPath) -> AbsPath {
    let directory = copy.parent().and_then(|copies| copies.parent()).unwrap_or_else(|| copy.clone());
    directory.join(BASES).join(copy.file_name().unwrap_or_default())
}

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

        fn carry(&self, files: &[LinkedFile]) -> Vec<String> {
            self.controls.carry(&self.copies, &Changeable { linked: files.to_vec(), ..Changeable::default() })
        }

        fn open(&self) -> Vec<ControlChange> {
            self.controls.open_changes(&self.copies)
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
        assert_eq!(stage.carry(&files), Vec::<String>::new());
        let open = stage.open();
        assert_eq!(open.len(), 1);
        assert_eq!(open[0].settings, [("core.fsmonitor".to_owned(), Some("evil".to_owned()))]);
        let carried = stage.original();
        assert!(carried.contains("https://h/x") && !carried.contains("evil"), "{carried}");
        stage.carry(&files);
        assert_eq!(stage.open(), [], "it is reported once");
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
    fn a_change_needs_the_original_as_it_was() {
        let stage = Stage::new();
        let (files, _) = stage.prepare();
        append(&files[0].copy, "\thooksPath = .githooks\n");
        stage.carry(&files);
        let open = stage.open();
        append(&stage.original, "[user]\n\tname = A\n");
        assert!(matches!(stage.controls.carry_over(&open[0]), Err(SystemError::Changed(_))));
        stage.prepare();
        append(&files[0].copy, "[alias]\n\tx = !evil\n");
        stage.carry(&files);
        let mut open = stage.open();
        let names: Vec<_> = open[0].settings.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["core.hookspath", "alias.x"]);
        stage.controls.carry_over(&open.remove(0)).unwrap();
        let original = stage.original();
        assert!(
            original.contains("hookspath = \".githooks\"") && original.contains("name = A"),
            "{original}"
        );
        stage.carry(&files);
        assert_eq!(stage.open(), [], "nothing is left to decide about");
        fs::write(files[0].copy.as_std(), original.replace("\tx = \"!evil\"\n", "")).unwrap();
        stage.carry(&files);
        assert_eq!(stage.open()[0].settings, [("alias.x".to_owned(), None)]);
    }

    #[test]
    fn a_removed_or_replaced_copy_changes_nothing() {
        let stage = Stage::new();
        let (files, _) = stage.prepare();
        let copy = files[0].copy.as_std();
        fs::remove_file(copy).unwrap();
        assert_eq!(stage.carry(&files), Vec::<String>::new());
        std::os::unix::fs::symlink("/etc/passwd", copy).unwrap();
        assert_eq!(stage.carry(&files), Vec::<String>::new());
        stage.prepare();
        assert_eq!(fs::read_to_string(copy).unwrap(), BASE, "it is made again");
        fs::write(copy, "[core\n").unwrap();
        assert!(stage.carry(&files)[0].contains("cannot be read"));
        assert_eq!(stage.original(), BASE);
    }

    #[test]
    fn a_lock_of_git_is_respected() {
        let stage = Stage::new();
        let (files, _) = stage.prepare();
        append(&files[0].copy, "[branch \"b\"]\n\tremote = .\n");
        let lock = format!("{}.lock", stage.original);
        fs::write(&lock, "").unwrap();
        assert_eq!(stage.carry(&files).len(), 1);
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
        stage.carry(&files);
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
