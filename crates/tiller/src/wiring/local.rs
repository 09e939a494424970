//! The system of this machine, and the command lines with which this program starts itself as the
//! launcher of commands.

use crate::options::Options;
use egress::{Direct, Egress, GitAccess};
use std::ffi::OsString;
use std::sync::{Arc, OnceLock};
use system::{LocalSystem, LoginShell, System};

/// The first argument when this program is run as the launcher that confines a command.
pub(crate) const LAUNCHER: &str = "__sandbox-exec";

/// The first arguments when this program is run in a terminal of the editor, where it confines
/// itself and becomes a command. The path of a socket follows.
pub(crate) const IN_TERMINAL: [&str; 2] = ["sandbox", "run"];

/// The first argument when this program is run as the watcher of a terminal.
pub(crate) const WATCHER: &str = "__watch-terminal";

/// The command line of this program as the watcher of a terminal.
pub(crate) fn watcher() -> Vec<String> {
    this_program().into_iter().flat_map(|program| [program, WATCHER.to_owned()]).collect()
}

/// The command line of this program with other arguments.
pub(crate) fn command(arguments: &[&str]) -> Option<Vec<String>> {
    let arguments = arguments.iter().map(|argument| (*argument).to_owned());
    Some([this_program()?].into_iter().chain(arguments).collect())
}

/// Creates the local system for these options. That of a server's user who stays in a folder has
/// the user's own files only.
pub(crate) fn local_system(options: &Options) -> Arc<dyn System> {
    options.directories.within(machine(options), None)
}

/// Creates the local system of sessions: it also has the temporary files of sessions, beside which
/// the results of tools are kept.
pub(crate) fn session_system(options: &Options) -> Arc<dyn System> {
    options.directories.within(machine(options), system::private_temp())
}

/// Creates the system with all files of the machine.
fn machine(options: &Options) -> Arc<dyn System> {
    let mut local = local_options(
        options.commands.keep_variables.clone(),
        options.keys(),
        options.commands.login.clone(),
    );
    if let Some(served) = &options.served {
        local.secret_values.extend(served.secrets.clone());
    }
    if let Some(folder) = options.user_folder() {
        local.ordinary_variables_only = true;
        local.home = Some(folder.own.clone());
    }
    Arc::new(LocalSystem::with_options(local).with_network(command_network(options)))
}

/// Returns the server of the network of commands, which all sessions of this process share. Those
/// of a server's users do not reach repositories with the credentials of the server.
pub(crate) fn command_network(options: &Options) -> Arc<Egress> {
    static NETWORK: OnceLock<Arc<Egress>> = OnceLock::new();
    static OWN: OnceLock<Arc<Egress>> = OnceLock::new();
    let network = NETWORK.get_or_init(|| Arc::new(Egress::new(Arc::new(Direct))));
    Arc::clone(match options.served {
        Some(_) => network,
        None => OWN.get_or_init(|| Arc::new(network.as_ref().clone().with_git(git_access()))),
    })
}

/// Returns the access to repositories with the user's own programs, which get the variables of this
/// process.
#[expect(clippy::disallowed_methods, reason = "the user's programs get what the user gave this one")]
fn git_access() -> GitAccess {
    let texts =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let variables = std::env::vars_os().filter_map(texts).collect();
    let system = Arc::new(LocalSystem::with_options(system::LocalOptions::default()));
    GitAccess { tls: Box::new(providers::verified_tls), system, variables }
}

/// Creates the local system. Commands get no variable with one of `secret_values`, and none with a
/// name like that of a secret, except `keep_variables`.
pub(crate) fn local(
    keep_variables: Vec<String>,
    secret_values: Vec<String>,
    login: LoginShell,
) -> Arc<dyn System> {
    Arc::new(LocalSystem::with_options(local_options(keep_variables, secret_values, login)))
}

fn local_options(
    keep_variables: Vec<String>,
    secret_values: Vec<String>,
    login: LoginShell,
) -> system::LocalOptions {
    system::LocalOptions {
        launcher: launcher(),
        terminal_launcher: terminal_launcher(),
        hide_secrets: true,
        secret_values,
        keep_variables,
        ordinary_variables_only: false,
        home: None,
        login,
    }
}

/// The command line of this program as the launcher of commands.
fn launcher() -> Vec<String> {
    this_program().into_iter().flat_map(|program| [program, LAUNCHER.to_owned()]).collect()
}

/// What starts this program again.
fn this_program() -> Option<String> {
    match cfg!(target_os = "linux") {
        // This names the running program even after an update replaced its file.
        true => Some("/proc/self/exe".to_owned()),
        false => own_path(),
    }
}

/// The path of this program.
#[expect(clippy::disallowed_methods, reason = "the one place that knows which program this is")]
fn own_path() -> Option<String> {
    std::env::current_exe().ok()?.to_str().map(str::to_owned)
}

/// The command line of this program by its path, for terminals that the editor opens.
fn terminal_launcher() -> Vec<String> {
    let words = |path| std::iter::once(path).chain(IN_TERMINAL.map(str::to_owned));
    own_path().into_iter().flat_map(words).collect()
}
