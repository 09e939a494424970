//! The interface as a state machine: inputs, items from the runtime and the time go in, effects
//! come out, and [`App::frame`] is what is shown.
//!
//! It performs no I/O and reads no clock, so that tests can play any order of keys and events.

pub mod commands;
pub mod effect;
mod act;
mod lists;
mod send;
pub mod session;
mod status;
#[cfg(test)]
mod tests;
mod view;
mod waiting;
mod work;

use crate::{
    client::{
        asks::{Asked, Answer},
        mailbox::Letter,
    },
    composer::Composer,
    driver::{
        reply::{Attachment, Reply},
        request::{Request, Which},
    },
    input::Input,
    keys::{Bindings, KeyReader},
    look::Look,
    panel::AskQueue,
    screens::frame::Screen,
    theme::Role,
    transcript::{Feed, Transcript, View as TranscriptView},
};
use agent::{SessionEvent, StopReason, TurnEnd};
use effect::{Effect, Occasion};
use lists::List;
use session::SessionView;
use std::{collections::HashMap, time::Duration};
use waiting::WaitingMessages;

/// How the interface behaves, from the user's settings.
#[derive(Debug, Clone)]
pub struct AppOptions {
    /// Theme, width and measure.
    pub look: Look,
    /// The keys.
    pub bindings: Bindings,
    /// How the interface is drawn.
    pub screen: Screen,
    /// Whether Enter sends a message to the running turn; otherwise after it.
    pub enter_steers: bool,
    /// Whether signs of progress move.
    pub animation: bool,
    /// Whether the user is notified.
    pub notify: bool,
}

/// The state of the interface.
pub struct App {
    options: AppOptions,
    rows: u16,
    now: Duration,
    /// The time of day in milliseconds since the epoch.
    today: i64,
    focused: bool,
    reader: KeyReader,
    session: Option<SessionView>,
    /// Whether the events are read from the store.
    replaying: bool,
    transcript: Transcript,
    feed: Feed,
    composer: Composer,
    images: HashMap<u64, Attachment>,
    asks: AskQueue,
    waiting: WaitingMessages,
    overlay: Overlay,
    message: Option<Message>,
    /// When Ctrl+C was pressed while there was nothing to clear or cancel.
    leaving: Option<Duration>,
    /// The prompt to send once the first session is open.
    first: Option<String>,
}

/// What is shown in place of, or above, the composer.
#[derive(Debug, Default)]
enum Overlay {
    /// Nothing.
    #[default]
    None,
    /// A list to choose from.
    List(Box<List>),
    /// The transcript.
    Transcript(Box<TranscriptView>),
    /// Plan and subagents, with the selected one.
    Work(usize),
    /// The keys, scrolled by a number of rows.
    Keys(usize),
}

/// A message of the interface to the user, shown until the next key or for a few seconds.
#[derive(Debug)]
struct Message {
    role: Role,
    text: String,
    until: Duration,
}
