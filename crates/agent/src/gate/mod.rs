//! The gate: the one place where it is decided whether a call may run.

pub(crate) mod explain;
pub(crate) mod outside;

use crate::{
    AnyCall, Description, Effect, Mode, PermissionOutcome, PermissionRequest, RuntimeOptions, SessionEvent,
    SessionId, StoreError, ToolCallId, ToolContent,
    log::SessionLog,
    log::state::SessionState,
    policy::{self, Bounds, Decision, Dialect, Grants, Policy, Resolved, Shelter, Subject, found},
    settings::Live,
    tool::titles,
};
use serde_json::Value;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use system::{
    AbsPath, Confined, FoundRules, Pins, PrivateTemp, Route, Sandbox, SandboxLevel, SandboxSupport,
    ShellProgram, System,
};
use tokio_util::sync::CancellationToken;

/// What the gate needs of a session.
pub(crate) struct Gate {
    system: Arc<dyn System>,
    log: SessionLog,
    grants: Arc<Grants>,
    /// The session's folder, then the further ones.
    roots: Vec<AbsPath>,
    /// What is allowed and denied. Whoever asks the gate has looked at it just before.
    settings: Arc<Live>,
    /// The session's own temporary directories.
    temp: Vec<PrivateTemp>,
    /// Where its long results are kept whole, to be read without a question.
    outputs: Option<AbsPath>,
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
    /// Where commands would run.
    shelter: Shelter,
    /// What commands that run here are confined by; its level is off where nothing can be.
    sandbox: Sandbox,
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
        let runs =
            self.accesses.iter().any(|resolved| matches!(resolved.access, crate::Access::Execute { .. }));
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

impl Gate {
    /// The gate of a session that acts through a system and works in its folder and further ones.
    pub(crate) fn new(
        session: &SessionId,
        system: Arc<dyn System>,
        log: SessionLog,
        grants: Arc<Grants>,
        settings: Arc<Live>,
        cwd: &AbsPath,
        additional_directories: Vec<AbsPath>,
    ) -> Self {
        let sandbox = &settings.seen().sandbox;
        let (temp, outputs) = (sandbox.temp_of(session), sandbox.outputs_of(session));
        let mut gate = Self { system, log, grants, roots: Vec::new(), settings, temp, outputs };
        gate.work_in(cwd, additional_directories);
        gate
    }

    /// Bounds the session to its folder and further ones, from the next decision on.
    pub(crate) fn work_in(&mut self, cwd: &AbsPath, additional_directories: Vec<AbsPath>) {
        self.roots = std::iter::once(cwd.clone()).chain(additional_directories).collect();
    }

    /// The further folders that the session may work in.
    pub(crate) fn additional_directories(&self) -> &[AbsPath] {
        &self.roots[1..]
    }

    /// Has the session act through another system. Whoever calls this forgets the grants: they were given for the old
    /// one.
    pub(crate) fn move_to(&mut self, system: Arc<dyn System>) {
        self.system = system;
    }

    /// What the session acts through where nothing was decided yet.
    pub(crate) fn system(&self) -> &Arc<dyn System> {
        &self.system
    }

    pub(crate) fn settings(&self) -> &Live {
        &self.settings
    }

    /// Where long results are kept whole.
    pub(crate) fn outputs(&self) -> Option<&AbsPath> {
        self.outputs.as_ref()
    }

    /// What a call is about, with the looks at the disk that it takes. Decides nothing.
    pub(crate) async fn look(&self, applicant: &Applicant<'_>, cwd: &AbsPath) -> Vec<Resolved> {
        let mut accesses = Vec::new();
        for access in applicant.call.accesses(cwd) {
            accesses.push(resolved(self.system.as_ref(), access, applicant.executor, cwd).await);
        }
        accesses
    }

    /// Decides by the policy alone about what was looked at.
    pub(crate) async fn rule(
        &self,
        state: &SessionState,
        applicant: &Applicant<'_>,
        accesses: Vec<Resolved>,
    ) -> Ruling {
        // One snapshot for all of the decision.
        let now = self.settings.seen();
        let bounds = self.bounds(&now, state.mode);
        let (shelter, sandbox) = shelter(self.system.as_ref(), &bounds, &accesses, applicant.executor).await;
        let decision =
            policy::decide(&self.policy(&now, state, shelter), &self.subject(applicant, &accesses));
        let (Decision::Allow { rule } | Decision::Ask { rule, .. } | Decision::Deny { rule, .. }) = &decision;
        tracing::debug!(tool = applicant.tool, call = %applicant.id, rule, "decided");
        Ruling { decision, accesses, shelter, sandbox }
    }

