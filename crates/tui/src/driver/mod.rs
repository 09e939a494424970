//! Carries out what the interface asks of the runtime, on the runtime's thread.

pub mod host;
mod models;
pub mod reply;
pub mod request;
mod watch;

use crate::{
    client::{
        Screen,
        asks::{Answer, AskId},
        mailbox::{Letter, Mailbox},
    },
    limits::{SESSIONS_LISTED, WATCH_PAUSE},
    settings::SettingsFor,
};
use agent::{
    Archived, Client, CreateSession, ListQuery, OpenSession, RewindTarget, Runtime, SearchQuery,
    SessionError, SessionHandle, SessionId, StoreError, Surface,
};
use host::{Clip, Host, OpenError, Opened};
use reply::{Attachment, ListedSession, OpenedSession, Reply};
use request::{PromptId, Request, When, Which};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};
use tokio::sync::{mpsc, oneshot};
use watch::Watched;

/// What the interface sends to the runtime's thread.
#[derive(Debug)]
pub enum Command {
    /// A request.
    Request(Request),
    /// The answer to a question.
    Answer(AskId, Answer),
}

/// The session that is shown, and what it needs of the runtime.
pub struct Driver {
    runtime: Arc<Runtime>,
    host: Arc<dyn Host>,
    mailbox: Arc<Mailbox>,
    open: Option<Open>,
    /// The first session, if one was chosen, that was not opened because there was no model.
    without_model: Option<Option<SessionId>>,
    /// The session that is read while another process holds it.
    watched: Option<Watched>,
    prompts: HashMap<PromptId, oneshot::Sender<()>>,
    ended: (mpsc::UnboundedSender<PromptId>, mpsc::UnboundedReceiver<PromptId>),
}

struct Open {
    session: SessionHandle,
    screen: Arc<Screen>,
}

impl Driver {
    /// Creates a driver that has no session yet.
    pub fn new(runtime: Arc<Runtime>, host: Arc<dyn Host>, mailbox: Arc<Mailbox>) -> Self {
        let ended = mpsc::unbounded_channel();
        Self {
            runtime,
            host,
            mailbox,
            open: None,
            without_model: None,
            watched: None,
            prompts: HashMap::new(),
            ended,
        }
    }

    /// Carries out requests in order until [`Request::Quit`] or the end of the channel, then closes
    /// the session. Returns the id of the session that was open last.
    pub async fn run(mut self, mut commands: mpsc::UnboundedReceiver<Command>) -> Option<SessionId> {
        match self.host.history().await {
            Ok(lines) => self.reply(Reply::History(lines)),
            Err(error) => self.reply(Reply::Failed(error)),
        }
        loop {
            tokio::select! {
                command = commands.recv() => match command {
                    None | Some(Command::Request(Request::Quit)) => break,
                    Some(Command::Answer(id, answer)) => {
                        if let Some(open) = &self.open {
                            open.screen.answer(id, answer);
                        }
                    }
                    Some(Command::Request(request)) => self.carry_out(request).await,
                },
                () = tokio::time::sleep(WATCH_PAUSE), if self.is_watching() => self.follow().await,
                Some(id) = self.ended.1.recv() => {
                    self.prompts.remove(&id);
                }
            }
        }
        let last = self.open.as_ref().map(|open| open.session.id().clone());
        self.leave().await;
        self.reply(Reply::Ended);
        last
    }

    fn reply(&self, reply: Reply) {
        self.mailbox.push(Letter::Reply(Box::new(reply)));
    }

    /// Reports the result of a change that shows in an event when it succeeds.
    fn report<T, E: ToString>(&self, result: Result<T, E>) {
        if let Err(error) = result {
            self.reply(Reply::Failed(error.to_string()));
        }
    }

