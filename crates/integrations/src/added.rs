//! Integrations that the user added.

use crate::{
    guard,
    integration::{Address, Auth, Integration, Origin},
    manifest::{Manifest, ManifestError},
    openapi,
};
use serde_json::Value;

/// Returns an integration that the user added, from its manifest and its document.
///
/// # Errors
///
/// [`ManifestError::Document`] if the document has no function that can be called.
pub fn read_added(manifest: &Manifest, document: &Value) -> Result<Integration, ManifestError> {
    let document = openapi::read(document, manifest)?;
    let own = manifest.base_url.as_deref();
    Ok(Integration {
        name: manifest.name.clone(),
        title: document.title,
        description: document.description,
        origin: Origin::Added { source: manifest.source.clone() },
        address: Address {
            base_url: manifest.base_url.clone().or(document.base_url),
            local: manifest.local || own.is_some_and(guard::is_literally_local),
        },
        auth: Auth { schemes: document.schemes, settings: Vec::new() },
        functions: document.functions,
        left_out: document.left_out,
    })
}
