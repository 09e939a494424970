//! A session: a value owned by one task, and the handle that sends it messages.

use crate::{
    Client, Content, Effort, MessageId, Mode, ModelError, Models, PermissionMode, PromptOutcome, RewindError,
    RewindReport, RewindTarget, RuntimeOptions, SessionEvent, SessionId, SessionState, SlashCommand,
    StoreError, Surface, TurnError,
    client::watchers::Watchers,
    input::commands,
    log::Notified,
    model::get_in_time,
    session::{Session, controls::Controls},
    session::{
        controls::Running,
        message::{Message, Queued},
    },
    settings::Live,
    sources::Sources,
    sources::server::ClientServer,
};
use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};
use system::AbsPath;
use tokio::sync::{mpsc, oneshot, watch};

/// Sends messages to a session's task. Cheap to clone; the session closes when [`SessionHandle::close`] is called.
#[derive(Clone)]
pub struct SessionHandle {
    id: SessionId,
    cwd: AbsPath,
    inbox: mpsc::UnboundedSender<Message>,
    state: watch::Receiver<SessionState>,
    models: Arc<dyn Models>,
    told: Arc<Notified>,
    sources: Sources,
    watchers: Arc<Watchers>,
    prompts: Arc<AtomicU64>,
    settings: Arc<Live>,
    running: Arc<Running>,
}

/// A prompt that was handed to its session, to be waited for or taken back.
pub struct Prompt {
    number: u64,
    inbox: mpsc::UnboundedSender<Message>,
    inserted: oneshot::Receiver<MessageId>,
    settled: oneshot::Receiver<Result<PromptOutcome, TurnError>>,
}

/// Why a session could not be made, opened or changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SessionError {
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The model said no.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The settings of the session's folder do not hold; what is wrong, and where.
    #[error("the session cannot be opened: {0}")]
    Settings(String),
    /// The folder given is not the session's own.
    #[error("session {session} belongs to {actual}, not to {given}; pass its own cwd")]
    OtherFolder {
        /// The session.
        session: SessionId,
        /// Its folder.
        actual: AbsPath,
        /// The folder given.
        given: AbsPath,
    },
    /// The session was closed.
    #[error("the session is closed")]
    Closed,
}

