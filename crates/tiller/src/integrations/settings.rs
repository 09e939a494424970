//! Writes the user's settings of integrations into a settings file.

use crate::{
    config::{self, SettingsFile},
    options::Directories,
};
use anyhow::Result;
use serde_json::Value;
use std::sync::Arc;
use system::{AbsPath, System};

/// The target of the writes.
pub(crate) struct Store<'a> {
    pub(crate) system: Arc<dyn System>,
    pub(crate) directories: &'a Directories,
    /// The settings file.
    pub(crate) path: AbsPath,
}

impl Store<'_> {
    /// Writes one setting and preserves the rest of the file.
    pub(crate) async fn set(&self, name: &str, value: &Value) -> Result<()> {
        let file = config::read(self.path.clone())?;
        let file = file.unwrap_or(SettingsFile { path: self.path.clone(), text: String::new() });
        let text = config::with_setting(&file, self.directories, name, value)?;
        if let Some(directory) = self.path.parent() {
            self.system.create_dir_all(&directory).await?;
        }
        Ok(self.system.write(&self.path, text.as_bytes()).await?)
    }
}
