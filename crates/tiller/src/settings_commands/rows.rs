//! A setting in the output of commands.

use crate::config::{self, DefaultValue, Layer, Origin, Place, SettingState, Takes};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// A setting with the value that applies.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettingRow {
    /// The dotted name.
    pub(crate) key: String,
    /// The first part of the name.
    pub(crate) category: String,
    /// The value that applies; null if the default is none.
    pub(crate) value: Value,
    /// The value as in a settings file, or the default in words.
    pub(crate) display_value: String,
    /// The default; null if it is described in words only.
    pub(crate) default: Value,
    /// The layer of the value: default, user, project or environment.
    pub(crate) layer: &'static str,
    /// The file of the value.
    pub(crate) file: Option<String>,
    /// The line of the value in that file, from 1.
    pub(crate) line: Option<usize>,
    /// The values in all layers, the lowest first.
    pub(crate) origins: Vec<OriginRow>,
    /// What the setting takes, in words.
    pub(crate) takes: String,
    /// The words that it takes, if there are only some.
    pub(crate) choices: Vec<String>,
    /// What the setting does.
    pub(crate) description: String,
    /// What a project's file may do with it: trusted, adds or tightens.
    pub(crate) in_project: &'static str,
    /// The environment variable that sets it.
    pub(crate) variable: Option<&'static str>,
}

/// A value of a setting in one layer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OriginRow {
    /// The layer: user, project or environment.
    pub(crate) layer: &'static str,
    /// The file.
    pub(crate) file: Option<String>,
    /// The line in the file, from 1.
    pub(crate) line: Option<usize>,
    /// The environment variable.
    pub(crate) variable: Option<&'static str>,
    /// The value in this layer.
    pub(crate) value: Value,
}

impl OriginRow {
    fn of(origin: &Origin) -> Self {
        let (file, line, variable) = match &origin.place {
            Place::File(path, line) => (Some(path.to_string()), Some(*line), None),
            Place::Variable(name) => (None, None, Some(*name)),
        };
        Self { layer: origin.layer.word(), file, line, variable, value: origin.value.to_json() }
    }
}

impl SettingRow {
    /// Returns the row of a setting.
    pub(crate) fn of(state: &SettingState) -> Self {
        let about = config::description(state.key);
        let value = state.value();
        let origins: Vec<_> = state.origins.iter().map(OriginRow::of).collect();
        let last = origins.last();
        Self {
            key: state.name.clone(),
            category: state.category().to_owned(),
            display_value: display(state),
            value: value.map_or(Value::Null, |value| value.to_json()),
            default: state.default().map_or(Value::Null, |value| value.to_json()),
            layer: state.origins.last().map_or("default", |origin| origin.layer.word()),
            file: last.and_then(|origin| origin.file.clone()),
            line: last.and_then(|origin| origin.line),
            origins,
            takes: about.takes.words().replace('`', ""),
            choices: choices(about.takes),
            description: config::plain_text(about.text),
            in_project: state.key.in_project.id(),
            variable: config::variable_of(state.key),
        }
    }
}

/// Returns the words that a setting takes, if there are only some.
pub(crate) fn choices(takes: Takes) -> Vec<String> {
    match takes {
        Takes::Flag => vec!["true".to_owned(), "false".to_owned()],
        Takes::Word(words) | Takes::List(config::Item::Word(words)) => {
            words.iter().map(|word| (*word).to_owned()).collect()
        }
        _ => Vec::new(),
    }
}

/// Formats the value that applies as in a settings file, or the default in words.
pub(crate) fn display(state: &SettingState) -> String {
    match (state.value(), config::description(state.key).default) {
        (Some(value), _) => value.to_string(),
        (None, DefaultValue::Described(words)) => format!("({words})"),
        (None, _) => "(none)".to_owned(),
    }
}

/// Describes where the value that applies was written.
pub(super) fn origin(state: &SettingState) -> String {
    match state.origins.as_slice() {
        [] => "default".to_owned(),
        all => all.iter().map(place).collect::<Vec<_>>().join(", "),
    }
}

/// Describes the layer that decides, in a word or two.
pub(super) fn layer(state: &SettingState) -> String {
    match state.origins.last() {
        None => "default".to_owned(),
        Some(Origin { layer: Layer::User, .. }) => "your file".to_owned(),
        Some(Origin { layer: Layer::Project, .. }) => "project".to_owned(),
        Some(Origin { place, .. }) => place.to_string().replace("environment variable ", ""),
    }
}

fn place(origin: &Origin) -> String {
    match origin.layer {
        Layer::Environment => origin.place.to_string(),
        Layer::User | Layer::Project => format!("{} {}", origin.layer.word(), origin.place),
    }
}
