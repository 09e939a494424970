//! What the interface remembers of its own state between runs: a JSON file in the data directory.
//! It is no setting: the interface changes it as it is used, and nothing is lost without it.

use crate::options::Options;
use serde::{Deserialize, Serialize};
use system::{AbsPath, LocalSystem, System, SystemError};

/// What is remembered.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Remembered {
    /// Whether the list of sessions shows those of all directories.
    pub(super) everywhere: bool,
}

/// Returns what is remembered; the default if there is no such file, or one that cannot be read.
pub(super) async fn read(options: &Options) -> Remembered {
    match LocalSystem::new().read(&file(options)).await {
        Ok(bytes) => serde_json::from_slice(&bytes).unwrap_or_default(),
        Err(error) => {
            if !error.is_not_found() {
                tracing::debug!(%error, "what the interface remembers was not read");
            }
            Remembered::default()
        }
    }
}

/// Keeps what is remembered.
///
/// # Errors
///
/// Fails with a message for the user if the file cannot be written.
pub(super) async fn keep(options: &Options, remembered: Remembered) -> Result<(), String> {
    let text = serde_json::to_string(&remembered).map_err(|error| error.to_string())? + "\n";
    let system = LocalSystem::new();
    let failed = |error: SystemError| format!("the choice is not remembered: {error}");
    system.create_dir_all(&options.directories.data).await.map_err(failed)?;
    system.write_private(&file(options), text.as_bytes()).await.map_err(failed)
}

fn file(options: &Options) -> AbsPath {
    options.directories.data.join("interface.json")
}
