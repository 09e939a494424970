//! What a session's task is told, and the prompts that wait for it.

use crate::{
    Content, Effort, MessageId, Mode, PermissionMode, PromptOutcome, RewindError, RewindReport, RewindTarget,
    StopReason, StoreError, TurnError,
};
use system::AbsPath;
use tokio::sync::oneshot;

/// What a handle sends.
pub(crate) enum Message {
    Prompt(Queued),
    /// Like a prompt, but said to the running turn if there is one.
    Steer(Queued),
    Rewind(RewindTarget, oneshot::Sender<Result<RewindReport, RewindError>>),
    Cancel,
    /// Takes back the prompt with this number.
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

/// A prompt that waits for its turn.
pub(crate) struct Queued {
    /// What its handle knows it by.
    pub(crate) number: u64,
    pub(crate) content: Vec<Content>,
    /// Told the id of its message once that is recorded.
    pub(crate) recorded: oneshot::Sender<MessageId>,
    pub(crate) reply: oneshot::Sender<Result<PromptOutcome, TurnError>>,
}

impl Queued {
    pub(crate) fn settle(self, result: Result<PromptOutcome, TurnError>) {
        // Whoever asked may have stopped waiting.
        let _ = self.reply.send(result);
    }

    /// It is part of the running turn's conversation, and nothing more comes of it.
    pub(crate) fn inserted(self, message: MessageId) {
        let Self { recorded, reply, .. } = self;
        // Whoever asked may have stopped waiting.
        let _ = recorded.send(message);
        let _ = reply.send(Ok(PromptOutcome::without_turn(StopReason::EndTurn)));
    }

    pub(crate) fn cancelled(self) {
        self.settle(Ok(PromptOutcome::cancelled()));
    }
}
