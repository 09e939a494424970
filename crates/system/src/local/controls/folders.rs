//! The folders that editors and agents obey by themselves, as confined commands see them. Commands
//! change a copy, so that git can check out other versions of the files. A change is carried over
//! to the original if a reference of the repository had the same file before the session's first
//! command. The user decides about any other, which is in the copy until then.

use super::findings::Findings;
use super::small_file::{NEW, name, write};
use crate::limits::{COPIED_FOLDER_BYTES, COPIED_FOLDER_FILES};
use crate::local::entry::EntryHandle;
use crate::path::text_of;
use crate::text::hexadecimal;
use crate::{AbsPath, ControlChange, ControlPlace, FileStamp, LinkedFile, SystemError};
use rustix::fs::{AtFlags, OFlags};
use sha1::{Digest, Sha1};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::hash::{Hash, Hasher};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// A file as git records it: the id of its content, and whether it is executable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(in crate::local) struct Version {
    pub(super) id: String,
    pub(super) executable: bool,
}

/// The files of a folder, by their paths in it. A single file has an empty one.
pub(in crate::local) type Tree = BTreeMap<String, Version>;

/// The versions of files as they were read, with the stamps that the files had before.
type Seen = HashMap<AbsPath, (FileStamp, Version)>;

/// The folders that commands change in a copy, by their copies: each session has one of its own.
#[derive(Debug, Default)]
pub(super) struct Folders {
    folders: HashMap<AbsPath, Folder>,
    /// The directories of which the versions of all folders are known, with those for the copies.
    learned: HashSet<(AbsPath, AbsPath)>,
}

/// A folder.
#[derive(Debug)]
struct Folder {
    path: AbsPath,
    /// The folder in the versions of the repository that were there before the first command.
    versions: Vec<Tree>,
    /// The original as of the last comparison.
    base: Tree,
    /// The files of the original and of the copy.
    seen: Seen,
    /// Whether the copy has been made.
    is_copied: bool,
    /// Whether the original was created, empty, as a place for the copy.
    is_placed: bool,
}

/// A folder before a command.
#[derive(Debug)]
pub(super) enum Prepared {
    /// Commands change its copy. Each line says what could not be carried over.
    Copied(LinkedFile, Vec<String>),
    Missing,
    /// It cannot be copied: it is too large, or has something in it that is neither a directory nor
    /// a regular file with one name.
    Guarded,
}

impl Drop for Folders {
    fn drop(&mut self) {
        for folder in self.folders.values().filter(|folder| folder.is_placed) {
            // If something is in it, it stays.
            fs::remove_dir(folder.path.as_std()).ok();
        }
    }
}

impl Folders {
    /// Returns whether the versions of the folders in `root` are known, for copies below
    /// `directory`.
    pub(super) fn knows(&self, root: &AbsPath, directory: &AbsPath) -> bool {
        self.learned.contains(&(root.clone(), directory.clone()))
    }

    /// Notes the versions of the folders in `root`, for copies below `directory`.
    pub(super) fn learn(
        &mut self,
        root: &AbsPath,
        directory: &AbsPath,
        folders: impl IntoIterator<Item = (AbsPath, Vec<Tree>)>,
    ) {
        self.learned.insert((root.clone(), directory.clone()));
        let exists = |path: &AbsPath| fs::symlink_metadata(path.as_std()).is_ok();
        for (path, versions) in folders.into_iter().filter(|(path, trees)| !trees.is_empty() || exists(path))
        {
            let copy = directory.join(name(&path));
            self.folders.entry(copy).or_insert_with(|| Folder::new(&path, versions));
        }
    }

