//! Files that this crate keeps on disk: bounded reads, atomic writes.

use system::{AbsPath, System, SystemError};

/// Why a file could not be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReadError {
    /// It is larger than the limit, in bytes.
    #[error("is larger than {} MiB", .0 >> 20)]
    TooLarge(usize),
    /// The system could not read it.
    #[error(transparent)]
    System(#[from] SystemError),
}

/// Reads a file of at most `limit` bytes.
///
/// # Errors
///
/// [`ReadError::TooLarge`] beyond the limit, [`ReadError::System`] if it cannot be read.
pub(crate) async fn read(path: &AbsPath, limit: usize, system: &dyn System) -> Result<Vec<u8>, ReadError> {
    if system.metadata(path).await?.size > limit as u64 {
        return Err(ReadError::TooLarge(limit));
    }
    Ok(system.read(path).await?)
}

/// Replaces a file atomically, and creates its directory if necessary.
///
/// # Errors
///
/// Fails if the system cannot write; the file is unchanged then.
pub(crate) async fn write(path: &AbsPath, bytes: &[u8], system: &dyn System) -> Result<(), SystemError> {
    if let Some(directory) = path.parent() {
        system.create_dir_all(&directory).await?;
    }
    system.write(path, bytes).await
}
