//! Arguments whose values only this machine knows.

use crate::args::{Cli, CompletedKind as Kind};
use clap::{Arg, Command, CommandFactory as _};

/// An argument that is completed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Completed {
    /// The words of the command, such as `sessions show`; empty for the program itself.
    pub(super) command: String,
    pub(super) place: Place,
    pub(super) kind: Kind,
}

/// Where an argument stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// After an option: its long and its short form.
    Option { long: String, short: Option<char> },
    /// At a position, counted from 1.
    Position(usize),
}

/// Returns every completed argument of the command line.
pub(super) fn all() -> Vec<Completed> {
    let mut root = Cli::command();
    root.build();
    let mut found = Vec::new();
    collect(&root, "", &mut found);
    found
}

/// Returns the words of every command: `sessions`, `sessions show`, …
pub(super) fn commands() -> Vec<String> {
    fn add(command: &Command, words: &str, found: &mut Vec<String>) {
        for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
            let words = format!("{words} {}", below.get_name()).trim_start().to_owned();
            found.push(words.clone());
            add(below, &words, found);
        }
    }
    let mut found = Vec::new();
    add(&Cli::command(), "", &mut found);
    found
}

fn collect(command: &Command, words: &str, found: &mut Vec<Completed>) {
    for arg in command.get_arguments() {
        if let Some(kind) = of_option(arg) {
            let long = arg.get_long().unwrap_or_default().to_owned();
            let place = Place::Option { long, short: arg.get_short() };
            found.push(Completed { command: words.to_owned(), place, kind });
        }
    }
    for arg in command.get_positionals() {
        let index = arg.get_index().unwrap_or(1);
        if let Some(kind) = of_position(words, arg.get_id().as_str(), index) {
            found.push(Completed { command: words.to_owned(), place: Place::Position(index), kind });
        }
    }
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        collect(below, format!("{words} {}", below.get_name()).trim_start(), found);
    }
}

fn of_option(arg: &Arg) -> Option<Kind> {
    match arg.get_long()? {
        "model" => Some(Kind::Models),
        "session" => Some(Kind::Sessions),
        "upstream" => Some(Kind::Servers),
        "integration" => Some(Kind::Integrations),
        _ => None,
    }
}

fn of_position(command: &str, id: &str, index: usize) -> Option<Kind> {
    let (group, rest) = command.split_once(' ')?;
    match (group, rest, id) {
        ("sessions", _, "id") => Some(Kind::Sessions),
        ("config" | "settings", "set", "value") if index == 2 => Some(Kind::Values),
        ("config" | "settings", _, "name" | "key") => Some(Kind::Settings),
        ("mcp", "add" | "import", _) => None,
        ("mcp", _, "server" | "name") if !rest.contains(' ') => Some(Kind::Servers),
        ("integrations", "docs" | "schema" | "examples", _) => Some(Kind::Functions),
        ("integrations", "call", _) if index == 1 => Some(Kind::Functions),
        ("integrations", "add", _) => None,
        ("integrations", _, "name") => Some(Kind::Integrations),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum as _;

    #[test]
    fn each_kind_completes_an_argument() {
        let all = all();
        for kind in Kind::value_variants() {
            assert!(all.iter().any(|completed| completed.kind == *kind), "{kind:?}");
        }
        let show = all.iter().find(|completed| completed.command == "sessions show").unwrap();
        assert_eq!((show.kind, &show.place), (Kind::Sessions, &Place::Position(1)));
    }
}
