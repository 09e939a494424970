//! The session settings that a client can change.

use crate::ClientTools;
use agent::{Effort, Mode, ModelInfo, PermissionMode, SessionEvent, SessionState};

/// The current settings of a session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Settings {
    /// The agent mode.
    pub(crate) mode: Mode,
    /// The permission mode.
    pub(crate) permission_mode: PermissionMode,
    /// The model's full id.
    pub(crate) model: String,
    /// The reasoning effort.
    pub(crate) effort: Option<Effort>,
    /// Which tools act on which machine; `None` if the client offers neither files nor terminals.
    pub(crate) client_tools: Option<ClientTools>,
    /// A description of where commands run and what confines them.
    pub(crate) sandbox: String,
}

/// An option as the client displays it: one of several values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) id: &'static str,
    /// The display name.
    pub(crate) name: &'static str,
    /// The description for users.
    pub(crate) description: String,
    pub(crate) category: Category,
    /// The id of the selected value.
    pub(crate) current: String,
    pub(crate) values: Vec<Choice>,
}

/// The category of an option, by which a client places it in its interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Category {
    Mode,
    Model,
    ThoughtLevel,
    /// A category specific to Tiller, by name.
    Own(&'static str),
}

/// A value of an option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) description: Option<String>,
}

pub(super) const MODE: &str = "mode";
pub(super) const MODEL: &str = "model";
pub(super) const PERMISSION_MODE: &str = "permission_mode";
pub(super) const THOUGHT_LEVEL: &str = "thought_level";
/// The thought level that leaves the decision to the model.
const DEFAULT_LEVEL: &str = "default";
pub(super) const CLIENT_TOOLS: &str = "client_tools";

impl From<SessionState> for Settings {
    fn from(state: SessionState) -> Self {
        Self {
            mode: state.mode,
            permission_mode: state.permission_mode,
            model: state.model,
            effort: state.effort,
            client_tools: None,
            sandbox: state.sandbox,
        }
    }
}

impl Settings {
    /// Applies an event that changes a setting; other events change nothing.
    pub(crate) fn apply(&mut self, event: &SessionEvent) {
        match event {
            SessionEvent::ModeChanged(mode) => self.mode = *mode,
            SessionEvent::PermissionModeChanged(mode) => self.permission_mode = *mode,
            SessionEvent::ModelChanged(model) => self.model.clone_from(model),
            SessionEvent::EffortChanged(effort) => self.effort = *effort,
            _ => {}
        }
    }

    /// Returns all options with their current values.
    pub(crate) fn all(&self, models: &[ModelInfo]) -> Vec<Setting> {
        let mode = Setting {
            id: MODE,
            name: "Mode",
            description: "Which kinds of tools the agent may use".to_owned(),
            category: Category::Mode,
            current: self.mode.id().to_owned(),
            values: Mode::ALL.map(|mode| choice(mode.id(), mode.label(), Some(mode.description()))).to_vec(),
        };
        let permission_mode = Setting {
            id: PERMISSION_MODE,
            name: "Permissions",
            description: format!("What the agent needs approval for. Commands run {}", self.sandbox),
            category: Category::Own("_permission_mode"),
            current: self.permission_mode.id().to_owned(),
            values: PermissionMode::ALL
                .map(|mode| choice(mode.id(), mode.label(), Some(mode.description())))
                .to_vec(),
        };
        let efforts = models
            .iter()
            .find(|known| known.id == self.model)
            .map(|known| known.abilities.efforts.as_slice());
        let thought_level = thought_level_setting(self.effort, efforts.unwrap_or_default());
        let mut settings = vec![mode, model(&self.model, models), thought_level, permission_mode];
        settings.extend(self.client_tools.map(client_tools));
        settings
    }
}

fn client_tools(current: ClientTools) -> Setting {
    let labels = ["Through the editor", "Two machines", "Off"];
    let values = ClientTools::ALL.iter().zip(labels);
    Setting {
        id: CLIENT_TOOLS,
        name: "Tools",
        description: "Where the agent's tools act".to_owned(),
        category: Category::Own("_client_tools"),
        current: current.id().to_owned(),
        values: values.map(|(tools, label)| choice(tools.id(), label, Some(tools.description()))).collect(),
    }
}

/// Parses the id of a thought level.
pub(super) fn thought_level(id: &str) -> Result<Option<Effort>, agent::UnknownMode> {
    if id == DEFAULT_LEVEL { Ok(None) } else { id.parse().map(Some) }
}

/// Returns the thought levels that the model supports, and the selected one even if the model lacks
/// it.
fn thought_level_setting(current: Option<Effort>, efforts: &[String]) -> Setting {
    let mut values = vec![choice(DEFAULT_LEVEL, "Default", Some("The model's own default"))];
    let offered = Effort::offered(efforts);
    let shown = Effort::ALL.into_iter().filter(|effort| offered.contains(effort) || current == Some(*effort));
    values.extend(shown.map(|effort| choice(effort.id(), effort.label(), None)));
    Setting {
        id: THOUGHT_LEVEL,
        name: "Thinking",
        description: "How much the model reasons, if it can be set".to_owned(),
        category: Category::ThoughtLevel,
        current: current.map_or(DEFAULT_LEVEL, Effort::id).to_owned(),
        values,
    }
}

fn model(current: &str, models: &[ModelInfo]) -> Setting {
    let mut values: Vec<_> =
        models.iter().map(|model| choice(&model.id, &model.name, model.description.as_deref())).collect();
    let known = models.iter().find(|model| model.id == current);
    if known.is_none() {
        // Providers have more models than any list, so the current model is always among the
        // choices.
        values.insert(0, choice(current, current, None));
    }
    let disclosure = known.and_then(|model| model.disclosure.clone());
    Setting {
        id: MODEL,
        name: "Model",
        description: disclosure.unwrap_or_else(|| "The model that answers".to_owned()),
        category: Category::Model,
        current: current.to_owned(),
        values,
    }
}

fn choice(id: &str, name: &str, description: Option<&str>) -> Choice {
    Choice { id: id.to_owned(), name: name.to_owned(), description: description.map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thought_levels_include_the_models_levels_and_the_current_one() {
        let shown = |current: Option<Effort>, efforts: &[&str]| -> Vec<String> {
            let efforts: Vec<_> = efforts.iter().map(|id| (*id).to_owned()).collect();
            thought_level_setting(current, &efforts).values.into_iter().map(|value| value.id).collect()
        };
        assert_eq!(
            shown(None, &["none", "low", "high", "xhigh", "max"]),
            ["default", "low", "high", "xhigh", "max"]
        );
        assert_eq!(shown(None, &[]), ["default", "low", "medium", "high"]);
        assert_eq!(shown(Some(Effort::Max), &["low"]), ["default", "low", "max"], "a model before had it");
    }
}
