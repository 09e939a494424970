//! Sessions whose project was moved or renamed.

use super::Runtime;
use crate::{
    FolderIdentity, KnownFolder, SessionError, SessionId, SessionRecord, files::identity::folder_facts,
};
use system::{AbsPath, System};

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

    /// Adds those of the known directories that are `cwd` by another path, or were it and do not
    /// exist any more.
    pub(super) async fn add_spellings(
        &self,
        system: &dyn System,
        cwd: &AbsPath,
        mut known: Vec<KnownFolder>,
        spellings: &mut Vec<AbsPath>,
    ) {
        known.retain(|known| known.path != *cwd);
        let Ok(real) = system.resolve(cwd).await else { return };
        let paths: Vec<_> = known.iter().map(|known| known.path.clone()).collect();
        let found = system.metadata_of(&paths).await;
        let mut gone = Vec::new();
        for (KnownFolder { path, identity }, found) in known.into_iter().zip(found) {
            match found {
                Ok(_) if system.resolve(&path).await.is_ok_and(|known| known == real) => spellings.push(path),
                Err(error) if error.is_not_found() => gone.extend(identity.map(|was| (path, was))),
                _ => {}
            }
        }
        if gone.is_empty() {
            return;
        }
        let shared = self.settings.of(Some(cwd)).await.map(|options| options.sandbox.shared.clone());
        let now = folder_facts(system, cwd, &shared.unwrap_or_default()).await.identity;
        let is_former = |was: &FolderIdentity| now.as_ref().is_some_and(|now| now.is_same(was));
        spellings.extend(gone.into_iter().filter(|(_, was)| is_former(was)).map(|(path, _)| path));
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
