//! Passwords of databases that are not in their URLs, found as PostgreSQL's own programs find them.

use crate::StoreAddress;
use agent::StoreError;
use system::AbsPath;

#[cfg(feature = "postgres")]
mod pass_file;

/// Where the password of a database is looked for if its URL has none.
#[derive(Clone)]
pub struct PasswordSources {
    /// The password for every database: the variable `PGPASSWORD`.
    pub password: Option<String>,
    /// The file that the variable `PGPASSFILE` names. It must exist.
    pub named_file: Option<AbsPath>,
    /// The file that is used otherwise, if it exists: `~/.pgpass`.
    pub usual_file: Option<AbsPath>,
    /// The user of a URL that names none.
    pub user: Option<String>,
    /// The directory of a relative path in a URL.
    pub directory: AbsPath,
}

/// Returns an address with its password: that of the URL, else the one of the variable, else the
/// one in the file that the URL names with `passfile=`, or in that of the variable, or in the usual
/// one. A file is asked for host, port, database and user. Blocks while it reads a file.
///
/// # Errors
///
/// [`StoreError::Format`] for a URL that is none, and a file that is missing although it was named,
/// cannot be read, or can be read by others.
pub fn with_password(address: StoreAddress, sources: &PasswordSources) -> Result<StoreAddress, StoreError> {
    match address {
        StoreAddress::Sqlite(_) => Ok(address),
        #[cfg(feature = "postgres")]
        StoreAddress::Postgres(url) => pass_file::complete(&url, sources).map(StoreAddress::Postgres),
        #[cfg(not(feature = "postgres"))]
        StoreAddress::Postgres(_) => {
            let _ = sources;
            Ok(address)
        }
    }
}

/// Returns the file that the URL of an address names with `passfile=`.
pub fn named_file(address: &StoreAddress, directory: &AbsPath) -> Option<AbsPath> {
    match address {
        #[cfg(feature = "postgres")]
        StoreAddress::Postgres(url) => pass_file::named(url, directory),
        _ => {
            let _ = directory;
            None
        }
    }
}
