//! The messages of a session's task, and its queued prompts.

use crate::{
    Content, Effort, MessageId, Mode, PermissionMode, PromptOutcome, RewindError, RewindReport, RewindTarget,
    StopReason, StoreError, TurnError,
};
use system::AbsPath;
use tokio::sync::oneshot;

/// A message that a handle sends.
pub(crate) enum Message {
    Prompt(Queued),
    /// Like a prompt, but added to the running turn if there is one.
    Steer(Queued),
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
}

/// A prompt waiting for its turn.
pub(crate) struct Queued {
    /// Identifies the prompt to its handle.
    pub(crate) number: u64,
    pub(crate) content: Vec<Content>,
    /// Receives the id of the prompt's message once that is recorded.
    pub(crate) recorded: oneshot::Sender<MessageId>,
    pub(crate) reply: oneshot::Sender<Result<PromptOutcome, TurnError>>,
}

impl Queued {
    pub(crate) fn settle(self, result: Result<PromptOutcome, TurnError>) {
        // The receiver may have been dropped.
        let _ = self.reply.send(result);
    }

    /// Settles a prompt that became part of the running turn's conversation.
    pub(crate) fn inserted(self, message: MessageId) {
        let Self { recorded, reply, .. } = self;
        // The receivers may have been dropped.
        let _ = recorded.send(message);
        let _ = reply.send(Ok(PromptOutcome::without_turn(StopReason::EndTurn)));
    }

    pub(crate) fn cancelled(self) {
        self.settle(Ok(PromptOutcome::cancelled()));
    }
}
