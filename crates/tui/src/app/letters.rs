//! What the runtime delivers: events, questions and the results of requests.

use super::{
    App, FirstMessage, Overlay,
    effect::{Effect, Occasion},
    session::SessionView,
};
use crate::{
    client::{asks::Asked, mailbox::Letter},
    composer::{Composer, History, Image, Part, Sources, Token},
    driver::{
        reply::{Attachment, OpenedSession, Reply},
        request::{Request, When},
    },
    limits::{LONG_TURN, RESUMED_CELLS},
    panel::AskQueue,
    screens::frame::Screen,
    transcript::{Feed, Transcript, view::View},
};
use agent::{SessionEvent, StopReason, TurnEnd};
use std::sync::Arc;

impl App {
    /// Takes an item from the runtime.
    pub fn letter(&mut self, letter: Letter) -> Vec<Effect> {
        let effects = self.open_letter(letter);
        self.settle();
        effects
    }

    fn open_letter(&mut self, letter: Letter) -> Vec<Effect> {
        if let Letter::Event(_) | Letter::Asked(..) = letter {
            self.plain.answered();
        }
        match letter {
            Letter::Event(event) => self.event(&event),
            Letter::Asked(id, asked) => {
                let occasion = match *asked {
                    Asked::Permission(_) => Occasion::Permission,
                    Asked::Question(_) => Occasion::Question,
                };
                self.plain.ask(id, (*asked).clone());
                if self.options.screen != Screen::Plain {
                    self.asks.push(id, *asked);
                }
                let long = self.turn_is_long();
                self.notify(occasion, long)
            }
            Letter::Withdrawn(id) => {
                self.asks.withdraw(id, self.now);
                self.plain.withdraw(id);
                Vec::new()
            }
            Letter::Reply(reply) => self.reply(*reply),
        }
    }

    fn event(&mut self, event: &SessionEvent) -> Vec<Effect> {
        let Some(session) = &mut self.session else { return Vec::new() };
        let ran_for = session.turn.map(|turn| self.now.saturating_sub(turn.since));
        session.apply(event, self.replaying, self.now);
        let is_live = !self.replaying && session.held.is_none();
        self.transcript.apply_at(event, is_live.then_some(self.now));
        if let (SessionEvent::UserMessage { content, .. }, Screen::Plain) = (event, self.options.screen)
            && self.plain.was_typed(content)
        {
            self.feed.leave_out(self.transcript.cells().len().saturating_sub(1));
        }
        if let SessionEvent::Commands(_) = event {
            self.set_commands();
        }
        match event {
            SessionEvent::TurnEnded { end, .. } if is_live => {
                let long = ran_for.is_some_and(|time| time >= LONG_TURN);
                match end {
                    TurnEnd::Stopped(StopReason::Cancelled) => Vec::new(),
                    TurnEnd::Failed(_) => self.notify(Occasion::Failed, long),
                    TurnEnd::Stopped(_) => self.notify(Occasion::Ended, long),
                }
            }
            SessionEvent::TitleChanged(_) if !self.replaying => vec![self.name_terminal()],
            _ => Vec::new(),
        }
    }

    /// Whether the running turn takes so long that the user may be elsewhere.
    fn turn_is_long(&self) -> bool {
        let turn = self.session.as_ref().and_then(|session| session.turn);
        turn.is_some_and(|turn| self.now.saturating_sub(turn.since) >= LONG_TURN)
    }

    /// Notifies the user, who may be elsewhere if the terminal has no focus or the turn was long.
    /// In plain mode, where nothing reports the focus, always if something waits.
    fn notify(&self, occasion: Occasion, long: bool) -> Vec<Effect> {
        let waits = matches!(occasion, Occasion::Permission | Occasion::Question);
        let elsewhere = long || !self.focused || (waits && self.options.screen == Screen::Plain);
        let wanted = self.options.notify && elsewhere;
        if wanted { vec![Effect::Notify(occasion)] } else { Vec::new() }
    }

