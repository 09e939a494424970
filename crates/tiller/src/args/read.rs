//! Reads the command line of this process.

use super::{
    Cli, Command, PrintArgs, acp,
    help::{self, Length},
    mistakes, spelling, words,
};
use crate::answer::{Failure, Kind};
use clap::{CommandFactory as _, FromArgMatches as _, parser::ValueSource};

/// What is printed instead of running a command.
#[derive(Debug)]
pub(crate) enum Instead {
    /// The requested help or version.
    Help(String),
    /// Why the command line is invalid.
    Error(Failure),
}

impl Cli {
    /// Parses the command line of this process.
    ///
    /// # Errors
    /// What to print instead of running.
    pub(crate) fn read() -> Result<Self, Instead> {
        let arguments: Result<Vec<String>, _> =
            std::env::args_os().map(std::ffi::OsString::into_string).collect();
        let arguments = arguments.map_err(|given| {
            let what = format!("the argument {:?} is not UTF-8", given.to_string_lossy());
            Instead::Error(Failure::new(Kind::Usage, what))
        })?;
        Self::of(arguments)
    }

    /// Parses a command line.
    pub(crate) fn of(arguments: Vec<String>) -> Result<Self, Instead> {
        // Nothing but the version: without building the parser.
        if let [_, only] = arguments.as_slice()
            && matches!(only.as_str(), "-V" | "--version")
        {
            return Err(Instead::Help(format!("tiller {}\n", env!("CARGO_PKG_VERSION"))));
        }
        if let Some((globals, command)) = acp::alone(&arguments) {
            return Ok(Self { globals, command: Some(Command::Acp(command)), print: PrintArgs::default() });
        }
        Self::parsed(arguments)
    }

    /// Parses a command line with the parser of all commands.
    pub(super) fn parsed(arguments: Vec<String>) -> Result<Self, Instead> {
        let root = Self::command();
        let arguments = spelling::spelled(arguments, &root).map_err(Instead::Error)?;
        spelling::refuse_keys(&arguments).map_err(Instead::Error)?;
        words::check(&arguments, &root).map_err(Instead::Error)?;
        let arguments = match words::first_word(&arguments, &root) {
            Some(at) => help::with_help_first(arguments, &root, at),
            None => arguments,
        };
        // Only a help needs the groups, the topics and the examples of all commands.
        let mut root = match help::is_wanted(&arguments) {
            true => help::prepared(root, Length::of(&arguments)),
            false => root,
        };
        let matches = root.try_get_matches_from_mut(&arguments);
        let matches = matches.map_err(|error| instead(&error, &root, &arguments))?;
        if let Some(name) = matches.subcommand_name() {
            let own = root.get_arguments().filter(|arg| !arg.is_global_set());
            let given = own
                .filter(|arg| matches.try_contains_id(arg.get_id().as_str()).unwrap_or(false))
                .find(|arg| matches.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine));
            if let Some(arg) = given {
                let what = format!("`tiller {name}` does not take {arg}, which belongs to a prompt");
                return Err(Instead::Error(
                    Failure::new(Kind::Usage, what).next(format!("tiller {name} --help")),
                ));
            }
        }
        Self::from_arg_matches(&matches).map_err(|error| instead(&error, &root, &arguments))
    }
}

/// Returns what is printed for an error of the parser, which a help is, too.
fn instead(error: &clap::Error, root: &clap::Command, arguments: &[String]) -> Instead {
    match error.use_stderr() {
        true => Instead::Error(mistakes::failure(error, root, arguments)),
        false => Instead::Help(error.render().to_string()),
    }
}
