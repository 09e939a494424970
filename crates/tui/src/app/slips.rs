//! Messages that are likely a slip of the user. They are not sent, since each costs a request to
//! the model.

use super::{App, effect::Effect};
use crate::composer::{Fragment, Message, Part};
use agent::unknown_command;

impl App {
    /// Takes a message that is likely a slip: a bare `exit`, a `!` without a command, a slash
    /// command that does not exist. Returns `None` for any other message.
    pub(super) fn slip(&mut self, message: &Message) -> Option<Vec<Effect>> {
        let parts = match message {
            Message::Command(line) if line.trim().is_empty() => {
                return Some(self.fail("write a command behind the !, such as !git status"));
            }
            Message::Command(_) => return None,
            Message::Prompt(parts) => parts,
        };
        if let [Part::Text(text)] = parts.as_slice()
            && let text @ ("exit" | "quit") = text.trim()
        {
            return Some(match self.is_running() {
                true => {
                    let why = format!("a turn runs: esc stops it, and /quit quits; \"{text}\" was not sent");
                    self.fail(&why)
                }
                false => vec![Effect::Quit],
            });
        }
        self.unknown_command(parts)
    }

    /// Puts a message back that begins with the name of a command that does not exist.
    fn unknown_command(&mut self, parts: &[Part]) -> Option<Vec<Effect>> {
        let [Part::Text(message), ..] = parts else { return None };
        let why = unknown_command(message, &self.composer.sources().commands);
        let why = why.filter(|_| self.session.is_some())?;
        self.composer.put_back(Fragment::from_parts(parts.iter().cloned()));
        Some(self.fail(&why))
    }
}
