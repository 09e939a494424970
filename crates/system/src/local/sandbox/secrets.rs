//! The secret files of a project, found right before the command starts.

use crate::limits::{SANDBOX_SECRET_DEPTH, SANDBOX_SECRET_ENTRIES};
use crate::{AbsPath, Sandbox};
use std::collections::HashSet;
use std::os::unix::fs::MetadataExt;

/// Folders that are no place for a project's own secrets, and large.
const SKIPPED: [&str; 4] = [".git", "node_modules", "target", "vendor"];

/// Below a hidden folder files are looked for no deeper.
const HIDDEN_DEPTH: usize = 2;

/// The secret files below the writable folders, as far as a bounded search finds them: the upper levels first. A file that is the same as a
/// secret or hidden one, by a hard link, is one of them.
#[cfg(target_os = "linux")]
pub(super) fn find(sandbox: &Sandbox) -> Vec<AbsPath> {
    let (mut found, mut others) = (Vec::new(), Vec::new());
    search(&sandbox.writable, SANDBOX_SECRET_DEPTH, |path| match sandbox.is_secret(&path) {
        true => found.push(path),
        false => others.push(path),
    });
    let linked = |path: &AbsPath| identity(path).filter(|(_, names)| *names > 1).map(|(id, _)| id);
    let shared: HashSet<_> = found.iter().filter_map(linked).chain(hidden(sandbox)).collect();
    if !shared.is_empty() {
        found.extend(others.into_iter().filter(|path| linked(path).is_some_and(|id| shared.contains(&id))));
    }
    found
}

/// The secret and hidden files, by device and number.
pub(in super::super) fn files(sandbox: &Sandbox) -> HashSet<(u64, u64)> {
    let mut ids: HashSet<_> = hidden(sandbox).collect();
    search(&sandbox.writable, SANDBOX_SECRET_DEPTH, |path| {
        if sandbox.is_secret(&path) {
            ids.extend(identity(&path).map(|(id, _)| id));
        }
    });
    ids
}

/// The hidden files that have another name.
fn hidden(sandbox: &Sandbox) -> impl Iterator<Item = (u64, u64)> {
    let mut files: Vec<_> = sandbox.hidden.iter().filter(|path| path.as_std().is_file()).cloned().collect();
    search(&sandbox.hidden, HIDDEN_DEPTH, |path| files.push(path));
    files.into_iter().filter_map(|path| identity(&path)).filter(|(_, names)| *names > 1).map(|(id, _)| id)
}

/// A file's device and number, and how many names it has.
fn identity(path: &AbsPath) -> Option<((u64, u64), u64)> {
    let found = std::fs::symlink_metadata(path.as_std()).ok()?;
    Some(((found.dev(), found.ino()), found.nlink()))
}

/// Every regular file below folders, the upper levels first, within bounds.
fn search(roots: &[AbsPath], most: usize, mut each: impl FnMut(AbsPath)) {
    let mut seen = 0;
    let mut folders: Vec<(AbsPath, usize)> = roots.iter().map(|root| (root.clone(), 0)).collect();
    let mut at = 0;
    while let Some((folder, depth)) = folders.get(at).cloned() {
        at += 1;
        for entry in std::fs::read_dir(folder.as_std()).into_iter().flatten().flatten() {
            seen += 1;
            if seen > SANDBOX_SECRET_ENTRIES {
                return;
            }
            let name = entry.file_name();
            let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else { continue };
            let path = folder.join(name);
            if kind.is_dir() && depth < most && !SKIPPED.contains(&name) {
                folders.push((path, depth + 1));
            } else if kind.is_file() {
                each(path);
            }
        }
    }
}
