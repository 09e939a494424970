//! The command line of `tiller skills`.

use clap::Subcommand;
use std::path::PathBuf;

/// The commands of `tiller skills`.
#[derive(Debug, Subcommand)]
pub(crate) enum SkillsCommand {
    /// List skills and commands from files, and whether they are used.
    List,
    /// Show a skill: its description, its files and its instructions.
    Show {
        /// The skill's name.
        name: String,
    },
    /// Check skills against the format.
    ///
    /// Without a directory, all that are found are checked.
    Validate {
        /// Directories with a SKILL.md.
        #[arg(value_name = "DIR")]
        directories: Vec<PathBuf>,
    },
}
