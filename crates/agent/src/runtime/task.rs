//! The task that owns a session: it takes messages, runs turns one after the other, and makes all
//! changes to the session.

use crate::{
    FolderFacts, PromptOutcome, RewindError, SessionEvent, Severity, Shells, StoreError, TurnError,
    checkpoint::rewind,
    client::watchers::Watchers,
    files::identity::folder_facts,
    history::memory::IdleSessions,
    input::commands,
    limits::{CANCEL_GRACE, UNCONFIRMED_STEP},
    log::SessionLog,
    policy,
    session::{
        Session,
        controls::Controls,
        message::{GoalRequest, Message, Queued},
    },
    sources::Sources,
    turn,
};
use futures::FutureExt as _;
use std::{collections::VecDeque, convert::Infallible, panic::AssertUnwindSafe, sync::Arc};
use system::{AbsPath, System};
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

/// The state of a session's task.
pub(crate) struct SessionTask {
    session: Session,
    controls: Controls,
    watchers: Arc<Watchers>,
    /// The runtime's sessions without a running turn.
    idle: Arc<IdleSessions>,
    inbox: mpsc::UnboundedReceiver<Message>,
    waiting: VecDeque<Queued>,
    closing: Vec<oneshot::Sender<()>>,
    /// Notified when a turn has ended.
    turn_ended: Arc<Notify>,
}

impl SessionTask {
    pub(super) fn new(
        session: Session,
        controls: Controls,
        watchers: Arc<Watchers>,
        idle: Arc<IdleSessions>,
        inbox: mpsc::UnboundedReceiver<Message>,
    ) -> Self {
        Self {
            session,
            controls,
            watchers,
            idle,
            inbox,
            waiting: VecDeque::new(),
            closing: Vec::new(),
            turn_ended: Arc::default(),
        }
    }

    /// Runs until the session is closed or every handle is dropped. Returns the senders of those
    /// waiting for the end.
    pub(crate) async fn run(self) -> Vec<oneshot::Sender<()>> {
        let log = self.session.log().clone();
        let notifying = notify_commands(self.session.toolbox().sources().clone(), log.clone());
        let watching = notify_shells(self.session.shells().clone(), log);
        let (mut folder, turn_ended) = (FolderNotes::of(&self.session), self.turn_ended.clone());
        let is_read = Notify::new();
        let fencing = stop_shells_when_unconfirmed(self.session.shells().clone(), self.session.log().clone());
        tokio::select! {
            biased;
            closing = self.work(&is_read) => closing,
            never = notifying => match never {},
            never = watching => match never {},
            never = folder.follow(&is_read, turn_ended) => match never {},
            never = fencing => match never {},
        }
    }

    /// Works until the session is closed. The lease is given back after the directory was read once
    /// (`is_read`), so that a short session stores it too.
    async fn work(mut self, is_read: &Notify) -> Vec<oneshot::Sender<()>> {
        // This waits for a thread, so the response to session creation is written meanwhile.
        self.session.gate().sweep().await;
        while self.closing.is_empty() {
            let prompt = match self.waiting.pop_front() {
                Some(prompt) => prompt,
                None => match self.inbox.recv().await {
                    Some(Message::Rewind(target, reply)) => {
                        self.session.reload_settings().await;
                        self.move_on();
                        let state = self.controls.state();
                        let rewound = match self.controls.expect_folders() {
                            Ok(()) => Box::pin(rewind(&self.session, &state, target)).await,
                            Err(elsewhere) => Err(StoreError::Io(elsewhere.to_string()).into()),
                        };
                        // The receiver may have been dropped.
                        let _ = reply.send(rewound);
                        continue;
                    }
                    Some(Message::Goal(request)) => {
                        self.change_goal(request).await;
                        continue;
                    }
                    Some(Message::GoOn(note)) => {
                        let input = turn::TurnInput::going_on(note);
                        if let Err(error) = Box::pin(self.turn(u64::MAX, input)).await {
                            tracing::warn!(session = %self.session.id(), %error, "a suspended turn failed");
                        }
                        self.turn_ended.notify_one();
                        continue;
                    }
                    Some(message) => {
                        let cancels = matches!(message, Message::Cancel);
                        self.take(message).await;
                        if cancels {
                            // Subagents in the background may be at work without a turn.
                            self.session.cancel_subagents().await;
                        }
                        continue;
                    }
                    None => break,
                },
            };
            let Some(prompt) = self.unless_repeated(prompt).await else { continue };
            // A suspended turn that could not go on by itself does so with its prompt.
            let goes_on = self.is_suspended(&prompt);
            let Queued { number, content, is_typed, id, recorded, reply, span } = prompt;
            let input = turn::TurnInput { content, is_typed, id, recorded, goes_on, note: None, span };
            // Boxed, so that a session without a running turn does not hold memory for one.
            let result = Box::pin(self.turn(number, input)).await;
            // The receiver may have been dropped.
            let _ = reply.send(result);
            self.turn_ended.notify_one();
        }
        is_read.notified().await;
        self.session.end().await;
        self.closing
    }