impl SessionHandle {
    /// The handle of a session whose task takes messages from the other end of `inbox`.
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
            told: session.log().told().clone(),
            sources: session.toolbox().sources().clone(),
            watchers,
            prompts: Arc::default(),
            settings: controls.settings().clone(),
            running: controls.running().clone(),
        }
    }

    /// The session's id.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// The session's folder.
    pub fn cwd(&self) -> &AbsPath {
        &self.cwd
    }

    /// What the session is set to now.
    pub fn state(&self) -> SessionState {
        self.state.borrow().clone()
    }

    /// The settings that hold for the session now.
    pub async fn settings(&self) -> Arc<RuntimeOptions> {
        self.settings.look().await
    }

    /// Has the session look at its settings, which may have changed, and tell its clients what has.
    pub fn settings_changed(&self) {
        // One whose task has ended has nobody to tell.
        let _ = self.inbox.send(Message::Settings);
    }

    /// The slash commands that a prompt may be now; the client is told when they become others.
    pub fn commands(&self) -> Vec<SlashCommand> {
        commands::all(&self.sources)
    }

    /// Runs a prompt's turn, after those that wait already, and returns how it ended. Every prompt settles exactly once; dropping the
    /// future does not cancel the turn.
    pub async fn prompt(&self, content: Vec<Content>) -> Result<PromptOutcome, TurnError> {
        self.start(content).settled().await
    }

    /// Hands over a prompt, to run after those that wait already.
    pub fn start(&self, content: Vec<Content>) -> Prompt {
        let steering = match content.as_slice() {
            [Content::Text(text)] => commands::steering(text),
            _ => None,
        };
        match steering {
            Some(text) => self.steer(vec![Content::text(text)]),
            None => self.send(content, Message::Prompt),
        }
    }

    /// Says something to the running turn: it reaches the model before its next request, and is settled as soon as it is part of the
    /// conversation. Where no turn runs, or the one that does ends before that, it is a prompt like any other.
    pub fn steer(&self, content: Vec<Content>) -> Prompt {
        self.send(content, Message::Steer)
    }

    fn send(&self, content: Vec<Content>, message: impl FnOnce(Queued) -> Message) -> Prompt {
        let number = self.prompts.fetch_add(1, Ordering::Relaxed);
        let (reply, settled) = oneshot::channel();
        let (recorded, inserted) = oneshot::channel();
        // A task that is gone drops the reply, which settles the prompt as closed.
        let _ = self.inbox.send(message(Queued { number, content, recorded, reply }));
        Prompt { number, inbox: self.inbox.clone(), inserted, settled }
    }

    /// Runs `then` while the client is told of nothing, and returns the number of the last stored event that it was told of, and what is going
    /// on beside the stored ones: the text so far of messages that are being streamed, and what running calls show. What is told after it
    /// follows both.
    pub fn at_rest(&self, then: impl FnOnce()) -> (u64, Vec<SessionEvent>) {
        self.told.at_rest(then)
    }

    /// Lets one more client be told of everything and asked everything from here on. False when the last one has gone: the session is about to be
    /// closed, and can be opened anew once it is.
    pub fn join(&self, surface: Surface) -> bool {
        self.told.join(&self.watchers, surface)
    }

    /// Lets a client go; whether others are left. When none is, the session has to be closed. Tools that acted through the one that goes act through
    /// the next from the next turn on, and what was allowed where they acted is forgotten.
    pub fn leave(&self, client: &Arc<dyn Client>) -> bool {
        self.watchers.leave(client)
    }

    /// Whether a client is told of this session.
    pub fn tells(&self, client: &Arc<dyn Client>) -> bool {
        self.watchers.includes(client)
    }

    /// Whether more than one client is told of it.
    pub fn is_shared(&self) -> bool {
        self.watchers.count() > 1
    }

    /// Whether its task has ended.
    pub(crate) fn is_closed(&self) -> bool {
        self.inbox.is_closed()
    }

    /// Whether both send to the same task.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.inbox.same_channel(&other.inbox)
    }

    /// Whether another process has taken the session over: nothing more can be recorded, and it must be opened anew.
    pub fn is_lost(&self) -> bool {
        self.told.is_lost()
    }

    /// Cancels the running turn and drops the prompts that wait (they end as cancelled too).
    /// Nothing happens when none runs. It overtakes what the session has been sent and has not
    /// taken yet: the running turn hears of it at once.
    pub fn cancel(&self) {
        self.running.cancel();
        // A task that is gone runs nothing that could be cancelled.
        let _ = self.inbox.send(Message::Cancel);
    }

    /// Changes the agent mode, for the running turn's next step too. The client is notified; it is recorded.
    pub async fn set_mode(&self, mode: Mode) -> Result<(), SessionError> {
        self.change(|reply| Message::SetMode(mode, reply)).await
    }

    /// Changes the permission mode and forgets the session's grants. The client is notified; it is recorded.
    pub async fn set_permission_mode(&self, mode: PermissionMode) -> Result<(), SessionError> {
        self.change(|reply| Message::SetPermissionMode(mode, reply)).await
    }

    /// Changes how much the model is to think, from the next request on. The client is notified; it is recorded.
    pub async fn set_effort(&self, effort: Option<Effort>) -> Result<(), SessionError> {
        self.change(|reply| Message::SetEffort(effort, reply)).await
    }

    /// Gives the session a title; none is ever made up after it. The client is notified; it is recorded.
    pub async fn set_title(&self, title: String) -> Result<(), SessionError> {
        self.change(|reply| Message::SetTitle(title, reply)).await
    }

    /// Replaces the servers that the client gave, from the next request on. They are not stored.
    pub(crate) fn set_servers(&self, servers: &[ClientServer]) {
        self.sources.set_servers(servers);
    }

    /// Replaces the further folders the session may work in, from the next turn on; they are stored.
    pub async fn set_directories(&self, folders: Vec<AbsPath>) -> Result<(), SessionError> {
        self.change(|reply| Message::SetDirectories(folders, reply)).await
    }

    /// Changes the model, from the next request on. The client is notified; it is recorded. A model that cannot be had is an error,
    /// and the session stays on the one it was on.
    pub async fn set_model(&self, id: &str) -> Result<(), SessionError> {
        get_in_time(self.models.as_ref(), id).await?;
        self.change(|reply| Message::SetModel(id.to_owned(), reply)).await
    }

    /// Takes changes of files back, through the session's own system: the editor's buffers where it has them. Not while a turn runs. It is
    /// recorded, and can be taken back itself.
    pub async fn rewind(&self, target: RewindTarget) -> Result<RewindReport, RewindError> {
        let (reply, done) = oneshot::channel();
        self.inbox.send(Message::Rewind(target, reply)).map_err(|_| RewindError::Closed)?;
        done.await.map_err(|_| RewindError::Closed)?
    }

    /// Cancels what runs, waits for it to settle, gives the lease back and ends the task. Closing twice is fine.
    pub async fn close(&self) {
        let (closed, done) = oneshot::channel();
        if self.inbox.send(Message::Close(closed)).is_ok() {
            // An error means that the task ended before it took the message.
            let _ = done.await;
        }
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

impl Prompt {
    /// Takes back this prompt alone: one that waits never runs, one that runs is cancelled. Either way it settles as cancelled.
    pub fn cancel(&self) {
        // A task that is gone has settled it.
        let _ = self.inbox.send(Message::Withdraw(self.number));
    }

    /// Waits until it is part of the conversation, recorded and told; `None` when it settles without that (it was taken back while it waited,
    /// say). To be called once.
    pub async fn inserted(&mut self) -> Option<MessageId> {
        (&mut self.inserted).await.ok()
    }

    /// Waits for the end of its turn. May be called again when the future was dropped before it was done, and not after that.
    pub async fn settled(&mut self) -> Result<PromptOutcome, TurnError> {
        (&mut self.settled).await.unwrap_or(Err(TurnError::Closed))
    }
}

impl std::fmt::Debug for SessionHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SessionHandle").field("id", &self.id).field("cwd", &self.cwd).finish_non_exhaustive()
    }
}
