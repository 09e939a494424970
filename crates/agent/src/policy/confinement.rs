//! Where a command would run, and what would confine it there.

use crate::{
    CommandPlace, ContentHash, Mode, SessionId,
    policy::{
        NetworkOptions, PermissionRules, SERVICE_PORTS, protected,
        rules::{BLOCKED_PATHS, NOT_BLOCKED},
    },
};
use system::{
    AbsPath, HomeEntry, HomeView, Network, ProtectedPaths, ResourceLimits, RoomPorts, Route, Sandbox,
    SandboxLevel, SandboxSupport, SecretPaths, View,
};

/// The number of characters of a name for a project.
const PROJECT_CHARS: usize = 16;

/// The configuration of the sandbox for commands; resolved once, when the settings are loaded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxOptions {
    /// The access to the file system. The read-only modes use [`SandboxLevel::ReadOnly`] unless
    /// this is [`SandboxLevel::Off`].
    pub level: SandboxLevel,
    /// The network of commands.
    pub network: NetworkOptions,
    /// The files that commands see in addition to the session's own.
    pub files: CommandFiles,
    /// Temporary directories that all programs share.
    pub shared: Vec<AbsPath>,
    /// The directory that holds the sessions' own temporary files; without it, commands use the
    /// shared directories.
    pub temp: Option<AbsPath>,
    /// The resource limits of each command.
    pub limits: ResourceLimits,
    /// Files and directories that commands cannot read even below a writable directory: this
    /// program's own data.
    pub hidden: Vec<AbsPath>,
    /// Whether commands can read files of the project whose names indicate a secret.
    pub secrets: Secrets,
    /// Paths that commands cannot write even below a writable directory: this program's own
    /// settings.
    pub guarded: Vec<AbsPath>,
}

impl SandboxOptions {
    /// Returns the directory for the full long results of one session.
    pub(crate) fn outputs_of(&self, session: &SessionId) -> Option<AbsPath> {
        let temp = self.temp.as_ref()?;
        Some(temp.join(session.directory_name()).join(system::OUTPUT_DIRECTORY))
    }

    /// Returns the directories of one session for the files of its commands.
    pub(crate) fn own_files_of(&self, session: &SessionId) -> Option<OwnFiles> {
        let all = self.temp.as_ref()?;
        let own = all.join(session.directory_name());
        Some(OwnFiles {
            temp: own.join("tmp"),
            copies: own.join("copies"),
            home: own.join("home"),
            changes: all.join(system::CACHES_DIRECTORY),
        })
    }
}

/// The directories of a session for the files of its commands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OwnFiles {
    /// The temporary files.
    pub(crate) temp: AbsPath,
    /// The copies of control files.
    pub(crate) copies: AbsPath,
    /// What commands write into the home directory.
    home: AbsPath,
    /// What commands change in the home directory, in a directory for each project.
    changes: AbsPath,
}

impl OwnFiles {
    /// Returns the directories of a session's server, by its number: temporary files of its own,
    /// and the other directories of the session.
    pub(crate) fn of_server(&self, number: usize) -> Self {
        let own = self.temp.parent().unwrap_or_else(|| self.temp.clone());
        let temp = AbsPath::new(format!("{own}.server-{number}")).unwrap_or(own).join("tmp");
        Self { temp, ..self.clone() }
    }

    /// Returns the home directory of commands in a project.
    fn home(&self, options: &SandboxOptions, project: Option<&AbsPath>) -> Option<HomeView> {
        let project = project.map_or("", AbsPath::as_str);
        let ContentHash(name) = ContentHash::of(project.as_bytes());
        Some(HomeView {
            at: options.files.home.clone()?,
            files: self.home.clone(),
            changes: self.changes.join(&name[..PROJECT_CHARS]),
            entries: options.files.home_entries.clone(),
        })
    }
}

/// The files that commands see in addition to the system's and the session's own.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandFiles {
    /// Directories that they can write to.
    pub writable: Vec<AbsPath>,
    /// Files and directories that they can read.
    pub readable: Vec<AbsPath>,
    /// The user's home directory; without it, commands find none.
    pub home: Option<AbsPath>,
    /// What they see of the home directory.
    pub home_entries: Vec<HomeEntry>,
}

