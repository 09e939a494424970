//! The user's stored secrets: a file in the data directory that only its owner can read.

use crate::{environment::Environment, options::Directories};
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};
use system::{AbsPath, System};

/// The path of the file of secrets.
pub(crate) fn path(directories: &Directories) -> AbsPath {
    directories.data.join("secrets.json")
}

/// The variables of this process, and the secrets of the file.
pub(crate) struct Values {
    pub(crate) environment: Environment,
    system: Arc<dyn System>,
    path: AbsPath,
}

impl Values {
    pub(crate) fn new(environment: Environment, system: Arc<dyn System>, directories: &Directories) -> Self {
        Self { environment, system, path: path(directories) }
    }

    /// Reads every secret by its key, and registers their values with the redactor.
    pub(crate) async fn secrets(&self) -> Result<BTreeMap<String, String>> {
        let file = read(self.system.as_ref(), &self.path).await?;
        let secrets: BTreeMap<_, _> =
            file.into_iter().filter_map(|(key, value)| Some((key, value.as_str()?.to_owned()))).collect();
        self.environment.redactor().learn(secrets.values().cloned());
        Ok(secrets)
    }

    /// Replaces the stored secrets.
    pub(crate) async fn store(&self, secrets: &BTreeMap<String, String>) -> Result<()> {
        write(self.system.as_ref(), &self.path, &json!(secrets)).await
    }
}

/// Reads the JSON object of a file; a missing or empty file is an empty object.
pub(crate) async fn read(system: &dyn System, path: &AbsPath) -> Result<Map<String, Value>> {
    let bytes = match system.read(path).await {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Ok(Map::new()),
        Err(error) => return Err(error.into()),
    };
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_slice(&bytes).with_context(|| format!("{path} is not a JSON object; correct it"))
}

/// Writes a file that only its owner can read.
pub(crate) async fn write(system: &dyn System, path: &AbsPath, value: &Value) -> Result<()> {
    if let Some(directory) = path.parent() {
        system.create_dir_all(&directory).await?;
    }
    Ok(system.write_private(path, format!("{value:#}\n").as_bytes()).await?)
}