    async fn carry_out(&mut self, request: Request) {
        #[cfg(debug_assertions)]
        if let Request::Panic { caught } = request {
            return Self::panic(caught);
        }
        if let Request::Open(which) = request {
            self.open(which).await;
            // Only a session that is opened resets it.
            if self.without_model.is_some() {
                self.reply(Reply::SetupChoices(self.host.setup_choices().await));
            }
            return;
        }
        if let Request::TakeOver = request {
            return self.take_over().await;
        }
        if let Request::OpenAgain
        | Request::FindSetupChoices
        | Request::SetupChoicesOf(_)
        | Request::TakeModel(_) = request
        {
            return self.find_model(request).await;
        }
        if let Some(open) = &self.open {
            let session = open.session.clone();
            self.in_session(&session, request).await;
        } else {
            self.without_session(request).await;
        }
    }

    async fn in_session(&mut self, session: &SessionHandle, request: Request) {
        match request {
            Request::Send { id, content, is_own: true, .. } => {
                let line = agent::own_command(&content).unwrap_or_default();
                self.await_prompt(id, session.start_typed(&line));
            }
            Request::Send { id, content, when, .. } => self.await_prompt(
                id,
                match when {
                    When::Next if session.state().busy => session.steer(content),
                    When::Next | When::After => session.start(content),
                },
            ),
            Request::Withdraw(id) => {
                if let Some(cancel) = self.prompts.remove(&id) {
                    // A prompt that has settled has nothing to cancel.
                    let _ = cancel.send(());
                }
            }
            Request::Cancel => session.cancel(),
            Request::SetMode(mode) => self.report(session.set_mode(mode).await),
            Request::SetPermissionMode(mode) => self.report(session.set_permission_mode(mode).await),
            Request::SetEffort(effort) => self.report(session.set_effort(effort).await),
            Request::SetModel { id, default } => {
                let changed = session.set_model(&id).await;
                let failed = changed.is_err();
                self.report(changed);
                if default && !failed {
                    match self.host.set_default_model(&id).await {
                        Ok(done) => self.reply(Reply::Done(done)),
                        Err(error) => self.reply(Reply::Failed(error)),
                    }
                }
            }
            Request::Rewind(target) => self.rewind(session, target).await,
            Request::ListTurns => match self.runtime.checkpoints(session.id()).await {
                Ok(turns) => self.reply(Reply::Turns(turns)),
                Err(error) => self.reply(Reply::Failed(error.to_string())),
            },
            Request::ListFiles => match self.host.files(session.cwd()).await {
                Ok(files) => self.reply(Reply::Files(files)),
                Err(error) => self.reply(Reply::Failed(error)),
            },
            Request::CancelSubagent(id) => {
                if !session.cancel_subagent(Some(&id)) {
                    self.reply(Reply::Failed(format!("subagent {id} is not at work")));
                }
            }
            other => self.without_session(other).await,
        }
    }

    async fn without_session(&self, request: Request) {
        match request {
            Request::ListModels => self.list_models(),
            Request::ListSessions { words, everywhere } => self.list(&words, everywhere).await,
            Request::KeepScope { everywhere } => self.report(self.host.keep_scope(everywhere).await),
            // Without an answer the list lacks its preview, and nothing else.
            Request::Glance(id) => {
                if let Ok(glance) = self.runtime.glance(&id).await {
                    self.reply(Reply::Glance(id, glance));
                }
            }
            Request::Rename { id, title } => self.report(self.runtime.set_title(&id, title).await),
            Request::Archive(id) => self.report(self.runtime.set_archived(&id, true).await),
            Request::ReadClipboard => match self.host.clipboard().await {
                Ok(Clip::Text(text)) => self.reply(Reply::Paste(text)),
                Ok(Clip::Image(image)) => self.attach(image).await,
                Err(error) => self.reply(Reply::Failed(error)),
            },
            Request::LoadImage(path) => match self.host.image(&path).await {
                Ok(image) => self.attach(image).await,
                Err(error) => self.reply(Reply::Failed(error)),
            },
            Request::Dropped { path, text } => match self.host.image(&path).await {
                Ok(image) => self.attach(image).await,
                Err(_) => self.reply(Reply::Paste(text)),
            },
            Request::Copy(text) => {
                self.host.copy(&text).await;
            }
            Request::ReadSettings(why) => self.settings(why).await,
            Request::ChangeSetting { name, value } => {
                match self.host.change_setting(&name, value.as_deref()).await {
                    Ok(done) => self.settings(SettingsFor::Changed { name, done }).await,
                    Err(error) => self.reply(Reply::Failed(error)),
                }
            }
            Request::ListThemes(purpose) => match self.host.themes().await {
                Ok(themes) => self.reply(Reply::Themes(purpose, themes)),
                Err(error) => self.reply(Reply::Failed(error)),
            },
            Request::Remember(entry) => self.report(self.host.remember(entry).await),
            Request::Export(path) => self.export(&path).await,
            Request::ShowSubagent(id) => self.show_subagent(&id).await,
            Request::Send { id, .. } => {
                self.reply(Reply::Settled(id, Err(agent::TurnError::Closed)));
            }
            #[cfg(debug_assertions)]
            Request::Panic { .. } => {}
            // Nothing runs that these could change; `Open` and `Quit` were handled before.
            Request::Withdraw(_)
            | Request::Cancel
            | Request::SetMode(_)
            | Request::SetPermissionMode(_)
            | Request::SetEffort(_)
            | Request::SetModel { .. }
            | Request::Rewind(_)
            | Request::ListTurns
            | Request::ListFiles
            | Request::CancelSubagent(_)
            | Request::Open(_)
            | Request::OpenAgain
            | Request::FindSetupChoices
            | Request::SetupChoicesOf(_)
            | Request::TakeModel(_)
            | Request::TakeOver
            | Request::Quit => {
                let why = match &self.watched {
                    Some(_) => "the session is read-only until you take it over",
                    None => "no session is open",
                };
                self.reply(Reply::Failed(why.to_owned()));
            }
        }
    }