/// How commands see files of the project whose names indicate a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Secrets {
    /// They can read them; their values are removed from the output.
    #[default]
    Read,
    /// They cannot open them.
    Hide,
}

/// The confinement of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum CommandConfinement {
    /// The client's terminal; its confinement is unknown here and therefore counts as none.
    Delegated,
    /// None, because the settings turn it off.
    Off,
    /// None, because this machine has no sandbox.
    Unavailable,
    /// None, because the call requests to run outside the sandbox.
    Lifted,
    /// A sandbox. `holds` if files that decide what may run, and the project's secrets, are
    /// protected in it too. `at` is where the command runs: on this machine directly, or in the
    /// client's terminal through the launcher.
    Sandbox { level: SandboxLevel, network: Network, holds: bool, at: Route },
}

impl CommandConfinement {
    /// Returns the confinement of a command with this sandbox, support and executor.
    pub(crate) fn of(sandbox: &Sandbox, support: SandboxSupport, executor: Route, lifted: bool) -> Self {
        match executor {
            Route::Client if lifted || !support.in_client || !support.applies() => Self::Delegated,
            _ if sandbox.level == SandboxLevel::Off && executor == Route::Client => Self::Delegated,
            _ if lifted => Self::Lifted,
            _ if sandbox.level == SandboxLevel::Off => Self::Off,
            _ if !support.applies() => Self::Unavailable,
            _ => {
                let Sandbox { level, network, .. } = *sandbox;
                let holds = support.holds();
                // Without namespaces no connection can be decided about, so there is no network.
                let network = if network == Network::Session && !holds { Network::Off } else { network };
                Self::Sandbox { level, network, holds, at: executor }
            }
        }
    }

    /// Whether commands that run the project's own code need no approval.
    pub(crate) fn holds(self) -> bool {
        matches!(self, Self::Sandbox { network: Network::Off | Network::Session, holds: true, .. })
    }

    /// Returns whether a push is decided about when it reaches the network.
    pub(crate) fn sees_pushes(self) -> bool {
        matches!(self, Self::Sandbox { network: Network::Session, holds: true, .. })
    }

    /// Returns where a command runs, for a client that shows it while it does.
    pub(crate) fn place(self) -> CommandPlace {
        match self {
            Self::Delegated => CommandPlace::Client,
            Self::Sandbox { at: Route::Client, .. } => CommandPlace::ClientSandbox,
            Self::Sandbox { .. } => CommandPlace::Sandbox,
            Self::Off | Self::Unavailable | Self::Lifted => CommandPlace::Unconfined,
        }
    }

    /// Describes where a command runs and what confines it, in facts of a few words.
    pub(crate) fn facts(self) -> Vec<String> {
        const EDITOR: &str = "in the editor's terminal";
        let facts = |facts: &[&str]| facts.iter().map(|fact| (*fact).to_owned()).collect();
        match self {
            Self::Delegated => facts(&[EDITOR, "no sandbox"]),
            Self::Off => facts(&["sandbox off", "network"]),
            Self::Unavailable => facts(&["this system has no sandbox", "network"]),
            Self::Lifted => facts(&["outside the sandbox", "network"]),
            Self::Sandbox { level, network, holds, at } => {
                let mut all: Vec<String> = facts(if at == Route::Client { &[EDITOR] } else { &[] });
                all.push(format!("sandbox: {}", level.id()));
                all.push(network_words(network).to_owned());
                all.extend((!holds).then(|| "hooks and secrets in reach".to_owned()));
                all
            }
        }
    }

