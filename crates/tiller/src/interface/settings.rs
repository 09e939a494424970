//! The settings of the interface for its own lists, with what outranks the files in this run.

use super::{InterfaceOptions, appearance};
use crate::{
    config::{self, Place, SettingState},
    environment::Environment,
    options::{Options, ScreenChoice},
    settings::Snapshot,
    settings_commands::{choices, display},
};
use std::collections::BTreeMap;
use tui::settings::{Choice, Setting, Values};

/// What of the command line outranks settings of the interface.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct InterfaceFlags {
    pub(super) screen: Option<ScreenChoice>,
    pub(super) no_animation: bool,
}

impl InterfaceFlags {
    pub(super) fn of(options: &InterfaceOptions) -> Self {
        Self { screen: options.screen, no_animation: options.no_animation }
    }
}

/// The setting that stands for those of all actions.
const KEYS: &str = "ui.keys";

/// Returns the settings of the interface, in the order of the table.
pub(super) fn all(snapshot: &Snapshot, environment: &Environment, flags: InterfaceFlags) -> Vec<Setting> {
    let Options { directories, .. } = &snapshot.options;
    let states = config::states(&snapshot.effective, environment, directories);
    let mut settings: Vec<Setting> = Vec::new();
    for name in config::KEYS.iter().map(|key| key.name).filter(|name| name.starts_with("ui.")) {
        let of_name = states.iter().filter(|state| state.key.name == name);
        settings.extend(match name.strip_suffix(".NAME") {
            Some(_) => Some(keys(&of_name.collect::<Vec<_>>())),
            None => of_name.map(|state| setting(state, environment, flags)).next(),
        });
    }
    settings
}

fn setting(state: &SettingState, environment: &Environment, flags: InterfaceFlags) -> Setting {
    let about = config::description(state.key);
    let word = |value: Option<config::Value>| -> String {
        value.map(|value| value.text().unwrap_or_else(|_| value.to_string())).unwrap_or_default()
    };
    let (default, current) = (word(state.default()), word(state.value()));
    let values = match about.takes {
        config::Takes::Theme => Values::Theme,
        takes => Values::Words(
            choices(takes)
                .into_iter()
                .map(|value| Choice { is_default: value == default, is_current: value == current, value })
                .collect(),
        ),
    };
    let mut setting = Setting {
        name: state.name.clone(),
        value: display(state),
        origin: origin(state),
        place: place(state),
        outranked_by: None,
        note: None,
        does: config::plain_text(about.text),
        values,
    };
    let outranked = match state.name.as_str() {
        "ui.screen" => appearance::screen_of_run(flags.screen, environment)
            .map(|(screen, by)| (by, format!("{:?}", screen.name()))),
        "ui.animation" => flags.no_animation.then(|| ("--no-animation", "false".to_owned())),
        _ => None,
    };
    if let Some((by, value)) = outranked {
        (setting.origin, setting.value) = (by.to_owned(), value);
        setting.outranked_by = Some(by.to_owned());
    }
    if state.name == "ui.theme" && environment.get("NO_COLOR").is_some_and(|value| !value.is_empty()) {
        setting.note = Some("NO_COLOR is set, so no theme has colours".to_owned());
    }
    setting
}

/// Returns the one row that stands for the keys of all actions.
fn keys(states: &[&SettingState]) -> Setting {
    let key = config::key_of("ui.keys.send").expect("actions have keys");
    let action =
        |state: &&SettingState| Some((state.name.strip_prefix("ui.keys.")?.to_owned(), origin(state)));
    let set = states.iter().filter(|state| !state.origins.is_empty());
    let origins: BTreeMap<_, _> = set.clone().filter_map(action).collect();
    let value = match origins.len() {
        0 => "default".to_owned(),
        1 => "1 action".to_owned(),
        count => format!("{count} actions"),
    };
    Setting {
        name: KEYS.to_owned(),
        value,
        origin: set.clone().next().map_or_else(|| "default".to_owned(), |state| origin(state)),
        place: set.clone().next().and_then(|state| place(state)),
        outranked_by: None,
        note: None,
        does: config::plain_text(config::description(key).text),
        values: Values::Keys(origins),
    }
}

/// Describes where a value is from in a word: the file's name with the line.
fn origin(state: &SettingState) -> String {
    match state.origins.last().map(|origin| &origin.place) {
        None => "default".to_owned(),
        Some(Place::File(path, line)) => format!("{}:{line}", path.file_name().unwrap_or_default()),
        Some(Place::Variable(name)) => (*name).to_owned(),
    }
}

/// Returns the place of a value in a file.
fn place(state: &SettingState) -> Option<String> {
    match state.origins.last().map(|origin| &origin.place) {
        Some(Place::File(path, line)) => Some(format!("{path}:{line}")),
        _ => None,
    }
}
