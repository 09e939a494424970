//! Sessions whose project was moved or renamed.

use super::Runtime;
use crate::{SessionError, SessionId, SessionRecord};
use system::AbsPath;

impl Runtime {
    /// Moves a session to another directory, where its project is now. Its additional directories
    /// below the old one move too. Nothing is done to files.
    ///
    /// # Errors
    /// If the session is open, in this process or in another one, or does not exist.
    pub async fn move_session(&self, id: &SessionId, to: &AbsPath) -> Result<(), SessionError> {
        let _one_at_a_time = self.locks.lock(id).await;
        let record = self.store.get(id).await?;
        if let Some(root) = self.store.parent(id).await? {
            return Err(SessionError::Subagent { session: id.clone(), root });
        }
        if self.find(id).is_some() {
            return Err(SessionError::AtWork(id.clone()));
        }
        let moved = moved(&record, to);
        let log = self.log(self.store.acquire(id, false).await?);
        let done = async {
            if moved.additional_directories != record.additional_directories {
                log.set_directories(moved.additional_directories).await?;
            }
            log.set_cwd(moved.cwd).await
        };
        let done = done.await;
        log.give_back().await;
        Ok(done?)
    }
}

/// Returns a record with the directories after a move of the session's own.
pub(super) fn moved(record: &SessionRecord, to: &AbsPath) -> SessionRecord {
    let place = |path: &AbsPath| match path.relative_to(&record.cwd) {
        Some("") => to.clone(),
        Some(below) => to.join(below),
        None => path.clone(),
    };
    let additional_directories = record.additional_directories.iter().map(place).collect();
    SessionRecord { cwd: to.clone(), additional_directories, ..record.clone() }
}
