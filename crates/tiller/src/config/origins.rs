//! The value of each setting that applies, and where it was written.

use super::{
    EffectiveSetting, KEYS, Key, Place, Value,
    about::{DefaultValue, description},
    file::user_path,
    variables::{OLLAMA_HOST, VARIABLES},
};
use crate::{environment::Environment, options::Directories};

/// A layer of settings that somebody can write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layer {
    User,
    Project,
    Environment,
}

/// A value of a setting in one layer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Origin {
    pub(crate) layer: Layer,
    pub(crate) place: Place,
    pub(crate) value: Value,
}

/// A setting with its values in all layers, the lowest first.
#[derive(Debug, Clone)]
pub(crate) struct SettingState {
    pub(crate) key: &'static Key,
    /// The name, with the user's choice in place of `NAME`.
    pub(crate) name: String,
    pub(crate) origins: Vec<Origin>,
}

impl Layer {
    /// The word for it in the output of commands.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::Environment => "environment",
        }
    }
}

impl SettingState {
    /// The value that applies: the highest layer's, or all of them one after the other where layers
    /// add up; the default if no layer has one; `None` if the default is not a value.
    pub(crate) fn value(&self) -> Option<Value> {
        match self.origins.as_slice() {
            [] => self.default(),
            [.., last] if !description(self.key).adds_up() => Some(last.value.clone()),
            all => Some(Value::List(all.iter().flat_map(|origin| origin.value.items()).collect())),
        }
    }

    /// The value without any layer; `None` if the default is described in words.
    pub(crate) fn default(&self) -> Option<Value> {
        match description(self.key).default {
            DefaultValue::Text(text) => Some(Value::Text(text.to_owned())),
            DefaultValue::Number(number) => Some(Value::Number(number)),
            DefaultValue::Flag(flag) => Some(Value::Flag(flag)),
            DefaultValue::EmptyList => Some(Value::List(Vec::new())),
            DefaultValue::Described(_) | DefaultValue::Required => None,
        }
    }

    /// The first part of the name.
    pub(crate) fn category(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }
}

/// Returns every setting in the order of the table. Settings of a name that the user chooses appear
/// once for each name that a layer has.
pub(crate) fn states(
    effective: &[EffectiveSetting],
    environment: &Environment,
    directories: &Directories,
) -> Vec<SettingState> {
    let user = user_path(directories);
    let of_files = effective.iter().map(|EffectiveSetting { name, value, place }| {
        let own = matches!(place, Place::File(path, _) if *path == user);
        let layer = if own { Layer::User } else { Layer::Project };
        (name.clone(), Origin { layer, place: place.clone(), value: value.clone() })
    });
    let ollama = environment.get(OLLAMA_HOST).and_then(|address| ::providers::ollama_address(address).ok());
    let ollama = ollama.map(|address| (OLLAMA_HOST, "providers.local.ollama", address));
    let set = VARIABLES.iter().filter_map(|&(variable, name)| {
        environment.get(variable).map(|value| (variable, name, value.to_owned()))
    });
    let of_variables = set.chain(ollama).map(|(variable, name, value)| {
        let place = Place::Variable(variable);
        (name.to_owned(), Origin { layer: Layer::Environment, place, value: Value::Text(value) })
    });
    let all: Vec<_> = of_files.chain(of_variables).collect();
    KEYS.iter().flat_map(|key| states_of(key, &all)).collect()
}

fn states_of(key: &'static Key, all: &[(String, Origin)]) -> Vec<SettingState> {
    let mut states: Vec<SettingState> = Vec::new();
    if !key.has_chosen_name() {
        states.push(SettingState { key, name: key.name.to_owned(), origins: Vec::new() });
    }
    for (name, origin) in all.iter().filter(|(name, _)| key.matches(name).is_some()) {
        match states.iter_mut().find(|state| state.name == *name) {
            Some(state) => state.origins.push(origin.clone()),
            None => states.push(SettingState { key, name: name.clone(), origins: vec![origin.clone()] }),
        }
    }
    states
}

/// Returns the state of one setting, which may be one that no layer has.
pub(crate) fn state(states: Vec<SettingState>, name: &str) -> Option<SettingState> {
    let known = KEYS.iter().find(|key| key.matches(name).is_some())?;
    let set = states.into_iter().find(|state| state.name == name);
    Some(set.unwrap_or_else(|| SettingState { key: known, name: name.to_owned(), origins: Vec::new() }))
}