    /// Brings the copy of a folder below `directory` up to date.
    pub(super) fn prepare(
        &mut self,
        path: &AbsPath,
        directory: &AbsPath,
        findings: &mut Findings,
    ) -> Result<Prepared, SystemError> {
        let copy = self.copy_of(path, directory);
        let is_missing = fs::symlink_metadata(path.as_std()).is_err();
        if is_missing && !self.folders.contains_key(&copy) {
            return Ok(Prepared::Missing);
        }
        // The repository has no version of a folder that was not there at first.
        let folder = self.folders.entry(copy.clone()).or_insert_with(|| Folder::new(path, Vec::new()));
        if is_missing && (folder.is_copied || folder.versions.iter().any(|tree| !tree.is_empty())) {
            // A copy needs a place: commands have created the folder, or check out a version that
            // has it. Git takes no notice of an empty one.
            folder.is_placed = fs::create_dir(path.as_std()).is_ok();
        }
        if is_missing && !folder.is_placed {
            return Ok(Prepared::Missing);
        }
        let Some(original) = tree(path, &mut folder.seen) else { return Ok(Prepared::Guarded) };
        let lines = match folder.is_copied && copy.as_std().is_dir() {
            true => folder.take_over(&copy, original, findings)?,
            false => {
                fs::remove_dir_all(copy.as_std()).ok();
                super::super::private_directory::create(&copy)
                    .map_err(|source| SystemError::from_io("make", &copy, source))?;
                folder.base = Tree::new();
                for (file, version) in original {
                    if copied(&path.join(&file), &copy.join(&file))? {
                        folder.base.insert(file, version);
                    }
                }
                folder.is_copied = true;
                Vec::new()
            }
        };
        Ok(Prepared::Copied(LinkedFile { path: path.clone(), copy }, lines))
    }

    /// Returns the copy of a folder, of a session with its copies in `directory`.
    pub(super) fn copy_of(&self, path: &AbsPath, directory: &AbsPath) -> AbsPath {
        directory.join(name(path))
    }

    /// Moves the files of a renamed folder into the copy of the one that it was.
    ///
    /// # Errors
    /// The reason, if it stays where it is: it is too large, or has something in it that is neither
    /// a directory nor a regular file with one name.
    pub(super) fn adopt(
        &mut self,
        path: &AbsPath,
        aside: &AbsPath,
        directory: &AbsPath,
    ) -> Result<(), String> {
        let files = tree(aside, &mut Seen::new());
        let files = files.ok_or("it is too large, or has something in it that is not copied")?;
        let copy = self.copy_of(path, directory);
        let folder = self.folders.entry(copy.clone()).or_insert_with(|| Folder::new(path, Vec::new()));
        if !folder.is_copied {
            super::super::private_directory::create(&copy).map_err(|error| error.to_string())?;
            folder.is_copied = true;
        }
        // The launcher has put an empty directory in its place.
        folder.is_placed |= fs::read_dir(path.as_std()).is_ok_and(|mut entries| entries.next().is_none());
        for file in files.keys() {
            copied(&aside.join(file), &copy.join(file)).map_err(|error| error.to_string())?;
        }
        let entry = EntryHandle::open(aside, false).map_err(|error| error.to_string())?;
        entry.remove().map_err(|error| error.to_string())
    }

    /// Carries over what commands changed in a copy, but for what the user decides about.
    pub(super) fn carry(
        &mut self,
        copy: &AbsPath,
        directory: &AbsPath,
        findings: &mut Findings,
    ) -> Vec<String> {
        let Some(folder) = self.folders.get_mut(copy).filter(|folder| folder.is_copied) else {
            return Vec::new();
        };
        folder.carry(copy, directory, findings)
    }

    /// Changes the original of a file in a copy.
    pub(super) fn carry_over(
        &mut self,
        copy: &AbsPath,
        path: &AbsPath,
        after: Option<Content>,
    ) -> Result<(), SystemError> {
        let found = self.folders.iter_mut().find_map(|(at, folder)| Some((copy.relative_to(at)?, folder)));
        let (file, folder) = found.ok_or_else(|| SystemError::Changed(path.clone()))?;
        match after {
            Some(content) => {
                content.write_to(path)?;
                folder.base.insert(file.to_owned(), content.version());
            }
            None => {
                removed(&folder.path, file);
                folder.base.remove(file);
            }
        }
        Ok(())
    }
}

