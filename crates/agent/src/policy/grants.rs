//! The user's "always" answers, remembered for one session.

use super::{
    CommandConfinement, Subject,
    git::Git,
    network::NetworkGrants,
    shell::{Certainty, Shell, SimpleCommand},
    table,
};
use crate::{Access, Lifetime, limits::GRANTS, text::host};
use std::{collections::HashMap, sync::Mutex};
use system::AbsPath;

/// Where an allowed command ran; a grant for one place does not apply in another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// In a sandbox.
    Confined,
    /// In the editor's terminal, unconfined.
    Editor,
    /// On this machine, which confines no commands.
    Local,
    /// On this machine, outside of the sandbox that other commands run in.
    Lifted,
    /// In a command that is already running, as its input.
    Running,
}

impl Place {
    fn of(confinement: CommandConfinement, lifetime: Lifetime) -> Self {
        match confinement {
            _ if lifetime == Lifetime::Running => Self::Running,
            CommandConfinement::Sandbox { .. } => Self::Confined,
            CommandConfinement::Delegated => Self::Editor,
            CommandConfinement::Off | CommandConfinement::Unavailable => Self::Local,
            CommandConfinement::Lifted => Self::Lifted,
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Confined => "in the sandbox",
            Self::Editor => "in the editor's terminal, unconfined",
            Self::Local => "on this machine, unconfined",
            Self::Lifted => "outside the sandbox",
            Self::Running => "as input of a running command",
        }
    }
}

/// The scope of a grant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Grant {
    /// Commands in one place that begin with these words.
    CommandPrefix { place: Place, words: String },
    /// This exact command line.
    CommandLine { place: Place, line: String },
    /// Writes below one directory.
    Writes(AbsPath),
    /// Reads below one directory.
    Reads(AbsPath),
    /// Fetches from one host, without its subdomains.
    Host(String),
    /// Fetches of exactly this URL, whose host has no name.
    Url(String),
    /// A tool, or a function called through a tool.
    Tool(String),
}

/// The remembered answers of a session; cleared when the permission mode changes.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    answers: Mutex<HashMap<Grant, bool>>,
    /// The answers about destinations of commands' connections.
    network: Mutex<NetworkGrants>,
}

impl Grants {
    /// Remembers an answer. Beyond [`GRANTS`] entries, new answers are not stored.
    pub(crate) fn remember(&self, grants: Vec<Grant>, allow: bool) {
        let mut answers = self.lock();
        for grant in grants {
            if answers.len() < GRANTS || answers.contains_key(&grant) {
                answers.insert(grant, allow);
            }
        }
    }

    /// Forgets every answer.
    pub(crate) fn clear(&self) {
        self.lock().clear();
        self.network().clear();
    }

