//! The interface as a state machine: inputs, items from the runtime and the time go in, effects
//! come out, and [`App::frame`] is what is shown.
//!
//! It performs no I/O and reads no clock, so that tests can play any order of keys and events.

mod act;
mod appearance;
mod binding;
pub mod commands;
mod dropped;
pub mod effect;
mod failure;
mod held;
mod letters;
mod lists;
mod plain;
mod reading;
mod send;
pub mod session;
mod settings;
mod slips;
mod status;
#[cfg(test)]
mod tests;
mod themes;
mod view;
mod waiting;
mod work;

use crate::{
    composer::Composer,
    driver::reply::{Attachment, SetupChoice},
    highlight::Highlighter,
    keys::KeyReader,
    limits::{MESSAGE_TIME, NOTIFIED_TITLE, PROBLEM_TIME},
    options::AppOptions,
    panel::AskQueue,
    screens::frame::Screen,
    theme::{Background, Role},
    transcript::{Feed, Transcript, view::View},
};
use agent::SessionId;
use binding::Binding;
use effect::{Effect, Occasion};
use lists::List;
use reading::Reading;
use session::SessionView;
use std::{collections::HashMap, time::Duration};
use waiting::WaitingMessages;

/// What the command line says in the first session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FirstMessage {
    /// A prompt, which is sent at once.
    pub prompt: Option<String>,
    /// Images: parts of the prompt; without one, they wait in the composer.
    pub images: Vec<Attachment>,
}

/// The state of the interface.
pub struct App {
    /// What is in force.
    options: AppOptions,
    /// The options as they followed from the settings when these were read last.
    settled: AppOptions,
    rows: u16,
    now: Duration,
    /// The time of day in milliseconds since the epoch.
    today: i64,
    /// What the terminal's background is like.
    background: Background,
    /// Whether the terminal has the focus.
    focused: bool,
    reader: KeyReader,
    session: Option<SessionView>,
    /// Whether the events that arrive are read from the store.
    replaying: bool,
    transcript: Transcript,
    /// The transcript of a subagent that is read in place of the session's.
    of_subagent: Option<Transcript>,
    highlighter: Highlighter,
    feed: Feed,
    /// Whether lines of code wait for their colours.
    colouring: bool,
    /// The transcript above the composer in full screen.
    page: View,
    composer: Composer,
    images: HashMap<u64, Attachment>,
    next_image: u64,
    asks: AskQueue,
    waiting: WaitingMessages,
    overlay: Overlay,
    message: Option<Message>,
    /// When Ctrl+C was pressed while there was nothing to clear or cancel.
    leaving: Option<Duration>,
    /// Whether the session that is being opened was read before, and goes on where it was.
    goes_on: bool,
    /// What is sent once the first session is open.
    first: FirstMessage,
    /// The choices of the first setup, until there is a session.
    setup_choices: Option<Vec<SetupChoice>>,
    /// Whether the command line leaves the choice of the first session to the user.
    choosing: bool,
    plain: plain::PlainState,
    /// Whether the list of sessions shows those of all directories.
    everywhere: bool,
}

/// What is shown in place of, or above, the composer.
#[derive(Default)]
enum Overlay {
    /// Nothing.
    #[default]
    None,
    /// A list to choose from.
    List(Box<List>),
    /// The next keys are bound to an action.
    Binding(Box<Binding>),
    /// The transcript.
    Transcript(Box<Reading>),
    /// Plan and subagents, with the selected one.
    Work(usize),
    /// The keys, scrolled by a number of rows.
    Keys(usize),
}

/// A message of the interface to the user, shown until the next key or for a few seconds.
struct Message {
    role: Role,
    text: String,
    until: Duration,
}

impl App {
    /// Creates the interface for a terminal of this size. `first` is sent once a session is open.
    pub fn new(options: AppOptions, (columns, rows): (u16, u16), first: FirstMessage) -> Self {
        let mut app = Self {
            rows,
            now: Duration::ZERO,
            today: 0,
            background: Background::default(),
            focused: true,
            reader: KeyReader::default(),
            session: None,
            replaying: false,
            transcript: Transcript::default(),
            of_subagent: None,
            highlighter: Highlighter::default(),
            feed: Feed::default(),
            colouring: false,
            page: View::default(),
            composer: Composer::default(),
            images: HashMap::new(),
            next_image: 0,
            asks: AskQueue::new(options.bindings.clone()),
            waiting: WaitingMessages::default(),
            overlay: Overlay::None,
            message: None,
            leaving: None,
            goes_on: false,
            first,
            setup_choices: None,
            choosing: false,
            plain: plain::PlainState::default(),
            everywhere: options.everywhere,
            settled: options.clone(),
            options,
        };
        app.resize(columns, rows);
        if let Some(problem) = app.options.notes.problem.clone() {
            app.message(Role::Warning, problem);
        }
        if let Some(message) = &mut app.message {
            message.until = PROBLEM_TIME;
        }
        app
    }

