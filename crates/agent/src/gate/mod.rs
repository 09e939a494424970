//! The gate: the only place that decides whether a call may run.

pub(crate) mod direct_caller;
pub(crate) mod explain;
mod hypothesis;
mod lookup;
pub(crate) mod network;
mod open_changes;
mod roots;
mod ruling;
mod running;

pub(crate) use ruling::{Answer, Ruling, SubmittedCall};

use crate::{
    Access, Description, Effect, Mode, PermissionOutcome, PermissionRequest, ProjectPrograms,
    ReadableDirectories, Remedy, RuntimeOptions, SessionEvent, SessionId, SessionState, StoreError,
    ToolContent,
    log::SessionLog,
    policy::{
        self, Bounds, CommandConfinement, Decision, Dialect, Grants, OwnFiles, Policy, Resolved, Subject,
        found,
    },
    settings::LiveSettings,
    tool::titles,
};
use lookup::{confinement, places, resolved, uses_temp};
use network::{ConnectionsOf, Place, SessionNetwork, SessionServers};
use roots::Roots;
use std::sync::Arc;
use system::{
    AbsPath, Confined, FoundRules, Pins, Route, Sandbox, SandboxLevel, SandboxSupport, System, View,
};
use tokio_util::sync::CancellationToken;

/// Returns the place in which programs run that a session with these settings and directories
/// starts for its project.
pub(crate) fn project_programs(
    options: &RuntimeOptions,
    session: &SessionId,
    cwd: &AbsPath,
    additional_directories: &[AbsPath],
) -> ProjectPrograms {
    let roots: Vec<_> = std::iter::once(cwd).chain(additional_directories).cloned().collect();
    let own_files = options.sandbox.own_files_of(session);
    let sandbox = policy::sandbox(&options.bounds(Mode::Edit, &roots, own_files.as_ref()));
    ProjectPrograms::new(cwd.clone(), sandbox)
}

/// The gate of a session.
pub(crate) struct Gate {
    system: Arc<dyn System>,
    log: SessionLog,
    grants: Arc<Grants>,
    /// The session's directory and the additional directories.
    roots: Roots,
    /// The settings that allow and deny. Callers refresh them immediately before they use the gate.
    settings: Arc<LiveSettings>,
    /// The directories for the files of the session's commands.
    own_files: Option<OwnFiles>,
    /// The directory that holds the session's long results in full; reading it needs no approval.
    outputs: Option<AbsPath>,
    /// Further directories whose reading needs no approval.
    readable: ReadableDirectories,
    /// The network of commands, if it is served.
    network: Option<SessionNetwork>,
}

impl Gate {
    /// Creates the gate of a session that acts through a system and works in a directory and
    /// additional ones.
    pub(crate) fn new(
        session: &SessionId,
        system: Arc<dyn System>,
        log: SessionLog,
        grants: Arc<Grants>,
        settings: Arc<LiveSettings>,
        cwd: &AbsPath,
        additional_directories: Vec<AbsPath>,
    ) -> Self {
        let readable = ReadableDirectories::default();
        let sandbox = &settings.seen().sandbox;
        let (own_files, outputs) = (sandbox.own_files_of(session), sandbox.outputs_of(session));
        let roots = Roots::of(cwd, additional_directories);
        Self { system, log, grants, roots, settings, own_files, outputs, readable, network: None }
    }

    /// Lets calls read further directories without approval.
    pub(crate) fn with_readable(self, readable: ReadableDirectories) -> Self {
        Self { readable, ..self }
    }

    /// Decides about the connections of the session's commands, and records those of the servers of
    /// its project.
    pub(crate) fn with_network(
        mut self,
        connections: Option<&ConnectionsOf>,
        servers: Option<Arc<SessionServers>>,
    ) -> Self {
        self.network = connections.map(|connections| SessionNetwork::new(connections, self.place(), servers));
        self
    }

    fn place(&self) -> Place {
        Place { system: Arc::clone(&self.system), roots: self.roots.spelled().to_vec() }
    }

    /// Notes where the session's commands run.
    fn note_place(&self) {
        if let Some(network) = &self.network {
            network.moved(self.place());
        }
    }

