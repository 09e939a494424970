//! What the state machine asks of the loop around it.

use crate::{
    client::asks::{Answer, AskId},
    driver::request::Request,
    screens::{frame::Screen, terminal::Switches},
};

/// What the interface wants done.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// A request to the runtime.
    Request(Request),
    /// The answer to a question.
    Answer(AskId, Answer),
    /// Copy a text to the clipboard.
    Copy(String),
    /// Notify the user, if the terminal does not have the focus or the turn was long.
    Notify(Occasion),
    /// Stop the process until the shell continues it.
    Suspend,
    /// Open the user's editor on a text.
    Edit(String),
    /// Answer the questions of the program's own set-up of a model.
    SetUp,
    /// Draw another kind of screen.
    Screen(Screen),
    /// Use the terminal as the settings say now.
    Switches(Switches),
    /// Name the session in the terminal's title.
    Title(String),
    /// Ask for the colour of the terminal's background.
    AskBackground,
    /// Draw the live region again from its first row.
    Repaint,
    /// End the interface.
    Quit,
}

/// Why the user is notified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// A permission request waits.
    Permission,
    /// A question waits.
    Question,
    /// The turn ended.
    Ended,
    /// The turn failed.
    Failed,
}

impl Occasion {
    /// Returns the fixed words of the notification.
    pub fn words(self) -> &'static str {
        match self {
            Self::Permission => "Tiller waits for a permission",
            Self::Question => "Tiller asks a question",
            Self::Ended => "Tiller has finished",
            Self::Failed => "Tiller could not go on",
        }
    }
}
