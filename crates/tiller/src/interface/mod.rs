//! The interface in a terminal, where a person types prompts and answers questions.

use crate::{
    answer::{Console, Failure, Kind},
    args::PrintArgs,
    environment::Environment,
    exit::Exit,
};
use anyhow::Result;

/// What the command line asks of the interface.
#[derive(Debug, Default)]
pub(crate) struct InterfaceOptions {
    /// The prompt that is sent at once.
    pub(crate) prompt: Option<String>,
    /// All flags.
    pub(crate) args: PrintArgs,
}

/// Opens the interface; returns when the user leaves it.
///
/// # Errors
/// Always, for now: there is no interface yet.
pub(crate) async fn run(
    options: InterfaceOptions,
    _environment: &Environment,
    _console: &Console,
) -> Result<Exit> {
    let prompt = options.prompt.as_deref().unwrap_or("PROMPT");
    let model = options.args.session.model.map(|model| format!(" -m {model}")).unwrap_or_default();
    Err(Failure::new(Kind::NotAvailable, "the interface in the terminal is not available yet")
        .hint("a prompt runs without it, and prints the answer")
        .next(format!("tiller -p '{prompt}'{model}"))
        .into())
}
