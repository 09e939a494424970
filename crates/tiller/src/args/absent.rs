//! Placeholder for the commands that this build leaves out: accepts any arguments, so that the
//! command can report that it is missing.

use clap::Args;

/// Any arguments.
#[derive(Debug, Args)]
pub(crate) struct Anything {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    rest: Vec<String>,
}