    /// The system of a call that was ruled on: its commands get the sandbox that the ruling, and the question, spoke of; a walk passes
    /// over secret files; and its reads and writes go where the ruling saw them go, or fail.
    pub(crate) fn confined(&self, ruling: &Ruling) -> Arc<dyn System> {
        let system = self.pinned(&ruling.accesses, ruling.sandbox.clone());
        let confined = Confined::new(system, ruling.sandbox.clone()).with_own(self.outputs.clone());
        // Decided about as one that nothing confines: in the client's terminal nothing does.
        Arc::new(if ruling.shelter == Shelter::Delegated { confined.here_only() } else { confined })
    }

    fn pinned(&self, accesses: &[Resolved], secrets: Sandbox) -> Arc<dyn System> {
        let places = places(accesses);
        self.system.pinned(Pins { places, secrets }).unwrap_or_else(|| Arc::clone(&self.system))
    }

    /// Asks the user what the policy left open, and remembers "always". `content` is what the call would do.
    pub(crate) async fn ask(
        &self,
        ruling: &Ruling,
        applicant: &Applicant<'_>,
        content: Vec<ToolContent>,
        cancel: &CancellationToken,
    ) -> Result<Answer, StoreError> {
        let Decision::Ask { question, rule: asked_by } = &ruling.decision else { return Ok(Answer::Allowed) };
        let scope = policy::scope(&self.subject(applicant, &ruling.accesses), ruling.shelter);
        // What asks each time is not asked to be remembered.
        let remembers = policy::remembers(asked_by);
        let command = titles::only_command(ruling.accesses.iter().map(|resolved| &resolved.access));
        let title = command.and_then(titles::whole_command);
        let request = PermissionRequest {
            id: applicant.id.clone(),
            name: applicant.tool.to_owned(),
            title: title.unwrap_or_else(|| applicant.description.title.clone()),
            question: question.clone(),
            brief: command.map_or(question.clone(), |command| policy::beside_command(question, command)),
            kind: applicant.description.kind,
            locations: titles::changed_lines(&applicant.description.locations, &content),
            content,
            raw_input: applicant.arguments.clone(),
            grant_label: if remembers { policy::label(&scope) } else { String::new() },
        };
        let asked =
            SessionEvent::PermissionRequested { id: applicant.id.clone(), question: question.clone() };
        self.log.record(vec![asked]).await?;
        let (outcome, rule) = tokio::select! {
            biased;
            () = cancel.cancelled() => (PermissionOutcome::Cancelled, "cancelled"),
            outcome = self.log.ask(request.clone()) => (outcome, "user"),
            () = tokio::time::sleep(self.settings.seen().limits.permission_wait) => (PermissionOutcome::RejectOnce, "timeout"),
        };
        match outcome {
            PermissionOutcome::AllowAlways if remembers => self.grants.remember(scope, true),
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

    /// The system to read a link in a prompt through, if it may be read without asking: inside the project and not blocked.
    pub(crate) fn attaching(
        &self,
        state: &SessionState,
        path: &AbsPath,
        canonical: &AbsPath,
    ) -> Option<Arc<dyn System>> {
        let now = self.settings.seen();
        let resolved =
            Resolved::new(crate::Access::Read(path.clone()), Some(canonical.clone()), Dialect::Unknown);
        let accesses = [resolved];
        let subject =
            Subject { tool: "file_read", effect: Effect::Reads, accesses: &accesses, roots: &self.roots };
        let decision = policy::decide(&self.policy(&now, state, Shelter::Off), &subject);
        let may = policy::inside(&self.roots, &accesses[0]) && matches!(decision, Decision::Allow { .. });
        may.then(|| self.pinned(&accesses, policy::sandbox(&self.bounds(&now, state.mode))))
    }

    /// Why a function must not be called, whoever wants to, where the rules say so.
    pub(crate) fn refuses(&self, state: &SessionState, function: &str) -> Option<String> {
        let now = self.settings.seen();
        let call = crate::Access::Call { function: function.to_owned(), read_only: true };
        let accesses = [Resolved::new(call, None, Dialect::Unknown)];
        let subject =
            Subject { tool: function, effect: Effect::Reads, accesses: &accesses, roots: &self.roots };
        match policy::decide(&self.policy(&now, state, Shelter::Off), &subject) {
            Decision::Deny { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Why a file is never written, whatever the user says; `None` for all others.
    pub(crate) fn never_writes(
        &self,
        state: &SessionState,
        path: &AbsPath,
        canonical: &AbsPath,
    ) -> Option<String> {
        let now = self.settings.seen();
        // What the user takes back himself does not depend on what the model may do now.
        let state = SessionState { mode: Mode::Edit, ..state.clone() };
        let write = crate::Access::Write(path.clone());
        let accesses = [Resolved::new(write, Some(canonical.clone()), Dialect::Unknown)];
        let subject =
            Subject { tool: "file_write", effect: Effect::Writes, accesses: &accesses, roots: &self.roots };
        match policy::decide(&self.policy(&now, &state, Shelter::Off), &subject) {
            Decision::Deny { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// What a file of the project that nobody asked for must not be, to be read.
    pub(crate) fn found(&self, limit: usize) -> FoundRules {
        found::of_sandbox(policy::sandbox(&self.bounds(&self.settings.seen(), Mode::Edit)), limit)
    }

    /// Where commands run in a mode and what confines them there, in words.
    pub(crate) async fn commands_run(&self, mode: Mode) -> String {
        let sandbox = policy::sandbox(&self.bounds(&self.settings.seen(), mode));
        let support = match sandbox.level {
            SandboxLevel::Off => SandboxSupport::default(),
            _ => self.system.sandbox_support().await,
        };
        Shelter::of(&sandbox, support, self.system.routes().spawn, false).words()
    }

    /// Removes the temporary files of other sessions that were not used for long.
    pub(crate) async fn sweep(&self) {
        let sandbox = policy::sandbox(&self.bounds(&self.settings.seen(), Mode::Edit));
        self.system.sweep(&sandbox).await;
    }

    fn bounds<'a>(&'a self, now: &'a RuntimeOptions, mode: Mode) -> Bounds<'a> {
        Bounds {
            options: &now.sandbox,
            mode,
            roots: &self.roots,
            blocked_paths: &now.blocked_paths,
            rules: &now.rules,
            temp: &self.temp,
        }
    }

    fn policy<'a>(&'a self, now: &'a RuntimeOptions, state: &SessionState, shelter: Shelter) -> Policy<'a> {
        Policy {
            mode: state.mode,
            permission_mode: state.permission_mode,
            allowed_paths: &now.allowed_paths,
            outputs: self.outputs.as_ref(),
            blocked_paths: &now.blocked_paths,
            denied_tools: &now.denied_tools,
            rules: &now.rules,
            grants: &self.grants,
            own: &now.sandbox.guarded,
            shelter,
            apart: self.system.is_apart(),
        }
    }

    fn subject<'a>(&'a self, applicant: &Applicant<'a>, accesses: &'a [Resolved]) -> Subject<'a> {
        Subject { tool: applicant.tool, effect: applicant.effect, accesses, roots: &self.roots }
    }
}

/// A call that nobody makes.
pub(crate) struct Question<'a> {
    pub(crate) tool: &'a str,
    pub(crate) effect: Effect,
    pub(crate) accesses: Vec<crate::Access>,
}

/// What each rule says of a call in a new session, and what would be decided.
pub(crate) async fn explain(
    options: &RuntimeOptions,
    system: &dyn System,
    cwd: &AbsPath,
    question: Question<'_>,
) -> Vec<(&'static str, String)> {
    let in_question = Hypothesis::new(options, system, cwd, question).await;
    in_question.ask(policy::chain)
}

/// What would be decided.
pub(crate) async fn verdict(
    options: &RuntimeOptions,
    system: &dyn System,
    cwd: &AbsPath,
    question: Question<'_>,
) -> Decision {
    let in_question = Hypothesis::new(options, system, cwd, question).await;
    in_question.ask(policy::decide)
}

/// The median time of a decision, with the parsing of what is parsed and without the looks at the disk.
pub(crate) async fn decision_time(
    options: &RuntimeOptions,
    system: &dyn System,
    cwd: &AbsPath,
    question: Question<'_>,
    times: usize,
) -> Duration {
    let mut hypothesis = Hypothesis::new(options, system, cwd, question).await;
    let mut took: Vec<_> = (0..times.max(1))
        .map(|_| {
            let start = Instant::now();
            let Resolved { access, canonical, .. } = hypothesis.accesses[0].clone();
            hypothesis.accesses = vec![Resolved::new(access, canonical, hypothesis.dialect)];
            std::hint::black_box(hypothesis.ask(policy::decide));
            start.elapsed()
        })
        .collect();
    took.sort();
    took[took.len() / 2]
}

/// A call that nobody makes, in a session that nobody has.
struct Hypothesis<'a> {
    options: &'a RuntimeOptions,
    question: Question<'a>,
    roots: [AbsPath; 1],
    accesses: Vec<Resolved>,
    grants: Grants,
    shelter: Shelter,
    dialect: Dialect,
}

impl<'a> Hypothesis<'a> {
    async fn new(
        options: &'a RuntimeOptions,
        system: &dyn System,
        cwd: &AbsPath,
        question: Question<'a>,
    ) -> Self {
        let roots = [cwd.clone()];
        let mut accesses = Vec::with_capacity(question.accesses.len());
        for access in &question.accesses {
            accesses.push(resolved(system, access.clone(), None, cwd).await);
        }
        let bounds = Bounds {
            options: &options.sandbox,
            mode: options.mode,
            roots: &roots,
            blocked_paths: &options.blocked_paths,
            rules: &options.rules,
            temp: &[],
        };
        let (shelter, _) = shelter(system, &bounds, &accesses, None).await;
        let dialect = dialect(system, None, false).await;
        Self { options, question, roots, accesses, grants: Grants::default(), shelter, dialect }
    }

    fn ask<T>(&self, ask: impl FnOnce(&Policy<'_>, &Subject<'_>) -> T) -> T {
        let options = self.options;
        let policy = Policy {
            mode: options.mode,
            permission_mode: options.permission_mode,
            allowed_paths: &options.allowed_paths,
            outputs: None,
            blocked_paths: &options.blocked_paths,
            denied_tools: &options.denied_tools,
            rules: &options.rules,
            grants: &self.grants,
            own: &options.sandbox.guarded,
            shelter: self.shelter,
            apart: false,
        };
        let Question { tool, effect, .. } = self.question;
        ask(&policy, &Subject { tool, effect, accesses: &self.accesses, roots: &self.roots })
    }
}

fn places(accesses: &[Resolved]) -> Vec<(AbsPath, AbsPath)> {
    let place = |resolved: &Resolved| match &resolved.access {
        crate::Access::Read(path) | crate::Access::Write(path) => {
            Some((path.clone(), resolved.canonical.clone()?))
        }
        _ => None,
    };
    accesses.iter().filter_map(place).collect()
}

/// An access with what is looked up about it, in a session with this folder.
async fn resolved(
    system: &dyn System,
    access: crate::Access,
    executor: Option<Route>,
    folder: &AbsPath,
) -> Resolved {
    let canonical = match &access {
        // A link on another machine cannot be seen from here.
        crate::Access::Read(path) | crate::Access::Write(path) if executor.is_none() => {
            system.resolve(path).await.ok()
        }
        // The session's own folder needs no look: it is what the boundary is.
        crate::Access::Execute { cwd, .. } if executor.is_none() && cwd != folder => {
            system.resolve(cwd).await.ok()
        }
        _ => None,
    };
    let dialect = match &access {
        crate::Access::Execute { unconfined, .. } => dialect(system, executor, *unconfined).await,
        _ => Dialect::Unknown,
    };
    Resolved::new(access, canonical, dialect)
}

/// How the shell reads that a command would get. What a client starts in its terminal is the client's to say, unless
/// it is started through our launcher.
async fn dialect(system: &dyn System, executor: Option<Route>, unconfined: bool) -> Dialect {
    let at_client = executor.unwrap_or_else(|| system.routes().spawn) == Route::Client;
    let launched = || async { !unconfined && system.sandbox_support().await.in_client };
    match system.shell() {
        ShellProgram::Bash if executor.is_none() && (!at_client || launched().await) => Dialect::Bash,
        _ => Dialect::Unknown,
    }
}

/// Where the commands of a call would run, and what they would be confined by.
async fn shelter(
    system: &dyn System,
    bounds: &Bounds<'_>,
    accesses: &[Resolved],
    executor: Option<Route>,
) -> (Shelter, Sandbox) {
    let lifted = accesses.iter().find_map(|resolved| match resolved.access {
        crate::Access::Execute { unconfined, .. } => Some(unconfined),
        _ => None,
    });
    let Some(lifted) = lifted else {
        // Nothing is run; which files are secret still holds for a search.
        let sandbox = policy::sandbox(bounds);
        return (Shelter::Off, Sandbox { level: SandboxLevel::Off, ..sandbox });
    };
    // With links resolved, as whoever confines a command needs them.
    let mut canonical = Vec::with_capacity(bounds.roots.len());
    for root in bounds.roots {
        canonical.push(system.resolve(root).await.unwrap_or_else(|_| root.clone()));
    }
    let mut sandbox = policy::sandbox(&Bounds { roots: &canonical, ..*bounds });
    let support = match sandbox.level {
        SandboxLevel::Off => SandboxSupport::default(),
        _ => system.sandbox_support().await,
    };
    // A tool that names who runs its commands does not go through the launcher.
    let support = SandboxSupport { in_client: support.in_client && executor.is_none(), ..support };
    let shelter = Shelter::of(&sandbox, support, executor.unwrap_or_else(|| system.routes().spawn), lifted);
    if !support.applies() {
        sandbox.level = SandboxLevel::Off;
    }
    (shelter, sandbox)
}
