//! The history of prompts: a line of JSON for each, the oldest first, in the data directory. Only
//! the user can read the file.

use crate::{limits, options::Options};
use serde::{Deserialize, Serialize};
use system::{AbsPath, LocalSystem, System, SystemError};
use tui::composer::Entry;

/// One prompt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Line {
    /// The directory it was written in.
    cwd: String,
    /// Its content.
    #[serde(flatten)]
    entry: Entry,
}

/// Returns the prompts, the oldest first; each with whether it was written in this directory.
///
/// # Errors
///
/// Fails with a message for the user if the file cannot be read; lines that are not entries are
/// ignored.
pub(super) async fn lines(options: &Options, cwd: &AbsPath) -> Result<Vec<(Entry, bool)>, String> {
    let lines = read(options).await?.into_iter();
    Ok(lines.map(|line| (line.entry, line.cwd == cwd.as_str())).collect())
}

/// Adds a prompt, and drops the oldest ones beyond the limit.
///
/// # Errors
///
/// Fails with a message for the user if the file cannot be written.
pub(super) async fn add(options: &Options, cwd: &AbsPath, entry: Entry) -> Result<(), String> {
    let mut lines = read(options).await?;
    let line = Line { cwd: cwd.to_string(), entry };
    if lines.last() == Some(&line) {
        return Ok(());
    }
    lines.push(line);
    let surplus = lines.len().saturating_sub(limits::HISTORY_ENTRIES);
    lines.drain(..surplus);
    let text: Result<String, _> =
        lines.iter().map(|line| serde_json::to_string(line).map(|text| text + "\n")).collect();
    let text = text.map_err(|error| error.to_string())?;
    let system = LocalSystem::new();
    let failed = |error: SystemError| format!("the history of prompts cannot be kept: {error}");
    system.create_dir_all(&options.directories.data).await.map_err(failed)?;
    system.write_private(&file(options), text.as_bytes()).await.map_err(failed)
}

async fn read(options: &Options) -> Result<Vec<Line>, String> {
    let bytes = match LocalSystem::new().read(&file(options)).await {
        Ok(bytes) => bytes,
        Err(SystemError::NotFound(_)) => return Ok(Vec::new()),
        Err(error) => return Err(format!("the history of prompts cannot be read: {error}")),
    };
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

fn file(options: &Options) -> AbsPath {
    options.directories.data.join("history.jsonl")
}
