//! The free space of a disk.

use crate::AbsPath;
use std::io;

/// Returns how many bytes this user can still write to the file system of a path.
///
/// # Errors
///
/// Fails if the path does not exist.
pub fn free_bytes(path: &AbsPath) -> io::Result<u64> {
    let found = rustix::fs::statvfs(path.as_std())?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_has_a_size_and_a_missing_path_is_an_error() {
        assert!(free_bytes(&AbsPath::new("/").unwrap()).is_ok());
        assert!(free_bytes(&AbsPath::new("/no/such/place").unwrap()).is_err());
    }
}