    #[cfg(debug_assertions)]
    #[expect(clippy::panic, reason = "it is what the tests ask for")]
    fn panic(caught: bool) {
        match caught {
            true => drop(tokio::spawn(async { panic!("in a task of the runtime") })),
            false => panic!("on the runtime's thread"),
        }
    }

    /// Reads the settings, after one was changed or for a list of them.
    async fn settings(&self, why: SettingsFor) {
        match self.host.settings().await {
            Ok(read) => self.reply(Reply::Settings(why, Box::new(read))),
            Err(error) => self.reply(Reply::Failed(error)),
        }
    }

    /// Hands an image to the composer, if the session's model takes images.
    async fn attach(&self, image: Attachment) {
        let refusal = match &self.open {
            Some(open) => self.runtime.refuses_images(&open.session.state().model).await,
            None => None,
        };
        self.reply(match refusal {
            Some(refusal) => Reply::Failed(format!("{refusal}; choose another model with /model")),
            None => Reply::Image(Box::new(image)),
        });
    }

    /// Sends a prompt; a task waits for its end, so that requests go on.
    /// Reports when a prompt is part of the conversation and when it has settled.
    fn await_prompt(&mut self, id: PromptId, mut prompt: agent::Prompt) {
        let (cancel, mut cancelled) = oneshot::channel();
        self.prompts.insert(id, cancel);
        let (mailbox, ended) = (self.mailbox.clone(), self.ended.0.clone());
        let reply = move |reply| mailbox.push(Letter::Reply(Box::new(reply)));
        tokio::spawn(async move {
            let mut cancel_sent = false;
            let inserted = loop {
                tokio::select! {
                    biased;
                    message = prompt.inserted() => break message,
                    Ok(()) = &mut cancelled, if !cancel_sent => {
                        cancel_sent = true;
                        prompt.cancel();
                    }
                }
            };
            if inserted.is_some() {
                reply(Reply::Inserted(id));
            }
            let settled = loop {
                tokio::select! {
                    biased;
                    settled = prompt.settled() => break settled,
                    Ok(()) = &mut cancelled, if !cancel_sent => {
                        cancel_sent = true;
                        prompt.cancel();
                    }
                }
            };
            reply(Reply::Settled(id, settled));
            // The driver has ended.
            let _ = ended.send(id);
        });
    }

    async fn rewind(&self, session: &SessionHandle, target: RewindTarget) {
        match session.rewind(target).await {
            Ok(report) => self.reply(Reply::Done(report.to_string().trim_end().to_owned())),
            Err(error) => self.reply(Reply::Failed(error.to_string())),
        }
    }