impl Folder {
    fn new(path: &AbsPath, versions: Vec<Tree>) -> Self {
        Self {
            path: path.clone(),
            versions,
            base: Tree::new(),
            seen: Seen::new(),
            is_copied: false,
            is_placed: false,
        }
    }

    /// Takes over what others changed in the original.
    fn take_over(
        &mut self,
        at: &AbsPath,
        original: Tree,
        findings: &mut Findings,
    ) -> Result<Vec<String>, SystemError> {
        let (path, mut lines) = (self.path.clone(), Vec::new());
        if original == self.base {
            return Ok(lines);
        }
        let copy = tree(at, &mut self.seen).unwrap_or_default();
        for file in changes(&self.base, &original) {
            if copy.get(&file) != self.base.get(&file) && copy.get(&file) != original.get(&file) {
                let why =
                    "the file was changed outside of the sandbox too, and that is what commands see now";
                lines.extend(findings.report(&path.join(&file), why));
            }
            match original.contains_key(&file) {
                // One that has gone meanwhile is found missing before the next command.
                true => drop(copied(&path.join(&file), &at.join(&file))?),
                false => removed(at, &file),
            }
        }
        self.base = original;
        Ok(lines)
    }

    fn carry(&mut self, at: &AbsPath, directory: &AbsPath, findings: &mut Findings) -> Vec<String> {
        let (path, mut lines) = (self.path.clone(), Vec::new());
        let Some(copy) = tree(at, &mut self.seen) else {
            return findings.report(&path, "its copy has something in it that is not carried over");
        };
        for file in changes(&self.base, &copy) {
            let (target, place) = (path.join(&file), at.join(&file));
            let (version, before) = (copy.get(&file), self.base.get(&file));
            let has = |version| self.versions.iter().any(|tree| tree.get(&file) == version);
            // Content that no reference has would be lost.
            if !has(version) || before.is_some() && !has(before) {
                findings.add(directory, (&place, version, before), || {
                    let after = version.and_then(|_| content(&place));
                    ControlChange {
                        path: target.clone(),
                        settings: Vec::new(),
                        before: content(&target).map(|content| content.bytes),
                        executable: after.as_ref().is_some_and(Content::is_executable),
                        after: after.map(|content| content.bytes),
                        place: ControlPlace::Folder(place.clone()),
                    }
                });
                continue;
            }
            let read = version.and_then(|_| content(&place));
            // A command has changed it meanwhile. It is compared again after the next one.
            if read.as_ref().map(Content::version).as_ref() != version {
                continue;
            }
            if version_of(&target).as_ref() != before {
                lines.extend(findings.report(&target, "the file was changed outside of the sandbox too"));
                continue;
            }
            let carried = match &read {
                Some(content) => content.write_to(&target),
                None => {
                    removed(&path, &file);
                    Ok(())
                }
            };
            let version = version.cloned();
            match (carried, version) {
                (Ok(()), Some(version)) => drop(self.base.insert(file, version)),
                (Ok(()), None) => drop(self.base.remove(&file)),
                (Err(error), _) => lines.extend(findings.report(&target, &error.to_string())),
            }
        }
        lines
    }
}

/// Returns the files that differ.
fn changes(one: &Tree, other: &Tree) -> BTreeSet<String> {
    one.keys().chain(other.keys()).filter(|file| one.get(*file) != other.get(*file)).cloned().collect()
}

