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

    /// Puts a message back that begins with the name of a command that does not exist. A path is no
    /// name, and a blank before the name says that it is meant as it is.
    fn unknown_command(&mut self, parts: &[Part]) -> Option<Vec<Effect>> {
        let [Part::Text(message), more @ ..] = parts else { return None };
        let name = message.strip_prefix('/')?.split_whitespace().next()?;
        let known = &self.composer.sources().commands;
        if !is_name(name) || self.session.is_none() || known.iter().any(|command| command.name == name) {
            return None;
        }
        let is_alone = more.is_empty() && !message.trim_end().contains(char::is_whitespace);
        let hint = match (nearest(name, known), is_alone) {
            (Some(nearest), _) => format!("did you mean /{nearest}?"),
            (None, true) => "/help lists the commands".to_owned(),
            (None, false) => "/help lists the commands; a blank before it sends it as it is".to_owned(),
        };
        let why = format!("there is no command /{name}; {hint}");
        self.composer.put_back(Fragment::from_parts(parts.iter().cloned()));
        Some(self.fail(&why))
    }
}

/// Whether a word behind a slash looks like the name of a command, and not like a path.
fn is_name(word: &str) -> bool {
    let of_names = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | ':');
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word.chars().all(of_names)
        && !ROOT_DIRECTORIES.contains(&word)
}

/// Directories of `/` that a message may begin with.
const ROOT_DIRECTORIES: [&str; 21] = [
    "bin",
    "boot",
    "data",
    "dev",
    "etc",
    "home",
    "lib",
    "lib64",
    "media",
    "mnt",
    "nix",
    "opt",
    "proc",
    "root",
    "sbin",
    "srv",
    "sys",
    "tmp",
    "usr",
    "var",
    "workspace",
];

/// Returns the name of the command that was probably meant.
fn nearest<'a>(name: &str, known: &'a [SlashCommand]) -> Option<&'a str> {
    let distances = known.iter().map(|command| (strsim::damerau_levenshtein(name, &command.name), command));
    let (distance, command) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= MISTYPED).then(|| &*command.name)
}
