//! The secret files of a project, found right before the command starts.

use crate::limits::{SANDBOX_SECRET_DEPTH, SANDBOX_SECRET_ENTRIES};
use crate::{AbsPath, Sandbox};

/// Folders that are no place for a project's own secrets, and large.
const SKIPPED: [&str; 4] = [".git", "node_modules", "target", "vendor"];

/// The secret files below the writable folders, as far as a bounded search finds them: the upper levels first.
pub(super) fn find(sandbox: &Sandbox) -> Vec<AbsPath> {
    let mut found = Vec::new();
    let mut seen = 0;
    let mut folders: Vec<(AbsPath, usize)> = sandbox.writable.iter().map(|root| (root.clone(), 0)).collect();
    let mut at = 0;
    while let Some((folder, depth)) = folders.get(at).cloned() {
        at += 1;
        for entry in std::fs::read_dir(folder.as_std()).into_iter().flatten().flatten() {
            seen += 1;
            if seen > SANDBOX_SECRET_ENTRIES {
                return found;
            }
            let name = entry.file_name();
            let (Some(name), Ok(kind)) = (name.to_str(), entry.file_type()) else { continue };
            let path = folder.join(name);
            if kind.is_dir() && depth < SANDBOX_SECRET_DEPTH && !SKIPPED.contains(&name) {
                folders.push((path, depth + 1));
            } else if kind.is_file() && sandbox.is_secret(&path) {
                found.push(path);
            }
        }
    }
    found
}
