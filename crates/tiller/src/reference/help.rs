//! The help of every command, in `tests/it/golden/help`: a file for each command of the top level.

use crate::args::{Cli, Instead, help_of};
use clap::{Command, CommandFactory as _};

/// Returns the files with their names.
pub(super) fn files() -> Vec<(String, String)> {
    let root = Cli::command();
    let long = help_of(&[]).expect("the program has a help");
    let globals = globals(&long).to_owned();
    let short = match Cli::of(["tiller", "-h"].map(str::to_owned).to_vec()) {
        Err(Instead::Help(text)) => text,
        other => panic!("-h is a help: {other:?}"),
    };
    let mut files = vec![("tiller".to_owned(), format!("$ tiller -h\n{short}\n$ tiller --help\n{long}"))];
    for command in root.get_subcommands() {
        let mut text = String::new();
        section(&mut text, command, &mut vec![command.get_name().to_owned()], &globals);
        files.push((command.get_name().trim_start_matches('_').to_owned(), text));
    }
    files
}

/// Adds the help of a command and of those below it. The options that every command has are those
/// of the whole program, and shown there.
fn section(text: &mut String, command: &Command, words: &mut Vec<String>, globals: &str) {
    let help = help_of(words).expect("a command has a help");
    let own = self::globals(&help);
    let spaces_aside = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(spaces_aside(own), spaces_aside(globals), "{words:?} has the options of every command");
    let help = help.replace(own, "(of every command)\n");
    *text += &format!("$ tiller {} --help\n{help}\n", words.join(" "));
    for below in command.get_subcommands() {
        words.push(below.get_name().to_owned());
        section(text, below, words, globals);
        words.pop();
    }
}

/// Returns the part of a help with the options of every command.
fn globals(help: &str) -> &str {
    let (_, rest) = help.split_once("Global options:\n").expect("every help has them");
    rest.split("\nExamples:").next().and_then(|rest| rest.split("\nTopics,").next()).unwrap_or(rest)
}
