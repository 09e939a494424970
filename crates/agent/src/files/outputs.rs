//! Long results as a whole: on disk, where the model can read what its result leaves out.

use crate::{ToolCallId, limits::WHOLE_FILES};
use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
};
use system::{AbsPath, System};

/// The files of one session that hold long results of calls whole. They lie beside the session's
/// temporary files, readable by the user only; the agent's tools read them without a question and
/// nothing writes to them. At most 32 are kept of one run, and what is left is swept with the
/// temporary files of sessions that were not used for a week.
#[derive(Debug, Default)]
pub struct Outputs {
    folder: Option<AbsPath>,
    files: Mutex<VecDeque<AbsPath>>,
}

impl Outputs {
    /// Keeps them in a folder; without one nothing is kept.
    pub(crate) fn new(folder: Option<AbsPath>) -> Self {
        Self { folder, files: Mutex::default() }
    }

    /// Writes a result to a file of its own and tells where; `None` where nothing can be kept.
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
