//! The folders that editors and agents obey by themselves, as confined commands see them. Commands
//! change a copy, so that git can check out other versions of the files. A change is carried over
//! to the original if a reference of the repository had the same file before the session's first
//! command; any other stays in the copy, for the session's own commands.

use super::{EntryHandle, name, report, write};
use crate::limits::{COPIED_FOLDER_BYTES, COPIED_FOLDER_FILES};
use crate::{AbsPath, LinkedFile, SystemError};
use rustix::fs::{AtFlags, OFlags};
use sha1::{Digest, Sha1};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// A file as git records it: the id of its content, and whether it is executable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::local) struct Version {
    id: String,
    executable: bool,
}

/// The files of a folder, by their paths in it.
pub(in crate::local) type Tree = BTreeMap<String, Version>;

/// The folders that commands change in a copy.
#[derive(Debug, Default)]
pub(super) struct Folders(HashMap<AbsPath, Folder>);

/// A folder and its copy.
#[derive(Debug)]
struct Folder {
    copy: AbsPath,
    /// The folder in the versions of the repository that were there before the first command.
    versions: Vec<Tree>,
    /// The original as of the last comparison.
    base: Tree,
    /// Whether the original was created, empty, as a place for the copy.
    is_placed: bool,
}

impl Drop for Folders {
    fn drop(&mut self) {
        for (path, _) in self.0.iter().filter(|(_, folder)| folder.is_placed) {
            // If something is in it, it stays.
            fs::remove_dir(path.as_std()).ok();
        }
    }
}

impl Folders {
    /// Returns whether the versions of a folder are known.
    pub(super) fn knows(&self, path: &AbsPath) -> bool {
        self.0.contains_key(path)
    }

    /// Notes the versions of a folder.
    pub(super) fn learn(&mut self, path: &AbsPath, versions: Vec<Tree>) {
        let folder = Folder { copy: path.clone(), versions, base: Tree::new(), is_placed: false };
        self.0.entry(path.clone()).or_insert(folder);
    }

    /// Brings the copy of a folder below `directory` up to date. `None` if it cannot be copied: it
    /// is too large, or has something in it that is neither a directory nor a regular file with one
    /// name.
    pub(super) fn prepare(
        &mut self,
        path: &AbsPath,
        directory: &AbsPath,
        reported: &mut HashSet<String>,
    ) -> Result<Option<(LinkedFile, Vec<String>)>, SystemError> {
        let Some(folder) = self.0.get_mut(path) else { return Ok(None) };
        let is_missing = fs::symlink_metadata(path.as_std()).is_err();
        if is_missing && folder.versions.iter().any(|tree| !tree.is_empty()) {
            // A copy needs a place, should a command check out a version that has the folder. Git
            // takes no notice of an empty one.
            folder.is_placed = fs::create_dir(path.as_std()).is_ok();
        }
        let Some(original) = tree(path) else { return Ok(None) };
        let copy = directory.join(name(path));
        let lines = match folder.copy == copy && copy.as_std().is_dir() {
            true => folder.take_over(path, original, reported)?,
            false => {
                fs::remove_dir_all(copy.as_std()).ok();
                folder.copy = copy;
                super::super::private_directory::create(&folder.copy)
                    .map_err(|source| SystemError::from_io("make", &folder.copy, source))?;
                for file in original.keys() {
                    copied(&path.join(file), &folder.copy.join(file))?;
                }
                folder.base = original;
                Vec::new()
            }
        };
        Ok(Some((LinkedFile { path: path.clone(), copy: folder.copy.clone() }, lines)))
    }

    /// Carries over what commands changed in the copy of a folder.
    pub(super) fn carry(&mut self, path: &AbsPath, reported: &mut HashSet<String>) -> Vec<String> {
        let Some(folder) = self.0.get_mut(path) else { return Vec::new() };
        folder.carry(path, reported)
    }
}

impl Folder {
    /// Takes over what others changed in the original.
    fn take_over(
        &mut self,
        path: &AbsPath,
        original: Tree,
        reported: &mut HashSet<String>,
    ) -> Result<Vec<String>, SystemError> {
        let mut lines = Vec::new();
        let copy = tree(&self.copy).unwrap_or_default();
        for file in changes(&self.base, &original) {
            if copy.get(&file) != self.base.get(&file) && copy.get(&file) != original.get(&file) {
                let why =
                    "the file was changed outside of the sandbox too, and that is what commands see now";
                lines.extend(report(&path.join(&file), why, reported));
            }
            match original.contains_key(&file) {
                true => copied(&path.join(&file), &self.copy.join(&file))?,
                false => removed(&self.copy, &file),
            }
        }
        self.base = original;
        Ok(lines)
    }