    /// Returns the network of commands, if it is served.
    pub(crate) fn network(&self) -> Option<&SessionNetwork> {
        self.network.as_ref()
    }

    /// Bounds the session to its directory and additional ones, from the next decision on. A
    /// directory that it has worked in before leads where it led then.
    pub(crate) async fn work_in(&mut self, cwd: &AbsPath, additional_directories: Vec<AbsPath>) {
        self.roots.change(self.system.as_ref(), cwd, additional_directories).await;
        self.note_place();
    }

    /// Returns the additional directories that the session may work in.
    pub(crate) fn additional_directories(&self) -> &[AbsPath] {
        &self.roots.spelled()[1..]
    }

    /// Makes the session act through another system. The caller must forget the grants, because
    /// they were given for the old system.
    pub(crate) fn move_to(&mut self, system: Arc<dyn System>) {
        self.roots.forget();
        self.system = system;
        self.note_place();
    }

    /// Returns the session's system, for operations that no decision covers yet.
    pub(crate) fn system(&self) -> &Arc<dyn System> {
        &self.system
    }

    pub(crate) fn settings(&self) -> &LiveSettings {
        &self.settings
    }

    /// Returns the directory that holds long results in full.
    pub(crate) fn outputs(&self) -> Option<&AbsPath> {
        self.outputs.as_ref()
    }

    /// Resolves a call's accesses, with the disk lookups that this takes. Decides nothing.
    pub(crate) async fn resolve_accesses(
        &self,
        submitted: &SubmittedCall<'_>,
        cwd: &AbsPath,
    ) -> Vec<Resolved> {
        let declared = submitted.call.accesses(cwd);
        let temp_used = submitted.executor.is_none() && declared.iter().any(uses_temp);
        let mut view = match temp_used && self.sees_own_temp().await {
            true => policy::sandbox(&self.bounds(&self.settings.seen(), Mode::Edit)).view,
            false => View::default(),
        };
        view.roots = self.roots.all().to_vec();
        let mut accesses = Vec::with_capacity(declared.len());
        for access in declared {
            accesses.push(resolved(self.system.as_ref(), access, submitted.executor, cwd, &view).await);
        }
        accesses
    }

    /// Returns whether the session's commands see its own temporary files in place of the shared
    /// ones. Creates the directory for them.
    async fn sees_own_temp(&self) -> bool {
        let Some(own) = &self.own_files else { return false };
        if self.settings.seen().sandbox.level == SandboxLevel::Off {
            return false;
        }
        let support = self.system.sandbox_support().await;
        if !support.holds() || (self.system.routes().spawn == Route::Client && !support.in_client) {
            return false;
        }
        let created = self.system.create_own_directory(&own.temp).await;
        if let Err(error) = &created {
            tracing::warn!(%error, "the directory for temporary files cannot be created");
        }
        created.is_ok()
    }

    /// Decides about resolved accesses by the policy alone, without asking the user.
    pub(crate) async fn decide(
        &self,
        state: &SessionState,
        submitted: &SubmittedCall<'_>,
        accesses: Vec<Resolved>,
    ) -> Ruling {
        // One snapshot of the settings for the whole decision.
        let now = self.settings.seen();
        let bounds = self.bounds(&now, state.mode);
        let (confinement, mut sandbox) =
            confinement(self.system.as_ref(), &bounds, &accesses, submitted.executor).await;
        let temp_used =
            submitted.executor.is_none() && accesses.iter().any(|resolved| uses_temp(&resolved.access));
        if !(temp_used && self.sees_own_temp().await) {
            sandbox.view.temp = None;
        }
        let mut policy = self.policy(&now, state, confinement);
        policy.temp = sandbox.view.temp.clone();
        if submitted.executor == Some(Route::Client) {
            // The folder is on this machine, the paths of such a call on the editor's.
            policy.settings.folder = None;
        }
        let subject = self.subject(submitted, &accesses);
        let decision = match submitted.by_user {
            true => policy::decide_for_user(&policy, &subject),
            false => policy::decide(&policy, &subject),
        };
        let remedy = match &decision {
            Decision::Ask { .. } => policy::remedy(&policy, &subject),
            _ => Remedy::default(),
        };
        let (Decision::Allow { rule } | Decision::Ask { rule, .. } | Decision::Deny { rule, .. }) = &decision;
        tracing::debug!(tool = submitted.tool, call = %submitted.id, rule, "decided");
        Ruling { decision, remedy, accesses, confinement, sandbox }
    }

