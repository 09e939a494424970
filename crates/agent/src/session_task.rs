//! The task that owns a session: it takes messages, runs turns one after the other, and is the only one to change anything.

use crate::{
    AnyTool, Content, Effort, FileTracker, History, InnerCalls, LanguageModel, MessageId, Mode, Models,
    PermissionMode, PromptOutcome, RewindError, RewindReport, RewindTarget, RuntimeOptions, SessionEvent,
    SessionId, SessionRecord, SessionState, SessionStore, SettingsNews, Severity, StopReason, StoreError,
    TaskList, ToolCallId, ToolCallUpdate, ToolContext, TurnError, TurnId, Usage, calls,
    checkpoint::restore,
    commands,
    context::ContextState,
    gate::{Gate, Ruling},
    history::{self, Restored},
    limits::{EVENTS_PAGE, INSTRUCTIONS_FILE_BYTES, TAIL_EVENTS},
    log::SessionLog,
    policy::{self, Grants},
    prompt,
    sampling::Spent,
    settings::Live,
    source::Sources,
    steering::Steering,
    tool_specs::Told,
    tools, turn,
    watchers::Watchers,
};
use futures::FutureExt as _;
use std::{
    collections::{HashSet, VecDeque},
    convert::Infallible,
    panic::{AssertUnwindSafe, resume_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use system::AbsPath;
use tokio::{
    sync::{mpsc, oneshot, watch},
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

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

/// What a turn works on.
pub(crate) struct Session {
    pub(crate) id: SessionId,
    pub(crate) cwd: AbsPath,
    pub(crate) additional_directories: Vec<AbsPath>,
    pub(crate) gate: Gate,
    pub(crate) log: SessionLog,
    pub(crate) watchers: Arc<Watchers>,
    pub(crate) store: Arc<dyn SessionStore>,
    pub(crate) history: History,
    /// The tools of the running round: its own and those of its sources.
    pub(crate) tools: Vec<Arc<dyn AnyTool>>,
    pub(crate) own_tools: Vec<Arc<dyn AnyTool>>,
    pub(crate) told: Told,
    pub(crate) sources: Sources,
    pub(crate) files: Arc<FileTracker>,
    pub(crate) tasks: Arc<TaskList>,
    pub(crate) models: Arc<dyn Models>,
    pub(crate) current_model: Option<(String, Arc<dyn LanguageModel>)>,
    /// The settings that the current model was made by.
    pub(crate) model_of: Option<Arc<RuntimeOptions>>,
    pub(crate) disclosed: HashSet<String>,
    pub(crate) instructions: Option<String>,
    /// What the settings add to the system prompt of the running round.
    pub(crate) append_system_prompt: Option<String>,
    pub(crate) usage: Usage,
    pub(crate) context: ContextState,
    /// Tokens that servers used of the running round, not in `usage` yet.
    pub(crate) sampled: Spent,
    pub(crate) turns: u64,
    pub(crate) calls: u64,
    pub(crate) messages: u64,
    /// Stores the running turn's prompt, while the model is being asked.
    pub(crate) storing: Option<JoinHandle<Result<(), StoreError>>>,
    /// Nothing of the log was read yet, or something failed half-way: it is read before the next turn.
    pub(crate) unsure: bool,
}

impl Session {
    /// The settings as they were at the last look.
    pub(crate) fn settings(&self) -> Arc<RuntimeOptions> {
        self.gate.settings.seen()
    }

    /// Looks at the settings again.
    pub(crate) async fn look_at_settings(&self) -> Arc<RuntimeOptions> {
        self.gate.settings.look().await
    }

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
            client: self.log.client().clone(),
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
            limits: self.settings().limits.tools.clone(),
            inner: InnerCalls::default(),
        }
    }

    /// The context of what the user does by himself, outside of any call.
    pub(crate) fn own_context(&self, cancel: &CancellationToken) -> ToolContext {
        ToolContext {
            system: self.gate.system.clone(),
            cwd: self.cwd.clone(),
            files: self.files.clone(),
            tasks: self.tasks.clone(),
            client: self.log.client().clone(),
            call: ToolCallId(String::new()),
            progress: Arc::new(|_| {}),
            cancel: cancel.clone(),
            asked: false,
            confined: false,
            limits: self.settings().limits.tools.clone(),
            inner: InnerCalls::default(),
        }
    }

    /// Takes changes of files back, between turns.
    async fn rewind(
        &mut self,
        state: &SessionState,
        target: RewindTarget,
    ) -> Result<RewindReport, RewindError> {
        let (report, rewound) = restore(self, state, target, &CancellationToken::new()).await?;
        if let Some(rewound) = rewound {
            let note = rewound.note();
            self.log.record(vec![SessionEvent::Rewound(rewound)]).await?;
            // A log that was not read yet brings it along.
            if !self.unsure {
                self.history.push_note(note);
            }
        }
        Ok(report)
    }

    /// A model that was made before the settings changed is made anew.
    fn renew_model(&mut self) {
        let now = self.settings();
        if !self.model_of.as_ref().is_some_and(|then| Arc::ptr_eq(then, &now)) {
            self.current_model = None;
            self.model_of = Some(now);
        }
    }

    /// Bounds the session to its folder and these further ones.
    fn work_in(&mut self, additional: Vec<AbsPath>) {
        if self.additional_directories != additional {
            self.gate.roots = std::iter::once(self.cwd.clone()).chain(additional.clone()).collect();
            self.additional_directories = additional;
        }
    }

    /// What servers used since this was last asked for.
    pub(crate) fn take_sampled(&self) -> Usage {
        std::mem::take(&mut *self.sampled.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Moves tools to the next surface if theirs has gone. What was allowed was allowed where it ran then.
    fn move_on(&mut self, controls: &Controls) {
        let Some(surface) = self.watchers.moved() else { return };
        let place = policy::expected(&self.settings().sandbox, surface.system.routes().spawn);
        controls.update(|state| state.sandbox = place);
        controls.grants.clear();
        self.own_tools = tools::offered(self.log.client().takes_questions());
        self.own_tools.extend(surface.client.tools());
        self.tools.clone_from(&self.own_tools);
        self.gate.system = surface.system;
    }

    /// Takes over what the log tells.
    pub(crate) fn restore(&mut self, restored: Restored) {
        restored.files.iter().for_each(|path| self.files.named(path));
        self.history = restored.history;
        self.usage = restored.usage;
        self.context = ContextState { compactions: restored.compactions, ..ContextState::default() };
        self.turns = restored.turns;
        self.calls = restored.calls;
        self.messages = restored.messages;
    }

    /// Completes when the prompt is stored and told of; at once from then on.
    pub(crate) async fn stored(&mut self) -> Result<(), StoreError> {
        let Some(storing) = &mut self.storing else { return Ok(()) };
        let stored = storing.await;
        self.storing = None;
        // Nobody aborts it, so what it can end with beside its result is a panic.
        stored.unwrap_or_else(|error| resume_unwind(error.into_panic()))
    }

    /// Reads the log, so that the next turn starts from what is really stored. Given up half-way, it is done again.
    async fn recover(&mut self) -> Result<(), StoreError> {
        self.stored().await?;
        self.log.tell_missed().await?;
        let restored = read_log(self.store.as_ref(), &self.id).await?;
        self.log.record(restored.repairs.clone()).await?;
        self.restore(restored);
        self.unsure = false;
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

/// What a session's log lacks because the process ended in the middle of a turn. Reads no more than the end of the log.
pub(crate) async fn missing_end(
    store: &dyn SessionStore,
    record: &SessionRecord,
) -> Result<Vec<SessionEvent>, StoreError> {
    let mut back = TAIL_EVENTS;
    loop {
        let begin = record.last_seq.saturating_sub(back);
        let (mut after, mut tail, mut found) = (begin, Vec::new(), begin == 0);
        loop {
            let page = store.events(&record.id, after, EVENTS_PAGE).await?;
            let Some((last, _)) = page.last() else { break };
            after = *last;
            for (_, event) in page {
                if history::begins_anew(&event) {
                    tail.clear();
                    found = true;
                }
                tail.push(event);
            }
        }
        if found {
            return Ok(history::repairs(tail));
        }
        back = back.saturating_mul(4);
    }
}

/// What cancels the running turn, past the messages that wait in the session's inbox.
#[derive(Debug, Default)]
pub(crate) struct Running(Mutex<Option<CancellationToken>>);

impl Running {
    /// Cancels the turn that runs, if one does. Prompts that wait are the inbox's business.
    pub(crate) fn cancel(&self) {
        if let Some(cancel) = &*self.lock() {
            cancel.cancel();
        }
    }

    /// A turn begins; what cancels it.
    fn begin(&self) -> CancellationToken {
        self.lock().insert(CancellationToken::new()).clone()
    }

    fn end(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<CancellationToken>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The modes that a session has from the settings; `None` once somebody has chosen one for it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Heeded {
    pub(crate) mode: Option<Mode>,
    pub(crate) permission_mode: Option<PermissionMode>,
}

impl Heeded {
    /// The modes that the settings have now, where they have become others.
    fn follow(&mut self, now: &RuntimeOptions) -> (Option<Mode>, Option<PermissionMode>) {
        fn other<T: Copy + PartialEq>(had: &mut Option<T>, now: T) -> Option<T> {
            let had = had.as_mut().filter(|had| **had != now)?;
            *had = now;
            Some(now)
        }
        (other(&mut self.mode, now.mode), other(&mut self.permission_mode, now.permission_mode))
    }
}

/// What can be changed of a session at any time, a running turn included.
pub(crate) struct Controls {
    pub(crate) state: watch::Sender<SessionState>,
    pub(crate) log: SessionLog,
    pub(crate) grants: Arc<Grants>,
    /// What was said to the running turn and did not reach it yet.
    pub(crate) steering: Steering,
    pub(crate) settings: Arc<Live>,
    /// What the session's modes were made from.
    pub(crate) heeded: Mutex<Heeded>,
    pub(crate) running: Arc<Running>,
}

impl Controls {
    pub(crate) fn state(&self) -> SessionState {
        self.state.borrow().clone()
    }

    pub(crate) fn update(&self, change: impl FnOnce(&mut SessionState)) {
        self.state.send_modify(change);
    }

    /// Looks at the settings, tells what has become of them, and has the session follow them: a
    /// mode that nobody has chosen is the settings'.
    pub(crate) async fn heed_settings(&self) {
        let now = self.settings.look().await;
        for SettingsNews { severity, title, description } in self.settings.news() {
            self.log.tell(SessionEvent::Notice { severity, title, description });
        }
        let (mode, permission_mode) = self.heeded().follow(&now);
        let recorded = async {
            if let Some(mode) = permission_mode {
                self.change_permission_mode(mode).await?;
            }
            match mode {
                Some(mode) => self.change_mode(mode).await,
                None => Ok(()),
            }
        };
        // It holds all the same. A store that fails ends the turn at the next thing that has to be
        // recorded.
        if let Err(error) = recorded.await {
            tracing::warn!(%error, "a mode that follows the settings could not be recorded");
        }
    }

    fn heeded(&self) -> MutexGuard<'_, Heeded> {
        self.heeded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn set_mode(&self, mode: Mode) -> Result<(), StoreError> {
        self.heeded().mode = None;
        self.change_mode(mode).await
    }

    async fn change_mode(&self, mode: Mode) -> Result<(), StoreError> {
        self.update(|state| state.mode = mode);
        self.log.record(vec![SessionEvent::ModeChanged(mode)]).await
    }

    pub(crate) async fn set_permission_mode(&self, mode: PermissionMode) -> Result<(), StoreError> {
        self.heeded().permission_mode = None;
        self.change_permission_mode(mode).await
    }

    async fn change_permission_mode(&self, mode: PermissionMode) -> Result<(), StoreError> {
        self.grants.clear();
        self.update(|state| state.permission_mode = mode);
        self.log.record(vec![SessionEvent::PermissionModeChanged(mode)]).await
    }

    pub(crate) async fn set_effort(&self, effort: Option<Effort>) -> Result<(), StoreError> {
        self.update(|state| state.effort = effort);
        self.log.record(vec![SessionEvent::EffortChanged(effort)]).await
    }

    pub(crate) async fn set_title(&self, title: String) -> Result<(), StoreError> {
        self.update(|state| state.title = Some(title.clone()));
        self.log.record(vec![SessionEvent::TitleChanged(title)]).await
    }

    pub(crate) async fn set_directories(&self, folders: Vec<AbsPath>) -> Result<(), StoreError> {
        if self.state.borrow().additional_directories == folders {
            return Ok(());
        }
        self.log.set_directories(folders.clone()).await?;
        self.update(|state| state.additional_directories = folders);
        Ok(())
    }

    pub(crate) async fn set_model(&self, id: &str) -> Result<(), StoreError> {
        self.update(|state| id.clone_into(&mut state.model));
        self.log.record(vec![SessionEvent::ModelChanged(id.to_owned())]).await
    }
}

/// The task itself.
pub(crate) struct SessionTask {
    pub(crate) session: Session,
    pub(crate) controls: Controls,
    pub(crate) inbox: mpsc::UnboundedReceiver<Message>,
    pub(crate) waiting: VecDeque<Queued>,
    pub(crate) closing: Vec<oneshot::Sender<()>>,
}

impl SessionTask {
    /// Runs until the session is closed or every handle is gone; whoever waits for the end is to be told of it.
    pub(crate) async fn run(self) -> Vec<oneshot::Sender<()>> {
        let telling = tell_commands(self.session.sources.clone(), self.session.log.clone());
        tokio::select! {
            biased;
            closing = self.work() => closing,
            never = telling => match never {},
        }
    }

    /// Reads what the project says to models, or tells why it is not used.
    async fn read_instructions(&mut self) {
        let Session { gate, cwd, log, .. } = &self.session;
        let rules = gate.found(INSTRUCTIONS_FILE_BYTES);
        self.session.instructions = match prompt::instructions(gate.system.as_ref(), cwd, &rules).await {
            Ok(text) => text,
            Err(why) => {
                let title = "The instructions of the project (AGENTS.md) are not used".to_owned();
                tracing::warn!("{title}: {why}");
                let (severity, description) = (Severity::Warning, Some(why));
                log.tell(SessionEvent::Notice { severity, title, description });
                None
            }
        };
    }

    async fn work(mut self) -> Vec<oneshot::Sender<()>> {
        // Whoever waits to hear that there is a session hears it first: one round for the answer to become a line, another for the line to go out.
        for _ in 0..2 {
            tokio::task::yield_now().await;
        }
        self.read_instructions().await;
        self.session.gate.sweep().await;
        while self.closing.is_empty() {
            let prompt = match self.waiting.pop_front() {
                Some(prompt) => prompt,
                None => match self.inbox.recv().await {
                    Some(Message::Rewind(target, reply)) => {
                        self.session.look_at_settings().await;
                        self.session.move_on(&self.controls);
                        let state = self.controls.state();
                        // Whoever asked may have stopped waiting.
                        let _ = reply.send(self.session.rewind(&state, target).await);
                        continue;
                    }
                    Some(message) => {
                        self.take(message).await;
                        continue;
                    }
                    None => break,
                },
            };
            let Queued { number, content, recorded, reply } = prompt;
            let result = self.turn(number, turn::Prompted { content, recorded }).await;
            // Whoever asked may have stopped waiting.
            let _ = reply.send(result);
        }
        if let Err(error) = self.session.log.release().await {
            tracing::warn!(session = %self.session.id, %error, "the lease could not be given back");
        }
        self.closing
    }

    async fn turn(&mut self, number: u64, prompt: turn::Prompted) -> Result<PromptOutcome, TurnError> {
        let cancel = self.controls.running.begin();
        self.controls.update(|state| state.busy = true);
        self.controls.heed_settings().await;
        self.session.renew_model();
        self.session.move_on(&self.controls);
        self.session.work_in(self.controls.state().additional_directories);
        let result = {
            let Self { session, controls, inbox, waiting, closing } = self;
            let work = async {
                if session.unsure {
                    tokio::select! {
                        biased;
                        () = cancel.cancelled() => return Ok(PromptOutcome::cancelled()),
                        recovered = session.recover() => recovered?,
                    }
                }
                turn::run(session, controls, prompt, &cancel).await
            };
            let over = CancellationToken::new();
            // Beside the turn: what a message waits for, the turn does not.
            let hear = async {
                while let Some(message) = over.run_until_cancelled(inbox.recv()).await {
                    let Some(message) = message else {
                        // Nobody is left who could want the result.
                        cancel.cancel();
                        break;
                    };
                    take(controls, waiting, closing, message, Some((number, &cancel))).await;
                }
            };
            let turn = async {
                let result = AssertUnwindSafe(work).catch_unwind().await;
                over.cancel();
                result
            };
            // Heard first, so that a cancel that was sent before the turn began is seen before the model is asked.
            let ((), result) = futures::join!(hear, turn);
            result
        };
        self.controls.running.end();
        self.controls.update(|state| state.busy = false);
        // What the turn did not live to hear is a prompt like any other, and the next.
        self.controls.steering.drain().into_iter().rev().for_each(|prompt| self.waiting.push_front(prompt));
        match result {
            Ok(result) => {
                self.session.unsure |= matches!(result, Err(TurnError::Store(_)));
                result
            }
            Err(panic) => {
                let text = calls::panic_text(panic.as_ref());
                tracing::error!(session = %self.session.id, text, "a turn panicked");
                self.session.unsure = true;
                if let Err(error) = self.session.recover().await {
                    tracing::warn!(session = %self.session.id, %error, "the log could not be read again yet");
                }
                Err(TurnError::Panicked(text))
            }
        }
    }

    async fn take(&mut self, message: Message) {
        take(&self.controls, &mut self.waiting, &mut self.closing, message, None).await;
    }
}

/// Tells the client whenever the session's slash commands have become others.
async fn tell_commands(sources: Sources, log: SessionLog) -> Infallible {
    loop {
        sources.commands_changed().await;
        log.tell(SessionEvent::Commands(commands::all(&sources)));
    }
}

/// Takes a message, in a turn (the number of its prompt, and what cancels it) or between turns.
async fn take(
    controls: &Controls,
    waiting: &mut VecDeque<Queued>,
    closing: &mut Vec<oneshot::Sender<()>>,
    message: Message,
    running: Option<(u64, &CancellationToken)>,
) {
    let cancel = || {
        if let Some((_, cancel)) = running {
            cancel.cancel();
        }
    };
    match message {
        Message::Prompt(prompt) | Message::Steer(prompt) if !closing.is_empty() => {
            prompt.settle(Err(TurnError::Closed));
        }
        Message::Prompt(prompt) | Message::Steer(prompt)
            if waiting.len() + controls.steering.len() >= controls.settings.seen().limits.queued_prompts =>
        {
            prompt.settle(Err(TurnError::QueueFull(waiting.len())));
        }
        Message::Steer(prompt) if running.is_some() => controls.steering.push(prompt),
        Message::Prompt(prompt) | Message::Steer(prompt) => waiting.push_back(prompt),
        Message::Rewind(_, reply) => drop(reply.send(Err(RewindError::Busy))),
        Message::Cancel => {
            cancel();
            controls.steering.drain().into_iter().chain(waiting.drain(..)).for_each(Queued::cancelled);
        }
        Message::Withdraw(number) if running.is_some_and(|(running, _)| running == number) => cancel(),
        Message::Withdraw(number) => {
            let waits = waiting.iter().position(|prompt| prompt.number == number);
            let waits = waits.and_then(|at| waiting.remove(at));
            if let Some(prompt) = waits.or_else(|| controls.steering.remove(number)) {
                prompt.cancelled();
            }
        }
        Message::Settings => {
            controls.heed_settings().await;
        }
        Message::SetMode(mode, reply) => drop(reply.send(controls.set_mode(mode).await)),
        Message::SetPermissionMode(mode, reply) => drop(reply.send(controls.set_permission_mode(mode).await)),
        Message::SetModel(id, reply) => drop(reply.send(controls.set_model(&id).await)),
        Message::SetEffort(effort, reply) => drop(reply.send(controls.set_effort(effort).await)),
        Message::SetTitle(title, reply) => drop(reply.send(controls.set_title(title).await)),
        Message::SetDirectories(folders, reply) => {
            drop(reply.send(controls.set_directories(folders).await));
        }
        Message::Close(closed) => {
            cancel();
            let left = controls.steering.drain().into_iter().chain(waiting.drain(..));
            left.for_each(|prompt| prompt.settle(Err(TurnError::Closed)));
            closing.push(closed);
        }
    }
}
