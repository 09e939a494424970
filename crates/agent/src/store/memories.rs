//! The interface to the storage of memories: notes of one session that later sessions can use.

use crate::{SessionId, StoreError};
use async_trait::async_trait;
use std::{fmt, str::FromStr};
use system::AbsPath;

/// The storage of memories.
///
/// Contract: an acknowledged change is on disk, except the times that [`Memories::surfaced`]
/// records. Expired memories are not returned unless a query asks for them.
#[async_trait]
pub trait Memories: Send + Sync {
    /// Stores a memory, unless the same scope has one with an equal title or an equal content.
    async fn add(&self, memory: NewMemory) -> Result<Stored, StoreError>;

    /// Changes a memory, unless it would become equal to another; `None` if it does not exist.
    async fn change(&self, id: MemoryId, change: MemoryChange) -> Result<Option<Stored>, StoreError>;

    /// Returns a memory, expired or not; `None` if it does not exist.
    async fn get(&self, id: MemoryId) -> Result<Option<Memory>, StoreError>;

    /// Deletes a memory permanently; returns whether it existed.
    async fn forget(&self, id: MemoryId) -> Result<bool, StoreError>;

    /// Returns the memories that match: the best match first, without words the one with the
    /// highest [`Memory::weight`].
    async fn find(&self, query: MemoryQuery) -> Result<Vec<Memory>, StoreError>;

    /// Records that these memories were sent to a model now.
    async fn surfaced(&self, ids: Vec<MemoryId>) -> Result<(), StoreError>;
}

/// The number of a memory, unique in its store; shown as `#12`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryId(pub u64);

impl fmt::Display for MemoryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{}", self.0)
    }
}

/// A text that is not the number of a memory.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the number of a memory; write it as #12 or 12")]
pub struct NotAMemoryId(String);

impl FromStr for MemoryId {
    type Err = NotAMemoryId;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text.trim().strip_prefix('#').unwrap_or(text.trim());
        // The largest number that the store can hold.
        let number = digits.parse().ok().filter(|number| (1..=i64::MAX as u64).contains(number));
        number.map(Self).ok_or_else(|| NotAMemoryId(text.to_owned()))
    }
}

/// What a memory is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum MemoryKind {
    /// A fact about a project.
    Project,
    /// A fact about the user, valid in every project.
    User,
    /// A decision that was made in a project.
    Decision,
}

impl MemoryKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Project, Self::User, Self::Decision];

    /// Returns the name.
    pub fn id(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::User => "user",
            Self::Decision => "decision",
        }
    }

    /// Returns its share of [`Memory::weight`].
    pub fn weight(self) -> i64 {
        match self {
            Self::Decision => 35,
            Self::Project => 30,
            Self::User => 25,
        }
    }
}

impl FromStr for MemoryKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|kind| kind.id() == text);
        known.ok_or_else(|| format!("Invalid memory type: '{text}'. Valid: project, user, decision"))
    }
}

/// How long a memory is meant to be useful.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum MemoryClass {
    /// Until it is forgotten.
    #[default]
    Durable,
    /// For the current work; expires after 14 days unless another time is given.
    Working,
    /// Until it is forgotten, and more important than the others.
    Priority,
}

impl MemoryClass {
    /// All classes.
    pub const ALL: [Self; 3] = [Self::Durable, Self::Working, Self::Priority];

    /// Returns the name.
    pub fn id(self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Working => "working",
            Self::Priority => "priority",
        }
    }

    /// Returns its share of [`Memory::weight`].
    pub fn weight(self) -> i64 {
        match self {
            Self::Priority => 80,
            Self::Durable => 50,
            Self::Working => 20,
        }
    }
}

impl FromStr for MemoryClass {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|class| class.id() == text);
        known.ok_or_else(|| format!("Invalid memory class: '{text}'. Valid: durable, working, priority"))
    }
}

/// What a pinned memory adds to [`Memory::weight`].
pub const PINNED_WEIGHT: i64 = 40;

/// What is remembered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryNote {
    /// What it is about.
    pub kind: MemoryKind,
    /// How long it is meant to be useful.
    pub class: MemoryClass,
    /// One line.
    pub title: String,
    /// The text.
    pub content: String,
    /// Whether the user wants it to come first.
    pub pinned: bool,
}

/// A stored memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Memory {
    /// Its number.
    pub id: MemoryId,
    /// What is remembered.
    pub note: MemoryNote,
    /// The root of the project that it belongs to; `None` for one that is valid everywhere.
    pub project: Option<AbsPath>,
    /// The session that saved it, if any.
    pub session: Option<SessionId>,
    /// When it was created, changed and used, and when it ends.
    pub times: MemoryTimes,
}