    /// Returns the system for a call that was ruled on.
    ///
    /// Its commands get the sandbox that the ruling and the question named, a walk skips secret
    /// files, and reads and writes fail unless their paths still resolve as they did for the
    /// ruling.
    pub(crate) fn confined(&self, ruling: &Ruling) -> Arc<dyn System> {
        let system = self.pinned(&ruling.accesses, ruling.sandbox.clone());
        let confined = Confined::new(system, ruling.sandbox.clone()).with_own_files(self.outputs.clone());
        // The decision assumed no confinement, and the client's terminal provides none.
        Arc::new(if ruling.confinement == CommandConfinement::Delegated {
            confined.local_only()
        } else {
            confined
        })
    }

    fn pinned(&self, accesses: &[Resolved], secrets: Sandbox) -> Arc<dyn System> {
        let places = places(accesses, &secrets.view);
        self.system.pinned(Pins { places, secrets }).unwrap_or_else(|| Arc::clone(&self.system))
    }

    /// Asks the user about what the policy left open, and remembers "always". `content` shows what
    /// the call would do.
    ///
    /// # Errors
    ///
    /// Fails if the store does not record the question or its answer.
    pub(crate) async fn ask(
        &self,
        ruling: &Ruling,
        submitted: &SubmittedCall<'_>,
        content: Vec<ToolContent>,
        cancel: &CancellationToken,
    ) -> Result<Answer, StoreError> {
        let Decision::Ask { question, rule: asked_by } = &ruling.decision else { return Ok(Answer::Allowed) };
        let scope = policy::scope(&self.subject(submitted, &ruling.accesses), ruling.confinement);
        // A rule that asks each time offers no "always".
        let remembers = policy::remembers(asked_by) && policy::may_be_allowed(&scope);
        let command = titles::only_command(ruling.accesses.iter().map(|resolved| &resolved.access));
        let title = command.and_then(titles::whole_command);
        let request = PermissionRequest {
            id: submitted.id.clone(),
            name: submitted.tool.to_owned(),
            description: Description {
                title: title.unwrap_or_else(|| submitted.description.title.clone()),
                kind: submitted.description.kind,
                locations: titles::changed_lines(&submitted.description.locations, &content),
            },
            question: question.clone(),
            brief: command.map_or(question.clone(), |command| policy::beside_command(question, command)),
            place: policy::place(
                &self.subject(submitted, &ruling.accesses),
                ruling.confinement,
                self.system.editor_is_remote(),
            ),
            content,
            raw_input: submitted.arguments.clone(),
            grant_label: if remembers { policy::label(&scope) } else { String::new() },
            remedy: ruling.remedy.clone(),
        };
        let asked =
            SessionEvent::PermissionRequested { id: submitted.id.clone(), question: question.clone() };
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
            SessionEvent::PermissionResolved { id: submitted.id.clone(), outcome, rule: rule.to_owned() };
        self.log.record(vec![resolved]).await?;
        Ok(match outcome {
            _ if outcome.allows() => Answer::Allowed,
            PermissionOutcome::Cancelled => Answer::Cancelled,
            _ => Answer::Refused(self.log.client().rejection(&request).unwrap_or_else(|| {
                format!("User denied permission for '{}'. Try a different approach.", submitted.tool)
            })),
        })
    }

