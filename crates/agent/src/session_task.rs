//! The task that owns a session: it takes messages, runs turns one after the other, and is the only one to change anything.

use crate::{
    AnyTool, Content, FileTracker, History, LanguageModel, MessageId, Mode, Models, PermissionMode,
    PromptOutcome, SessionEvent, SessionId, SessionState, SessionStore, StopReason, StoreError, TaskList,
    ToolCallId, ToolCallUpdate, ToolContext, TurnError, TurnId, Usage, calls,
    gate::{Gate, Ruling},
    history::Restored,
    limits::EVENTS_PAGE,
    log::SessionLog,
    policy::Grants,
    turn,
};
use futures::FutureExt as _;
use std::{
    collections::{HashSet, VecDeque},
    panic::AssertUnwindSafe,
    sync::Arc,
};
use system::AbsPath;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// What a handle sends.
pub(crate) enum Message {
    Prompt(Vec<Content>, oneshot::Sender<Result<PromptOutcome, TurnError>>),
    Cancel,
    SetMode(Mode, oneshot::Sender<Result<(), StoreError>>),
    SetPermissionMode(PermissionMode, oneshot::Sender<Result<(), StoreError>>),
    SetModel(String, oneshot::Sender<Result<(), StoreError>>),
    Close(oneshot::Sender<()>),
}

/// What a turn works on.
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) cwd: AbsPath,
    pub(crate) additional_directories: Vec<AbsPath>,
    pub(crate) gate: Gate,
    pub(crate) log: SessionLog,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) history: History,
    pub(crate) tools: Vec<Arc<dyn AnyTool>>,
    pub(crate) files: Arc<FileTracker>,
    pub(crate) tasks: Arc<TaskList>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) current_model: Option<(String, Arc<dyn LanguageModel>)>,
    pub(crate) disclosed: HashSet<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) append_system_prompt: Option<String>,
    pub(crate) usage: Usage,
    pub(crate) turns: u64,
    pub(crate) calls: u64,
    pub(crate) messages: u64,
}

impl Session {
    pub(crate) fn next_turn(&mut self) -> TurnId {
        self.turns += 1;
        TurnId(format!("run_{}", self.turns))
    }

    pub(crate) fn next_message(&mut self) -> MessageId {
        self.messages += 1;
        MessageId(format!("msg_{}", self.messages))
    }

    pub(crate) fn next_call(&mut self) -> ToolCallId {
        self.calls += 1;
        ToolCallId(format!("tool_{}", self.calls - 1))
    }

    pub(crate) fn tool_context(
        &self,
        call: &ToolCallId,
        cancel: &CancellationToken,
        asked: bool,
        ruling: &Ruling,
    ) -> ToolContext {
        let log = self.log.clone();
        ToolContext {
            system: self.gate.confined(ruling),
            cwd: self.cwd.clone(),
            files: self.files.clone(),
            tasks: self.tasks.clone(),
            call: call.clone(),
            progress: Arc::new(move |update: ToolCallUpdate| {
                debug_assert!(
                    update.status.is_none(),
                    "a tool shows progress; its status is the turn's to change"
                );
                log.tell(SessionEvent::ToolCall(update));
            }),
            cancel: cancel.clone(),
            asked,
            confined: ruling.is_confined(),
            limits: self.gate.limits.tools.clone(),
        }
    }

    /// Takes over what the log tells.
    pub(crate) fn restore(&mut self, restored: Restored) {
        self.history = restored.history;
        self.usage = restored.usage;
        self.turns = restored.turns;
        self.calls = restored.calls;
        self.messages = restored.messages;
    }

    /// Reads the log again after a defect, so that the next turn starts from what is really stored.
    async fn recover(&mut self) -> Result<(), StoreError> {
        let restored = read_log(self.store.as_ref(), &self.id).await?;
        self.log.record(restored.repairs.clone()).await?;
        self.restore(restored);
        Ok(())
    }
}

/// Reads a session's log to its end, a page at a time.
pub(crate) async fn read_log(store: &dyn SessionStore, id: &SessionId) -> Result<Restored, StoreError> {
    let mut restored = Restored::default();
    let mut after = 0;
    loop {
        let page = store.events(id, after, EVENTS_PAGE).await?;
        let Some((last, _)) = page.last() else { return Ok(restored.finish()) };
        after = *last;
        page.into_iter().for_each(|(_, event)| restored.apply(event));
    }
}

/// What can be changed of a session at any time, a running turn included.
pub(crate) struct Controls {
    pub(crate) state: watch::Sender<SessionState>,
    pub(crate) log: SessionLog,
    pub(crate) grants: Arc<Grants>,
    /// The most prompts that wait behind a running turn.
    pub(crate) queue: usize,
}

