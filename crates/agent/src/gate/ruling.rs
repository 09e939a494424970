//! A call submitted to the gate, and the gate's ruling.

use super::lookup::places;
use crate::{
    Access, AnyCall, CommandPlace, Description, Effect, PermissionOutcome, Remedy, SessionEvent, ToolCallId,
    policy::{CommandConfinement, Decision, Resolved},
};
use serde_json::Value;
use system::{AbsPath, Network, Route, Sandbox};

/// A call submitted to the gate.
pub(crate) struct SubmittedCall<'a> {
    pub(crate) id: &'a ToolCallId,
    pub(crate) tool: &'a str,
    pub(crate) effect: Effect,
    /// The executor of the call, if it is not the session's system.
    pub(crate) executor: Option<Route>,
    pub(crate) call: &'a dyn AnyCall,
    pub(crate) description: &'a Description,
    pub(crate) arguments: &'a Value,
    /// Whether it is a command line that the user typed.
    pub(crate) by_user: bool,
}

/// The policy's decision before the user is asked.
pub(crate) struct Ruling {
    pub(super) decision: Decision,
    /// What would allow a call that must be asked about.
    pub(super) remedy: Remedy,
    pub(super) accesses: Vec<Resolved>,
    /// Where commands would run.
    pub(super) confinement: CommandConfinement,
    /// The sandbox of commands that run here; its level is off where nothing can confine them.
    pub(super) sandbox: Sandbox,
}

impl Ruling {
    /// Whether the call runs without approval.
    pub(crate) fn allows(&self) -> bool {
        matches!(self.decision, Decision::Allow { .. })
    }

    /// Returns this ruling, denied by a hook.
    pub(crate) fn denied_by_hook(self, reason: String) -> Self {
        Self { decision: Decision::Deny { rule: "Hook", reason }, ..self }
    }

    /// Returns the record of a decision that needs no approval; `None` for one that does.
    pub(crate) fn record(&self, id: &ToolCallId) -> Option<SessionEvent> {
        let (outcome, rule) = match &self.decision {
            Decision::Allow { rule } => (PermissionOutcome::AllowOnce, rule),
            Decision::Deny { rule, .. } => (PermissionOutcome::RejectOnce, rule),
            Decision::Ask { .. } => return None,
        };
        Some(SessionEvent::PermissionResolved { id: id.clone(), outcome, rule: (*rule).to_owned() })
    }

    /// Describes where the call's command runs and what confines it, if it has a command.
    pub(crate) fn place(&self) -> Option<String> {
        let runs = self.accesses.iter().any(|resolved| matches!(resolved.access, Access::Execute { .. }));
        (runs && self.confinement != CommandConfinement::Lifted).then(|| self.confinement.describe())
    }

    /// Returns where the call's command runs, if it has a command.
    pub(crate) fn command_place(&self) -> Option<CommandPlace> {
        let runs = self.accesses.iter().any(|resolved| matches!(resolved.access, Access::Execute { .. }));
        runs.then(|| self.confinement.place())
    }

    /// Returns a warning for the user if the command is confined less than it could be.
    pub(crate) fn shortcoming(&self) -> Option<&'static str> {
        self.confinement.shortcoming()
    }

    /// Whether commands run in a sandbox.
    pub(crate) fn is_confined(&self) -> bool {
        matches!(self.confinement, CommandConfinement::Sandbox { .. })
    }

    /// Whether commands reach hosts that the user allows.
    pub(crate) fn asks_for_hosts(&self) -> bool {
        matches!(self.confinement, CommandConfinement::Sandbox { network: Network::Session, .. })
    }

    /// Returns the line of a command that runs in a sandbox and reaches hosts that the user allows.
    pub(crate) fn connecting_command(&self) -> Option<&str> {
        let mut accesses = self.accesses.iter().filter(|_| self.asks_for_hosts());
        accesses.find_map(|resolved| match &resolved.access {
            Access::Execute { command, .. } => Some(command.as_str()),
            _ => None,
        })
    }

    /// Whether another ruling covers exactly the same call: the same command in the same directory,
    /// the same files behind the same paths, the same executor and the same sandbox.
    ///
    /// The tool that showed a file's text checks whether that text is still current.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        let touched = |ruling: &Self| -> Vec<_> {
            ruling
                .accesses
                .iter()
                .map(|resolved| (resolved.access.clone(), resolved.canonical.clone()))
                .collect()
        };
        self.confinement == other.confinement
            && self.sandbox == other.sandbox
            && touched(self) == touched(other)
    }

    /// Whether the call is denied because of the agent mode.
    pub(crate) fn is_by_mode(&self) -> bool {
        matches!(self.decision, Decision::Deny { rule: "Mode", .. })
    }

    /// Returns the paths of the call's files, each as declared and with links resolved.
    pub(crate) fn places(&self) -> Vec<(AbsPath, AbsPath)> {
        places(&self.accesses, &self.sandbox.view)
    }

    /// Returns the reason of a denial.
    pub(crate) fn denial(&self) -> Option<&str> {
        match &self.decision {
            Decision::Deny { reason, .. } => Some(reason),
            _ => None,
        }
    }
}

/// The user's answer.
pub(crate) enum Answer {
    /// Run the call.
    Allowed,
    /// Do not run the call; the text is the result that the model receives.
    Refused(String),
    /// Do not run the call, and end the turn.
    Cancelled,
}
