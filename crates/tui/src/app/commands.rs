//! The commands of the interface itself. All other commands are the session's.

use agent::{CommandGroup, SlashCommand};
use std::borrow::Cow;

/// A command of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UiCommand {
    /// Changes the screen.
    Screen,
    /// Changes the theme.
    Theme,
    /// Shows and changes the settings of the interface.
    Settings,
    /// Shows the keys.
    Keys,
    /// Lists sessions.
    Sessions,
    /// Begins a new session.
    New,
    /// Copies the session.
    Fork,
    /// Copies the last answer.
    Copy,
    /// Writes the transcript to a file.
    Export,
    /// Attaches an image.
    Image,
    /// Opens the draft in an editor.
    Editor,
    /// Switches notifications on or off.
    Notify,
    /// Opens plan and agents.
    Agents,
    /// Chooses the permission mode.
    Permissions,
    /// Takes the session over from another process.
    TakeOver,
    /// Prints the session anew.
    Redraw,
    /// Quits.
    Quit,
}

struct Entry {
    command: UiCommand,
    name: &'static str,
    hint: Option<&'static str>,
    does: &'static str,
}

const fn entry(
    command: UiCommand,
    name: &'static str,
    hint: Option<&'static str>,
    does: &'static str,
) -> Entry {
    Entry { command, name, hint, does }
}

const COMMANDS: [Entry; 18] = [
    entry(UiCommand::Screen, "screen", Some("inline|full|plain"), "Change how the interface is drawn."),
    entry(UiCommand::Theme, "theme", Some("NAME"), "Change the colours."),
    entry(
        UiCommand::Settings,
        "settings",
        Some("KEY VALUE"),
        "Show and change the settings of the interface.",
    ),
    entry(UiCommand::Keys, "keys", None, "Show the keys."),
    entry(UiCommand::Sessions, "sessions", Some("WORDS"), "List and open sessions."),
    entry(UiCommand::New, "new", None, "Begin a new session."),
    entry(UiCommand::Fork, "fork", None, "Go on in a copy of this session."),
    entry(UiCommand::Copy, "copy", None, "Copy the last answer to the clipboard."),
    entry(
        UiCommand::Export,
        "export",
        Some("FILE"),
        "Write the session as a Markdown document to a new file.",
    ),
    entry(UiCommand::Image, "image", Some("FILE"), "Attach an image file to the message."),
    entry(UiCommand::Editor, "editor", None, "Open the message in $VISUAL or $EDITOR."),
    entry(UiCommand::Notify, "notify", Some("on|off"), "Switch notifications on or off."),
    entry(UiCommand::Agents, "agents", None, "Open the panel of plan and agents."),
    entry(UiCommand::Permissions, "permissions", None, "Choose the permission mode."),
    entry(UiCommand::TakeOver, "take-over", None, "Take the session over from the process that has it."),
    entry(UiCommand::Redraw, "redraw", None, "Print the session again."),
    entry(UiCommand::Quit, "quit", None, "Quit; the session is kept."),
    entry(UiCommand::Quit, "exit", None, "Quit; the session is kept."),
];

/// Returns the command of a message and the rest of its text; `None` for any other message.
pub fn parse(message: &str) -> Option<(UiCommand, &str)> {
    let rest = message.strip_prefix('/')?;
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let entry = COMMANDS.iter().find(|entry| entry.name == name)?;
    Some((entry.command, argument.trim()))
}

/// Returns the commands as the session's are listed.
pub fn listed() -> impl Iterator<Item = SlashCommand> {
    COMMANDS.iter().map(|entry| SlashCommand {
        name: Cow::Borrowed(entry.name),
        description: Cow::Borrowed(entry.does),
        hint: entry.hint.map(Cow::Borrowed),
        group: CommandGroup::BuiltIn,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_a_whole_word_at_the_beginning() {
        assert_eq!(parse("/quit"), Some((UiCommand::Quit, "")));
        assert_eq!(parse("/export  notes of today.md "), Some((UiCommand::Export, "notes of today.md")));
        assert_eq!(parse("/quit\nnow"), Some((UiCommand::Quit, "now")));
        assert_eq!(parse("/quitter"), None);
        assert_eq!(parse(" /quit"), None);
        assert_eq!(parse("/usr/bin is full"), None);
        assert_eq!(parse("quit"), None);
    }
}
