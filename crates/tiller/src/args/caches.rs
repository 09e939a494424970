//! The command line of `tiller caches`.

use clap::Subcommand;
use std::path::PathBuf;

/// The commands of `tiller caches`.
#[derive(Debug, Subcommand)]
pub(crate) enum CachesCommand {
    /// List them by project, with their sizes.
    List {
        /// The project; without it, all of them.
        #[arg(value_name = "DIRECTORY")]
        project: Option<PathBuf>,
    },
    /// Remove those of a project, or of all.
    ///
    /// The files of your home directory are not touched. Those of projects with a running session
    /// stay.
    Clear {
        /// The project; without it, that of the working directory.
        #[arg(value_name = "DIRECTORY")]
        project: Option<PathBuf>,
        /// Remove those of all projects.
        #[arg(long, conflicts_with = "project")]
        all: bool,
    },
}
