//! The session settings that a client can change.

use super::{Connection, Wire, errors};
use crate::ClientTools;
use agent::{Effort, Mode, ModelInfo, PermissionMode, SessionHandle, SessionState};
use agent_client_protocol::Error;
use serde_json::Value;

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

const MODE: &str = "mode";
const MODEL: &str = "model";
const PERMISSION_MODE: &str = "permission_mode";
const THOUGHT_LEVEL: &str = "thought_level";
/// The thought level that leaves the decision to the model.
const DEFAULT_LEVEL: &str = "default";
const CLIENT_TOOLS: &str = "client_tools";

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
        let efforts =
            models.iter().find(|known| known.id == self.model).map(|known| known.efforts.as_slice());
        let thought_level = thought_level_setting(self.effort, efforts.unwrap_or_default());
        let mut settings = vec![mode, model(&self.model, models), thought_level, permission_mode];
        settings.extend(self.client_tools.map(client_tools));
        settings
    }
}

/// Changes an option of a session; returns once the change is in force and recorded.
pub(super) async fn change<W: Wire>(
    connection: &Connection<W>,
    handle: &SessionHandle,
    id: &str,
    value: &Value,
) -> Result<(), Error> {
    let Some(value) = value.as_str() else {
        return Err(errors::invalid_params(format!(
            "value of {id} is the id of one of its options, a string"
        )));
    };
    let wrong = |error: agent::UnknownMode| errors::invalid_params(format!("value of {id}: {error}"));
    let changed = match id {
        MODE => handle.set_mode(value.parse::<Mode>().map_err(wrong)?).await,
        PERMISSION_MODE => handle.set_permission_mode(value.parse::<PermissionMode>().map_err(wrong)?).await,
        MODEL => return choose_model(connection, handle, value).await,
        THOUGHT_LEVEL => handle.set_effort(thought_level(value).map_err(wrong)?).await,
        CLIENT_TOOLS => {
            let tools = ClientTools::ALL.into_iter().find(|tools| tools.id() == value).ok_or_else(|| {
                let all = ClientTools::ALL.map(ClientTools::id).join(", ");
                errors::invalid_params(format!("value of {id}: unknown value {value:?}; use one of {all}"))
            })?;
            match connection.set_client_tools(handle, tools).await {
                Ok(false) => {
                    return Err(errors::invalid_params(format!(
                        "{id} cannot be set: the client advertises neither files nor terminals"
                    )));
                }
                changed => changed.map(drop),
            }
        }
        _ => {
            return Err(errors::invalid_params(format!(
                "Unknown config option: {id}; use {MODE}, {MODEL}, {THOUGHT_LEVEL} or {PERMISSION_MODE}"
            )));
        }
    };
    changed.map_err(|error| errors::session(&error))
}

/// Changes a session's model to the one with the full id `id`.
pub(crate) async fn choose_model<W: Wire>(
    connection: &Connection<W>,
    handle: &SessionHandle,
    id: &str,
) -> Result<(), Error> {
    let chosen = handle.set_model(id).await;
    chosen.map_err(|error| errors::named_model(&error, id, &connection.models()))
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
fn thought_level(id: &str) -> Result<Option<Effort>, agent::UnknownMode> {
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