    /// Sets the time since the interface started.
    pub fn set_now(&mut self, now: Duration) {
        self.now = now;
    }

    /// Sets the time of day, in milliseconds since the epoch.
    pub fn set_today(&mut self, today: i64) {
        self.today = today;
    }

    /// Takes what the terminal's background is like; themes that follow it change.
    pub fn set_background(&mut self, background: Background) {
        if self.background != background {
            self.background = background;
            let theme = std::mem::take(&mut self.options.look.theme).on(background);
            self.wear(theme);
        }
    }

    /// Returns the text of a notification: fixed words, and the title of the session. Nothing else
    /// that a model wrote.
    pub fn notification(&self, occasion: Occasion) -> String {
        match self.title() {
            Some(title) => format!("{}: {title}", occasion.words()),
            None => occasion.words().to_owned(),
        }
    }

    /// Returns the title of the session, cleaned and short.
    fn title(&self) -> Option<String> {
        let title = self.session.as_ref().and_then(|session| session.title.as_deref())?;
        Some(agent::label(title, NOTIFIED_TITLE)).filter(|title| !title.is_empty())
    }

    /// Names the session in the terminal's title, if the setting wants that.
    fn name_terminal(&self) -> Effect {
        Effect::Title(self.title().map_or_else(|| "tiller".to_owned(), |title| format!("tiller: {title}")))
    }

    /// Updates what depends on the time alone; called at the time that [`App::next_tick`] returned.
    pub fn tick(&mut self, now: Duration) -> Vec<Effect> {
        self.now = now;
        let effects = self.settle_answer();
        if self.message.as_ref().is_some_and(|message| message.until <= now) {
            self.message = None;
        }
        self.settle();
        effects
    }

    /// Returns the id of the open session.
    pub fn session_id(&self) -> Option<&SessionId> {
        self.session.as_ref().map(|session| &session.id)
    }

    /// Returns when something changes without an input or an event; `None` if nothing does.
    pub fn next_tick(&self) -> Option<Duration> {
        let message = self.message.as_ref().map(|message| message.until);
        let running = self.is_running() && !matches!(self.overlay, Overlay::Transcript(_));
        let step = if self.options.animation { ANIMATION } else { SECOND };
        let running = (running && self.options.screen != Screen::Plain).then(|| self.now + step);
        let colours = self.colouring.then(|| self.now + COLOURS);
        let plain = self.plain.due(self.is_running(), self.options.screen);
        message.into_iter().chain(running).chain(colours).chain(self.asks.due(self.now)).chain(plain).min()
    }

    /// Takes a new size of the terminal.
    fn resize(&mut self, columns: u16, rows: u16) {
        self.options.look.width = usize::from(columns);
        self.rows = rows;
        self.composer.set_look(self.options.look.clone());
    }

    /// Gives a waiting question the focus, if the rule allows it.
    fn settle(&mut self) {
        let covered = !matches!(self.overlay, Overlay::None);
        self.asks.settle(self.composer.is_empty(), covered, self.now);
    }

    /// Tells the user that something was done.
    pub(crate) fn tell(&mut self, text: &str) {
        self.message(Role::Dim, text.to_owned());
    }

    /// Tells the user that something could not be done.
    pub fn fail(&mut self, text: &str) -> Vec<Effect> {
        self.message(Role::Error, text.to_owned());
        Vec::new()
    }

    fn message(&mut self, role: Role, text: String) {
        if self.options.screen == Screen::Plain {
            return self.plain.say(&text);
        }
        self.message = Some(Message { role, text, until: self.now + MESSAGE_TIME });
    }

    /// Says how a text was copied.
    pub fn copied(&mut self, text: &str, by_terminal: bool) {
        let count = text.chars().count();
        match by_terminal {
            true => self.tell(&format!("copied {count} characters, if the terminal allows it")),
            false => self.tell(&format!("passed {count} characters to the clipboard of this machine")),
        }
    }

    /// Returns the screen that the overlay needs.
    fn screen_of_overlay(&self) -> Vec<Effect> {
        let screen = match (&self.overlay, self.options.screen) {
            (_, Screen::Plain) => return Vec::new(),
            (Overlay::Transcript(_), _) => Screen::Full,
            (_, screen) => screen,
        };
        vec![Effect::Screen(screen)]
    }

    /// Closes what is open, before the interface ends.
    pub fn leave(&mut self) {
        self.overlay = Overlay::None;
    }
}

/// How often signs of progress move.
const ANIMATION: Duration = Duration::from_millis(250);
/// How often times are counted up if nothing moves.
const SECOND: Duration = Duration::from_secs(1);
/// How often colours of code are looked for while lines wait for them.
const COLOURS: Duration = Duration::from_millis(25);
