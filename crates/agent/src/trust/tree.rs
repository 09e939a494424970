//! The files of a directory that belongs to an item as a whole.

use super::files::{Covered, read_regular};
use crate::limits::{TRUST_BYTES, TRUST_DEPTH, TRUST_FILES};
use system::{AbsPath, FileKind, System, resolve_inside};

/// Returns every file of a directory, by its path relative to the project. Links are not followed;
/// where each leads belongs to the item instead.
///
/// # Errors
///
/// The message names what cannot be read, or says that there is too much of it.
pub(super) async fn all_of(
    system: &dyn System,
    project: &AbsPath,
    directory: &AbsPath,
) -> Result<Covered, String> {
    let directory = resolve_inside(system, project, directory).await.map_err(|error| error.to_string())?;
    let name = |path: &AbsPath| path.relative_to(project).unwrap_or(path.as_str()).to_owned();
    let mut covered = Covered::new();
    let (mut level, mut bytes) = (vec![directory.clone()], 0);
    for depth in 0.. {
        if depth > TRUST_DEPTH {
            return Err(format!("{} is nested too deeply", crate::one_line(&name(&level[0]))));
        }
        let mut below = Vec::new();
        for parent in &level {
            for entry in system.read_dir(parent).await.map_err(|error| error.to_string())? {
                let content = match entry.kind {
                    FileKind::Directory => {
                        below.push(entry.path);
                        continue;
                    }
                    FileKind::File => read_file(system, &entry.path, &name(&entry.path)).await?,
                    FileKind::Other => Some(link_text(system, &entry.path).await),
                };
                if let Some(content) = content {
                    bytes += content.len();
                    covered.insert(name(&entry.path), content);
                }
                if covered.len() + below.len() > TRUST_FILES || bytes > TRUST_BYTES {
                    let directory = crate::one_line(&name(&directory));
                    return Err(format!(
                        "{directory} holds more than {TRUST_FILES} files or {TRUST_BYTES} bytes"
                    ));
                }
            }
        }
        if below.is_empty() {
            break;
        }
        level = below;
    }
    Ok(covered)
}

async fn read_file(system: &dyn System, path: &AbsPath, name: &str) -> Result<Option<Vec<u8>>, String> {
    match system.metadata(path).await {
        Ok(found) => read_regular(system, path, name, &found).await,
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns what stands for a link, or for a special file, in place of its content.
async fn link_text(system: &dyn System, path: &AbsPath) -> Vec<u8> {
    let target = system.resolve(path).await;
    target.map_or_else(|error| format!("no file: {error}"), |target| format!("link: {target}")).into_bytes()
}
