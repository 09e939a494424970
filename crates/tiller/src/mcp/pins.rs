//! The stored hashes of MCP servers' tool definitions.

use crate::{options::Directories, secrets::read};
use anyhow::Result;
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, sync::Arc};
use system::{AbsPath, System};

/// The hashes of tool definitions, in a file of the data directory.
pub(crate) struct Pins {
    system: Arc<dyn System>,
    path: AbsPath,
    /// Held from reading to writing, so that concurrent changes are not lost.
    one_at_a_time: tokio::sync::Mutex<()>,
}

impl Pins {
    pub(crate) fn new(system: Arc<dyn System>, directories: &Directories) -> Self {
        Self {
            system,
            path: directories.data.join("mcp-tools.json"),
            one_at_a_time: tokio::sync::Mutex::default(),
        }
    }

    /// Forgets the hashes of a server, so that its next definitions are accepted as new.
    pub(crate) async fn forget(&self, server: &str) -> Result<bool> {
        let _one_at_a_time = self.one_at_a_time.lock().await;
        let mut file = read(self.system.as_ref(), &self.path).await?;
        let before = file.len();
        file.retain(|key, _| key.split(' ').next() != Some(server));
        self.write(&file).await?;
        Ok(file.len() != before)
    }

    async fn write(&self, file: &Map<String, Value>) -> Result<()> {
        if let Some(directory) = self.path.parent() {
            self.system.create_dir_all(&directory).await?;
        }
        Ok(self.system.write(&self.path, format!("{:#}\n", json!(file)).as_bytes()).await?)
    }
}

#[async_trait]
impl ::mcp::Pins for Pins {
    async fn seen(&self, server: &str) -> Option<BTreeMap<String, String>> {
        let file = read(self.system.as_ref(), &self.path).await;
        let file = file.inspect_err(|error| tracing::warn!("{error:#}")).ok()?;
        let tools = file.get(server)?.as_object()?;
        Some(
            tools.iter().filter_map(|(tool, hash)| Some((tool.clone(), hash.as_str()?.to_owned()))).collect(),
        )
    }

    async fn keep(&self, server: &str, tools: BTreeMap<String, String>) {
        let _one_at_a_time = self.one_at_a_time.lock().await;
        let kept = async {
            let mut file = read(self.system.as_ref(), &self.path).await?;
            file.insert(server.to_owned(), json!(tools));
            self.write(&file).await
        };
        if let Err(error) = kept.await {
            tracing::warn!("the hashes of a server's tools could not be stored: {error:#}");
        }
    }
}
