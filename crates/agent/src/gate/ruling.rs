//! A call in front of the gate, and what the gate says of it.

use super::look::places;
use crate::{
    Access, AnyCall, Description, Effect, PermissionOutcome, SessionEvent, ToolCallId,
    policy::{Decision, Resolved, Shelter},
};
use serde_json::Value;
use system::{AbsPath, Route, Sandbox};

/// A call in front of the gate.
pub(crate) struct Applicant<'a> {
    pub(crate) id: &'a ToolCallId,
    pub(crate) tool: &'a str,
    pub(crate) effect: Effect,
    /// Who carries it out, where that is not the session's system.
    pub(crate) executor: Option<Route>,
    pub(crate) call: &'a dyn AnyCall,
    pub(crate) description: &'a Description,
    pub(crate) arguments: &'a Value,
}

/// What the policy says before anybody is asked.
pub(crate) struct Ruling {
    pub(super) decision: Decision,
    pub(super) accesses: Vec<Resolved>,
    /// Where commands would run.
    pub(super) shelter: Shelter,
    /// What commands that run here are confined by; its level is off where nothing can be.
    pub(super) sandbox: Sandbox,
}

impl Ruling {
    /// Whether the call runs without a question.
    pub(crate) fn allows(&self) -> bool {
        matches!(self.decision, Decision::Allow { .. })
    }

    /// The same, denied by a hook.
    pub(crate) fn denied_by_hook(self, reason: String) -> Self {
        Self { decision: Decision::Deny { rule: "Hook", reason }, ..self }
    }

    /// The record of a decision that nobody is asked about.
    pub(crate) fn record(&self, id: &ToolCallId) -> Option<SessionEvent> {
        let (outcome, rule) = match &self.decision {
            Decision::Allow { rule } => (PermissionOutcome::AllowOnce, rule),
            Decision::Deny { rule, .. } => (PermissionOutcome::RejectOnce, rule),
            Decision::Ask { .. } => return None,
        };
        Some(SessionEvent::PermissionResolved { id: id.clone(), outcome, rule: (*rule).to_owned() })
    }

    /// Where its command runs and what confines it, in words, if it has one.
    pub(crate) fn place(&self) -> Option<String> {
        let runs = self.accesses.iter().any(|resolved| matches!(resolved.access, Access::Execute { .. }));
        (runs && self.shelter != Shelter::Lifted).then(|| self.shelter.words())
    }

    /// What the user should know of how its command is held back, where it is not as it could be.
    pub(crate) fn shortcoming(&self) -> Option<&'static str> {
        self.shelter.shortcoming()
    }

    /// Whether commands run in a sandbox.
    pub(crate) fn is_confined(&self) -> bool {
        matches!(self.shelter, Shelter::Sandbox { .. })
    }

    /// Whether another ruling is about the very same thing: the same command in the same folder, the same files behind the same names, the
    /// same executor and the same sandbox. Whether a file's text is still the one that was shown is for the tool that showed it.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        let touched = |ruling: &Self| -> Vec<_> {
            ruling
                .accesses
                .iter()
                .map(|resolved| (resolved.access.clone(), resolved.canonical.clone()))
                .collect()
        };
        self.shelter == other.shelter && self.sandbox == other.sandbox && touched(self) == touched(other)
    }

    /// Whether it is denied because of the agent mode.
    pub(crate) fn is_by_mode(&self) -> bool {
        matches!(self.decision, Decision::Deny { rule: "Mode", .. })
    }

    /// Where the files it is about lead, links resolved: as declared, and where that is.
    pub(crate) fn places(&self) -> Vec<(AbsPath, AbsPath)> {
        places(&self.accesses)
    }

    /// The reason of a denial.
    pub(crate) fn denial(&self) -> Option<&str> {
        match &self.decision {
            Decision::Deny { reason, .. } => Some(reason),
            _ => None,
        }
    }
}

/// The user's answer.
pub(crate) enum Answer {
    /// Run it.
    Allowed,
    /// Do not run it; what the model is told.
    Refused(String),
    /// Do not run it, and end the turn.
    Cancelled,
}
