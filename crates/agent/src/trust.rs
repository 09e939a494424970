//! Whether a folder may execute and redirect: settings that a project brings, servers, hooks, skills, variables.
//!
//! Trust is given to what was there when it was given, not to a name: one changed byte and the folder is as good as unknown again. Whoever is about
//! to use such a file asks here, and uses the bytes that it gets from here; what is read again later may be something else.

use crate::{
    found_rules,
    limits::{TRUST_BYTES, TRUST_DEPTH, TRUST_FILES},
};
use async_trait::async_trait;
use std::{collections::BTreeMap, sync::Arc};
use system::{AbsPath, FileKind, FoundRules, System, SystemError, read_found, resolve_inside};

/// What of a folder can execute or redirect, relative to it: files, and folders with all in them.
pub const TRUST_PLACES: [&str; 8] = [
    ".tiller",
    ".mcp.json",
    ".vscode/mcp.json",
    ".cursor/mcp.json",
    ".env",
    ".envrc",
    ".agents",
    ".claude/skills",
];

/// Where it is kept which folders are trusted.
#[async_trait]
pub trait TrustRecords: Send + Sync {
    /// The hash of the content that was trusted in a folder (its path has no links), if any was.
    async fn trusted(&self, folder: &AbsPath) -> Option<String>;
}

/// Tells of folders whether they are trusted. Cheap to clone; looks each time.
#[derive(Clone)]
pub struct FolderTrust {
    system: Arc<dyn System>,
    records: Arc<dyn TrustRecords>,
}

/// What is to be said of a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// It holds nothing that could execute or redirect.
    Empty,
    /// It holds what was trusted, and nothing else.
    Trusted(TrustContent),
    /// It was never trusted.
    Untrusted(TrustContent),
    /// It was trusted with another content.
    Changed(TrustContent),
    /// It cannot be told what it holds; why, in words.
    Unknown(String),
}

/// The files of a folder that can execute or redirect.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TrustContent {
    files: BTreeMap<String, Vec<u8>>,
}

impl Trust {
    /// The content, if it may be used.
    pub fn content(&self) -> Option<&TrustContent> {
        match self {
            Self::Trusted(content) => Some(content),
            _ => None,
        }
    }

    /// What stands in the way, in a few words; `None` when nothing does.
    pub fn problem(&self) -> Option<String> {
        match self {
            Self::Empty | Self::Trusted(_) => None,
            Self::Untrusted(_) => Some("this folder is not trusted (`tiller trust`)".to_owned()),
            Self::Changed(_) => Some(
                "what this folder can execute has changed since it was trusted (`tiller trust`)".to_owned(),
            ),
            Self::Unknown(why) => Some(format!("it cannot be told what this folder can execute: {why}")),
        }
    }
}

impl FolderTrust {
    /// Looks at folders through `system`, which must read the disk of this machine.
    pub fn new(system: Arc<dyn System>, records: Arc<dyn TrustRecords>) -> Self {
        Self { system, records }
    }

    /// Whether a folder is trusted with what it holds now.
    pub async fn of(&self, folder: &AbsPath) -> Trust {
        let content = match TrustContent::read(self.system.as_ref(), folder).await {
            Ok(content) => content,
            Err(why) => return Trust::Unknown(why),
        };
        if content.files.is_empty() {
            return Trust::Empty;
        }
        // A link to a folder is that folder.
        let folder = self.system.resolve(folder).await.unwrap_or_else(|_| folder.clone());
        match self.records.trusted(&folder).await {
            None => Trust::Untrusted(content),
            Some(hash) if hash == content.hash() => Trust::Trusted(content),
            Some(_) => Trust::Changed(content),
        }
    }
}

impl TrustContent {
    /// Reads what a folder holds. The error says what cannot be read, or that there is too much of it.
    pub async fn read(system: &dyn System, folder: &AbsPath) -> Result<Self, String> {
        let mut content = Self::default();
        // Nothing of these is shown or sent: `.env` is only compared with what it was.
        let rules = FoundRules { any_name: true, ..found_rules(folder, &[], TRUST_BYTES) };
        let mut bytes = 0;
        let mut level: Vec<_> = TRUST_PLACES.iter().map(|place| folder.join(place)).collect();
        for depth in 0.. {
            // One look at all of a level: most folders have nothing of this at all.
            let looks = system.metadata_of(&level).await;
            let mut below = Vec::new();
            for (at, (path, found)) in level.iter().zip(looks).enumerate() {
                // Links are followed: what counts is what would be executed.
                let kind = match found {
                    Ok(found) => found.kind,
                    Err(error) if error.is_not_found() => continue,
                    Err(error) => return Err(error.to_string()),
                };
                let name = path.relative_to(folder).unwrap_or(path.as_str()).to_owned();
                match kind {
                    FileKind::Directory if depth == TRUST_DEPTH => {
                        return Err(format!("{name} is nested too deeply"));
                    }
                    FileKind::Directory => {
                        resolve_inside(system, folder, path).await.map_err(|error| error.to_string())?;
                        let entries = system.read_dir(path).await.map_err(|error| error.to_string())?;
                        below.extend(entries.into_iter().map(|entry| entry.path));
                    }
                    FileKind::File => {
                        let read = read_found(system, folder, path, &rules).await;
                        let Some(text) = read.map_err(|error: SystemError| error.to_string())? else {
                            continue;
                        };
                        bytes += text.len();
                        content.files.insert(name, text);
                    }
                    FileKind::Other => return Err(format!("{name} is no regular file")),
                }
                let left = level.len() - at - 1;
                if content.files.len() + below.len() + left > TRUST_FILES || bytes > TRUST_BYTES {
                    return Err(format!("it is more than {TRUST_FILES} files or {TRUST_BYTES} bytes"));
                }
            }
            if below.is_empty() {
                break;
            }
            level = below;
        }
        Ok(content)
    }

