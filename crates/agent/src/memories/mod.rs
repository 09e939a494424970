//! Memories as the sessions and the user of a project work with them: which of them are visible,
//! who may change them, what may be stored, and what new sessions are sent.

pub(crate) mod draft;
mod recalled;

pub(crate) use recalled::date;

pub use draft::{MemoryDraft, MemoryError};
pub use recalled::RecalledMemories;

use crate::{
    Memories, Memory, MemoryChange, MemoryClass, MemoryId, MemoryKind, MemoryQuery, MemoryScope, NewMemory,
    Redactor, SessionId, Stored,
    limits::{MEMORIES_LISTED, MEMORY_CONTENT_BYTES},
    text::{cut::first_bytes, sanitise::sanitise},
};
use std::sync::Arc;
use system::AbsPath;

/// The settings of memories in a directory.
#[derive(Debug, Clone)]
pub struct MemoryOptions {
    /// Whether sessions use memories (`context.memories`).
    pub enabled: bool,
    /// Whether the user trusts the project's memories: they are sent to models, and a model may
    /// save them without a question.
    pub trusted: bool,
    /// The root of the project: of the repository, or the directory itself, with links resolved.
    /// `None` means the directory of the session.
    pub project: Option<AbsPath>,
    /// The root of the repository as the directory of the session names it, which may contain
    /// links; `None` without a repository.
    pub repository: Option<AbsPath>,
    /// The secrets that must not be stored.
    pub redactor: Redactor,
}

impl Default for MemoryOptions {
    fn default() -> Self {
        Self { enabled: true, trusted: false, project: None, repository: None, redactor: Redactor::default() }
    }
}

/// Who saves or forgets a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryAuthor {
    /// The user, who may change everything that is visible in the project.
    User,
    /// A model. In an untrusted project it may change only that project's memories: content of the
    /// project must not get into the sessions of others.
    Model,
}

/// The memories that are visible in one project: its own, and those that are valid everywhere.
#[derive(Clone)]
pub struct ProjectMemories {
    store: Arc<dyn Memories>,
    project: AbsPath,
    options: MemoryOptions,
    session: Option<SessionId>,
}

impl ProjectMemories {
    /// Creates access to the memories of the project that contains a directory.
    pub fn new(store: Arc<dyn Memories>, directory: &AbsPath, options: MemoryOptions) -> Self {
        let project = options.project.clone().unwrap_or_else(|| directory.clone());
        Self { store, project, options, session: None }
    }

    /// Records this session as the source of what is saved.
    pub fn for_session(mut self, session: &SessionId) -> Self {
        self.session = Some(session.clone());
        self
    }

    /// Returns the root of the project.
    pub fn project(&self) -> &AbsPath {
        &self.project
    }

    /// Returns the settings.
    pub fn options(&self) -> &MemoryOptions {
        &self.options
    }

    /// Returns the scope that is visible in the project.
    pub fn scope(&self) -> MemoryScope {
        MemoryScope::Project(self.project.clone())
    }

    /// Returns the visible memories that match.
    ///
    /// # Errors
    ///
    /// Fails if memories are turned off, or with the error of the store.
    pub async fn find(&self, query: MemoryQuery) -> Result<Vec<Memory>, MemoryError> {
        self.check_enabled()?;
        let limit = query.limit.min(MEMORIES_LISTED);
        Ok(self.store.find(MemoryQuery { scope: self.scope(), limit, ..query }).await?)
    }

    /// Stores a new memory, or changes the one with the draft's id.
    ///
    /// # Errors
    ///
    /// Fails if the draft is invalid, contains a secret, equals another memory or is not permitted
    /// to the author, or with the error of the store. Nothing is stored then.
    pub async fn save(&self, draft: MemoryDraft, author: MemoryAuthor) -> Result<Memory, MemoryError> {
        self.check_enabled()?;
        let before = match draft.id {
            Some(id) => Some(self.changeable(id, author).await?),
            None => None,
        };
        let note = draft.note(before.as_ref(), &self.options.redactor)?;
        self.check_kind(note.kind, author)?;
        let is_user = note.kind == MemoryKind::User;
        let expiry = draft.expiry(&note, before.as_ref());
        let stored = match before {
            None => {
                let project = (!is_user).then(|| self.project.clone());
                let expiry = expiry.unwrap_or(crate::Expiry::Never);
                self.store.add(NewMemory { note, project, session: self.session.clone(), expiry }).await?
            }
            Some(memory) => {
                // A memory of the project that another root has stays there.
                let project = match is_user {
                    true => None,
                    false => Some(memory.project.unwrap_or_else(|| self.project.clone())),
                };
                let change = MemoryChange { note: Some(note), project: Some(project), expiry };
                self.store.change(memory.id, change).await?.ok_or(MemoryError::NotFound(memory.id))?
            }
        };
        match stored {
            Stored::Done(memory) => Ok(memory),
            Stored::Duplicate(existing) => Err(MemoryError::Duplicate(Box::new(existing))),
            Stored::Full(limit) => Err(MemoryError::Full(limit)),
        }
    }

