//! What a client may show and change of a session, as its events tell it.

use crate::{Effort, Mode, PermissionMode, SessionEvent};
use system::AbsPath;

/// What a client may show and change of a session.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionState {
    /// The agent mode.
    pub mode: Mode,
    /// The permission mode.
    pub permission_mode: PermissionMode,
    /// The model's full id.
    pub model: String,
    /// How much the model is to think; `None` leaves it to the model.
    pub effort: Option<Effort>,
    /// The title, once there is one.
    pub title: Option<String>,
    /// Further folders the session may work in; a running turn keeps those it began with.
    pub additional_directories: Vec<AbsPath>,
    /// Where commands run and what confines them, in words; as far as it is known before the first one.
    pub sandbox: String,
    /// Whether a turn is running.
    pub busy: bool,
}

impl SessionState {
    /// Takes what an event changes of it; whether that is anything.
    pub(crate) fn apply(&mut self, event: &SessionEvent) -> bool {
        match event {
            SessionEvent::ModeChanged(mode) => self.mode = *mode,
            SessionEvent::PermissionModeChanged(mode) => self.permission_mode = *mode,
            SessionEvent::ModelChanged(model) => self.model.clone_from(model),
            SessionEvent::EffortChanged(effort) => self.effort = *effort,
            SessionEvent::TitleChanged(title) => self.title = Some(title.clone()),
            _ => return false,
        }
        true
    }
}
