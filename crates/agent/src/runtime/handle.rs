//! The handle through which clients send messages to a session's task.

use crate::{
    Briefing, Client, Content, Effort, Goal, GoalChange, GoalError, MessageId, Mode, ModelError, Models,
    NotAdmitted, PermissionMode, PromptId, PromptOutcome, RewindError, RewindReport, RewindTarget,
    RuntimeOptions, SessionEvent, SessionId, SessionState, ShellUpdate, Shells, SlashCommand, StopReason,
    StoreError, SubagentAccess, Surface, SwarmState, TurnError,
    client::watchers::Watchers,
    input::commands,
    log::Notified,
    model::get_in_time,
    runtime::once::{Once, Waiting},
    session::{Session, controls::Controls},
    session::{
        controls::Running,
        message::{GoalRequest, Message, Queued},
    },
    settings::LiveSettings,
    sources::Sources,
    sources::server::ClientServer,
    swarm::unix_time_ms,
    text::sanitise::sanitise,
};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use system::AbsPath;
use tokio::sync::{mpsc, oneshot, watch};
use tracing::Span;

/// Sends messages to a session's task. Cheap to clone; [`SessionHandle::close`] closes the session.
#[derive(Clone)]
pub struct SessionHandle {
    id: SessionId,
    cwd: AbsPath,
    inbox: mpsc::UnboundedSender<Message>,
    state: watch::Receiver<SessionState>,
    models: Arc<dyn Models>,
    notified: Arc<Notified>,
    sources: Sources,
    watchers: Arc<Watchers>,
    prompts: Arc<AtomicU64>,
    once: Arc<Once>,
    settings: Arc<LiveSettings>,
    running: Arc<Running>,
    subagents: SubagentAccess,
    shells: Arc<Shells>,
    /// When it was opened, in milliseconds since the epoch.
    opened: i64,
    is_subagent: bool,
}

/// A prompt sent to its session, to be awaited or cancelled.
pub struct Prompt {
    number: u64,
    joined: bool,
    running: Arc<Running>,
    inbox: mpsc::UnboundedSender<Message>,
    inserted: oneshot::Receiver<MessageId>,
    settled: oneshot::Receiver<Result<PromptOutcome, TurnError>>,
}

/// Why a session could not be created, opened or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The model is unavailable.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The operator of the runtime does not let the session be opened.
    #[error(transparent)]
    NotAdmitted(#[from] NotAdmitted),
    /// The settings of the session's directory are invalid; holds what is wrong, and where.
    #[error("the session cannot be opened: {0}")]
    Settings(String),
    /// The given directory is not the session's own.
    #[error("session {session} belongs to {actual}, not to {given}; pass its own cwd")]
    OtherFolder {
        /// The session.
        session: SessionId,
        /// The session's directory.
        actual: AbsPath,
        /// The given directory.
        given: AbsPath,
    },
    /// The session is open, and cannot be moved to another directory.
    #[error("session {0} is open and cannot be moved now; close it first")]
    AtWork(SessionId),
    /// The session is that of a subagent.
    #[error("session {session} belongs to a subagent of session {root}; open that one")]
    Subagent {
        /// The session.
        session: SessionId,
        /// The session that the subagent belongs to.
        root: SessionId,
    },
    /// The session was closed.
    #[error("the session is closed")]
    Closed,
}

impl SessionHandle {
    /// Creates the handle of a session whose task receives from `inbox`.
    pub(super) fn new(
        session: &Session,
        controls: &Controls,
        inbox: mpsc::UnboundedSender<Message>,
        models: Arc<dyn Models>,
        watchers: Arc<Watchers>,
    ) -> Self {
        Self {
            id: session.id().clone(),
            cwd: session.cwd().clone(),
            inbox,
            state: controls.states(),
            models,
            notified: session.log().notified().clone(),
            sources: session.toolbox().sources().clone(),
            watchers,
            prompts: Arc::default(),
            once: Arc::default(),
            settings: controls.settings().clone(),
            running: controls.running().clone(),
            subagents: SubagentAccess(session.subagents().cloned()),
            shells: session.shells().clone(),
            opened: unix_time_ms(),
            is_subagent: false,
        }
    }

