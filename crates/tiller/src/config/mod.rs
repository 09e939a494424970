//! Settings in layers: built-in < user file < project file < environment < flags, resolved into one
//! [`Options`].

mod about;
mod checks;
mod file;
mod items;
mod key;
#[expect(clippy::unit_arg, reason = "one line a setting: the assignment is all there is to it")]
mod keys;
mod layers;
mod origins;
mod parse;
mod project_history;
mod store;
mod value;
mod variables;

pub(crate) use about::{DefaultValue, Item, Takes, description, variable_of};
pub(crate) use about::{plain_text, schema};
pub(crate) use file::{
    ConfigError, PROJECT_FILE, Place, ProjectSettingsError, SettingsFile, project_path, read, read_project,
    read_through, user_path,
};
pub(crate) use items::{hook_item, trust_items};
pub(crate) use key::{InProject, Key};
pub(crate) use keys::KEYS;
pub(crate) use layers::{
    EffectiveSetting, Flags, Layers, ProjectLayer, PromptFlags, Resolved, check_model, resolve,
    users_blocked_paths,
};
pub(crate) use origins::{Layer, Origin, SettingState, state, states};
pub(crate) use project_history::ProjectHistory;
pub(crate) use store::{SCHEMA_FILE, names_schema, with_item, with_setting, without_group, without_setting};
pub(crate) use value::{Value, ValueError};
pub(crate) use variables::{OLLAMA_HOST, VARIABLES};

use crate::options::{Directories, Options};

/// Checks that a setting of that name exists.
pub(crate) fn check_name(name: &str) -> Result<(), ConfigError> {
    parse::check_name(name)
}

/// Returns the definition of a setting; `None` if there is none of that name.
pub(crate) fn key_of(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.matches(name).is_some())
}

/// Whether settings of that group exist.
pub(crate) fn is_group(name: &str) -> bool {
    KEYS.iter().any(|key| key.is_in(name))
}

/// Checks that every setting of a file exists and has a valid value.
pub(crate) fn check(file: &SettingsFile, directories: &Directories) -> Result<(), ConfigError> {
    let mut options = Options::built_in(directories.clone());
    parse::parse(file)?.iter().try_for_each(|setting| setting.apply(&mut options))
}

#[cfg(test)]
mod tests;
