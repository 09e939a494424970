//! Finds the git directory of a project whose `.git` is a file, that is of a worktree or a
//! submodule. Commands may write there, because git does; the files that control what git executes
//! are guarded as in the project itself.

use crate::{AbsPath, View};
use std::fs;

/// The maximum size of a file that contains the path of a git directory, in bytes.
const BYTES: u64 = 4096;

/// Returns the git directory outside a project, if it has one. The two must refer to each other: a
/// file that merely names a directory does not make it writable.
pub(in crate::local) fn git_directory(root: &AbsPath) -> Option<AbsPath> {
    let named = read(&root.join(".git"))?;
    let git = root.join(named.strip_prefix("gitdir: ")?);
    let same = |path: AbsPath| real(&path) == real(root) && real(root).is_some();
    if git.parent()?.file_name() == Some("worktrees") {
        let back = git.join(read(&git.join("gitdir"))?);
        let common = git.parent()?.parent()?;
        return (same(back.parent()?) && read(&git.join("commondir"))? == "../..").then_some(common);
    }
    let config = read(&git.join("config"))?;
    let work = config.lines().find_map(|line| line.trim().strip_prefix("worktree = ").map(str::to_owned))?;
    same(git.join(work)).then_some(git)
}

/// Returns the root of the repository around a directory that is not a repository. One that is too
/// wide for a project, such as a home directory under version control, does not count.
pub(in crate::local) fn repository_above(view: &View, root: &AbsPath) -> Option<AbsPath> {
    if view.is_too_wide(root) || fs::symlink_metadata(root.join(".git").as_std()).is_ok() {
        return None;
    }
    let mut above = std::iter::successors(root.parent(), AbsPath::parent);
    let is_repository = |path: &AbsPath| path.join(".git/HEAD").as_std().is_file();
    let found = above.find(|path| view.is_too_wide(path) || is_repository(path))?;
    let is_link = fs::symlink_metadata(found.join(".git").as_std()).is_ok_and(|found| found.is_symlink());
    (!view.is_too_wide(&found) && !is_link).then_some(found)
}

fn read(path: &AbsPath) -> Option<String> {
    let found = fs::symlink_metadata(path.as_std()).ok()?;
    let small = found.is_file() && found.len() <= BYTES;
    let text = small.then(|| fs::read_to_string(path.as_std()).ok())??;
    Some(text.trim_end().to_owned())
}

fn real(path: &AbsPath) -> Option<std::path::PathBuf> {
    fs::canonicalize(path.as_std()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outside_git_directory_is_accepted_if_both_refer_to_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let top = AbsPath::from_os(&dir.path().canonicalize().unwrap()).unwrap();
        let write = |path: &str, text: &str| {
            let path = top.join(path);
            fs::create_dir_all(path.parent().unwrap().as_std()).unwrap();
            fs::write(path.as_std(), text).unwrap();
        };
        let found = |root: &str| git_directory(&top.join(root));
        write("main/.git/worktrees/w/commondir", "../..\n");
        write("main/.git/worktrees/w/gitdir", &format!("{}\n", top.join("w/.git")));
        write("w/.git", &format!("gitdir: {}\n", top.join("main/.git/worktrees/w")));
        assert_eq!(found("w"), Some(top.join("main/.git")));
        write("main/.git/modules/m/config", "[core]\n\tworktree = ../../../m\n");
        write("main/m/.git", "gitdir: ../.git/modules/m\n");
        assert_eq!(found("main/m"), Some(top.join("main/.git/modules/m")));
        // The git directory of another project is not accepted.
        write("evil/.git", &format!("gitdir: {}\n", top.join("main/.git/worktrees/w")));
        write("evil2/.git", &format!("gitdir: {}\n", top.join("main/.git/modules/m")));
        write("evil3/.git", &format!("gitdir: {}\n", top.join("main")));
        for root in ["main", "evil", "evil2", "evil3", "none"] {
            assert_eq!(found(root), None, "{root}");
        }
    }
}