impl Controls {
    pub(crate) fn state(&self) -> SessionState {
        self.state.borrow().clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut SessionState)) {
        self.state.send_modify(change);
    }

    pub(crate) async fn set_mode(&self, mode: Mode) -> Result<(), StoreError> {
        self.update(|state| state.mode = mode);
        self.log.record(vec![SessionEvent::ModeChanged(mode)]).await
    }

    pub(crate) async fn set_permission_mode(&self, mode: PermissionMode) -> Result<(), StoreError> {
        self.grants.clear();
        self.update(|state| state.permission_mode = mode);
        self.log.record(vec![SessionEvent::PermissionModeChanged(mode)]).await
    }

    pub(crate) async fn set_model(&self, id: &str) -> Result<(), StoreError> {
        self.update(|state| id.clone_into(&mut state.model));
        self.log.record(vec![SessionEvent::ModelChanged(id.to_owned())]).await
    }
}

type Waiting = (Vec<Content>, oneshot::Sender<Result<PromptOutcome, TurnError>>);

/// The task itself.
pub(crate) struct SessionTask {
    pub(crate) session: Session,
    pub(crate) controls: Controls,
    pub(crate) inbox: mpsc::UnboundedReceiver<Message>,
    pub(crate) waiting: VecDeque<Waiting>,
    pub(crate) closing: Vec<oneshot::Sender<()>>,
}

impl SessionTask {
    /// Runs until the session is closed or every handle is gone.
    pub(crate) async fn run(mut self) {
        while self.closing.is_empty() {
            let (content, reply) = match self.waiting.pop_front() {
                Some(prompt) => prompt,
                None => match self.inbox.recv().await {
                    Some(message) => {
                        self.take(message, &CancellationToken::new()).await;
                        continue;
                    }
                    None => break,
                },
            };
            let result = self.turn(content).await;
            let _ = reply.send(result);
        }
        if let Err(error) = self.session.log.release().await {
            tracing::warn!(session = %self.session.id, %error, "the lease could not be given back");
        }
        for closed in self.closing {
            // Whoever closed it may have stopped waiting.
            let _ = closed.send(());
        }
    }

    async fn turn(&mut self, content: Vec<Content>) -> Result<PromptOutcome, TurnError> {
        let cancel = CancellationToken::new();
        self.controls.update(|state| state.busy = true);
        let result = {
            let Self { session, controls, inbox, waiting, closing } = self;
            let mut turn = std::pin::pin!(
                AssertUnwindSafe(turn::run(session, controls, content, &cancel)).catch_unwind()
            );
            loop {
                tokio::select! {
                    biased;
                    result = &mut turn => break result,
                    message = inbox.recv() => match message {
                        Some(message) => take(controls, waiting, closing, message, &cancel).await,
                        // Nobody is left who could want the result.
                        None => cancel.cancel(),
                    },
                }
            }
        };
        self.controls.update(|state| state.busy = false);
        match result {
            Ok(result) => result,
            Err(panic) => {
                let text = calls::panic_text(panic.as_ref());
                tracing::error!(session = %self.session.id, text, "a turn panicked");
                self.session.recover().await?;
                Err(TurnError::Panicked(text))
            }
        }
    }

    async fn take(&mut self, message: Message, cancel: &CancellationToken) {
        take(&self.controls, &mut self.waiting, &mut self.closing, message, cancel).await;
    }
}

/// Takes a message, in a turn or between turns.
async fn take(
    controls: &Controls,
    waiting: &mut VecDeque<Waiting>,
    closing: &mut Vec<oneshot::Sender<()>>,
    message: Message,
    cancel: &CancellationToken,
) {
    match message {
        Message::Prompt(_, reply) if !closing.is_empty() => drop(reply.send(Err(TurnError::Closed))),
        Message::Prompt(_, reply) if waiting.len() >= controls.queue => {
            let _ = reply.send(Err(TurnError::QueueFull(waiting.len())));
        }
        Message::Prompt(content, reply) => waiting.push_back((content, reply)),
        Message::Cancel => {
            cancel.cancel();
            for (_, reply) in waiting.drain(..) {
                let outcome = PromptOutcome {
                    stop_reason: StopReason::Cancelled,
                    usage: Usage::default(),
                    requests: 0,
                };
                let _ = reply.send(Ok(outcome));
            }
        }
        Message::SetMode(mode, reply) => drop(reply.send(controls.set_mode(mode).await)),
        Message::SetPermissionMode(mode, reply) => drop(reply.send(controls.set_permission_mode(mode).await)),
        Message::SetModel(id, reply) => drop(reply.send(controls.set_model(&id).await)),
        Message::Close(closed) => {
            cancel.cancel();
            waiting.drain(..).for_each(|(_, reply)| drop(reply.send(Err(TurnError::Closed))));
            closing.push(closed);
        }
    }
}
