//! Where the server keeps tokens and its audit: beside the sessions in a database, else in files.

#[cfg(feature = "postgres")]
mod database;

use crate::{
    directories::{audit_directory, tokens_file},
    options::Directories,
};
use ::serve::auth::{Audit, FileAudit, FileTokens, TokenStore, wall_clock};
use anyhow::{Context as _, Result};
use std::sync::Arc;
use store::StoreAddress;
use system::System;

/// Tokens and the audit of a server.
pub(crate) struct AccessStores {
    pub(crate) tokens: Arc<dyn TokenStore>,
    pub(crate) audit: Arc<dyn Audit>,
    /// Where the tokens are, for people.
    pub(crate) place: String,
}

/// Opens those of a server that stores its sessions at this address; without one, they are in the
/// data directory.
///
/// # Errors
/// If the database cannot be reached, or has no such tables.
pub(crate) async fn open(
    system: Arc<dyn System>,
    directories: &Directories,
    store: Option<&StoreAddress>,
) -> Result<AccessStores> {
    if let Some(address @ StoreAddress::Postgres(url)) = store {
        let opened = database(url).await.with_context(|| format!("the tokens in {address}"))?;
        return Ok(AccessStores { place: address.to_string(), ..opened });
    }
    let file = tokens_file(&directories.data);
    Ok(AccessStores {
        place: file.to_string(),
        tokens: Arc::new(FileTokens::new(system.clone(), wall_clock(), file)),
        audit: Arc::new(FileAudit::new(system, audit_directory(&directories.data))),
    })
}

#[cfg(feature = "postgres")]
async fn database(url: &str) -> Result<AccessStores> {
    let tables = Arc::new(store::AccessTables::open(url).await?);
    Ok(AccessStores {
        tokens: Arc::new(database::TableTokens::new(tables.clone(), wall_clock())),
        audit: Arc::new(database::TableAudit(tables)),
        place: String::new(),
    })
}

#[cfg(not(feature = "postgres"))]
async fn database(_url: &str) -> Result<AccessStores> {
    anyhow::bail!("this program was built without PostgreSQL")
}