impl Memory {
    /// Returns how important it is, without regard to a prompt.
    pub fn weight(&self) -> i64 {
        let pinned = if self.note.pinned { PINNED_WEIGHT } else { 0 };
        self.note.class.weight() + self.note.kind.weight() + pinned
    }

    /// Returns its number, title, type and class: `#3: Use tabs (project/durable)`.
    pub fn headline(&self) -> String {
        let MemoryNote { kind, class, title, .. } = &self.note;
        format!("{}: {title} ({}/{})", self.id, kind.id(), class.id())
    }
}

/// When a memory was created, changed and used, and when it ends: in milliseconds since the epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryTimes {
    /// When it was created.
    pub created_at: i64,
    /// When it was last changed.
    pub updated_at: i64,
    /// When it was last sent to a model.
    pub surfaced_at: Option<i64>,
    /// When it expires; `None` means never.
    pub expires_at: Option<i64>,
}

/// When a memory expires, counted from the moment it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// Never.
    Never,
    /// After this many days.
    Days(u32),
}

/// A memory to be stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMemory {
    /// What is remembered.
    pub note: MemoryNote,
    /// The root of its project; `None` for one that is valid everywhere.
    pub project: Option<AbsPath>,
    /// The session that saves it, if any.
    pub session: Option<SessionId>,
    /// When it expires.
    pub expiry: Expiry,
}

/// A change of a memory; `None` leaves a part as it is.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryChange {
    /// The new note.
    pub note: Option<MemoryNote>,
    /// The new project: `Some(None)` makes it valid everywhere.
    pub project: Option<Option<AbsPath>>,
    /// The new expiry.
    pub expiry: Option<Expiry>,
}

/// The outcome of adding or changing a memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stored {
    /// It is stored.
    Done(Memory),
    /// Nothing was stored: this memory of the same scope has an equal title or an equal content.
    Duplicate(Memory),
    /// Nothing was stored: the scope has as many memories as the store keeps of one scope.
    Full(usize),
}

/// Which memories a query considers.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum MemoryScope {
    /// All.
    #[default]
    All,
    /// Those that are valid everywhere.
    User,
    /// Those that are valid everywhere, and those of the project with this root.
    Project(AbsPath),
}

impl MemoryScope {
    /// Returns whether the scope includes memories of a project, or those valid everywhere.
    pub fn includes(&self, project: Option<&AbsPath>) -> bool {
        match (self, project) {
            (Self::All, _) | (_, None) => true,
            (Self::User, Some(_)) => false,
            (Self::Project(root), Some(project)) => root == project,
        }
    }
}

/// A query for memories.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MemoryQuery {
    /// Which memories are considered.
    pub scope: MemoryScope,
    /// Only those about this.
    pub kind: Option<MemoryKind>,
    /// Only those of this class.
    pub class: Option<MemoryClass>,
    /// Words that must occur in the title or the content, each as a whole word or a prefix; case
    /// and accents are ignored. Without a word, everything matches.
    pub text: String,
    /// Whether one of the words is enough.
    pub any_word: bool,
    /// Whether expired memories are returned too.
    pub expired: bool,
    /// The maximum number of memories.
    pub limit: usize,
}

/// Returns the forms of a title and of a content by which two memories are compared: without regard
/// to case, punctuation and white space.
pub fn memory_keys(note: &MemoryNote) -> (String, String) {
    let folded = |text: &str| {
        let words = super::search::words(text).join(" ");
        if words.is_empty() { text.trim().to_owned() } else { words }
    };
    (folded(&note.title), blake3::hash(folded(&note.content).as_bytes()).to_hex().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_with_and_without_its_mark() {
        for (text, id) in
            [("#12", Some(12)), (" 7 ", Some(7)), ("#0", None), ("", None), ("#-1", None), ("x", None)]
        {
            assert_eq!(text.parse().ok(), id.map(MemoryId), "{text}");
        }
        assert!("99999999999999999999".parse::<MemoryId>().is_err());
    }

    #[test]
    fn memories_are_compared_without_case_punctuation_and_white_space() {
        let note = |title: &str, content: &str| {
            let (kind, class) = (MemoryKind::User, MemoryClass::Durable);
            memory_keys(&MemoryNote {
                kind,
                class,
                title: title.into(),
                content: content.into(),
                pinned: false,
            })
        };
        assert_eq!(note("Use  tabs!", "Never\nspaces."), note("use tabs", "never spaces"));
        assert_ne!(note("a", "never spaces").1, note("a", "never tabs").1);
        assert_ne!(note("!", "a").0, note("?", "a").0);
    }
}