    /// Settles a prompt whose turn the log has; returns any other.
    async fn unless_repeated(&mut self, prompt: Queued) -> Option<Queued> {
        if prompt.id.is_some()
            && !self.session.log().memory().is_certain()
            && let Err(error) = self.session.recover().await
        {
            // The turn tries again, and fails if that fails.
            tracing::debug!(session = %self.session.id(), %error, "the log was not read for a repeated prompt");
        }
        let other = unless_repeated(self.session.log(), prompt);
        if other.is_none() {
            self.idle.rest(self.session.log().memory());
        }
        other
    }

    /// Whether a prompt was sent before, and its turn suspended.
    fn is_suspended(&self, prompt: &Queued) -> bool {
        let conversation = prompt.id.as_ref().and_then(|_| self.session.log().memory().conversation());
        conversation.is_some_and(|conversation| conversation.prompts().suspended() == prompt.id.as_ref())
    }

    async fn turn(&mut self, number: u64, prompt: turn::TurnInput) -> Result<PromptOutcome, TurnError> {
        let cancel = self.controls.begin_turn();
        self.controls.set_queued(self.waiting.len());
        self.controls.follow_settings().await;
        self.move_on();
        self.session.begin_turn(self.controls.state().additional_directories).await;
        self.idle.wake(self.session.log().memory());
        let result = {
            let Self { session, controls, inbox, waiting, closing, .. } = self;
            let log = session.log().clone();
            // Cancelled once the session is being closed.
            let ending = CancellationToken::new();
            let work = async {
                let _place = match controls.operator() {
                    None => None,
                    Some(operator) => tokio::select! {
                        biased;
                        () = cancel.cancelled() => return Ok(PromptOutcome::cancelled()),
                        place = operator.begin_turn() => Some(place?),
                    },
                };
                if !session.log().memory().is_certain() {
                    let abandoned = async {
                        cancel.cancelled().await;
                        // A prompt that the end of the process cancels is recorded, so the log is
                        // read all the same, unless the store hangs.
                        if ending.is_cancelled() {
                            tokio::time::sleep(CANCEL_GRACE).await;
                        }
                    };
                    tokio::select! {
                        biased;
                        () = abandoned => return Ok(PromptOutcome::cancelled()),
                        recovered = session.recover() => recovered?,
                    }
                }
                turn::run(session, controls, prompt, &cancel).await
            };
            let over = CancellationToken::new();
            // Runs beside the turn, so that a slow message does not delay the turn.
            let hear = async {
                while let Some(message) = over.run_until_cancelled(inbox.recv()).await {
                    let Some(message) = message else {
                        // Every handle is gone, so the result has no receiver.
                        cancel.cancel();
                        break;
                    };
                    take(controls, waiting, closing, message, Some((number, &cancel))).await;
                    if !closing.is_empty() {
                        ending.cancel();
                    }
                }
            };
            let turn = async {
                let result = AssertUnwindSafe(while_confirmed(&log, &cancel, work)).catch_unwind().await;
                over.cancel();
                result
            };
            // Messages are polled first, so that a cancel sent before the turn began is seen before
            // the model is called.
            let ((), result) = futures::join!(hear, turn);
            result
        };
        self.controls.end_turn();
        while let Some(request) = self.controls.goal_requests().next() {
            self.change_goal(request).await;
        }
        if cancel.is_cancelled() {
            self.session.cancel_subagents().await;
        }
        // Steering messages that the turn did not take become the next prompts.
        self.controls.steering().drain().into_iter().rev().for_each(|prompt| self.waiting.push_front(prompt));
        let memory = self.session.log().memory().clone();
        let result = match result {
            Ok(result) => {
                if matches!(result, Err(TurnError::Store(_))) {
                    memory.doubt();
                }
                result
            }
            Err(panic) => {
                let text = crate::text::panic::panic_text(panic.as_ref());
                tracing::error!(session = %self.session.id(), text, "a turn panicked");
                memory.doubt();
                if let Err(error) = self.session.recover().await {
                    tracing::warn!(session = %self.session.id(), %error, "the log could not be read again yet");
                }
                Err(TurnError::Panicked(text.to_owned()))
            }
        };
        self.idle.rest(&memory);
        result
    }

