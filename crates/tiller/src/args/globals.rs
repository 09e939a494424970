//! The flags that every command has.

use super::Cli;
use crate::answer::{ColourWhen, Wishes};
use clap::{Args, CommandFactory as _};
use std::path::PathBuf;

/// The global flags.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Globals {
    /// Work in this directory instead of the current one
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) cwd: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t = ColourWhen::Auto, hide_possible_values = true)]
    pub(crate) color: ColourWhen,
    /// Never ask; a missing value is an error
    #[arg(long, global = true)]
    pub(crate) no_input: bool,
    /// Print no notes, only results and errors
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// Your settings file, instead of config.toml
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}

impl Globals {
    /// Returns what they say about output.
    pub(crate) fn wishes(&self) -> Wishes {
        Wishes {
            json: self.json,
            lines: false,
            quiet: self.quiet,
            no_input: self.no_input,
            colour: self.color,
        }
    }
}

/// Returns what the arguments say about output, for the errors of a command line that cannot be
/// parsed.
pub(crate) fn wishes(arguments: impl Iterator<Item = String>) -> Wishes {
    let mut wishes = Wishes::default();
    let mut arguments = arguments.skip(1).take_while(|given| given != "--").peekable();
    let is_command = |given: &String| Cli::command().find_subcommand(given).is_some();
    let is_run = !arguments.peek().is_some_and(is_command);
    while let Some(given) = arguments.next() {
        let colour = match given.strip_prefix("--color") {
            Some("") => arguments.peek().cloned(),
            Some(value) => value.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        match (given.as_str(), colour.as_deref()) {
            ("--json", _) => wishes.json = true,
            (given, _) if is_run && output_format(given, arguments.peek()).is_some_and(is_json) => {
                wishes.json = true;
            }
            ("--jsonl", _) => wishes.lines = true,
            ("--no-input", _) => wishes.no_input = true,
            ("-q" | "--quiet", _) => wishes.quiet = true,
            (_, Some("always")) => wishes.colour = ColourWhen::Always,
            (_, Some("never")) => wishes.colour = ColourWhen::Never,
            _ => {}
        }
    }
    wishes
}

fn is_json(format: &str) -> bool {
    matches!(format, "json" | "stream-json")
}

/// Returns the value of the flag of a run's output format, if an argument is that flag.
fn output_format<'a>(given: &'a str, next: Option<&'a String>) -> Option<&'a str> {
    let long = ["--output-format", "--output"].into_iter().find_map(|flag| given.strip_prefix(flag));
    match (long, given.strip_prefix("-o")) {
        (Some(""), _) | (None, Some("")) => next.map(String::as_str),
        (Some(value), _) => value.strip_prefix('='),
        (None, Some(value)) => Some(value.strip_prefix('=').unwrap_or(value)),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_wishes_of_a_wrong_command_line_are_found() {
        let read = |line: &str| wishes(line.split(' ').map(str::to_owned));
        assert!(read("tiller sesions --json list").json);
        for line in ["-o json", "-ojson", "-o=json", "--output-format stream-json", "--output=json"] {
            assert!(read(&format!("tiller -p x {line} --nope")).json, "{line}");
        }
        assert!(!read("tiller -p x -o text --nope").json);
        assert!(!read("tiller mcp add x -- prog --json").json);
        assert_eq!(read("tiller x --color never").colour, ColourWhen::Never);
        assert_eq!(read("tiller --color=always x").colour, ColourWhen::Always);
    }
}
