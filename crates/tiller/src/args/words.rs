//! Decides whether the first word of a command line is a command, a prompt or a mistake.

use crate::answer::{Failure, Kind};
use clap::{Arg, Command};

/// Commands of other programs, with their names here. A name that is a command here is not looked
/// up.
const OTHER_NAMES: [(&str, &str); 22] = [
    ("agent", "acp"),
    ("chat", "-p PROMPT"),
    ("check", "doctor"),
    ("diagnose", "doctor"),
    ("exec", "-p PROMPT"),
    ("history", "sessions list"),
    ("init", "setup"),
    ("key", "auth"),
    ("list", "sessions list"),
    ("login", "auth login"),
    ("logout", "auth logout"),
    ("ls", "sessions list"),
    ("model", "models"),
    ("plugins", "mcp"),
    ("prompt", "-p PROMPT"),
    ("resume", "--continue"),
    ("run", "-p PROMPT"),
    ("servers", "mcp"),
    ("status", "doctor"),
    ("upgrade", "update"),
    ("version", "--version"),
    ("whoami", "auth status"),
];

/// Returns the place of the first argument that is neither a flag nor the value of one; `None` if
/// there is none before `--`.
pub(super) fn first_word(arguments: &[String], root: &Command) -> Option<usize> {
    let mut at = 1;
    loop {
        let given = arguments.get(at)?;
        if given == "--" {
            return None;
        }
        if !given.starts_with('-') || given == "-" {
            return Some(at);
        }
        at += if takes_the_next(given, root) { 2 } else { 1 };
    }
}

/// Whether the argument after a flag is the flag's value.
fn takes_the_next(given: &str, root: &Command) -> bool {
    let takes = |arg: &Arg| arg.get_action().takes_values() && !arg.is_require_equals_set();
    let long = |arg: &&Arg, name: &str| {
        arg.get_long() == Some(name) || arg.get_all_aliases().is_some_and(|all| all.contains(&name))
    };
    match given.strip_prefix("--") {
        Some(name) => {
            !name.contains('=') && root.get_arguments().find(|arg| long(arg, name)).is_some_and(takes)
        }
        None => {
            let mut letters = given[1..].chars();
            let (Some(letter), None) = (letters.next(), letters.next()) else { return false };
            root.get_arguments().find(|arg| arg.get_short() == Some(letter)).is_some_and(takes)
        }
    }
}

/// Checks that the first word is a command or a quoted prompt. After `-p` and `-i` a single word is
/// a prompt, too.
///
/// # Errors
/// For a single word that is no command, and for several unquoted words: a typing mistake must not
/// become a request to a model, and a command that is added later must not break a script.
pub(super) fn check(arguments: &[String], root: &Command) -> Result<(), Failure> {
    let takes_a_prompt = |given: &String| {
        matches!(given.as_str(), "--print" | "--interactive" | "-i")
            || (given.starts_with("-p") && !given.starts_with("--"))
    };
    let before = arguments.iter().take_while(|given| *given != "--");
    let Some(at) = first_word(arguments, root) else { return Ok(()) };
    let first = &arguments[at];
    if first == "help"
        || first == "-"
        || root.find_subcommand(first).is_some()
        || before.clone().any(takes_a_prompt)
    {
        return Ok(());
    }
    let rest = arguments[at + 1..].iter().take_while(|given| !given.starts_with('-'));
    let all: Vec<&str> = std::iter::once(first).chain(rest).map(String::as_str).collect();
    if first.contains(char::is_whitespace) && all.len() == 1 {
        return Ok(());
    }
    Err(no_command(first, root, &all.join(" ")))
}

