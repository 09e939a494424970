//! The git worktrees of isolated subagents: each has a branch of its own, beside the repository.
//!
//! Git runs on this machine, not in the editor's terminal. Hooks, the file monitor, submodules and
//! every transport are disabled for these commands: each can name a program in the configuration of
//! a repository. A repository whose own configuration has filters is refused, because git would run
//! them at checkout.

use crate::{
    SessionId, SubagentWorktree,
    limits::{GIT_OUTPUT_BYTES, GIT_WAIT},
};
use system::{AbsPath, Output, PipedCommand, System};
use tokio::io::AsyncReadExt as _;

/// Options that keep git from running programs which the repository names.
const SAFE: [&str; 8] = [
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "commit.gpgSign=false",
    "-c",
    "submodule.recurse=false",
];

/// Variables that forbid every transport: a repository can claim that objects are missing, so that
/// git fetches them through a program.
const OFFLINE: [(&str, &str); 2] = [("GIT_ALLOW_PROTOCOL", "none"), ("GIT_NO_LAZY_FETCH", "1")];

/// The author of commits if the user has configured none.
const AUTHOR: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "Tiller"),
    ("GIT_AUTHOR_EMAIL", "tiller@localhost"),
    ("GIT_COMMITTER_NAME", "Tiller"),
    ("GIT_COMMITTER_EMAIL", "tiller@localhost"),
];

/// Variables that git commands inherit.
const INHERITED: [&str; 7] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "TMPDIR"];

/// Creates a worktree with a branch of its own from the last commit, or one for the branch that the
/// subagent had before.
///
/// # Errors
///
/// The message says what git reported, or why the repository is refused.
pub(crate) async fn create(
    system: &dyn System,
    cwd: &AbsPath,
    session: &SessionId,
    agent: &str,
    known: Option<&SubagentWorktree>,
) -> Result<SubagentWorktree, String> {
    let git = Git { system, cwd: cwd.clone() };
    let top = git.line(&["rev-parse", "--show-toplevel"]).await.map_err(|error| {
        format!("isolation: \"worktree\" needs a git repository, and {cwd} is not in one: {error}")
    })?;
    refuse_filters(&git).await?;
    if let Some(known) = known {
        if system.metadata(&known.folder).await.is_err() {
            git.run(&["worktree", "prune"]).await?;
            git.run(&["worktree", "add", known.folder.as_str(), &known.branch]).await?;
        }
        return Ok(known.clone());
    }
    let base = git
        .line(&["rev-parse", "--verify", "HEAD^{commit}"])
        .await
        .map_err(|error| format!("isolation: \"worktree\" needs a commit to begin with: {error}"))?;
    // Ids of sessions begin with the time, so the end tells them apart.
    let name: String = session.as_str().chars().filter(char::is_ascii_hexdigit).collect();
    let suffix = &name[name.len().saturating_sub(8)..];
    let branch = format!("tiller/{agent}-{suffix}");
    let folder =
        AbsPath::new(format!("{top}.worktrees/{agent}-{suffix}")).map_err(|error| error.to_string())?;
    git.run(&["worktree", "add", "-b", &branch, folder.as_str(), &base]).await?;
    Ok(SubagentWorktree { folder, branch, base })
}

/// Commits what a subagent left in its worktree, and removes the worktree; the branch stays.
/// Returns a text for the model: the branch and what it changes. If git fails, the worktree stays
/// and the text says so.
pub(crate) async fn hand_back(system: &dyn System, worktree: &SubagentWorktree) -> String {
    match commit(system, worktree).await {
        Ok(text) => text,
        Err(error) => format!(
            "Its work is in {} on branch {}, not committed: {error}",
            worktree.folder, worktree.branch
        ),
    }
}

