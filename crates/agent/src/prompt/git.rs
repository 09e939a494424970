//! Determines what git has checked out, from its files and without running a program.

use crate::limits::BRANCH_BYTES;
use system::{AbsPath, FoundRules, System, read_found};

/// The text if there is no repository.
pub(super) const NONE: &str = "no repository";

/// The prefixes of a directory in a `.git` file, and of a branch in `HEAD`.
const DIRECTORY: &str = "gitdir:";
const BRANCH: &str = "ref: refs/heads/";

/// Returns what the repository has checked out: `branch NAME`, `detached at abc1234`, or nothing if
/// its files do not say.
pub(super) async fn checked_out(system: &dyn System, root: &AbsPath) -> String {
    let mark = root.join(".git");
    let directory = match line(system, root, &mark).await {
        // A worktree or a submodule.
        Some(line) => match line.strip_prefix(DIRECTORY) {
            Some(path) => root.join(path.trim()),
            None => return String::new(),
        },
        None => mark,
    };
    let head = line(system, &directory, &directory.join("HEAD")).await.unwrap_or_default();
    let is_commit = head.len() >= 40 && head.bytes().all(|byte| byte.is_ascii_hexdigit());
    match head.strip_prefix(BRANCH) {
        Some(branch) if is_name(branch) => format!("branch {branch}"),
        None if is_commit => format!("detached at {}", &head[..7]),
        _ => String::new(),
    }
}

/// Returns the only line of a small regular file below a directory.
async fn line(system: &dyn System, root: &AbsPath, path: &AbsPath) -> Option<String> {
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
    use crate::files::repository::repository;
    use system::FakeSystem;

    async fn described(files: &[(&str, &str)], cwd: &str) -> String {
        let system = FakeSystem::new();
        system.add_dir(cwd);
        files.iter().for_each(|(path, text)| system.add_file(path, text));
        let shared = [AbsPath::new("/tmp").unwrap()];
        match repository(&system, &AbsPath::new(cwd).unwrap(), &shared).await {
            Some(root) => checked_out(&system, &root).await,
            None => NONE.to_owned(),
        }
    }

    #[tokio::test]
    async fn a_folder_that_all_share_is_no_repository() {
        let files = [("/tmp/.git/HEAD", "ref: refs/heads/evil\n")];
        assert_eq!(described(&files, "/tmp/mine").await, NONE);
    }

    #[tokio::test]
    async fn the_branch_is_read_from_the_files_of_git() {
        let commit = "0123456789abcdef0123456789abcdef01234567\n";
        for (files, expected) in [
            (&[("/w/.git/HEAD", "ref: refs/heads/main\n")][..], "branch main"),
            (&[("/w/.git/HEAD", "ref: refs/heads/feature/a-b\n")], "branch feature/a-b"),
            (&[("/w/.git/HEAD", commit)], "detached at 0123456"),
            (
                &[("/w/.git", "gitdir: ../m/.git/worktrees/w\n"), ("/m/.git/worktrees/w/HEAD", commit)],
                "detached at 0123456",
            ),
            (&[], NONE),
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