/// Reads a folder, without following links. A file that has not changed since it was seen is not
/// read again. `None` if the folder is not there, or has something in it that is not copied.
pub(super) fn tree(top: &AbsPath, seen: &mut Seen) -> Option<Tree> {
    let (mut found, mut bytes) = (Tree::new(), 0);
    if seen.len() > 4 * COPIED_FOLDER_FILES {
        seen.clear();
    }
    let mut directories = vec![String::new()];
    while let Some(directory) = directories.pop() {
        let at = if directory.is_empty() { top.clone() } else { top.join(&directory) };
        // Another program may remove it meanwhile.
        if at != *top && is_gone(&at) {
            continue;
        }
        if !fs::symlink_metadata(at.as_std()).ok()?.is_dir() {
            return None;
        }
        for entry in fs::read_dir(at.as_std()).ok()? {
            let entry = entry.ok()?;
            let name = text_of(&entry.file_name());
            let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            let file = top.join(&path);
            let metadata = match fs::symlink_metadata(file.as_std()) {
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                found => found.ok()?,
            };
            if metadata.is_dir() {
                directories.push(path);
            } else {
                bytes += metadata.size();
                if bytes > COPIED_FOLDER_BYTES || found.len() >= COPIED_FOLDER_FILES {
                    return None;
                }
                let stamp = FileStamp::of(&file);
                let known = seen.get(&file).filter(|(known, _)| metadata.is_file() && *known == stamp);
                let version = match known {
                    Some((_, version)) => version.clone(),
                    None => match version_of(&file) {
                        None if is_gone(&file) => continue,
                        read => read?,
                    },
                };
                if stamp.is_settled() {
                    seen.insert(file, (stamp, version.clone()));
                }
                found.insert(path, version);
            }
        }
    }
    Some(found)
}

fn is_gone(path: &AbsPath) -> bool {
    fs::symlink_metadata(path.as_std()).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// The content of a file, and its permission bits.
#[derive(Debug, Clone)]
pub(super) struct Content {
    pub(super) bytes: Vec<u8>,
    pub(super) mode: u32,
}

impl PartialEq for Content {
    /// As git compares files.
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes && self.is_executable() == other.is_executable()
    }
}

impl Hash for Content {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.bytes, self.is_executable()).hash(state);
    }
}

