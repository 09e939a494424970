//! This machine: the sandbox, the disk, and which program runs.

use super::super::{report::Check, subject::Subject};
use crate::{
    directories::sessions_file,
    editors::{Places, look},
    installation::Installation,
    limits::LEAST_DISK_BYTES,
    options::network_word,
};
use system::{AbsPath, FileStamp, LocalSystem, MIN_LANDLOCK_ABI, SandboxLevel, SandboxSupport};

/// Linux is the only system with a sandbox.
const IS_LINUX: bool = cfg!(target_os = "linux");

/// Checks the sandbox of commands.
pub(crate) fn sandbox(subject: &Subject<'_>, support: SandboxSupport) -> Vec<Check> {
    const TITLE: &str = "sandbox";
    let commands = &subject.options.commands;
    let mut checks = vec![match shortcoming(commands.sandbox, support, IS_LINUX) {
        Some(problem) => Check::warning("sandbox", TITLE, problem),
        None => {
            let detail = format!(
                "{}, network {} ({})",
                commands.sandbox.id(),
                network_word(commands.network.network),
                kernel(support, IS_LINUX)
            );
            Check::ok("sandbox", TITLE, detail)
        }
    }];
    if commands.sandbox != SandboxLevel::Off {
        checks.extend(promises(support));
        checks.extend(programs(subject).filter(|_| support.applies()));
    }
    checks
}

/// Returns what holds for the commands of a session on this machine, a line for each promise of
/// `docs/security.md` that depends on the machine.
fn promises(support: SandboxSupport) -> Vec<Check> {
    const FILES: (&str, &str) = ("sandbox_files", "  files");
    const NETWORK: (&str, &str) = ("sandbox_network", "  network");
    const OBEYED: (&str, &str) = ("sandbox_obeyed", "  editors, git");
    const PROCESSES: (&str, &str) = ("sandbox_processes", "  processes");
    const ASK: &str = "not held; commands ask";
    let held = |(id, title): (&'static str, &'static str), detail: &str| Check::ok(id, title, detail);
    let open = |(id, title): (&'static str, &'static str), detail: &str| Check::skipped(id, title, detail);
    let files = match (support.holds(), support.applies()) {
        (true, _) => {
            held(FILES, "commands see what is named, and write in the project, their /tmp and their home")
        }
        (_, true) => held(FILES, "commands read what is named, and write in the project and /tmp; they ask"),
        _ => open(FILES, ASK),
    };
    let network = match (support.holds(), support.applies()) {
        (true, _) => held(NETWORK, "commands reach the hosts that you allow"),
        (_, true) => held(NETWORK, "commands reach no host"),
        _ => open(NETWORK, ASK),
    };
    let obeyed = match support.holds() {
        true => held(OBEYED, "what git, editors and agents obey changes when you agree"),
        false => open(OBEYED, ASK),
    };
    let processes = match (support.processes, support.launcher) {
        (true, _) => held(PROCESSES, "all processes end with their command, and see no others"),
        (_, true) => held(PROCESSES, "processes that a command leaves are searched for and killed"),
        _ => open(PROCESSES, "what a command leaves running may go on"),
    };
    vec![files, network, obeyed, processes]
}

/// Names the directories of `PATH` that commands do not see; `None` if they see all of them.
fn programs(subject: &Subject<'_>) -> Option<Check> {
    let files = &subject.options.commands.files;
    let home = &subject.options.directories.home;
    let path = subject.environment.get("PATH").unwrap_or_default();
    let directories = std::env::split_paths(path).filter_map(|directory| AbsPath::from_os(&directory).ok());
    let is_seen = |directory: &AbsPath| {
        // Those of the home directory are added to it.
        directory.starts_with(home)
            || files.readable.iter().chain(&files.writable).any(|known| directory.starts_with(known))
            || system::is_of_system(directory)
    };
    let mut unseen: Vec<_> =
        directories.filter(|directory| !is_seen(directory)).map(|at| at.to_string()).collect();
    unseen.dedup();
    let detail = format!("commands do not see {}; sandbox.readable_paths can name them", unseen.join(", "));
    (!unseen.is_empty()).then(|| Check::ok("sandbox_programs", "  programs", detail))
}

