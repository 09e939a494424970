//! The hash that older versions of Tiller trusted: one for everything that could execute or
//! redirect in a directory.

use crate::{
    found_rules,
    limits::{TRUST_BYTES, TRUST_DEPTH, TRUST_FILES},
};
use std::collections::BTreeMap;
use system::{AbsPath, FileKind, FoundRules, System, read_found, resolve_inside};

/// The hashed paths, relative to the directory: files, and directories with all their contents.
const PLACES: [&str; 8] = [
    ".tiller",
    ".mcp.json",
    ".vscode/mcp.json",
    ".cursor/mcp.json",
    ".env",
    ".envrc",
    ".agents",
    ".claude/skills",
];

/// Returns the hash of a directory's current content. The error says what cannot be read, or that
/// there is too much of it.
pub(super) async fn hash(system: &dyn System, folder: &AbsPath) -> Result<String, String> {
    Ok(Content::read(system, folder).await?.hash())
}

#[derive(Default)]
struct Content {
    files: BTreeMap<String, Vec<u8>>,
}

impl Content {
    async fn read(system: &dyn System, folder: &AbsPath) -> Result<Self, String> {
        let mut content = Self::default();
        // These contents are neither shown nor sent: `.env` is only compared with its old state.
        let rules = FoundRules { any_name: true, ..found_rules(folder, &[], TRUST_BYTES) };
        let mut bytes = 0;
        let mut level: Vec<_> = PLACES.iter().map(|place| folder.join(place)).collect();
        for depth in 0.. {
            // One batch per level: most directories have none of these files.
            let looks = system.metadata_of(&level).await;
            let mut below = Vec::new();
            for (at, (path, found)) in level.iter().zip(looks).enumerate() {
                // Links are followed, because the hash covers what would be executed.
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
                        let Some(text) = read.map_err(|error| error.to_string())? else { continue };
                        bytes += text.len();
                        content.files.insert(name, text);
                    }
                    FileKind::Other => return Err(format!("{name} is not a regular file")),
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

    fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        for (name, bytes) in &self.files {
            for part in [name.as_bytes(), bytes] {
                hasher.update(&(part.len() as u64).to_le_bytes());
                hasher.update(part);
            }
        }
        hasher.finalize().to_hex().to_string()
    }
}
