//! Determines what git has checked out in the directory of a session, and by what the directory is
//! recognized after it was moved, from its files and without running a program.

use super::{
    checkout::{Checkout, checked_out, git_directory, line},
    repository::repository,
};
use crate::limits::{LOOK_AROUND_WAIT, REMOTE_BYTES, REPOSITORY_FILE_BYTES};
use serde::{Deserialize, Serialize};
use system::{AbsPath, FoundRules, System, read_found};

/// What is known of a directory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FolderFacts {
    /// What git has checked out in it: a branch, or the beginning of a commit in parentheses;
    /// `None` outside of a repository, or if it is not known.
    pub branch: Option<String>,
    /// By what it is recognized after a move; `None` if that is not known.
    pub identity: Option<FolderIdentity>,
}

/// By what a directory is recognized at another path.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FolderIdentity {
    /// The directory on its machine: device, inode and time of creation.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The path of the directory in its repository.
    #[serde(skip_serializing_if = "String::is_empty")]
    below: String,
    /// The first commit in the log of the repository's `HEAD`.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_commit: Option<String>,
    /// The address of the repository's remote `origin`, without protocol and user.
    #[serde(skip_serializing_if = "Option::is_none")]
    remote: Option<String>,
}

impl FolderIdentity {
    /// Returns the identity as JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("texts are JSON")
    }

    /// Returns the identity from JSON; `None` if it is damaged.
    pub fn from_json(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// Whether this is the same directory, or the same place in a copy of the same repository.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        let is_same_file = self.file.is_some() && self.file == other.file;
        let is_same_repository = match (&self.remote, &other.remote) {
            (Some(one), Some(other)) => one == other,
            _ => self.first_commit.is_some() && self.first_commit == other.first_commit,
        };
        is_same_file || is_same_repository && self.below == other.below
    }
}

/// Returns what is known of a directory: nothing if the lookup takes too long. Directories `shared`
/// by all programs do not count as repositories.
pub(crate) async fn folder_facts(system: &dyn System, folder: &AbsPath, shared: &[AbsPath]) -> FolderFacts {
    tokio::time::timeout(LOOK_AROUND_WAIT, look(system, folder, shared)).await.unwrap_or_default()
}

async fn look(system: &dyn System, folder: &AbsPath, shared: &[AbsPath]) -> FolderFacts {
    let mut branch = None;
    let id = system.metadata(folder).await.ok().and_then(|found| found.id);
    let mut identity = FolderIdentity {
        file: id.map(|id| format!("{}-{}-{}", id.device, id.inode, id.created.unwrap_or_default())),
        ..FolderIdentity::default()
    };
    if let Some(root) = repository(system, folder, shared).await
        && let Some(git) = git_directory(system, &root).await
    {
        branch = checked_out(system, &git).await.as_ref().map(Checkout::label);
        folder.relative_to(&root).unwrap_or_default().clone_into(&mut identity.below);
        identity.first_commit =
            text(system, &git, "logs/HEAD").await.and_then(|log| first_commit(&log).map(str::to_owned));
        // The directory of a worktree names that of its repository, which has the configuration.
        let common = line(system, &git, &git.join("commondir")).await;
        let common = common.map_or_else(|| git.clone(), |path| git.join(&path));
        identity.remote = text(system, &common, "config").await.and_then(|config| remote(&config));
    }
    FolderFacts { branch, identity: (identity != FolderIdentity::default()).then_some(identity) }
}