    /// Returns the answers about destinations of commands' connections.
    pub(crate) fn network(&self) -> std::sync::MutexGuard<'_, NetworkGrants> {
        self.network.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns the answer that covers a whole call, if any: one refused part refuses the call,
    /// approval needs every part approved.
    pub(crate) fn answer(&self, subject: &Subject<'_>, confinement: CommandConfinement) -> Option<bool> {
        if self.lock().is_empty() {
            return None;
        }
        // The exact line may have an answer even where its parts have none.
        let lines = lines(subject, confinement);
        let grants = scope(subject, confinement);
        let answers = self.lock();
        let exact: Vec<_> = lines.iter().map(|grant| answers.get(grant).copied()).collect();
        let found: Vec<_> = grants.iter().map(|grant| covering(&answers, grant)).collect();
        if found.contains(&Some(false)) || exact.contains(&Some(false)) {
            return Some(false);
        }
        let all =
            |found: &[Option<bool>]| !found.is_empty() && found.iter().all(|answer| *answer == Some(true));
        (all(&found) || all(&exact)).then_some(true)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<Grant, bool>> {
        self.answers.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn covering(answers: &HashMap<Grant, bool>, grant: &Grant) -> Option<bool> {
    let above = |folder: &AbsPath, of: fn(AbsPath) -> Grant| {
        let mut folder = Some(folder.clone());
        while let Some(at) = folder {
            folder = at.parent();
            if let Some(allow) = answers.get(&of(at)) {
                return Some(*allow);
            }
        }
        None
    };
    match grant {
        Grant::Writes(folder) => above(folder, Grant::Writes),
        Grant::Reads(folder) => above(folder, Grant::Reads),
        grant => answers.get(grant).copied(),
    }
}

/// Returns the grants for a call's exact command lines.
fn lines(subject: &Subject<'_>, confinement: CommandConfinement) -> Vec<Grant> {
    let line = |resolved: &super::Resolved| match &resolved.access {
        Access::Execute { command, lifetime, .. } => {
            Some(Grant::CommandLine { place: Place::of(confinement, *lifetime), line: command.clone() })
        }
        _ => None,
    };
    subject.accesses.iter().filter_map(line).collect()
}

/// Returns what "always" would cover for a call.
pub(crate) fn scope(subject: &Subject<'_>, confinement: CommandConfinement) -> Vec<Grant> {
    let mut grants = Vec::new();
    let folder = |path: &AbsPath| path.parent().unwrap_or_else(|| path.clone());
    for resolved in subject.accesses {
        match &resolved.access {
            Access::Write(path) => grants.push(Grant::Writes(folder(path))),
            Access::Read(path) => {
                if !super::inside(subject.roots, resolved) {
                    grants.push(Grant::Reads(folder(path)));
                }
            }
            Access::Execute { command, lifetime, .. } => {
                let place = Place::of(confinement, *lifetime);
                match resolved.shell.as_ref().and_then(|shell| prefixes(shell, place)) {
                    Some(all) => {
                        grants.extend(all.into_iter().map(|words| Grant::CommandPrefix { place, words }));
                    }
                    None => grants.push(Grant::CommandLine { place, line: command.clone() }),
                }
            }
            Access::Fetch(url) => grants.push(match host::of(url) {
                Some(host) => Grant::Host(host),
                None => Grant::Url(url.clone()),
            }),
            Access::Call { function, .. } => grants.push(Grant::Tool(function.clone())),
        }
    }
    grants.dedup();
    if grants.is_empty() {
        grants.push(Grant::Tool(subject.tool.to_owned()));
    }
    grants
}

/// Whether "always" may allow these. A line outside the sandbox may run files that commands in the
/// sandbox can change, unless all its commands are of a known shape.
pub(crate) fn may_be_allowed(grants: &[Grant]) -> bool {
    !grants.iter().any(|grant| matches!(grant, Grant::CommandLine { place: Place::Lifted, .. }))
}

/// Returns the prefixes of all commands of a line that need approval; `None` if only the exact line
/// identifies what runs.
fn prefixes(shell: &Shell, place: Place) -> Option<Vec<String>> {
    let Shell::Commands(commands) = shell else { return None };
    let asked: Vec<_> = commands.iter().filter(|command| table::lookup(command).is_none()).collect();
    let asked = if asked.is_empty() { commands.iter().collect() } else { asked };
    asked.into_iter().map(|command| prefix(command, place)).collect()
}

/// Programs whose second word determines the action, so that a grant names both words.
const WITH_SUBCOMMAND: &[&str] = &[
    "git",
    "cargo",
    "npm",
    "pnpm",
    "yarn",
    "go",
    "docker",
    "kubectl",
    "composer",
    "pip",
    "pip3",
    "apt",
    "apt-get",
    "brew",
    "systemctl",
    "rustup",
    "uv",
    "poetry",
    "dotnet",
    "bun",
    "deno",
];

/// Subcommands that run programs named by their further words.
const RUNNERS: &[&str] = &[
    "run",
    "exec",
    "x",
    "dlx",
    "eval",
    "task",
    "generate",
    "script",
    "run-script",
    "shell",
    "repl",
    "create",
    "start",
    "tool",
    "config",
    "bisect",
    "rebase",
    "submodule",
    "difftool",
    "mergetool",
    "filter-branch",
    "for-each-repo",
    "worktree",
    "alias",
    "compose",
    "build",
    "cp",
    "env",
    "fix",
    "rustc",
    "xtask",
    "bench",
    "doc",
    "rustdoc",
];

/// Returns the words by which "always" remembers a command: the program, and its subcommand if that
/// determines the action.
fn prefix(command: &SimpleCommand, place: Place) -> Option<String> {
    let plain = command.writes.is_empty()
        && command.reads.is_empty()
        && !command.elevated
        && !command.wrapped
        && !command.plumbed
        && command.words.iter().all(|word| matches!(word.certainty, Certainty::Exact | Certainty::Glob));
    let program = command.words.first().filter(|word| plain && word.is_exact())?.text.as_str();
    match place {
        Place::Running => return None,
        Place::Lifted => return table::shape(command).map(str::to_owned),
        // Options of git name programs, and a sandbox is all that makes them harmless.
        Place::Local | Place::Editor if program == "git" => return table::shape(command).map(str::to_owned),
        Place::Local | Place::Editor => {
            if let Some(words) = table::shape(command) {
                return Some(words.to_owned());
            }
        }
        Place::Confined => {}
    }
    if program == "git" {
        let git = Git::of(command).filter(|git| !git.redirected)?;
        let subcommand = git.subcommand.filter(|name| !name.is_empty() && !RUNNERS.contains(name))?;
        return Some(format!("git {subcommand}"));
    }
    if WITH_SUBCOMMAND.contains(&program) {
        let subcommand = command.args().first().filter(|word| word.is_exact())?.text.as_str();
        let says = subcommand.starts_with(|c: char| c.is_ascii_alphabetic());
        // Cargo builds and tests the project itself; of other programs, only subcommands that do
        // not run what their words name.
        let runs = RUNNERS.contains(&subcommand)
            && !(program == "cargo" && matches!(subcommand, "build" | "fix" | "bench" | "doc"));
        return (says && !runs).then(|| format!("{program} {subcommand}"));
    }
    // A sandbox confines the program whatever its arguments.
    (place == Place::Confined).then(|| program.to_owned())
}

/// Describes a scope for the label of the "always" option.
pub(crate) fn label(grants: &[Grant]) -> String {
    let mut places = Vec::new();
    let mut parts: Vec<_> = grants
        .iter()
        .map(|grant| match grant {
            Grant::CommandPrefix { place, words } => {
                places.push(*place);
                format!("`{} …`", crate::one_line(words))
            }
            Grant::CommandLine { place, .. } => {
                places.push(*place);
                "this exact command".to_owned()
            }
            Grant::Writes(folder) => format!("writing in {}", crate::one_line(folder.as_str())),
            Grant::Reads(folder) => format!("reading in {}", crate::one_line(folder.as_str())),
            Grant::Host(host) => format!("fetching from {host}"),
            Grant::Url(_) => "fetching exactly this URL".to_owned(),
            Grant::Tool(tool) => tool.clone(),
        })
        .collect();
    parts.dedup();
    let place = places.first().map_or_else(String::new, |place| format!(" {},", place.words()));
    match place.as_str() {
        "" => format!("{} in this session", parts.join(", ")),
        place => format!("{}{place} in this session", parts.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_beyond_the_bound_count_once() {
        let (grants, tool) = (Grants::default(), |number: usize| Grant::Tool(number.to_string()));
        (0..2 * GRANTS).for_each(|number| grants.remember(vec![tool(number)], true));
        assert_eq!(grants.lock().len(), GRANTS);
        grants.remember(vec![tool(0)], false);
        let held = |number| grants.lock().get(&tool(number)).copied();
        assert_eq!((held(0), held(1), held(GRANTS)), (Some(false), Some(true), None));
    }
}
