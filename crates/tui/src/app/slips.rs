//! Messages that are likely a slip of the user. They are not sent, since each costs a request to
//! the model.

use super::{App, effect::Effect};
use crate::composer::{Fragment, Message, Part};
use agent::SlashCommand;

/// The letters by which a mistyped command differs from the one that was meant.
const MISTYPED: usize = 2;

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
        let [Part::Text(text)] = parts.as_slice() else { return None };
        let text = text.trim();
        match text {
            "exit" | "quit" if self.is_running() => Some(
                self.fail(&format!("a turn runs: esc stops it, and /quit quits; \"{text}\" was not sent")),
            ),
            "exit" | "quit" => Some(vec![Effect::Quit]),
            _ => self.unknown_command(text),
        }
    }

    /// Puts a message back that is one word and looks like a command that does not exist.
    fn unknown_command(&mut self, text: &str) -> Option<Vec<Effect>> {
        let name = text.strip_prefix('/').filter(|name| !name.is_empty())?;
        let known = &self.composer.sources().commands;
        let is_name = name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        if !is_name || self.session.is_none() || known.iter().any(|command| command.name == name) {
            return None;
        }
        let hint = match nearest(name, known) {
            Some(nearest) => format!("did you mean /{nearest}?"),
            None => "/help lists the commands".to_owned(),
        };
        self.composer.put_back(Fragment::text(text));
        Some(self.fail(&format!("there is no command /{name}; {hint}")))
    }
}

/// Returns the name of the command that was probably meant.
fn nearest<'a>(name: &str, known: &'a [SlashCommand]) -> Option<&'a str> {
    let distances = known.iter().map(|command| (strsim::damerau_levenshtein(name, &command.name), command));
    let (distance, command) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= MISTYPED).then(|| &*command.name)
}
