//! Where a command would run, and what would hold it back there.

use crate::{
    Mode,
    policy::{
        PermissionRules,
        rules::{BLOCKED_PATHS, NOT_BLOCKED},
    },
};
use system::{AbsPath, Route, Sandbox, SandboxLevel, SandboxSupport};

/// How the commands of sessions are confined; resolved once, at the edge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxOptions {
    /// What is left of the file system. In the modes that read only, it is [`SandboxLevel::ReadOnly`] at least.
    pub level: SandboxLevel,
    /// Whether commands reach the network.
    pub network: bool,
    /// Folders that may be written beside the session's own: the temporary one, caches of build tools.
    pub writable: Vec<AbsPath>,
    /// Files and folders that commands cannot read: keys, and this program's own data.
    pub hidden: Vec<AbsPath>,
    /// Paths that commands cannot write although they lie below a writable folder: this program's own settings.
    pub guarded: Vec<AbsPath>,
}

/// What stands between a command and the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Shelter {
    /// The client's terminal: nobody here can tell, so nothing.
    Delegated,
    /// Nothing, because the settings say so.
    Off,
    /// Nothing, because this machine has no sandbox.
    Unavailable,
    /// Nothing, because the call asks to be outside.
    Lifted,
    /// A sandbox. `holds` when what decides about running things is read-only in it too.
    /// `at` is where the command runs: on this machine directly, or in the client's terminal through the launcher.
    Sandbox { level: SandboxLevel, network: bool, holds: bool, at: Route },
}

impl Shelter {
    /// What a command gets.
    pub(crate) fn of(sandbox: &Sandbox, support: SandboxSupport, executor: Route, lifted: bool) -> Self {
        match executor {
            Route::Client if lifted || !support.in_client || !support.applies() => Self::Delegated,
            _ if sandbox.level == SandboxLevel::Off && executor == Route::Client => Self::Delegated,
            _ if lifted => Self::Lifted,
            _ if sandbox.level == SandboxLevel::Off => Self::Off,
            _ if !support.applies() => Self::Unavailable,
            _ => {
                let Sandbox { level, network, .. } = *sandbox;
                Self::Sandbox { level, network, holds: support.holds(), at: executor }
            }
        }
    }

    /// Whether what runs the project's own code may run without a question.
    pub(crate) fn holds(self) -> bool {
        matches!(self, Self::Sandbox { network: false, holds: true, .. })
    }

    /// Who runs it and what holds it back, for a question.
    pub(crate) fn words(self) -> String {
        match self {
            Self::Delegated => "in the editor's terminal (no sandbox)".to_owned(),
            Self::Off => "on this machine (sandbox off)".to_owned(),
            Self::Unavailable => {
                "on this machine (no sandbox: this system cannot confine commands)".to_owned()
            }
            Self::Lifted => "on this machine, outside of the sandbox".to_owned(),
            Self::Sandbox { level, network, holds, at } => {
                let network = if network { "network" } else { "no network" };
                let partly = if holds { "" } else { ", hooks and secrets of the project in reach" };
                let place = match at {
                    Route::Client => "in the editor's terminal",
                    Route::Local | Route::Refused => "on this machine",
                };
                format!("{place} (sandbox: {}, {network}{partly})", level.id())
            }
        }
    }
}

/// What commands are to get, before it is known what this machine gives.
pub(crate) fn expected(options: &SandboxOptions, executor: Route) -> String {
    match (executor, options.level) {
        (Route::Client, _) => Shelter::Delegated.words(),
        (_, SandboxLevel::Off) => Shelter::Off.words(),
        (_, level) => {
            let network = if options.network { "network" } else { "no network" };
            format!(
                "on this machine (sandbox: {}, {network}, if this system can: known with the first command)",
                level.id()
            )
        }
    }
}

