//! What the status line and the panels show of a session, as its events add up to it.

use crate::driver::reply::OpenedSession;
use agent::{
    Effort, Goal, LeaseHolder, Mode, PermissionMode, Phase, PlanEntry, SessionEvent, SessionId, ShellUpdate,
    SlashCommand, SubagentState, SwarmEvent, TurnEnd, UsageUpdate, apply_to_goal, plan_of,
};
use std::time::Duration;
use system::AbsPath;

/// The session that is shown, apart from its transcript.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionView {
    /// Its id.
    pub id: SessionId,
    /// Its directory.
    pub cwd: AbsPath,
    /// What git has checked out there: a branch, or a commit in parentheses.
    pub branch: Option<String>,
    /// Its other directories.
    additional_directories: Vec<AbsPath>,
    /// What can be chosen for it.
    pub controls: Controls,
    /// Its title, once there is one.
    pub title: Option<String>,
    /// The tokens and cost so far.
    pub usage: Option<UsageUpdate>,
    /// What it works on.
    pub work: Work,
    /// Its slash commands.
    pub commands: Vec<SlashCommand>,
    /// The running turn.
    pub turn: Option<RunningTurn>,
    /// Whether the last request to the model failed and can be made again.
    failed: bool,
    /// Whether it can only be read, and why.
    pub held: Option<Held>,
    /// Whether the last turn was answered without a model.
    local: bool,
}

/// What a session works on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Work {
    /// Its tasks, as a plan.
    pub plan: Vec<PlanEntry>,
    /// Its subagents.
    pub agents: Vec<SubagentState>,
    /// Its goal.
    pub goal: Option<Goal>,
    /// Its background commands that still run.
    pub shells: Vec<ShellUpdate>,
}

/// What can be chosen for a session.
#[derive(Debug, Clone, PartialEq)]
pub struct Controls {
    /// The agent mode.
    pub mode: Mode,
    /// The permission mode.
    pub permission_mode: PermissionMode,
    /// The model's full id.
    pub model: String,
    /// The reasoning effort.
    pub effort: Option<Effort>,
}

/// Why a session can only be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// Another process holds it.
    By(LeaseHolder),
    /// The process that held it has let it go.
    NoMore,
}

/// A turn that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunningTurn {
    /// When this interface saw it begin.
    pub since: Duration,
    /// What it does.
    pub phase: Phase,
}

impl SessionView {
    /// Whether the last request to the model failed and can be made again.
    pub fn has_failed(&self) -> bool {
        self.failed
    }

    /// Creates the view of a session that was opened at `now`.
    pub fn new(opened: OpenedSession, now: Duration) -> Self {
        let OpenedSession { id, cwd, state, commands, held, new: _ } = opened;
        let turn = state.busy.then_some(RunningTurn { since: now, phase: Phase::Thinking });
        Self {
            id,
            cwd,
            branch: state.branch,
            additional_directories: state.additional_directories,
            controls: Controls {
                mode: state.mode,
                permission_mode: state.permission_mode,
                model: state.model,
                effort: state.effort,
            },
            title: state.title,
            usage: None,
            work: Work::default(),
            commands,
            turn,
            failed: false,
            held: held.map(Held::By),
            local: false,
        }
    }

    /// Applies an event; `stored` if it is read from the store, where nothing runs any more.
    pub fn apply(&mut self, event: &SessionEvent, stored: bool, now: Duration) {
        // What another process does is read from the store.
        let stored = stored || self.held.is_some();
        apply_to_goal(&mut self.work.goal, event);
        match event {
            SessionEvent::TurnStarted { .. } => {
                self.local = false;
                if !stored {
                    self.turn = Some(RunningTurn { since: now, phase: Phase::Thinking });
                }
            }
            SessionEvent::ModelResponse(response) => self.local = response.model.is_empty(),
            SessionEvent::TurnEnded { end, .. } => {
                self.turn = None;
                match end {
                    TurnEnd::Failed(_) => self.failed = true,
                    TurnEnd::Stopped(_) => self.failed &= self.local,
                }
            }
            SessionEvent::Phase(phase) => {
                if let Some(turn) = &mut self.turn {
                    turn.phase = *phase;
                }
            }
            SessionEvent::ModeChanged(mode) => self.controls.mode = *mode,
            SessionEvent::PermissionModeChanged(mode) => self.controls.permission_mode = *mode,
            SessionEvent::ModelChanged(model) => self.controls.model.clone_from(model),
            SessionEvent::EffortChanged(effort) => self.controls.effort = *effort,
            SessionEvent::TitleChanged(title) => self.title = Some(title.clone()),
            SessionEvent::BranchChanged(branch) => self.branch.clone_from(branch),
            SessionEvent::Usage(usage) => self.usage = Some(usage.clone()),
            SessionEvent::Plan(plan) => self.work.plan.clone_from(plan),
            SessionEvent::Tasks(tasks) => self.work.plan = plan_of(tasks),
            SessionEvent::Commands(commands) => self.commands.clone_from(commands),
            SessionEvent::Shell(shell) => self.shell(shell),
            SessionEvent::Subagent(state) => self.agent(state),
            SessionEvent::Swarm(SwarmEvent::State(swarm)) => self.work.agents.clone_from(&swarm.agents),
            _ => {}
        }
    }

    /// Returns its directories, the own one first.
    pub fn directories(&self) -> impl Iterator<Item = AbsPath> {
        std::iter::once(&self.cwd).chain(&self.additional_directories).cloned()
    }

    /// Returns how full the model's context is, from 0 to 100, once it is known.
    pub fn context_percent(&self) -> Option<u64> {
        let usage = self.usage.as_ref().filter(|usage| usage.context_size > 0)?;
        Some((usage.context_used.saturating_mul(100) / usage.context_size).min(100))
    }

    fn shell(&mut self, update: &ShellUpdate) {
        self.work.shells.retain(|shell| shell.id != update.id);
        if update.end.is_none() {
            self.work.shells.push(update.clone());
        }
    }

    fn agent(&mut self, state: &SubagentState) {
        match self.work.agents.iter_mut().find(|agent| agent.id == state.id) {
            Some(agent) => agent.clone_from(state),
            None => self.work.agents.push(state.clone()),
        }
    }
}