    /// Describes what the sandbox lacks compared with the settings, and the consequence.
    pub(crate) fn shortcoming(self) -> Option<&'static str> {
        match self {
            Self::Unavailable => Some(
                "this system cannot confine commands, so every command that is not read-only needs approval",
            ),
            Self::Delegated => Some(
                "commands in the editor's terminal cannot be confined here, so every command that is not read-only needs approval",
            ),
            Self::Sandbox { holds: false, network: Network::Off, .. } => Some(
                "without namespaces, commands can reach the project's hooks and secret files, so every command that is not read-only needs approval",
            ),
            Self::Sandbox { .. } | Self::Off | Self::Lifted => None,
        }
    }

    /// Describes where a command runs and what confines it, for a question.
    pub(crate) fn describe(self) -> String {
        self.describe_at("on this machine")
    }

    /// As [`Self::describe`], with the words for the machine that the agent runs on.
    pub(crate) fn describe_at(self, here: &str) -> String {
        match self {
            Self::Delegated => "in the editor's terminal (no sandbox)".to_owned(),
            Self::Off => format!("{here} (sandbox off)"),
            Self::Unavailable => {
                format!("{here} (no sandbox: this system cannot confine commands)")
            }
            Self::Lifted => format!("{here}, outside the sandbox"),
            Self::Sandbox { level, network, holds, at } => {
                let network = network_words(network);
                let partly = if holds { "" } else { ", the project's hooks and secrets in reach" };
                let place = match at {
                    Route::Client => "in the editor's terminal",
                    Route::Local | Route::Refused => here,
                };
                format!("{place} (sandbox: {}, {network}{partly})", level.id())
            }
        }
    }
}

/// Describes the network of commands.
fn network_words(network: Network) -> &'static str {
    match network {
        Network::Off => "no network",
        Network::Session => "asks about hosts",
        Network::Open => "network",
    }
}

/// Describes the confinement that the settings request, before the machine's support is known.
pub(crate) fn expected(options: &SandboxOptions, executor: Route) -> String {
    let place = match (executor, options.level) {
        (Route::Client, SandboxLevel::Off) => return CommandConfinement::Delegated.describe(),
        (_, SandboxLevel::Off) => return CommandConfinement::Off.describe(),
        (Route::Client, _) => "in the editor's terminal",
        (Route::Local | Route::Refused, _) => "on this machine",
    };
    let network = network_words(options.network.network);
    let level = options.level.id();
    format!("{place} (sandbox: {level}, {network}, if this system supports it; checked at the first command)")
}

/// The bounds of a session's commands.
pub(crate) struct Bounds<'a> {
    pub(crate) options: &'a SandboxOptions,
    pub(crate) mode: Mode,
    pub(crate) roots: &'a [AbsPath],
    pub(crate) blocked_paths: &'a [String],
    pub(crate) rules: &'a PermissionRules,
    /// The directories for the files of the session's commands.
    pub(crate) own_files: Option<&'a OwnFiles>,
    /// The folder of a server's user, outside which nothing is writable.
    pub(crate) folder: Option<&'a AbsPath>,
}