    fn reply(&mut self, reply: Reply) -> Vec<Effect> {
        if !matches!(reply, Reply::Inserted(_) | Reply::Files(_) | Reply::History(_)) {
            self.plain.answered();
        }
        match reply {
            Reply::Opened(opened) => return self.opened(*opened),
            Reply::Replayed => {
                self.replaying = false;
                if !std::mem::take(&mut self.goes_on) {
                    self.skip_all_but_the_end();
                }
                let mut effects = vec![self.name_terminal()];
                effects.extend(self.first_message());
                return effects;
            }
            Reply::Inserted(id) => {
                self.waiting.remove(id);
                self.drop_images();
            }
            Reply::Settled(id, outcome) => {
                let waited = self.waiting.remove(id);
                match (outcome, waited) {
                    // It never ran: the user gets it back.
                    (Ok(outcome), Some(waited)) if outcome.stop_reason == StopReason::Cancelled => {
                        self.composer.put_back(waited.content);
                    }
                    (Err(error), Some(waited)) => {
                        self.composer.put_back(waited.content);
                        self.fail(&error.to_string());
                    }
                    // The transcript has the error, as the end of the turn.
                    _ => {}
                }
                self.drop_images();
            }
            Reply::SetupChoices(choices) => self.setup_choices_found(choices),
            Reply::Models { models, complete } => self.models_listed(models, complete),
            Reply::Sessions { sessions, more } => return self.sessions_listed(sessions, more),
            Reply::Glance(id, glance) => self.glanced(id, glance),
            Reply::Turns(turns) => self.turns_listed(&turns),
            Reply::Settings(why, read) => return self.settings_read(why, *read),
            Reply::Themes(purpose, themes) => return self.themes_listed(purpose, themes),
            Reply::SubagentTranscript(events) => return self.show_subagent(&events),
            Reply::Files(files) => {
                let sources = self.composer.sources().clone();
                self.composer.set_sources(Sources { files: Arc::new(files), loading: false, ..sources });
            }
            Reply::History(entries) => {
                self.composer = Composer::new(History::new(entries), self.options.look.clone())
            }
            Reply::Image(image) => self.attach(*image),
            Reply::Paste(text) => self.composer.paste(&text),
            Reply::Done(text) => self.tell(&text),
            Reply::Failed(text) => {
                self.fail(&text);
            }
            Reply::HeldBy(holder) => self.held_by(holder),
            Reply::Ended => return vec![Effect::Quit],
        }
        Vec::new()
    }

    fn opened(&mut self, opened: OpenedSession) -> Vec<Effect> {
        let again = self.session.is_some();
        self.transcript = Transcript::new(Some(opened.cwd.clone()));
        // A session that is taken over has been shown as far as it has come.
        let held = self.session.as_ref().filter(|session| session.held.is_some());
        self.goes_on = held.is_some_and(|session| session.id == opened.id);
        if !self.goes_on {
            self.feed = Feed::default();
            self.page = View::default();
        }
        self.replaying = true;
        // The list that `--resume` begins with stays until a session is chosen.
        if again || self.finds_model() {
            self.overlay = Overlay::None;
            self.choosing = false;
        }
        self.setup_choices = None;
        self.asks = AskQueue::new(self.options.bindings.clone());
        self.waiting.take_all();
        let (new, is_held) = (opened.new, opened.held.is_some());
        self.session = Some(SessionView::new(opened, self.now));
        self.link_files();
        self.set_commands();
        if is_held {
            self.say_held();
            return Vec::new();
        }
        if again {
            self.tell(if new { "a new session" } else { "the session is open" });
        }
        vec![Effect::Request(Request::ListFiles)]
    }

    /// Shows the transcript of a subagent until it is closed.
    fn show_subagent(&mut self, events: &[SessionEvent]) -> Vec<Effect> {
        let cwd = self.session.as_ref().map(|session| session.cwd.clone());
        let mut transcript = Transcript::new(cwd);
        events.iter().for_each(|event| transcript.apply(event));
        self.of_subagent = Some(transcript);
        self.overlay = Overlay::Transcript(Box::default());
        self.screen_of_overlay()
    }

    /// Leaves the beginning of a long session to the transcript.
    fn skip_all_but_the_end(&mut self) {
        let first = self.transcript.cells().len().saturating_sub(RESUMED_CELLS);
        if first > 0 {
            self.feed = Feed::from_cell(first);
            self.tell(&format!("{first} earlier entries are in the transcript: ctrl+o"));
        }
    }

    /// Passes the commands of the session and of the interface to the composer.
    pub(super) fn set_commands(&mut self) {
        let own: Vec<_> = super::commands::listed().collect();
        let of_session = self.session.iter().flat_map(|session| session.commands.iter().cloned());
        let others = of_session.filter(|command| own.iter().all(|own| own.name != command.name));
        let commands = others.chain(own.iter().cloned()).collect();
        let sources = self.composer.sources().clone();
        self.composer.set_sources(Sources { commands, ..sources });
    }

    /// Sends what the command line says, once.
    fn first_message(&mut self) -> Vec<Effect> {
        if self.is_read_only() {
            if self.first.prompt.is_some() {
                self.tell("your message is sent once you have taken the session over");
            }
            return Vec::new();
        }
        let FirstMessage { prompt, images } = std::mem::take(&mut self.first);
        let Some(prompt) = prompt else {
            images.into_iter().for_each(|image| self.attach(image));
            return Vec::new();
        };
        let mut parts = vec![Part::Text(prompt)];
        for (image, number) in images.into_iter().zip(1..) {
            let (width, height) = (image.width, image.height);
            let id = self.keep(image);
            parts.push(Part::Token(Token::Image(Image { id, number, width, height })));
        }
        vec![self.send(parts, When::After)]
    }

    fn attach(&mut self, image: Attachment) {
        let (width, height) = (image.width, image.height);
        let id = self.keep(image);
        self.composer.attach(id, width, height);
    }

    /// Keeps the bytes of an image; returns the id by which tokens refer to them.
    fn keep(&mut self, image: Attachment) -> u64 {
        self.next_image += 1;
        self.images.insert(self.next_image, image);
        self.next_image
    }
}