    /// Notes whether it is the session of a subagent.
    pub(super) fn of_subagent(self, is_subagent: bool) -> Self {
        Self { is_subagent, ..self }
    }

    /// Returns the session's id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Returns the session's directory.
    pub fn cwd(&self) -> &AbsPath {
        &self.cwd
    }

    /// Returns the current state of the session.
    pub fn state(&self) -> SessionState {
        self.state.borrow().clone()
    }

    /// Returns the settings in force for the session now.
    pub async fn settings(&self) -> Arc<RuntimeOptions> {
        self.settings.reload().await
    }

    /// Makes the session reload its settings and notify its clients of changes.
    pub fn settings_changed(&self) {
        // A session whose task has ended has no client to notify.
        let _ = self.inbox.send(Message::Settings);
    }

    /// Returns the current slash commands; the client is notified when they change.
    pub fn commands(&self) -> Vec<SlashCommand> {
        commands::all(&self.sources)
    }

    /// Runs a prompt's turn, after those already queued, and returns how it ended. Every prompt
    /// settles exactly once; dropping the future does not cancel the turn.
    pub async fn prompt(&self, content: Vec<Content>) -> Result<PromptOutcome, TurnError> {
        self.start(content).settled().await
    }

    /// Queues a prompt.
    pub fn start(&self, content: Vec<Content>) -> Prompt {
        let (content, message) = as_message(content);
        self.send(content, message)
    }

    /// Queues a command line that a person typed, as the command `/run` does. It runs outside the
    /// sandbox and without a question, so it must not be another's text.
    pub fn start_typed(&self, line: &str) -> Prompt {
        self.queue(vec![Content::text(format!("/run {line}"))], true, Message::Prompt)
    }

    /// Queues a prompt, unless the session has one with this id: then joins that prompt, whatever
    /// the content. The returned prompt settles as the first does, immediately if its turn has
    /// ended, also in another process ([`TurnError::OwnerLost`] if that ended in mid-turn). So a
    /// client that lost an answer may send its prompt again. Dropping it cancels nothing.
    ///
    /// A prompt that was refused before its turn began is tried again. Needs a tokio runtime.
    pub fn start_once(&self, id: PromptId, content: Vec<Content>) -> Prompt {
        let number = self.prompts.fetch_add(1, Ordering::Relaxed);
        let (reply, settled) = oneshot::channel();
        let (recorded, inserted) = oneshot::channel();
        let waits = Waiting { recorded: Some(recorded), reply };
        let prompt = |number, joined| Prompt {
            number,
            joined,
            running: self.running.clone(),
            inbox: self.inbox.clone(),
            inserted,
            settled,
        };
        if let Some(first) = self.once.join(&id, number, waits) {
            return prompt(first, true);
        }
        let (reply, its_end) = oneshot::channel();
        let (recorded, its_message) = oneshot::channel();
        let (content, message) = as_message(content);
        // A task that has ended drops the reply, which settles the prompt as closed.
        let _ = self.inbox.send(message(Queued {
            number,
            content,
            is_typed: false,
            id: Some(id.clone()),
            recorded,
            reply,
            span: Span::current(),
        }));
        tokio::spawn(self.once.clone().follow(id, its_message, its_end));
        prompt(number, false)
    }

    /// Sends a message to the running turn. The model gets it with its next request, and the prompt
    /// settles as soon as it is part of the conversation. If no turn runs, or the turn ends before
    /// that, it is queued as an ordinary prompt.
    pub fn steer(&self, content: Vec<Content>) -> Prompt {
        self.send(content, Message::Steer)
    }

    fn send(&self, content: Vec<Content>, message: fn(Queued) -> Message) -> Prompt {
        self.queue(content, false, message)
    }