    fn carry(&mut self, path: &AbsPath, reported: &mut HashSet<String>) -> Vec<String> {
        let mut lines = Vec::new();
        let Some(copy) = tree(&self.copy) else {
            return report(path, "its copy has something in it that is not carried over", reported);
        };
        for file in changes(&self.base, &copy) {
            let (target, version) = (path.join(&file), copy.get(&file));
            let has = |version| self.versions.iter().any(|tree| tree.get(&file) == version);
            // What no reference has would be lost.
            if !has(version) || self.base.contains_key(&file) && !has(self.base.get(&file)) {
                let why = "editors and agents obey it. A file tool can change it, if the user agrees";
                lines.extend(report(&target, why, reported));
                continue;
            }
            if version_of(&target).as_ref() != self.base.get(&file) {
                lines.extend(report(&target, "the file was changed outside of the sandbox too", reported));
                continue;
            }
            let carried = match version {
                Some(_) => copied(&self.copy.join(&file), &target),
                None => {
                    removed(path, &file);
                    Ok(())
                }
            };
            match (carried, version) {
                (Ok(()), Some(version)) => drop(self.base.insert(file, version.clone())),
                (Ok(()), None) => drop(self.base.remove(&file)),
                (Err(error), _) => lines.extend(report(&target, &error.to_string(), reported)),
            }
        }
        lines
    }
}

/// Returns the files that differ.
fn changes(one: &Tree, other: &Tree) -> BTreeSet<String> {
    one.keys().chain(other.keys()).filter(|file| one.get(*file) != other.get(*file)).cloned().collect()
}

/// Reads a folder, without following links.
fn tree(top: &AbsPath) -> Option<Tree> {
    let (mut found, mut bytes) = (Tree::new(), 0);
    let mut directories = vec![String::new()];
    while let Some(directory) = directories.pop() {
        let at = if directory.is_empty() { top.clone() } else { top.join(&directory) };
        if !fs::symlink_metadata(at.as_std()).ok()?.is_dir() {
            return None;
        }
        for entry in fs::read_dir(at.as_std()).ok()? {
            let entry = entry.ok()?;
            let name = entry.file_name().into_string().ok()?;
            let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            let metadata = fs::symlink_metadata(top.join(&path).as_std()).ok()?;
            if metadata.is_dir() {
                directories.push(path);
            } else {
                bytes += metadata.size();
                if bytes > COPIED_FOLDER_BYTES || found.len() >= COPIED_FOLDER_FILES {
                    return None;
                }
                let version = version_of(&top.join(&path))?;
                found.insert(path, version);
            }
        }
    }
    Some(found)
}

/// Returns the version of a regular file with one name.
fn version_of(path: &AbsPath) -> Option<Version> {
    let (content, executable) = content(path)?;
    let mut hasher = Sha1::new();
    hasher.update(format!("blob {}\0", content.len()));
    hasher.update(&content);
    let id = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(Version { id, executable })
}

/// Reads a regular file with one name, without following links, and whether it is executable.
fn content(path: &AbsPath) -> Option<(Vec<u8>, bool)> {
    let file = EntryHandle::open(path, false).ok()?.file("read", OFlags::RDONLY).ok()?;
    let metadata = file.metadata().ok()?;
    let mut bytes = Vec::new();
    file.take(COPIED_FOLDER_BYTES).read_to_end(&mut bytes).ok()?;
    (metadata.nlink() == 1).then_some((bytes, metadata.permissions().mode() & 0o100 != 0))
}

/// Copies a file. Directories are made.
fn copied(from: &AbsPath, to: &AbsPath) -> Result<(), SystemError> {
    let (bytes, executable) = content(from).ok_or_else(|| SystemError::Moved(from.clone()))?;
    write(to, &bytes, ".new", Some(if executable { 0o755 } else { 0o644 }))
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

/// Prints, for each folder that is named, its versions in the references of a repository.
pub(in crate::local) const SCRIPT: &str = r#"
refs=$(git for-each-ref --count=1000 --sort=-creatordate --format='%(objectname)')
for folder; do
  for ref in HEAD $refs; do echo "$ref:./$folder $folder"; done
done |
  git cat-file --batch-check='%(objecttype) %(objectname) %(rest)' |
  sed 's|^[^:]*:\./\([^ ]*\) missing$|lacking - \1|' | sort -u |
  while read -r kind id folder; do
    echo "= $folder"
    [ "$kind" = tree ] && git -c core.quotePath=false ls-tree -r "$id"
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