/// Returns the command that a word stands for: another program's name of it, or a typing mistake.
fn intended(given: &str, root: &Command) -> Option<String> {
    let given = given.to_ascii_lowercase();
    let (first, rest) = given.split_once(':').unwrap_or((&given, ""));
    if root.find_subcommand(first).is_some() {
        return Some(first.to_owned());
    }
    if let Some((_, command)) = OTHER_NAMES.iter().find(|(name, _)| *name == first) {
        return Some((*command).to_owned());
    }
    let visible = root.get_subcommands().filter(|command| !command.is_hide_set());
    let nearest = agent::closest(first, visible, |command| command.get_name())?.get_name();
    let rest = if rest.is_empty() { String::new() } else { format!(" {}", rest.replace(':', " ")) };
    Some(format!("{nearest}{rest}"))
}

fn no_command(given: &str, root: &Command, prompt: &str) -> Failure {
    let intended = intended(given, root);
    let what = match &intended {
        Some(intended) => format!("no command '{given}'; did you mean '{intended}'?"),
        None => format!("no command '{given}'; `tiller --help` lists them"),
    };
    let quoted = match prompt.contains(|c: char| !c.is_ascii_alphanumeric()) {
        true => format!("'{}'", prompt.replace('\'', r"'\''")),
        false => prompt.to_owned(),
    };
    // A word with a slash, or with dots at its beginning, is a path and no typing mistake.
    if intended.is_none() && prompt == given && (given.contains('/') || given.starts_with('.')) {
        return Failure::new(Kind::Usage, format!("'{given}' is no command"))
            .hint("a prompt about a file names it with @")
            .next(format!("tiller -p 'explain @{}'", given.replace('\'', r"'\''")));
    }
    Failure::new(Kind::Usage, what)
        .hint(format!("to send it as a prompt: tiller -p {quoted}"))
        .next(format!("tiller {}", intended.as_deref().unwrap_or("--help")))
}

#[cfg(test)]
mod tests {
    use super::{super::Cli, *};
    use clap::CommandFactory as _;

    fn read(line: &[&str]) -> Result<(), String> {
        let arguments: Vec<_> = ["tiller"].iter().chain(line).map(|word| (*word).to_owned()).collect();
        check(&arguments, &Cli::command()).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn a_quoted_prompt_needs_no_flag() {
        for line in [
            &["fix the bug"][..],
            &["-m", "a/b", "fix the bug"],
            &["fix the bug", "-m", "a/b"],
            &["-c", "and the tests"],
            &["mcp", "list"],
            &["--json", "mcp", "list"],
            &["help", "mcp"],
            &["-p", "login"],
            &["login", "-p"],
            &["-o", "json", "-p", "login"],
            &["-i", "hello"],
            &["hello", "--interactive"],
            &["--", "login"],
            &[],
        ] {
            assert_eq!(read(line), Ok(()), "{line:?}");
        }
    }

    #[test]
    fn a_word_that_is_no_command_is_never_sent_to_a_model() {
        for (line, says) in [
            (&["sesions", "list"][..], "did you mean 'sessions'?"),
            (&["version"], "did you mean '--version'?"),
            (&["Doctor"], "did you mean 'doctor'?"),
            (&["modles"], "did you mean 'models'?"),
            (&["sesions:list"], "did you mean 'sessions list'?"),
            (&["fix:typo"], "to send it as a prompt: tiller -p 'fix:typo'"),
            (&["why?"], "tiller -p 'why?'"),
            (&["frobnicate"], "`tiller --help`"),
            (&["fix", "the", "mcp", "bug", "-m", "a/b"], "tiller -p 'fix the mcp bug'"),
            (&["don't", "stop"], r"tiller -p 'don'\\''t stop'"),
            (&["fix this", "and that"], "tiller -p 'fix this and that'"),
            (&["-m", "a/b", "explain"], "tiller -p explain"),
            (&["src/main.rs"], "tiller -p 'explain @src/main.rs'"),
            (&["./README.md"], "tiller -p 'explain @./README.md'"),
        ] {
            let error = read(line).unwrap_err();
            assert!(error.contains("no command") && error.contains(says), "{line:?}: {error}");
        }
    }
}