    /// Writes the session that is open or read to a file.
    async fn export(&self, path: &str) {
        let open = self.open.as_ref().map(|open| open.session.id());
        let Some(session) = open.or(self.watched.as_ref().map(|watched| &watched.id)) else {
            return self.reply(Reply::Failed("no session is open".to_owned()));
        };
        match self.host.export(session, path).await {
            Ok(written) => self.reply(Reply::Done(format!("written to {written}"))),
            Err(error) => self.reply(Reply::Failed(error)),
        }
    }

    /// Does what a choice of the first setup says.
    async fn find_model(&mut self, request: Request) {
        let chosen = self.without_model.clone().flatten();
        let failed = match request {
            Request::OpenAgain => {
                self.open(Which::First { chosen, take_over: false }).await;
                None
            }
            Request::SetupChoicesOf(provider) => match self.host.setup_choices_of(&provider).await {
                Ok(choices) => return self.reply(Reply::SetupChoices(choices)),
                Err(error) => Some(error),
            },
            Request::TakeModel(id) => match self.host.take_model(&id).await {
                Ok(done) => {
                    self.open(Which::First { chosen, take_over: false }).await;
                    self.reply(Reply::Done(done));
                    None
                }
                Err(error) => Some(error),
            },
            _ => None,
        };
        if self.open.is_none() && self.watched.is_none() {
            self.reply(Reply::SetupChoices(self.host.setup_choices().await));
        }
        if let Some(error) = failed {
            self.reply(Reply::Failed(error));
        }
    }

    /// Leaves the open session and opens another. If that fails, the open one stays.
    async fn open(&mut self, which: Which) {
        let screen = Arc::new(Screen::new(self.mailbox.clone()));
        let client: Arc<dyn Client> = screen.clone();
        let surface = Surface { client, system: self.host.system() };
        if let (Some(open), Which::Stored { id, .. }) = (&self.open, &which)
            && open.session.id() == id
        {
            return self.reply(Reply::Done("this session is open already".to_owned()));
        }
        let first = if let Which::First { chosen, .. } = &which { chosen.clone() } else { None };
        let (session, new) = match self.opened(which.clone(), surface).await {
            Ok(Opened { session, new }) => (session, new),
            Err(OpenError::Held { id, holder }) => return self.watch(id, holder, which).await,
            Err(OpenError::NoModel) => {
                self.without_model = Some(first);
                return;
            }
            Err(OpenError::Failed(message)) => return self.reply(Reply::Failed(message)),
        };
        self.leave().await;
        let state = session.state();
        let (id, cwd, commands) = (session.id().clone(), session.cwd().clone(), session.commands());
        self.reply(Reply::Opened(Box::new(OpenedSession { id, cwd, state, commands, new, held: None })));
        let held = screen.clone();
        let (until, going_on) = session.at_rest(|_| held.hold(Vec::new()));
        self.replay(&session, until).await;
        going_on.into_iter().for_each(|event| self.mailbox.push(Letter::Event(Box::new(event))));
        screen.deliver();
        self.reply(Reply::Replayed);
        self.open = Some(Open { session, screen });
    }

    async fn opened(&self, which: Which, surface: Surface) -> Result<Opened, OpenError> {
        let create = CreateSession {
            cwd: self.host.cwd().clone(),
            additional_directories: Vec::new(),
            servers: Vec::new(),
        };
        let new = matches!(which, Which::New);
        let opened = match &which {
            Which::First { chosen, take_over } => {
                return self.host.open_first(chosen.clone(), *take_over, surface).await;
            }
            Which::New => self.runtime.create(create, |_| surface).await,
            Which::Stored { id, take_over } => {
                self.expect_folder(id).await?;
                let how = OpenSession { take_over: *take_over, ..OpenSession::default() };
                self.runtime.open(id, how, |_| surface).await
            }
            Which::Fork(id) => match self.runtime.record(id).await {
                Ok(record) => {
                    let create = CreateSession {
                        cwd: record.cwd,
                        additional_directories: record.additional_directories,
                        ..create
                    };
                    self.runtime.fork(id, create, |_| surface).await
                }
                Err(error) => Err(error.into()),
            },
        };
        let session = opened.map_err(|error| match (error, which) {
            (SessionError::Store(StoreError::Held { holder, .. }), Which::Stored { id, .. }) => {
                OpenError::Held { id, holder }
            }
            (error, _) => OpenError::Failed(error.to_string()),
        })?;
        Ok(Opened { session, new })
    }

