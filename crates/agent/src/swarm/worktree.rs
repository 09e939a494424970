//! The git worktrees of isolated subagents: each has a branch of its own, beside the repository.
//!
//! Git runs on this machine, not in the editor's terminal, in the sandbox of the session's commands
//! where there is one. Hooks, the file monitor, submodules and
//! every transport are disabled for these commands: each can name a program in the configuration of
//! a repository. A repository whose own configuration has filters is refused, because git would run
//! them at checkout; so is a worktree with a repository in the path of a submodule.

use crate::{
    ProjectPrograms, SessionId, SubagentWorktree,
    limits::{GIT_OUTPUT_BYTES, GIT_WAIT},
};
use std::{future::Future, sync::Arc};
use system::{AbsPath, Output, Piped, PipedCommand, Process, System};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};

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

/// The mode of a submodule in the index, before its path.
const SUBMODULE: &[u8] = b"160000 ";

/// Variables that git commands inherit.
const INHERITED: [&str; 7] = ["PATH", "HOME", "USER", "LANG", "LC_ALL", "XDG_CONFIG_HOME", "TMPDIR"];

/// Creates a worktree with a branch of its own from the last commit, or one for the branch that the
/// subagent had before.
///
/// # Errors
///
/// The message says what git reported, or why the repository is refused.
pub(crate) async fn create(
    system: &Arc<dyn System>,
    programs: &ProjectPrograms,
    session: &SessionId,
    agent: &str,
    known: Option<&SubagentWorktree>,
) -> Result<SubagentWorktree, String> {
    let cwd = programs.cwd();
    let git = Git { system: programs.on(Arc::clone(system)).await, cwd: cwd.clone() };
    let top = git.line(&["rev-parse", "--show-toplevel"]).await.map_err(|error| {
        format!("isolation: \"worktree\" needs a git repository, and {cwd} is not in one: {error}")
    })?;
    refuse_filters(&git).await?;
    let all = AbsPath::new(format!("{top}.worktrees")).map_err(|error| error.to_string())?;
    let is_above = AbsPath::new(&top).is_ok_and(|top| cwd.starts_with(&top));
    if !is_above {
        return Err(format!("the configuration of this repository has another worktree, {top}"));
    }
    // The directory of a worktree can only be made, and removed, in one that the sandbox has.
    system.create_dir_all(&all).await.map_err(|error| error.to_string())?;
    let git = Git { system: programs.clone().with_roots([all.clone()]).on(Arc::clone(system)).await, ..git };
    if let Some(known) = known {
        if system.metadata(&known.folder).await.is_err() {
            git.run(&["worktree", "prune"]).await?;
            let (folder, branch) = (known.folder.as_str(), known.branch.as_str());
            let head = format!("refs/heads/{branch}");
            // A branch without changes was deleted with its worktree.
            match git.run(&["rev-parse", "--verify", "--quiet", &head]).await {
                Ok(_) => git.run(&["worktree", "add", folder, branch]).await?,
                Err(_) => git.run(&["worktree", "add", "-b", branch, folder, &known.base]).await?,
            };
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
    let folder = all.join(format!("{agent}-{suffix}"));
    git.run(&["worktree", "add", "-b", &branch, folder.as_str(), &base]).await?;
    Ok(SubagentWorktree { folder, branch, base })
}

/// Commits what a subagent left in its worktree, and removes the worktree; the branch stays.
/// Returns a text for the model: the branch and what it changes. If git fails, the worktree stays
/// and the text says so.
pub(crate) async fn hand_back(
    system: &Arc<dyn System>,
    programs: &ProjectPrograms,
    worktree: &SubagentWorktree,
) -> String {
    match commit(system, programs, worktree).await {
        Ok(text) => text,
        Err(error) => format!(
            "Its work is in {} on branch {}, not committed: {error}",
            worktree.folder, worktree.branch
        ),
    }
}

async fn commit(
    system: &Arc<dyn System>,
    programs: &ProjectPrograms,
    worktree: &SubagentWorktree,
) -> Result<String, String> {
    let SubagentWorktree { folder, branch, base } = worktree;
    let confined = programs.clone().with_roots(folder.parent()).on(Arc::clone(system)).await;
    let git = Git { system: confined, cwd: folder.clone() };
    refuse_filters(&git).await?;
    add(&git).await?;
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
    let main =
        Git { system: Arc::clone(&git.system), cwd: AbsPath::new(&top).map_err(|error| error.to_string())? };
    let removed = main.run(&["worktree", "remove", folder.as_str()]).await;
    if let (Ok(_), Some(all)) = (&removed, folder.parent())
        && system.read_dir(&all).await.is_ok_and(|left| left.is_empty())
    {
        // Another process may have put a worktree into it.
        let _ = system.remove(&all).await;
    }
    let left = match removed {
        Ok(_) if changes.trim().is_empty() => {
            main.run(&["branch", "-D", branch]).await?;
            return Ok("It changed no file in its worktree.".to_owned());
        }
        Ok(_) => String::new(),
        Err(error) => format!(" Its worktree {folder} stays: {error}."),
    };
    Ok(format!(
        "Its changes are on branch {branch}, based on {}:\n{}\nNothing was merged. See them with `git diff {}...{branch}`; take them over with `git merge {branch}`.{left}",
        short(base),
        changes.trim_end(),
        short(base),
    ))
}

/// Adds all changes to the index. Paths of submodules are left out: to compare one, git enters the
/// repository in it and runs the filters of that repository's configuration.
///
/// # Errors
///
/// If there is a repository in the path of a submodule: its work would be lost with the worktree.
async fn add(git: &Git) -> Result<(), String> {
    let submodules = git.submodules().await?;
    for path in &submodules {
        if git.system.metadata(&git.cwd.join(path).join(".git")).await.is_ok() {
            return Err(format!(
                "the submodule {path} holds a repository, and git would run the programs that its configuration names. \
                 Commit in {path} and in the worktree yourself"
            ));
        }
    }
    let exclude: Vec<_> = submodules.iter().map(|path| format!(":(exclude,literal){path}")).collect();
    let args: Vec<_> =
        ["add", "--all", "--", "."].into_iter().chain(exclude.iter().map(String::as_str)).collect();
    git.run(&args).await?;
    Ok(())
}

fn short(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// Refuses a repository whose own configuration names filters: they are programs, and git runs them
/// when files are checked out or added.
async fn refuse_filters(git: &Git) -> Result<(), String> {
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

/// The paths in the output of `git ls-files -z --format=%(objectmode) %(path)` that are submodules.
async fn submodules_of(output: &mut (dyn AsyncRead + Send + Unpin)) -> Result<Vec<String>, String> {
    let (mut entries, mut paths, mut kept) = (BufReader::new(output).split(0), Vec::new(), 0);
    while let Some(entry) = entries.next_segment().await.map_err(|error| format!("git ls-files: {error}"))? {
        let Some(path) = entry.strip_prefix(SUBMODULE) else { continue };
        kept += path.len();
        if kept > GIT_OUTPUT_BYTES {
            return Err(format!("the paths of the submodules are longer than {GIT_OUTPUT_BYTES} bytes"));
        }
        paths.push(String::from_utf8(path.to_vec()).map_err(|_| "the path of a submodule is not UTF-8")?);
    }
    Ok(paths)
}

/// Waits for the end of a git command.
///
/// # Errors
///
/// The message has the command and what git wrote to standard error.
async fn end(mut process: Box<dyn Process>, what: &str) -> Result<(), String> {
    let mut errors = String::new();
    while let Some(piece) = process.next_output().await {
        if let Output::Text(text) = piece {
            errors.push_str(&text);
        }
    }
    let status = process.wait().await.map_err(|error| error.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("git {what} failed: {}", errors.trim())) }
}

/// A git command that runs.
struct Started {
    output: Box<dyn AsyncRead + Send + Unpin>,
    process: Box<dyn Process>,
}

/// Runs git in a directory.
struct Git {
    system: Arc<dyn System>,
    cwd: AbsPath,
}

impl Git {
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
        self.in_time(args.first().copied().unwrap_or_default(), self.output(args)).await
    }

    /// Returns the paths of the submodules in the index, relative to its top.
    ///
    /// # Errors
    ///
    /// As for [`run`](Self::run). The output that counts is that of the submodules.
    async fn submodules(&self) -> Result<Vec<String>, String> {
        self.in_time("ls-files", async {
            let mut git = self.start(&["ls-files", "-z", "--format=%(objectmode) %(path)"]).await?;
            let read = submodules_of(&mut git.output).await;
            end(git.process, "ls-files").await.and(read)
        })
        .await
    }

    async fn in_time<T>(
        &self,
        what: &str,
        work: impl Future<Output = Result<T, String>>,
    ) -> Result<T, String> {
        tokio::time::timeout(GIT_WAIT, work)
            .await
            .unwrap_or_else(|_| Err(format!("git {what} has not ended within {} s", GIT_WAIT.as_secs())))
    }

    async fn output(&self, args: &[&str]) -> Result<String, String> {
        let what = args.first().copied().unwrap_or_default();
        let mut git = self.start(args).await?;
        let mut bytes = Vec::new();
        let read = (&mut git.output).take(GIT_OUTPUT_BYTES as u64).read_to_end(&mut bytes).await;
        read.map_err(|error| format!("git {what}: {error}"))?;
        if bytes.len() == GIT_OUTPUT_BYTES {
            // Part of it would decide nothing, and git may wait for a reader of the rest.
            return Err(format!("git {what} wrote more than {GIT_OUTPUT_BYTES} bytes"));
        }
        end(git.process, what).await?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Starts git with an empty standard input.
    async fn start(&self, args: &[&str]) -> Result<Started, String> {
        let is_commit = args.first() == Some(&"commit");
        let author: &[_] = if !is_commit || self.has_author().await { &[] } else { &AUTHOR };
        let env = system::UNATTENDED_ENV.iter().chain(&OFFLINE).chain(author);
        let command = PipedCommand {
            program: "git".to_owned(),
            args: SAFE.iter().chain(args).map(|arg| (*arg).to_owned()).collect(),
            cwd: self.cwd.clone(),
            inherit: INHERITED.map(str::to_owned).to_vec(),
            env: env.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
            error_limit: GIT_OUTPUT_BYTES,
            confinement: system::Confinement::Session,
            apart_from: vec![self.cwd.clone()],
        };
        let Piped { output, process, .. } =
            self.system.spawn_piped(command).await.map_err(|error| error.to_string())?;
        Ok(Started { output, process })
    }

    /// Whether the user has configured the author of commits.
    async fn has_author(&self) -> bool {
        Box::pin(self.output(&["config", "user.email"])).await.is_ok()
    }
}

#[cfg(test)]
mod tests;