/// Says as which account the commands of a server's users run; nothing if no server is set up.
pub(crate) fn server(subject: &Subject<'_>) -> Option<Check> {
    let settings = &subject.options.serve;
    let folders = settings.operation().user_folders.as_deref();
    if settings.listen.is_empty() && folders.is_none() {
        return None;
    }
    let apart = match folders {
        Some(folders) => format!("each user stays in a folder below {folders}, by the sandbox"),
        None => "its files are open to all users (serve.user_folders gives each a folder)".to_owned(),
    };
    let detail = format!("commands of all users run as this account; {apart}");
    Some(Check::ok("server", "server", detail).next("tiller serve check"))
}

/// Checks the space for sessions.
pub(crate) fn disk(subject: &Subject<'_>) -> Check {
    const TITLE: &str = "disk";
    let mut directory = subject.options.directories.data.clone();
    while !FileStamp::of(&directory).exists() {
        match directory.parent() {
            Some(parent) => directory = parent,
            None => break,
        }
    }
    match system::free_bytes(&directory) {
        Ok(free) if free < LEAST_DISK_BYTES => {
            Check::error("disk", TITLE, format!("only {} MB are free at {directory}", free >> 20))
        }
        Ok(free) => Check::ok("disk", TITLE, format!("{} MB are free at {directory}", free >> 20)),
        Err(error) => Check::skipped("disk", TITLE, format!("{directory}: {error}")),
    }
}

/// Checks whether leases of sessions are held by processes that have ended.
pub(crate) async fn leases(subject: &Subject<'_>) -> Check {
    const TITLE: &str = "leases";
    let file = sessions_file(&subject.options.directories.data);
    let path = file.as_std().to_owned();
    let found = tokio::task::spawn_blocking(move || store::leases(&path)).await;
    let leases = match found {
        Ok(Ok(leases)) => leases,
        Ok(Err(error)) => return Check::skipped("leases", TITLE, error.to_string()),
        Err(error) => return Check::skipped("leases", TITLE, error.to_string()),
    };
    let alive = leases.iter().filter(|lease| lease.is_alive).count();
    let detail = match leases.len() - alive {
        0 => format!("{alive} sessions are open"),
        dead => format!(
            "{alive} sessions are open; {dead} of ended processes are taken over when they are opened"
        ),
    };
    Check::ok("leases", TITLE, detail)
}

/// Checks whether the commands in editors' settings still exist.
pub(crate) async fn editors(subject: &Subject<'_>) -> Vec<Check> {
    const TITLE: &str = "editors";
    let home = subject.options.directories.home.clone();
    let places = Places::new(subject.environment, home, subject.cwd.clone());
    let path = subject.environment.get("PATH").unwrap_or_default();
    let found = look(&LocalSystem::new(), &places, path).await;
    let mut checks = Vec::new();
    for editor in found.iter().filter(|editor| editor.is_present) {
        let name = editor.editor.id();
        let install = format!("tiller install {name}");
        checks.push(match (&editor.problem, &editor.command) {
            (Some(problem), _) => Check::warning("editors", TITLE, format!("{name}: {problem}")),
            (None, None) => Check::ok("editors", TITLE, format!("{name} is here; `{install}` sets it up")),
            (None, Some(command)) if !editor.command_exists => {
                Check::error("editors", TITLE, format!("{name} starts {command}, which does not exist"))
                    .at(editor.file.to_string(), None)
                    .next(install)
            }
            (None, Some(command)) => Check::ok("editors", TITLE, format!("{name} starts {command}")),
        });
    }
    if checks.is_empty() {
        checks.push(Check::ok("editors", TITLE, "none is known here"));
    }
    checks
}

/// Checks whether another program of this name is found first.
pub(crate) fn install(installation: Option<&Installation>, others: &[AbsPath]) -> Check {
    const TITLE: &str = "program";
    let Some(installation) = installation else {
        return Check::skipped("program", TITLE, "the path of this program is unknown");
    };
    let own = &installation.binary;
    match (installation.in_path.first(), others) {
        (None, _) => {
            Check::warning("program", TITLE, format!("{own} is not in PATH, so editors need its full path"))
                .next("tiller install --list")
        }
        (Some(_), []) => Check::ok("program", TITLE, own.to_string()),
        (Some(first), others) if others.contains(first) => {
            Check::warning("program", TITLE, format!("`tiller` starts {first}, and this is {own}"))
        }
        (Some(_), others) => {
            let others: Vec<_> = others.iter().map(ToString::to_string).collect();
            Check::warning("program", TITLE, format!("{own}; PATH has others too: {}", others.join(", ")))
        }
    }
}

