//! A session that another process holds can be read, and taken over.

use super::{App, effect::Effect, session::Held, work::Drawing};
use crate::{
    composer::{Fragment, Part},
    driver::request::Request,
    keys::Action,
    limits::HOST_CHARS,
    screens::frame::Screen,
    text::row::Row,
    theme::Role,
};
use agent::LeaseHolder;

/// The command that takes a session over.
const COMMAND: &str = "/take-over";

impl App {
    /// Whether the session can only be read.
    pub(super) fn is_read_only(&self) -> bool {
        self.session.as_ref().is_some_and(|session| session.held.is_some())
    }

    /// Takes the session over from the process that holds it, or opens it if none does.
    pub(super) fn take_over(&mut self) -> Vec<Effect> {
        match self.is_read_only() {
            true => vec![Effect::Request(Request::TakeOver)],
            false => self.fail("this session is yours already"),
        }
    }

    /// Takes who holds the session now.
    pub(super) fn held_by(&mut self, holder: Option<LeaseHolder>) {
        if let Some(session) = self.session.as_mut().filter(|session| session.held.is_some()) {
            session.held = Some(holder.map_or(Held::NoMore, Held::By));
            self.say_held();
        }
    }

    /// In plain mode, says who holds the session. Elsewhere a row does.
    pub(super) fn say_held(&mut self) {
        if self.options.screen == Screen::Plain
            && let Some(held) = self.session.as_ref().and_then(|session| session.held.as_ref())
        {
            let line = format!("read-only: {}; {COMMAND}: {}", who(held), offer(held));
            self.plain.hint(&line);
        }
    }

    /// Gives a message back that cannot be sent while the session is only read.
    pub(super) fn keep_while_held(&mut self, parts: &[Part]) -> Vec<Effect> {
        self.composer.put_back(Fragment::from_parts(parts.iter().cloned()));
        let message = format!("the session is read-only, so nothing was sent; {COMMAND} takes it over");
        self.fail(&message)
    }

    /// Returns the row that says who holds the session, and what can be done.
    pub(super) fn held_row(&self, drawing: Drawing<'_>) -> Option<Row> {
        let held = self.session.as_ref()?.held.as_ref()?;
        // Without text the key is free for this.
        let key = self.options.bindings.key_of(Action::TakeOver).filter(|_| self.composer.is_empty());
        let key = key.unwrap_or_else(|| COMMAND.to_owned());
        let text = format!(" · {key}: {} · {}", offer(held), who(held));
        Some(drawing.row(&[(Role::Warning, "read-only"), (Role::Dim, &text)]))
    }
}

fn offer(held: &Held) -> &'static str {
    match held {
        Held::By(_) => "take it over",
        Held::NoMore => "open it",
    }
}

fn who(held: &Held) -> String {
    match held {
        Held::By(holder) => {
            let host = agent::label(&holder.host, HOST_CHARS);
            let since = agent::label(&holder.since, HOST_CHARS);
            format!("process {} on {host} has it since {since}", holder.pid)
        }
        Held::NoMore => "the process that had it has let it go".to_owned(),
    }
}
