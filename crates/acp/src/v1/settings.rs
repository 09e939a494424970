//! Modes and configuration options in version 1. Responses contain both, with the same mode.

use crate::connection::settings::{Category, Choice, Setting, Settings};
use agent::{Mode, ModelInfo};
use agent_client_protocol::v1::schema as acp;

/// Returns the agent modes and the current one.
pub(crate) fn modes(current: Mode) -> acp::SessionModeState {
    let modes = Mode::ALL.map(|mode| {
        acp::SessionMode::new(mode.id(), mode.label()).description(mode.description().to_owned())
    });
    acp::SessionModeState::new(current.id(), modes.to_vec())
}

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClientTools;
    use agent::{Effort, ModelLimits, PermissionMode};
    use serde_json::json;

    fn pilot() -> ModelInfo {
        ModelInfo {
            id: "offline/pilot".to_owned(),
            name: "Pilot".to_owned(),
            description: Some("No language model".to_owned()),
            limits: ModelLimits { context_size: 1, max_output: 1, silence: None },
            disclosure: Some("This is no language model.".to_owned()),
            ..ModelInfo::default()
        }
    }

    #[test]
    fn options_name_the_current_values_and_disclose_the_pilot() {
        let settings = Settings {
            mode: Mode::Plan,
            permission_mode: PermissionMode::Argus,
            model: "offline/pilot".to_owned(),
            effort: Some(Effort::Low),
            client_tools: Some(ClientTools::Ide),
            sandbox: String::new(),
        };
        let options = serde_json::to_value(config_options(&settings, &[pilot()])).unwrap();
        let values: Vec<_> =
            options.as_array().unwrap().iter().map(|o| (&o["id"], &o["currentValue"])).collect();
        assert_eq!(
            values,
            [
                (&json!("mode"), &json!("plan")),
                (&json!("model"), &json!("offline/pilot")),
                (&json!("thought_level"), &json!("low")),
                (&json!("permission_mode"), &json!("argus")),
                (&json!("client_tools"), &json!("ide")),
            ]
        );
        assert_eq!(options[1]["description"], "This is no language model.");
        assert_eq!(options[0]["category"], "mode");
        assert_eq!(serde_json::to_value(modes(Mode::Plan)).unwrap()["currentModeId"], "plan");
    }

    #[test]
    fn a_model_that_is_not_listed_is_offered_while_in_use() {
        let settings = Settings {
            mode: Mode::Edit,
            permission_mode: PermissionMode::Guardian,
            model: "x/y".to_owned(),
            effort: None,
            client_tools: None,
            sandbox: String::new(),
        };
        let options = serde_json::to_value(config_options(&settings, &[pilot()])).unwrap();
        assert_eq!(options[1]["options"][0]["value"], "x/y");
        assert_eq!(options[1]["currentValue"], "x/y");
    }
}
