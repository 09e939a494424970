//! The settings files: their paths, their texts, and the errors in them.

use super::ValueError;
use crate::options::Directories;
use system::{AbsPath, System, SystemError};

/// The text of a settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SettingsFile {
    pub(crate) path: AbsPath,
    pub(crate) text: String,
}

/// Why settings are invalid: where, and what to write instead.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ConfigError {
    /// A file has an unknown setting.
    #[error("{place}: unknown setting {key:?}{}", suggestion(.nearest))]
    UnknownKey { place: Place, key: String, nearest: Option<String> },
    /// A request names an unknown setting.
    #[error("unknown setting {key:?}{}", suggestion(.nearest))]
    NoSuchName { key: String, nearest: Option<String> },
    /// The setting does not take this value.
    #[error("{place}: {key}: {problem}")]
    BadValue { place: Place, key: String, problem: ValueError },
    /// The file is not valid TOML.
    #[error("{place}: {problem}")]
    Syntax { place: Place, problem: String },
    /// A hook lacks its event or its command.
    #[error("the hook {name:?} has no {missing:?}; write hooks.NAME.{missing}")]
    IncompleteHook { name: String, missing: &'static str },
    /// The file exists but cannot be read.
    #[error("cannot read {path}: {problem}")]
    Unreadable { path: AbsPath, problem: String },
}

impl ConfigError {
    /// The place of the problem, if it has one.
    pub(crate) fn place(&self) -> Option<&Place> {
        match self {
            Self::UnknownKey { place, .. } | Self::BadValue { place, .. } | Self::Syntax { place, .. } => {
                Some(place)
            }
            Self::NoSuchName { .. } | Self::IncompleteHook { .. } | Self::Unreadable { .. } => None,
        }
    }
}

/// Why there are no settings of a project.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProjectSettingsError {
    /// The rules for found files do not allow it to be read.
    #[error("the settings of the project are not used: {0}")]
    Refused(SystemError),
    /// The file is invalid.
    #[error(transparent)]
    Invalid(#[from] ConfigError),
}

/// Where a setting was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Place {
    /// A file and its 1-based line.
    File(AbsPath, usize),
    /// An environment variable.
    Variable(&'static str),
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File(path, line) => write!(f, "{path}:{line}"),
            Self::Variable(name) => write!(f, "environment variable {name}"),
        }
    }
}

/// The path of the user's settings file.
pub(crate) fn user_path(directories: &Directories) -> AbsPath {
    directories.settings.clone()
}

/// The path of a project's settings file, relative to the project's directory.
pub(crate) const PROJECT_FILE: &str = ".tiller/config.toml";

/// The path of a project's settings file.
pub(crate) fn project_path(cwd: &AbsPath) -> AbsPath {
    cwd.join(PROJECT_FILE)
}

/// The largest settings file of a project, in bytes.
const PROJECT_BYTES: usize = 1024 * 1024;

/// Reads a settings file of the user, or one that the user names; `None` if it does not exist.
///
/// It must be a regular file of bounded size.
pub(crate) fn read(path: AbsPath) -> Result<Option<SettingsFile>, ConfigError> {
    let bytes = system::read_regular(&path);
    found(path, bytes)
}

/// Reads a settings file that is to be changed, as [`read`] does, through a system that decides
/// which files the user has.
pub(crate) async fn read_through(
    system: &dyn System,
    path: AbsPath,
) -> Result<Option<SettingsFile>, ConfigError> {
    let bytes = system.read(&path).await;
    found(path, bytes)
}

fn found(path: AbsPath, bytes: Result<Vec<u8>, SystemError>) -> Result<Option<SettingsFile>, ConfigError> {
    match bytes {
        Ok(bytes) => text(path, bytes).map(Some),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(ConfigError::Unreadable { path, problem: error.to_string() }),
    }
}

/// Reads the settings file of the project in `cwd`; `None` if it does not exist.
///
/// The user did not name this file, so it is read under the rules for found files.
pub(crate) async fn read_project(
    system: &dyn System,
    cwd: &AbsPath,
    blocked_paths: &[String],
) -> Result<Option<SettingsFile>, ProjectSettingsError> {
    let path = project_path(cwd);
    let rules = agent::found_rules(cwd, blocked_paths, PROJECT_BYTES);
    match system::read_found(system, cwd, &path, &rules).await {
        Ok(None) => Ok(None),
        Ok(Some(bytes)) => Ok(Some(text(path, bytes)?)),
        Err(error) => Err(ProjectSettingsError::Refused(error)),
    }
}

fn text(path: AbsPath, bytes: Vec<u8>) -> Result<SettingsFile, ConfigError> {
    match String::from_utf8(bytes) {
        Ok(text) => Ok(SettingsFile { path, text }),
        Err(_) => Err(ConfigError::Unreadable { path, problem: "it is not UTF-8 text".to_owned() }),
    }
}

fn suggestion(nearest: &Option<String>) -> String {
    match nearest {
        Some(name) => format!("; did you mean {name:?}?"),
        None => "; docs/reference/settings.md lists all of them".to_owned(),
    }
}
