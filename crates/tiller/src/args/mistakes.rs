//! Says what is wrong with a command line: the parser's error, in sentences that name the command.

use super::words::first_word;
use crate::{
    answer::{Failure, Kind},
    exit::Exit,
};
use clap::{
    Command,
    error::{ContextKind, ContextValue, ErrorKind},
};

/// Translates an error of the parser `root` about these arguments.
pub(super) fn failure(error: &clap::Error, root: &Command, arguments: &[String]) -> Failure {
    let (name, _) = named(root, arguments);
    let failure = explained(error, root, arguments);
    // The commands around the server have exit codes of their own.
    match name.split(' ').nth(1) == Some("serve") {
        true => Failure { exit: Exit::Limit, ..failure },
        false => failure,
    }
}

fn explained(error: &clap::Error, root: &Command, arguments: &[String]) -> Failure {
    let (name, command) = named(root, arguments);
    let help = format!("{name} --help");
    let strings = |kind| match error.get(kind) {
        Some(ContextValue::String(one)) => vec![one.clone()],
        Some(ContextValue::Strings(several)) => several.clone(),
        _ => Vec::new(),
    };
    let given = strings(ContextKind::InvalidArg);
    let value = strings(ContextKind::InvalidValue);
    let choices = strings(ContextKind::ValidValue);
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = strings(ContextKind::InvalidSubcommand).concat();
            let below = command.get_subcommands().filter(|below| !below.is_hide_set());
            let nearest = agent::closest(&word, below, |below| below.get_name()).map(Command::get_name);
            Failure::new(Kind::Usage, format!("`{name}` has no command '{word}'"))
                .meant(nearest)
                .next(nearest.map_or(help, |nearest| format!("{name} {nearest}")))
        }
        ErrorKind::UnknownArgument if given.iter().any(|given| given.starts_with('-')) => {
            let given = given.concat();
            let failure = Failure::new(Kind::Usage, format!("`{name}` has no option '{given}'"));
            let global = root.get_arguments().filter(|arg| arg.is_global_set());
            let known = command.get_arguments().chain(global).filter(|arg| !arg.is_hide_set());
            let nearest = match given.strip_prefix("--") {
                Some(long) => agent::closest(long, known.filter_map(|arg| arg.get_long()), |long| long),
                None => None,
            };
            failure.meant(nearest.map(|long| format!("--{long}"))).next(help)
        }
        ErrorKind::UnknownArgument => {
            Failure::new(Kind::Usage, format!("`{name}` does not take '{}'", given.join(" "))).next(help)
        }
        ErrorKind::MissingRequiredArgument => {
            let missing: Vec<_> = given.iter().map(|arg| plain(arg)).collect();
            Failure::new(Kind::Usage, format!("`{name}` needs {}", missing.join(" and "))).next(help)
        }
        ErrorKind::InvalidValue if value.concat().is_empty() => {
            let choices = match choices.is_empty() {
                true => String::new(),
                false => format!("; one of {}", choices.join(", ")),
            };
            let what = format!("{} needs a value{choices}", plain(&given.concat()));
            Failure::new(Kind::Usage, what).next(help)
        }
        ErrorKind::InvalidValue if !choices.is_empty() => {
            let what = format!("{} cannot be '{}'", plain(&given.concat()), value.concat());
            let what = format!("{what}; one of {}", choices.join(", "));
            let nearest = agent::closest(&value.concat(), &choices, |choice| choice);
            Failure::new(Kind::Usage, what).meant(nearest).next(help)
        }
        _ => other(error, help),
    }
}

/// Returns the failure for any other error: the parser's text without its decoration.
fn other(error: &clap::Error, help: String) -> Failure {
    let text = error.render().to_string();
    // The words of the standard library for a number that is none.
    let text = text
        .replace("invalid digit found in string", "it is not a whole number")
        .replace("cannot parse integer from empty string", "it is empty");
    // The library prints the help of a group that was called without a command as an error.
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        let name = help.trim_end_matches(" --help");
        return Failure::new(Kind::Usage, format!("`{name}` needs a command")).next(help);
    }
    let (head, rest) = text.split_once("\n\n").unwrap_or((text.as_str(), ""));
    let lines = head.trim_start_matches("error: ").lines().map(str::trim);
    let failure = Failure::new(Kind::Usage, lines.collect::<Vec<_>>().join(" "));
    let tips: Vec<&str> = rest.lines().filter_map(|line| line.trim().strip_prefix("tip: ")).collect();
    let failure = if tips.is_empty() { failure } else { failure.hint(tips.join("; ")) };
    failure.next(help)
}

/// Returns the command that the arguments name, and how it is written.
fn named<'a>(root: &'a Command, arguments: &[String]) -> (String, &'a Command) {
    let (mut name, mut command) = ("tiller".to_owned(), root);
    let from = first_word(arguments, root).unwrap_or(arguments.len());
    for word in arguments[from..].iter().take_while(|word| *word != "--") {
        match command.find_subcommand(word) {
            Some(below) => {
                name = format!("{name} {}", below.get_name());
                command = below;
            }
            None if word.starts_with('-') => {}
            None => break,
        }
    }
    (name, command)
}

/// Returns an argument without the signs of the parser: `<ID>` is ID, `<VALUE>...` is VALUE.
fn plain(argument: &str) -> String {
    match argument.starts_with('<') {
        true => argument.trim_end_matches("...").trim_matches(['<', '>']).to_owned(),
        false => argument.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use crate::args::{Cli, Instead};

    #[test]
    fn a_mistake_names_the_command_and_what_was_probably_meant() {
        for (line, says) in [
            ("tiller config schow", "`tiller config` has no command 'schow'; did you mean 'show'?"),
            ("tiller doctor --onlin", "`tiller doctor` has no option '--onlin'; did you mean '--online'?"),
            ("tiller doctor --jsno", "`tiller doctor` has no option '--jsno'; did you mean '--json'?"),
            ("tiller --modle x -p hello", "`tiller` has no option '--modle'; did you mean '--model'?"),
            ("tiller doctor -z", "`tiller doctor` has no option '-z'"),
            ("tiller keys extra", "`tiller keys` does not take 'extra'"),
            ("tiller --json sessions show", "`tiller sessions show` needs ID"),
            ("tiller settings set agent.mode", "`tiller settings set` needs VALUE"),
            ("tiller memory add", "`tiller memory add` needs TITLE and CONTENT"),
            ("tiller -m", "--model <PROVIDER/NAME> needs a value"),
            ("tiller completions bahs", "did you mean 'bash'?"),
            ("tiller sessions", "`tiller sessions` needs a command"),
        ] {
            let Err(Instead::Error(failure)) = Cli::of(line.split(' ').map(str::to_owned).collect()) else {
                panic!("{line} is invalid")
            };
            let hint = failure.hint.iter().map(|hint| format!("; {hint}")).collect::<String>();
            assert!(format!("{failure}{hint}").contains(says), "{line}: {failure}{hint}");
            assert!(failure.next.iter().all(|next| next.starts_with("tiller")), "{line}: {failure:?}");
        }
    }
}
