//! The arguments of `tiller update`.

use clap::Args;

/// The arguments of `tiller update`.
#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Only report whether a newer version exists.
    #[arg(long, conflicts_with = "rollback")]
    pub(crate) check: bool,
    /// Put back the version that the last update replaced.
    #[arg(long)]
    pub(crate) rollback: bool,
    /// Replace the program although sessions are open.
    #[arg(long)]
    pub(crate) yes: bool,
}