impl Content {
    /// Returns the content of a file after a change of `now`. It keeps the permissions of those who
    /// may read it.
    pub(super) fn after(change: &ControlChange, now: Option<&Self>) -> Option<Self> {
        let mode = now.map_or(0o644, |now| now.mode);
        let mode = if change.executable { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
        change.after.clone().map(|bytes| Self { bytes, mode })
    }

    pub(super) fn is_executable(&self) -> bool {
        self.mode & 0o100 != 0
    }

    fn version(&self) -> Version {
        Version { id: self.id(), executable: self.is_executable() }
    }

    /// Returns the id that git gives the content.
    pub(super) fn id(&self) -> String {
        let mut hasher = Sha1::new();
        hasher.update(format!("blob {}\0", self.bytes.len()));
        hasher.update(&self.bytes);
        hexadecimal(hasher.finalize())
    }

    /// Replaces a file, or creates it with its directories.
    pub(super) fn write_to(&self, path: &AbsPath) -> Result<(), SystemError> {
        write(path, &self.bytes, NEW, Some(self.mode))
    }
}

/// Returns the version of a regular file with one name.
fn version_of(path: &AbsPath) -> Option<Version> {
    Some(content(path)?.version())
}

/// Reads a regular file of a limited size with one name, without following links.
pub(super) fn content(path: &AbsPath) -> Option<Content> {
    let file = EntryHandle::open(path, false).ok()?.file("read", OFlags::RDONLY).ok()?;
    let metadata = file.metadata().ok()?;
    let mut bytes = Vec::new();
    file.take(COPIED_FOLDER_BYTES + 1).read_to_end(&mut bytes).ok()?;
    let is_small = bytes.len() as u64 <= COPIED_FOLDER_BYTES;
    let mode = metadata.permissions().mode() & 0o777;
    (is_small && metadata.nlink() == 1).then_some(Content { bytes, mode })
}

/// Copies a file. Directories are made. Returns `false` if the file has gone.
fn copied(from: &AbsPath, to: &AbsPath) -> Result<bool, SystemError> {
    match content(from) {
        Some(content) => content.write_to(to).map(|()| true),
        None if is_gone(from) => Ok(false),
        None => Err(SystemError::Moved(from.clone())),
    }
}

/// Removes a file of a folder, and directories that are empty then.
fn removed(top: &AbsPath, file: &str) {
    let mut path = top.join(file);
    let mut flags = AtFlags::empty();
    while &path != top {
        let Ok(entry) = EntryHandle::open(&path, false) else { return };
        if rustix::fs::unlinkat(&entry.directory, &entry.name, flags).is_err() {
            return;
        }
        let Some(parent) = path.parent() else { return };
        (path, flags) = (parent, AtFlags::REMOVEDIR);
    }
}

/// Prints, for each folder or file that is named, its versions in the references of a repository.
pub(in crate::local) const SCRIPT: &str = r#"
refs=$(git for-each-ref --count=1000 --format='%(objectname)' refs/heads refs/remotes refs/stash refs/tags)
for folder; do
  for ref in HEAD $refs; do echo "$ref:./$folder $folder"; done
done |
  git cat-file --batch-check='%(objecttype) %(objectname) %(rest)' |
  sed 's|^[^:]*:\./\([^ ]*\) missing$|lacking - \1|' | sort -u |
  while read -r kind id folder; do
    echo "= $folder"
    [ "$kind" = tree ] && git -c core.quotePath=false ls-tree -r "$id"
    [ "$kind" = blob ] && printf '100644 blob %s\t\n' "$id"
  done
"#;

/// Variables by which git reads what is there, and nothing else.
pub(in crate::local) const SCRIPT_VARIABLES: [(&str, &str); 3] =
    [("GIT_NO_LAZY_FETCH", "1"), ("GIT_NO_REPLACE_OBJECTS", "1"), ("GIT_OPTIONAL_LOCKS", "0")];

/// Reads what [`SCRIPT`] prints.
pub(in crate::local) fn versions(output: &str) -> HashMap<String, Vec<Tree>> {
    let mut all = HashMap::<String, Vec<Tree>>::new();
    let mut current = None;
    for line in output.lines() {
        if let Some(folder) = line.strip_prefix("= ") {
            let trees = all.entry(folder.to_owned()).or_default();
            trees.push(Tree::new());
            current = trees.last_mut();
        } else if let (Some(tree), Some((about, path))) = (&mut current, line.split_once('\t')) {
            let mut about = about.split(' ');
            let (Some(mode), Some("blob"), Some(id)) = (about.next(), about.next(), about.next()) else {
                continue;
            };
            if matches!(mode, "100644" | "100755") {
                tree.insert(path.to_owned(), Version { id: id.to_owned(), executable: mode == "100755" });
            }
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn a_change_with_the_old_time_is_seen() {
        let dir = tempfile::tempdir().unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        let file = top.join("f");
        let write = |text: &str| {
            fs::write(file.as_std(), text).unwrap();
            let opened = fs::File::options().write(true).open(file.as_std()).unwrap();
            opened.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        };
        let mut seen = Seen::new();
        write("one");
        let one = tree(&top, &mut seen).unwrap();
        // A file that has changed a moment ago is not relied on.
        assert!(seen.is_empty());
        while seen.is_empty() {
            assert_eq!(tree(&top, &mut seen).unwrap(), one);
        }
        assert_eq!(tree(&top, &mut seen).unwrap(), one);
        write("two");
        assert_ne!(tree(&top, &mut seen).unwrap(), one);
        fs::hard_link(file.as_std(), top.join("g").as_std()).unwrap();
        assert_eq!(tree(&top, &mut seen), None);
    }
}
