//! The turn loop: takes a prompt, calls the model, runs its tool calls, and repeats until an answer
//! has no calls.
//!
//! `run` is the outermost function: it records the end of the turn on every path. Within it the
//! prompt is admitted (`admit`) and rounds are run (`round`): a round builds a request (`request`),
//! calls the model (`answer`) and runs the calls of its answer (`calls`).

mod admit;
mod again;
mod answer;
mod answer_items;
mod answer_parts;
mod calls;
mod command;
mod empty_answer;
mod goal;
mod hosted_search;
mod loops;
mod memory_commands;
mod overviews;
mod own_command;
mod request;
mod round;
mod shorten;
mod span;
mod stuck;
mod text_calls;
mod usage;

pub(crate) use admit::TurnInput;

use crate::{
    Briefing, CommandOutcome, Content, HookEvent, MemoryId, Phase, PromptOutcome, SessionEvent, Severity,
    SkillSummary, StopReason, StoreError, TurnEnd, TurnError, TurnId, Usage,
    prompt::ProjectSnapshot,
    session::{Session, controls::Controls},
    sources::SourceNotice,
};
use admit::Admitted;
use goal::GoalProgress;
use loops::Loops;
use serde_json::json;
use std::mem::take;
use stuck::Stuck;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

/// Runs the turn of a prompt and records how it ended, in a span of its own.
pub(crate) async fn run(
    session: &mut Session,
    controls: &Controls,
    prompt: TurnInput,
    cancel: &CancellationToken,
) -> Result<PromptOutcome, TurnError> {
    let span = span::begin(session.id(), session.is_subagent(), &prompt.span);
    let end = run_recorded(session, controls, prompt, cancel).instrument(span.clone()).await;
    span::end(&span, &end);
    end
}

async fn run_recorded(
    session: &mut Session,
    controls: &Controls,
    prompt: TurnInput,
    cancel: &CancellationToken,
) -> Result<PromptOutcome, TurnError> {
    if !prompt.goes_on
        && prompt.content.iter().all(|item| matches!(item, Content::Text(text) if text.trim().is_empty()))
    {
        return Err(TurnError::BadPrompt(
            "the prompt is empty; send text, an image or a resource".to_owned(),
        ));
    }
    let id = session.conversation().next_turn();
    let subagents_before = session.conversation().subagent_usage();
    let mut turn = Turn::new(session, controls, cancel);
    let end = turn.attempt(&id, prompt).await;
    let end = turn.session.stored().await.map_err(TurnError::from).and(end);
    if let Some(network) = turn.session.gate().network() {
        network.end_turn().await;
    }
    turn.record_surfaced().await;
    let end = match end {
        Ok(StopReason::Cancelled) if turn.controls.suspension().is_cut() => Ok(StopReason::Suspended),
        Ok(StopReason::Suspended) => Ok(StopReason::Suspended),
        Ok(stop) => turn.finish_stop(stop).await,
        failed => failed,
    };
    if let Err(error) = &end {
        let interrupted = turn.interrupted_goal(error);
        turn.progress.last.extend(interrupted);
    }
    let recorded = match &end {
        // The store has failed, so the end of the turn cannot be stored either.
        Err(TurnError::Store(error)) => Err(error.clone()),
        Ok(stop) => turn.record_end(id, TurnEnd::Stopped(*stop)).await,
        Err(error) => turn.record_end(id, TurnEnd::Failed(error.to_string())).await,
    };
    if let Err(error) = recorded {
        turn.session.notify(SessionEvent::Phase(Phase::Idle));
        return Err(error.into());
    }
    let Progress { mut usage, requests, command, .. } = turn.progress;
    let conversation = turn.session.conversation();
    let (mut total, subagents) = (conversation.usage(), conversation.subagent_usage());
    total += subagents;
    usage += subagents.since(subagents_before);
    end.map(|stop_reason| PromptOutcome { stop_reason, usage, total, requests, command })
}

/// The state of a running turn.
struct Turn<'a> {
    session: &'a mut Session,
    controls: &'a Controls,
    cancel: &'a CancellationToken,
    progress: Progress,
    /// Snapshot of the project around the session's directory, taken when the turn began.
    snapshot: ProjectSnapshot,
    /// The skills that models may load.
    skills: Vec<SkillSummary>,
    loops: Loops,
    /// Detects that a subagent is stuck; `None` in other sessions.
    stuck: Option<Stuck>,
}

