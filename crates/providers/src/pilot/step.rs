//! What a step and a command are.

use super::{
    phrase::Phrase,
    progress::{Blocked, Script},
};

/// A step of a prompt.
pub(crate) trait Step: std::fmt::Debug {
    /// Describes the step, beginning with a verb.
    fn describe(&self) -> String;

    /// Returns the tools that the step requires.
    fn tools(&self) -> &'static [&'static str];

    /// Runs the step, or the next part of it.
    fn perform(&self, script: &mut Script<'_>) -> Result<Outcome, Blocked>;

    /// Returns the file that the step works on, which "it" refers to in the next step.
    fn file(&self) -> Option<&str> {
        None
    }
}

/// A parsed step, or the reason why it is invalid, for the user.
pub(crate) type ParsedStep = Result<Box<dyn Step>, String>;

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Outcome {
    /// What was done: a sentence without its full stop.
    pub(crate) line: String,
    /// A text to show with it.
    pub(crate) shown: Option<String>,
    /// The changed files, each with what was done to it.
    pub(crate) changed: Vec<(String, String)>,
}

/// A command: how to parse it, and how to present it to users.
#[derive(Debug)]
pub(crate) struct Command {
    /// The verbs it begins with, for suggesting similar commands.
    pub(crate) verbs: &'static [&'static str],
    /// Its syntax.
    pub(crate) form: &'static str,
    /// An example that can be sent unchanged.
    pub(crate) example: &'static str,
    /// Parses a phrase. Returns `None` if the phrase does not begin like this command, and the
    /// reason if it begins like it but is invalid.
    pub(crate) parse: fn(Phrase<'_>) -> Option<ParsedStep>,
}

/// Converts the description of a step to the past tense.
pub(crate) fn past(description: &str) -> String {
    let (verb, rest) = description.split_once(' ').unwrap_or((description, ""));
    let verb = match verb {
        "insert" | "append" | "list" => format!("{verb}ed"),
        "search" => "searched".to_owned(),
        other => format!("{}d", other),
    };
    format!("{verb} {rest}")
}
