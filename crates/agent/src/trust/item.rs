//! The items that trust is given to.

use super::{TrustRecord, files::Covered};
use system::{AbsPath, FileId};

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    /// The settings of a project that do more than tighten restrictions, except hooks.
    Settings,
    /// A hook in the project's settings.
    Hook,
    /// An MCP server in a file of the project.
    Server,
    /// A skill of the project: a directory with a SKILL.md.
    Skill,
    /// A slash command in a Markdown file of the project.
    Command,
}

impl ItemKind {
    /// Returns the name of the kind.
    pub fn word(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Hook => "hook",
            Self::Server => "server",
            Self::Skill => "skill",
            Self::Command => "command",
        }
    }

    /// Whether the hash that older versions kept of a whole directory covered items of this kind.
    fn is_of_first_version(self) -> bool {
        match self {
            Self::Settings | Self::Hook | Self::Server => true,
            Self::Skill | Self::Command => false,
        }
    }
}

/// A part of a project that can execute, redirect or instruct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustItem {
    /// Its kind.
    pub kind: ItemKind,
    /// The file that describes it, relative to the directory.
    pub source: String,
    /// Its name, unique for its kind in that file.
    pub name: String,
    /// All parts of its description that determine its effect.
    pub parts: Vec<String>,
    /// Its words that may name files of the project; such files belong to it.
    pub words: Vec<String>,
    /// A directory all of whose files belong to it: a path without links, inside the project.
    pub tree: Option<AbsPath>,
    /// Its description for the user, line by line; not yet sanitised for a terminal.
    pub shown: Vec<String>,
}

impl TrustItem {
    /// Returns the identifier used in records and by programs; it depends only on kind, file and
    /// name.
    pub fn id(&self) -> String {
        format!("{}:{}#{}", self.kind.word(), self.source, self.name)
    }

    /// Returns a hash of everything that determines what the item does, and of the directory that
    /// it is in: another one in its place does not inherit its trust.
    fn hash(&self, covered: &Covered, folder: Option<FileId>) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(b"tiller trust item 2");
        // Devices get other numbers when a machine starts.
        let folder = folder.map(|id| format!("{} {}", id.inode, id.created.unwrap_or_default()));
        part(folder.unwrap_or_default().as_bytes());
        part(self.id().as_bytes());
        part(self.parts.len().to_string().as_bytes());
        self.parts.iter().for_each(|text| part(text.as_bytes()));
        for (name, bytes) in covered {
            part(name.as_bytes());
            part(bytes);
        }
        hasher.finalize().to_hex().to_string()
    }
}

/// The trust state of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustState {
    /// It matches what was trusted.
    Trusted,
    /// It was never trusted, or its trust was revoked.
    Untrusted,
    /// It has changed since it was trusted.
    Changed,
    /// Its effect cannot be determined; holds the reason.
    Unknown(String),
}

impl TrustState {
    /// Returns the name of the state.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Changed => "changed",
            Self::Unknown(_) => "unknown",
        }
    }

    /// Returns why the item is not usable, in a few words; `None` if it is trusted.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Trusted => None,
            Self::Untrusted => Some("not trusted (`tiller trust`)".to_owned()),
            Self::Changed => Some("it has changed since it was trusted (`tiller trust`)".to_owned()),
            Self::Unknown(why) => Some(format!("its effect cannot be determined: {why}")),
        }
    }
}

/// An item with its current trust state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckedItem {
    /// The item.
    pub item: TrustItem,
    /// The project files that belong to it, with their sizes in bytes.
    pub files: Vec<(String, usize)>,
    /// The hash that trust would be given to; `None` if it cannot be computed.
    pub hash: Option<String>,
    /// The trust state.
    pub state: TrustState,
}

impl CheckedItem {
    pub(super) fn of(
        item: TrustItem,
        covered: Result<Covered, String>,
        folder: Option<FileId>,
        known: Result<&(TrustRecord, bool), &String>,
    ) -> Self {
        let covered = match covered {
            Ok(covered) => covered,
            Err(why) => {
                return Self { item, files: Vec::new(), hash: None, state: TrustState::Unknown(why) };
            }
        };
        let hash = item.hash(&covered, folder);
        let state = match known {
            Err(why) => TrustState::Unknown(why.clone()),
            Ok((record, whole)) => match record.items.get(&item.id()) {
                Some(known) if *known == hash => TrustState::Trusted,
                _ if *whole && item.kind.is_of_first_version() => TrustState::Trusted,
                Some(_) => TrustState::Changed,
                None if record.whole.is_some() && item.kind.is_of_first_version() => TrustState::Changed,
                None => TrustState::Untrusted,
            },
        };
        let files = covered.into_iter().map(|(name, bytes)| (name, bytes.len())).collect();
        Self { item, files, hash: Some(hash), state }
    }

    /// Whether it is trusted.
    pub fn is_trusted(&self) -> bool {
        self.state == TrustState::Trusted
    }
}