/// The counters and flags of a turn.
#[derive(Default)]
struct Progress {
    usage: Usage,
    requests: u32,
    /// Size of the model's context in tokens, as last reported. It only grows, unless something was
    /// left out of the history.
    context: u64,
    /// Whether the provider has rejected a request because the conversation is too long.
    overflowed: bool,
    /// Whether the model has already given an empty answer in this turn and was called again.
    was_silent: bool,
    /// The memories that were sent to the model.
    surfaced: Vec<MemoryId>,
    /// A message to the model, added to the next request.
    nudge: Option<Briefing>,
    goal: GoalProgress,
    /// How the prompt ended if no model was asked.
    command: Option<CommandOutcome>,
    /// Events stored together with the end of the turn, so that both take one flush to disk.
    last: Vec<SessionEvent>,
}

impl<'a> Turn<'a> {
    fn new(session: &'a mut Session, controls: &'a Controls, cancel: &'a CancellationToken) -> Self {
        let stuck = session.is_subagent().then(Stuck::default);
        Self {
            session,
            stuck,
            controls,
            cancel,
            progress: Progress::default(),
            snapshot: ProjectSnapshot::default(),
            skills: Vec::new(),
            loops: Loops::default(),
        }
    }
}

impl Turn<'_> {
    async fn attempt(&mut self, turn: &TurnId, prompt: TurnInput) -> Result<StopReason, TurnError> {
        let prompt = match self.admit(turn, prompt).await? {
            Admitted::Asks(prompt) => prompt,
            Admitted::Answered(stop) => return Ok(stop),
        };
        loop {
            let ended = match self.round(&prompt).await {
                Err(error) => {
                    self.fail_over(error).await?;
                    continue;
                }
                Ok(Some(StopReason::Suspended)) => return Ok(StopReason::Suspended),
                Ok(ended) => ended,
            };
            if let Some(stop) = self.pursue(ended).await? {
                return Ok(stop);
            }
        }
    }

    /// Records when memories were sent, at the end of the turn so that no answer waits for it.
    async fn record_surfaced(&mut self) {
        let ids = take(&mut self.progress.surfaced);
        if let Some(memories) = self.session.recall().memories.filter(|_| !ids.is_empty()) {
            memories.record_surfaced(ids).await;
        }
    }

    /// Runs the Stop hooks. They may be slow, so the answer is stored first.
    async fn finish_stop(&mut self, stop: StopReason) -> Result<StopReason, TurnError> {
        if self.session.reload_settings().await.hooks.has(HookEvent::Stop) {
            self.record_last().await?;
            self.run_stop_hooks(stop).await;
        }
        Ok(stop)
    }

    /// Runs the Stop hooks and shows their output as notices.
    async fn run_stop_hooks(&self, stop: StopReason) {
        let about = || json!({ "stop_reason": stop.id() });
        let hooks = self.session.settings().hooks.clone();
        let said = hooks.run(HookEvent::Stop, &self.session.programs(), None, about, self.cancel).await;
        for title in said.notes.into_iter().chain(said.denial) {
            self.session.notify(SessionEvent::Notice { severity: Severity::Info, title, description: None });
        }
    }

    /// Records the events kept back for the end of the turn.
    async fn record_last(&mut self) -> Result<(), StoreError> {
        let last = take(&mut self.progress.last);
        self.session.record(last).await
    }

    /// Records the remaining events and the end of the turn.
    async fn record_end(&mut self, turn: TurnId, end: TurnEnd) -> Result<(), StoreError> {
        self.progress.last.extend([SessionEvent::Phase(Phase::Idle), SessionEvent::TurnEnded { turn, end }]);
        self.record_last().await
    }

    /// Emits notices about tool sources. They belong to the turn, so they follow its first event,
    /// which is emitted once it is stored.
    async fn notify_notices(&mut self, notices: Vec<SourceNotice>) -> Result<(), StoreError> {
        if !notices.is_empty() {
            self.session.stored().await?;
        }
        for SourceNotice { severity, title, description } in notices {
            self.session.notify(SessionEvent::Notice { severity, title, description });
        }
        Ok(())
    }
}
