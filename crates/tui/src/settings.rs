//! The user's settings of the interface, as the program around it reads and writes them.

use crate::{options::AppOptions, theme::Theme};
use std::collections::BTreeMap;

/// A setting of the interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// Its dotted name, such as `ui.theme`.
    pub name: String,
    /// The value in force, as it is in a settings file.
    pub value: String,
    /// Where the value is from, in a word or two: `default`, `config.toml:3`, `--screen`,
    /// `ACCESSIBLE`.
    pub origin: String,
    /// The whole path of the file that has the value, with the line.
    pub place: Option<String>,
    /// What outranks the settings files in this run, such as `--screen`.
    pub outranked_by: Option<String>,
    /// What else limits it in this run, as a sentence without its period.
    pub note: Option<String>,
    /// What the setting does.
    pub does: String,
    /// What it can be.
    pub values: Values,
}

/// What a setting can be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Values {
    /// One of these.
    Words(Vec<Choice>),
    /// The name of a theme.
    Theme,
    /// Keys for each action: where those of an action are from that are not the default ones, by
    /// the action's name.
    Keys(BTreeMap<String, String>),
}

/// A value that a setting can have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// The value, as it is typed.
    pub value: String,
    /// Whether it is the default.
    pub is_default: bool,
    /// Whether the settings files have it.
    pub is_current: bool,
}

/// The settings and what follows from them.
#[derive(Debug, Clone, PartialEq)]
pub struct SettingsRead {
    /// All settings of the interface.
    pub settings: Vec<Setting>,
    /// How the interface looks and behaves with them, and with the flags and variables.
    pub options: AppOptions,
}

/// A theme that can be chosen.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedTheme {
    /// Its name.
    pub name: String,
    /// The theme, or what is wrong with it.
    pub theme: Result<Theme, String>,
    /// The path of its file; `None` if it comes with Tiller.
    pub file: Option<String>,
}

/// What the themes are asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ThemesFor {
    /// A list for this session.
    Session,
    /// The values of the setting.
    Setting {
        /// Whether the user's file has a value.
        is_set: bool,
    },
    /// The theme of this name, for this session.
    Name(String),
}

/// Why the settings were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsFor {
    /// To list them.
    List,
    /// To list the values of this one.
    One(String),
    /// One was changed.
    Changed {
        /// Its name.
        name: String,
        /// What was written where.
        done: String,
    },
}
