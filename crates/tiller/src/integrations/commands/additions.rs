//! Adds integrations from OpenAPI documents, and removes them.

use super::{
    CommandContext,
    rows::{AddedIntegration, RemovedIntegration},
};
use crate::{
    answer::Answer,
    args::{AddIntegration, SettingsScope, document_file},
    environment,
};
use ::integrations::{DOCUMENT_BYTES, Manifest, Network, parse_document};
use anyhow::Result;
use serde_json::json;
use std::fmt::Write as _;

impl CommandContext<'_> {
    pub(super) async fn add(&self, add: AddIntegration) -> Result<Answer> {
        let network = if add.local { Network::Private } else { Network::Public };
        let (source, bytes) = match document_file(&add.openapi) {
            Some(file) => {
                let path = environment::absolute(self.cwd, &file)?;
                environment::check_file("--openapi", &path)?;
                (path.to_string(), self.system.read(&path).await?)
            }
            None => {
                let fetched = self.integrations.caller.document(&add.openapi, network).await;
                (add.openapi.clone(), fetched.map_err(anyhow::Error::msg)?)
            }
        };
        anyhow::ensure!(
            bytes.len() <= DOCUMENT_BYTES,
            "the document has more than {} MB",
            DOCUMENT_BYTES / 1024 / 1024
        );
        let document = parse_document(&bytes)?;
        let manifest = Manifest::new(&add.name, &source, add.base_url.as_deref(), add.local)?;
        let integration = self.integrations.library.add(&manifest, &document).await?;
        let name = &integration.name;
        let mut text =
            format!("{name} ({}) is added: {} functions", integration.title, integration.functions.len());
        if !integration.left_out.is_empty() {
            let _ = write!(text, ", {} operations left out", integration.left_out.len());
        }
        let _ = writeln!(
            text,
            ".\nNext: `tiller integrations configure {name} --enable`, `tiller integrations list {name}`"
        );
        if integration.address.base_url.is_none() {
            text.push_str("The document names no address: configure base_url too.\n");
        }
        let fields: Vec<_> = integration.fields().into_iter().map(|field| field.name).collect();
        let added = AddedIntegration {
            integration: name.clone(),
            title: integration.title.clone(),
            functions: integration.functions.len(),
            left_out: integration.left_out.clone(),
            base_url: integration.address.base_url.clone(),
            fields,
            source,
        };
        Ok(Answer::new(added, text))
    }

    pub(super) async fn remove(&self, name: &str) -> Result<Answer> {
        self.integrations.library.remove(name).await?;
        self.integrations.accounts.forget(name, None).await?;
        if self.switches.of(name).enabled {
            let scope = SettingsScope { project: false, global: true };
            self.store(&scope).set(&format!("integrations.{name}.enabled"), &json!(false)).await?;
        }
        Ok(Answer::new(
            RemovedIntegration { integration: name.to_owned(), removed: true },
            format!("{name} is removed, with its accounts\n"),
        ))
    }
}
