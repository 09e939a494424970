//! The versions of folders and files that count as the repository's, from session to session.
//!
//! A command can commit any version, and that must not count in the project's next session. So a
//! version that a reference has counts if one had it at the start of the project's first session,
//! or if the user has it in the project at the start of a later one.

use super::folders::{self, Tree, Version, content};
use super::small_file::{NEW, read, write};
use crate::AbsPath;
use crate::limits::KNOWN_VERSIONS;
use crate::text::hexadecimal;
use sha1::{Digest, Sha1};
use std::collections::{BTreeSet, HashMap};

/// Leaves the versions that count in the folders and files of `root`. A file in `own` has the ids
/// of those of earlier sessions, and is brought up to date; without it, this is the first session.
pub(super) fn counting(
    own: &AbsPath,
    root: &AbsPath,
    all: Vec<(AbsPath, Vec<Tree>)>,
) -> Vec<(AbsPath, Vec<Tree>)> {
    let known = &own.join(id(root, "", &Version::default()) + ".versions");
    let exists = known.as_std().symlink_metadata().is_ok();
    let before = exists.then(|| read(known).unwrap_or_default());
    let mut ids: BTreeSet<_> = before.iter().flat_map(|text| text.lines()).map(str::to_owned).collect();
    for (path, trees) in &all {
        let trees = if exists { &vec![current(path)] } else { trees };
        ids.extend(trees.iter().flatten().map(|(file, version)| id(path, file, version)));
    }
    let judged = all.into_iter().map(|(path, trees)| {
        let counts = |file: &str, version: &Version| ids.contains(&id(&path, file, version));
        let trees = trees.into_iter().map(|tree| {
            let each = tree.into_iter().map(|(file, version)| match counts(&file, &version) {
                true => (file, version),
                // The file is there, in a version that no file has.
                false => (file, Version::default()),
            });
            each.collect()
        });
        let trees = trees.collect();
        (path, trees)
    });
    let judged = judged.collect();
    let text: String = ids.iter().take(KNOWN_VERSIONS).map(|id| format!("{id}\n")).collect();
    if before.is_none_or(|before| before != text)
        && let Err(error) = write(known, text.as_bytes(), NEW, None)
    {
        tracing::debug!(%error, "the versions that count could not be stored");
    }
    judged
}

/// Returns the files that the user has now.
fn current(path: &AbsPath) -> Tree {
    match content(path) {
        Some(content) => Tree::from([(String::new(), Version { id: content.id(), executable: false })]),
        None => folders::tree(path, &mut HashMap::new()).unwrap_or_default(),
    }
}

/// Returns a text for one version of a file, in which no name can be anything else.
pub(super) fn id(path: &AbsPath, file: &str, version: &Version) -> String {
    let mut hasher = Sha1::new();
    for part in [path.as_str(), file, &version.id] {
        hasher.update(part);
        hasher.update([0]);
    }
    hasher.update([u8::from(version.executable)]);
    hexadecimal(hasher.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn what_is_committed_in_a_session_does_not_count() {
        let dir = tempfile::tempdir().unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        let (own, file, folder) = (top.join("own"), top.join(".envrc"), top.join(".vscode"));
        fs::create_dir(folder.as_std()).unwrap();
        fs::create_dir(own.as_std()).unwrap();
        let tree = |name: &str, text: &str| {
            let scratch = top.join("scratch");
            fs::write(scratch.as_std(), text).unwrap();
            Tree::from([(name.to_owned(), current(&scratch).remove("").unwrap())])
        };
        let of =
            |text: &str| vec![(file.clone(), vec![tree("", text)]), (folder.clone(), vec![tree("a", text)])];
        let unknown = |name: &str| vec![Tree::from([(name.to_owned(), Version::default())])];
        assert_eq!(counting(&own, &top, of("one")), of("one"));
        let none = vec![(file.clone(), unknown("")), (folder.clone(), unknown("a"))];
        assert_eq!(counting(&own, &top, of("two")), none);
        assert_eq!(counting(&own, &top, of("one")), of("one"));
        // The user has checked it out.
        fs::write(file.as_std(), "two").unwrap();
        fs::write(folder.join("a").as_std(), "two").unwrap();
        assert_eq!(counting(&own, &top, of("two")), of("two"));
        fs::write(file.as_std(), "three").unwrap();
        assert_eq!(counting(&own, &top, of("two")), of("two"));
    }
}