    /// What trust is given to: names and bytes, in one hash.
    pub fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (name, bytes) in &self.files {
            for part in [name.as_bytes(), bytes] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        hasher.finalize().to_hex().to_string()
    }

    /// The names of the files, relative to the folder.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The bytes of a file, by its name relative to the folder.
    pub fn file(&self, name: &str) -> Option<&[u8]> {
        self.files.get(name).map(Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use system::FakeSystem;

    #[derive(Default)]
    struct Records(Mutex<BTreeMap<String, String>>);

    #[async_trait]
    impl TrustRecords for Records {
        async fn trusted(&self, folder: &AbsPath) -> Option<String> {
            self.0.lock().unwrap().get(folder.as_str()).cloned()
        }
    }

    /// A folder, and a function that trusts what is in it now.
    async fn folder() -> (Arc<FakeSystem>, Arc<Records>, FolderTrust, AbsPath) {
        let system = Arc::new(FakeSystem::new());
        system.add_dir("/w");
        let records = Arc::new(Records::default());
        let trust = FolderTrust::new(system.clone(), records.clone());
        (system, records, trust, AbsPath::new("/w").unwrap())
    }

    async fn give(system: &FakeSystem, records: &Records, folder: &AbsPath) {
        let hash = TrustContent::read(system, folder).await.unwrap().hash();
        records.0.lock().unwrap().insert(folder.as_str().to_owned(), hash);
    }

    #[tokio::test]
    async fn s07_a_change_of_what_can_execute_takes_the_trust_away() {
        let (system, records, trust, w) = folder().await;
        system.add_file("/w/src/main.rs", "fn main() {}");
        assert_eq!(trust.of(&w).await, Trust::Empty);
        system.add_file("/w/.mcp.json", "{}");
        system.add_file("/w/.tiller/hooks/check.sh", "true");
        assert!(matches!(trust.of(&w).await, Trust::Untrusted(_)));
        give(&system, &records, &w).await;
        let trusted = trust.of(&w).await;
        assert_eq!(trusted.content().unwrap().file(".mcp.json"), Some(&b"{}"[..]));
        // What cannot execute may change.
        system.add_file("/w/src/main.rs", "fn main() { loop {} }");
        assert_eq!(trust.of(&w).await, trusted);
        for place in [
            ".mcp.json",
            ".vscode/mcp.json",
            ".cursor/mcp.json",
            ".env",
            ".tiller/config.toml",
            ".tiller/hooks/b",
        ] {
            let (system, records, trust, w) = folder().await;
            system.add_file("/w/.envrc", "x");
            give(&system, &records, &w).await;
            assert!(trust.of(&w).await.content().is_some());
            system.add_file(&format!("/w/{place}"), "evil");
            assert!(matches!(trust.of(&w).await, Trust::Changed(_)), "{place}");
            assert_eq!(trust.of(&w).await.content(), None, "{place}");
        }
    }

    #[tokio::test]
    async fn what_a_link_leads_to_counts_and_a_link_to_the_folder_is_the_folder() {
        let (system, records, trust, w) = folder().await;
        system.add_file("/w/scripts/run.sh", "good");
        system.add_dir("/w/.tiller");
        system.add_link("/w/.tiller/run.sh", "/w/scripts/run.sh");
        give(&system, &records, &w).await;
        system.add_link("/link", "/w");
        assert!(trust.of(&AbsPath::new("/link").unwrap()).await.content().is_some());
        system.add_file("/w/scripts/run.sh", "evil");
        assert!(matches!(trust.of(&w).await, Trust::Changed(_)));
    }

    #[tokio::test]
    async fn p06_what_leads_out_of_the_folder_or_to_a_secret_is_not_read() {
        for (link, target, says) in [
            (".mcp.json", "/home/me/.config/key", "leads out of the project, to /home/me/.config/key"),
            (".agents", "/home/me", "leads out of the project, to /home/me"),
            (".tiller/config.toml", "/w/.env", "may hold secrets: /w/.tiller/config.toml"),
        ] {
            let (system, _, trust, w) = folder().await;
            system.add_dir("/w/.tiller");
            system.add_file("/home/me/.config/key", "secret");
            system.add_file("/w/.env", "KEY=secret");
            system.add_link(&format!("/w/{link}"), target);
            let problem = trust.of(&w).await.problem().unwrap();
            assert!(problem.contains(says), "{link}: {problem}");
        }
    }

    #[tokio::test]
    async fn a_name_and_its_content_cannot_change_places() {
        let hash = async |files: &[(&str, &str)]| {
            let system = FakeSystem::new();
            system.add_dir("/w");
            files.iter().for_each(|(name, text)| system.add_file(&format!("/w/.tiller/{name}"), text));
            TrustContent::read(&system, &AbsPath::new("/w").unwrap()).await.unwrap().hash()
        };
        assert_ne!(hash(&[("a", "b")]).await, hash(&[("b", "a")]).await);
        assert_ne!(hash(&[("a", "bc")]).await, hash(&[("ab", "c")]).await);
    }

    #[tokio::test]
    async fn too_much_to_look_at_is_not_trusted() {
        let (system, _, trust, w) = folder().await;
        let deep = "d/".repeat(TRUST_DEPTH + 1);
        system.add_file(&format!("/w/.tiller/{deep}x"), "x");
        assert!(trust.of(&w).await.problem().unwrap().contains("nested too deeply"));
    }
}
