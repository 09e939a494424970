//! Directories that only this user can access.

use crate::AbsPath;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Creates a directory and its parents, and verifies that only this user can access it and that no
/// other user can replace it.
///
/// # Errors
/// If it cannot be created, or other users could access or replace it. The error names the
/// directory that they could change.
pub fn create(path: &AbsPath) -> io::Result<()> {
    let mut above: Vec<_> = std::iter::successors(path.parent(), AbsPath::parent).collect();
    above.reverse();
    for path in above.iter().chain([path]) {
        match fs::DirBuilder::new().mode(0o700).create(path.as_std()) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    for above in &above {
        let found = fs::symlink_metadata(above.as_std())?;
        // In a sticky directory, users cannot rename the files of others.
        let is_closed = found.mode() & 0o022 == 0 || found.mode() & 0o1000 != 0;
        expect(above, &found, found.uid() == 0 || is_own(&found), is_closed)?;
    }
    let found = fs::symlink_metadata(path.as_std())?;
    expect(path, &found, is_own(&found), found.mode() & 0o077 == 0)
}

fn is_own(found: &Metadata) -> bool {
    found.uid() == rustix::process::geteuid().as_raw()
}

fn expect(path: &AbsPath, found: &Metadata, is_trusted: bool, is_closed: bool) -> io::Result<()> {
    let (owner, mode) = (found.uid(), found.mode() & 0o7777);
    let problem = match (found.is_dir(), is_trusted, is_closed) {
        (true, true, true) => return Ok(()),
        (false, ..) => "it is not a directory".to_owned(),
        (_, false, _) => format!("it belongs to the user {owner}"),
        (_, _, false) => format!("other users can access it (mode {mode:o})"),
    };
    Err(io::Error::other(format!("{path} is not private: {problem}; remove it or make it private")))
}

/// Returns the path of this user's directory with a name in a directory that all users share. If
/// another user has taken the name, it is a directory of this user whose name begins with it, which
/// is created if there is none.
pub(super) fn in_shared(shared: &Path, name: &str) -> PathBuf {
    let is_usable =
        |path: &Path| fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && is_own(&found));
    let plain = shared.join(name);
    if fs::symlink_metadata(&plain).is_err() || is_usable(&plain) {
        return plain;
    }
    let prefix = format!("{name}-");
    let entries = fs::read_dir(shared).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(&prefix));
    let made = || {
        let mut private = tempfile::Builder::new();
        private.permissions(fs::Permissions::from_mode(0o700)).prefix(&prefix);
        private.tempdir_in(shared).ok().map(tempfile::TempDir::keep)
    };
    named.map(|entry| entry.path()).filter(|path| is_usable(path)).min().or_else(made).unwrap_or(plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_taken_name_gives_another_directory() {
        let (shared, theirs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let free = in_shared(shared.path(), "own");
        assert_eq!(free, shared.path().join("own"));
        fs::create_dir(&free).unwrap();
        assert_eq!(in_shared(shared.path(), "own"), free);
        fs::remove_dir(&free).unwrap();
        symlink(theirs.path(), &free).unwrap();
        let other = in_shared(shared.path(), "own");
        assert!(other.is_dir() && other.to_str().unwrap().contains("/own-"), "{}", other.display());
        assert_eq!(fs::metadata(&other).unwrap().mode() & 0o077, 0);
        assert_eq!(in_shared(shared.path(), "own"), other);
    }

    #[test]
    fn an_error_names_the_directory_and_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        let dir = AbsPath::from_os(dir.path()).unwrap();
        create(&dir.join("a/b")).unwrap();
        fs::set_permissions(dir.join("a").as_std(), fs::Permissions::from_mode(0o777)).unwrap();
        let said = create(&dir.join("a/b")).unwrap_err().to_string();
        assert_eq!(
            said,
            format!(
                "{dir}/a is not private: other users can access it (mode 777); remove it or make it private"
            )
        );
        symlink("/tmp", dir.join("link").as_std()).unwrap();
        let said = create(&dir.join("link")).unwrap_err().to_string();
        assert!(said.contains("link is not private: it is not a directory"), "{said}");
    }
}