    /// Returns the system through which a link in a prompt is read, if it may be read without
    /// approval: it must be inside the project and not blocked.
    pub(crate) fn attaching(
        &self,
        state: &SessionState,
        path: &AbsPath,
        canonical: &AbsPath,
    ) -> Option<Arc<dyn System>> {
        let now = self.settings.seen();
        let resolved = Resolved::new(Access::Read(path.clone()), Some(canonical.clone()), Dialect::Unknown);
        let accesses = [resolved];
        let subject = Subject {
            tool: "file_read",
            effect: Effect::Reads,
            accesses: &accesses,
            roots: self.roots.all(),
        };
        let decision = policy::decide(&self.policy(&now, state, CommandConfinement::Off), &subject);
        let may =
            policy::inside(self.roots.all(), &accesses[0]) && matches!(decision, Decision::Allow { .. });
        may.then(|| self.pinned(&accesses, policy::sandbox(&self.bounds(&now, state.mode))))
    }

    /// Returns why the rules deny a function to every caller, if they do.
    pub(crate) fn refuses(&self, state: &SessionState, function: &str) -> Option<String> {
        let now = self.settings.seen();
        let call = Access::Call { function: function.to_owned(), read_only: true };
        let accesses = [Resolved::new(call, None, Dialect::Unknown)];
        let subject =
            Subject { tool: function, effect: Effect::Reads, accesses: &accesses, roots: self.roots.all() };
        match policy::decide(&self.policy(&now, state, CommandConfinement::Off), &subject) {
            Decision::Deny { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Returns why a file is never written, even with the user's approval; `None` for all other
    /// files.
    pub(crate) fn never_writes(
        &self,
        state: &SessionState,
        path: &AbsPath,
        canonical: &AbsPath,
    ) -> Option<String> {
        let now = self.settings.seen();
        // A rewind by the user does not depend on the mode that limits the model.
        let state = SessionState { mode: Mode::Edit, ..state.clone() };
        let write = Access::Write(path.clone());
        let accesses = [Resolved::new(write, Some(canonical.clone()), Dialect::Unknown)];
        let subject = Subject {
            tool: "file_write",
            effect: Effect::Writes,
            accesses: &accesses,
            roots: self.roots.all(),
        };
        match policy::decide(&self.policy(&now, &state, CommandConfinement::Off), &subject) {
            Decision::Deny { reason, .. } => Some(reason),
            _ => None,
        }
    }

    /// Returns the rules that a project file must satisfy to be read without having been requested.
    pub(crate) fn found(&self, limit: usize) -> FoundRules {
        found::of_sandbox(policy::sandbox(&self.bounds(&self.settings.seen(), Mode::Edit)), limit)
    }

    /// Describes where commands run in a mode and what confines them there.
    pub(crate) async fn commands_run(&self, mode: Mode) -> String {
        let sandbox = policy::sandbox(&self.bounds(&self.settings.seen(), mode));
        let support = match sandbox.level {
            SandboxLevel::Off => SandboxSupport::default(),
            _ => self.system.sandbox_support().await,
        };
        CommandConfinement::of(&sandbox, support, self.system.routes().spawn, false).describe()
    }

    /// Removes temporary files of other sessions that have been unused for long.
    pub(crate) async fn sweep(&self) {
        let sandbox = policy::sandbox(&self.bounds(&self.settings.seen(), Mode::Edit));
        self.system.sweep(&sandbox).await;
    }

    fn bounds<'a>(&'a self, now: &'a RuntimeOptions, mode: Mode) -> Bounds<'a> {
        now.bounds(mode, self.roots.spelled(), self.own_files.as_ref())
    }

    fn policy<'a>(
        &'a self,
        now: &'a RuntimeOptions,
        state: &SessionState,
        confinement: CommandConfinement,
    ) -> Policy<'a> {
        Policy {
            mode: state.mode,
            permission_mode: state.permission_mode,
            settings: now.policy(),
            readable: self
                .outputs
                .iter()
                .chain(&now.sandbox.files.readable)
                .cloned()
                .chain(self.readable.all())
                .collect(),
            temp: None,
            grants: &self.grants,
            confinement,
            apart: self.system.editor_is_remote(),
        }
    }

    fn subject<'a>(&'a self, submitted: &SubmittedCall<'a>, accesses: &'a [Resolved]) -> Subject<'a> {
        Subject { tool: submitted.tool, effect: submitted.effect, accesses, roots: self.roots.all() }
    }
}
