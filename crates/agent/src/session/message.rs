//! The messages of a session's task, and its queued prompts.

use crate::{
    Briefing, Content, Effort, Goal, GoalChange, GoalError, MessageId, Mode, PermissionMode, PromptId,
    PromptOutcome, RewindError, RewindReport, RewindTarget, SessionEvent, Severity, StopReason, StoreError,
    TurnEnd, TurnError, event::PROCESS_ENDED, history::prompts::SettledPrompt, log::SessionLog,
};
use system::AbsPath;
use tokio::sync::oneshot;
use tracing::Span;

/// A message that a handle sends.
pub(crate) enum Message {
    Prompt(Queued),
    /// Like a prompt, but added to the running turn if there is one.
    Steer(Queued),
    Goal(GoalRequest),
    Rewind(RewindTarget, oneshot::Sender<Result<RewindReport, RewindError>>),
    Cancel,
    /// Withdraws the prompt with this number.
    Withdraw(u64),
    SetMode(Mode, oneshot::Sender<Result<(), StoreError>>),
    SetPermissionMode(PermissionMode, oneshot::Sender<Result<(), StoreError>>),
    SetModel(String, oneshot::Sender<Result<(), StoreError>>),
    SetEffort(Option<Effort>, oneshot::Sender<Result<(), StoreError>>),
    SetTitle(String, oneshot::Sender<Result<(), StoreError>>),
    SetDirectories(Vec<AbsPath>, oneshot::Sender<Result<(), StoreError>>),
    /// The settings may have changed.
    Settings,
    Close(oneshot::Sender<()>),
    /// Ends the session once its turn has stopped before its next request.
    Suspend(oneshot::Sender<()>),
    /// Goes on with the turn that another process suspended. The model is sent the message first.
    GoOn(Option<Briefing>),
}

/// A prompt waiting for its turn.
pub(crate) struct Queued {
    /// Identifies the prompt to its handle.
    pub(crate) number: u64,
    pub(crate) content: Vec<Content>,
    /// Whether a person typed it as a command line of their own.
    pub(crate) is_typed: bool,
    /// The id that the client gave it.
    pub(crate) id: Option<PromptId>,
    /// Receives the id of the prompt's message once that is recorded.
    pub(crate) recorded: oneshot::Sender<MessageId>,
    pub(crate) reply: oneshot::Sender<Result<PromptOutcome, TurnError>>,
    /// The span in which it was sent.
    pub(crate) span: Span,
}

impl Queued {
    pub(crate) fn settle(self, result: Result<PromptOutcome, TurnError>) {
        // The receiver may have been dropped.
        let _ = self.reply.send(result);
    }

    /// Settles a prompt that was sent again after its turn.
    pub(crate) fn repeated(self, settled: &SettledPrompt) {
        let Self { recorded, reply, .. } = self;
        let result = result(settled);
        // The receivers may have been dropped.
        if let (Ok(_), Some(message)) = (&result, &settled.message) {
            let _ = recorded.send(message.clone());
        }
        let _ = reply.send(result);
    }

    /// Settles a prompt that became part of the running turn's conversation.
    pub(crate) fn inserted(self, message: MessageId) {
        let Self { recorded, reply, .. } = self;
        // The receivers may have been dropped.
        let _ = recorded.send(message);
        let _ = reply.send(Ok(PromptOutcome::without_turn(StopReason::EndTurn)));
    }

    /// Settles a prompt that took effect without a turn of its own.
    pub(crate) fn without_turn(self) {
        self.settle(Ok(PromptOutcome::without_turn(StopReason::EndTurn)));
    }

    /// Settles a prompt for which the session's next owner is to be asked.
    pub(crate) fn suspended(self) {
        self.settle(Ok(PromptOutcome::without_turn(StopReason::Suspended)));
    }

    pub(crate) fn cancelled(self) {
        self.settle(Ok(PromptOutcome::cancelled()));
    }
}

/// Returns what a prompt is answered with that is sent again after its turn.
fn result(settled: &SettledPrompt) -> Result<PromptOutcome, TurnError> {
    let SettledPrompt { end, usage, total, requests, .. } = settled;
    match end {
        TurnEnd::Stopped(stop_reason) => Ok(PromptOutcome {
            stop_reason: *stop_reason,
            usage: *usage,
            total: *total,
            requests: *requests,
            command: None,
        }),
        TurnEnd::Failed(why) if why == PROCESS_ENDED => Err(TurnError::OwnerLost),
        TurnEnd::Failed(why) => Err(TurnError::Earlier(why.clone())),
    }
}

/// A request to change the goal.
pub(crate) struct GoalRequest {
    pub(crate) change: GoalChange,
    reply: Reply,
}

/// Where the result goes.
enum Reply {
    Program(oneshot::Sender<Result<Option<Goal>, GoalError>>),
    /// A prompt that is a slash command.
    Prompt(Queued),
}

impl GoalRequest {
    /// Creates a program's request.
    pub(crate) fn of_program(
        change: GoalChange,
        reply: oneshot::Sender<Result<Option<Goal>, GoalError>>,
    ) -> Self {
        Self { change, reply: Reply::Program(reply) }
    }

    /// Creates the request of a prompt that is a slash command.
    pub(crate) fn of_prompt(change: GoalChange, prompt: Queued) -> Self {
        Self { change, reply: Reply::Prompt(prompt) }
    }

    /// Answers the request. The result for a prompt is shown as a notice.
    pub(crate) fn settle(self, log: &SessionLog, result: Result<Option<Goal>, GoalError>) {
        match self.reply {
            // The receiver may have been dropped.
            Reply::Program(reply) => drop(reply.send(result)),
            Reply::Prompt(prompt) => {
                let (severity, title) = match &result {
                    Ok(Some(goal)) => (Severity::Info, format!("Goal {}", goal.status.id())),
                    Ok(None) => (Severity::Info, "Goal removed".to_owned()),
                    Err(error) => (Severity::Warning, format!("The goal was not changed: {error}")),
                };
                log.notify(SessionEvent::Notice { severity, title, description: None });
                prompt.without_turn();
            }
        }
    }
}
