//! The environment of the process: variables, current directory, home directory.
//!
//! It is read here, once, and nowhere else.

use crate::{failure::usage, options::AskLoginShell};
use agent::Redactor;
use etcetera::BaseStrategy;
use std::{collections::BTreeMap, io::IsTerminal};
use system::{AbsPath, LoginShell};

/// The environment variables at the start of the process. An empty variable counts as unset.
#[derive(Debug, Clone, Default)]
pub(crate) struct Environment {
    variables: BTreeMap<String, String>,
    /// Removes the values of secret variables, and of secrets learned later, from output.
    redactor: Redactor,
    /// The user's login shell, which runs at most once for this process.
    login: LoginShell,
    /// Whether a standard stream is a terminal.
    has_terminal: bool,
    /// The user's settings file, if `--config` names one.
    pub(crate) config_file: Option<AbsPath>,
    /// The directory of `--cwd`.
    pub(crate) chosen_directory: Option<AbsPath>,
}

/// The user's base directories, without tiller's own subdirectory.
#[derive(Debug, Clone)]
pub(crate) struct UserDirectories {
    pub(crate) home: AbsPath,
    pub(crate) config: AbsPath,
    pub(crate) data: AbsPath,
    pub(crate) cache: AbsPath,
}

impl Environment {
    /// Takes a snapshot of the variables. Variables that are not UTF-8 are left out; tiller uses
    /// none
    /// of them.
    #[expect(clippy::disallowed_methods, reason = "the one place where variables enter as values")]
    pub(crate) fn read() -> Self {
        let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let read: Self = std::env::vars_os().filter_map(text).collect();
        let has_terminal = std::io::stdin().is_terminal()
            || std::io::stdout().is_terminal()
            || std::io::stderr().is_terminal();
        // An interactive shell takes over the terminal, and as a background process it would stop
        // and
        // wait for its turn. So the shell is interactive only without a terminal.
        let absolute = |name: &str| read.get(name).and_then(|path| AbsPath::new(path).ok());
        let home = || std::env::home_dir().and_then(|home| AbsPath::from_os(&home).ok());
        let login = match (absolute("SHELL"), absolute("HOME").or_else(home)) {
            (Some(shell), Some(home)) => LoginShell::new(shell, home, !has_terminal),
            _ => LoginShell::default(),
        };
        Self { login, has_terminal, ..read }
    }

    /// Returns the environment of a user of a server: ordinary variables and `more`, and none with
    /// a secret. What is secret here stays secret there.
    pub(crate) fn of_served_user<'a>(&self, more: impl IntoIterator<Item = &'a str>) -> Self {
        let more: Vec<_> = more.into_iter().collect();
        let is_passed = |name: &str| system::is_ordinary_variable(name) || more.contains(&name);
        let passed = self.variables.iter().filter(|(name, _)| is_passed(name));
        let passed: Self = passed.map(|(name, value)| (name.clone(), value.clone())).collect();
        let secret = self.variables.iter().filter(|(name, _)| system::is_secret_name(name));
        passed.redactor.learn(secret.map(|(_, value)| value.clone()));
        passed
    }

    /// Returns the login shell whose variables commands get, or an empty one if commands get only
    /// the variables of this process.
    pub(crate) fn login_shell(&self, ask: AskLoginShell) -> LoginShell {
        let from_desktop = || {
            !self.has_terminal
                && LoginShell::has_system_directories_only(self.get("PATH").unwrap_or_default())
        };
        let wanted = match ask {
            AskLoginShell::Auto => from_desktop(),
            AskLoginShell::Always => true,
            AskLoginShell::Never => false,
        };
        if wanted { self.login.clone() } else { LoginShell::default() }
    }

    /// The redactor that removes secrets from logs and exports.
    pub(crate) fn redactor(&self) -> &Redactor {
        &self.redactor
    }

    /// The names of all variables.
    pub(crate) fn names(&self) -> Vec<String> {
        self.variables.keys().cloned().collect()
    }

    /// The value of a variable; `None` if it is unset or empty.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.variables.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }
}

impl FromIterator<(String, String)> for Environment {
    fn from_iter<T: IntoIterator<Item = (String, String)>>(variables: T) -> Self {
        let variables: BTreeMap<String, String> = variables.into_iter().collect();
        let redactor = Redactor::default();
        let secret = variables.iter().filter(|(name, _)| system::is_secret_name(name));
        redactor.learn(secret.map(|(_, value)| value.clone()));
        Self { variables, redactor, ..Self::default() }
    }
}

/// The arguments of the process, without those that are not UTF-8.
pub(crate) fn arguments() -> impl Iterator<Item = String> {
    std::env::args_os().filter_map(|given| given.into_string().ok())
}

