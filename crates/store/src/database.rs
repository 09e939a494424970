//! A session store by its address, of either kind.

use crate::{
    SqliteStore,
    janitor::Janitor,
    moved_memories::{MovedMemories, RawMemory},
    nodes::Nodes,
    raw::{Digest, RawSession},
};
use agent::{Lease, Owner, SessionId, SessionStore, StoreError};
use std::{fmt, path::PathBuf, str::FromStr, sync::Arc};

#[cfg(feature = "postgres")]
use crate::PostgresStore;

/// The address of a session store: `sqlite:FILE` or `postgres://USER@HOST/DATABASE`.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreAddress {
    /// A file.
    Sqlite(PathBuf),
    /// A database of a server. It may have a password, so it is not shown.
    Postgres(String),
}

/// A text that is not the address of a session store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("it is not the address of a session store; write sqlite:FILE or postgres://USER@HOST/DATABASE")]
pub struct NotAStoreAddress;

impl FromStr for StoreAddress {
    type Err = NotAStoreAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() => Ok(Self::Sqlite(path.into())),
            Some(("postgres" | "postgresql", rest)) if rest.starts_with("//") => {
                Ok(Self::Postgres(text.to_owned()))
            }
            _ => Err(NotAStoreAddress),
        }
    }
}

impl fmt::Display for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(url) => {
                let rest = url.split_once("//").map_or("", |(_, rest)| rest);
                let (place, parameters) = rest.split_once('?').unwrap_or((rest, ""));
                let (authority, database) = place.split_once('/').unwrap_or((place, ""));
                match authority.rsplit_once('@') {
                    // The user and the password end at the last `@` of the authority.
                    Some((_, host)) => write!(f, "postgres://{host}/{database}"),
                    // A password with a question mark that is not encoded looks like parameters.
                    None if parameters.contains('@') => write!(f, "postgres://"),
                    None => write!(f, "postgres://{authority}/{database}"),
                }
            }
        }
    }
}

impl fmt::Debug for StoreAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// An open session store of either kind.
pub enum Database {
    /// A file.
    Sqlite(SqliteStore),
    /// A database of a server.
    #[cfg(feature = "postgres")]
    Postgres(PostgresStore),
}

impl Database {
    /// Opens the store at an address. A file is created if it is missing.
    ///
    /// # Errors
    ///
    /// The same as for [`SqliteStore::open`] and `PostgresStore::open`; [`StoreError::Format`] for
    /// a server if this program was built without it.
    pub async fn open(address: &StoreAddress) -> Result<Self, StoreError> {
        match address {
            StoreAddress::Sqlite(path) => Ok(Self::Sqlite(SqliteStore::open(path)?)),
            #[cfg(feature = "postgres")]
            StoreAddress::Postgres(url) => Ok(Self::Postgres(PostgresStore::open(url).await?)),
            #[cfg(not(feature = "postgres"))]
            StoreAddress::Postgres(url) => Err(crate::server::missing(url)),
        }
    }

    /// Returns the store for a runtime.
    pub fn into_store(self) -> Arc<dyn SessionStore> {
        match self {
            Self::Sqlite(store) => Arc::new(store),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => Arc::new(store),
        }
    }

    /// Returns the nodes that share the database; `None` for a file.
    pub fn nodes(&self) -> Option<Arc<dyn Nodes>> {
        match self {
            Self::Sqlite(_) => None,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => Some(store.cluster()),
        }
    }

    /// Returns the janitor of the store.
    pub fn janitor(&self) -> Arc<dyn Janitor> {
        match self {
            Self::Sqlite(store) => store.janitor(),
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.janitor(),
        }
    }

    /// Returns the store.
    pub(crate) fn store(&self) -> &dyn SessionStore {
        match self {
            Self::Sqlite(store) => store,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store,
        }
    }

    /// Whether it is a database of a server, whose users have names.
    pub(crate) fn has_users(&self) -> bool {
        !matches!(self, Self::Sqlite(_))
    }

    pub(crate) async fn ids(
        &self,
        owner: Option<Option<Owner>>,
    ) -> Result<Vec<(String, Option<String>)>, StoreError> {
        match self {
            Self::Sqlite(store) => store.raw_ids(owner).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.raw_ids(owner).await,
        }
    }

    pub(crate) async fn digest(&self, id: &SessionId) -> Result<Option<Digest>, StoreError> {
        match self {
            Self::Sqlite(store) => store.raw_digest(id.as_str()).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.raw_digest(id.as_str()).await,
        }
    }

    pub(crate) async fn read(&self, id: &SessionId) -> Result<RawSession, StoreError> {
        match self {
            Self::Sqlite(store) => store.raw_read(id.as_str()).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.raw_read(id.as_str()).await,
        }
    }

    pub(crate) async fn memories(&self, owner: Option<Option<Owner>>) -> Result<Vec<RawMemory>, StoreError> {
        match self {
            Self::Sqlite(store) => store.raw_memories(owner).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.raw_memories(owner).await,
        }
    }

    pub(crate) async fn write_memories(&self, new: Vec<RawMemory>) -> Result<MovedMemories, StoreError> {
        match self {
            Self::Sqlite(store) => store.raw_write_memories(new).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.raw_write_memories(new).await,
        }
    }

    pub(crate) async fn write(&self, session: RawSession) -> Result<Lease, StoreError> {
        match self {
            Self::Sqlite(store) => store.raw_write(session).await,
            #[cfg(feature = "postgres")]
            Self::Postgres(store) => store.raw_write(session).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_password() {
        for (text, shown) in [
            ("sqlite:/a b/sessions.db", Some("sqlite:/a b/sessions.db")),
            ("sqlite:relative.db", Some("sqlite:relative.db")),
            ("postgres://u:p@ss@host:5432/db?x=y", Some("postgres://host:5432/db")),
            ("postgres://host?password=secret", Some("postgres://host/")),
            ("postgres://u@host/db?password=a%2Fb", Some("postgres://host/db")),
            ("postgres://u:p?ss@host/db", Some("postgres://")),
            ("postgresql://host/db", Some("postgres://host/db")),
            ("postgres://%2Frun%2Fpg/db", Some("postgres://%2Frun%2Fpg/db")),
            ("postgres:db", None),
            ("sqlite:", None),
            ("/a/sessions.db", None),
            ("", None),
        ] {
            let address = text.parse::<StoreAddress>().ok();
            assert_eq!(address.map(|address| address.to_string()).as_deref(), shown, "{text}");
        }
    }
}
