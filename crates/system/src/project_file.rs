//! Reads files that are used because they exist: no user and no tool call named them, and the
//! permission gate has not decided about them.
//!
//! Instructions, settings and server lists of a project are read before the user's first prompt.
//! The author of the project chooses what their names refer to: possibly a link to a key, a pipe or
//! an endless device. Therefore one function reads all of them.

use crate::{AbsPath, Pins, Sandbox, System, SystemError, is_within};

/// The conditions under which such a file is read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundRules {
    /// The sandbox whose secret and hidden files must not be read, under any name.
    pub secrets: Sandbox,
    /// The maximum size in bytes.
    pub limit: u64,
    /// Whether the file's own name may match a secret pattern, because its content is neither shown
    /// nor sent. The file that it links to may not.
    pub any_name: bool,
}

/// Reads a file that no user and no tool call asked for; `None` if it does not exist.
///
/// The path must resolve to a regular file inside `root` that is not secret under any of its names
/// and does not exceed the limit. The file is opened without blocking, and only if the path still
/// leads to what was checked.
///
/// # Errors
/// [`SystemError::BlockedFound`] for a secret or hidden file, [`SystemError::Outside`] for a link
/// out of `root`, [`SystemError::TooLarge`] over the limit. Anything else at the path is an error
/// that names it too. None of its content is returned.
pub async fn read_found(
    system: &dyn System,
    root: &AbsPath,
    path: &AbsPath,
    rules: &FoundRules,
) -> Result<Option<Vec<u8>>, SystemError> {
    let target = resolve_inside(system, root, path).await?;
    let secrets = &rules.secrets;
    let by_name = match rules.any_name {
        // `root` may contain a link, so a changed file name is what shows that the file is a link.
        true => target.file_name() != path.file_name() && secrets.is_secret(&target),
        false => secrets.is_secret(&target) || secrets.is_secret(path),
    };
    if by_name || secrets.secret.hidden.iter().any(|directory| is_within(&target, directory)) {
        return Err(SystemError::BlockedFound(path.clone()));
    }
    let places = vec![(path.clone(), target.clone())];
    let pinned = system.pinned(Pins { places, secrets: secrets.clone() });
    let too_large = |size| SystemError::TooLarge { path: path.clone(), size, limit: rules.limit };
    let read = match &pinned {
        Some(pinned) => pinned.read(path).await,
        None => system.read(&target).await,
    };
    match read {
        Ok(bytes) if bytes.len() as u64 > rules.limit => Err(too_large(bytes.len() as u64)),
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// Resolves a path, and fails with [`SystemError::Outside`] if it leads out of `root`.
pub async fn resolve_inside(
    system: &dyn System,
    root: &AbsPath,
    path: &AbsPath,
) -> Result<AbsPath, SystemError> {
    let target = system.resolve(path).await?;
    // If the resolved path lies below `root` as it is spelled, `root` contains no link.
    if target.relative_to(root).is_some() || target.relative_to(&system.resolve(root).await?).is_some() {
        return Ok(target);
    }
    Err(SystemError::Outside { path: path.clone(), target })
}