    fn queue(&self, content: Vec<Content>, is_typed: bool, message: fn(Queued) -> Message) -> Prompt {
        let number = self.prompts.fetch_add(1, Ordering::Relaxed);
        let (reply, settled) = oneshot::channel();
        let (recorded, inserted) = oneshot::channel();
        // A task that has ended drops the reply, which settles the prompt as closed.
        let _ = self.inbox.send(message(Queued {
            number,
            content,
            is_typed,
            id: None,
            recorded,
            reply,
            span: Span::current(),
        }));
        Prompt {
            number,
            joined: false,
            running: self.running.clone(),
            inbox: self.inbox.clone(),
            inserted,
            settled,
        }
    }

    /// Runs `then` with the number of the last stored event that was emitted, while no event is
    /// emitted. Returns that number, and the state of what is in progress: the text so far of
    /// streamed messages, and what running calls show. Later events follow both.
    pub fn at_rest(&self, then: impl FnOnce(u64)) -> (u64, Vec<SessionEvent>) {
        self.notified.at_rest(then)
    }

    /// Adds a client, which from now on receives every event and request for approval. Returns
    /// false if the last client has left: the session is about to be closed, and can be opened
    /// again after that.
    pub fn join(&self, surface: Surface) -> bool {
        self.notified.join(&self.watchers, surface)
    }

    /// Removes a client; returns whether any remain. If none remain, the caller must close the
    /// session. Tools that acted through the removed client act through the next one from the next
    /// turn on, and the grants are cleared.
    pub fn leave(&self, client: &Arc<dyn Client>) -> bool {
        self.watchers.leave(client)
    }

    /// Removes a client, and lets the session go on without one if it was the last: its turn runs
    /// on, and questions wait for a client to join. A session that has neither a client nor a turn
    /// for `linger` is closed. Needs a tokio runtime.
    pub fn detach(&self, client: &Arc<dyn Client>, linger: Duration) {
        self.watchers.detach(client);
        if self.watchers.count() == 0 {
            tokio::spawn(self.clone().close_when_abandoned(linger));
        }
    }

    /// Closes the session once it has had neither a client nor a turn for `linger`; returns as soon
    /// as a client joins.
    async fn close_when_abandoned(self, linger: Duration) {
        let mut state = self.state.clone();
        loop {
            let idle = async {
                // A task that has ended is closed.
                drop(state.wait_for(|state| !state.busy).await);
                tokio::select! {
                    () = tokio::time::sleep(linger) => true,
                    busy = state.wait_for(|state| state.busy) => busy.is_err(),
                }
            };
            tokio::select! {
                () = self.watchers.joined() => return,
                abandoned = idle => if abandoned {
                    break;
                },
            }
        }
        if self.watchers.end_if_detached() {
            self.close().await;
        }
    }

    /// Whether a client receives this session's events.
    pub fn notifies(&self, client: &Arc<dyn Client>) -> bool {
        self.watchers.includes(client)
    }

    /// Cancels a subagent of the session and its own subagents; all if `id` is `None`. Returns
    /// whether any was at work. The turn goes on with what they have found.
    pub fn cancel_subagent(&self, id: Option<&str>) -> bool {
        let Some(subagents) = &self.subagents.0 else { return false };
        match id {
            Some(id) => subagents.cancel_agent(id),
            None => {
                let ids = self.subagents().agents.into_iter().map(|agent| agent.id);
                ids.filter(|id| subagents.cancel_agent(id)).count() > 0
            }
        }
    }

    /// Returns the subagents that this process knows.
    pub(crate) fn subagents(&self) -> SwarmState {
        self.subagents.0.as_ref().map(|subagents| subagents.snapshot()).unwrap_or_default()
    }

    /// Whether it is the session of a subagent.
    pub(super) fn is_subagent(&self) -> bool {
        self.is_subagent
    }

    /// Returns the number of clients that receive this session's events.
    pub fn clients(&self) -> usize {
        self.watchers.count()
    }

    /// Whether a request for approval, or a question of the agent, waits for an answer.
    pub fn is_asking(&self) -> bool {
        self.watchers.is_asking()
    }

    /// Returns when the session was opened in this process, in milliseconds since the epoch.
    pub fn opened(&self) -> i64 {
        self.opened
    }