    /// Deletes a memory and returns it.
    ///
    /// # Errors
    ///
    /// Fails if it is not visible or not permitted to the author, or with the error of the store.
    pub async fn forget(&self, id: MemoryId, author: MemoryAuthor) -> Result<Memory, MemoryError> {
        self.check_enabled()?;
        let memory = self.changeable(id, author).await?;
        match self.store.forget(id).await? {
            true => Ok(memory),
            false => Err(MemoryError::NotFound(id)),
        }
    }

    /// Keeps the summary of the session as a working memory, in place of an earlier one. Does
    /// nothing where a model may not save without a question.
    pub(crate) async fn keep_summary(&self, summary: &str, title: &str) -> Result<(), MemoryError> {
        let Some(session) = self.session.as_ref().filter(|_| self.options.enabled && self.options.trusted)
        else {
            return Ok(());
        };
        let short: String = session.as_str().chars().take(8).collect();
        let text = self.options.redactor.redact(&sanitise(summary));
        let draft = MemoryDraft {
            kind: Some(MemoryKind::Project),
            class: Some(MemoryClass::Working),
            title: Some(draft::fitting_title(&format!("Summary of session {short}: {title}"))),
            content: Some(first_bytes(&text, MEMORY_CONTENT_BYTES).to_owned()),
            ..MemoryDraft::default()
        };
        match self.save(draft.clone(), MemoryAuthor::Model).await {
            Err(MemoryError::Duplicate(earlier)) if earlier.session.as_ref() == Some(session) => {
                let draft = MemoryDraft { id: Some(earlier.id), renews: true, ..draft };
                self.save(draft, MemoryAuthor::Model).await.map(drop)
            }
            saved => saved.map(drop),
        }
    }

    /// Records that memories were sent to a model. A failure costs only the time that is shown.
    pub(crate) async fn record_surfaced(&self, ids: Vec<MemoryId>) {
        if let Err(error) = self.store.surfaced(ids).await {
            tracing::warn!(%error, "the times of the memories were not recorded");
        }
    }

    /// Returns a visible memory that the author may change.
    async fn changeable(&self, id: MemoryId, author: MemoryAuthor) -> Result<Memory, MemoryError> {
        let memory = self.store.get(id).await?.ok_or(MemoryError::NotFound(id))?;
        if !self.scope().includes(memory.project.as_ref()) {
            return Err(MemoryError::NotFound(id));
        }
        let kind = if memory.project.is_none() { MemoryKind::User } else { memory.note.kind };
        self.check_kind(kind, author)?;
        Ok(memory)
    }

    fn check_kind(&self, kind: MemoryKind, author: MemoryAuthor) -> Result<(), MemoryError> {
        match author {
            MemoryAuthor::Model if kind == MemoryKind::User && !self.options.trusted => {
                Err(MemoryError::Untrusted(self.project.clone()))
            }
            _ => Ok(()),
        }
    }

    fn check_enabled(&self) -> Result<(), MemoryError> {
        if self.options.enabled { Ok(()) } else { Err(MemoryError::Off) }
    }
}

/// What a session can recall: memories, and earlier sessions.
#[derive(Clone)]
pub struct Recall {
    /// The memories; `None` if the session's store keeps none.
    pub memories: Option<ProjectMemories>,
    /// The store of the sessions.
    pub sessions: Arc<dyn crate::SessionStore>,
    /// The session itself.
    pub session: SessionId,
    /// Its directory.
    pub directory: AbsPath,
    /// The root of the repository that contains the directory.
    pub repository: Option<AbsPath>,
    /// The secrets that no result may contain.
    pub redactor: Redactor,
}

impl Recall {
    /// Creates access for a session in a directory.
    pub(crate) fn new(
        sessions: Arc<dyn crate::SessionStore>,
        session: &SessionId,
        directory: &AbsPath,
        options: &MemoryOptions,
    ) -> Self {
        let memories = sessions
            .memories()
            .map(|store| ProjectMemories::new(store, directory, options.clone()).for_session(session));
        let (session, directory) = (session.clone(), directory.clone());
        let (repository, redactor) = (options.repository.clone(), options.redactor.clone());
        Self { memories, sessions, session, directory, repository, redactor }
    }

    /// Returns whether a session in a directory belongs to the project: it is in the same
    /// repository, or without one in the same directory.
    pub(crate) fn is_in_project(&self, directory: &AbsPath) -> bool {
        match &self.repository {
            Some(root) => directory.starts_with(root),
            None => *directory == self.directory,
        }
    }

    /// Returns the memories.
    ///
    /// # Errors
    ///
    /// Fails if the session's store keeps none.
    pub fn memories(&self) -> Result<&ProjectMemories, MemoryError> {
        self.memories.as_ref().ok_or(MemoryError::Off)
    }
}

#[cfg(test)]
mod tests;