/// Applies the global flags that change what the rest of the process sees: the current directory,
/// and the settings file of the user.
///
/// # Errors
/// A usage error if the directory cannot be entered or the file does not exist.
#[expect(clippy::disallowed_methods, reason = "the one place where the current folder is chosen")]
pub(crate) fn enter(
    environment: &mut Environment,
    cwd: Option<&std::path::Path>,
    config: Option<&std::path::Path>,
) -> anyhow::Result<()> {
    // Before the directory is changed: the shell completed both from where the user is.
    if let Some(config) = config {
        let file = absolute(&current_dir()?, config)?;
        check_file("--config", &file)?;
        environment.config_file = Some(file);
    }
    if let Some(cwd) = cwd {
        let directory = absolute(&current_dir()?, cwd)?;
        check_directory("--cwd", &directory)?;
        std::env::set_current_dir(directory.as_std())
            .map_err(|error| usage(format!("--cwd {directory}: {error}")))?;
        environment.chosen_directory = Some(directory);
    }
    Ok(())
}

/// The current directory of the process.
#[expect(clippy::disallowed_methods, reason = "the one place where the current folder enters as a value")]
pub(crate) fn current_dir() -> anyhow::Result<AbsPath> {
    let path = std::env::current_dir().map_err(|error| anyhow::anyhow!("no current directory: {error}"))?;
    Ok(AbsPath::from_os(&path)?)
}

/// The path of the running program, with links resolved; `None` if the system does not report it.
#[expect(clippy::disallowed_methods, reason = "what runs is known to the process only")]
pub(crate) fn program() -> Option<AbsPath> {
    let path = std::env::current_exe().ok()?;
    AbsPath::from_os(&path).ok()
}

/// The XDG base directories.
pub(crate) fn user_directories() -> anyhow::Result<UserDirectories> {
    let base = etcetera::choose_base_strategy().map_err(|error| {
        anyhow::anyhow!("cannot determine the home directory ({error}); set HOME or TILLER_HOME")
    })?;
    Ok(UserDirectories {
        home: AbsPath::from_os(base.home_dir())?,
        config: AbsPath::from_os(&base.config_dir())?,
        data: AbsPath::from_os(&base.data_dir())?,
        cache: AbsPath::from_os(&base.cache_dir())?,
    })
}

/// Checks that the value of an option is a directory that can be entered.
///
/// # Errors
/// A usage error if it is not.
pub(crate) fn check_directory(option: &str, directory: &AbsPath) -> anyhow::Result<()> {
    // The trailing `.` needs search permission on the directory; without it, no statement about the
    // directory's contents is possible.
    match metadata(&directory.as_std().join(".")) {
        Ok(_) => Ok(()),
        Err(error) => Err(refused(option, directory, "directory", &error)),
    }
}

/// Checks that the value of an option exists and is not a directory.
///
/// # Errors
/// A usage error if it does not exist or is a directory.
pub(crate) fn check_file(option: &str, file: &AbsPath) -> anyhow::Result<()> {
    match metadata(file.as_std()) {
        Ok(found) if found.is_dir() => {
            Err(usage(format!("{option} {file}: that is a directory; name a file")))
        }
        Ok(_) => Ok(()),
        Err(error) => Err(refused(option, file, "file", &error)),
    }
}

/// Checks that a file can be created at the path of an option.
///
/// # Errors
/// A usage error if the parent directory is missing, or the path is a directory.
pub(crate) fn check_new_file(option: &str, file: &AbsPath) -> anyhow::Result<()> {
    if metadata(file.as_std()).is_ok_and(|found| found.is_dir()) {
        return Err(usage(format!("{option} {file}: that is a directory; name a file")));
    }
    file.parent().map_or(Ok(()), |directory| check_directory(option, &directory))
}

fn refused(option: &str, path: &AbsPath, kind: &str, error: &std::io::Error) -> anyhow::Error {
    usage(match error.kind() {
        std::io::ErrorKind::NotFound => format!("{option} {path}: there is no such {kind}"),
        std::io::ErrorKind::NotADirectory => format!("{option} {path}: that is not a {kind}"),
        _ => format!("{option} {path}: {error}"),
    })
}

#[expect(
    clippy::disallowed_methods,
    reason = "what the command line names is checked before there is a system"
)]
fn metadata(path: &std::path::Path) -> std::io::Result<std::fs::Metadata> {
    std::fs::metadata(path)
}

/// Makes a path from the command line absolute.
pub(crate) fn absolute(base: &AbsPath, path: &std::path::Path) -> anyhow::Result<AbsPath> {
    let text = path.to_str().ok_or_else(|| anyhow::anyhow!("path is not UTF-8: {}", path.display()))?;
    anyhow::ensure!(!text.is_empty() && !text.contains('\0'), "path is empty or holds a NUL byte: {text:?}");
    Ok(base.join(text))
}
