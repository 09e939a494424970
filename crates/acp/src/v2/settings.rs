//! Configuration options in version 2.

use crate::connection::settings::{Category, Choice, Setting, Settings};
use agent::ModelInfo;
use agent_client_protocol_schema::v2 as acp;

/// Returns all configuration options with their current values.
pub(crate) fn config_options(settings: &Settings, models: &[ModelInfo]) -> Vec<acp::SessionConfigOption> {
    settings.all(models).into_iter().map(option).collect()
}

fn option(setting: Setting) -> acp::SessionConfigOption {
    let values: Vec<_> = setting.values.into_iter().map(value).collect();
    acp::SessionConfigOption::select(setting.id, setting.name, setting.current, values)
        .description(setting.description)
        .category(match setting.category {
            Category::Mode => acp::SessionConfigOptionCategory::Mode,
            Category::Model => acp::SessionConfigOptionCategory::Model,
            Category::ThoughtLevel => acp::SessionConfigOptionCategory::ThoughtLevel,
            Category::Own(name) => acp::SessionConfigOptionCategory::Other(name.to_owned()),
        })
}

fn value(choice: Choice) -> acp::SessionConfigSelectOption {
    acp::SessionConfigSelectOption::new(choice.id, choice.name).description(choice.description)
}
