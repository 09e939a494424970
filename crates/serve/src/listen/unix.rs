//! The Unix socket: only this user, and users whom the settings name, reach it.

use super::ListenError;
use crate::limits::SOCKET_CONNECT_WAIT;
use rustix::fs::Mode;
use std::{
    io,
    path::{Path, PathBuf},
};
use tokio::{
    net::{UnixListener, UnixStream},
    time::timeout,
};

/// A socket's file, which is removed when the listener is dropped, unless another server has
/// replaced it.
pub(crate) struct SocketFile {
    path: PathBuf,
    identity: Option<String>,
}

impl SocketFile {
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.identity.is_some() && identity(&self.path) == self.identity {
            // It may be gone already.
            let _ = rustix::fs::unlink(&self.path);
        }
    }
}

/// Binds a socket with mode 0600 in a directory with mode 0700.
#[expect(clippy::disallowed_methods, reason = "this crate is the network; no editor has a socket")]
pub(crate) async fn bind(path: PathBuf) -> Result<(UnixListener, SocketFile), ListenError> {
    let place = path.display().to_string();
    let refused = |error: io::Error| ListenError::Io { place: place.clone(), error };
    let directory = path.parent().unwrap_or(Path::new("/"));
    private_directory(directory)?;
    if identity(&path).is_some() {
        match timeout(SOCKET_CONNECT_WAIT, UnixStream::connect(&path)).await {
            Ok(Err(error)) if error.kind() == io::ErrorKind::ConnectionRefused => {
                // Nothing listens: the server that made the file has died.
                rustix::fs::unlink(&path).map_err(|error| refused(error.into()))?;
            }
            Ok(Ok(_)) | Err(_) => return Err(ListenError::InUse(place)),
            Ok(Err(error)) => return Err(refused(error)),
        }
    }
    let listener = UnixListener::bind(&path).map_err(refused)?;
    rustix::fs::chmod(&path, Mode::from_raw_mode(0o600)).map_err(|error| refused(error.into()))?;
    Ok((listener, SocketFile { identity: identity(&path), path }))
}

/// Creates a directory for this user only, or checks that it is one.
fn private_directory(directory: &Path) -> Result<(), ListenError> {
    let place = directory.display().to_string();
    let refused = |error: rustix::io::Errno| ListenError::Io { place: place.clone(), error: error.into() };
    let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(parent) = parent
        && rustix::fs::stat(parent).is_err()
    {
        private_directory(parent)?;
    }
    match rustix::fs::mkdir(directory, Mode::RWXU) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => {}
        Err(error) => return Err(refused(error)),
    }
    let stat = rustix::fs::lstat(directory).map_err(refused)?;
    let not_private =
        |why: &str, mend: String| ListenError::NotPrivate { path: place.clone(), why: why.to_owned(), mend };
    if rustix::fs::FileType::from_raw_mode(stat.st_mode) != rustix::fs::FileType::Directory {
        return Err(not_private("it is not a directory", "pass --listen with another path".to_owned()));
    }
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return Err(not_private("it belongs to another user", "pass --listen with another path".to_owned()));
    }
    if stat.st_mode & 0o077 != 0 {
        return Err(not_private("other users can enter it", format!("run: chmod 700 {place}")));
    }
    Ok(())
}

/// Tells a file from another one that is later made in its place, perhaps with the same inode.
fn identity(path: &Path) -> Option<String> {
    let stat = rustix::fs::lstat(path).ok()?;
    Some(format!("{} {} {}.{}", stat.st_dev, stat.st_ino, stat.st_ctime, stat.st_ctime_nsec))
}

/// Returns the user id of the process at the other end.
pub(crate) fn peer_uid(stream: &UnixStream) -> io::Result<u32> {
    Ok(stream.peer_cred()?.uid())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes and examines files itself")]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[tokio::test]
    async fn the_socket_and_its_directory_are_private_and_a_dead_socket_is_replaced() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("tiller/serve.sock");
        let (listener, file) = bind(path.clone()).await.unwrap();
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert!(matches!(bind(path.clone()).await, Err(ListenError::InUse(_))));
        assert_eq!(
            peer_uid(&UnixStream::connect(&path).await.unwrap()).unwrap(),
            rustix::process::geteuid().as_raw()
        );
        // As after `kill -9`: the file stays and nothing listens.
        drop(listener);
        std::mem::forget(file);
        let (_listener, file) = bind(path.clone()).await.unwrap();
        drop(file);
        assert!(!path.exists());
    }

    #[tokio::test]
    async fn a_directory_that_others_can_enter_is_refused_with_the_command_that_mends_it() {
        let root = tempfile::tempdir().unwrap();
        let open = root.path().join("open");
        std::fs::create_dir(&open).unwrap();
        std::fs::set_permissions(&open, std::fs::Permissions::from_mode(0o755)).unwrap();
        let error = bind(open.join("s")).await.err().unwrap().to_string();
        assert!(error.contains("chmod 700"), "{error}");
        let link = root.path().join("link");
        std::os::unix::fs::symlink(root.path(), &link).unwrap();
        assert!(matches!(bind(link.join("s")).await, Err(ListenError::NotPrivate { .. })));
    }

    #[tokio::test]
    async fn a_replaced_socket_is_not_removed() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("d/s");
        let (listener, file) = bind(path.clone()).await.unwrap();
        drop(listener);
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "another").unwrap();
        drop(file);
        assert!(path.exists());
    }
}
