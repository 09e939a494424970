//! `settings options` and `settings examples`.

use super::{SettingsContext, answer, checked_name, examples::EXAMPLES, rows, rows::SettingRow};
use crate::{
    answer::Answer,
    config::{self, Item, Takes},
    failure::{Failure, Kind},
    table::Table,
    themes,
};
use agent::Models as _;
use anyhow::Result;
use schemars::JsonSchema;
use serde::Serialize;

/// The answer of `tiller settings options`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OptionList {
    /// The setting.
    setting: SettingRow,
    /// The values that it takes, or examples of them.
    options: Vec<OptionRow>,
    /// Whether it takes other values too.
    open: bool,
}

/// A value that a setting takes.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OptionRow {
    /// The value.
    value: String,
    /// Whether it is the default.
    default: bool,
    /// Whether it applies now.
    current: bool,
}

/// The answer of `tiller settings examples`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExampleList {
    /// The examples.
    examples: Vec<ExampleRow>,
}

/// An example of a settings file.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ExampleRow {
    /// The group of settings that it is about.
    topic: &'static str,
    /// What it does.
    title: &'static str,
    /// The text of the file.
    toml: &'static str,
}

impl SettingsContext<'_> {
    pub(super) async fn options(&self, name: &str) -> Result<Answer> {
        let name = checked_name(name)?;
        let state = self.state(name).await?;
        let takes = config::description(state.key).takes;
        let (words, open) = match takes {
            Takes::Flag | Takes::Word(_) | Takes::List(Item::Word(_)) => (rows::choices(takes), false),
            Takes::Model => (self.models().await?, true),
            Takes::Theme => (self.themes().await?, false),
            Takes::List(Item::Tool | Item::ToolPattern) => (agent::tool_names(), true),
            _ => (Vec::new(), true),
        };
        let value = |value: Option<config::Value>| -> Vec<String> {
            let items = value.map(|value| value.items()).unwrap_or_default();
            items.iter().map(|item| item.text().unwrap_or_else(|_| item.to_string())).collect()
        };
        let (default, current) = (value(state.default()), value(state.value()));
        let options: Vec<_> = words
            .into_iter()
            .map(|value| OptionRow {
                default: default.contains(&value),
                current: current.contains(&value),
                value,
            })
            .collect();
        let setting = SettingRow::of(&state);
        let mut text = format!("{name} takes {}.\n", setting.takes);
        let mut table = Table::plain();
        for OptionRow { value, default, current } in &options {
            let mark = if *current { "*" } else { " " };
            let about = if *default { "default" } else { "" };
            table.row([format!("{mark} {value}"), about.to_owned()]);
        }
        text += &table.text();
        if open {
            text += &format!("Now: {} ({})\n", setting.display_value, rows::layer(&state));
        }
        Ok(answer(&OptionList { setting, options, open }, text))
    }

    /// Returns the models that can be named without a request beyond this machine.
    async fn models(&self) -> Result<Vec<String>> {
        let options = self.settings.read(self.cwd).await?.options;
        let catalog = self.settings.catalog(&options);
        Ok(catalog.list().into_iter().map(|model| model.id).collect())
    }

    /// Returns the names of the themes, also of those that cannot be used.
    async fn themes(&self) -> Result<Vec<String>> {
        let themes = themes::all(self.directories()).await.map_err(|why| Failure::new(Kind::Config, why))?;
        Ok(themes.into_iter().map(|theme| theme.name).collect())
    }

    pub(super) fn examples(&self, topic: Option<&str>) -> Result<Answer> {
        let chosen: Vec<_> =
            EXAMPLES.iter().filter(|(about, ..)| topic.is_none_or(|topic| topic == *about)).collect();
        if chosen.is_empty() {
            let mut topics: Vec<_> = EXAMPLES.iter().map(|(topic, ..)| *topic).collect();
            topics.dedup();
            let what = format!("no examples about {:?}", topic.unwrap_or_default());
            return Err(Failure::new(Kind::NotFound, what)
                .hint(format!("there are examples about {}", topics.join(", ")))
                .into());
        }
        let mut text = format!("Examples for {}:\n", config::user_path(self.directories()));
        for (_, title, toml) in &chosen {
            text += &format!("\n# {title}\n{toml}");
        }
        let examples =
            chosen.into_iter().map(|&(topic, title, toml)| ExampleRow { topic, title, toml }).collect();
        Ok(answer(&ExampleList { examples }, text))
    }
}
