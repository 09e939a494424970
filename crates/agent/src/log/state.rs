//! The part of a session's state that a client may display and change, derived from its events.

use crate::{Effort, Mode, PermissionMode, SessionEvent, SessionRecord};
use system::AbsPath;

/// The part of a session's state that a client may display and change.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionState {
    /// The agent mode.
    pub mode: Mode,
    /// The permission mode.
    pub permission_mode: PermissionMode,
    /// The model's full id.
    pub model: String,
    /// The reasoning effort; `None` leaves it to the model.
    pub effort: Option<Effort>,
    /// The title, once there is one.
    pub title: Option<String>,
    /// What git has checked out in its directory, as far as it was read: a branch, or the beginning
    /// of a commit in parentheses.
    pub branch: Option<String>,
    /// Further directories the session may work in; a running turn keeps those it began with.
    pub additional_directories: Vec<AbsPath>,
    /// A description of where commands run and what confines them, as far as it is known before the
    /// first one.
    pub sandbox: String,
    /// Whether a turn is running.
    pub busy: bool,
}

impl SessionState {
    /// Returns the state of a stored session while no task runs it.
    pub fn of(record: &SessionRecord) -> Self {
        Self {
            mode: record.controls.mode,
            permission_mode: record.controls.permission_mode,
            model: record.controls.model.clone(),
            effort: record.controls.effort,
            title: record.title.clone(),
            branch: record.branch.clone(),
            additional_directories: record.additional_directories.clone(),
            sandbox: String::new(),
            busy: false,
        }
    }

    /// Applies an event; returns whether the event belongs to this state.
    pub(crate) fn apply(&mut self, event: &SessionEvent) -> bool {
        match event {
            SessionEvent::ModeChanged(mode) => self.mode = *mode,
            SessionEvent::PermissionModeChanged(mode) => self.permission_mode = *mode,
            SessionEvent::ModelChanged(model) => self.model.clone_from(model),
            SessionEvent::EffortChanged(effort) => self.effort = *effort,
            SessionEvent::TitleChanged(title) => self.title = Some(title.clone()),
            SessionEvent::BranchChanged(branch) => self.branch.clone_from(branch),
            _ => return false,
        }
        true
    }
}