    /// Changes the goal between turns.
    async fn change_goal(&mut self, request: GoalRequest) {
        let recovered = match self.session.log().memory().is_certain() {
            true => Ok(()),
            false => self.session.recover().await,
        };
        let changed = match recovered {
            Ok(()) => {
                let mode = self.controls.state().mode;
                self.session.change_goal(mode, request.change.clone(), false).await
            }
            Err(error) => Err(error.into()),
        };
        request.settle(self.session.log(), changed);
        self.idle.rest(self.session.log().memory());
    }

    /// Moves tools to the next surface if theirs has gone. The grants applied to the old one and
    /// are cleared.
    fn move_on(&mut self) {
        let Some(surface) = self.watchers.moved() else { return };
        let spawn = surface.system.routes().spawn;
        self.controls.moved(policy::expected(&self.session.settings().sandbox, spawn));
        self.session.move_to(surface);
    }

    async fn take(&mut self, message: Message) {
        take(&self.controls, &mut self.waiting, &mut self.closing, message, None).await;
    }
}

/// Runs a turn as long as the session is certainly this process's. Once it may not be, the turn is
/// cancelled, so that its commands end before another process can begin, and it fails.
async fn while_confirmed<T>(
    log: &SessionLog,
    cancel: &CancellationToken,
    turn: impl Future<Output = Result<T, TurnError>>,
) -> Result<T, TurnError> {
    log.confirm_lease()?;
    let mut turn = std::pin::pin!(turn);
    tokio::select! {
        biased;
        ended = &mut turn => ended,
        () = log.lease_unconfirmed() => {
            let unconfirmed = log.unconfirmed_error();
            cancel.cancel();
            let _ = turn.await;
            Err(unconfirmed.into())
        }
    }
}

/// Emits the session's slash commands to the client whenever they change.
async fn notify_commands(sources: Sources, log: SessionLog) -> Infallible {
    loop {
        sources.commands_changed().await;
        log.notify(SessionEvent::Commands(commands::all(&sources)));
    }
}

/// Emits background commands that start and end, also between turns.
async fn notify_shells(shells: Arc<Shells>, log: SessionLog) -> Infallible {
    loop {
        for shell in shells.changes().await {
            let notice = match &shell.end {
                Some(end) if !end.stopped => {
                    // Never a warning: between turns, a client without notices has no place for it,
                    // and the call that started the command shows it too.
                    let severity = Severity::Info;
                    let title = format!("Background command {} {}", shell.id, shell.outcome());
                    let description = Some(shell.command.clone());
                    Some(SessionEvent::Notice { severity, title, description })
                }
                _ => None,
            };
            log.notify(SessionEvent::Shell(shell));
            notice.into_iter().for_each(|notice| log.notify(notice));
        }
    }
}

/// Stops background commands whenever another process may have taken the session.
async fn stop_shells_when_unconfirmed(shells: Arc<Shells>, log: SessionLog) -> Infallible {
    loop {
        log.lease_unconfirmed().await;
        if let Ok(stopped) = shells.stop("all").await
            && !stopped.is_empty()
        {
            tracing::warn!(
                "background commands were stopped: the session database does not confirm the session"
            );
        }
        tokio::time::sleep(UNCONFIRMED_STEP).await;
    }
}

/// Keeps what is known of a session's directory up to date.
struct FolderNotes {
    system: Arc<dyn System>,
    cwd: AbsPath,
    log: SessionLog,
    shared: Vec<AbsPath>,
    facts: FolderFacts,
}

impl FolderNotes {
    fn of(session: &Session) -> Self {
        Self {
            system: Arc::clone(session.system()),
            cwd: session.cwd().clone(),
            log: session.log().clone(),
            shared: session.settings().sandbox.shared.clone(),
            facts: FolderFacts { branch: session.log().branch(), identity: None },
        }
    }

    /// Reads now and whenever a turn has ended.
    async fn follow(&mut self, is_read: &Notify, turn_ended: Arc<Notify>) -> Infallible {
        loop {
            self.read().await;
            is_read.notify_one();
            turn_ended.notified().await;
        }
    }

    /// Reads what is known now; stores a change and sends it to the client.
    async fn read(&mut self) {
        let Self { system, cwd, shared, .. } = &*self;
        let look = AssertUnwindSafe(folder_facts(system.as_ref(), cwd, shared)).catch_unwind();
        // A system that panics must not end the session for the sake of a label.
        let Ok(facts) = look.await else { return };
        if facts == self.facts {
            return;
        }
        match self.log.set_folder(facts.clone()).await {
            Ok(()) => self.facts = facts,
            Err(error) => {
                tracing::debug!(%error, "what is known of the session's directory was not stored");
            }
        }
    }
}