/// Files of a project that decide what is run later, by name: a confined command does not write them.
const GUARDED: [&str; 7] =
    [".git/hooks", ".git/config", ".mcp.json", ".tiller", ".vscode/mcp.json", ".cursor/mcp.json", ".envrc"];

/// The same for what does not exist yet: it must not come into being. A folder stands for all that would decide something in it.
const RESERVED_FILES: [&str; 4] = [".mcp.json", ".envrc", ".vscode/mcp.json", ".cursor/mcp.json"];
const RESERVED_FOLDERS: [&str; 4] = [".tiller", ".vscode", ".cursor", ".git/hooks"];

/// What bounds the commands of a session.
pub(crate) struct Bounds<'a> {
    pub(crate) options: &'a SandboxOptions,
    pub(crate) mode: Mode,
    pub(crate) roots: &'a [AbsPath],
    pub(crate) blocked_paths: &'a [String],
    pub(crate) rules: &'a PermissionRules,
}

/// The sandbox of a session's commands.
pub(crate) fn sandbox(bounds: &Bounds<'_>) -> Sandbox {
    let Bounds { options, mode, roots, blocked_paths, rules } = *bounds;
    let level = match (options.level, mode) {
        (SandboxLevel::Off, _) => SandboxLevel::Off,
        (_, Mode::Plan | Mode::Ask) => SandboxLevel::ReadOnly,
        (level, Mode::Edit) => level,
    };
    let below = |names: &[&str]| -> Vec<_> {
        roots.iter().flat_map(|root| names.iter().map(|name| root.join(name))).collect()
    };
    // `.git` is blocked for tools that take a path; a build may look at its own history.
    let built_in = BLOCKED_PATHS.iter().filter(|pattern| !pattern.contains(".git/"));
    let unread = rules.deny.iter().filter_map(|rule| rule.unread()).map(str::to_owned);
    let own = blocked_paths.iter().cloned().chain(unread);
    Sandbox {
        level,
        network: options.network,
        writable: roots.iter().chain(&options.writable).cloned().collect(),
        guarded: below(&GUARDED).into_iter().chain(options.guarded.iter().cloned()).collect(),
        reserved_files: below(&RESERVED_FILES),
        reserved_folders: below(&RESERVED_FOLDERS),
        covered: Vec::new(),
        hidden: options.hidden.clone(),
        secrets: built_in.map(|pattern| (*pattern).to_owned()).chain(own).collect(),
        not_secret: NOT_BLOCKED.iter().map(|pattern| (*pattern).to_owned()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_sandbox_without_a_network_holds() {
        let whole = SandboxSupport {
            landlock_abi: 4,
            seccomp: true,
            namespaces: true,
            launcher: true,
            in_client: false,
        };
        let partly = SandboxSupport { namespaces: false, ..whole };
        let old = SandboxSupport { landlock_abi: 2, ..whole };
        let on = Sandbox { level: SandboxLevel::WorkspaceWrite, ..Sandbox::default() };
        let online = Sandbox { network: true, ..on.clone() };
        let off = Sandbox { level: SandboxLevel::Off, ..Sandbox::default() };
        for (sandbox, support, executor, lifted, holds, words) in [
            (&on, whole, Route::Local, false, true, "sandbox: workspace-write, no network)"),
            (&on, partly, Route::Local, false, false, "hooks and secrets"),
            (&on, old, Route::Local, false, false, "cannot confine"),
            (&on, SandboxSupport::default(), Route::Local, false, false, "cannot confine"),
            (&online, whole, Route::Local, false, false, "workspace-write, network"),
            (&off, whole, Route::Local, false, false, "sandbox off"),
            (&on, whole, Route::Local, true, false, "outside of the sandbox"),
            (&on, whole, Route::Client, false, false, "editor's terminal (no sandbox)"),
        ] {
            let shelter = Shelter::of(sandbox, support, executor, lifted);
            assert_eq!(shelter.holds(), holds, "{shelter:?}");
            assert!(shelter.words().contains(words), "{}", shelter.words());
        }
    }
}
