//! Options of the terminal interface.

use std::collections::BTreeMap;

/// How the terminal interface looks and behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Interface {
    pub(crate) screen: ScreenChoice,
    /// The name of the theme.
    pub(crate) theme: String,
    /// The keys of actions, by the action's name, in place of the default ones.
    pub(crate) keys: BTreeMap<String, Vec<String>>,
    pub(crate) enter: EnterChoice,
    pub(crate) switches: InterfaceSwitches,
}

/// What can be switched off or on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InterfaceSwitches {
    /// Whether full screen takes the mouse.
    pub(crate) mouse: bool,
    /// Whether the user is notified when something waits.
    pub(crate) notify: bool,
    /// Whether the terminal's title names the session.
    pub(crate) title: bool,
    /// Whether signs of progress move.
    pub(crate) animation: bool,
    /// Whether links are hyperlinks of the terminal.
    pub(crate) hyperlinks: bool,
    /// Whether characters of ambiguous width take two cells.
    pub(crate) wide_ambiguous: bool,
    /// Whether prompts are kept for later sessions.
    pub(crate) history: bool,
}

impl Default for Interface {
    fn default() -> Self {
        Self {
            screen: ScreenChoice::Auto,
            theme: "terminal".to_owned(),
            keys: BTreeMap::new(),
            enter: EnterChoice::Steer,
            switches: InterfaceSwitches {
                mouse: true,
                notify: true,
                title: false,
                animation: true,
                hyperlinks: true,
                wide_ambiguous: false,
                history: true,
            },
        }
    }
}

/// How the interface is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScreenChoice {
    /// Plain if `ACCESSIBLE` is set or the terminal is dumb, else inline.
    Auto,
    Inline,
    Full,
    Plain,
}

impl ScreenChoice {
    /// All choices with their names.
    pub(crate) const ALL: [(&str, Self); 4] =
        [("auto", Self::Auto), ("inline", Self::Inline), ("full", Self::Full), ("plain", Self::Plain)];
}

/// What Enter does while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EnterChoice {
    /// Sends the message to the running turn.
    Steer,
    /// Sends the message after the running turn.
    After,
}

impl EnterChoice {
    /// Both choices with their names.
    pub(crate) const ALL: [(&str, Self); 2] = [("steer", Self::Steer), ("after", Self::After)];
}
