//! Where a command would run, and what would hold it back there.

use crate::{
    Mode, SessionId,
    policy::{
        PermissionRules, protected,
        rules::{BLOCKED_PATHS, NOT_BLOCKED},
    },
};
use system::{AbsPath, PrivateTemp, ResourceLimits, Route, Sandbox, SandboxLevel, SandboxSupport};

/// How the commands of sessions are confined; resolved once, at the edge.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxOptions {
    /// What is left of the file system. In the modes that read only, it is [`SandboxLevel::ReadOnly`] at least.
    pub level: SandboxLevel,
    /// Whether commands reach the network.
    pub network: bool,
    /// Folders that may be written beside the session's own.
    pub writable: Vec<AbsPath>,
    /// Temporary directories that all programs share. Each session's commands get their own in their
    /// place where the kernel can do that.
    pub shared: Vec<AbsPath>,
    /// Where the sessions' own temporary files are kept; without it commands share what all do.
    pub temp: Option<AbsPath>,
    /// What each command may use.
    pub limits: ResourceLimits,
    /// Files and folders that commands cannot read: keys, and this program's own data.
    pub hidden: Vec<AbsPath>,
    /// Paths that commands cannot write although they lie below a writable folder: this program's own settings.
    pub guarded: Vec<AbsPath>,
}

impl SandboxOptions {
    /// Where the long results of one session are kept whole.
    pub(crate) fn outputs_of(&self, session: &SessionId) -> Option<AbsPath> {
        let temp = self.temp.as_ref()?;
        Some(temp.join(session.to_string()).join(system::OUTPUT_DIRECTORY))
    }

    /// The temporary directories of one session.
    pub(crate) fn temp_of(&self, session: &SessionId) -> Vec<PrivateTemp> {
        let Some(temp) = &self.temp else { return Vec::new() };
        let backing = |at: usize| temp.join(session.to_string()).join(at.to_string());
        let shared = self.shared.iter().enumerate();
        shared.map(|(at, path)| PrivateTemp { at: path.clone(), backing: backing(at) }).collect()
    }
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

    /// What is missing of a sandbox that the settings want, and what follows.
    pub(crate) fn shortcoming(self) -> Option<&'static str> {
        match self {
            Self::Unavailable => {
                Some("this system cannot confine commands, so all but those that only look ask")
            }
            Self::Delegated => Some(
                "commands in the editor's terminal cannot be confined here, so all but those that only look ask",
            ),
            Self::Sandbox { holds: false, network: false, .. } => Some(
                "without namespaces, hooks and secret files of the project are in reach of commands, so all but those that only look ask",
            ),
            Self::Sandbox { .. } | Self::Off | Self::Lifted => None,
        }
    }

    /// Who runs it and what holds it back, for a question.
    pub(crate) fn words(self) -> String {
        self.words_at("on this machine")
    }

    /// The same, with the words for the machine that the agent runs on.
    pub(crate) fn words_at(self, here: &str) -> String {
        match self {
            Self::Delegated => "in the editor's terminal (no sandbox)".to_owned(),
            Self::Off => format!("{here} (sandbox off)"),
            Self::Unavailable => {
                format!("{here} (no sandbox: this system cannot confine commands)")
            }
            Self::Lifted => format!("{here}, outside of the sandbox"),
            Self::Sandbox { level, network, holds, at } => {
                let network = if network { "network" } else { "no network" };
                let partly = if holds { "" } else { ", hooks and secrets of the project in reach" };
                let place = match at {
                    Route::Client => "in the editor's terminal",
                    Route::Local | Route::Refused => here,
                };
                format!("{place} (sandbox: {}, {network}{partly})", level.id())
            }
        }
    }
}

/// What commands are to get, before it is known what this machine gives.
pub(crate) fn expected(options: &SandboxOptions, executor: Route) -> String {
    let place = match (executor, options.level) {
        (Route::Client, SandboxLevel::Off) => return Shelter::Delegated.words(),
        (_, SandboxLevel::Off) => return Shelter::Off.words(),
        (Route::Client, _) => "in the editor's terminal",
        (Route::Local | Route::Refused, _) => "on this machine",
    };
    let network = if options.network { "network" } else { "no network" };
    let level = options.level.id();
    format!("{place} (sandbox: {level}, {network}, if this system can: known with the first command)")
}

/// What bounds the commands of a session.
pub(crate) struct Bounds<'a> {
    pub(crate) options: &'a SandboxOptions,
    pub(crate) mode: Mode,
    pub(crate) roots: &'a [AbsPath],
    pub(crate) blocked_paths: &'a [String],
    pub(crate) rules: &'a PermissionRules,
    /// The session's own temporary directories.
    pub(crate) temp: &'a [PrivateTemp],
}

/// The sandbox of a session's commands.
pub(crate) fn sandbox(bounds: &Bounds<'_>) -> Sandbox {
    let Bounds { options, mode, roots, blocked_paths, rules, temp } = *bounds;
    let level = match (options.level, mode) {
        (SandboxLevel::Off, _) => SandboxLevel::Off,
        (_, Mode::Plan | Mode::Ask) => SandboxLevel::ReadOnly,
        (level, Mode::Edit) => level,
    };
    let below = |names: &mut dyn Iterator<Item = &'static str>| -> Vec<_> {
        let names: Vec<_> = names.collect();
        roots.iter().flat_map(|root| names.iter().map(|name| root.join(name)).collect::<Vec<_>>()).collect()
    };
    let git = protected::GIT.iter().map(|name| &**name);
    let is_kept = |temp: &&PrivateTemp| !roots.iter().any(|root| temp.at.starts_with(root));
    // `.git` is blocked for tools that take a path; a build may look at its own history.
    let built_in = BLOCKED_PATHS.iter().filter(|pattern| !pattern.contains(".git/"));
    let unread = rules.deny.iter().filter_map(|rule| rule.unread()).map(str::to_owned);
    let own = blocked_paths.iter().cloned().chain(unread);
    Sandbox {
        level,
        network: options.network,
        writable: roots.iter().chain(&options.writable).chain(&options.shared).cloned().collect(),
        guarded: below(&mut protected::all().chain(git))
            .into_iter()
            .chain(options.guarded.iter().cloned())
            .collect(),
        reserved: below(&mut protected::all().chain([protected::CARGO])),
        nested: protected::all().map(str::to_owned).collect(),
        temp: temp.iter().filter(is_kept).cloned().collect(),
        shared: options.shared.clone(),
        limits: options.limits,
        hidden: options.hidden.clone(),
        secrets: built_in.map(|pattern| (*pattern).to_owned()).chain(own).collect(),
        not_secret: NOT_BLOCKED.iter().map(|pattern| (*pattern).to_owned()).collect(),
        blanked: Vec::new(),
        pinned: Vec::new(),
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
            processes: true,
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
