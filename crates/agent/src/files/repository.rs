//! The root of the repository that contains a directory.

use crate::limits::PARENT_FOLDERS;
use system::{AbsPath, System};

/// Returns a directory and its parents, nearest first.
fn upwards(folder: &AbsPath) -> Vec<AbsPath> {
    std::iter::successors(Some(folder.clone()), AbsPath::parent).take(PARENT_FOLDERS).collect()
}

/// Returns the root of the repository that contains a directory. Directories `shared` by all
/// programs do not count: any program may create a `.git` there.
pub async fn repository(system: &dyn System, folder: &AbsPath, shared: &[AbsPath]) -> Option<AbsPath> {
    let mut folders = upwards(folder);
    folders.retain(|folder| !shared.contains(folder));
    let marks: Vec<_> = folders.iter().map(|folder| folder.join(".git")).collect();
    let found = system.metadata_of(&marks).await.iter().position(Result::is_ok)?;
    Some(folders[found].clone())
}
