//! `settings list` and `settings get`.

use super::{
    SettingsContext, answer, checked_name, plain_name,
    rows::{self, SettingRow},
};
use crate::{
    answer::Answer,
    args::SettingsFrom,
    config::{self, Layer, SettingState},
    failure::{Failure, Kind},
    settings::Snapshot,
    table::Table,
};
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;

/// The answer of `tiller settings list`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettingList {
    /// The groups of settings, in order.
    categories: Vec<Category>,
    /// The settings, in the order of their groups.
    settings: Vec<SettingRow>,
    /// The settings files.
    paths: SettingPaths,
    /// What is in the files and does not apply, with the reasons.
    notices: Vec<String>,
}

/// A group of settings.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Category {
    /// The first part of its settings' names.
    id: String,
    /// The number of its settings in this list.
    settings: usize,
}

/// The settings files, which need not exist.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettingPaths {
    /// The user's file.
    user: String,
    /// The file of the project in this directory.
    project: String,
}

/// The answer of `tiller settings get`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SettingAnswer {
    /// The setting.
    setting: SettingRow,
}

impl SettingsContext<'_> {
    pub(super) async fn list(&self, prefix: Option<&str>, set: bool, from: &SettingsFrom) -> Result<Answer> {
        let Snapshot { effective, notices, .. } = self.settings.read(self.cwd).await?;
        let prefix = prefix.map(plain_name).map(|prefix| prefix.trim_end_matches(['.', '*']));
        let mut states = config::states(&effective, self.environment, self.directories());
        states.retain(|state| prefix.is_none_or(|prefix| is_below(&state.name, prefix)));
        let known = !states.is_empty() || config::is_group(prefix.unwrap_or_default());
        if let (Some(prefix), false) = (prefix, known) {
            let what = format!("no setting begins with {prefix:?}");
            return Err(Failure::new(Kind::NotFound, what).next("tiller settings list").into());
        }
        restrict(&mut states, from);
        states.retain(|state| !(set || from.global || from.project) || !state.origins.is_empty());
        let mut categories: Vec<Category> = Vec::new();
        for state in &states {
            match categories.last_mut().filter(|last| last.id == state.category()) {
                Some(last) => last.settings += 1,
                None => categories.push(Category { id: state.category().to_owned(), settings: 1 }),
            }
        }
        let text = list_text(&states, from.show_origin, &notices);
        let settings = states.iter().map(SettingRow::of).collect();
        Ok(answer(&SettingList { categories, settings, paths: self.setting_paths(), notices }, text))
    }

    pub(super) async fn get(&self, name: &str, from: &SettingsFrom) -> Result<Answer> {
        let name = checked_name(name)?;
        let mut state = self.state(name).await?;
        restrict(std::slice::from_mut(&mut state), from);
        let display = rows::display(&state);
        let text = match from.show_origin {
            false => format!("{name} = {display}  ({})\n", rows::origin(&state)),
            true => origin_text(&state, &display),
        };
        Ok(answer(&SettingAnswer { setting: SettingRow::of(&state) }, text))
    }

    /// Returns the current state of a setting.
    pub(super) async fn state(&self, name: &str) -> Result<SettingState> {
        let effective = self.settings.read(self.cwd).await?.effective;
        let states = config::states(&effective, self.environment, self.directories());
        Ok(config::state(states, name).expect("the name was checked"))
    }

    pub(super) fn setting_paths(&self) -> SettingPaths {
        SettingPaths {
            user: config::user_path(self.directories()).to_string(),
            project: config::project_path(self.cwd).to_string(),
        }
    }
}

fn is_below(name: &str, prefix: &str) -> bool {
    name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Keeps the values of one file only, if one is asked for.
fn restrict(states: &mut [SettingState], from: &SettingsFrom) {
    let only = match (from.global, from.project) {
        (true, _) => Layer::User,
        (_, true) => Layer::Project,
        _ => return,
    };
    states.iter_mut().for_each(|state| state.origins.retain(|origin| origin.layer == only));
}

fn list_text(states: &[SettingState], origins: bool, notices: &[String]) -> String {
    let mut table = Table::new(["SETTING", "VALUE", "FROM"]);
    for state in states {
        let from = if origins { rows::origin(state) } else { rows::layer(state) };
        table.row([state.name.clone(), rows::display(state), from]);
    }
    let mut text = match states {
        [] => "No setting is set; everything has its default.\n".to_owned(),
        _ => table.text(),
    };
    notices.iter().for_each(|notice| text += &format!("note: {notice}\n"));
    text
}

fn origin_text(state: &SettingState, display: &str) -> String {
    let mut text = format!("{} = {display}\n", state.name);
    let mut table = Table::plain();
    let default = state.default().map_or_else(|| "none".to_owned(), |value| value.to_string());
    table.row(["  default".to_owned(), default, String::new()]);
    for origin in &state.origins {
        table.row([format!("  {}", origin.layer.word()), origin.value.to_string(), origin.place.to_string()]);
    }
    text += &table.text();
    text
}
