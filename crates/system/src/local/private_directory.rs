//! Directories that only this user can access.

use crate::AbsPath;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::{fs, io};

/// Creates a directory and its parents, and verifies that only this user can access it and that no
/// other user can replace it.
///
/// # Errors
/// If it cannot be created, or other users could access or replace it.
pub fn create(path: &AbsPath) -> io::Result<()> {
    let user = rustix::process::geteuid().as_raw();
    let mut above: Vec<_> = std::iter::successors(path.parent(), AbsPath::parent).collect();
    above.reverse();
    for path in above.iter().chain([path]) {
        match fs::DirBuilder::new().mode(0o700).create(path.as_std()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    let safe = |path: &AbsPath| {
        let found = fs::symlink_metadata(path.as_std())?;
        let (mode, owned) = (found.mode(), [0, user].contains(&found.uid()));
        // In a sticky directory, users cannot rename the files of others.
        io::Result::Ok(found.is_dir() && owned && (mode & 0o022 == 0 || mode & 0o1000 != 0))
    };
    let found = fs::symlink_metadata(path.as_std())?;
    let mut all = above.iter().map(safe).collect::<io::Result<Vec<_>>>()?;
    all.push(found.uid() == user && found.is_dir() && found.mode() & 0o077 == 0);
    all.into_iter()
        .all(|safe| safe)
        .then_some(())
        .ok_or_else(|| io::Error::other("other users could replace it"))
}
