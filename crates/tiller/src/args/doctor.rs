//! The command line of `tiller doctor`.

use clap::Args;

/// The arguments of `tiller doctor`.
#[derive(Debug, Default, Args)]
pub(crate) struct DoctorArgs {
    /// Also ask each provider that is set up for its list of models.
    #[arg(long)]
    pub(crate) online: bool,
    /// Also start `tiller acp` as an editor does, and wait for its answer.
    #[arg(long)]
    pub(crate) startup: bool,
    /// Fail on warnings too.
    #[arg(long)]
    pub(crate) strict: bool,
    /// Solve what needs no question: modes of files, old schemas.
    #[arg(long)]
    pub(crate) fix: bool,
    /// Only undo what a killed program left on in the terminal.
    #[arg(long, conflicts_with_all = ["online", "startup", "strict", "fix"])]
    pub(crate) reset_terminal: bool,
}