    /// Whether the session has a client.
    pub(super) fn is_watched(&self) -> bool {
        self.watchers.count() > 0
    }

    /// Whether a turn runs.
    pub(super) fn is_busy(&self) -> bool {
        self.state.borrow().busy
    }

    /// Whether the session has more than one client.
    pub fn is_shared(&self) -> bool {
        self.watchers.count() > 1
    }

    /// Whether the session's task has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.inbox.is_closed()
    }

    /// Whether both handles send to the same task.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.inbox.same_channel(&other.inbox)
    }

    /// Whether another process has taken the session over: nothing more can be recorded, and it
    /// must be opened again.
    pub fn is_lost(&self) -> bool {
        self.notified.is_lost()
    }

    /// Cancels the running turn and the queued prompts; all settle as cancelled. Does nothing if no
    /// turn runs. It overtakes the messages that the session has not taken yet: the running turn is
    /// cancelled immediately.
    pub fn cancel(&self) {
        self.running.cancel();
        // A task that has ended runs nothing to cancel.
        let _ = self.inbox.send(Message::Cancel);
    }

    /// Changes the agent mode, from the running turn's next step on. The change is recorded and the
    /// client is notified.
    pub async fn set_mode(&self, mode: Mode) -> Result<(), SessionError> {
        self.change(|reply| Message::SetMode(mode, reply)).await
    }

    /// Changes the permission mode and clears the session's grants. The change is recorded and the
    /// client is notified.
    pub async fn set_permission_mode(&self, mode: PermissionMode) -> Result<(), SessionError> {
        self.change(|reply| Message::SetPermissionMode(mode, reply)).await
    }

    /// Changes the reasoning effort, from the next request on. The change is recorded and the
    /// client is notified.
    pub async fn set_effort(&self, effort: Option<Effort>) -> Result<(), SessionError> {
        self.change(|reply| Message::SetEffort(effort, reply)).await
    }

    /// Sets the title; no title is generated after that. The change is recorded and the client is
    /// notified.
    pub async fn set_title(&self, title: String) -> Result<(), SessionError> {
        self.change(|reply| Message::SetTitle(title, reply)).await
    }

    /// Replaces the client's MCP servers, from the next request on. They are not stored.
    pub(crate) fn set_servers(&self, servers: &[ClientServer]) {
        self.sources.set_servers(servers);
    }

    /// Replaces the additional directories, from the next turn on; they are stored.
    pub async fn set_directories(&self, folders: Vec<AbsPath>) -> Result<(), SessionError> {
        self.change(|reply| Message::SetDirectories(folders, reply)).await
    }

    /// Changes the model, from the next request on. The change is recorded and the client is
    /// notified. If the model is unavailable, returns an error and keeps the current model.
    pub async fn set_model(&self, id: &str) -> Result<(), SessionError> {
        get_in_time(self.models.as_ref(), id).await?;
        self.change(|reply| Message::SetModel(id.to_owned(), reply)).await
    }

    /// Returns the background commands as they are now, in the order in which they were started.
    pub fn shells(&self) -> Vec<ShellUpdate> {
        self.shells.all()
    }

    /// Stops the background command with an id, or with `all` every one; returns those that were
    /// stopped. Works while a turn runs.
    ///
    /// # Errors
    ///
    /// Fails with a message for the user if there is no such command.
    pub async fn stop_shell(&self, id: &str) -> Result<Vec<ShellUpdate>, String> {
        self.shells.stop(id).await
    }

    /// Returns a background command and the end of its output, sanitised for display. The output
    /// stays unread for the model.
    ///
    /// # Errors
    ///
    /// Fails with a message for the user if there is no such command.
    pub fn shell_output(&self, id: &str) -> Result<(ShellUpdate, String), String> {
        let (shell, output) = self.shells.show(id)?;
        Ok((shell, sanitise(&output)))
    }

    /// Changes the goal; returns the goal after that. A running turn applies the change before its
    /// next request and works on the goal; without one, the next prompt does.
    pub async fn change_goal(&self, change: GoalChange) -> Result<Option<Goal>, GoalError> {
        let (reply, done) = oneshot::channel();
        let request = GoalRequest::of_program(change, reply);
        self.inbox.send(Message::Goal(request)).map_err(|_| GoalError::Closed)?;
        done.await.map_err(|_| GoalError::Closed)?
    }

    /// Undoes changes to files through the session's own system, which includes the editor's
    /// buffers. Fails while a turn runs. The rewind is recorded and can itself be undone.
    pub async fn rewind(&self, target: RewindTarget) -> Result<RewindReport, RewindError> {
        let (reply, done) = oneshot::channel();
        self.inbox.send(Message::Rewind(target, reply)).map_err(|_| RewindError::Closed)?;
        done.await.map_err(|_| RewindError::Closed)?
    }

    /// Cancels what runs, waits for it to settle, releases the lease and ends the task. Idempotent.
    pub async fn close(&self) {
        let (closed, done) = oneshot::channel();
        if self.inbox.send(Message::Close(closed)).is_ok() {
            // An error means that the task ended before it took the message.
            let _ = done.await;
        }
    }

    /// Ends the session here so that another process can go on with it: its turn stops before its
    /// next request to a model, and is cancelled if that takes longer than `patience`; the next
    /// owner goes on with it. Prompts settle as [`StopReason::Suspended`]. Completes once the lease
    /// is released.
    pub async fn suspend(&self, patience: Duration) {
        self.running.suspension().ask();
        let (closed, mut done) = oneshot::channel();
        if self.inbox.send(Message::Suspend(closed)).is_err() {
            return;
        }
        if tokio::time::timeout(patience, &mut done).await.is_err() {
            self.running.suspension().cut();
            self.running.cancel();
            let _ = done.await;
        }
    }

    /// Goes on with the turn that another process suspended. The model is sent `note` first.
    pub(super) fn go_on(&self, note: Option<Briefing>) {
        // A task that has ended was closed meanwhile.
        let _ = self.inbox.send(Message::GoOn(note));
    }

    async fn change(
        &self,
        message: impl FnOnce(oneshot::Sender<Result<(), StoreError>>) -> Message,
    ) -> Result<(), SessionError> {
        let (reply, done) = oneshot::channel();
        self.inbox.send(message(reply)).map_err(|_| SessionError::Closed)?;
        Ok(done.await.map_err(|_| SessionError::Closed)??)
    }
}

