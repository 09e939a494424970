//! What trust is given to.

use super::{TrustRecord, files::Covered};

/// What kind of thing an item is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ItemKind {
    /// The settings of a project that do more than tighten, but for hooks.
    Settings,
    /// A hook of the project's settings.
    Hook,
    /// An MCP server of a file of the project.
    Server,
}

impl ItemKind {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Settings => "settings",
            Self::Hook => "hook",
            Self::Server => "server",
        }
    }
}

/// Something of a project that can execute or redirect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrustItem {
    /// What it is.
    pub kind: ItemKind,
    /// The file that describes it, relative to the folder.
    pub source: String,
    /// Its name among those of its kind in that file.
    pub name: String,
    /// All of its description that decides what it does.
    pub parts: Vec<String>,
    /// The words of it that may name files of the project; such files belong to it.
    pub words: Vec<String>,
    /// Its description as a person is shown it, line by line; not yet cleaned for a terminal.
    pub shown: Vec<String>,
}

impl TrustItem {
    /// What it is called in records and by programs: the same for as long as its kind, file and name are.
    pub fn id(&self) -> String {
        format!("{}:{}#{}", self.kind.word(), self.source, self.name)
    }

    fn hash(&self, covered: &Covered) -> String {
        let mut hasher = blake3::Hasher::new();
        let mut part = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        part(b"tiller trust item 1");
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

/// What is to be said of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TrustState {
    /// It is what was trusted.
    Trusted,
    /// It was never trusted, or is not any more.
    Untrusted,
    /// It was trusted when it was another.
    Changed,
    /// It cannot be told what it would do; why, in words.
    Unknown(String),
}

impl TrustState {
    /// Its word.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Trusted => "trusted",
            Self::Untrusted => "untrusted",
            Self::Changed => "changed",
            Self::Unknown(_) => "unknown",
        }
    }

    /// What stands in the way, in a few words; `None` when nothing does.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Trusted => None,
            Self::Untrusted => Some("not trusted (`tiller trust`)".to_owned()),
            Self::Changed => Some("it has changed since it was trusted (`tiller trust`)".to_owned()),
            Self::Unknown(why) => Some(format!("it cannot be told what it would do: {why}")),
        }
    }
}

/// An item as it is now, and what is to be said of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The item.
    pub item: TrustItem,
    /// The files of the project that belong to it, with their sizes in bytes.
    pub files: Vec<(String, usize)>,
    /// What trust would be given to; `None` when that cannot be told.
    pub hash: Option<String>,
    /// What is to be said of it.
    pub state: TrustState,
}

impl Judged {
    pub(super) fn of(
        item: TrustItem,
        covered: Result<Covered, String>,
        known: Result<&(TrustRecord, bool), &String>,
    ) -> Self {
        let covered = match covered {
            Ok(covered) => covered,
            Err(why) => {
                return Self { item, files: Vec::new(), hash: None, state: TrustState::Unknown(why) };
            }
        };
        let hash = item.hash(&covered);
        let state = match known {
            Err(why) => TrustState::Unknown(why.clone()),
            Ok((record, whole)) => match record.items.get(&item.id()) {
                Some(known) if *known == hash => TrustState::Trusted,
                _ if *whole => TrustState::Trusted,
                Some(_) => TrustState::Changed,
                None if record.whole.is_some() => TrustState::Changed,
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
