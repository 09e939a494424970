//! Commands of what this build does not have: taken whole, to be told so.

use clap::Args;

/// Whatever follows.
#[derive(Debug, Args)]
pub(crate) struct Anything {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    rest: Vec<String>,
}
