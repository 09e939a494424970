//! Parses `tiller acp`, the command that editors start, without building the parsers of all other
//! commands: that takes longer than the rest of parsing.

use super::{AcpArgs, Globals};
use clap::{Args as _, FromArgMatches as _};

/// Parses the arguments of `tiller acp`. Returns `None` for anything else, and for arguments that
/// are invalid: the full parser's messages are the ones for people.
pub(super) fn alone(arguments: &[String]) -> Option<(Globals, AcpArgs)> {
    let [_, command, given @ ..] = arguments else { return None };
    if command != "acp" {
        return None;
    }
    let parser = AcpArgs::augment_args(clap::Command::new("acp").no_binary_name(true));
    let matches = Globals::augment_args(parser).try_get_matches_from(given).ok()?;
    Some((Globals::from_arg_matches(&matches).ok()?, AcpArgs::from_arg_matches(&matches).ok()?))
}

#[cfg(test)]
mod tests {
    use super::{
        super::{Cli, Command, PrintArgs},
        *,
    };

    #[test]
    fn the_acp_parser_agrees_with_the_whole_parser() {
        for (given, taken_alone) in [
            ("acp", true),
            ("acp --model openai/gpt-5 --mode plan", true),
            ("acp -m a/b --cwd=/tmp/x --protocol 1 --events off", true),
            ("acp -ma/b --yolo --record r.jsonl", true),
            ("acp --permission-mode argus --setup", true),
            ("acp -q --color never --config x.toml", true),
            ("acp --", true),
            ("acp --yolo --permission-mode argus", false),
            ("acp --mode rage", false),
            ("acp --modell x", false),
            ("acp --model", false),
            ("acp --model a --model b", false),
            ("acp --protocol 7", false),
            ("acp --print hello", false),
            ("acp more", false),
            ("acp -- more", false),
            ("acp help", false),
            ("acp --help", false),
            ("acp -h", false),
            ("acp --version", false),
            ("acp -V", false),
            ("acps", false),
            ("help acp", false),
            ("doctor", false),
            ("-m a/b acp", false),
            ("-p hello acp", false),
            ("--version", false),
            ("", false),
        ] {
            let words: Vec<_> =
                ["tiller"].into_iter().chain(given.split_whitespace()).map(str::to_owned).collect();
            let read = alone(&words);
            assert_eq!(read.is_some(), taken_alone, "{given}");
            match (read, Cli::parsed(words.clone())) {
                (Some((globals, command)), Ok(whole)) => {
                    let command = Some(Command::Acp(command));
                    let read = Cli { globals, command, print: PrintArgs::default() };
                    assert_eq!(format!("{read:?}"), format!("{whole:?}"), "{given}");
                }
                (Some(_), Err(error)) => panic!("{given}: the whole parser says {error:?}"),
                // The full parser accepts no arguments of this command that the fast one left to
                // it.
                (None, whole) => {
                    let taken = matches!(whole, Ok(Cli { command: Some(Command::Acp(_)), .. }));
                    assert!(!taken, "{given}");
                }
            }
        }
    }
}
