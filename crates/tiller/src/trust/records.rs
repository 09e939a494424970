//! The records of trust by directory, in a file beside the user's settings.

use agent::{TrustRecord, TrustRecords};
use anyhow::{Context, Result, bail};
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};
use system::{AbsPath, System};

/// The version of the file format. Version 1 had one hash for a whole directory.
const VERSION: u64 = 2;

/// The file. It is read for each query, because another process may have written it.
#[derive(Clone)]
pub(crate) struct Records {
    system: Arc<dyn System>,
    path: AbsPath,
}

/// The path of the file in a configuration directory.
pub(super) fn path(config: &AbsPath) -> AbsPath {
    config.join("trust.json")
}

impl Records {
    /// Opens the records in a configuration directory.
    pub(crate) fn new(system: Arc<dyn System>, config: &AbsPath) -> Self {
        Self { system, path: path(config) }
    }

    /// Reads the records by directory.
    pub(crate) async fn all(&self) -> Result<BTreeMap<String, TrustRecord>> {
        let bytes = match self.system.read(&self.path).await {
            Ok(bytes) => bytes,
            Err(error) if error.is_not_found() => return Ok(BTreeMap::new()),
            Err(error) => return Err(error.into()),
        };
        let damaged = || format!("{} is damaged; delete it and trust again", self.path);
        let file: Value = serde_json::from_slice(&bytes).with_context(damaged)?;
        let read = match file["version"].as_u64() {
            Some(1) => from_first_version,
            Some(VERSION) => from_this_version,
            _ => bail!("{} was written by another version; delete it and trust again", self.path),
        };
        let directories = file["folders"].as_object().with_context(damaged)?;
        directories.iter().map(|(path, kept)| Ok((path.clone(), read(kept).with_context(damaged)?))).collect()
    }

    /// Replaces all records.
    pub(crate) async fn store(&self, directories: &BTreeMap<String, TrustRecord>) -> Result<()> {
        let written = |record: &TrustRecord| {
            let mut kept = Map::from_iter([("items".to_owned(), json!(record.items))]);
            kept.extend(record.whole.as_ref().map(|whole| ("whole".to_owned(), json!(whole))));
            Value::Object(kept)
        };
        let directories: Map<_, _> =
            directories.iter().map(|(path, record)| (path.clone(), written(record))).collect();
        let text = serde_json::to_string_pretty(&json!({ "version": VERSION, "folders": directories }))?;
        if let Some(directory) = self.path.parent() {
            self.system.create_dir_all(&directory).await?;
        }
        Ok(self.system.write(&self.path, format!("{text}\n").as_bytes()).await?)
    }
}

fn from_first_version(kept: &Value) -> Option<TrustRecord> {
    Some(TrustRecord { items: BTreeMap::new(), whole: Some(kept.as_str()?.to_owned()) })
}

fn from_this_version(kept: &Value) -> Option<TrustRecord> {
    let items = kept["items"].as_object()?.iter();
    let items = items.map(|(id, hash)| Some((id.clone(), hash.as_str()?.to_owned())));
    Some(TrustRecord {
        items: items.collect::<Option<_>>()?,
        whole: kept["whole"].as_str().map(str::to_owned),
    })
}

#[async_trait]
impl TrustRecords for Records {
    async fn trusted(&self, directory: &AbsPath) -> Result<TrustRecord, String> {
        match self.all().await {
            Ok(mut all) => Ok(all.remove(directory.as_str()).unwrap_or_default()),
            Err(error) => Err(format!("{error:#}")),
        }
    }
}
