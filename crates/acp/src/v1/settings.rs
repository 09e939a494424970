//! What a client can set of a session: modes and configuration options, always both and always in step.

use crate::ClientTools;
use agent::{Effort, Mode, ModelInfo, PermissionMode, SessionState};
use agent_client_protocol::v1::schema as acp;

/// The id of the option for the agent mode.
pub(crate) const MODE: &str = "mode";
/// The id of the option for the model.
pub(crate) const MODEL: &str = "model";
/// The id of the option for the permission mode.
pub(crate) const PERMISSION_MODE: &str = "permission_mode";

/// The id of the option for how much the model is to think.
pub(crate) const THOUGHT_LEVEL: &str = "thought_level";
/// The thought level that leaves it to the model.
const DEFAULT_LEVEL: &str = "default";
/// The id of the option for which tools act where.
pub(crate) const CLIENT_TOOLS: &str = "client_tools";

/// What a session is set to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    /// The agent mode.
    pub(crate) mode: Mode,
    /// The permission mode.
    pub(crate) permission_mode: PermissionMode,
    /// The model's full id.
    pub(crate) model: String,
    /// How much the model is to think.
    pub(crate) effort: Option<Effort>,
    /// Which tools act where; `None` where the client offers nothing to act through.
    pub(crate) client_tools: Option<ClientTools>,
}

impl From<SessionState> for Settings {
    fn from(state: SessionState) -> Self {
        Self {
            mode: state.mode,
            permission_mode: state.permission_mode,
            model: state.model,
            effort: state.effort,
            client_tools: None,
        }
    }
}

/// The agent modes with the current one.
pub(crate) fn modes(current: Mode) -> acp::SessionModeState {
    let modes = Mode::ALL.map(|mode| {
        acp::SessionMode::new(mode.id(), mode.label()).description(mode.description().to_owned())
    });
    acp::SessionModeState::new(current.id(), modes.to_vec())
}

/// All configuration options with their current values.
pub(crate) fn config_options(settings: &Settings, models: &[ModelInfo]) -> Vec<acp::SessionConfigOption> {
    let modes = Mode::ALL.map(|mode| value(mode.id(), mode.label(), Some(mode.description())));
    let permission_modes =
        PermissionMode::ALL.map(|mode| value(mode.id(), mode.label(), Some(mode.description())));
    let mut options = vec![
        acp::SessionConfigOption::select(MODE, "Mode", settings.mode.id(), modes.to_vec())
            .description("What the agent may do at all".to_owned())
            .category(acp::SessionConfigOptionCategory::Mode),
        model_option(&settings.model, models),
        thought_level_option(settings.effort),
        acp::SessionConfigOption::select(
            PERMISSION_MODE,
            "Permissions",
            settings.permission_mode.id(),
            permission_modes.to_vec(),
        )
        .description("How much is asked before the agent acts".to_owned())
        .category(acp::SessionConfigOptionCategory::Other("_permission_mode".to_owned())),
    ];
    options.extend(settings.client_tools.map(client_tools_option));
    options
}

fn client_tools_option(current: ClientTools) -> acp::SessionConfigOption {
    let labels = ["Through the editor", "Two machines", "Off"];
    let values = ClientTools::ALL.iter().zip(labels);
    let values = values.map(|(tools, label)| value(tools.id(), label, Some(tools.description())));
    acp::SessionConfigOption::select(CLIENT_TOOLS, "Tools", current.id(), values.collect::<Vec<_>>())
        .description("Where the agent's tools act".to_owned())
        .category(acp::SessionConfigOptionCategory::Other("_client_tools".to_owned()))
}

/// The thought level with an id.
pub(crate) fn thought_level(id: &str) -> Result<Option<Effort>, agent::UnknownMode> {
    if id == DEFAULT_LEVEL { Ok(None) } else { id.parse().map(Some) }
}

fn thought_level_option(current: Option<Effort>) -> acp::SessionConfigOption {
    let levels = Effort::ALL.map(|effort| value(effort.id(), effort.label(), None));
    let mut values = vec![value(DEFAULT_LEVEL, "Default", Some("What the model does by itself"))];
    values.extend(levels);
    acp::SessionConfigOption::select(
        THOUGHT_LEVEL,
        "Thinking",
        current.map_or(DEFAULT_LEVEL, Effort::id),
        values,
    )
    .description("How much the model thinks, where it can be told".to_owned())
    .category(acp::SessionConfigOptionCategory::ThoughtLevel)
}

fn model_option(current: &str, models: &[ModelInfo]) -> acp::SessionConfigOption {
    let mut values: Vec<_> =
        models.iter().map(|model| value(&model.id, &model.name, model.description.as_deref())).collect();
    let known = models.iter().find(|model| model.id == current);
    if known.is_none() {
        // Providers have more models than any list: the one in use is always among those offered.
        values.insert(0, value(current, current, None));
    }
    let description = known.and_then(|model| model.disclosure.clone());
    acp::SessionConfigOption::select(MODEL, "Model", current.to_owned(), values)
        .description(description.unwrap_or_else(|| "The model that answers".to_owned()))
        .category(acp::SessionConfigOptionCategory::Model)
}

fn value(id: &str, name: &str, description: Option<&str>) -> acp::SessionConfigSelectOption {
    acp::SessionConfigSelectOption::new(id.to_owned(), name).description(description.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pilot() -> ModelInfo {
        ModelInfo {
            id: "offline/pilot".to_owned(),
            name: "Pilot".to_owned(),
            description: Some("No language model".to_owned()),
            context_size: 1,
            max_output: 1,
            images: false,
            disclosure: Some("This is no language model.".to_owned()),
        }
    }

    #[test]
    fn options_name_the_current_values_and_disclose_a_stand_in() {
        let settings = Settings {
            mode: Mode::Plan,
            permission_mode: PermissionMode::Argus,
            model: "offline/pilot".to_owned(),
            effort: Some(Effort::Low),
            client_tools: Some(ClientTools::Ide),
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
        };
        let options = serde_json::to_value(config_options(&settings, &[pilot()])).unwrap();
        assert_eq!(options[1]["options"][0]["value"], "x/y");
        assert_eq!(options[1]["currentValue"], "x/y");
    }
}
