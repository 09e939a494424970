//! The store of full results: keeps long results on disk, where the model can read the omitted
//! part.

use crate::{ToolCallId, limits::WHOLE_FILES};
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};
use system::{AbsPath, System};

/// The files with the full text of a session's long results. They lie beside the session's
/// temporary files and are readable by the user only. The agent's tools read them without a
/// permission request and never write to them. At most 32 are kept per run; the remaining ones are
/// deleted together with the temporary files of sessions unused for a week.
#[derive(Debug, Default)]
pub struct Outputs {
    folder: Option<AbsPath>,
    files: Mutex<VecDeque<AbsPath>>,
}

impl Outputs {
    /// Creates a store in a directory; `None` keeps nothing.
    pub(crate) fn new(folder: Option<AbsPath>) -> Self {
        Self { folder, files: Mutex::default() }
    }

    /// Writes a result to a file of its own and returns the path; `None` if it cannot be kept.
    pub(crate) async fn keep(&self, system: &dyn System, call: &ToolCallId, text: &str) -> Option<AbsPath> {
        let folder = self.folder.as_ref()?;
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' { c } else { '-' };
        let name: String = call.to_string().chars().map(plain).collect();
        let path = folder.join(format!("{name}.txt"));
        if let Err(error) = system.write_own(&path, text.as_bytes()).await {
            tracing::warn!(%error, "a long result is not kept whole");
            return None;
        }
        let oldest = {
            let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
            files.retain(|file| *file != path);
            files.push_back(path.clone());
            if files.len() > WHOLE_FILES { files.pop_front() } else { None }
        };
        if let Some(oldest) = oldest
            && let Err(error) = system.remove(&oldest).await
        {
            tracing::debug!(%error, "an old result stays");
        }
        Some(path)
    }
}