/// Returns a prompt as the message that sends it: one that begins with the command for steering
/// goes to the running turn.
fn as_message(content: Vec<Content>) -> (Vec<Content>, fn(Queued) -> Message) {
    match commands::steering(&content) {
        Some(content) => (content, Message::Steer),
        None => (content, Message::Prompt),
    }
}

impl Prompt {
    /// Whether the prompt was sent before, and this one joined it.
    pub fn is_joined(&self) -> bool {
        self.joined
    }

    /// Cancels this prompt alone: a queued one never runs, a running one is cancelled. Either way
    /// it settles as cancelled.
    pub fn cancel(&self) {
        // A task that has ended has settled the prompt.
        let _ = self.inbox.send(Message::Withdraw(self.number));
    }

    /// Waits until the prompt is part of the conversation, recorded and emitted; `None` if it
    /// settles without that (cancelled while queued, for example). Call it only once.
    pub async fn inserted(&mut self) -> Option<MessageId> {
        (&mut self.inserted).await.ok()
    }

    /// Waits for the end of the prompt's turn. May be called again if the future was dropped before
    /// it completed, but not after it completed.
    pub async fn settled(&mut self) -> Result<PromptOutcome, TurnError> {
        match (&mut self.settled).await.unwrap_or(Err(TurnError::Closed)) {
            Err(TurnError::Closed) if self.running.suspension().is_asked() => {
                Ok(PromptOutcome::without_turn(StopReason::Suspended))
            }
            settled => settled,
        }
    }
}

impl std::fmt::Debug for SessionHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionHandle").field("id", &self.id).field("cwd", &self.cwd).finish_non_exhaustive()
    }
}
