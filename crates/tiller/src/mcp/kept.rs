//! What is kept about MCP servers beside their descriptions: secrets, and what tools said of themselves.

use crate::{environment::Environment, keys, options::Folders};
use anyhow::{Context, Result};
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    io,
    os::unix::fs::OpenOptionsExt as _,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use system::{AbsPath, System};

/// Variables of this process, and secrets of a file that only its owner can read.
pub(crate) struct Values {
    environment: Environment,
    system: Arc<dyn System>,
    path: AbsPath,
}

impl Values {
    pub(crate) fn new(environment: Environment, system: Arc<dyn System>, folders: &Folders) -> Self {
        Self { environment, system, path: keys::secrets_path(folders) }
    }

    /// Every secret by its key. Whoever gets them has told the redactor.
    pub(crate) async fn secrets(&self) -> Result<BTreeMap<String, String>> {
        let file = read(self.system.as_ref(), &self.path).await?;
        let secrets: BTreeMap<_, _> =
            file.into_iter().filter_map(|(key, value)| Some((key, value.as_str()?.to_owned()))).collect();
        self.environment.redactor().learn(secrets.values().cloned());
        Ok(secrets)
    }

    /// Replaces them.
    pub(crate) async fn keep(&self, secrets: &BTreeMap<String, String>) -> Result<()> {
        if let Some(folder) = self.path.parent() {
            self.system.create_dir_all(&folder).await?;
        }
        // What is written keeps the mode of what is there.
        let made =
            std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(self.path.as_std());
        match made {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(error).with_context(|| format!("cannot make {}", self.path));
            }
            _ => {}
        }
        Ok(self.system.write(&self.path, format!("{:#}\n", json!(secrets)).as_bytes()).await?)
    }
}

#[async_trait]
impl ::mcp::Values for Values {
    fn variable(&self, name: &str) -> Option<String> {
        self.environment.get(name).map(str::to_owned)
    }

    async fn secret(&self, key: &str) -> Option<String> {
        match self.secrets().await {
            Ok(mut secrets) => secrets.remove(key),
            Err(error) => {
                tracing::warn!("no secret can be read: {error:#}");
                None
            }
        }
    }
}

/// The key of what was granted for a server.
fn grant_key(server: &str) -> String {
    format!("mcp.{server}.oauth")
}

#[async_trait]
impl ::mcp::Grants for Values {
    async fn load(&self, server: &str) -> Option<String> {
        ::mcp::Values::secret(self, &grant_key(server)).await
    }

    async fn keep(&self, server: &str, grant: Option<String>) -> std::result::Result<(), String> {
        let kept = async {
            let mut secrets = self.secrets().await?;
            match grant {
                Some(grant) => secrets.insert(grant_key(server), grant),
                None => secrets.remove(&grant_key(server)),
            };
            Self::keep(self, &secrets).await
        };
        kept.await.map_err(|error| format!("{error:#}"))
    }

    fn now(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }
}

/// What servers' tools said of themselves, in a file of the data folder.
pub(crate) struct Pins {
    system: Arc<dyn System>,
    path: AbsPath,
    /// Held from reading to writing.
    one_at_a_time: tokio::sync::Mutex<()>,
}

impl Pins {
    pub(crate) fn new(system: Arc<dyn System>, folders: &Folders) -> Self {
        Self {
            system,
            path: folders.data.join("mcp-tools.json"),
            one_at_a_time: tokio::sync::Mutex::default(),
        }
    }

    /// Forgets what was seen of a server, so that what it says next counts.
    pub(crate) async fn forget(&self, server: &str) -> Result<bool> {
        let _one_at_a_time = self.one_at_a_time.lock().await;
        let mut file = read(self.system.as_ref(), &self.path).await?;
        let before = file.len();
        file.retain(|key, _| key.split(' ').next() != Some(server));
        self.write(&file).await?;
        Ok(file.len() != before)
    }

    async fn write(&self, file: &Map<String, Value>) -> Result<()> {
        if let Some(folder) = self.path.parent() {
            self.system.create_dir_all(&folder).await?;
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
            tracing::warn!("what a server's tools say could not be remembered: {error:#}");
        }
    }
}

/// The JSON object of a file; an empty one where there is none.
pub(super) async fn read(system: &dyn System, path: &AbsPath) -> Result<Map<String, Value>> {
    let bytes = match system.read(path).await {
        Ok(bytes) => bytes,
        Err(error) if error.is_not_found() => return Ok(Map::new()),
        Err(error) => return Err(error.into()),
    };
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_slice(&bytes).with_context(|| format!("{path} is no JSON object; correct it"))
}
