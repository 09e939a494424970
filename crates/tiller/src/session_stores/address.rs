//! The address of a store, from the command line or a file, with its password.

use crate::{args::StoreArgs, environment::Environment, failure::usage, options::Directories};
use anyhow::{Context as _, Result};
use std::{path::Path, sync::Arc};
use store::{
    StoreAddress,
    password::{PasswordSources, named_file, with_password},
};
use system::{AbsPath, System};

/// Where addresses and their passwords come from.
pub(crate) struct Addresses<'a> {
    pub(crate) environment: &'a Environment,
    pub(crate) directories: &'a Directories,
    pub(crate) system: Arc<dyn System>,
    pub(crate) cwd: &'a AbsPath,
}

impl Addresses<'_> {
    /// Returns the address that the options name; `None` without one.
    ///
    /// # Errors
    /// If the file cannot be read or has no address, or its password cannot be read.
    pub(crate) async fn of(&self, args: StoreArgs) -> Result<Option<StoreAddress>> {
        self.of_flag(args, "--store-file").await
    }

    /// The same, where the file is named by another flag.
    pub(crate) async fn of_flag(&self, args: StoreArgs, file_flag: &str) -> Result<Option<StoreAddress>> {
        let StoreArgs { store, store_file } = args;
        match (store, store_file) {
            (Some(address), _) => self.with_password(address).map(Some),
            (None, Some(path)) => self.read(&path, file_flag).await.map(Some),
            (None, None) => Ok(None),
        }
    }

    /// Adds the password of an address that has none.
    ///
    /// # Errors
    /// If a file of passwords is missing although it is named, or cannot be used.
    fn with_password(&self, address: StoreAddress) -> Result<StoreAddress> {
        Ok(with_password(address, &self.sources())?)
    }

    /// Returns the files with secrets that lead to a store, which commands must not see.
    pub(crate) fn secret_files(&self, args: &StoreArgs) -> Vec<AbsPath> {
        let of_address = args.store.as_ref().and_then(|address| named_file(address, self.cwd));
        let file = args.store_file.as_ref().map(|path| self.cwd.join(path.to_string_lossy()));
        file.into_iter().chain(of_address).chain(self.sources().named_file).collect()
    }

    fn sources(&self) -> PasswordSources {
        let variable = |name| self.environment.get(name).map(str::to_owned);
        PasswordSources {
            password: variable("PGPASSWORD"),
            named_file: variable("PGPASSFILE").map(|path| self.cwd.join(path)),
            usual_file: Some(self.directories.home.join(".pgpass")),
            user: variable("USER").or_else(|| variable("LOGNAME")),
            directory: self.cwd.clone(),
        }
    }

    /// Reads an address from a file. It may be readable by others: service managers and container
    /// engines hand out secrets with rights of their own.
    async fn read(&self, path: &Path, flag: &str) -> Result<StoreAddress> {
        let path = self.cwd.join(path.to_string_lossy());
        let bytes = self.system.read(&path).await.with_context(|| format!("{flag} {path}"))?;
        let text = String::from_utf8(bytes).ok();
        let address = text.and_then(|text| text.trim().parse::<StoreAddress>().ok());
        let address = address.ok_or_else(|| {
            usage(format!(
                "{flag} {path}: it has no address of a session store; write postgres://USER@HOST/DATABASE into it, with its password"
            ))
        })?;
        self.with_password(address)
    }
}