/// Returns the sandbox of a session's commands.
pub(crate) fn sandbox(bounds: &Bounds<'_>) -> Sandbox {
    let Bounds { options, mode, roots, blocked_paths, rules, own_files, folder } = *bounds;
    // A link in the folder may lead out of it since the session began.
    let is_inside = |root: &&AbsPath| folder.is_none_or(|folder| root.starts_with(folder));
    let unwritten: Vec<_> = rules.deny.iter().filter_map(|rule| rule.unwritten()).collect();
    let level = match (options.level, mode) {
        (SandboxLevel::Off, _) => SandboxLevel::Off,
        (_, Mode::Plan | Mode::Ask) => SandboxLevel::ReadOnly,
        _ if unwritten.contains(&"") => SandboxLevel::ReadOnly,
        (level, Mode::Edit) => level,
    };
    let below = |names: &mut dyn Iterator<Item = &'static str>| -> Vec<_> {
        let names: Vec<_> = names.collect();
        roots.iter().flat_map(|root| names.iter().map(|name| root.join(name)).collect::<Vec<_>>()).collect()
    };
    let git = protected::GIT.iter().map(|name| &**name);
    // `.git` is blocked for tools that take a path, but a build may read its own history.
    let built_in = BLOCKED_PATHS.iter().filter(|pattern| !pattern.contains(".git/"));
    let built_in: Vec<_> = built_in.map(|pattern| (*pattern).to_owned()).collect();
    let unread = rules.deny.iter().filter_map(|rule| rule.unread()).map(str::to_owned);
    let own = blocked_paths.iter().cloned().chain(unread);
    let protected = ProtectedPaths {
        guarded: below(&mut protected::FOLDERS.iter().copied().chain(git))
            .into_iter()
            .chain(options.guarded.iter().cloned())
            .chain(unwritten.iter().flat_map(|path| roots.iter().map(move |root| root.join(path))))
            .collect(),
        reserved: below(&mut protected::FOLDERS.iter().copied()),
        compared: below(&mut protected::FILES.iter().copied()),
        linked: Vec::new(),
        missing: Vec::new(),
        pinned: Vec::new(),
        sockets: Vec::new(),
        folders: Vec::new(),
        copied: below(&mut protected::FOLDERS.iter().copied())
            .into_iter()
            .filter(|path| {
                !unwritten.iter().any(|denied| roots.iter().any(|root| root.join(denied) == *path))
            })
            .collect(),
    };
    let view = View {
        roots: roots.iter().filter(is_inside).chain(&options.files.writable).cloned().collect(),
        readable: options.files.readable.clone(),
        temp: own_files.map(|own| own.temp.clone()),
        copies: own_files.map(|own| own.copies.clone()),
        home: own_files.and_then(|own| own.home(options, roots.first())),
    };
    let secret = SecretPaths {
        hidden: options.hidden.clone(),
        patterns: built_in.iter().cloned().chain(own.clone()).collect(),
        hide: match options.secrets {
            Secrets::Read => own.collect(),
            Secrets::Hide => built_in.into_iter().chain(own).collect(),
        },
        exceptions: NOT_BLOCKED.iter().map(|pattern| (*pattern).to_owned()).collect(),
        blanked: Vec::new(),
    };
    let network = options.network.network;
    let ports = match network {
        Network::Session => RoomPorts {
            hosts: rules.network.ports(),
            local: rules.network.local_ports(),
            // What a server listens for at its loopback addresses is not its users'.
            services: if folder.is_none() { SERVICE_PORTS.to_vec() } else { Vec::new() },
        },
        Network::Off | Network::Open => RoomPorts::default(),
    };
    Sandbox { level, network, ports, view, protected, secret, limits: options.limits }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_sandbox_without_an_open_network_holds() {
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
        let online = Sandbox { network: Network::Open, ..on.clone() };
        let asks = Sandbox { network: Network::Session, ..on.clone() };
        let off = Sandbox { level: SandboxLevel::Off, ..Sandbox::default() };
        for (sandbox, support, executor, lifted, holds, words) in [
            (&on, whole, Route::Local, false, true, "sandbox: workspace-write, no network)"),
            (&on, partly, Route::Local, false, false, "hooks and secrets"),
            (&on, old, Route::Local, false, false, "cannot confine"),
            (&on, SandboxSupport::default(), Route::Local, false, false, "cannot confine"),
            (&online, whole, Route::Local, false, false, "workspace-write, network"),
            (&asks, whole, Route::Local, false, true, "workspace-write, asks about hosts"),
            (&asks, partly, Route::Local, false, false, "workspace-write, no network"),
            (&off, whole, Route::Local, false, false, "sandbox off"),
            (&on, whole, Route::Local, true, false, "outside the sandbox"),
            (&on, whole, Route::Client, false, false, "editor's terminal (no sandbox)"),
        ] {
            let confinement = CommandConfinement::of(sandbox, support, executor, lifted);
            assert_eq!(confinement.holds(), holds, "{confinement:?}");
            assert!(confinement.describe().contains(words), "{}", confinement.describe());
        }
    }

    #[test]
    fn a_place_is_told_in_facts_and_in_a_word() {
        let (level, network) = (SandboxLevel::WorkspaceWrite, Network::Off);
        let sandbox = |at, holds| CommandConfinement::Sandbox { level, network, holds, at };
        for (confinement, place, facts) in [
            (CommandConfinement::Lifted, "no sandbox", "outside the sandbox · network"),
            (CommandConfinement::Off, "no sandbox", "sandbox off · network"),
            (CommandConfinement::Unavailable, "no sandbox", "this system has no sandbox · network"),
            (CommandConfinement::Delegated, "editor", "in the editor's terminal · no sandbox"),
            (sandbox(Route::Local, true), "sandbox", "sandbox: workspace-write · no network"),
            (
                sandbox(Route::Client, false),
                "editor, sandbox",
                "in the editor's terminal · sandbox: workspace-write · no network · hooks and secrets in reach",
            ),
        ] {
            assert_eq!(
                (confinement.place().words(), confinement.facts().join(" · ").as_str()),
                (place, facts)
            );
        }
    }
}
