//! Which folders are trusted, in a file among the user's settings.

use agent::TrustRecords;
use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::{collections::BTreeMap, sync::Arc};
use system::{AbsPath, System};

/// The version of the file's format.
const VERSION: u64 = 1;

/// The file. Read each time it is asked: another process may have written it.
#[derive(Clone)]
pub(crate) struct Records {
    system: Arc<dyn System>,
    path: AbsPath,
}

impl Records {
    /// Those in a configuration folder.
    pub(crate) fn new(system: Arc<dyn System>, config: &AbsPath) -> Self {
        Self { system, path: config.join("trust.json") }
    }

    /// Every trusted folder with the hash of its content.
    pub(crate) async fn all(&self) -> Result<BTreeMap<String, String>> {
        let bytes = match self.system.read(&self.path).await {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(BTreeMap::new()),
            Err(error) => return Err(error.into()),
        };
        let file: Value = serde_json::from_slice(&bytes)
            .with_context(|| format!("{} is damaged; delete it and trust again", self.path))?;
        if file["version"] != VERSION {
            bail!("{} was written by another version; delete it and trust again", self.path);
        }
        let folders = file["folders"].as_object().into_iter().flatten();
        Ok(folders.filter_map(|(path, hash)| Some((path.clone(), hash.as_str()?.to_owned()))).collect())
    }

    /// Replaces them.
    pub(crate) async fn keep(&self, folders: &BTreeMap<String, String>) -> Result<()> {
        let text = serde_json::to_string_pretty(&json!({ "version": VERSION, "folders": folders }))?;
        if let Some(folder) = self.path.parent() {
            self.system.create_dir_all(&folder).await?;
        }
        Ok(self.system.write(&self.path, format!("{text}\n").as_bytes()).await?)
    }
}

#[async_trait]
impl TrustRecords for Records {
    async fn trusted(&self, folder: &AbsPath) -> Option<String> {
        match self.all().await {
            Ok(mut all) => all.remove(folder.as_str()),
            Err(error) => {
                tracing::warn!("no folder is trusted: {error:#}");
                None
            }
        }
    }
}