async fn text(system: &dyn System, git: &AbsPath, name: &str) -> Option<String> {
    let rules = FoundRules { limit: REPOSITORY_FILE_BYTES, any_name: true, ..FoundRules::default() };
    let bytes = read_found(system, git, &git.join(name), &rules).await.ok()??;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the new commit of the first line of a log.
fn first_commit(log: &str) -> Option<&str> {
    let commit = log.lines().next()?.split(' ').nth(1)?;
    (commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(commit)
}

/// Returns the address of `origin` in git's configuration.
fn remote(config: &str) -> Option<String> {
    let lines = config.lines().map(str::trim);
    let of_origin = lines.skip_while(|line| *line != "[remote \"origin\"]").skip(1);
    let url = of_origin.take_while(|line| !line.starts_with('[')).find_map(|line| {
        let (name, url) = line.split_once('=')?;
        name.trim().eq_ignore_ascii_case("url").then(|| url.trim().trim_matches('"'))
    })?;
    let place = url.split_once("://").map_or(url, |(_, place)| place);
    let host_end = place.find('/').unwrap_or(place.len());
    let place = place[..host_end].rfind('@').map_or(place, |at| &place[at + 1..]);
    let place = place.trim_end_matches('/');
    let place = place.strip_suffix(".git").unwrap_or(place);
    // `host:path` and `host/path` are the same place.
    let place = if url.contains("://") { place.to_owned() } else { place.replacen(':', "/", 1) };
    (1..=REMOTE_BYTES).contains(&place.len()).then_some(place)
}

#[cfg(test)]
mod tests {
    use super::*;
    use system::FakeSystem;

    const FIRST: &str = "0123456789abcdef0123456789abcdef01234567";
    const OTHER: &str = "89abcdef0123456789abcdef0123456789abcdef";

    fn git(commit: Option<&str>, url: Option<&str>) -> [(&'static str, String); 2] {
        let zero = "0".repeat(40);
        let log =
            commit.map(|commit| format!("{zero} {commit} A <a@b> 1 +0000\tcommit\n{commit} {zero} x\n"));
        let url = url.map(|url| format!("[remote \"origin\"]\n\tfetch = +refs/*\n\turl = {url}\n"));
        let config =
            format!("[core]\n\turl = no\n{}[branch \"main\"]\n\turl = no\n", url.unwrap_or_default());
        [("logs/HEAD", log.unwrap_or_default()), ("config", config)]
    }

    async fn found(root: &str, below: &str, files: [(&str, String); 2]) -> FolderIdentity {
        let system = FakeSystem::new();
        system.add_dir(&format!("{root}/{below}"));
        system.add_file(&format!("{root}/.git/HEAD"), "ref: refs/heads/main\n");
        files.iter().for_each(|(name, text)| system.add_file(&format!("{root}/.git/{name}"), text));
        let folder = AbsPath::new(root).unwrap().join(below);
        let found = folder_facts(&system, &folder, &[]).await.identity.unwrap();
        assert_eq!(FolderIdentity::from_json(&found.to_json()), Some(found.clone()));
        found
    }

    #[tokio::test]
    async fn a_repository_is_recognized_at_another_path() {
        let (https, ssh) = ("https://me:key@host.example/a/b.git", "git@host.example:a/b");
        let old = found("/old", "sub", git(Some(FIRST), Some(https))).await;
        assert!(!old.to_json().contains("key"), "{}", old.to_json());
        for (below, commit, url, expected) in [
            ("sub", Some(FIRST), Some(https), true),
            ("sub", Some(OTHER), Some(ssh), true),
            ("sub", Some(OTHER), Some("ssh://git@host.example/a/b.git/"), true),
            ("sub", None, Some(ssh), true),
            ("sub", Some(FIRST), None, true),
            ("sub", Some(OTHER), None, false),
            ("sub", None, None, false),
            ("sub", Some(FIRST), Some("https://host.example/fork/b"), false),
            ("", Some(FIRST), Some(https), false),
            ("sub", Some(FIRST), Some(&"x".repeat(4_000)), true),
        ] {
            let now = found("/new/place", below, git(commit, url)).await;
            assert_eq!(old.is_same(&now), expected, "{below} {commit:?} {url:?} {}", now.to_json());
        }
    }

    #[tokio::test]
    async fn a_worktree_has_the_remote_of_its_repository() {
        let system = FakeSystem::new();
        let [_, (_, config)] = git(None, Some("/srv/a.git"));
        let log = format!("{OTHER} {FIRST} A <a@b> 1 +0000\tcheckout\n");
        for (path, text) in [
            ("/w/.git", "gitdir: /m/.git/worktrees/w\n"),
            ("/m/.git/worktrees/w/commondir", "../..\n"),
            ("/m/.git/worktrees/w/logs/HEAD", &log),
            ("/m/.git/config", &config),
        ] {
            system.add_file(path, text);
        }
        let found = folder_facts(&system, &AbsPath::new("/w").unwrap(), &[]).await.identity.unwrap();
        let expected = FolderIdentity {
            first_commit: Some(FIRST.to_owned()),
            remote: Some("/srv/a".to_owned()),
            ..FolderIdentity::default()
        };
        assert_eq!(found, expected);
    }
}
