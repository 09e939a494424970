//! The gate: the one place where it is decided whether a call may run.

use crate::{
    AnyCall, Description, Effect, PermissionOutcome, PermissionRequest, SessionEvent, StoreError, ToolCallId,
    ToolContent,
    limits::Limits,
    log::SessionLog,
    policy::{self, Decision, Grants, Policy, Resolved, Subject},
    session::SessionState,
};
use serde_json::Value;
use std::sync::Arc;
use system::{AbsPath, Route, System};
use tokio_util::sync::CancellationToken;

/// What the gate needs of a session.
pub(crate) struct Gate {
    pub(crate) system: Arc<dyn System>,
    pub(crate) log: SessionLog,
    pub(crate) grants: Arc<Grants>,
    pub(crate) roots: Vec<AbsPath>,
    pub(crate) allowed_paths: Vec<AbsPath>,
    pub(crate) blocked_paths: Vec<String>,
    pub(crate) denied_tools: Vec<String>,
    pub(crate) limits: Limits,
}

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
    decision: Decision,
    accesses: Vec<Resolved>,
}

impl Ruling {
    /// Whether the call runs without a question.
    pub(crate) fn allows(&self) -> bool {
        matches!(self.decision, Decision::Allow { .. })
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

impl Gate {
    /// Decides by the policy alone.
    pub(crate) async fn rule(
        &self,
        settings: &SessionState,
        applicant: &Applicant<'_>,
        cwd: &AbsPath,
    ) -> Ruling {
        let mut accesses = Vec::new();
        for access in applicant.call.accesses(cwd) {
            let canonical = match &access {
                // A link on another machine cannot be seen from here.
                crate::Access::Read(path) | crate::Access::Write(path) if applicant.executor.is_none() => {
                    self.system.resolve(path).await.ok()
                }
                _ => None,
            };
            accesses.push(Resolved::new(access, canonical));
        }
        let decision =
            policy::decide(&self.policy(settings, applicant.executor), &self.subject(applicant, &accesses));
        let (Decision::Allow { rule } | Decision::Ask { rule, .. } | Decision::Deny { rule, .. }) = &decision;
        tracing::debug!(tool = applicant.tool, call = %applicant.id, rule, "decided");
        Ruling { decision, accesses }
    }

    /// Asks the user what the policy left open, and remembers "always". `content` is what the call would do.
    pub(crate) async fn ask(
        &self,
        ruling: &Ruling,
        applicant: &Applicant<'_>,
        content: Vec<ToolContent>,
        cancel: &CancellationToken,
    ) -> Result<Answer, StoreError> {
        let Decision::Ask { question, .. } = &ruling.decision else { return Ok(Answer::Allowed) };
        let scope = policy::scope(&self.subject(applicant, &ruling.accesses));
        let request = PermissionRequest {
            id: applicant.id.clone(),
            name: applicant.tool.to_owned(),
            title: applicant.description.title.clone(),
            question: question.clone(),
            kind: applicant.description.kind,
            content,
            locations: applicant.description.locations.clone(),
            raw_input: applicant.arguments.clone(),
            grant_label: policy::label(&scope),
        };
        let asked =
            SessionEvent::PermissionRequested { id: applicant.id.clone(), question: question.clone() };
        self.log.record(vec![asked]).await?;
        let (outcome, rule) = tokio::select! {
            biased;
            () = cancel.cancelled() => (PermissionOutcome::Cancelled, "cancelled"),
            outcome = self.log.client().request_permission(request.clone()) => (outcome, "user"),
            () = tokio::time::sleep(self.limits.permission_wait) => (PermissionOutcome::RejectOnce, "timeout"),
        };
        match outcome {
            PermissionOutcome::AllowAlways => self.grants.remember(scope, true),
            PermissionOutcome::RejectAlways => self.grants.remember(scope, false),
            _ => {}
        }
        let resolved =
            SessionEvent::PermissionResolved { id: applicant.id.clone(), outcome, rule: rule.to_owned() };
        self.log.record(vec![resolved]).await?;
        Ok(match outcome {
            _ if outcome.allows() => Answer::Allowed,
            PermissionOutcome::Cancelled => Answer::Cancelled,
            _ => Answer::Refused(self.log.client().rejection(&request).unwrap_or_else(|| {
                format!("User denied permission for '{}'. Try a different approach.", applicant.tool)
            })),
        })
    }

    /// Whether a link in a prompt may be read without asking: inside the project and not blocked.
    pub(crate) fn may_attach(&self, settings: &SessionState, path: &AbsPath, canonical: &AbsPath) -> bool {
        let resolved = Resolved::new(crate::Access::Read(path.clone()), Some(canonical.clone()));
        let accesses = [resolved];
        let subject =
            Subject { tool: "file_read", effect: Effect::Reads, accesses: &accesses, roots: &self.roots };
        policy::inside(&self.roots, &accesses[0])
            && matches!(policy::decide(&self.policy(settings, None), &subject), Decision::Allow { .. })
    }

    fn policy<'a>(&'a self, settings: &SessionState, executor: Option<Route>) -> Policy<'a> {
        Policy {
            mode: settings.mode,
            permission_mode: settings.permission_mode,
            allowed_paths: &self.allowed_paths,
            blocked_paths: &self.blocked_paths,
            denied_tools: &self.denied_tools,
            grants: &self.grants,
            executor: executor.unwrap_or_else(|| self.system.routes().spawn),
        }
    }

    fn subject<'a>(&'a self, applicant: &Applicant<'a>, accesses: &'a [Resolved]) -> Subject<'a> {
        Subject { tool: applicant.tool, effect: applicant.effect, accesses, roots: &self.roots }
    }
}
