//! Handles a first word that is not a command: a prompt, or a misspelled command.

use super::Cli;
use crate::answer::{Failure, Kind};
use clap::CommandFactory as _;

/// Commands of other programs, with their names here.
const OTHER_NAMES: [(&str, &str); 24] = [
    ("agent", "acp"),
    ("auth", "setup"),
    ("chat", "-p PROMPT"),
    ("check", "doctor"),
    ("exec", "-p PROMPT"),
    ("history", "sessions list"),
    ("init", "setup"),
    ("key", "setup"),
    ("keys", "setup"),
    ("list", "sessions list"),
    ("login", "setup"),
    ("logout", "setup --provider NAME --forget"),
    ("ls", "sessions list"),
    ("model", "models"),
    ("plugins", "mcp"),
    ("prompt", "-p PROMPT"),
    ("providers", "setup"),
    ("resume", "--continue -p PROMPT"),
    ("run", "-p PROMPT"),
    ("servers", "mcp"),
    ("settings", "config"),
    ("status", "doctor"),
    ("version", "--version"),
    ("whoami", "doctor"),
];

/// Joins the words of a prompt that was written without `-p` and without quotes.
///
/// # Errors
/// If the first word looks like a command but is none; the error suggests the nearest command.
pub(super) fn prompt_or_suggestion(mut arguments: Vec<String>) -> Result<Vec<String>, Failure> {
    let is_word = |given: &str| {
        given.starts_with(|c: char| c.is_ascii_alphabetic())
            && given.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | ':'))
    };
    let Some(first) = arguments.get(1).filter(|first| !first.starts_with('-')) else { return Ok(arguments) };
    let root = Cli::command();
    if first == "help" || root.find_subcommand(first).is_some() {
        return Ok(arguments);
    }
    let end =
        arguments[1..].iter().position(|given| given.starts_with('-')).map_or(arguments.len(), |at| at + 1);
    let prompt = arguments[1..end].join(" ");
    if is_word(first) {
        let intended = intended(first, &root);
        if intended.is_some() || end == 2 {
            return Err(no_command(first, intended.as_deref(), &prompt));
        }
    }
    arguments.splice(1..end, [prompt]);
    Ok(arguments)
}

/// Returns the command that a word stands for: another program's name of it, or a typing mistake.
fn intended(given: &str, root: &clap::Command) -> Option<String> {
    let given = given.to_ascii_lowercase();
    if let Some((_, command)) = OTHER_NAMES.iter().find(|(name, _)| *name == given) {
        return Some((*command).to_owned());
    }
    let distance = |name: &str| strsim::damerau_levenshtein(name, &given);
    let nearest = root
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned())
        .min_by_key(|name| distance(name))?;
    // A short word is close to many others.
    let most = if given.len() < 5 { 1 } else { 2 };
    (distance(&nearest) <= most).then_some(nearest)
}

fn no_command(given: &str, intended: Option<&str>, prompt: &str) -> Failure {
    let what = match intended {
        Some(intended) => format!("there is no command `{given}`; did you mean `tiller {intended}`?"),
        None => format!("there is no command `{given}`; `tiller --help` lists them"),
    };
    Failure::new(Kind::Usage, what)
        .hint(format!("to send it to the model as a prompt: tiller -p '{prompt}'"))
        .next(format!("tiller {}", intended.unwrap_or("--help")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &[&str]) -> Result<Vec<String>, String> {
        let arguments = ["tiller"].iter().chain(line).map(|word| (*word).to_owned()).collect();
        prompt_or_suggestion(arguments).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn a_prompt_needs_neither_p_nor_quotes() {
        for (line, expected) in [
            (&["fix the bug"][..], &["fix the bug"][..]),
            (&["fix", "the", "mcp", "bug", "-m", "a/b"], &["fix the mcp bug", "-m", "a/b"]),
            (&["/etc/hosts", "what is in it?"], &["/etc/hosts what is in it?"]),
            (&["why?"], &["why?"]),
            (&["mcp", "list"], &["mcp", "list"]),
            (&["help", "mcp"], &["help", "mcp"]),
            (&["-p", "login"], &["-p", "login"]),
            (&[], &[]),
        ] {
            assert_eq!(read(line).unwrap()[1..], *expected, "{line:?}");
        }
    }

    #[test]
    fn a_mistyped_command_is_not_sent_to_a_model() {
        for (line, says) in [
            (&["sesions", "list"][..], "`tiller sessions`"),
            (&["login"], "`tiller setup`"),
            (&["version"], "`tiller --version`"),
            (&["Doctor"], "`tiller doctor`"),
            (&["modles"], "`tiller models`"),
            (&["frobnicate"], "`tiller --help`"),
            (&["settings", "list"], "`tiller config`"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains(says) && error.contains("tiller -p"), "{line:?}: {error}");
        }
    }
}
