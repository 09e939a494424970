//! A memory that is to be saved: what is missing is completed, what is invalid is refused.

use crate::{
    Expiry, Memory, MemoryClass, MemoryId, MemoryKind, MemoryNote, Redactor, StoreError,
    limits::{MEMORY_CONTENT_BYTES, MEMORY_TITLE_CHARS, WORKING_MEMORY_DAYS},
    text::sanitise::{label, sanitise},
};
use system::AbsPath;

/// A new memory, or a change of one: a missing part is completed or left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryDraft {
    /// The memory to change; a new one without it.
    pub id: Option<MemoryId>,
    /// What it is about; required for a new one.
    pub kind: Option<MemoryKind>,
    /// Its class; durable if it is new.
    pub class: Option<MemoryClass>,
    /// Its title; required for a new one.
    pub title: Option<String>,
    /// Its text; required for a new one.
    pub content: Option<String>,
    /// Whether it comes first.
    pub pinned: Option<bool>,
    /// After how many days it expires; 0 means never.
    pub expires_days: Option<u32>,
    /// Whether the time of a working memory begins anew.
    pub renews: bool,
}

/// Why a memory was not saved, found or forgotten. The texts are for models and for users.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// Memories are turned off, or this session's store keeps none.
    #[error(
        "Memories are not available in this session: the setting context.memories turns them off, or the session is not stored."
    )]
    Off,
    /// There is no such memory, or it belongs to another project.
    #[error("Memory {0} not found.")]
    NotFound(MemoryId),
    /// An equal memory exists.
    #[error(
        "Memory {} has the same title or content, so nothing was saved. To change it, save with its id.",
        .0.headline()
    )]
    Duplicate(Box<Memory>),
    /// The scope is full.
    #[error(
        "There are {0} memories of this scope already, so nothing was saved. Forget some that are out of date first."
    )]
    Full(usize),
    /// A model would change a memory that is valid everywhere from an untrusted project.
    #[error(
        "{0} is not trusted with memories, so only memories of the types project and decision can be saved or forgotten from it. Nothing was changed. The user can trust it: `tiller memory trust`."
    )]
    Untrusted(AbsPath),
    /// A required part is missing or blank.
    #[error("{0} cannot be empty.")]
    Empty(&'static str),
    /// A part is too long.
    #[error("The {what} is {length} {unit} long, and the limit is {limit}: shorten it.")]
    TooLong {
        /// The part.
        what: &'static str,
        /// Its length.
        length: usize,
        /// The unit of both.
        unit: &'static str,
        /// The limit.
        limit: usize,
    },
    /// The text contains a secret.
    #[error(
        "The {0} contains what looks like a password or a key, and memories are sent to models. Nothing was saved: leave it out."
    )]
    Secret(&'static str),
    /// The store failed.
    #[error("The memories cannot be read or written: {0}")]
    Store(#[from] StoreError),
}

impl MemoryDraft {
    /// Returns the note of a new memory.
    ///
    /// # Errors
    ///
    /// Fails if a part is missing, too long or contains a secret.
    pub fn complete(&self, redactor: &Redactor) -> Result<MemoryNote, MemoryError> {
        self.note(None, redactor)
    }

    /// Returns the complete note.
    pub(super) fn note(
        &self,
        before: Option<&Memory>,
        redactor: &Redactor,
    ) -> Result<MemoryNote, MemoryError> {
        let before = before.map(|memory| &memory.note);
        let title = match (&self.title, before) {
            (Some(title), _) => checked_title(title, redactor)?,
            (None, Some(before)) => before.title.clone(),
            (None, None) => return Err(MemoryError::Empty("title")),
        };
        let content = match (&self.content, before) {
            (Some(content), _) => checked_content(content, redactor)?,
            (None, Some(before)) => before.content.clone(),
            (None, None) => return Err(MemoryError::Empty("content")),
        };
        let kind = self.kind.or(before.map(|before| before.kind)).ok_or(MemoryError::Empty("type"))?;
        let class = self.class.or(before.map(|before| before.class)).unwrap_or_default();
        let pinned = self.pinned.or(before.map(|before| before.pinned)).unwrap_or_default();
        Ok(MemoryNote { kind, class, title, content, pinned })
    }

    /// Returns when the memory expires; `None` leaves it as it is.
    pub(super) fn expiry(&self, note: &MemoryNote, before: Option<&Memory>) -> Option<Expiry> {
        let was_working = before.map(|memory| memory.note.class == MemoryClass::Working);
        match (self.expires_days, note.class) {
            (Some(0), _) => Some(Expiry::Never),
            (Some(days), _) => Some(Expiry::Days(days)),
            (None, MemoryClass::Working) if self.renews || was_working != Some(true) => {
                Some(Expiry::Days(WORKING_MEMORY_DAYS))
            }
            (None, class) if class != MemoryClass::Working && was_working == Some(true) => {
                Some(Expiry::Never)
            }
            (None, _) => None,
        }
    }
}

/// Returns a text as one line that fits into a title.
pub(super) fn fitting_title(text: &str) -> String {
    label(text, MEMORY_TITLE_CHARS)
}

fn checked_title(title: &str, redactor: &Redactor) -> Result<String, MemoryError> {
    let title = label(title, usize::MAX);
    if title.is_empty() {
        return Err(MemoryError::Empty("title"));
    }
    let length = title.chars().count();
    if length > MEMORY_TITLE_CHARS {
        let (what, unit, limit) = ("title", "characters", MEMORY_TITLE_CHARS);
        return Err(MemoryError::TooLong { what, length, unit, limit });
    }
    without_secret("title", title, redactor)
}

fn checked_content(content: &str, redactor: &Redactor) -> Result<String, MemoryError> {
    let content = sanitise(content).trim().to_owned();
    if content.is_empty() {
        return Err(MemoryError::Empty("content"));
    }
    if content.len() > MEMORY_CONTENT_BYTES {
        let (what, unit, limit) = ("content", "bytes", MEMORY_CONTENT_BYTES);
        return Err(MemoryError::TooLong { what, length: content.len(), unit, limit });
    }
    without_secret("content", content, redactor)
}

fn without_secret(what: &'static str, text: String, redactor: &Redactor) -> Result<String, MemoryError> {
    if redactor.redact(&text) == text { Ok(text) } else { Err(MemoryError::Secret(what)) }
}
