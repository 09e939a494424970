//! The files that belong to an item.

use super::{TrustItem, tree};
use crate::{
    found_rules,
    limits::{TRUST_BYTES, TRUST_DEPTH, TRUST_FILE_BYTES, TRUST_FILES, TRUST_NAMED, TRUST_NAMED_BYTES},
};
use std::collections::{BTreeMap, BTreeSet};
use system::{AbsPath, FileKind, FoundRules, Metadata, System};

/// File names relative to the directory, with their contents.
pub(super) type Covered = BTreeMap<String, Vec<u8>>;

/// Helper directories. An item that mentions one may load anything in it, so all of it belongs to
/// the item.
const HELPERS: [&str; 3] = [".tiller", ".agents", ".claude/skills"];

/// Belongs to no item, although in a helper directory: its settings are items of their own.
const NO_HELPER: &str = ".tiller/config.toml";

/// Characters that separate names within a word: `--require=./x.js`, `sh -c '. ./x; y'`, `a:b`.
const SEPARATORS: &str = " \t\r\n'\"`=;|&()<>,:{}$@";

/// Places where special files look like regular ones.
const NO_DISK: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Reads a file found in a directory; `None` if it does not exist. Links are followed, and must
/// lead to a regular file inside the directory.
pub(super) async fn read(
    system: &dyn System,
    folder: &AbsPath,
    name: &str,
) -> Result<Option<Vec<u8>>, String> {
    let path = folder.join(name);
    let rules = FoundRules { any_name: true, ..found_rules(folder, &[], TRUST_BYTES) };
    system::read_found(system, folder, &path, &rules).await.map_err(|error| error.to_string())
}

pub(super) async fn read_regular(
    system: &dyn System,
    path: &AbsPath,
    name: &str,
    found: &Metadata,
) -> Result<Option<Vec<u8>>, String> {
    let name = crate::one_line(name);
    match found.kind {
        FileKind::File => {}
        FileKind::Directory => return Err(format!("{name} is a folder")),
        FileKind::Other => return Err(format!("{name} is not a regular file")),
    }
    if found.size > TRUST_FILE_BYTES {
        return Err(format!("{name} is larger than {TRUST_FILE_BYTES} bytes"));
    }
    let real = system.resolve(path).await.map_err(|error| error.to_string())?;
    if NO_DISK.iter().any(|place| real.as_std().starts_with(place)) {
        return Err(format!("{name} is not a regular file"));
    }
    match system.read(path).await {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error.to_string()),
    }
}

/// Returns the files that belong to an item: those that its words name, and every file of a helper
/// directory that they mention. Fails if one of them cannot be read.
pub(super) async fn of_item(
    system: &dyn System,
    folder: &AbsPath,
    item: &TrustItem,
) -> Result<Covered, String> {
    let mut covered = Covered::new();
    // An absolute path may name the directory with its links resolved or not.
    let real = system.resolve(folder).await.unwrap_or_else(|_| folder.clone());
    let named: Vec<_> = named(folder, &real, &item.words)?.into_iter().collect();
    let mut bytes = 0;
    for (path, found) in named.iter().zip(system.metadata_of(&named).await) {
        let found = match found {
            Ok(found) => found,
            Err(error) if error.is_not_found() => continue,
            Err(error) => return Err(error.to_string()),
        };
        // The contents of a directory belong to the item only if it is a helper directory.
        if found.kind == FileKind::Directory {
            continue;
        }
        let name = path.relative_to(folder).or_else(|| path.relative_to(&real));
        let name = name.unwrap_or(path.as_str()).to_owned();
        if let Some(text) = read_regular(system, path, &name, &found).await? {
            bytes += text.len();
            if bytes > TRUST_NAMED_BYTES {
                return Err(format!("the files that it names are more than {TRUST_NAMED_BYTES} bytes"));
            }
            covered.insert(name, text);
        }
    }
    for helpers in HELPERS {
        if item.words.iter().any(|word| mentions(word, helpers)) {
            covered.extend(all_of(system, folder, helpers).await?);
        }
    }
    covered.remove(NO_HELPER);
    if let Some(directory) = &item.tree {
        covered.extend(tree::all_of(system, &real, directory).await?);
    }
    Ok(covered)
}

/// Whether a word contains a directory's name, in any spelling that a file system accepts for it.
fn mentions(word: &str, folder: &str) -> bool {
    system::pattern_matches(&format!("*{folder}*"), word)
}

/// Returns the paths inside a directory that words may refer to.
fn named(folder: &AbsPath, real: &AbsPath, words: &[String]) -> Result<BTreeSet<AbsPath>, String> {
    let mut paths = BTreeSet::new();
    let inside = |path: &AbsPath| {
        [folder, real].iter().any(|base| path.relative_to(base).is_some_and(|name| !name.is_empty()))
    };
    // Skip names that no file can have.
    let possible = |name: &&str| !name.contains('\0') && name.split('/').all(|part| part.len() <= 255);
    for word in words {
        let pieces = word.split(|c| SEPARATORS.contains(c));
        for piece in pieces.chain([word.as_str()]).filter(|piece| !piece.is_empty()) {
            // In `$PWD/x.js` and `${workspaceFolder}/x.js` the part after the slash is the name.
            let rest = piece.split_once('/').map(|(_, rest)| rest);
            for name in [Some(piece), rest].into_iter().flatten().filter(possible) {
                paths.extend(Some(folder.join(name)).filter(inside));
            }
        }
    }
    if paths.len() > TRUST_NAMED {
        return Err(format!("it names more than {TRUST_NAMED} files"));
    }
    Ok(paths)
}

/// Returns every file of a directory.
async fn all_of(system: &dyn System, folder: &AbsPath, place: &str) -> Result<Covered, String> {
    let mut covered = Covered::new();
    let mut bytes = 0;
    let mut level = vec![folder.join(place)];
    for depth in 0.. {
        let looks = system.metadata_of(&level).await;
        let mut below = Vec::new();
        for (path, found) in level.iter().zip(looks) {
            let found = match found {
                Ok(found) => found,
                Err(error) if error.is_not_found() => continue,
                Err(error) => return Err(error.to_string()),
            };
            let name = path.relative_to(folder).unwrap_or(path.as_str()).to_owned();
            match found.kind {
                FileKind::Directory if depth == TRUST_DEPTH => {
                    return Err(format!("{} is nested too deeply", crate::one_line(&name)));
                }
                FileKind::Directory => {
                    let entries = system.read_dir(path).await.map_err(|error| error.to_string())?;
                    below.extend(entries.into_iter().map(|entry| entry.path));
                }
                _ => {
                    if let Some(text) = read_regular(system, path, &name, &found).await? {
                        bytes += text.len();
                        covered.insert(name, text);
                    }
                }
            }
            if covered.len() + below.len() > TRUST_FILES || bytes > TRUST_BYTES {
                return Err(format!("{place} holds more than {TRUST_FILES} files or {TRUST_BYTES} bytes"));
            }
        }
        if below.is_empty() {
            break;
        }
        level = below;
    }
    Ok(covered)
}