/// Describes the sandbox features of the kernel.
fn kernel(support: SandboxSupport, is_linux: bool) -> String {
    if !is_linux {
        return "no sandbox on this system".to_owned();
    }
    let landlock = match support.landlock_abi {
        0 => "no Landlock".to_owned(),
        abi => format!("Landlock {abi}"),
    };
    if !support.launcher {
        return format!("{landlock}, and no command could be confined");
    }
    let has = |has: bool| if has { "" } else { "no " };
    format!(
        "{landlock}, {}system call filter, {}namespaces for mounts and the network, {}namespace for processes",
        has(support.seccomp),
        has(support.namespaces),
        has(support.processes)
    )
}

/// Describes what this machine lacks for the configured sandbox, and the consequence.
///
/// This is not an issue: permission requests take the place of the sandbox.
fn shortcoming(level: SandboxLevel, support: SandboxSupport, is_linux: bool) -> Option<String> {
    if level == SandboxLevel::Off || support.holds() {
        return None;
    }
    if support.applies() {
        return Some(
            "commands are confined, but without namespaces they can reach a project's git hooks and secret files, so all but read-only commands need approval; allow unprivileged user namespaces to change that"
                .to_owned(),
        );
    }
    let why = match support.landlock_abi {
        _ if !is_linux => "this system has no sandbox".to_owned(),
        0 => "this kernel has no Landlock, so there is no sandbox".to_owned(),
        abi if abi < MIN_LANDLOCK_ABI => {
            format!("there is no sandbox: it needs Landlock {MIN_LANDLOCK_ABI}, and this kernel has {abi}")
        }
        _ => "there is no sandbox: Landlock is available, but a confined test command did not run \
              (containers often forbid system call filters)"
            .to_owned(),
    };
    Some(format!("{why}; commands run with your rights, and all but read-only commands need approval"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_the_sandbox_features_of_the_kernel() {
        let whole = SandboxSupport {
            landlock_abi: 6,
            seccomp: true,
            namespaces: true,
            processes: true,
            launcher: true,
            in_client: false,
        };
        assert_eq!(
            kernel(whole, true),
            "Landlock 6, system call filter, namespaces for mounts and the network, namespace for processes"
        );
        let partly = SandboxSupport { namespaces: false, processes: false, ..whole };
        assert_eq!(
            kernel(partly, true),
            "Landlock 6, system call filter, no namespaces for mounts and the network, no namespace for processes"
        );
        let none = SandboxSupport::default();
        assert_eq!(kernel(none, true), "no Landlock, and no command could be confined");
        assert_eq!(kernel(none, false), "no sandbox on this system");
    }

    #[test]
    fn a_sandbox_shortcoming_is_described_consistently() {
        let none = SandboxSupport::default();
        let old = SandboxSupport { landlock_abi: 2, ..none };
        let refused = SandboxSupport { landlock_abi: 6, ..none };
        let partly = SandboxSupport { seccomp: true, launcher: true, ..refused };
        let level = SandboxLevel::WorkspaceWrite;
        for (support, is_linux, says) in [
            (none, false, "this system has no sandbox; commands run with your rights"),
            (none, true, "this kernel has no Landlock"),
            (old, true, "it needs Landlock 3, and this kernel has 2"),
            (refused, true, "Landlock is available, but a confined test command did not run"),
            (partly, true, "without namespaces"),
        ] {
            let shortcoming_text = shortcoming(level, support, is_linux).unwrap();
            assert!(
                shortcoming_text.contains(says)
                    && shortcoming_text.contains("all but read-only commands need approval"),
                "{shortcoming_text}"
            );
            assert!(is_linux || !shortcoming_text.contains("Landlock"), "{shortcoming_text}");
            assert_eq!(shortcoming_text.contains("needs Landlock"), support == old, "{shortcoming_text}");
            assert_eq!(shortcoming(SandboxLevel::Off, support, is_linux), None);
        }
        let whole = SandboxSupport { namespaces: true, ..partly };
        assert_eq!(shortcoming(level, whole, true), None);
    }
}
