//! The integrations that the user added: a manifest in the configuration directory, a document in
//! the data directory.

use crate::{options::Directories, secrets};
use ::integrations::{Catalogue, Integration, Manifest, ManifestError, built_in, read_added, trimmed};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::sync::Arc;
use system::{AbsPath, System};

/// The directories of manifests and documents.
pub(super) struct Library {
    system: Arc<dyn System>,
    manifests: AbsPath,
    documents: AbsPath,
}

impl Library {
    pub(super) fn new(system: Arc<dyn System>, directories: &Directories) -> Self {
        let (manifests, documents) =
            (directories.config.join("integrations"), directories.data.join("integrations"));
        Self { system, manifests, documents }
    }

    /// Returns all integrations, built-in and added. One that cannot be read is listed as broken
    /// and does
    /// not affect the others.
    pub(super) async fn catalogue(&self) -> Catalogue {
        let (mut added, mut broken) = (Vec::new(), Vec::new());
        for name in self.names().await {
            match self.read(&name).await {
                Ok((manifest, document)) => match read_added(&manifest, &document) {
                    Ok(integration) => added.push(integration),
                    Err(error) => broken.push((name, error.to_string())),
                },
                Err(error) => broken.push((name, format!("{error:#}"))),
            }
        }
        Catalogue::new(added, broken)
    }

    /// Stores an integration, with its document reduced to the parts that are read.
    ///
    /// # Errors
    /// If the manifest or the document is invalid, or the name is taken.
    pub(super) async fn add(&self, manifest: &Manifest, document: &Value) -> Result<Integration> {
        let name = &manifest.name;
        if built_in().iter().any(|known| known.name == *name) {
            bail!("'{name}' is built in; add the document under another name");
        }
        if self.names().await.contains(name) {
            bail!("there is an integration '{name}' already; remove it first");
        }
        let document = trimmed(document);
        let integration = read_added(manifest, &document)?;
        // The manifest is written last: it makes the integration exist.
        self.write(&self.document(name), &document.to_string()).await?;
        self.write(&self.manifest(name), &format!("{:#}\n", manifest.to_json())).await?;
        Ok(integration)
    }

    /// Removes an integration.
    pub(super) async fn remove(&self, name: &str) -> Result<()> {
        if !self.names().await.iter().any(|known| known == name) {
            bail!("no integration '{name}' was added; see `tiller integrations list`");
        }
        self.system.remove(&self.manifest(name)).await?;
        match self.system.remove(&self.document(name)).await {
            Err(error) if !error.is_not_found() => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn manifest(&self, name: &str) -> AbsPath {
        self.manifests.join(format!("{name}.json"))
    }

    fn document(&self, name: &str) -> AbsPath {
        self.documents.join(format!("{name}.openapi.json"))
    }

    async fn names(&self) -> Vec<String> {
        let entries = self.system.read_dir(&self.manifests).await.unwrap_or_default();
        let name = |entry: system::Entry| Some(entry.path.file_name()?.strip_suffix(".json")?.to_owned());
        let mut names: Vec<_> = entries.into_iter().filter_map(name).collect();
        names.sort();
        names
    }

    async fn read(&self, name: &str) -> Result<(Manifest, Value)> {
        let path = self.manifest(name);
        let manifest = Manifest::parse(&self.system.read_text(&path, None).await?)
            .map_err(|error: ManifestError| anyhow::anyhow!("{path}: {error}"))?;
        if manifest.name != name {
            bail!("{path}: it is called {:?}; the file must have that name", manifest.name);
        }
        let document = secrets::read(self.system.as_ref(), &self.document(name)).await?;
        Ok((manifest, Value::Object(document)))
    }

    async fn write(&self, path: &AbsPath, text: &str) -> Result<()> {
        let directory = path.parent().context("a file is in a folder")?;
        self.system.create_dir_all(&directory).await?;
        Ok(self.system.write(path, text.as_bytes()).await?)
    }
}
