//! Runs the interface: the terminal on a thread of its own, the runtime on the caller's.

use crate::{
    app::{App, FirstMessage, effect::Effect},
    client::{
        mailbox::{Letter, Mailbox},
        messages::Messages,
    },
    driver::{
        Command, Driver,
        host::Host,
        request::{Request, Which},
    },
    limits::{FRAME, FRAME_UNSYNCHRONISED},
    options::AppOptions,
    screens::{
        frame::Frame,
        terminal::{Options as TerminalOptions, Terminal, TerminalError},
    },
    terminal::device::restore,
    theme::Background,
};
use agent::{Runtime, SessionId};
use std::{
    future::Future,
    io,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, sleep_until},
};

/// How the interface begins.
#[derive(Debug)]
pub struct Start {
    /// How it looks and behaves.
    pub app: AppOptions,
    /// How the terminal is opened.
    pub terminal: TerminalOptions,
    /// The first message.
    pub first: FirstMessage,
    /// Whether the list of sessions is shown first.
    pub choose: bool,
    /// What starts this program as the watcher of the terminal, with
    /// [`crate::terminal::watcher::run`].
    pub watcher: Vec<String>,
}

/// Why the interface ended or did not begin.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The terminal cannot be used.
    #[error(transparent)]
    Terminal(#[from] TerminalError),
    /// The terminal's thread could not be started.
    #[error("the terminal's thread cannot be started: {0}")]
    Thread(#[source] io::Error),
    /// The terminal's thread panicked, which is a defect. The session is kept.
    #[error("the interface failed, which is a defect in tiller, please report it: {text}")]
    Panicked {
        /// The text of the panic.
        text: String,
        /// The session that was open.
        session: Option<SessionId>,
    },
}

/// Runs the interface until the user quits, the terminal is gone, or `stop` completes. Returns the
/// session that was open last. `messages` are errors that belong to no request.
///
/// # Errors
///
/// Fails if there is no terminal, or with the text of a panic.
pub async fn run(
    runtime: Arc<Runtime>,
    host: Arc<dyn Host>,
    start: Start,
    messages: Arc<Messages>,
    stop: impl Future<Output = ()>,
) -> Result<Option<SessionId>, RunError> {
    let mailbox = Arc::new(Mailbox::default());
    let (commands, received) = mpsc::unbounded_channel();
    let driver = Driver::new(runtime, Arc::clone(&host), Arc::clone(&mailbox));
    let (ended, screen_ended) = oneshot::channel();
    let to_driver = commands.clone();
    let thread = std::thread::Builder::new().name("terminal".to_owned());
    let thread = thread
        .spawn(move || {
            let shown = show(start, &mailbox, &messages, to_driver, host.as_ref());
            // The runtime's side has ended.
            let _ = ended.send(());
            shown
        })
        .map_err(RunError::Thread)?;
    let driving = driver.run(received);
    tokio::pin!(driving);
    let mut session = None;
    let mut driver_ended = false;
    tokio::select! {
        last = &mut driving => (session, driver_ended) = (last, true),
        _ = screen_ended => {}
        () = stop => {}
    }
    // The driver has ended.
    let _ = commands.send(Command::Request(Request::Quit));
    if !driver_ended {
        session = driving.await;
    }
    match thread.join() {
        Ok(shown) => shown.map(|()| session),
        Err(panic) => {
            restore();
            Err(RunError::Panicked { text: agent::panic_text(&*panic).to_owned(), session })
        }
    }
}

/// Runs the terminal's side on the calling thread.
fn show(
    start: Start,
    mailbox: &Mailbox,
    messages: &Messages,
    commands: mpsc::UnboundedSender<Command>,
    host: &dyn Host,
) -> Result<(), RunError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(RunError::Thread)?;
    runtime.block_on(async {
        let mut terminal = Terminal::open(start.terminal)?;
        terminal.watch(&start.watcher);
        let (columns, rows) = terminal.size();
        let mut app = App::new(start.app, (columns, rows), start.first);
        app.set_echo(terminal.echoes());
        terminal.wait_for_background().await;
        let mut screen = ScreenLoop {
            terminal,
            app,
            commands,
            host,
            begun: Instant::now(),
            changed: true,
            drawn: None,
            quitting: false,
            watched: None,
        };
        screen.app.set_today(today());
        screen.request(Request::Open(Which::First { chosen: None, take_over: false }));
        if start.choose {
            let effects = screen.app.choose_session();
            screen.perform(effects).await;
        }
        screen.run(mailbox, messages).await;
        screen.terminal.close();
        Ok(())
    })
}

/// The loop of the terminal's thread.
struct ScreenLoop<'a> {
    terminal: Terminal,
    app: App,
    commands: mpsc::UnboundedSender<Command>,
    host: &'a dyn Host,
    begun: Instant,
    /// Whether something changed since the last frame.
    changed: bool,
    /// When the last frame was drawn.
    drawn: Option<Instant>,
    quitting: bool,
    /// The session that the terminal's watcher knows of.
    watched: Option<SessionId>,
}

