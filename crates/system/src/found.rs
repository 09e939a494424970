//! Files that are read because they lie there: nobody has named them, and no gate has decided about them.
//!
//! Instructions, settings and lists of servers of a project are read before its user has said anything. Whoever wrote the project also chose what those
//! names are: a link to a key, a pipe, a device without an end. One function reads all of them.

use crate::{AbsPath, Pins, Sandbox, System, SystemError, is_within};

/// What a file that nobody asked for has to be, to be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundRules {
    /// Whose secret and hidden files it must not be, under whatever name.
    pub secrets: Sandbox,
    /// The most bytes it may have.
    pub limit: u64,
    /// Whether its own name may be one of a secret file, because nothing of it is shown or sent: what it leads to may not.
    pub any_name: bool,
}

/// Reads a file of a folder that nobody asked for; `None` where there is none. It is a regular file, and so is what it leads to; that lies in the folder,
/// is no secret by its name or by another of its names, and is no larger than the limit. It is opened without waiting, as what it was found to be.
/// Whatever else it is, is an error that names it, and nothing of it was read.
pub async fn read_found(
    system: &dyn System,
    root: &AbsPath,
    path: &AbsPath,
    rules: &FoundRules,
) -> Result<Option<Vec<u8>>, SystemError> {
    let target = resolve_inside(system, root, path).await?;
    let secrets = &rules.secrets;
    let by_name = match rules.any_name {
        // Its folder may be written with a link in it, so it is its name that tells whether the file is one.
        true => target.file_name() != path.file_name() && secrets.is_secret(&target),
        false => secrets.is_secret(&target) || secrets.is_secret(path),
    };
    if by_name || secrets.hidden.iter().any(|folder| is_within(&target, folder)) {
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

/// Where a path of a folder leads, if that is in the folder.
pub async fn resolve_inside(
    system: &dyn System,
    root: &AbsPath,
    path: &AbsPath,
) -> Result<AbsPath, SystemError> {
    let target = system.resolve(path).await?;
    // A resolved path below the folder as it is written means that the folder is no link.
    if target.relative_to(root).is_some() || target.relative_to(&system.resolve(root).await?).is_some() {
        return Ok(target);
    }
    Err(SystemError::Outside { path: path.clone(), target })
}