async fn commit(system: &dyn System, worktree: &SubagentWorktree) -> Result<String, String> {
    let SubagentWorktree { folder, branch, base } = worktree;
    let git = Git { system, cwd: folder.clone() };
    refuse_filters(&git).await?;
    git.run(&["add", "--all"]).await?;
    if !git.run(&["diff", "--cached", "--shortstat", "--no-ext-diff", "--no-textconv"]).await?.is_empty() {
        git.run(&["commit", "--quiet", "--no-verify", "-m", &format!("Work of subagent on {branch}")])
            .await?;
    }
    let changes = git
        .run(&[
            "diff",
            "--stat",
            "--stat-count=200",
            "--submodule=short",
            "--no-ext-diff",
            "--no-textconv",
            base,
            "HEAD",
        ])
        .await?;
    let top = git.line(&["rev-parse", "--path-format=absolute", "--git-common-dir"]).await?;
    let main = Git { system, cwd: AbsPath::new(&top).map_err(|error| error.to_string())? };
    main.run(&["worktree", "remove", folder.as_str()]).await?;
    if changes.trim().is_empty() {
        main.run(&["branch", "-D", branch]).await?;
        return Ok("It changed no file in its worktree.".to_owned());
    }
    Ok(format!(
        "Its changes are on branch {branch}, based on {}:\n{}\nNothing was merged. See them with `git diff {}...{branch}`; take them over with `git merge {branch}`.",
        short(base),
        changes.trim_end(),
        short(base),
    ))
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// Refuses a repository whose own configuration names filters: they are programs, and git runs them
/// when files are checked out or added.
async fn refuse_filters(git: &Git<'_>) -> Result<(), String> {
    let settings = git.run(&["config", "--list", "--includes", "--show-scope", "--name-only"]).await?;
    let of_repository = |line: &str| {
        let (scope, name) = line.split_once('\t')?;
        let is_users = ["system", "global"].contains(&scope);
        (name.starts_with("filter.") && !is_users).then(|| name.to_owned())
    };
    match settings.lines().find_map(of_repository) {
        None => Ok(()),
        Some(filter) => Err(format!(
            "the configuration of this repository names a filter ({filter}), which git would run; a worktree is refused. \
             Move the filter to your own git configuration if you trust it"
        )),
    }
}

/// Runs git in a directory.
struct Git<'a> {
    system: &'a dyn System,
    cwd: AbsPath,
}

impl Git<'_> {
    async fn line(&self, args: &[&str]) -> Result<String, String> {
        Ok(self.run(args).await?.trim_end().to_owned())
    }

    /// Returns the output of a git command.
    ///
    /// # Errors
    ///
    /// The message has the command and what git wrote to standard error, or says that the output is
    /// too long.
    async fn run(&self, args: &[&str]) -> Result<String, String> {
        let what = args.first().copied().unwrap_or_default();
        tokio::time::timeout(GIT_WAIT, self.output(args))
            .await
            .unwrap_or_else(|_| Err(format!("git {what} has not ended within {} s", GIT_WAIT.as_secs())))
    }

    async fn output(&self, args: &[&str]) -> Result<String, String> {
        let what = args.first().copied().unwrap_or_default();
        let author: &[_] = if what != "commit" || self.has_author().await { &[] } else { &AUTHOR };
        let env = system::UNATTENDED_ENV.iter().chain(&OFFLINE).chain(author);
        let command = PipedCommand {
            program: "git".to_owned(),
            args: SAFE.iter().chain(args).map(|arg| (*arg).to_owned()).collect(),
            cwd: self.cwd.clone(),
            inherit: INHERITED.map(str::to_owned).to_vec(),
            env: env.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            error_limit: GIT_OUTPUT_BYTES,
        };
        let mut git = self.system.spawn_piped(command).await.map_err(|error| error.to_string())?;
        drop(git.input);
        let mut bytes = Vec::new();
        let read = (&mut git.output).take(GIT_OUTPUT_BYTES as u64).read_to_end(&mut bytes).await;
        read.map_err(|error| format!("git {what}: {error}"))?;
        if bytes.len() == GIT_OUTPUT_BYTES {
            // Part of it would decide nothing, and git may wait for a reader of the rest.
            return Err(format!("git {what} wrote more than {GIT_OUTPUT_BYTES} bytes"));
        }
        let mut errors = String::new();
        while let Some(piece) = git.process.next_output().await {
            if let Output::Text(text) = piece {
                errors.push_str(&text);
            }
        }
        let status = git.process.wait().await.map_err(|error| error.to_string())?;
        match status.success() {
            true => Ok(String::from_utf8_lossy(&bytes).into_owned()),
            false => Err(format!("git {what} failed: {}", errors.trim())),
        }
    }

    /// Whether the user has configured the author of commits.
    async fn has_author(&self) -> bool {
        Box::pin(self.output(&["config", "user.email"])).await.is_ok()
    }
}

#[cfg(test)]
mod tests;
