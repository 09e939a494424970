//! Replacing a file's content so that a reader sees the old or the new, never a mixture.

use super::files::{expect_regular, resolve};
use super::read::{self, has_bom};
use crate::text::encode;
use crate::{AbsPath, SystemError};
use std::fs::{self, File, Metadata, OpenOptions, Permissions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};

/// The mode of a new file, before the umask.
const NEW_FILE_MODE: u32 = 0o666;

/// Replaces text: folders are created, the byte-order mark is kept.
pub(super) fn text(path: &AbsPath, text: &str) -> Result<(), SystemError> {
    let target = resolve(path)?;
    let existing = existing(&target)?;
    let had_bom = existing.is_some() && has_bom(&target)?;
    if existing.is_none()
        && let Some(parent) = target.parent()
    {
        fs::create_dir_all(parent.as_std()).map_err(|source| fail(&parent, source))?;
    }
    write(&target, existing.as_ref(), &encode(text, had_bom))
}

/// Replaces bytes; the folder must exist.
pub(super) fn bytes(path: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
    let target = resolve(path)?;
    let existing = existing(&target)?;
    write(&target, existing.as_ref(), bytes)
}

/// The regular file that is to be replaced, if there is one.
fn existing(target: &AbsPath) -> Result<Option<Metadata>, SystemError> {
    match fs::symlink_metadata(target.as_std()) {
        Ok(found) => expect_regular(target, &found).map(|()| Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(fail(target, error)),
    }
}

fn write(target: &AbsPath, existing: Option<&Metadata>, bytes: &[u8]) -> Result<(), SystemError> {
    if existing.is_some() {
        // A rename needs the folder's permission only: without this, a file that is read-only would be replaced.
        rustix::fs::access(target.as_std(), rustix::fs::Access::WRITE_OK)
            .map_err(|source| fail(target, source.into()))?;
    }
    match existing {
        Some(found) if found.nlink() > 1 => in_place(target, bytes),
        _ => by_rename(target, existing, bytes).map_err(|source| fail(target, source)),
    }
}

/// A new file beside the old one takes its name. Dropping the temporary file removes it, on whatever failure.
fn by_rename(target: &AbsPath, existing: Option<&Metadata>, bytes: &[u8]) -> io::Result<()> {
    let folder = target.parent().ok_or(io::ErrorKind::IsADirectory)?;
    let mut builder = tempfile::Builder::new();
    builder.prefix(".tiller-").suffix(".tmp");
    if existing.is_none() {
        builder.permissions(Permissions::from_mode(NEW_FILE_MODE));
    }
    let mut temporary = builder.tempfile_in(folder.as_std())?;
    temporary.write_all(bytes)?;
    if let Some(found) = existing {
        keep_owner_and_mode(temporary.as_file(), found)?;
    }
    temporary.as_file().sync_data()?;
    temporary.persist(target.as_std()).map_err(|error| error.error)?;
    Ok(())
}

/// The owner first: a change of owner takes the set-user bits off.
fn keep_owner_and_mode(file: &File, found: &Metadata) -> io::Result<()> {
    let now = file.metadata()?;
    if (now.uid(), now.gid()) != (found.uid(), found.gid()) {
        // Only root may give a file away, but a member may give it to a group.
        if let Err(error) = fchown(file, Some(found.uid()), Some(found.gid()))
            .or_else(|_| fchown(file, None, Some(found.gid())))
        {
            tracing::debug!(%error, "the owner of a replaced file could not be kept");
        }
    }
    file.set_permissions(found.permissions())
}

/// A file with several names is written where it is, because a rename would part the names. This is not atomic for a reader, but
/// when it fails the old content is written back.
fn in_place(target: &AbsPath, bytes: &[u8]) -> Result<(), SystemError> {
    let before = read::bytes(target)?;
    let mut file =
        OpenOptions::new().write(true).open(target.as_std()).map_err(|source| fail(target, source))?;
    overwrite(&mut file, bytes).map_err(|source| {
        if let Err(error) = overwrite(&mut file, &before) {
            tracing::error!(path = %target, %error, "a failed write could not be undone");
        }
        fail(target, source)
    })
}

fn overwrite(file: &mut File, bytes: &[u8]) -> io::Result<()> {
    file.seek(SeekFrom::Start(0))?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_data()
}

fn fail(path: &AbsPath, source: io::Error) -> SystemError {
    SystemError::from_io("write", path, source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rename_that_fails_leaves_no_temporary_file() {
        let folder = tempfile::tempdir().unwrap();
        let target = AbsPath::from_os(&folder.path().join("taken")).unwrap();
        fs::create_dir(target.as_std()).unwrap();
        by_rename(&target, None, b"x").unwrap_err();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_write_in_place_shortens_and_lengthens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, "old and longer").unwrap();
        let mut file = OpenOptions::new().write(true).open(&path).unwrap();
        overwrite(&mut file, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
        overwrite(&mut file, b"old and longer").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old and longer");
    }
}
