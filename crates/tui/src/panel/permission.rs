//! A permission request that waits, and what the keys do to it.

use crate::client::asks::Answer;
use crate::diff::FileDiff;
use crate::field::Field;
use crate::keys::{Action, Place};
use agent::{PermissionOutcome, PermissionRequest, ToolContent};
use std::cell::Cell;

/// A permission request that waits.
#[derive(Debug)]
pub(super) struct Permission {
    pub(super) request: PermissionRequest,
    /// The changes that it is about.
    pub(super) files: Vec<FileDiff>,
    /// The file that is shown.
    pub(super) file: usize,
    pub(super) stage: Stage,
    /// Whether all of the text is shown, in a window that scrolls.
    pub(super) whole: bool,
    /// The first row of that window; clamped when it is shown.
    pub(super) top: Cell<usize>,
}

/// How far the answer has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Stage {
    /// The answers are offered.
    Choose,
    /// What "always" covers is shown; Enter confirms.
    Always,
    /// What "never" covers is shown; Enter confirms.
    Never,
    /// The reason for a rejection is typed.
    Because(Field),
}

/// What a key led to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    /// The question still waits.
    Waits,
    /// The keys go back to the message.
    Leave,
    /// It is answered.
    Answered(Answer),
}

impl Permission {
    pub(super) fn new(request: PermissionRequest) -> Self {
        let files = request.content.iter().filter_map(|content| match content {
            ToolContent::Diff(diff) => Some(FileDiff::of(diff)),
            _ => None,
        });
        let files = files.collect();
        Self { request, files, file: 0, stage: Stage::Choose, whole: false, top: Cell::new(0) }
    }

    /// Returns whether a lasting answer can be given.
    pub(super) fn lasts(&self) -> bool {
        !self.request.grant_label.is_empty()
    }

    /// Returns the place in the table of keys.
    pub(super) fn place(&self) -> Place {
        match self.stage {
            Stage::Because(_) => Place::Reason,
            _ => Place::Permission,
        }
    }

    /// Performs an action. Only [`Action::PermissionOnce`] approves, and after
    /// [`Action::PermissionAlways`] also [`Action::PermissionConfirm`] and
    /// [`Action::PermissionForUser`].
    pub(super) fn act(&mut self, action: Action) -> Step {
        match (&self.stage, action) {
            (Stage::Choose, Action::PermissionOnce) => return answered(PermissionOutcome::AllowOnce),
            (Stage::Choose | Stage::Always | Stage::Never, Action::PermissionNo) => {
                return answered(PermissionOutcome::RejectOnce);
            }
            (Stage::Always, Action::PermissionConfirm) => return answered(PermissionOutcome::AllowAlways),
            (Stage::Always, Action::PermissionForUser) if self.request.remedy.user_rule.is_some() => {
                return answered(PermissionOutcome::AllowForUser);
            }
            (Stage::Never, Action::PermissionConfirm) => return answered(PermissionOutcome::RejectAlways),
            (Stage::Because(reason), Action::ReasonSend) => return rejected(reason.text()),
            (Stage::Choose, Action::PermissionAlways) if self.lasts() => self.stage = Stage::Always,
            (Stage::Choose, Action::PermissionNever) if self.lasts() => self.stage = Stage::Never,
            (Stage::Choose, Action::PermissionBecause) => self.stage = Stage::Because(Field::default()),
            (Stage::Choose, Action::PermissionLeave) if self.whole => self.show_whole(false),
            (Stage::Choose, Action::PermissionLeave) => return Step::Leave,
            (Stage::Always | Stage::Never, Action::PermissionLeave)
            | (Stage::Because(_), Action::ReasonLeave) => self.stage = Stage::Choose,
            (_, Action::PermissionText) => self.show_whole(!self.whole),
            (_, Action::PermissionDown) if self.whole => self.top.set(self.top.get() + 1),
            (_, Action::PermissionUp) if self.whole => self.top.set(self.top.get().saturating_sub(1)),
            (_, Action::PermissionNextFile) => self.show_file(self.file + 1),
            (_, Action::PermissionPreviousFile) => self.show_file(self.file + self.files.len().max(1) - 1),
            _ => {}
        }
        Step::Waits
    }

    /// Returns the text that is being typed.
    pub(super) fn field(&mut self) -> Option<&mut Field> {
        match &mut self.stage {
            Stage::Because(field) => Some(field),
            _ => None,
        }
    }

    fn show_whole(&mut self, whole: bool) {
        self.whole = whole;
        self.top.set(0);
    }

    fn show_file(&mut self, file: usize) {
        self.file = file % self.files.len().max(1);
        self.top.set(0);
    }
}

fn answered(outcome: PermissionOutcome) -> Step {
    Step::Answered(Answer::Permission { outcome, reason: None })
}

fn rejected(reason: &str) -> Step {
    let reason = Some(reason.trim().to_owned()).filter(|reason| !reason.is_empty());
    Step::Answered(Answer::Permission { outcome: PermissionOutcome::RejectOnce, reason })
}
