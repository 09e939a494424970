//! What git printed about the versions of a project's folders, from session to session. Objects of
//! git never change, so the same references have the same versions, and git is not asked again.

use super::folders::{SCRIPT, Version};
use super::known_versions::id;
use super::named::repository;
use super::small_file::{NEW, read, write};
use crate::AbsPath;
use crate::limits::REFERENCES;
use crate::text::hexadecimal;
use sha1::{Digest, Sha1};
use std::fs;

/// Returns a text that differs whenever the references of the repository around `root` do, or the
/// `names` that git is asked about. `None` if they are not in plain files of a usual number and
/// size, as in a worktree.
pub(in crate::local) fn references(root: &AbsPath, names: &[String]) -> Option<String> {
    let (top, git) = repository(root)?;
    if git != top.join(".git") {
        return None;
    }
    let is_elsewhere = |name: &str| fs::symlink_metadata(git.join(name).as_std()).is_ok();
    if ["commondir", "reftable"].into_iter().any(is_elsewhere) {
        return None;
    }
    let mut files = vec![git.join("HEAD")];
    if fs::symlink_metadata(git.join("packed-refs").as_std()).is_ok() {
        files.push(git.join("packed-refs"));
    }
    let mut directories = vec![git.join("refs")];
    while let Some(directory) = directories.pop() {
        // A link would lead to references that are not these.
        if !fs::symlink_metadata(directory.as_std()).is_ok_and(|found| found.is_dir()) {
            return None;
        }
        for entry in fs::read_dir(directory.as_std()).ok()? {
            let entry = entry.ok()?;
            let path = directory.join(entry.file_name().to_str()?);
            let is_directory = entry.file_type().ok()?.is_dir();
            if is_directory { &mut directories } else { &mut files }.push(path);
            if files.len() + directories.len() > REFERENCES {
                return None;
            }
        }
    }
    files.sort();
    let mut hasher = Sha1::new();
    let mut add = |text: &str| {
        hasher.update(text.len().to_le_bytes());
        hasher.update(text);
    };
    add(SCRIPT);
    names.iter().for_each(|name| add(name));
    for file in files {
        add(file.as_str());
        add(&read(&file)?);
    }
    Some(hexadecimal(hasher.finalize()))
}

/// Returns what git printed about `root` when its references were the same. `own` has the files
/// about it.
pub(in crate::local) fn remembered(own: &AbsPath, root: &AbsPath, references: &str) -> Option<String> {
    let text = read(&place(own, root))?;
    let (of, output) = text.split_once('\n')?;
    (of == references).then(|| output.to_owned())
}

/// Remembers what git printed.
pub(in crate::local) fn remember(own: &AbsPath, root: &AbsPath, references: &str, output: &str) {
    let text = format!("{references}\n{output}");
    if let Err(error) = write(&place(own, root), text.as_bytes(), NEW, None) {
        tracing::debug!(%error, "the versions that git printed could not be stored");
    }
}

fn place(own: &AbsPath, root: &AbsPath) -> AbsPath {
    own.join(id(root, "", &Version::default()) + ".printed")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository() -> (tempfile::TempDir, AbsPath) {
        let dir = tempfile::tempdir().unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        fs::create_dir_all(top.join(".git/refs/heads").as_std()).unwrap();
        fs::create_dir(top.join("sub").as_std()).unwrap();
        fs::write(top.join(".git/HEAD").as_std(), "ref: refs/heads/main\n").unwrap();
        fs::write(top.join(".git/refs/heads/main").as_std(), "1\n").unwrap();
        (dir, top)
    }

    #[test]
    fn any_change_of_a_reference_is_seen() {
        let (_dir, top) = repository();
        let names = [".vscode".to_owned()];
        let mut seen = vec![references(&top, &names).unwrap()];
        assert_eq!(references(&top.join("sub"), &names).as_ref(), seen.first());
        assert_ne!(references(&top, &[]).as_ref(), seen.first());
        for (file, text) in [
            ("refs/heads/main", "2\n"),
            ("refs/heads/other", "2\n"),
            ("packed-refs", "2 refs/tags/a\n"),
            ("packed-refs", ""),
            ("HEAD", "2\n"),
        ] {
            fs::write(top.join(".git").join(file).as_std(), text).unwrap();
            let now = references(&top, &names).unwrap();
            assert!(!seen.contains(&now), "{file}");
            seen.push(now);
        }
    }

    #[test]
    fn references_at_other_places_are_not_compared() {
        for name in ["commondir", "reftable", "refs/heads/link"] {
            let (_dir, top) = repository();
            assert!(references(&top, &[]).is_some());
            std::os::unix::fs::symlink("/etc/hostname", top.join(".git").join(name).as_std()).unwrap();
            assert_eq!(references(&top, &[]), None, "{name}");
        }
        let (_dir, top) = repository();
        fs::rename(top.join(".git/refs").as_std(), top.join("moved").as_std()).unwrap();
        std::os::unix::fs::symlink(top.join("moved").as_std(), top.join(".git/refs").as_std()).unwrap();
        assert_eq!(references(&top, &[]), None);
    }

    #[test]
    fn only_the_same_references_have_what_was_printed() {
        let (_dir, top) = repository();
        assert_eq!(remembered(&top, &top, "a"), None);
        remember(&top, &top, "a", "= .vscode\n");
        assert_eq!(remembered(&top, &top, "a").as_deref(), Some("= .vscode\n"));
        assert_eq!(remembered(&top, &top, "b"), None);
        assert_eq!(remembered(&top, &top.join("sub"), "a"), None);
    }
}
