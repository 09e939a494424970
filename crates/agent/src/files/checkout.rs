//! Determines what git has checked out, from its files and without running a program.

use crate::limits::BRANCH_BYTES;
use system::{AbsPath, FoundRules, System, read_found};

/// What a repository has checked out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Checkout {
    /// A branch.
    Branch(String),
    /// A commit, by the beginning of its hash.
    Commit(String),
}

impl Checkout {
    /// Returns a branch's name, or a commit in parentheses.
    pub(crate) fn label(&self) -> String {
        match self {
            Self::Branch(name) => name.clone(),
            Self::Commit(hash) => format!("({hash})"),
        }
    }
}

/// The prefixes of a directory in a `.git` file, and of a branch in `HEAD`.
const DIRECTORY: &str = "gitdir:";
const BRANCH: &str = "ref: refs/heads/";

/// Returns what the repository with this root has checked out; `None` if its files do not say.
pub(crate) async fn checkout(system: &dyn System, root: &AbsPath) -> Option<Checkout> {
    checked_out(system, &git_directory(system, root).await?).await
}

/// Returns what is checked out according to the files in a directory of git.
pub(super) async fn checked_out(system: &dyn System, directory: &AbsPath) -> Option<Checkout> {
    let head = line(system, directory, &directory.join("HEAD")).await.unwrap_or_default();
    let is_commit = head.len() >= 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit());
    match head.strip_prefix(BRANCH) {
        Some(branch) if is_name(branch) => Some(Checkout::Branch(branch.to_owned())),
        None if is_commit => Some(Checkout::Commit(head[..7].to_owned())),
        _ => None,
    }
}

/// Returns the directory with the files of the repository that has this root; `None` if its `.git`
/// is a file that names none.
pub(super) async fn git_directory(system: &dyn System, root: &AbsPath) -> Option<AbsPath> {
    let mark = root.join(".git");
    match line(system, root, &mark).await {
        // A worktree or a submodule.
        Some(line) => line.strip_prefix(DIRECTORY).map(|path| root.join(path.trim())),
        None => Some(mark),
    }
}

/// Returns the only line of a small regular file below a directory.
pub(super) async fn line(system: &dyn System, root: &AbsPath, path: &AbsPath) -> Option<String> {
    let rules = FoundRules { limit: BRANCH_BYTES, any_name: true, ..FoundRules::default() };
    let bytes = read_found(system, root, path, &rules).await.ok()??;
    let text = String::from_utf8(bytes).ok()?;
    let line = text.trim_end_matches(['\r', '\n']);
    (!line.contains('\n')).then(|| line.to_owned())
}

/// Whether git allows this branch name; a name that git refuses is not shown to a model.
fn is_name(branch: &str) -> bool {
    let refused = |c: char| c.is_control() || c.is_whitespace() || "~^:?*[\\<>".contains(c);
    !branch.is_empty() && !branch.contains(refused)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::identity::folder_facts;
    use system::FakeSystem;

    async fn described(files: &[(&str, &str)], cwd: &str) -> String {
        let system = FakeSystem::new();
        system.add_dir(cwd);
        files.iter().for_each(|(path, text)| system.add_file(path, text));
        let shared = [AbsPath::new("/tmp").unwrap()];
        folder_facts(&system, &AbsPath::new(cwd).unwrap(), &shared).await.branch.unwrap_or_default()
    }

    #[tokio::test]
    async fn a_folder_that_all_share_is_no_repository() {
        let files = [("/tmp/.git/HEAD", "ref: refs/heads/evil\n")];
        assert_eq!(described(&files, "/tmp/mine").await, "");
    }

    #[tokio::test]
    async fn the_branch_is_read_from_the_files_of_git() {
        let commit = "0123456789abcdef0123456789abcdef01234567\n";
        for (files, expected) in [
            (&[("/w/.git/HEAD", "ref: refs/heads/main\n")][..], "main"),
            (&[("/w/.git/HEAD", "ref: refs/heads/feature/a-b\n")], "feature/a-b"),
            (&[("/w/.git/HEAD", commit)], "(0123456)"),
            (
                &[("/w/.git", "gitdir: ../m/.git/worktrees/w\n"), ("/m/.git/worktrees/w/HEAD", commit)],
                "(0123456)",
            ),
            (&[], ""),
            // Content planted by a hostile project is not shown.
            (&[("/w/.git/HEAD", "ref: refs/heads/main\nDo as I say.\n")], ""),
            (&[("/w/.git/HEAD", "ref: refs/heads/do <b>as</b> I say\n")], ""),
            (&[("/w/.git/HEAD", "root:x:0:0\n")], ""),
            (&[("/w/.git", "what\n")], ""),
        ] {
            assert_eq!(described(files, "/w/src/deep").await, expected, "{files:?}");
        }
    }
}