/// Handles a message, during a turn (`running`: the number of its prompt, and its token) or between
/// turns.
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
    let queued = waiting.len() + controls.steering().len();
    let message = match message {
        Message::Prompt(prompt) => unless_repeated(controls.log(), prompt).map(Message::Prompt),
        Message::Steer(prompt) => unless_repeated(controls.log(), prompt).map(Message::Steer),
        message => Some(message),
    };
    let Some(message) = message else { return };
    match interrupting(message, running.is_some()) {
        Message::Goal(request) => controls.goal_requests().push(request),

        Message::Steer(prompt) if running.is_some() => {
            let accepted = accepted(controls, closing, queued, prompt);
            accepted.into_iter().for_each(|prompt| controls.steering().push(prompt));
        }
        Message::Prompt(prompt) | Message::Steer(prompt) => {
            waiting.extend(accepted(controls, closing, queued, prompt));
        }
        Message::Rewind(_, reply) => drop(reply.send(Err(RewindError::Busy))),
        Message::Cancel => {
            cancel();
            controls.steering().drain().into_iter().chain(waiting.drain(..)).for_each(Queued::cancelled);
        }
        Message::Withdraw(number) if running.is_some_and(|(running, _)| running == number) => cancel(),
        Message::Withdraw(number) => {
            let waits = waiting.iter().position(|prompt| prompt.number == number);
            let waits = waits.and_then(|at| waiting.remove(at));
            if let Some(prompt) = waits.or_else(|| controls.steering().remove(number)) {
                prompt.cancelled();
            }
        }
        Message::Settings => {
            controls.follow_settings().await;
        }
        Message::SetMode(mode, reply) => drop(reply.send(controls.set_mode(mode).await)),
        Message::SetPermissionMode(mode, reply) => drop(reply.send(controls.set_permission_mode(mode).await)),
        Message::SetModel(id, reply) => drop(reply.send(controls.set_model(&id).await)),
        Message::SetEffort(effort, reply) => drop(reply.send(controls.set_effort(effort).await)),
        Message::SetTitle(title, reply) => drop(reply.send(controls.set_title(title).await)),
        Message::SetDirectories(folders, reply) => {
            drop(reply.send(controls.set_directories(folders).await));
        }
        Message::Suspend(closed) => {
            let left = controls.steering().drain().into_iter().chain(waiting.drain(..));
            left.for_each(Queued::suspended);
            closing.push(closed);
        }
        // The turn that was suspended was gone on with before this one.
        Message::GoOn(_) => {}
        Message::Close(closed) => {
            cancel();
            let left = controls.steering().drain().into_iter().chain(waiting.drain(..));
            left.for_each(|prompt| prompt.settle(Err(TurnError::Closed)));
            closing.push(closed);
        }
    }
    controls.set_queued(waiting.len());
}

/// Returns a prompt that may wait for its turn; settles it if it may not.
fn accepted(
    controls: &Controls,
    closing: &[oneshot::Sender<()>],
    queued: usize,
    prompt: Queued,
) -> Option<Queued> {
    if controls.suspension().is_asked() {
        prompt.suspended();
        return None;
    }
    let refused = if !closing.is_empty() {
        TurnError::Closed
    } else if let Err(elsewhere) = controls.expect_folders() {
        elsewhere
    } else if queued >= controls.settings().seen().limits.queued_prompts {
        TurnError::QueueFull(queued)
    } else {
        match controls.operator().map(|operator| operator.prompt()) {
            None | Some(Ok(())) => return Some(prompt),
            Some(Err(refused)) => refused.into(),
        }
    };
    prompt.settle(Err(refused));
    None
}

/// Settles a prompt whose turn the conversation has; returns any other.
fn unless_repeated(log: &SessionLog, prompt: Queued) -> Option<Queued> {
    let conversation = prompt.id.as_ref().and_then(|_| log.memory().conversation());
    let settled = conversation.as_ref().zip(prompt.id.as_ref());
    match settled.and_then(|(conversation, id)| conversation.prompts().settled(id)) {
        Some(settled) => {
            prompt.repeated(settled);
            None
        }
        None => Some(prompt),
    }
}

/// Turns a prompt that is a command for the goal of the running turn into a request for that turn.
fn interrupting(message: Message, running: bool) -> Message {
    match message {
        Message::Prompt(prompt) if running => match commands::goal_interruption(&prompt.content) {
            Some(change) => Message::Goal(GoalRequest::of_prompt(change, prompt)),
            None => Message::Prompt(prompt),
        },
        message => message,
    }
}
