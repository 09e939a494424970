//! Settings in layers: built-in < user file < project file < environment < flags, resolved into one
//! [`Options`].

mod about;
mod items;
mod key;
#[expect(clippy::unit_arg, reason = "one line a setting: the assignment is all there is to it")]
mod keys;
mod layers;
mod parse;
mod project_history;
mod store;
mod variables;

pub(crate) use about::schema;
#[cfg(test)]
pub(crate) use about::{DefaultValue, Item, Takes};
pub(crate) use items::{hook_item, trust_items};
pub(crate) use key::{InProject, Key, Value};
pub(crate) use keys::KEYS;
pub(crate) use layers::{
    EffectiveSetting, Flags, Layers, ProjectLayer, Resolved, check_model, resolve, users_blocked_paths,
};
pub(crate) use project_history::ProjectHistory;
pub(crate) use store::{with_setting, without_setting};

use crate::options::{Directories, Options};
use system::{AbsPath, LocalSystem};

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
    BadValue { place: Place, key: String, problem: String },
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
    directories.config.join("config.toml")
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
    match system::read_regular(&path) {
        Ok(bytes) => text(path, bytes).map(Some),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(ConfigError::Unreadable { path, problem: error.to_string() }),
    }
}

/// Reads the settings file of the project in `cwd`; `None` if it does not exist.
///
/// The user did not name this file, so it is read under the rules for found files. The inner error
/// is the reason why it is not used.
pub(crate) async fn read_project(
    cwd: &AbsPath,
    blocked_paths: &[String],
) -> Result<Result<Option<SettingsFile>, String>, ConfigError> {
    let path = project_path(cwd);
    let rules = agent::found_rules(cwd, blocked_paths, PROJECT_BYTES);
    match system::read_found(&LocalSystem::new(), cwd, &path, &rules).await {
        Ok(None) => Ok(Ok(None)),
        Ok(Some(bytes)) => text(path, bytes).map(|file| Ok(Some(file))),
        Err(error) => Ok(Err(format!("the settings of the project are not used: {error}"))),
    }
}

/// Checks that a setting of that name exists.
pub(crate) fn check_name(name: &str) -> Result<(), ConfigError> {
    parse::check_name(name)
}

/// Checks that every setting of a file exists and has a valid value.
pub(crate) fn check(file: &SettingsFile, directories: &Directories) -> Result<(), ConfigError> {
    let mut options = Options::built_in(directories.clone());
    parse::parse(file)?.iter().try_for_each(|setting| setting.apply(&mut options))
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

#[cfg(test)]
mod tests;