impl ScreenLoop<'_> {
    /// Has the theme follow the colour of the background, once that is known.
    fn follow_background(&mut self) {
        if let Some(colour) = self.terminal.background() {
            self.app.set_background(Background::of(colour));
        }
    }

    async fn run(&mut self, mailbox: &Mailbox, messages: &Messages) {
        self.follow_background();
        let (mut at_once, mut has_messages) = (true, false);
        while !self.quitting {
            // A terminal that takes nothing would only make them pile up here.
            if has_messages && self.terminal.is_ready() {
                has_messages = false;
                for message in messages.take() {
                    self.app.fail(&message);
                }
            }
            let due = self.drawn.map_or(self.begun, |drawn| drawn + self.pause());
            if self.changed && (at_once || Instant::now() >= due) {
                self.draw();
            }
            at_once = false;
            let tick = self.app.next_tick().map(|tick| self.begun + tick);
            let wake = if self.changed { Some(due) } else { None }.into_iter().chain(tick).min();
            tokio::select! {
                biased;
                input = self.terminal.input() => {
                    let Some(input) = input else { break };
                    at_once = true;
                    self.changed = true;
                    self.follow_background();
                    self.app.set_today(today());
                    let effects = self.app.input(input, self.begun.elapsed());
                    self.perform(effects).await;
                }
                () = mailbox.arrived() => {
                    self.changed = true;
                    self.app.set_today(today());
                    self.app.set_now(self.begun.elapsed());
                    for letter in mailbox.take() {
                        // The user asked for it, and waits.
                        at_once |= matches!(letter, Letter::Reply(_));
                        let effects = self.app.letter(letter);
                        self.perform(effects).await;
                    }
                    if self.app.session_id() != self.watched.as_ref() {
                        self.watched = self.app.session_id().cloned();
                        self.terminal.show_session(self.watched.as_ref().map_or("", SessionId::as_str));
                    }
                }
                () = messages.arrived() => {
                    has_messages = true;
                    self.changed = true;
                    self.app.set_now(self.begun.elapsed());
                }
                () = sleep_until(wake.unwrap_or(self.begun)), if wake.is_some() => {
                    if tick.is_some_and(|tick| Instant::now() >= tick) {
                        self.changed = true;
                        self.app.set_today(today());
                        let effects = self.app.tick(self.begun.elapsed());
                        self.perform(effects).await;
                    }
                }
            }
        }
        // What was finished last is committed before the live region is removed.
        self.app.leave();
        self.draw();
    }

    /// The least time between two frames that no key asked for.
    fn pause(&self) -> Duration {
        match self.terminal.capabilities().synchronised {
            Some(true) => FRAME,
            _ => FRAME_UNSYNCHRONISED,
        }
    }

    fn draw(&mut self) {
        if !self.terminal.is_ready() {
            // It says when it is ready; until then nothing is handed out that it would refuse.
            self.terminal.draw(&Frame::default());
            self.drawn = Some(Instant::now());
            return;
        }
        let frame = self.app.frame();
        self.terminal.draw(&frame);
        self.changed = false;
        self.drawn = Some(Instant::now());
    }

    /// Takes the terminal again after another program had it; without one the interface ends.
    fn resume_terminal(&mut self) {
        self.quitting |= self.terminal.resume().is_err();
    }

    fn request(&self, request: Request) {
        // The driver has ended, and so will this loop.
        let _ = self.commands.send(Command::Request(request));
    }

    async fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Request(request) => self.request(request),
                Effect::Answer(id, answer) => {
                    // The driver has ended, and so will this loop.
                    let _ = self.commands.send(Command::Answer(id, answer));
                }
                Effect::Copy(text) => {
                    let taken = self.terminal.copy(&text);
                    self.app.copied(&text, taken);
                    self.request(Request::Copy(text));
                }
                Effect::Notify(occasion) => {
                    let text = self.app.notification(occasion);
                    self.terminal.notify(&text);
                }
                Effect::Suspend => {
                    if !self.terminal.suspend() {
                        self.app.fail("there is no shell to return to");
                    }
                }
                Effect::Edit(text) => {
                    self.terminal.pause();
                    let edited = self.host.edit(&text).await;
                    self.resume_terminal();
                    self.app.edited(edited);
                }
                Effect::SetUp => {
                    self.terminal.pause();
                    let done = self.host.set_up().await;
                    self.resume_terminal();
                    if let Err(error) = done {
                        self.app.fail(&error);
                    }
                    self.request(Request::OpenAgain);
                }
                Effect::Screen(screen) => {
                    if !self.terminal.set_screen(screen) {
                        self.app.stay_plain();
                    }
                }
                Effect::Switches(switches) => self.terminal.set_switches(switches),
                Effect::Title(title) => self.terminal.set_title(&title),
                Effect::AskBackground => self.terminal.ask_background(),
                Effect::Repaint => self.terminal.redraw(),
                Effect::Quit => self.quitting = true,
            }
        }
    }
}

/// Returns the time of day, in milliseconds since the epoch.
fn today() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