    /// Checks that the directory of a stored session exists.
    async fn expect_folder(&self, id: &SessionId) -> Result<(), OpenError> {
        let Ok(record) = self.runtime.record(id).await else { return Ok(()) };
        match self.host.system().metadata(&record.cwd).await {
            Err(error) if error.is_not_found() => Err(OpenError::Failed(format!(
                "session {id} is of {}, which does not exist any more. If the project is now in another folder, run `tiller sessions move {id} FOLDER`",
                record.cwd
            ))),
            _ => Ok(()),
        }
    }

    async fn replay(&self, session: &SessionHandle, until: u64) {
        let mut pages = self.runtime.shown_events(session.id(), until);
        loop {
            match pages.next().await {
                Ok(page) if page.is_empty() => return,
                Ok(page) => {
                    page.into_iter().for_each(|event| self.mailbox.push(Letter::Event(Box::new(event))));
                    self.mailbox.room().await;
                }
                Err(error) => return self.reply(Reply::Failed(error.to_string())),
            }
        }
    }

    /// Reads the transcript of a subagent, whose session is never opened by itself.
    async fn show_subagent(&self, id: &SessionId) {
        let mut events = Vec::new();
        match self.runtime.replay(id, &mut |event| events.push(event.clone())).await {
            Ok(()) => self.reply(Reply::SubagentTranscript(events)),
            Err(error) => self.reply(Reply::Failed(error.to_string())),
        }
    }

    /// Closes the open session: its turn is cancelled and settles.
    async fn leave(&mut self) {
        self.watched = None;
        self.without_model = None;
        if let Some(open) = self.open.take() {
            open.session.close().await;
        }
    }

    /// Lists the models that are known, and again once servers on this machine were looked for.
    fn list_models(&self) {
        let (models, host) = (Arc::clone(self.runtime.models()), Arc::clone(&self.host));
        let mailbox = self.mailbox.clone();
        tokio::spawn(async move {
            let known = models::listed(models.as_ref(), host.as_ref()).await;
            mailbox.push(Letter::Reply(Box::new(Reply::Models { models: known, complete: false })));
            models.look_again().await;
            let found = models::listed(models.as_ref(), host.as_ref()).await;
            mailbox.push(Letter::Reply(Box::new(Reply::Models { models: found, complete: true })));
        });
    }

    async fn list(&self, words: &str, everywhere: bool) {
        let cwd = (!everywhere).then(|| self.host.cwd().clone());
        let listed = if words.trim().is_empty() {
            let query = ListQuery {
                cwd,
                archived: Archived::Exclude,
                // A new session is none to choose before its first prompt.
                begun_or: Some(Vec::new()),
                limit: SESSIONS_LISTED,
                ..ListQuery::default()
            };
            self.runtime.list_of_folder(self.host.system().as_ref(), query).await.map(|page| {
                let of = |record| ListedSession { record, excerpt: None };
                let more = page.next_cursor.is_some();
                (page.sessions.into_iter().map(of).collect::<Vec<_>>(), more)
            })
        } else {
            let query =
                SearchQuery { text: words.to_owned(), cwd, limit: SESSIONS_LISTED, ..SearchQuery::default() };
            self.runtime.search(query).await.map(|hits| {
                let (mut seen, more) = (HashSet::new(), hits.len() >= SESSIONS_LISTED);
                // The best match of each session.
                let best = hits.into_iter().filter(|hit| seen.insert(hit.session.id.clone()));
                let of =
                    |hit: agent::SearchHit| ListedSession { record: hit.session, excerpt: Some(hit.excerpt) };
                (best.map(of).collect(), more)
            })
        };
        match listed {
            Ok((sessions, more)) => self.reply(Reply::Sessions { sessions, more }),
            Err(error) => self.reply(Reply::Failed(error.to_string())),
        }
    }
}
