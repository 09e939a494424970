//! `tiller help`: explains a command or a topic.

mod environment;
mod exit_codes;
mod json;

use crate::{
    answer::{Answer, Console, Failure, Kind},
    args::{Cli, TOPICS, help_of},
    exit::Exit,
    keys,
};
use anyhow::Result;
use clap::CommandFactory as _;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// The result of `tiller help`.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Help {
    /// The command or the topic; empty for the whole program.
    about: String,
    /// The text, with line ends.
    text: String,
}

/// Whether the words name the topic whose text depends on the user's settings.
pub(crate) fn is_about_keys(words: &[String]) -> bool {
    matches!(words, [only] if only == "keys")
}

/// Runs the command. `bound` are the user's keys of actions.
///
/// # Errors
/// If there is no such command or topic.
pub(crate) fn run(
    console: &Console,
    words: &[String],
    bound: &BTreeMap<String, Vec<String>>,
) -> Result<Exit> {
    // `sessions:list` is `sessions list`, as on the command line.
    let words: Vec<_> = words.iter().flat_map(|word| word.split(':')).map(str::to_owned).collect();
    let topic = match words.as_slice() {
        [only] => topic(only, bound),
        _ => None,
    };
    let Some(text) = topic.or_else(|| help_of(&words)) else {
        return Err(unknown(&words.join(" ")).into());
    };
    console.print(Answer::new(Help { about: words.join(" "), text: text.clone() }, text))
}

/// Returns the text of a topic.
fn topic(name: &str, bound: &BTreeMap<String, Vec<String>>) -> Option<String> {
    match name {
        "environment" => Some(environment::text()),
        "exit-codes" => Some(exit_codes::text()),
        "json" => Some(json::text()),
        "keys" => Some(keys::explained(bound)),
        _ => None,
    }
}

fn unknown(given: &str) -> Failure {
    let topics = TOPICS.map(|(name, _)| name);
    let root = Cli::command();
    let commands = root.get_subcommands().filter(|command| !command.is_hide_set());
    let names = topics.into_iter().chain(commands.map(clap::Command::get_name));
    let first = given.split(' ').next().unwrap_or_default();
    let nearest = agent::closest(first, names, |name| name);
    let failure = Failure::new(Kind::NotFound, format!("there is no command or topic '{given}'"))
        .hint(format!("topics: {}", topics.join(", ")));
    match nearest {
        Some(nearest) => failure.next(format!("tiller help {nearest}")),
        None => failure.next("tiller help"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_topic_has_a_text_that_fits_into_80_columns() {
        for (name, _) in TOPICS {
            let text = topic(name, &BTreeMap::new()).unwrap();
            let wide: Vec<_> = text.lines().filter(|line| line.chars().count() > 80).collect();
            assert_eq!(wide, [""; 0], "{name}");
            assert!(text.ends_with('\n') && text.lines().count() > 5, "{name}: {text}");
        }
    }

    #[test]
    fn an_unknown_topic_is_answered_with_the_nearest() {
        let failure = unknown("exit-code");
        assert_eq!(failure.next, ["tiller help exit-codes"]);
        assert!(failure.hint.unwrap().contains("environment"));
        assert_eq!(unknown("zzz").next, ["tiller help"]);
    }

    #[test]
    fn an_unknown_command_is_answered_with_the_nearest() {
        assert_eq!(unknown("sesions").next, ["tiller help sessions"]);
        assert_eq!(unknown("sessions lst").next, ["tiller help sessions"]);
    }
}
