//! How the interface looks and behaves, as the program around it has resolved it.

use crate::{
    keys::Bindings,
    look::Look,
    screens::{frame::Screen, terminal::Switches},
};

/// How the interface looks and behaves, from the user's settings.
#[derive(Debug, Clone, PartialEq)]
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
    /// Whether the list of sessions shows those of all directories at first.
    pub everywhere: bool,
    /// How the terminal is used.
    pub switches: Switches,
    /// What is shown at the beginning.
    pub notes: Notes,
}

/// What the interface shows at the beginning.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Notes {
    /// Why plain mode was chosen, for its first line.
    pub plain_because: Option<String>,
    /// What is wrong with the settings, although the interface can be used.
    pub problem: Option<String>,
}
